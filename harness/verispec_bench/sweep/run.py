"""One run: an arm's server serves one block of prompts, and everything about it is noted."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import cycle, islice
from typing import Any

import aiohttp
import numpy as np

from verispec_bench.arrival import schedule
from verispec_bench.client import Request, RequestRecord, Sampling, Target, run_load
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.launch import Fleet
from verispec_bench.measure import (
    MAX_JUMP_S,
    ResourceWatch,
    RunData,
    ServerWatch,
    Slo,
    closed_plateau,
    measure,
    middle_of,
)
from verispec_bench.scenario import BASELINE, Cell, Scenario
from verispec_bench.server import ServerProcess
from verispec_bench.workload import Prompt, Workload, tokenise

WARMUP_TOKENS = 24


async def as_sent(
    workload: Workload, prompts: Sequence[Prompt], input_len: int | None, server: ServerProcess
) -> list[Prompt]:
    """Prompts of a workload as they go to the servers: token ids, by one of them, where lengths count.

    Raises:
        UnusableInput, InfrastructureFailed: as Workload.as_sent.

    """
    async with aiohttp.ClientSession() as session:

        async def ids(texts: Sequence[str]) -> list[list[int]]:
            return await tokenise(session, server.base_url, server.command.model, texts)

        return await workload.as_sent(prompts, input_len, ids)


async def warm_up(scenario: Scenario, workload: Workload, prompts: Sequence[Prompt], server: ServerProcess) -> None:
    """Let a server compile and allocate, one request at a time and then at the largest load; nothing is kept.

    Raises:
        InfrastructureFailed: it answers no request.

    """
    if not prompts:
        return
    target = Target(server.base_url, server.command.model)
    prompts = await as_sent(workload, prompts, max(scenario.load.input_len, default=None), server)
    widest = min(max(scenario.load.concurrency, default=scenario.server.max_num_seqs), scenario.server.max_num_seqs)
    for concurrency, sent in ((1, prompts[:2]), (widest, list(islice(cycle(prompts), widest)))):
        requests = [Request(prompt, Sampling(WARMUP_TOKENS)) for prompt in sent]
        load = await run_load(target, requests, concurrency=concurrency, timeout_s=scenario.load.timeout_s)
        if not any(record.ok for record in load.records):
            raise InfrastructureFailed(f"server {server.name} answers no request: {load.records[0].error}")


def requests_of(scenario: Scenario, cell: Cell, prompts: Sequence[Prompt], seed: str) -> list[Request]:
    """The same requests, due at the same times, for every arm.

    Args:
        seed: of arrivals and lengths; by block, so that each has its own.

    """
    load = scenario.load
    number = int.from_bytes(sha256(f"{scenario.seed} {seed}".encode()).digest()[:8])
    due: Sequence[float | None] = [None] * len(prompts)
    if cell.trace_speed is not None:
        due = [((prompt.at_s or 0.0) - (prompts[0].at_s or 0.0)) / cell.trace_speed for prompt in prompts]
    elif cell.request_rate is not None:
        first = 2 * cell.request_rate / (1 + load.ramp)
        due = schedule(len(prompts), first, ramp_to=first * load.ramp, burstiness=load.burstiness, seed=number)
    output_lens = _output_lens(cell.output_len or 1, load.output_spread, len(prompts), number)
    return [
        Request(prompt, Sampling(output_len, cell.temperature, load.top_p, load.top_k, load.ignore_eos), due_s)
        for prompt, output_len, due_s in zip(prompts, output_lens, due, strict=True)
    ]


def _output_lens(mean: int, spread: float, count: int, seed: int) -> list[int]:
    """Most tokens of each answer: (1 ± spread) × mean in even steps, in an order that knows nothing of the arrivals."""
    steps = (2 * np.arange(count) + 1) / count - 1
    lengths = np.maximum(1, np.rint(mean * (1 + spread * steps))).astype(int)
    return [int(length) for length in np.random.default_rng([seed, 1]).permutation(lengths)]


def _contamination(scenario: Scenario, measures: dict[str, Any]) -> list[str]:
    """What happened to the machine during a run; such a run is made again."""
    foreign, jump = measures["foreign_cpu"] or 0.0, measures["clock_jump_s"] or 0.0
    reasons = []
    if foreign > scenario.max_foreign_cpu:
        reasons.append(f"other processes used {foreign:.0%} of the machine's processors")
    if abs(jump) > MAX_JUMP_S:
        reasons.append(f"the clock jumped by {jump:.1f} s")
    return reasons


async def run_block(
    scenario: Scenario,
    cell: Cell,
    requests: Sequence[Request],
    arm: str,
    servers: Fleet,
    on_request: Callable[[], None],
) -> tuple[dict[str, Any], list[RequestRecord]]:
    """Send the requests to an arm's server; its row and its records.

    Raises:
        InfrastructureFailed: the server cannot be started.

    """
    server = await servers.use(arm)
    in_flight = 0

    def count(now: int) -> None:
        nonlocal in_flight
        in_flight = now

    started = datetime.now(UTC).isoformat(timespec="seconds")
    beside = [other.pid for other in servers.running if other is not server]
    limit = cell.concurrency or scenario.load.max_concurrency
    async with (
        ServerWatch(server.base_url, lambda: in_flight) as watch,
        ResourceWatch(server.pid, beside) as resources,
    ):
        load = await run_load(
            Target(server.base_url, server.command.model),
            requests,
            concurrency=limit,
            timeout_s=scenario.load.timeout_s,
            processes=scenario.load.client_processes or "auto",
            on_done=lambda record: on_request(),
            on_in_flight=count,
        )
    due = [request.due_s for request in requests if request.due_s is not None]
    steady = middle_of(due) if due else closed_plateau(min(limit or len(requests), len(requests)))
    goodput = scenario.load.goodput
    data = RunData(
        (load.records,),
        watch.window(steady),
        resources.window(),
        slo=Slo(**goodput.model_dump()) if goodput else None,
        ignore_eos=scenario.load.ignore_eos,
    )
    measures = measure(data)
    contamination = _contamination(scenario, measures)
    spec = scenario.arms.get(arm)
    row = {
        **cell.key(),
        "arm": arm,
        "num_speculative_tokens": spec.num_speculative_tokens if spec else 0,
        "started": started,
        **measures,
        **data.to_row(),
        "client_bottleneck": load.client.bottleneck,
        "contaminated": bool(contamination),
        "contamination": "; ".join(contamination) or None,
        "is_baseline": arm == BASELINE,
    }
    return row, load.records
