"""Measures what the steps of a scenario's server cost: drafts of every length, at every batch size up to its limit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from verispec.settings import PROPOSER_PATH, ControlSettings, FallbackSettings, Settings
from verispec_bench.client import Request, Sampling, Target, run_load
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.record.atomic import write_json
from verispec_bench.scenario import Setup
from verispec_bench.server import ServerProcess, free_port, probe_interpreter, server_command, wait_until_ready
from verispec_bench.server.readback import plugin_status
from verispec_bench.workload import load_workload

TOKENS = 80
"""Of each answer: as many steps, in which drafts of all sizes take their turns."""
ROUNDS = 2
"""Answers of each stream."""
TIMEOUT_S = 600.0
PROBING = Settings(
    drafter="probe",
    control=ControlSettings(mode="fixed"),
    fallback=FallbackSettings(min_acceptance=0, stall_s=TIMEOUT_S, at_preemption=False),
)


async def calibrate(scenario: Setup, arm: str, log: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """The calibration of an arm's server: what verispec.control.calibration reads.

    Args:
        scenario: its server, model and batch limit are taken.
        arm: whose draft window is taken.
        log: of the server.
        progress: is told what happens.

    Raises:
        UnusableInput: the arm does not use verispec's proposer, which alone is controlled.
        InfrastructureFailed: the server does not start, or does not answer.

    """
    if scenario.arms[arm].speculative.get("model") != PROPOSER_PATH:
        raise UnusableInput(f"arm {arm}: costs are for the controller of {PROPOSER_PATH}, which it does not use")
    probing = scenario.model_copy(update={"arms": {arm: scenario.arms[arm].model_copy(update={"verispec": PROBING})}})
    port = free_port()
    command = server_command(probing, arm, probe_interpreter(scenario.server.python), port)
    with ServerProcess(arm, command, port, log) as server:
        await wait_until_ready(
            [server], scenario.server.start_timeout_s, lambda elapsed_s, _: progress(f"starting: {elapsed_s:.0f} s")
        )
        target, prompts = Target(server.base_url, command.model), load_workload("mixed", scenario.seed).prompts
        for concurrency in batch_sizes(scenario.server.max_num_seqs):
            progress(f"measuring steps of {concurrency} requests")
            sampling = Sampling(TOKENS, ignore_eos=True)
            sent = [Request(prompts[i % len(prompts)], sampling) for i in range(ROUNDS * concurrency)]
            await run_load(target, sent, concurrency=concurrency, timeout_s=TIMEOUT_S)
        try:
            async with aiohttp.ClientSession() as session:
                workers = await plugin_status(session, server.base_url)
        except (aiohttp.ClientError, TimeoutError, ValueError, KeyError) as error:
            raise InfrastructureFailed(f"server {arm} does not tell its costs: {error!r}; its log: {log}") from error
    control = workers[0]["control"] if workers else None
    if not control or not control["costs"]:
        raise InfrastructureFailed(f"server {arm} measured no step; its log: {log}")
    return {"identity": control["identity"], "costs": control["costs"]}


def batch_sizes(most: int) -> list[int]:
    """1, 2, 4, … and the most."""
    return [*(2**power for power in range((most - 1).bit_length())), most]


def write(calibration: dict[str, Any], path: Path) -> Path:
    """The calibration as a file, and a plot of it beside; returns the plot's path."""
    from verispec_bench.report.figures.step_costs import draw_step_costs

    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, calibration)
    plot = path.with_suffix(".png")
    draw_step_costs(calibration["costs"], plot)
    return plot
