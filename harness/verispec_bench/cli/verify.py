"""`verify`: is it still the same model?"""

from typing import Any

import typer
from rich.text import Text

from verispec_bench.cli.app import (
    DryRun,
    Json,
    OutDir,
    Resume,
    ScenarioFile,
    app,
    err,
    out,
    result_path,
    resumable,
    run,
    say,
)


@app.command()
def verify(
    scenario: ScenarioFile,
    resume: Resume = False,
    dry_run: DryRun = False,
    out_dir: OutDir = None,
    as_json: Json = False,
) -> None:
    """Test each speculative server against the target-only server: the law of sampled tokens, and greedy answers."""
    from verispec_bench.scenario import load_verification

    loaded = load_verification(scenario)
    from verispec_bench.exactness.describe import describe_verification
    from verispec_bench.exactness.verify import SUMMARY, prepare_verification, run_verification
    from verispec_bench.ledger.evidence import write_evidence
    from verispec_bench.record import ResultDirectory

    prepared = prepare_verification(loaded)
    if dry_run:
        plan = describe_verification(prepared)
        out.print_json(data=plan) if as_json else say(plan["text"], out)
        return
    path = out_dir or result_path(loaded.name, prepared.manifest["identity_sha256"], resume)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume)
    say(f"results go to {path}", err)
    with resumable(lambda: "finished chunks are kept", f"verispec verify {scenario} --resume --out {path}"):
        summary = run(run_verification(prepared, results, err))
    evidence = write_evidence(path, summary, results.manifest()["servers"])
    if as_json:
        out.print_json(data=summary)
    else:
        _show_verification(summary)
        say(f"figures:  {path / SUMMARY}", out)
        for file in evidence:
            say(f"evidence: {file}", out)
    if not summary["closed"]:
        raise typer.Exit(1)


def _show_verification(summary: dict[str, Any]) -> None:
    """Each test's table, why arms are not closed, every difference, and what the figures mean."""
    from verispec_bench.exactness.parity.table import difference_lines, parity_table
    from verispec_bench.exactness.table import anchor_line, law_table, sampling_text

    if summary["tests"]:
        out.print(law_table(summary))
        for test in summary["tests"]:
            for reason in test["reasons"]:
                where = f"{test['arm']}, {sampling_text(test['sampling'])}"
                out.print(Text.assemble((test["verdict"], "yellow"), f" {where}: {reason}"), soft_wrap=True)
        say(anchor_line(summary), out)
    if summary["parity"]:
        out.print(parity_table(summary))
        for line in difference_lines(summary["parity"]):
            out.print(line, soft_wrap=True)
