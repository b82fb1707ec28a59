"""What a sweep says of each finished run."""

from typing import Any

from verispec_bench.record import Run


def run_line(run: Run, row: dict[str, Any]) -> str:
    """Its throughput and batch size, and what was wrong with it."""
    throughput, batch = row["output_throughput"], row["batch_size_mean"]
    return (
        f"  {run.cell:<28} block {run.block}{f' retry {run.attempt}' if run.attempt else ''}  {run.arm:<14}"
        + (f"{throughput:7.1f} tok/s" if throughput is not None else "   nothing completed")
        + (f"  batch {batch:4.1f}" if batch is not None else "")
        + (f"  {row['failed']} failed" if row["failed"] else "")
        + (f"  contaminated: {row['contamination']}" if row["contaminated"] else "")
        + (f"  the client was the bottleneck: {row['client_bottleneck']}" if row["client_bottleneck"] else "")
    )
