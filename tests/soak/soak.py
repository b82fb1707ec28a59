"""Mixed traffic on a live server while faults are switched on and off: nothing may be lost, no token may differ."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.soak.faults import FAILS_TO_LOAD, FAULTS, NO_FAULT
from tests.soak.traffic import Answer, Tally, Traffic, ask, cases, long_case

CLIENTS = 6
LONG_REQUESTS = 6
COOLDOWN_S = 3.0
FAULT_S, HEALTHY_S = 5.0, 2 * COOLDOWN_S
SETTINGS = {
    "drafter": "tests.soak.faults.FaultyDrafter",
    "fallback": {"cooldown_s": COOLDOWN_S, "stall_s": 0.5, "min_acceptance": 0.05, "acceptance_window": 100},
}
"""Of the plugin on the server; `drafter_options` must name the control file."""
SERVER_ARGS = {"enforce-eager": True, "num-gpu-blocks-override": 24}
"""A KV cache that the long requests fill."""


@dataclass(frozen=True)
class Report:
    """What a soak found.

    Attributes:
        tally: of the requests.
        fallbacks: by reason, as the server counts them.
        missing: faults after which the server did not fall back for the reason that it should have.
        accepted_tokens: drafts that were accepted, so that speculation was really on.
        target_only_share: share of the time without drafting.

    """

    tally: Tally
    fallbacks: dict[str, int]
    missing: list[str]
    accepted_tokens: int
    target_only_share: float

    @property
    def passed(self) -> bool:
        """Nothing lost, nothing different, every fault noticed, and drafts were accepted beside."""
        return not (self.tally.lost or self.tally.differing or self.missing) and self.accepted_tokens > 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"passed": self.passed}


@dataclass(frozen=True)
class Servers:
    """The pair: target-only for the right answers, the arm that is tried.

    Attributes:
        control: the file from which the arm's drafter takes its fault; it must have failed to load.

    """

    target_only: str
    arm: str
    model: str
    control: Path


async def soak(servers: Servers, seconds: float, say: Callable[[str], None] = lambda text: None) -> Report:
    """Run for about so long; every fault comes once at least."""
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        made = cases()
        expected = await right_answers(session, servers)
        traffic, stop = Traffic(servers.arm, servers.model, expected), asyncio.Event()
        started, missing = time.monotonic(), []
        async with asyncio.TaskGroup() as clients:
            for _ in range(CLIENTS):
                clients.create_task(traffic.run(session, made, stop))
            missing += await _recovers_from_a_failed_start(session, servers, traffic)
            rounds = 0
            while rounds == 0 or time.monotonic() - started < seconds:
                for fault, (_, reason) in FAULTS.items():
                    say(f"{fault}: {traffic.tally.finished} finished so far")
                    missing += await _fault(session, servers, traffic, fault, reason)
                missing += await _switch(session, servers, traffic)
                missing += await _memory_pressure(session, servers, traffic)
                rounds += 1
            stop.set()
        end, elapsed = await read_metrics(session, servers.arm), time.monotonic() - started
    reasons = {key.partition("/")[2]: int(value) for key, value in end.items() if key.startswith("fallbacks/")}
    return Report(
        traffic.tally,
        reasons,
        sorted(set(missing)),
        int(end["accepted_tokens"]),
        min(1.0, end["target_only_seconds"] / elapsed),
    )


async def right_answers(session: aiohttp.ClientSession, servers: Servers) -> dict[str, Answer]:
    """Greedy ones from the target-only server; seeded ones from the arm, which does not draft yet."""
    one_answer = [case for case in cases() if case.has_one_answer]
    urls = [servers.arm if case.is_seeded else servers.target_only for case in one_answer]
    asked = [ask(session, url, servers.model, case) for url, case in zip(urls, one_answer, strict=True)]
    return {case.name: answer for case, answer in zip(one_answer, await asyncio.gather(*asked), strict=True)}


async def _recovers_from_a_failed_start(
    session: aiohttp.ClientSession, servers: Servers, traffic: Traffic
) -> list[str]:
    traffic.phase = FAILS_TO_LOAD
    at_first = await read_metrics(session, servers.arm)
    await asyncio.sleep(FAULT_S)
    await _set_drafting(session, servers, on=True)  # the drafter's files are still missing
    await asyncio.sleep(HEALTHY_S)
    still = await read_metrics(session, servers.arm)
    servers.control.write_text(NO_FAULT)
    await _set_drafting(session, servers, on=True)
    await asyncio.sleep(HEALTHY_S)
    at_last = await read_metrics(session, servers.arm)
    right = (
        (at_first["drafting"], still["drafting"], at_last["drafting"]) == (0, 0, 1)
        and still["fallbacks/load-failed"] == 2
        and at_last["accepted_tokens"] > 0
    )
    return [] if right else [FAILS_TO_LOAD]


async def _fault(
    session: aiohttp.ClientSession, servers: Servers, traffic: Traffic, fault: str, reason: str | None
) -> list[str]:
    before = await read_metrics(session, servers.arm)
    traffic.phase = fault
    servers.control.write_text(fault)
    await asyncio.sleep(FAULT_S)
    servers.control.write_text(NO_FAULT)
    after = await read_metrics(session, servers.arm)
    traffic.phase = f"after: {fault}"
    await asyncio.sleep(HEALTHY_S)
    noticed = reason is None or after[f"fallbacks/{reason}"] > before[f"fallbacks/{reason}"]
    recovered = (await read_metrics(session, servers.arm))["drafting"] == 1
    return [] if noticed and recovered else [fault]


async def _switch(session: aiohttp.ClientSession, servers: Servers, traffic: Traffic) -> list[str]:
    """While drafting is switched off nothing is drafted, however long it takes."""
    traffic.phase = "switched off"
    await _set_drafting(session, servers, on=False)
    before = await read_metrics(session, servers.arm)
    await asyncio.sleep(HEALTHY_S)
    after = await read_metrics(session, servers.arm)
    await _set_drafting(session, servers, on=True)
    traffic.phase = "switched on"
    await asyncio.sleep(FAULT_S)
    resumed = await read_metrics(session, servers.arm)
    right = (
        after["drafting"] == 0
        and after["proposed_tokens"] == before["proposed_tokens"]
        and resumed["proposed_tokens"] > after["proposed_tokens"]
    )
    return [] if right else ["switched off"]


async def _memory_pressure(session: aiohttp.ClientSession, servers: Servers, traffic: Traffic) -> list[str]:
    """More long requests than the KV cache holds: the scheduler preempts."""
    traffic.phase = "memory pressure"
    before = await read_metrics(session, servers.arm)
    await asyncio.gather(*[traffic.ask_once(session, long_case(i)) for i in range(LONG_REQUESTS)])
    after = await read_metrics(session, servers.arm)
    traffic.phase = "after memory pressure"
    await asyncio.sleep(HEALTHY_S)
    preempted = after["preemptions"] > before["preemptions"]
    fell_back = after["fallbacks/memory-pressure"] > before["fallbacks/memory-pressure"]
    return [] if preempted and fell_back else ["memory pressure"]


async def _set_drafting(session: aiohttp.ClientSession, servers: Servers, on: bool) -> None:
    async with session.post(f"{servers.arm}/v1/verispec/drafting", json={"on": on}) as response:
        response.raise_for_status()


async def read_metrics(session: aiohttp.ClientSession, base_url: str) -> dict[str, float]:
    """The plugin's metrics by name, fallbacks as "fallbacks/REASON", and vLLM's preemptions."""
    async with session.get(f"{base_url}/metrics") as response:
        text = await response.text()
    known = "\n".join(line for line in text.splitlines() if line.startswith(("verispec:", "vllm:num_preemptions")))
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(known + "\n"):
        for sample in family.samples:
            name = sample.name.removeprefix("verispec:").removesuffix("_total").replace("vllm:num_", "")
            found["/".join([name, *filter(None, [sample.labels.get("reason")])])] = sample.value
    return found
