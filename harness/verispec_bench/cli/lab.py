"""`lab`: exactness in a world small enough to enumerate."""

from typing import Annotated

import typer

from verispec_bench.cli.app import Json, app, out, say
from verispec_bench.errors import InfrastructureFailed


@app.command()
def lab(
    seed: int = 0,
    trials: Annotated[int, typer.Option(min=20_000)] = 150_000,
    as_json: Json = False,
) -> None:
    """A world small enough to enumerate: the shipped rule keeps the target's law, the tempting repair does not."""
    try:
        from verispec_bench.lab import run_lab
    except ImportError as error:
        raise InfrastructureFailed(f"lab needs torch ({error}); run: make setup") from error

    found = run_lab(seed, trials)
    if as_json:
        out.print_json(data=found)
    else:
        check, uniform = found["sequence_distribution_check"], found["identical_uniform_100_faces"]
        say(
            f"sequences of 4 tokens, TV against target-only sampling ({trials} trials; floor "
            f"{check['tv_sampling_floor']:.4f}):\n"
            f"  token rule    {check['tv_baseline_vs_exact']:.4f}  (enumerated {check['tv_enumerated_exact']:.6f})\n"
            f"  wrong repair  {check['tv_baseline_vs_wrong']:.4f}  (enumerated {check['tv_enumerated_wrong']:.6f})\n"
            f"identical laws on 100 faces: independent draws match {uniform['independent_match_rate']:.2%}, "
            f"the coupling {uniform['coupled_match_rate']:.0%}",
            out,
        )
        kept = ", ".join(f"{case['paths']}: {case['kept']:.1%}" for case in found["several_paths"])
        say(f"candidates for one position: kept at {kept}", out)
        for name, speed in found["speed_model"].items():
            say(f"{name}: E[N] {speed['expected_tokens']:.3f}, speedup {speed['speedup']:.2f}", out)
    if not found["passed"]:
        raise typer.Exit(1)
