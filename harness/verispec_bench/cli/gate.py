"""`gate`: has something broken since the reference was made? Minutes, for a pipeline."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from verispec_bench.cli.adopt import show_entries
from verispec_bench.cli.app import Json, OutDir, ScenarioFile, app, out, say
from verispec_bench.cli.measured import swept, verified
from verispec_bench.errors import InfrastructureFailed, UnusableInput


@app.command()
def gate(
    scenario: ScenarioFile,
    reference: Annotated[
        Path | None, typer.Option(help="What an earlier gate wrote: its directory, or its gate.json.")
    ] = None,
    out_dir: OutDir = None,
    as_json: Json = False,
) -> None:
    """Verify and sweep briefly, and compare with a reference. Exit 0: sound; 1: broken; 3: disturbed, so try again.

    The scenario has one arm, one cell of load, and a section exactness or parity: scenarios/gate.yaml. A sound server
    fails with a probability below 1 in 100.
    """
    from verispec_bench.exactness.verify import prepare_verification
    from verispec_bench.ledger.gate import FILE, Gate, found_in, judge
    from verispec_bench.release import read_file
    from verispec_bench.scenario import cells_of, load_scenario, load_verification
    from verispec_bench.scenario.servers import ServerAxes
    from verispec_bench.sweep.part import prepare

    known = Gate.read(reference) if reference else None
    path = out_dir or Path("results") / f"gate-{datetime.now():%Y%m%d-%H%M%S}"
    if (path / FILE).exists():
        raise UnusableInput(f"{path}: holds a finished gate; choose another --out")
    loaded = load_scenario(scenario)
    if len(loaded.arms) != 1 or len(loaded.all_arms) != 2 or len(cells_of(loaded)) != 1 or loaded.axes != ServerAxes():
        raise UnusableInput(f"{scenario}: a gate compares one arm with the baseline in one cell, no more")
    [arm] = loaded.arms
    if not loaded.arms[arm].plugin:
        raise UnusableInput(f"{scenario}: arm {arm} runs without the plugin: it has no contract to hold it to")
    again = f"the same command and --out {path}"
    verification, load = prepare_verification(load_verification(scenario)), prepare(loaded, scenario.parent)
    answers = verified(verification, path / "verify", again)
    summary = swept(load, path / "sweep", again)
    found = found_in(summary, read_file(path / "sweep", arm))
    ledger = judge(found, answers, summary, known)
    file = found.write(path, ledger, known)
    if as_json:
        out.print_json(data=found.as_dict(ledger, known))
    else:
        show_entries(ledger)
        if known is None:
            say(f"no reference yet: keep {file}, and give it as --reference from now on", out)
        elif known.contract_sha256 != found.contract_sha256:
            say("another contract than the reference's: verispec manifest A B says what differs", out)
    if ledger.state == "broken":
        raise typer.Exit(1)
    if ledger.state == "open":
        raise typer.Exit(InfrastructureFailed.exit_code)
