"""Mixed traffic on a live server while faults are switched on and off: nothing may be lost, no token may differ."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from prometheus_client.parser import text_string_to_metric_families

from tests.soak.faults import FAILS_TO_LOAD, FAULTS, NO_FAULT
from tests.soak.traffic import Answer, Tally, Traffic, ask, cases, long_case

CLIENTS = 6
LONG_REQUESTS = 6
COOLDOWN_S = 3.0
MAX_GROWTH_MIB = 32.0
PATIENCE_S = 90.0
"""How long what must come is waited for; on a busy machine steps are slow."""
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
        memory_mib: what the worker process alone holds, after each round of all faults.

    """

    tally: Tally
    fallbacks: dict[str, int]
    missing: list[str]
    accepted_tokens: int
    target_only_share: float
    memory_mib: list[float]

    @property
    def grew_mib(self) -> float | None:
        """From the second round to the last, for in the first the server still warms up; None: too short to say."""
        return self.memory_mib[-1] - self.memory_mib[1] if len(self.memory_mib) > 2 else None

    @property
    def passed(self) -> bool:
        """Nothing lost, nothing different, every fault noticed, drafts were accepted beside, and memory is flat."""
        sound = not (self.tally.lost or self.tally.differing or self.missing)
        return sound and self.accepted_tokens > 0 and (self.grew_mib or 0.0) <= MAX_GROWTH_MIB

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"grew_mib": self.grew_mib, "passed": self.passed}


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


def faulty_arm(control: Path) -> dict[str, Any]:
    """An arm of a scenario, whose drafter takes its faults from a file."""
    return {
        "speculative": {
            "method": "custom_class",
            "model": "verispec.engine.Proposer",
            "num_speculative_tokens": 6,
        },
        "verispec": {
            "drafter": "tests.soak.faults.FaultyDrafter",
            "drafter_options": {"control": str(control)},
            "control": {"mode": "fixed"},  # the controller would hold wrong drafts back, before they are a fault
            "fallback": {"cooldown_s": COOLDOWN_S, "stall_s": 0.5, "min_acceptance": 0.05, "acceptance_window": 100},
        },
    }


async def soak(
    servers: Servers, seconds: float, phase_s: float = 5.0, say: Callable[[str], None] = lambda text: None
) -> Report:
    """Run for about so long; every fault comes once at least, and each phase lasts `phase_s` at least."""
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        made = cases()
        expected = await right_answers(session, servers)
        traffic, stop = Traffic(servers.arm, servers.model, expected), asyncio.Event()
        at_first = await read_metrics(session, servers.arm)
        phases, started = _Phases(session, servers, traffic, phase_s), time.monotonic()
        async with asyncio.TaskGroup() as clients:
            for _ in range(CLIENTS):
                clients.create_task(traffic.run(session, made, stop))
            passed = {FAILS_TO_LOAD: await phases.failed_start()}
            memory_mib: list[float] = []
            while not memory_mib or time.monotonic() - started < seconds:
                for fault, (_, reason) in FAULTS.items():
                    say(f"{fault}: {traffic.tally.finished} finished so far")
                    passed[fault] = await phases.fault(fault, reason) and passed.get(fault, True)
                passed["switched off"] = await phases.switched_off() and passed.get("switched off", True)
                passed["memory pressure"] = await phases.memory_pressure() and passed.get("memory pressure", True)
                memory_mib.append(await worker_mib(session, servers.arm))
                say(f"the worker holds {memory_mib[-1]:.0f} MiB")
            stop.set()
        end, elapsed = await read_metrics(session, servers.arm), time.monotonic() - started
    reasons = {key.partition("/")[2]: int(value) for key, value in end.items() if key.startswith("fallbacks/")}
    return Report(
        traffic.tally,
        reasons,
        [phase for phase, good in passed.items() if not good],
        int(end["accepted_tokens"]),
        min(1.0, (end["target_only_seconds"] - at_first["target_only_seconds"]) / elapsed),
        memory_mib,
    )


async def right_answers(session: aiohttp.ClientSession, servers: Servers) -> dict[str, Answer]:
    """Greedy ones from the target-only server; seeded ones from the arm, which does not draft yet."""
    one_answer = [case for case in cases() if case.has_one_answer]
    urls = [servers.arm if case.is_seeded else servers.target_only for case in one_answer]
    asked = [ask(session, url, servers.model, case) for url, case in zip(urls, one_answer, strict=True)]
    return {case.name: answer for case, answer in zip(one_answer, await asyncio.gather(*asked), strict=True)}


class _Phases:
    """The faults, one after another; each says whether the server did what it must."""

    def __init__(self, session: aiohttp.ClientSession, servers: Servers, traffic: Traffic, least_s: float) -> None:
        self._session, self._servers, self._traffic, self._least_s = session, servers, traffic, least_s

    async def failed_start(self) -> bool:
        """It serves without its drafter, tries again when told to, and has it when it is there."""
        self._traffic.phase = FAILS_TO_LOAD
        never_drafted = (await self._wait(lambda now: now["committed_tokens"] > 0))["proposed_tokens"] == 0
        await self._set_drafting(True)
        tried_again = await self._comes(lambda now: now["fallbacks/load-failed"] == 2)
        self._servers.control.write_text(NO_FAULT)
        await self._set_drafting(True)
        return never_drafted and tried_again and await self._comes(lambda now: now["accepted_tokens"] > 0)

    async def fault(self, fault: str, reason: str | None) -> bool:
        """It falls back for the right reason, and drafts again after the cool-down."""
        before = await self._now()
        self._traffic.phase = fault
        self._servers.control.write_text(fault)
        noticed = await self._comes(
            lambda now: reason is None or now[f"fallbacks/{reason}"] > before[f"fallbacks/{reason}"]
        )
        self._servers.control.write_text(NO_FAULT)
        self._traffic.phase = f"after: {fault}"
        return noticed and await self._drafts_again()

    async def switched_off(self) -> bool:
        """Nothing is drafted while drafting is off, however long it takes."""
        self._traffic.phase = "switched off"
        await self._set_drafting(False)
        before = await self._now()
        after = await self._wait(lambda now: now["committed_tokens"] > before["committed_tokens"])
        stayed_off = after["drafting"] == 0 and after["proposed_tokens"] == before["proposed_tokens"]
        await self._set_drafting(True)
        self._traffic.phase = "switched on"
        return stayed_off and await self._drafts_again()

    async def memory_pressure(self) -> bool:
        """More long requests than the KV cache holds: the scheduler preempts, and drafting stops."""
        self._traffic.phase = "memory pressure"
        before = await self._now()
        await asyncio.gather(*[self._traffic.ask_once(self._session, long_case(i)) for i in range(LONG_REQUESTS)])
        after = await self._now()
        self._traffic.phase = "after memory pressure"
        grew = [after[key] > before[key] for key in ("preemptions", "fallbacks/memory-pressure")]
        return all(grew) and await self._drafts_again()

    async def _drafts_again(self) -> bool:
        before = await self._now()
        return await self._comes(
            lambda now: now["drafting"] == 1 and now["proposed_tokens"] > before["proposed_tokens"]
        )

    async def _comes(self, condition: Callable[[dict[str, float]], bool]) -> bool:
        return condition(await self._wait(condition))

    async def _wait(self, condition: Callable[[dict[str, float]], bool]) -> dict[str, float]:
        """The metrics when the phase is long enough and the condition holds, or patience has ended."""
        started = time.monotonic()
        while True:
            await asyncio.sleep(0.5)
            now, passed = await self._now(), time.monotonic() - started
            if (passed > self._least_s and condition(now)) or passed > PATIENCE_S:
                return now

    async def _now(self) -> dict[str, float]:
        return await read_metrics(self._session, self._servers.arm)

    async def _set_drafting(self, on: bool) -> None:
        async with self._session.post(f"{self._servers.arm}/v1/verispec/drafting", json={"on": on}) as response:
            response.raise_for_status()


async def worker_mib(session: aiohttp.ClientSession, base_url: str) -> float:
    """Memory that is the worker process's own: there are drafter, controller and what waits for the verifier."""
    async with session.get(f"{base_url}/verispec/status") as response:
        workers = (await response.json())["workers"]
    return sum(psutil.Process(worker["pid"]).memory_full_info().uss for worker in workers) / 2**20


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
