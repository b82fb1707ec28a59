"""`breakeven`: what does speculation bring at these costs, and what would it take?"""

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verispec_bench.cli.app import Json, app, err, out, say
from verispec_bench.errors import UnusableInput

if TYPE_CHECKING:
    from verispec_bench.speedmodel import Round, WholeRequest

Ms = float | None


@app.command()
def breakeven(
    alpha: Annotated[float | None, typer.Option(min=0, max=1, help="Chance of each draft to be accepted.")] = None,
    gamma: Annotated[int | None, typer.Option(min=1, help="Drafts in a round.")] = None,
    survival: Annotated[
        str | None,
        typer.Option(
            help="As measured, in the place of --alpha and --gamma: the shares of all rounds that kept the first 1, 2, "
            "… drafts, .8,.6,.5 (spec_decode_per_position_acceptance_rates)."
        ),
    ] = None,
    target_ms: Annotated[Ms, typer.Option(help="A decoding step of the target alone.")] = None,
    draft_ms: Annotated[Ms, typer.Option(min=0, help="Drafting one token.")] = None,
    verify_ms: Annotated[Ms, typer.Option(min=0, help="The target's pass over the drafts of a round.")] = None,
    overhead_ms: Annotated[float, typer.Option(min=0, help="All else that a round adds.")] = 0.0,
    prefill_ms: Annotated[Ms, typer.Option(min=0, help="Reading the prompt: says it end to end too.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Of the answer, with --prefill-ms.")] = None,
    queue_ms: Annotated[float, typer.Option(min=0, help="Waiting before the prompt is read.")] = 0.0,
    batch: Annotated[int, typer.Option(min=1, help="Requests side by side at these costs, for the goodput.")] = 1,
    html: Annotated[Path | None, typer.Option(help="Write the interactive page here.")] = None,
    results: Annotated[
        Path | None, typer.Option("--from", help="Result directory whose cells the page offers.")
    ] = None,
    as_json: Json = False,
) -> None:
    """The first-order speedup of a setting, S = B·E[N] / (D + V + H), and where it breaks even. Exit 1: it loses.

    With --html the setting may be left out: the page has the worked scenarios, and those of a sweep.
    """
    from verispec_bench.speedmodel import break_even
    from verispec_bench.speedmodel.presets import preset

    if survival is not None:
        alpha, gamma = _independent(survival, alpha, gamma)
    given = {"--alpha": alpha, "--gamma": gamma, "--target-ms": target_ms, "--draft-ms": draft_ms,
             "--verify-ms": verify_ms}  # fmt: skip
    missing = [name for name, value in given.items() if value is None]
    if missing and (not html or len(missing) < len(given)):
        raise UnusableInput(f"a setting needs {', '.join(missing)} too")
    if results and not html:
        raise UnusableInput("--from is for the page: name it with --html")
    if (prefill_ms is None) != (tokens is None):
        raise UnusableInput("--prefill-ms and --tokens belong together: a request's prompt and its answer")
    costs_given = [alpha, target_ms, draft_ms, verify_ms, overhead_ms, prefill_ms, queue_ms]
    if not all(math.isfinite(value) for value in costs_given if value is not None):
        raise UnusableInput("a cost or a chance is no finite number")
    found, asked = None, []
    if alpha is not None and gamma and target_ms is not None and draft_ms is not None and verify_ms is not None:
        costs = _round(target_ms, draft_ms, verify_ms, overhead_ms, gamma)
        request = _request(prefill_ms, tokens, queue_ms)
        found = break_even(costs, alpha, request, batch)
        asked = [preset("as asked for", costs, alpha, request, batch)]
        if as_json:
            out.print_json(data=found)
        else:
            say("\n".join(_lines(found, verify_ms)), out)
    if html:
        say(f"page: {_write_page(html, asked, results)}", err if as_json else out)
    if found and found["speedup"] < 1:
        raise typer.Exit(1)


def _independent(survival: str, alpha: float | None, gamma: int | None) -> tuple[float, int]:
    """α and γ with the E[N] of these shares."""
    from verispec_bench.speedmodel import expected_tokens_of, independent_acceptance

    if alpha is not None or gamma is not None:
        raise UnusableInput("--survival stands in the place of --alpha and --gamma: leave them out")
    try:
        shares = [float(share) for share in survival.split(",")]
    except ValueError:
        raise UnusableInput(f"--survival {survival}: are no numbers with commas between") from None
    if not all(0 <= later <= earlier <= 1 for earlier, later in pairwise([1.0, *shares])):
        raise UnusableInput(f"--survival {survival}: each is a share of those before it, from 1 to 0")
    found = independent_acceptance(expected_tokens_of(shares), len(shares))
    assert found is not None
    return found, len(shares)


def _round(target_ms: float, draft_ms: float, verify_ms: float, overhead_ms: float, gamma: int) -> "Round":
    from verispec_bench.speedmodel import Round

    if target_ms <= 0:
        raise UnusableInput(f"--target-ms {target_ms:g}: a step of the target takes some time")
    if verify_ms + draft_ms + overhead_ms == 0:
        raise UnusableInput("--verify-ms, --draft-ms and --overhead-ms are all 0: a round takes some time")
    return Round(target_ms, draft_ms, verify_ms, overhead_ms, gamma)


def _request(prefill_ms: float | None, tokens: int | None, queue_ms: float) -> "WholeRequest | None":
    from verispec_bench.speedmodel import WholeRequest

    return None if prefill_ms is None or tokens is None else WholeRequest(prefill_ms, tokens, queue_ms)


def _write_page(path: Path, asked: list[dict[str, Any]], results: Path | None) -> Path:
    """What was asked for first, then the cells of a sweep, then the worked scenarios."""
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report.break_even import write_break_even
    from verispec_bench.speedmodel.presets import measured_presets, worked_presets

    measured = measured_presets(ResultDirectory(results).summary()) if results else []
    return write_break_even(path, [*asked, *measured, *worked_presets()])


def _lines(found: dict[str, Any], verify_ms: float) -> list[str]:
    alpha, verify = found["break_even_alpha"], found["break_even_verify_ms"]
    lines = [
        f"speedup       {found['speedup']:.2f}  ({'wins' if found['speedup'] >= 1 else 'loses'})",
        f"E[N]          {found['expected_tokens']:.3f} tokens in a round of {found['round_ms']:.1f} ms: "
        f"{found['token_ms']:.1f} ms a token",
        f"goodput       {found['target_only_tokens_per_s']:.1f} → {found['tokens_per_s']:.1f} tokens/s",
        f"breaks even   at {found['break_even_tokens']:.2f} tokens a round: "
        f"{'no α is enough' if alpha is None else f'α {alpha:.2f}'}, "
        f"{f'or V {verify:.1f} ms (it is {verify_ms:g})' if verify > 0 else 'and no verification is fast enough'}",
        f"best window   γ = {found['best_gamma']}: {found['best_gamma_speedup']:.2f} (V linear in γ)",
        f"MBSU          {found['memory_bound_speedup']:.2f} (were verifying free)",
    ]
    if end := found["end_to_end"]:
        seconds = f"{end['target_only_ms'] / 1000:.2f} s → {end['speculative_ms'] / 1000:.2f} s"
        lines.append(f"end to end    {seconds}: {end['speedup']:.2f}")
    return lines
