"""The load generators that benchmarks/client.py measures, each through its own command line."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from verispec_bench.model import DEFAULT_MODEL, resolve_model

ROUNDS, FEWEST_REQUESTS, OUTPUT_TOKENS = 2, 8, 24
BENCH = [sys.executable, "-m", "verispec_bench.cli", "bench"]
VLLM_BENCH = """
from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser
parser = FlexibleArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""
"""`vllm bench serve`, which vLLM's builds for CPUs do not find by that name."""


@dataclass(frozen=True)
class Load:
    """A closed loop.

    Attributes:
        url: the server.
        streams: requests in flight.
        scratch: an empty directory, for prompts and results.

    """

    url: str
    streams: int
    scratch: Path

    @property
    def requests(self) -> int:
        """How many are sent."""
        return max(FEWEST_REQUESTS, ROUNDS * self.streams)


class Tool(Protocol):
    """A load generator."""

    name: str

    def command(self, load: Load) -> list[str]:
        """What sends the load and leaves its result in the scratch directory."""

    def report(self, scratch: Path) -> dict[str, float | None]:
        """What it reports: completed, mean_ttft_ms, p99_ttft_ms, mean_tpot_ms, output_tokens, duration."""


class Verispec:
    """verispec bench."""

    name = "verispec"

    def command(self, load: Load) -> list[str]:
        """Its processes are as many as it thinks right."""
        prompts = write_prompts(load.scratch, load.requests)
        return [
            *BENCH, "--base-url", load.url, "--workload", str(prompts), "--num-prompts", str(load.requests),
            "--max-concurrency", str(load.streams), "--output-len", str(OUTPUT_TOKENS),
            "--result-dir", str(load.scratch / "result"),
        ]  # fmt: skip

    def report(self, scratch: Path) -> dict[str, float | None]:
        """From result.json."""
        return under_vllms_names(json.loads((scratch / "result" / "result.json").read_text()))


class Vllm:
    """vllm bench serve."""

    name = "vllm"

    def command(self, load: Load) -> list[str]:
        """It wants a tokenizer, but counts by the server's usage."""
        prompts = write_prompts(load.scratch, load.requests)
        return [
            sys.executable, "-c", VLLM_BENCH, "--base-url", load.url, "--backend", "openai-chat",
            "--endpoint", "/v1/chat/completions", "--model", "mock", "--tokenizer", resolve_model(DEFAULT_MODEL),
            "--dataset-name", "custom", "--dataset-path", str(prompts), "--skip-chat-template",
            "--custom-output-len", str(OUTPUT_TOKENS), "--num-prompts", str(load.requests), "--temperature", "0",
            "--max-concurrency", str(load.streams), "--disable-tqdm", "--percentile-metrics", "ttft,tpot",
            "--metric-percentiles", "99", "--save-result", "--result-dir", str(load.scratch),
            "--result-filename", "result.json",
        ]  # fmt: skip

    def report(self, scratch: Path) -> dict[str, float | None]:
        """From its result file."""
        return under_vllms_names(json.loads((scratch / "result.json").read_text()))


class Guidellm:
    """guidellm, installed in an environment of its own."""

    name = "guidellm"

    def __init__(self, program: str) -> None:
        self._program = program

    def command(self, load: Load) -> list[str]:
        """It makes its own prompts."""
        tokenizer = resolve_model(DEFAULT_MODEL)
        return [
            self._program, "run", "--disable-console",
            "--backend", f"kind=openai_http,target={load.url},model=mock",
            "--profile", f"kind=concurrent,streams={load.streams}",
            "--constraint", f"kind=max_requests,count={load.requests}",
            "--tokenizer", f"kind=hf_auto,model={tokenizer}",
            "--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={OUTPUT_TOKENS}",
            "--output", f"kind=json,path={load.scratch / 'result.json'}",
        ]  # fmt: skip

    def report(self, scratch: Path) -> dict[str, float | None]:
        """Its inter-token latency is what the others call TPOT; its TPOT includes the first token."""
        (benchmark,) = json.loads((scratch / "result.json").read_text())["benchmarks"]
        metrics = benchmark["metrics"]
        ttft = metrics["time_to_first_token_ms"]["successful"]
        return {
            "completed": metrics["request_totals"]["successful"],
            "mean_ttft_ms": ttft["mean"],
            "p99_ttft_ms": ttft["percentiles"]["p99"],
            "mean_tpot_ms": metrics["inter_token_latency_ms"]["successful"]["mean"],
            "output_tokens": metrics["output_token_count"]["successful"]["total_sum"],
            "duration": benchmark["duration"],
        }


def tools() -> list[Tool]:
    """Those that are here."""
    program = os.environ.get("GUIDELLM")
    return [Verispec(), Vllm(), *([Guidellm(program)] if program else [])]


def write_prompts(directory: Path, count: int) -> Path:
    """A file of different prompts, a JSON line each."""
    path = directory / "prompts.jsonl"
    lines = [
        json.dumps({"prompt": f"Question {i}: what do you know of the number {i}, and why?"}) for i in range(count)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def under_vllms_names(result: dict[str, Any]) -> dict[str, float | None]:
    """The figures of a result that has them under vLLM's names."""
    keys = ("completed", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "duration")
    return {key: result[key] for key in keys} | {"output_tokens": result["total_output_tokens"]}
