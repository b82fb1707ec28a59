"""Steps in sequence: how long requests take with plans and without drafts, and the speedup between the two.

As in the published oracles a prompt is read once, at the cost of a pass over its tokens, and each step pays overhead.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from verispec_bench.speedmodel.replay.bill import Bill, Floats
from verispec_bench.speedmodel.replay.plan import Plan
from verispec_bench.speedmodel.replay.trace import Trace


def identical_batches(traces: Sequence[Trace], plans: Sequence[Plan], bill: Bill, batch: int) -> float:
    """Speedup where each request is served in a batch of copies of itself, as in the published figures.

    A request's throughput is its tokens over its time; the speedup is the sum of throughputs over that without drafts.
    """
    tokens = np.array([trace.tokens for trace in traces], dtype=np.float64)
    with_drafts, without = _served_with_drafts(traces, plans, bill, batch), _served_without(traces, bill, batch)
    return float((tokens / with_drafts).sum() / (tokens / without).sum())


def _prefill(traces: Sequence[Trace], bill: Bill, batch: int) -> Floats:
    prompt = batch * np.array([trace.prompt_tokens for trace in traces], dtype=np.float64)
    return bill.reading_s(prompt)


def _served_without(traces: Sequence[Trace], bill: Bill, batch: int) -> Floats:
    """Seconds of each request, a token a step."""
    tokens = np.array([trace.tokens for trace in traces], dtype=np.float64)
    prompts = np.array([trace.prompt_tokens for trace in traces], dtype=np.float64)
    mean_kv = batch * (prompts + (tokens - 1) / 2)
    step_s = bill.target.seconds(mean_kv, np.full(len(traces), float(batch))) + bill.overhead_s
    return _prefill(traces, bill, batch) + tokens * step_s


def _served_with_drafts(traces: Sequence[Trace], plans: Sequence[Plan], bill: Bill, batch: int) -> Floats:
    """Seconds of each request; all requests take their steps side by side."""
    committed, verified = _stacked([p.committed for p in plans]), _stacked([p.verified for p in plans])
    billed = {name: _stacked([p.billed[name] for p in plans]) for name in plans[0].billed}
    tokens = np.array([trace.tokens for trace in traces])
    prompts = np.array([trace.prompt_tokens for trace in traces])
    seconds, at, rows = _prefill(traces, bill, batch), np.zeros(len(traces), dtype=np.int64), np.arange(len(traces))
    while (rows := rows[at[rows] < tokens[rows]]).size:
        here = at[rows]
        kv = batch * (prompts[rows] + here).astype(np.float64)
        in_pass = batch * verified[rows, here].astype(np.float64)
        verify_s = bill.target.seconds(kv, in_pass)
        seconds[rows] += verify_s + bill.overhead_s
        for name, paid in billed.items():
            seconds[rows] += paid[rows, here] * bill.drafters[name].seconds(kv, in_pass, verify_s)
        at[rows] += committed[rows, here]
    return seconds


def _stacked(arrays: Sequence[NDArray[np.int64] | NDArray[np.bool_]]) -> NDArray[np.int64]:
    """As rows of one array, padded with 0."""
    stacked = np.zeros((len(arrays), max(map(len, arrays))), dtype=np.int64)
    for row, array in zip(stacked, arrays, strict=True):
        row[: len(array)] = array
    return stacked


def mixed_batches(traces: Sequence[Trace], plans: Sequence[Plan], bill: Bill, batch: int, seed: int = 0) -> float:
    """Speedup where the batch holds different requests and a new one takes the place of each that ends.

    All steps are shared: a step lasts as long as all its rows need, whoever of them has drafts. The speedup is the
    ratio of tokens per second, up to when no request is left to fill the batch.
    """
    order = np.random.default_rng(seed).permutation(np.arange(max(len(traces), 4 * batch)) % len(traces))
    queue = [(traces[i], plans[i]) for i in order]
    undrafted = [(trace, _one_token_a_step(trace)) for trace, _ in queue]
    return _tokens_per_second(queue, bill, batch) / _tokens_per_second(undrafted, bill, batch)


def _one_token_a_step(trace: Trace) -> Plan:
    ones = np.ones(trace.tokens, dtype=np.int64)
    return Plan(ones, ones, {})


def _tokens_per_second(queue: Sequence[tuple[Trace, Plan]], bill: Bill, batch: int) -> float:
    committed, verified = _stacked([p.committed for _, p in queue]), _stacked([p.verified for _, p in queue])
    billed = {name: _stacked([p.billed[name] for _, p in queue]) for name in queue[0][1].billed}
    lengths = np.array([trace.tokens for trace, _ in queue])
    prompts = np.array([trace.prompt_tokens for trace, _ in queue])
    rows, waiting = np.arange(batch), batch
    at = np.zeros(len(queue), dtype=np.int64)
    seconds = float(bill.reading_s(float(prompts[rows].sum())))
    tokens = 0
    while True:
        here = at[rows]
        kv, in_pass = (prompts[rows] + here).astype(np.float64), verified[rows, here].astype(np.float64)
        verify_s = float(bill.target.seconds(kv.sum(), in_pass.sum()))
        seconds += verify_s + bill.overhead_s
        for name, paid in billed.items():
            drafting = paid[rows, here].astype(bool)
            if drafting.any():
                cost = bill.drafters[name]
                share = verify_s * float(drafting.mean())
                seconds += float(cost.seconds(kv[drafting].sum(), in_pass[drafting].sum(), share))
        step = np.minimum(committed[rows, here], lengths[rows] - here)
        tokens += int(step.sum())
        at[rows] += step
        ended = at[rows] >= lengths[rows]
        if not ended.any():
            continue
        if waiting + int(ended.sum()) > len(queue):
            return tokens / seconds
        new = np.arange(waiting, waiting + int(ended.sum()))
        rows[ended], waiting = new, waiting + len(new)
        seconds += float(bill.reading_s(float(prompts[new].sum())))
