"""A verification from scenario to verdict: servers up, chunks made and kept, servers down."""

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.client import Target
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.chunks import Chunk, plan_chunks
from verispec_bench.exactness.completions import Completion, complete
from verispec_bench.exactness.parity.answer import Answer
from verispec_bench.exactness.parity.corpus import MAX_PROMPT_TOKENS, GreedyPrompt, corpus
from verispec_bench.exactness.parity.evidence import Evidence, ParityChunk
from verispec_bench.exactness.parity.summary import summarise_parity
from verispec_bench.exactness.posting import RequestFailed, post_all
from verispec_bench.exactness.summary import summarise_law
from verispec_bench.launch import Launch, launched
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, build_manifest
from verispec_bench.record.atomic import write_json
from verispec_bench.scenario import BASELINE, Verification
from verispec_bench.server import Interpreter, ServerProcess, is_gone, probe_interpreter, server_command
from verispec_bench.workload import Prompt, Workload

COMPLETIONS, ANSWERS, SUMMARY = Path("completions.jsonl"), Path("answers.jsonl"), Path("verify.json")
Servers = Mapping[str, ServerProcess]


@dataclass(frozen=True)
class PreparedVerification:
    """Everything that can be known, and refused, before a server is started.

    Attributes:
        chunks: of the law test, empty without one.
        prompts: of greedy parity, empty without it.

    """

    scenario: Verification
    interpreter: Interpreter
    manifest: dict[str, Any]
    chunks: list[Chunk]
    prompts: list[GreedyPrompt]

    def evidence(self, kept: ChunkFile[Answer]) -> Evidence | None:
        """What greedy parity rests on, as far as it is kept; None without parity."""
        parity = self.scenario.parity
        return Evidence(parity, list(self.scenario.arms), self.prompts, kept) if parity else None


def prepare_verification(scenario: Verification) -> PreparedVerification:
    """Probe the interpreter, build every command once, plan the chunks.

    Raises:
        UnusableInput, InfrastructureFailed: what cannot work is refused here, in seconds.

    """
    if len(scenario.variants()) > 1:
        raise UnusableInput(f"scenario {scenario.name}: verify tests one setting of the servers; leave out axes")
    only_matched = {"control": False, "deployment_default": False, "count_steps": False}
    scenario = scenario.variants()[0].model_copy(update=only_matched)
    prompts = _corpus(scenario)
    interpreter = probe_interpreter(scenario.server.python)
    for arm in (BASELINE, *scenario.arms):
        server_command(scenario, arm, interpreter, port=0)
    corpus_ = Workload("parity", tuple(Prompt(prompt.id, prompt.text) for prompt in prompts))
    named = {"parity": corpus_} if prompts else {}
    manifest = build_manifest("verify", scenario, interpreter, named)
    chunks = plan_chunks(scenario.exactness, list(scenario.arms)) if scenario.exactness else []
    return PreparedVerification(scenario, interpreter, manifest, chunks, prompts)


def _corpus(scenario: Verification) -> list[GreedyPrompt]:
    if not scenario.parity:
        return []
    needed = MAX_PROMPT_TOKENS + scenario.parity.tokens
    if scenario.server.max_model_len < needed:
        raise UnusableInput(
            f"scenario {scenario.name}: server.max_model_len is {scenario.server.max_model_len}: too short for the "
            f"longest prompts of parity with {scenario.parity.tokens} tokens of answer, which need {needed}"
        )
    return corpus(scenario.parity.prompts)


async def run_verification(
    prepared: PreparedVerification, results: ResultDirectory, console: Console
) -> dict[str, Any]:
    """Make the chunks that are missing and summarise. Whatever ends it, finished chunks are kept, no server is left.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair, or the kept chunks are damaged.

    """
    scenario = prepared.scenario
    completions = ChunkFile(results.path / COMPLETIONS, Completion)
    answers = ChunkFile(results.path / ANSWERS, Answer)
    law = [chunk for chunk in prepared.chunks if not completions.has(chunk)]
    evidence = prepared.evidence(answers)
    missing = evidence.missing() if evidence else []
    if law or missing:
        kept = len(completions) + len(answers) > 0
        with RunProgress(console, sum(chunk.completions for chunk in law) + _requests(missing)) as progress:
            launch = Launch(scenario, prepared.interpreter, results, progress, kept, _seeds(scenario))
            async with launched(launch) as servers:
                await _sample_all(scenario, prepared.chunks, completions, servers, progress)
                if evidence:
                    await _answer_all(scenario, evidence, answers, servers, progress)
    summary = _summarise(prepared, results, completions, evidence)
    write_json(results.path / SUMMARY, summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary


def _requests(chunks: Sequence[ParityChunk]) -> int:
    return sum(len(chunk.asks) for chunk in chunks)


def _seeds(scenario: Verification) -> dict[str, int]:
    """New at every start: with vLLM's one default seed servers may draw the same tokens, and after a restart again."""
    return {arm: secrets.randbits(31) for arm in (BASELINE, *scenario.arms)}


async def _sample_all(
    scenario: Verification,
    chunks: Sequence[Chunk],
    kept: ChunkFile[Completion],
    servers: Servers,
    progress: RunProgress,
) -> None:
    """The law test's missing chunks."""
    for done, chunk in enumerate(chunks, start=1):
        if not kept.has(chunk):
            progress.label(f"sampling {chunk.arm}")
            kept.add(chunk, await _sample(scenario, chunk, servers, progress))
            if done % (len(chunks) // 10 + 1) == 0:
                progress.note(f"  {done} of {len(chunks)} chunks of completions")


async def _answer_all(
    scenario: Verification, evidence: Evidence, kept: ChunkFile[Answer], servers: Servers, progress: RunProgress
) -> None:
    """Greedy parity's missing chunks, phase by phase."""
    while missing := evidence.missing():
        progress.expect(_requests(missing))
        progress.note(f"  greedy parity: {len(missing)} chunks of {missing[0].phase} to make")
        for chunk in missing:
            progress.label(f"greedy {chunk.phase} of {chunk.server}")
            kept.add(chunk, await _ask(scenario, chunk, servers, progress))


async def _sample(scenario: Verification, chunk: Chunk, servers: Servers, progress: RunProgress) -> list[Completion]:
    server, exactness = servers[chunk.arm], scenario.exactness
    assert exactness is not None
    async with _failures_of(server):
        return await complete(
            Target(server.base_url, server.command.model),
            exactness.prompts,
            chunk.completions,
            exactness.sampling[chunk.sampling],
            exactness.tokens,
            concurrency=exactness.concurrency,
            timeout_s=exactness.timeout_s,
            on_done=progress.request_done,
        )


async def _ask(scenario: Verification, chunk: ParityChunk, servers: Servers, progress: RunProgress) -> list[Answer]:
    server = servers[chunk.server]
    assert scenario.parity is not None
    async with _failures_of(server):
        return await post_all(
            Target(server.base_url, server.command.model),
            [(ask.path, ask.body) for ask in chunk.asks],
            lambda index, answer: chunk.asks[index].read(answer),
            concurrency=chunk.concurrency,
            timeout_s=scenario.parity.timeout_s,
            on_done=progress.request_done,
        )


@asynccontextmanager
async def _failures_of(server: ServerProcess) -> AsyncIterator[None]:
    """A failed request is the server's failure; it is named."""
    try:
        yield
    except RequestFailed as error:
        if await is_gone(server):
            raise InfrastructureFailed(
                f"server {server.name} died: {server.last_words()} (its log: {server.log})"
            ) from error
        raise InfrastructureFailed(
            f"server {server.name}: a completion failed: {error} (its log: {server.log})"
        ) from error


def _summarise(
    prepared: PreparedVerification,
    results: ResultDirectory,
    completions: ChunkFile[Completion],
    evidence: Evidence | None,
) -> dict[str, Any]:
    """verify.json: the law test's figures, those of greedy parity under `parity`; null where a test is not wanted."""
    scenario, arms = prepared.scenario, list(prepared.scenario.arms)
    law = parity = None
    if scenario.exactness:
        law = summarise_law(scenario.exactness, arms, prepared.chunks, completions)
    if scenario.parity and evidence:
        settings = results.manifest()["servers"][BASELINE]["settings"]
        dtype = settings.get("vllm_config.model_config.dtype")
        parity = summarise_parity(scenario.parity, evidence, dtype and str(dtype).removeprefix("torch."))
    return {
        "scenario": scenario.name,
        **(law or {"tests": None}),
        "parity": parity,
        "closed": all(part["closed"] for part in (law, parity) if part),
    }
