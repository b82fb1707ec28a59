"""Where the server's time went, in its steps and in its requests: gains of its counters."""

from collections.abc import Callable

from verispec_bench.measure.metric import Metric
from verispec_bench.measure.run import RunData

PARTS = {
    "draft": "Making drafts, by whichever drafter",
    "rule": "Verifying drafts: the rule, with the target's softmax",
    "verify_pass": "The target's passes of steps with a draft",
    "decode_pass": "The target's passes of all other steps, prefills included",
    "other": "What the steps took beside: sampling without drafts and bookkeeping",
}
"""The parts of a step, as the plugin times them in the worker. On GPUs: the launching of them."""
PHASES = {
    "queue": "in the server's queue",
    "prefill": "from leaving the queue to the first token",
    "decode": "from the first token to the last",
}
"""The phases of a request, as vLLM times them."""


def _step_time(run: RunData) -> float:
    return sum(run.gain(f"{part}_s") for part in PARTS)


def _request_time(run: RunData) -> float:
    return sum(run.gain(f"request_{phase}_s") for phase in PHASES)


def _gain(counter: str, scale: float = 1) -> Callable[[RunData], float]:
    return lambda run: scale * run.gain(counter)


def _count(counter: str) -> Callable[[RunData], int]:
    return lambda run: int(run.gain(counter))


def _share(counter: str, whole: Callable[[RunData], float]) -> Callable[[RunData], float]:
    return lambda run: run.gain(counter) / whole(run)


METRICS = (
    Metric("engine_steps", "steps", None, "Steps of the engine.", ("server",), _count("engine_steps")),
    Metric("verify_steps", "steps", None, "Steps that verified a draft.", ("plugin",), _count("verify_steps")),
    *(
        Metric(f"step_{part}_s", "s", "lower", f"{what}: seconds, all workers.", ("plugin",), _gain(f"{part}_s"))
        for part, what in PARTS.items()
    ),
    *(
        Metric(
            f"step_{part}_share",
            "",
            None,
            f"{what}: seconds / seconds of all five parts of a step (draft, rule, verify pass, decode pass, other).",
            ("plugin",),
            _share(f"{part}_s", _step_time),
        )
        for part, what in PARTS.items()
    ),
    Metric(
        "verify_pass_ms",
        "ms",
        "lower",
        "The target's pass over drafts, on average: seconds of passes of steps with a draft / such steps.",
        ("plugin",),
        lambda run: 1000 * run.gain("verify_pass_s") / run.gain("verify_steps"),
    ),
    Metric(
        "server_queue_ms",
        "ms",
        "lower",
        "Time in the server's queue, on average: Σ queue time of finished requests / finished requests.",
        ("server",),
        lambda run: 1000 * run.gain("request_queue_s") / run.gain("finished_requests"),
    ),
    *(
        Metric(
            f"{phase}_share",
            "",
            None,
            f"Σ time of finished requests {what} / Σ their time in the server (queue, prefill, decode).",
            ("server",),
            _share(f"request_{phase}_s", _request_time),
        )
        for phase, what in PHASES.items()
    ),
    Metric("drafts", "rounds", None, "Rounds with a draft, by the server's count.", ("server",), _count("drafts")),
    Metric(
        "draft_tokens", "tokens", None, "Drafted tokens, by the server's count.", ("server",), _count("draft_tokens")
    ),
    Metric(
        "accepted_tokens",
        "tokens",
        None,
        "Accepted drafts, by the server's count.",
        ("server",),
        _count("accepted_tokens"),
    ),
)
