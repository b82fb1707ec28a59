"""`breakeven`: what does speculation bring at these costs, and what would it take?"""

from typing import Annotated, Any

import typer

from verispec_bench.cli.app import Json, app, out, say
from verispec_bench.errors import UnusableInput


@app.command()
def breakeven(
    alpha: Annotated[float, typer.Option(min=0, max=1, help="Chance of each draft to be accepted.")],
    gamma: Annotated[int, typer.Option(min=1, help="Drafts in a round.")],
    target_ms: Annotated[float, typer.Option(help="A decoding step of the target alone.")],
    draft_ms: Annotated[float, typer.Option(min=0, help="Drafting one token.")],
    verify_ms: Annotated[float, typer.Option(min=0, help="The target's pass over the drafts of a round.")],
    overhead_ms: Annotated[float, typer.Option(min=0, help="All else that a round adds.")] = 0.0,
    prefill_ms: Annotated[float | None, typer.Option(min=0, help="Reading the prompt: says it end to end too.")] = None,
    tokens: Annotated[int | None, typer.Option(min=1, help="Of the answer, with --prefill-ms.")] = None,
    queue_ms: Annotated[float, typer.Option(min=0, help="Waiting before the prompt is read.")] = 0.0,
    as_json: Json = False,
) -> None:
    """The first-order speedup of a setting, S = B·E[N] / (D + V + H), and where it breaks even. Exit 1: it loses."""
    from verispec_bench.speedmodel import Round, WholeRequest, break_even

    if target_ms <= 0:
        raise UnusableInput(f"--target-ms {target_ms:g}: a step of the target takes some time")
    if verify_ms + draft_ms + overhead_ms == 0:
        raise UnusableInput("--verify-ms, --draft-ms and --overhead-ms are all 0: a round takes some time")
    if (prefill_ms is None) != (tokens is None):
        raise UnusableInput("--prefill-ms and --tokens belong together: a request's prompt and its answer")
    request = None if prefill_ms is None or tokens is None else WholeRequest(prefill_ms, tokens, queue_ms)
    found = break_even(Round(target_ms, draft_ms, verify_ms, overhead_ms, gamma), alpha, request)
    if as_json:
        out.print_json(data=found)
    else:
        say("\n".join(_lines(found, verify_ms)), out)
    if found["speedup"] < 1:
        raise typer.Exit(1)


def _lines(found: dict[str, Any], verify_ms: float) -> list[str]:
    alpha, verify = found["break_even_alpha"], found["break_even_verify_ms"]
    end = found["end_to_end"]
    return [
        f"speedup       {found['speedup']:.2f}  ({'wins' if found['speedup'] >= 1 else 'loses'})",
        f"E[N]          {found['expected_tokens']:.3f} tokens in a round of {found['round_ms']:.1f} ms: "
        f"{found['token_ms']:.1f} ms a token",
        f"breaks even   at {found['break_even_tokens']:.2f} tokens a round: α "
        + ("— none is enough" if alpha is None else f"{alpha:.2f}")
        + (f", or V {verify:.1f} ms (it is {verify_ms:g})" if verify > 0 else ", and no verification is fast enough"),
        f"best window   γ = {found['best_gamma']}: {found['best_gamma_speedup']:.2f} (V linear in γ)",
        f"MBSU          {found['memory_bound_speedup']:.2f} (were verifying free)",
        *(
            [
                f"end to end    {end['target_only_ms'] / 1000:.2f} s → {end['speculative_ms'] / 1000:.2f} s: "
                f"{end['speedup']:.2f}"
            ]
            if end
            else []
        ),
    ]
