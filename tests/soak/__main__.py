"""python -m tests.soak [--minutes 20] [--json]: starts a pair of servers on the default model and soaks the arm."""

import argparse
import asyncio
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from tests.soak.faults import FAILS_TO_LOAD
from tests.soak.soak import SERVER_ARGS, Report, Servers, faulty_arm, soak
from verispec_bench.errors import VerispecError
from verispec_bench.model import fetch_model
from verispec_bench.scenario import BASELINE, Setup
from verispec_bench.server import ServerProcess, free_port, probe_interpreter, server_command, wait_until_ready

ROOT = Path(__file__).parents[2]
MODEL = "smollm2-135m-instruct"


def scenario(control: Path) -> Setup:
    """Both servers; the arm's drafter takes its faults from the file."""
    server = {"dtype": "float32", "max_model_len": 1024, "max_num_seqs": 12, "args": SERVER_ARGS}
    server["env"] = {"PYTHONPATH": str(ROOT), "VLLM_CPU_KVCACHE_SPACE": "1"}
    return Setup.model_validate(
        {
            "name": "soak",
            "model": MODEL,
            "server": server,
            "arms": {"faulty": faulty_arm(control)},
        }
    )


def main() -> None:
    """Print the report; exit code 1 if something was lost, differed, or went unnoticed."""
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    err = Console(stderr=True)
    try:
        report = asyncio.run(_run(options.minutes, lambda text: err.print(f"soak: {text}", highlight=False)))
    except VerispecError as error:
        err.print(f"verispec: {error}", markup=False)
        sys.exit(error.exit_code)
    print(json.dumps(report.as_dict()) if options.json else as_text(report))
    sys.exit(0 if report.passed else 1)


async def _run(minutes: float, say) -> Report:
    fetch_model()
    interpreter = probe_interpreter(None)
    with ExitStack() as running, tempfile.TemporaryDirectory() as directory:
        control = Path(directory) / "fault"
        control.write_text(FAILS_TO_LOAD)
        started = {}
        for arm in (BASELINE, "faulty"):
            port = free_port()
            command = server_command(scenario(control), arm, interpreter, port)
            log = ROOT / "results" / "logs" / f"soak-{arm}-{port}.log"
            started[arm] = running.enter_context(ServerProcess(arm, command, port, log))
        say("starting two servers")
        await wait_until_ready(list(started.values()), 900)
        urls = (started[BASELINE].base_url, started["faulty"].base_url)
        return await soak(Servers(*urls, MODEL, control), 60 * minutes, say=say)


def as_text(report: Report) -> str:
    """For people."""
    tally, grew = report.tally, report.grew_mib
    growth = "too short to say whether it grows" if grew is None else f"{grew:+.0f} since the second round"
    lines = [
        f"requests sent      {tally.sent}",
        f"finished           {tally.finished}",
        f"aborted on purpose {tally.aborted}",
        f"lost               {len(tally.lost)}",
        f"tokens differing   {len(tally.differing)}",
        f"accepted drafts    {report.accepted_tokens}",
        f"time target-only   {report.target_only_share:.0%}",
        f"worker's memory    {report.memory_mib[0]:.0f} to {report.memory_mib[-1]:.0f} MiB, {growth}",
        "fallbacks          " + ", ".join(f"{reason} {count}" for reason, count in report.fallbacks.items() if count),
        *(f"LOST       {line}" for line in tally.lost[:20]),
        *(f"DIFFERENT  {line}" for line in tally.differing[:20]),
        *(f"UNNOTICED  {line}" for line in report.missing),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
