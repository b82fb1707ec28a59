"""Greedy parity: the same tokens from both servers, or a first difference that is proved to be a near-tie.

Kernels compute the rows of differently shaped passes in different orders, so two correct servers may differ where the
target is torn between two tokens. That is measured, never assumed, in four phases:

1. *answers*: every server answers every prompt as users ask it, without logprobs. These are compared.
2. *rows*: every server answers a sample of the prompts once more, with the logprobs of each step's row: one-row decode
   steps on target-only, (k + 1)-row verification steps on an arm; in full batches, in small ones, and alone.
3. *passes*: target-only scores its own sampled answers as prompts, all rows in one pass. The *envelope* (envelope.py)
   is how far the gap between two contested tokens moves between its steps and its passes. No arm has a part in it: a
   broken one cannot widen what it is judged by.
4. *replays*: where an answer differs, both servers score the common prefix; a near-tie is proved if the gap between the
   two tokens is within the envelope on both.

Why a correct arm passes: let g be the gap between target-only's token and the arm's, in target-only's step (g ≥ 0: it
chose its token), in the arm's step (g ≤ 0), and in the scoring pass. If the pass has g ≥ 0, it lies no further from 0
than from the arm's step, else no further from 0 than from target-only's. So if steps stay within the envelope of the
pass, |g| in the pass is within it as well. That an arm's steps do is checked in the sample (`rows_outside`). An answer
is compared up to its first difference; what follows a near-tie is another text, of which nothing is said.
"""
