"""The adapter between vLLM's rejection_sample and the rules."""

from types import SimpleNamespace

import torch
from vllm.v1.sample.rejection_sampler import rejection_sample

from verispec.control import AcceptanceWatch, Fallback, Reason
from verispec.coupling import verify
from verispec.engine.counters import Counters
from verispec.engine.verifier import Verifier


def metadata(temperatures):
    greedy = [t == 0 for t in temperatures]
    return SimpleNamespace(
        all_greedy=all(greedy),
        all_random=not any(greedy),
        temperature=None if all(greedy) else torch.tensor(temperatures),
    )


def made(counters=None, least=0.0, window=1000):
    verifier = Verifier("token", counters or Counters(), Fallback(30), AcceptanceWatch(least, window))
    verifier.fallback = verifier._fallback
    return verifier


def call(verifier, drafts, logits, temperatures, draft_probs=None, bonus=None, original=rejection_sample, **further):
    """drafts: a list of tokens for each request."""
    counts = [len(d) for d in drafts]
    return verifier.adapt(original)(
        torch.tensor([t for d in drafts for t in d], dtype=torch.int32),
        counts,
        max(counts),
        torch.tensor(counts, dtype=torch.int32).cumsum(0),
        draft_probs,
        torch.tensor(logits, dtype=torch.float32).view(sum(counts), -1),
        torch.tensor(bonus or [[0]] * len(drafts)),
        metadata(temperatures),
        **further,
    )


def test_shape_and_type_are_vllms():
    result = call(made(), [[1], [], [0, 0]], [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], [0, 0, 0])
    assert result.dtype == torch.int32
    assert result.tolist() == [[1, 0, -1], [0, -1, -1], [0, 0, 0]]


def test_a_mixed_batch_gives_greedy_rows_their_argmax_and_sampled_rows_their_law():
    trials = 4000
    logits = [[0.0, 1.0, 0.5], [0.0, 2.0, 1.0]]
    sampled = torch.zeros(3)
    verifier = made()
    for _ in range(trials):
        result = call(verifier, [[2], [0]], logits, [0.0, 1.0])
        assert result[0].tolist() == [1, -1]
        sampled[result[1, 0]] += 1
    law = torch.tensor(logits[1]).softmax(-1)
    assert ((sampled / trials - law).abs() < 5 * (law * (1 - law) / trials).sqrt()).all()


def test_masked_tokens_stay_masked():
    logits = [[float("-inf"), 0.0, float("-inf")]]
    for _ in range(50):
        assert call(made(), [[0]], logits, [1.0])[0].tolist() == [1, -1]


def test_point_mass_rows_of_a_round_are_passed_to_the_rule_once():
    """q says 1/2 for the draft, the point-mass flag says otherwise: p(x) = .5 is kept always, or half of the time."""
    verifier, q = made(), torch.tensor([[0.5, 0.5]])

    def accepted(point_mass):
        kept = 0
        for _ in range(400):
            verifier.expect_round(point_mass, None)
            kept += call(verifier, [[0]], [[0.0, 0.0]], [1.0], q)[0, 0].item() == 0
        return kept

    assert accepted(None) == 400
    assert 100 < accepted(torch.tensor([True])) < 300
    assert verifier._expected is None


def test_only_rounds_of_real_requests_are_counted():
    counters = Counters()
    verifier = made(counters)
    call(verifier, [[1]], [[0.0, 1.0]], [0])  # the engine's warm-up
    assert counters.verify_steps == 0
    verifier.expect_round(None, None)
    call(verifier, [[1], [0, 1]], [[0.0, 1.0]] * 3, [0, 0])
    assert (counters.verify_steps, counters.drafted_tokens, counters.accepted_tokens) == (1, 3, 1)
    assert counters.accepted_per_position == [1, 0]


def round_of(verifier, drafts, logits, temperatures=(0,)):
    verifier.expect_round(None, None)
    return call(verifier, drafts, logits, list(temperatures))


def test_padding_is_no_draft():
    counters = Counters()
    round_of(made(counters), [[-1, -1]], [[0.0, 1.0]] * 2)
    assert (counters.verify_steps, counters.drafted_tokens) == (0, 0)
    round_of(made(counters), [[-1, -1], [1]], [[0.0, 1.0]] * 3, [0, 0])
    assert (counters.verify_steps, counters.drafted_tokens, counters.accepted_tokens) == (1, 1, 1)


def test_accepted_drafts_are_counted_by_position():
    counters = Counters()
    verifier = made(counters)
    round_of(verifier, [[1, 1, 0], [1]], [[0.0, 1.0]] * 4, [0, 0])
    round_of(verifier, [[0, 1]], [[0.0, 1.0]] * 2)
    assert counters.accepted_per_position == [2, 1, 0]
    assert counters.accepted_tokens == 3


def test_a_collapse_of_acceptance_ends_drafting():
    verifier = made(least=0.5, window=4)
    round_of(verifier, [[0, 0]], [[0.0, 1.0]] * 2)
    assert verifier.fallback.drafting
    round_of(verifier, [[0, 0]], [[0.0, 1.0]] * 2)
    assert verifier.fallback.reason is Reason.ACCEPTANCE_COLLAPSE


def test_a_draft_that_is_no_token_ends_drafting():
    for draft in (2, -2):
        verifier = made()
        assert round_of(verifier, [[draft]], [[0.0, 50.0]], [1.0]).tolist() == [[1, -1]]
        assert verifier.fallback.reason is Reason.RULE_CHECK


def test_an_id_that_is_no_token_is_rejected_and_repaired_from_the_target():
    for temperature in (0.0, 1.0):
        result = call(made(), [[7], [1]], [[0.0, 50.0], [0.0, 50.0]], [temperature] * 2)
        assert result.tolist() == [[1, -1], [1, 0]]


def test_a_row_of_nan_hurts_no_other_request():
    nan = float("nan")
    logits = [[nan, nan], [0.0, 50.0]]
    for temperatures in ([1.0, 1.0], [0.0, 1.0], [0.0, 0.0]):
        result = call(made(), [[1], [1]], logits, temperatures)
        assert result[1].tolist() == [1, 0]
        assert result[0, 0].item() in (0, 1)


def test_a_batch_of_greedy_requests_is_decided_as_by_the_greedy_rule():
    generator = torch.Generator().manual_seed(2)
    drafts = [torch.randint(0, 3, (n,), generator=generator).tolist() for n in (3, 0, 1, 4, 2)]
    for _ in range(20):
        logits = torch.randn(10, 3, generator=generator)
        verdict = verify(
            "greedy",
            draft_token_ids=torch.tensor([t for d in drafts for t in d]),
            cu_num_draft_tokens=torch.tensor([3, 3, 4, 8, 10]),
            target_probs=logits,
            draft_probs=None,
            bonus_token_ids=torch.zeros(5, dtype=torch.int64),
        )
        served = call(made(), drafts, logits.tolist(), [0] * 5)
        assert torch.equal(served, verdict.token_ids.int())


def test_synthetic_acceptance_stays_vllms():
    seen = []

    def original(*arguments, **further):
        seen.append(further)
        return "vLLM's"

    verifier = made()
    result = call(verifier, [[1]], [[0.0, 1.0]], [0], original=original, synthetic_mode=True)
    assert result == "vLLM's"
    assert seen == [{"synthetic_mode": True}]


def test_unknown_keywords_of_a_later_vllm_are_accepted():
    assert call(made(), [[1]], [[0.0, 1.0]], [0], use_fp64_gumbel=True).tolist() == [[1, 0]]
