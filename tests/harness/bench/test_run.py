"""`verispec bench` against fakes: what is measured, kept, warned of, and the exit codes."""

import asyncio
import json
import os
import signal
import subprocess

import pytest

from tests.fakes.server import FakeServer, serving
from tests.harness.sweep.test_sweep import VERISPEC, verispec
from verispec_bench.bench import Bench, BenchLoad, run_bench
from verispec_bench.bench import run as run_module
from verispec_bench.client import ClientLoad, Sampling
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.measure import Slo


async def bench(server, *, sampling=None, load=None, **options):
    asked = BenchLoad(**{"num_prompts": 6, "max_concurrency": 2, "timeout_s": 5.0} | (load or {}))
    async with serving(server) as url:
        return await run_bench(Bench(url, asked, sampling or Sampling(8), **options))


def prompts(tmp_path, *words):
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"{word} {i}"}) + "\n" for i, word in enumerate(words)))
    return str(path)


async def test_any_server_is_measured():
    measures = (await bench(FakeServer())).measures
    assert (measures["completed"], measures["failed"], measures["errors"]) == (6, 0, [])
    assert measures["output_throughput"] > 0
    assert measures["p95_ttft_ms"] is None
    assert measures["client_processes"] == 1
    assert measures["client_busy_share"] > 0


async def test_a_rate_is_an_open_loop():
    result = await bench(FakeServer(), load={"request_rate": 50, "num_prompts": 5})
    assert next(record.scheduled_s for record in result.records) == 0
    assert all(record.released_s >= record.scheduled_s for record in result.records)


async def test_completions_and_whole_answers_are_measured():
    server = FakeServer()
    result = await bench(server, endpoint="completions", stream=False)
    assert result.measures["completed"] == 6
    assert all("prompt" in body and not body["stream"] for body in server.bodies)


async def test_percentiles_and_goodput_are_those_that_were_asked_for():
    result = await bench(FakeServer(), percentiles=(50, 60, 80), goodput=Slo(ttft_ms=60_000))
    measures = result.measures
    assert measures["p50_ttft_ms"] <= measures["p60_ttft_ms"] <= measures["p80_ttft_ms"]
    assert measures["p80_itl_ms"] is not None
    assert measures["request_goodput"] == pytest.approx(measures["request_throughput"])


async def test_the_reasons_of_failures_are_kept(tmp_path):
    measures = (
        await bench(FakeServer(), load={"workload": prompts(tmp_path, "!503", "fine"), "num_prompts": 2})
    ).measures
    assert (measures["completed"], measures["failed"]) == (1, 1)
    assert measures["errors"] == ["http 503: overloaded"]


async def test_warm_up_requests_are_sent_and_not_measured():
    server = FakeServer()
    result = await bench(server, load={"num_warmups": 2})
    assert (len(server.bodies), result.measures["completed"]) == (8, 6)


async def test_a_warm_up_that_nobody_answers_ends_the_run(tmp_path):
    workload = prompts(tmp_path, *["!503"] * 3)
    with pytest.raises(InfrastructureFailed, match="every warm-up failed: http 503"):
        await bench(FakeServer(), load={"workload": workload, "num_prompts": 2, "num_warmups": 1})


async def test_answers_shorter_than_asked_are_warned_of_only_if_they_had_to_be_full():
    full = await bench(FakeServer(answer_tokens=8), sampling=Sampling(8, ignore_eos=True))
    short = await bench(FakeServer(answer_tokens=5), sampling=Sampling(8, ignore_eos=True))
    allowed = await bench(FakeServer(answer_tokens=5), sampling=Sampling(8))
    assert [warning for warning in full.warnings + allowed.warnings if "shorter" in warning] == []
    assert "6 answers were shorter than asked, though --ignore-eos was on" in short.warnings


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (ClientLoad(0.5, 0.01), None),
        (ClientLoad(0.95, 0.01), "it used 95% of a processor"),
        (ClientLoad(0.5, 0.08), "its event loop was up to 80 ms late"),
        (ClientLoad(0.5, None), None),
    ],
)
async def test_a_client_that_was_the_bottleneck_is_warned_of(monkeypatch, load, said):
    real = run_module.run_load

    async def slowed(*args, **options):
        from dataclasses import replace

        return replace(await real(*args, **options), client=load)

    monkeypatch.setattr(run_module, "run_load", slowed)
    warnings = [warning for warning in (await bench(FakeServer())).warnings if "bottleneck" in warning]
    assert len(warnings) == (said is not None)
    assert said is None or said in warnings[0]


async def test_what_cannot_be_sent_is_refused():
    with pytest.raises(UnusableInput, match="has 280 prompts, 999 were asked for"):
        await bench(FakeServer(), load={"num_prompts": 999})
    with pytest.raises(UnusableInput, match="--model x: the server serves m"):
        await bench(FakeServer(), model="x")


async def test_a_server_is_needed():
    with pytest.raises(InfrastructureFailed, match="no OpenAI-compatible server"):
        await run_bench(Bench("http://127.0.0.1:9", BenchLoad(), Sampling(8)))


async def on_the_command_line(server, *arguments):
    async with serving(server) as url:
        return await asyncio.to_thread(verispec, "bench", "--base-url", url, *arguments)


async def test_results_are_kept_where_asked_and_never_over_others(tmp_path):
    path = tmp_path / "out"
    flags = ["--num-prompts", "4", "--result-dir", path, "--json", "--request-rate", "50", "--burstiness", "inf"]
    first = await on_the_command_line(FakeServer(), *flags)
    assert first.returncode == 0, first.stderr
    lines = [json.loads(line) for line in (path / "requests.jsonl").read_text().splitlines()]
    kept, printed = json.loads((path / "result.json").read_text()), json.loads(first.stdout)
    assert [line["scheduled_s"] for line in lines] == pytest.approx([0, 0.02, 0.04, 0.06])
    assert kept["completed"] == printed["completed"] == 4
    assert kept["bench"]["load"]["request_rate"] == 50
    second = await on_the_command_line(FakeServer(), *flags)
    assert second.returncode == 2
    assert "is not empty; choose another --result-dir" in second.stderr


async def test_some_failed_is_one_and_all_failed_is_three(tmp_path):
    some, none = prompts(tmp_path, "!503", "fine"), str(tmp_path / "none.jsonl")
    (tmp_path / "none.jsonl").write_text('{"prompt": "!503"}\n')
    one = await on_the_command_line(FakeServer(), "--workload", some, "--num-prompts", "2")
    three = await on_the_command_line(FakeServer(), "--workload", none, "--num-prompts", "1")
    assert (one.returncode, three.returncode) == (1, 3)
    assert "1 x http 503: overloaded" in one.stdout
    assert "all 1 requests failed: http 503: overloaded" in three.stderr


@pytest.mark.parametrize(
    ("number", "processes", "ignored"),
    [
        (signal.SIGINT, "1", ()),
        (signal.SIGINT, "2", ()),
        (signal.SIGTERM, "1", ()),
        (signal.SIGTERM, "1", (signal.SIGINT,)),
    ],
    ids=["Ctrl-C", "Ctrl-C in two processes", "SIGTERM", "SIGTERM to a script's background job"],
)
async def test_ctrl_c_prints_what_was_measured(tmp_path, number, processes, ignored):
    """Two answers, two that hang, two never sent."""
    workload = prompts(tmp_path, *["!hang"] * 6)
    text = (tmp_path / "prompts.jsonl").read_text().replace("!hang 0", "fine 0").replace("!hang 1", "fine 1")
    (tmp_path / "prompts.jsonl").write_text(text)
    server, path = FakeServer(), tmp_path / "out"
    flags = ["--workload", workload, "--num-prompts", "6", "--max-concurrency", "2", "--json", "--result-dir", path]
    flags += ["--client-processes", processes]
    async with serving(server) as url:
        child = subprocess.Popen(
            [VERISPEC, "bench", "--base-url", url, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ),
            start_new_session=True,
            preexec_fn=lambda: [signal.signal(one, signal.SIG_IGN) for one in ignored],
        )
        while server.running < 2:
            assert child.poll() is None
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        os.killpg(child.pid, number)  # as a terminal does: its children get it too
        stdout, stderr = await asyncio.to_thread(child.communicate, timeout=60)
    assert child.returncode == 130, stderr
    printed = json.loads(stdout)
    assert printed["interrupted"] is True
    assert printed["completed"] + printed["failed"] + printed["not_sent"] == 6
    assert printed["failed"] == 2
    assert set(printed["errors"]) == {"aborted: the run was interrupted"}
    assert len((path / "requests.jsonl").read_text().splitlines()) == printed["completed"] + 2
    assert b"Traceback" not in stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--endpoint", "embeddings"], "--endpoint embeddings: is neither chat nor completions"),
        (["--goodput", "itl:5"], "--goodput: itl:5: give ttft:MS, tpot:MS or e2el:MS"),
        (["--metric-percentiles", "50,x"], "--metric-percentiles 50,x: is no list like 50,95,99"),
        (["--client-processes", "0"], "--client-processes 0: is neither a number above 0 nor auto"),
        (["--trace", "no.csv"], "no.csv: the trace cannot be read"),
    ],
)
def test_unusable_flags_are_refused_in_one_line(flags, message):
    result = verispec("bench", "--base-url", "http://127.0.0.1:9", *flags)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_dry_run_sends_nothing_and_needs_no_server():
    flags = ["--request-rate", "10", "--burstiness", "inf", "--num-prompts", "11", "--json", "--dry-run"]
    result = verispec("bench", "--base-url", "http://127.0.0.1:9", *flags)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["arrivals_s"] == pytest.approx(1.0)
