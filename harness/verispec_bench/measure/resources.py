"""What the server used of the machine, and what it made of it."""

from verispec_bench.measure.metric import Metric
from verispec_bench.measure.run import RunData

GIB = 2**30


def _memory_gib(run: RunData) -> float:
    """Of the device that serves."""
    return run.resource("gpu_bytes" if run.resource("gpus") else "rss_bytes") / GIB


METRICS = (
    Metric(
        "server_rss_bytes",
        "bytes",
        "lower",
        "The most resident memory of the server's processes that was seen, summed; shared pages count in each.",
        ("machine",),
        lambda run: int(run.resource("rss_bytes")),
    ),
    Metric(
        "server_cpu_s",
        "s",
        "lower",
        "Processor seconds of the server's processes.",
        ("machine",),
        lambda run: run.resource("cpu_s"),
    ),
    Metric(
        "server_cpu_utilisation",
        "",
        None,
        "Processor seconds of the server's processes / (duration × usable processors).",
        ("machine",),
        lambda run: run.resource("cpu_s") / (run.duration_s * run.resource("processors")),
    ),
    Metric(
        "foreign_cpu",
        "",
        "lower",
        "Share of the usable processors' time that neither the servers nor the client used, and that was not idle; "
        "the largest of the runs.",
        ("machine",),
        lambda run: run.resource("foreign_cpu"),
    ),
    Metric(
        "clock_jump_s",
        "s",
        "lower",
        "Wall clock − monotonic clock over the run; the largest of the runs. Beside 0: the clock was set, or the "
        "machine slept.",
        ("machine",),
        lambda run: run.resource("clock_jump_s"),
    ),
    Metric(
        "gpu_memory_bytes",
        "bytes",
        "lower",
        "The most device memory of the server's processes that was seen.",
        ("gpu",),
        lambda run: int(run.resource("gpu_bytes")),
    ),
    Metric(
        "gpu_energy_j",
        "J",
        "lower",
        "Energy of the server's devices over the run, idle power included (NVML's total energy counter).",
        ("gpu",),
        lambda run: run.resource("gpu_energy_j"),
    ),
    Metric(
        "energy_per_token_j",
        "J/token",
        "lower",
        "Energy of the server's devices / output tokens.",
        ("gpu", "usage"),
        lambda run: run.resource("gpu_energy_j") / run.output_tokens,
    ),
    Metric(
        "committed_tokens_per_device_second",
        "tokens/s",
        "higher",
        "Output tokens / (duration × devices). Without a GPU the machine's processors together are one device.",
        ("machine", "usage"),
        lambda run: run.per_second(run.output_tokens) / max(1, run.resource("gpus")),
    ),
    Metric(
        "committed_tokens_per_gib",
        "tokens/s/GiB",
        "higher",
        "Output tokens / duration / GiB of server memory: of its devices, or resident where it runs on processors.",
        ("machine", "usage"),
        lambda run: run.per_second(run.output_tokens) / _memory_gib(run),
    ),
)
