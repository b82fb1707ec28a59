"""A verification from scenario to verdict: servers up, chunks of completions made and kept, servers down."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.client import Target
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.exactness.chunks import Chunk, ChunkFile, plan_chunks
from verispec_bench.exactness.completions import Completion, CompletionFailed, complete
from verispec_bench.exactness.summary import summarise
from verispec_bench.launch import launched
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, build_manifest
from verispec_bench.record.atomic import write_json
from verispec_bench.scenario import BASELINE, Verification
from verispec_bench.server import Interpreter, ServerProcess, probe_interpreter, server_command

CHUNKS, SUMMARY = Path("completions.jsonl"), Path("verify.json")


@dataclass(frozen=True)
class PreparedVerification:
    """Everything that can be known, and refused, before a server is started."""

    scenario: Verification
    interpreter: Interpreter
    manifest: dict[str, Any]
    chunks: list[Chunk]


def prepare_verification(scenario: Verification) -> PreparedVerification:
    """Probe the interpreter, build every command once, plan the chunks.

    Raises:
        UnusableInput, InfrastructureFailed: what cannot work is refused here, in seconds.

    """
    interpreter = probe_interpreter(scenario.server.python)
    for arm in (BASELINE, *scenario.arms):
        server_command(scenario, arm, interpreter, port=0)
    manifest = build_manifest("verify", scenario, interpreter, {})
    return PreparedVerification(scenario, interpreter, manifest, plan_chunks(scenario.exactness, list(scenario.arms)))


async def run_verification(
    prepared: PreparedVerification, results: ResultDirectory, console: Console
) -> dict[str, Any]:
    """Make the chunks that are missing and summarise. Whatever ends it, finished chunks are kept, no server is left.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair, or the kept chunks are damaged.

    """
    scenario, chunks = prepared.scenario, prepared.chunks
    kept = ChunkFile(results.path / CHUNKS)
    missing = [chunk for chunk in chunks if not kept.has(chunk)]
    if missing:
        with RunProgress(console, sum(chunk.completions for chunk in missing)) as progress:
            async with launched(
                scenario, prepared.interpreter, results, progress, kept=len(kept) > 0, seeds=_seeds(scenario)
            ) as servers:
                for done, chunk in enumerate(missing, start=len(chunks) - len(missing) + 1):
                    progress.label(f"sampling {chunk.arm}")
                    kept.add(chunk, await _make(scenario, chunk, servers, progress))
                    if done % (len(chunks) // 10 + 1) == 0 and not console.is_terminal:
                        progress.say(f"  {done} of {len(chunks)} chunks of completions")
    summary = summarise(scenario, chunks, kept)
    write_json(results.path / SUMMARY, summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary


def _seeds(scenario: Verification) -> dict[str, int]:
    """New at every start: with vLLM's one default seed servers may draw the same tokens, and after a restart again."""
    return {arm: secrets.randbits(31) for arm in (BASELINE, *scenario.arms)}


async def _make(
    scenario: Verification, chunk: Chunk, servers: Mapping[str, ServerProcess], progress: RunProgress
) -> list[Completion]:
    server, exactness = servers[chunk.arm], scenario.exactness
    try:
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
    except CompletionFailed as error:
        if server.died:
            raise InfrastructureFailed(
                f"server {server.name} died: {server.last_words()} (its log: {server.log})"
            ) from error
        raise InfrastructureFailed(
            f"server {server.name}: a completion failed: {error} (its log: {server.log})"
        ) from error
