"""One load run: send, watch, measure, and keep."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import aiohttp

from verispec_bench.bench.load import BenchLoad
from verispec_bench.client import LoadInterrupted, LoadRun, RequestRecord, Sampling, Target, run_load
from verispec_bench.client.request import Endpoint
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.measure import RunData, ServerWatch, ServerWindow, Slo, closed_plateau, measure, middle_of


@dataclass(frozen=True)
class Bench:
    """A load and how it is sent and measured.

    Attributes:
        base_url: the server, without /v1.
        model: the served model's id; None: the first that the server lists.
        endpoint, stream: the form of the requests, as in `client.Target`.
        goodput: when a request counts as good.
        percentiles: of each latency.
        processes: client processes.

    """

    base_url: str
    load: BenchLoad
    sampling: Sampling
    model: str | None = None
    endpoint: Endpoint = "chat"
    stream: bool = True
    goodput: Slo | None = None
    percentiles: tuple[float, ...] = (50, 95, 99)
    processes: int | Literal["auto"] = "auto"


@dataclass(frozen=True)
class BenchResult:
    """What came of it.

    Attributes:
        measures: by name; `errors` lists the faults of failed requests.
        warnings: why the measures may not be what they seem.
        records: the raw requests.
        interrupted: Ctrl-C; the measures are those of what had ended.

    """

    measures: dict[str, Any]
    warnings: list[str]
    records: list[RequestRecord]
    interrupted: bool

    def as_dict(self) -> dict[str, Any]:
        """Everything but the raw requests."""
        return self.measures | {"warnings": self.warnings, "interrupted": self.interrupted}


async def run_bench(
    bench: Bench, on_start: Callable[[int], None] = lambda requests: None, on_done: Callable[[], None] = lambda: None
) -> BenchResult:
    """Send the load and measure it.

    Args:
        on_start: called with the number of requests when the warm-up is over.
        on_done: called after each request.

    Raises:
        UnusableInput: a file, a rate, or too few prompts.
        InfrastructureFailed: the server does not answer.

    """
    load = bench.load
    warmups, requests = load.requests(bench.sampling)
    target = await _target(bench)
    if warmups:
        warm = await run_load(target, warmups, concurrency=load.concurrency, timeout_s=load.timeout_s)
        if not any(record.ok for record in warm.records):
            raise InfrastructureFailed(f"{bench.base_url}: every warm-up failed: {warm.records[0].error}")
    on_start(len(requests))
    in_flight, interrupted = 0, False

    def count(now: int) -> None:
        nonlocal in_flight
        in_flight = now

    async with ServerWatch(bench.base_url, lambda: in_flight) as watch:
        try:
            run = await run_load(
                target,
                requests,
                concurrency=load.concurrency,
                timeout_s=load.timeout_s,
                processes=bench.processes,
                on_done=lambda record: on_done(),
                on_in_flight=count,
            )
        except LoadInterrupted as stopped:
            run, interrupted = stopped.run, True
            if task := asyncio.current_task():
                task.uncancel()
    due = [request.due_s for request in requests if request.due_s is not None]
    steady = middle_of(due) if due else closed_plateau(min(load.concurrency or 1, len(requests)))
    measures = _measures(bench, run, watch.window(steady))
    return BenchResult(measures, _warnings(bench, target, run), run.records, interrupted)


def keep(result: BenchResult, bench: Bench, directory: Path) -> None:
    """Write requests.jsonl, then result.json: where there is a result, its requests are whole."""
    from verispec_bench.record.atomic import finite, write_json, write_text

    lines = [json.dumps(finite(record.as_dict()), allow_nan=False) + "\n" for record in result.records]
    write_text(directory / "requests.jsonl", "".join(lines))
    asked = asdict(bench)
    asked["load"]["trace"] = str(bench.load.trace) if bench.load.trace else None
    ended = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(directory / "result.json", {"bench": asked, "ended": ended, **result.as_dict()})


def _measures(bench: Bench, run: LoadRun, window: ServerWindow) -> dict[str, Any]:
    data = RunData((run.records,), window, slo=bench.goodput, ignore_eos=bench.sampling.ignore_eos)
    measures = measure(data, bench.percentiles)
    lag = run.client.loop_lag_p99_s
    return measures | {
        "not_sent": run.not_sent,
        "client_processes": run.client.processes,
        "client_busy_share": run.client.busy_share,
        "client_loop_lag_p99_ms": None if lag is None else 1000 * lag,
        "errors": [record.error for record in run.records if record.error],
    }


def _warnings(bench: Bench, target: Target, run: LoadRun) -> list[str]:
    found = []
    if reason := run.client.bottleneck:
        found.append(f"the client was the bottleneck ({reason}): use more --client-processes, or another machine")
    if bench.sampling.ignore_eos and (short := _shorter(run.records)):
        found.append(f"{short} answers were shorter than asked, though --ignore-eos was on")
    if not target.is_vllm and (bench.sampling.ignore_eos or bench.sampling.top_k != -1):
        found.append("--ignore-eos and --top-k were not sent: the server is no vLLM")
    if bench.load.trace:
        found.append("the trace's input lengths were not used: the prompts are those of the workload")
    if run.not_sent:
        found.append(f"{run.not_sent} requests were not sent")
    return found


def _shorter(records: Sequence[RequestRecord]) -> int:
    return sum(
        record.ok
        and record.completion_tokens is not None
        and record.max_tokens is not None
        and record.completion_tokens < record.max_tokens
        for record in records
    )


async def _target(bench: Bench) -> Target:
    """The served model, and whether the server is a vLLM (it then takes vLLM's request extensions)."""
    base_url = bench.base_url
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            async with session.get(f"{base_url}/v1/models") as response:
                if response.status != 200:
                    raise InfrastructureFailed(f"{base_url}/v1/models: answers with HTTP {response.status}")
                served = [str(entry["id"]) for entry in (await response.json())["data"]]
            async with session.get(f"{base_url}/version") as response:
                is_vllm = response.status == 200
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        raise InfrastructureFailed(f"{base_url}: no OpenAI-compatible server answers there: {error}") from error
    if not served:
        raise InfrastructureFailed(f"{base_url}: the server serves no model")
    if bench.model is not None and bench.model not in served:
        raise UnusableInput(f"--model {bench.model}: the server serves {', '.join(served)}")
    return Target(base_url, bench.model or served[0], is_vllm, bench.endpoint, bench.stream)
