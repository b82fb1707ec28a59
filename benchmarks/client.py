"""What load generators report of a server whose timing is known: `make bench`.

The server is `verispec mock-server` in a process of its own: the first chunk of an answer is due 500 ms after its
request was read, then one token comes every 100 ms. Each tool sends it the same closed loop through its own command
line: as many requests in flight as there are streams, all at once at the start, two rounds (eight requests at least),
answers of 24 tokens to short prompts that all differ. verispec and vLLM send the same ones, guidellm makes its own.

An error is what a tool reports minus what is true. "ttft" is against 500 ms, and holds what the machine did to the
server as well; "to mock" is against the mean that the mock measured from reading a request to writing its first chunk.
In TPOT and tokens the truth is what the mock measured and counted. "late" is how late the mock was itself (99th
percentile over its chunks, or over timers of its event loop if that is more): a row in which it is more than 5 ms says
so, for then the mock was a bad clock.

Of verispec's client alone: how long after its due time a request is sent at 200 a second (Poisson, open loop), and
whether the tokens of the chunks add up to the usage in every answer of all its runs.

guidellm is measured where GUIDELLM names its program. Nothing is asserted; a tool that fails has a row that says why.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from load_generators import BENCH, Load, Tool, tools, write_prompts

STREAMS = (1, 64, 256, 1000)
TTFT_MS, TOKENS_PER_SECOND = 500, 10
REQUEST_RATE, RATE_REQUESTS, RATE_TOKENS = 200, 2000, 8
LATE_MS = 5.0
TIMEOUT_S = 300
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


@contextmanager
def mock_server() -> Iterator[str]:
    """The URL of a mock in a process of its own."""
    timing = ["--ttft-ms", str(TTFT_MS), "--tokens-per-second", str(TOKENS_PER_SECOND)]
    command = [sys.executable, "-m", "verispec_bench.cli", "mock-server", "--port", "0", *timing, "--json-line"]
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
    """Seconds that a command took with its start, and why it failed, if it did."""
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
    late_ms = max(mock["lateness_p99_ms"] or 0.0, mock["loop_lag_p99_ms"] or 0.0)
    row |= {"mock": mock, "mock_late_ms": late_ms, "mock_was_late": late_ms > LATE_MS}
    if failure is not None:
        return row
    said = tool.report(load.scratch)
    return row | {
        **said,
        "ttft_error_ms": difference(said["mean_ttft_ms"], TTFT_MS),
        "ttft_error_to_mock_ms": difference(said["mean_ttft_ms"], mock["mean_ttft_ms"]),
        "p99_ttft_error_to_mock_ms": difference(said["p99_ttft_ms"], mock["p99_ttft_ms"]),
        "tpot_error_to_mock_ms": difference(said["mean_tpot_ms"], mock["mean_tpot_ms"]),
        "output_tokens_too_many": difference(said["output_tokens"], mock["tokens"]),
    }


def difference(said: float | None, true: float | None) -> float | None:
    """An error; None where either is missing."""
    return None if said is None or true is None else said - true


def send_lag(url: str, scratch: Path) -> dict[str, Any]:
    """How long after its due time verispec's client sends a request, in an open loop without a limit."""
    prompts = write_prompts(scratch, RATE_REQUESTS)
    ask(f"{url}/mock/reset", "POST")
    sizes = ["--num-prompts", str(RATE_REQUESTS), "--output-len", str(RATE_TOKENS), "--request-rate", str(REQUEST_RATE)]
    wall_s, failure = run(
        [*BENCH, "--base-url", url, "--workload", str(prompts), *sizes, "--result-dir", str(scratch / "result")]
    )
    lags = [1000 * (record["sent_s"] - record["scheduled_s"]) for record in sent(scratch)]
    return {
        "request_rate": REQUEST_RATE,
        "requests": len(lags),
        "wall_s": wall_s,
        "failure": failure,
        "send_lag_p50_ms": float(np.percentile(lags, 50)) if lags else None,
        "send_lag_p99_ms": float(np.percentile(lags, 99)) if lags else None,
        "mock": ask(f"{url}/mock/timing"),
    }


def sent(scratch: Path) -> list[dict[str, Any]]:
    """The requests that a run of verispec's client has sent; none if the run failed."""
    path = scratch / "result" / "requests.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []
    return [record for record in records if record["sent_s"] is not None]


def check_sums(records: list[dict[str, Any]]) -> dict[str, int]:
    """In how many answers the tokens of the chunks are not those of the usage."""
    whole = [record for record in records if record["error"] is None]
    differ = [record for record in whole if sum(record["chunk_tokens"]) != record["completion_tokens"]]
    return {"requests": len(records), "answers": len(whole), "differ": len(differ)}


def describe(row: dict[str, Any]) -> str:
    """A row for people."""
    head = f"{row['tool']:<9}{row['streams']:>5} streams  "
    if row["failure"]:
        return f"{head}failed: {row['failure']}"
    late = f"late {row['mock_late_ms']:.1f} ms{' !' if row['mock_was_late'] else ''}"
    return (
        f"{head}ttft {_signed(row['ttft_error_ms'])} ms, to mock {_signed(row['ttft_error_to_mock_ms'])}, "
        f"p99 {_signed(row['p99_ttft_error_to_mock_ms'])}  tpot {_signed(row['tpot_error_to_mock_ms'], 2)} ms  "
        f"tokens {_signed(row['output_tokens_too_many'], 0, 3)}  {row['duration']:.1f} s of {row['wall_s']:.1f}  {late}"
    )


def _signed(value: float | None, digits: int = 1, width: int = 8) -> str:
    return f"{'n/a' if value is None else f'{value:+.{digits}f}':>{width}}"


def main() -> None:
    """Print a row for each tool and number of streams; --json prints one object."""
    as_json, rows, records = "--json" in sys.argv, [], []
    with mock_server() as url, tempfile.TemporaryDirectory() as directory:

        def scratch(name: str) -> Path:
            path = Path(directory) / name
            path.mkdir()
            return path

        for streams in STREAMS:
            for tool in tools():
                load = Load(url, streams, scratch(f"{tool.name}-{streams}"))
                rows.append(measure(tool, load))
                records += sent(load.scratch)
                if not as_json:
                    print(describe(rows[-1]), flush=True)
        open_loop = scratch("open-loop")
        lag = send_lag(url, open_loop)
        records += sent(open_loop)
    sums = check_sums(records)
    if as_json:
        print(json.dumps({"ttft_ms": TTFT_MS, "rows": rows, "send_lag": lag, "chunk_sums": sums}))
        return
    if any(row["mock_was_late"] for row in rows):
        print(f"! the mock itself was late by more than {LATE_MS:g} ms (p99): quiet the machine")
    p50, p99, failure = lag["send_lag_p50_ms"], lag["send_lag_p99_ms"], lag["failure"]
    print(f"send lag at {REQUEST_RATE}/s: {failure or f'p50 {p50:.2f} ms, p99 {p99:.2f} ms'}")
    print(f"tokens of chunks are the usage: {sums['answers']} answers, {sums['differ']} differ")


if __name__ == "__main__":
    main()
