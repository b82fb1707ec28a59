"""What load generators report of a server whose timing is known: `make bench`.

The server is `verispec mock-server` in a process of its own: each answer's first chunk is due 500 ms after its request
was read, then one token comes every 100 ms. Each tool sends it the same closed loop through its own command line: as
many requests in flight as there are streams, all at once at the start, two rounds (at least eight requests), answers of
24 tokens to different short prompts. verispec and vLLM send the same prompts, guidellm makes its own of 32 tokens.

An error is what the tool reports minus the truth. `ttft` is against the 500 ms, and contains what the machine did to
the server; `ttft-mock` is against the mean that the mock measured between reading a request and writing its first
chunk. In TPOT and tokens the truth is what the mock measured and counted. guidellm's counterpart of TPOT is its
inter-token latency (its own TPOT includes the first token). `late` is the 99th percentile of the mock's own lateness: a
row in which it is more than 5 ms is marked, for then the mock was no clock to go by.

Of verispec's client alone: the send lag in an open loop (Poisson, 200 requests a second), and whether in every request
of every run the tokens of the chunks add up to the usage.

guidellm is measured if GUIDELLM names its program, installed in an environment of its own. Nothing is asserted: a tool
that fails has a row that says why.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from verispec_bench.model import DEFAULT_MODEL, resolve_model

STREAMS, ROUNDS, FEWEST = (1, 64, 256, 1000), 2, 8
TTFT_MS, TOKENS_PER_SECOND, OUTPUT_TOKENS = 500, 10, 24
RATE, RATE_REQUESTS, RATE_TOKENS = 200, 2000, 8
LATE_MS = 5.0
TIMEOUT_S = 300
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
VERISPEC = [sys.executable, "-m", "verispec_bench.cli"]
VLLM = """
from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser
parser = FlexibleArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""
"""`vllm bench serve`, which is not found by that name in vLLM's builds for CPUs."""


@dataclass(frozen=True)
class Load:
    """A closed loop.

    Attributes:
        url: the mock.
        streams: requests in flight.
        scratch: an empty directory, for prompts and results.

    """

    url: str
    streams: int
    scratch: Path

    @property
    def requests(self) -> int:
        """How many are sent."""
        return max(FEWEST, ROUNDS * self.streams)

    def prompts(self) -> Path:
        """A file of different prompts, made anew."""
        path = self.scratch / "prompts.jsonl"
        write_prompts(path, self.requests)
        return path


def write_prompts(path: Path, count: int) -> None:
    """A JSON line each."""
    lines = [
        json.dumps({"prompt": f"Question {i}: what do you know of the number {i}, and why?"}) for i in range(count)
    ]
    path.write_text("\n".join(lines) + "\n")


@dataclass(frozen=True)
class Tool:
    """A load generator: its command for a load, and what it then reports, under our names."""

    name: str
    command: Callable[[Load], list[str]]
    report: Callable[[Path], dict[str, float | None]]


def verispec_command(load: Load) -> list[str]:
    return [
        *VERISPEC, "bench", "--base-url", load.url, "--workload", str(load.prompts()),
        "--num-prompts", str(load.requests), "--max-concurrency", str(load.streams),
        "--output-len", str(OUTPUT_TOKENS), "--result-dir", str(load.scratch / "result"),
    ]  # fmt: skip


def verispec_report(scratch: Path) -> dict[str, float | None]:
    result = json.loads((scratch / "result" / "result.json").read_text())
    keys = ("completed", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "duration", "client_processes")
    return {key: result[key] for key in keys} | {"output_tokens": result["total_output_tokens"]}


def vllm_command(load: Load) -> list[str]:
    return [
        sys.executable, "-c", VLLM, "--base-url", load.url, "--backend", "openai-chat",
        "--endpoint", "/v1/chat/completions", "--model", "mock", "--tokenizer", resolve_model(DEFAULT_MODEL),
        "--dataset-name", "custom", "--dataset-path", str(load.prompts()), "--skip-chat-template",
        "--custom-output-len", str(OUTPUT_TOKENS), "--num-prompts", str(load.requests), "--temperature", "0",
        "--max-concurrency", str(load.streams), "--disable-tqdm", "--percentile-metrics", "ttft,tpot",
        "--metric-percentiles", "99", "--save-result", "--result-dir", str(load.scratch),
        "--result-filename", "result.json",
    ]  # fmt: skip


def vllm_report(scratch: Path) -> dict[str, float | None]:
    result = json.loads((scratch / "result.json").read_text())
    keys = ("completed", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "duration")
    return {key: result[key] for key in keys} | {"output_tokens": result["total_output_tokens"]}


def guidellm_command(load: Load) -> list[str]:
    return [
        os.environ["GUIDELLM"], "run", "--disable-console", "--backend", f"kind=openai_http,target={load.url},model=mock",
        "--profile", f"kind=concurrent,streams={load.streams}",
        "--constraint", f"kind=max_requests,count={load.requests}",
        "--tokenizer", f"kind=hf_auto,model={resolve_model(DEFAULT_MODEL)}",
        "--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={OUTPUT_TOKENS}",
        "--output", f"kind=json,path={load.scratch / 'result.json'}",
    ]  # fmt: skip


def guidellm_report(scratch: Path) -> dict[str, float | None]:
    (benchmark,) = json.loads((scratch / "result.json").read_text())["benchmarks"]
    metrics = benchmark["metrics"]
    ttft, itl, tokens = (
        metrics[name]["successful"]
        for name in ("time_to_first_token_ms", "inter_token_latency_ms", "output_token_count")
    )
    return {
        "completed": metrics["request_totals"]["successful"],
        "mean_ttft_ms": ttft["mean"],
        "p99_ttft_ms": ttft["percentiles"]["p99"],
        "mean_tpot_ms": itl["mean"],
        "duration": benchmark["duration"],
        "output_tokens": tokens["total_sum"],
    }


def tools() -> list[Tool]:
    """Those that are here."""
    found = [Tool("verispec", verispec_command, verispec_report), Tool("vllm", vllm_command, vllm_report)]
    return [*found, Tool("guidellm", guidellm_command, guidellm_report)] if os.environ.get("GUIDELLM") else found


@contextmanager
def mock_server() -> Iterator[str]:
    """The URL of a mock in a process of its own."""
    timing = ["--ttft-ms", str(TTFT_MS), "--tokens-per-second", str(TOKENS_PER_SECOND)]
    command = [*VERISPEC, "mock-server", "--port", "0", *timing, "--json-line"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            ready = server.stdout.readline()
            if not ready:
                sys.exit(3)  # it has said why
            yield json.loads(ready)["url"]
        finally:
            server.terminate()


def ask(url: str, method: str = "GET") -> dict[str, Any]:
    """A JSON answer of the mock."""
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=30) as response:
        return dict(json.load(response))


def run(command: list[str]) -> tuple[float, str | None]:
    """Seconds that a tool took with its start, and why it failed, if it did."""
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=os.environ | OFFLINE)
    except (subprocess.TimeoutExpired, OSError) as error:
        return time.perf_counter() - start, f"{type(error).__name__}: {error}"[:200]
    said = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["it said nothing"]
    return time.perf_counter() - start, f"exit code {done.returncode}: {said[-1][:200]}" if done.returncode else None


def measure(tool: Tool, load: Load) -> dict[str, Any]:
    """One row: what the tool reports, what the mock knows, and the differences; None where one is missing."""
    ask(f"{load.url}/mock/reset", "POST")
    wall_s, failure = run(tool.command(load))
    mock = ask(f"{load.url}/mock/timing")
    row = {"tool": tool.name, "streams": load.streams, "requests": load.requests, "wall_s": wall_s, "failure": failure}
    if failure is None:
        said = tool.report(load.scratch)
        row |= said | {
            "ttft_error_ms": difference(said["mean_ttft_ms"], TTFT_MS),
            "ttft_error_to_mock_ms": difference(said["mean_ttft_ms"], mock["mean_ttft_ms"]),
            "p99_ttft_error_to_mock_ms": difference(said["p99_ttft_ms"], mock["p99_ttft_ms"]),
            "tpot_error_to_mock_ms": difference(said["mean_tpot_ms"], mock["mean_tpot_ms"]),
            "tokens_differ": difference(said["output_tokens"], mock["tokens"]),
        }
    late = mock["lateness_p99_ms"]
    return row | {"mock_was_late": late is not None and late > LATE_MS, "mock": mock}


def difference(said: float | None, truth: float | None) -> float | None:
    """What was said minus what is true; None where nothing was said."""
    return None if said is None or truth is None else said - truth


def send_lag(url: str, scratch: Path) -> dict[str, Any]:
    """How long after its release verispec's client sends a request, at 200 a second."""
    write_prompts(scratch / "prompts.jsonl", RATE_REQUESTS)
    ask(f"{url}/mock/reset", "POST")
    wall_s, failure = run(
        [
            *VERISPEC,
            "bench",
            "--base-url",
            url,
            "--workload",
            str(scratch / "prompts.jsonl"),
            "--num-prompts",
            str(RATE_REQUESTS),
            "--request-rate",
            str(RATE),
            "--output-len",
            str(RATE_TOKENS),
            "--result-dir",
            str(scratch / "result"),
        ]  # fmt: skip
    )
    records = requests(scratch)
    lags = [1000 * (r["sent_s"] - r["released_s"]) for r in records if r["sent_s"] is not None]
    return {
        "request_rate": RATE,
        "requests": len(records),
        "wall_s": wall_s,
        "failure": failure,
        "send_lag_p50_ms": float(np.percentile(lags, 50)) if lags else None,
        "send_lag_p99_ms": float(np.percentile(lags, 99)) if lags else None,
        "mock": ask(f"{url}/mock/timing"),
    }


def requests(scratch: Path) -> list[dict[str, Any]]:
    """The raw requests of a run of verispec's client; none if it failed."""
    path = scratch / "result" / "requests.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def sums(records: list[dict[str, Any]]) -> dict[str, int]:
    """In how many answers the tokens of the chunks are not those of the usage."""
    whole = [r for r in records if r["error"] is None]
    return {"answers": len(whole), "differ": sum(sum(r["chunk_tokens"]) != r["completion_tokens"] for r in whole)}


def describe(row: dict[str, Any]) -> str:
    """A line for people."""
    head = f"{row['tool']:<9}{row['streams']:>5} streams "
    if row["failure"]:
        return f"{head} failed: {row['failure']}"
    mark = "  (the mock was late)" if row["mock_was_late"] else ""
    return (
        f"{head} ttft {row['ttft_error_ms']:>+8.1f}  ttft-mock {row['ttft_error_to_mock_ms']:>+8.1f}  "
        f"p99-mock {number(row['p99_ttft_error_to_mock_ms']):>8}  tpot {row['tpot_error_to_mock_ms']:>+7.2f} ms  "
        f"tokens {row['tokens_differ']:>+5.0f}  run {row['duration']:>6.1f} s of {row['wall_s']:>6.1f}  "
        f"late {row['mock']['lateness_p99_ms']:>6.1f} ms{mark}"
    )


def number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:+.1f}"


def main() -> None:
    """Print a line for each tool and number of streams; --json prints one object."""
    as_json, rows, records = "--json" in sys.argv, [], []
    with mock_server() as url, tempfile.TemporaryDirectory() as directory:
        for streams in STREAMS:
            for tool in tools():
                scratch = Path(directory) / f"{tool.name}-{streams}"
                scratch.mkdir()
                rows.append(measure(tool, Load(url, streams, scratch)))
                records += requests(scratch) if tool.name == "verispec" else []
                if not as_json:
                    print(describe(rows[-1]), flush=True)
        scratch = Path(directory) / "open-loop"
        scratch.mkdir()
        lag = send_lag(url, scratch)
        records += requests(scratch)
    found = {"ttft_ms": TTFT_MS, "rows": rows, "send_lag": lag, "chunk_sums": sums(records)}
    if as_json:
        print(json.dumps(found))
        return
    p50, p99 = number(lag["send_lag_p50_ms"]), number(lag["send_lag_p99_ms"])
    print(f"send lag at {RATE}/s: p50 {p50} ms, p99 {p99} ms" + (f" ({lag['failure']})" if lag["failure"] else ""))
    print("tokens of chunks = usage: {answers} answers, {differ} differ".format(**found["chunk_sums"]))


if __name__ == "__main__":
    main()
