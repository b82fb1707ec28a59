"""One load run against any OpenAI-compatible server: the verb `bench`. No vLLM, no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from verispec_bench.client import Sampling, Target, closed_loop
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.measure import RunData, ServerWatch, closed_plateau, measure
from verispec_bench.scenario import WorkloadFile
from verispec_bench.workload import load_prompts
from verispec_bench.workload.source import BUILT_IN


@dataclass(frozen=True)
class BenchLoad:
    """What is sent.

    Attributes:
        workload: "chat", "code-edit" or a JSONL file.
        num_prompts: how many of its prompts.
        max_concurrency: requests in flight.
        seed: orders the prompts.
        timeout_s: a request that takes longer has failed.

    """

    workload: str
    num_prompts: int
    max_concurrency: int
    seed: int
    timeout_s: float


async def run_bench(base_url: str, model: str | None, load: BenchLoad, sampling: Sampling) -> dict[str, Any]:
    """Send the load and measure it; `errors` lists the faults of failed requests.

    Raises:
        UnusableInput: too few prompts, or no such file.
        InfrastructureFailed: the server does not answer.

    """
    source = load.workload if load.workload in BUILT_IN else WorkloadFile(name="file", file=load.workload)
    prompts = load_prompts(source, load.seed, Path())
    if len(prompts) < load.num_prompts:
        raise UnusableInput(f"workload {load.workload} has {len(prompts)} prompts, {load.num_prompts} were asked for")
    target = await _target(base_url, model)
    in_flight = 0

    def count(now: int) -> None:
        nonlocal in_flight
        in_flight = now

    async with ServerWatch(base_url, lambda: in_flight) as watch:
        records = await closed_loop(
            target,
            prompts[: load.num_prompts],
            sampling,
            concurrency=load.max_concurrency,
            timeout_s=load.timeout_s,
            on_in_flight=count,
        )
    errors = [record.error for record in records if record.error]
    window = watch.window(closed_plateau(min(load.max_concurrency, load.num_prompts)))
    return measure(RunData((records,), window, ignore_eos=sampling.ignore_eos)) | {"errors": errors}


async def _target(base_url: str, model: str | None) -> Target:
    """The served model, and whether the server is a vLLM (it then takes vLLM's request extensions)."""
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as session:
            async with session.get(f"{base_url}/v1/models") as response:
                served = [str(entry["id"]) for entry in (await response.json())["data"]]
            async with session.get(f"{base_url}/version") as response:
                is_vllm = response.status == 200
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        raise InfrastructureFailed(f"{base_url}: no OpenAI-compatible server answers there: {error}") from error
    if not served:
        raise InfrastructureFailed(f"{base_url}: the server serves no model")
    if model is not None and model not in served:
        raise UnusableInput(f"--model {model}: the server serves {', '.join(served)}")
    return Target(base_url, model or served[0], is_vllm)
