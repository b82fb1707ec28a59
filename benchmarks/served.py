"""What the rule and the drafter take of a running server's time: `make bench`.

Starts the demo's speculative server with each rule in turn, keeps it busy with code editing at several concurrencies,
greedy and sampled, and reads the plugin's own clocks before and after. A share is of the whole wall time, in which a
busy engine does nothing but steps (scheduling and the API server's time between steps included).
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp

from verispec_bench.client import Request, Sampling, Target, run_load
from verispec_bench.scenario import Scenario, load_scenario
from verispec_bench.server import ServerProcess, free_port, probe_interpreter, server_command, wait_until_ready
from verispec_bench.server.readback import plugin_status
from verispec_bench.sweep.run import warm_up
from verispec_bench.workload import load_workload

SCENARIO = Path(__file__).parents[1] / "scenarios" / "demo.yaml"
RULES, TEMPERATURES, CONCURRENCIES = ("token", "block"), (0.0, 1.0), (1, 4, 16)
TOKENS = 64


async def clocks(base_url: str) -> dict[str, float]:
    """The counters of the server's worker, but for those by position."""
    async with aiohttp.ClientSession() as session:
        (worker,) = await plugin_status(session, base_url)
    return {name: value for name, value in worker["counters"].items() if not isinstance(value, list)}


async def shares(scenario: Scenario, server: ServerProcess, rule: str) -> list[dict[str, Any]]:
    """A row for each temperature and concurrency."""
    workload, rows = load_workload("code-edit", seed=1), []
    prompts = list(workload.prompts)
    await warm_up(scenario, workload, prompts[-4:], server)
    target = Target(server.base_url, server.command.model)
    for temperature in TEMPERATURES:
        for concurrency in CONCURRENCIES:
            sent, prompts = prompts[: 3 * concurrency], prompts[3 * concurrency :] + prompts[: 3 * concurrency]
            before, start = await clocks(server.base_url), time.perf_counter()
            requests = [Request(prompt, Sampling(TOKENS, temperature)) for prompt in sent]
            await run_load(target, requests, concurrency=concurrency, timeout_s=scenario.load.timeout_s)
            seconds, after = time.perf_counter() - start, await clocks(server.base_url)
            spent = {name: after[name] - before[name] for name in after}
            rows.append(
                {
                    "rule": rule,
                    "temperature": temperature,
                    "concurrency": concurrency,
                    "seconds": seconds,
                    "verify_steps": spent["verify_steps"],
                    "drafted_tokens": spent["drafted_tokens"],
                    "rule_share": spent["rule_seconds"] / seconds,
                    "draft_share": spent["draft_seconds"] / seconds,
                }
            )
    return rows


async def measure(scenario: Scenario, server: ServerProcess, rule: str) -> list[dict[str, Any]]:
    """Wait for the server, then measure it."""
    await wait_until_ready([server], scenario.server.start_timeout_s)
    return await shares(scenario, server, rule)


def main() -> None:
    """Print a line for each case; --json prints one list."""
    as_json, rows = "--json" in sys.argv, []
    interpreter = probe_interpreter()
    for rule in RULES:
        scenario = load_scenario(SCENARIO)
        arm = scenario.arms["suffix"]
        settings = arm.verispec.model_copy(update={"rule": rule}) if arm.verispec else None
        scenario = scenario.model_copy(update={"arms": {"suffix": arm.model_copy(update={"verispec": settings})}})
        port = free_port()
        log = Path("results") / "logs" / f"bench-{rule}-{port}.log"
        with ServerProcess("suffix", server_command(scenario, "suffix", interpreter, port), port, log) as server:
            for row in asyncio.run(measure(scenario, server, rule)):
                rows.append(row)
                if not as_json:
                    print(
                        f"{row['rule']:<6}temperature {row['temperature']:g}  concurrency {row['concurrency']:>3}"
                        f"  rule {100 * row['rule_share']:5.2f}%  drafter {100 * row['draft_share']:5.2f}% of the time"
                        f"  ({row['drafted_tokens'] / max(1, row['verify_steps']):.1f} drafts a step)",
                        flush=True,
                    )
    if as_json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
