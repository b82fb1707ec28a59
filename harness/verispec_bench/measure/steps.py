"""Where the server's time went, in its steps and in its requests: gains of its counters."""

from collections.abc import Callable

from verispec_bench.measure.metric import Metric
from verispec_bench.measure.run import RunData

PARTS = {
    "draft": ("draft_s", "Making drafts, by whichever drafter"),
    "rule": ("rule_s", "Verifying drafts: the rule, with the target's softmax"),
    "verify_pass": ("verifying_s", "The target's passes over drafts, beside which no prompt was read"),
    "decode_pass": ("decoding_s", "The target's passes without drafts and prompts"),
    "prompt_pass": ("prompts_s", "The target's passes in which prompts were read"),
    "other": ("other_s", "What the steps took beside: sampling without drafts and bookkeeping"),
}
"""The parts of a step, as the plugin times them in the worker: counter and meaning. On GPUs: the launching of them."""
PHASES = {
    "queue": "in the server's queue",
    "prefill": "from leaving the queue to the first token",
    "decode": "from the first token to the last",
}
"""The phases of a request, as vLLM times them."""


def _step_time(run: RunData) -> float:
    return sum(run.gain(counter) for counter, _ in PARTS.values())


def _request_time(run: RunData) -> float:
    return sum(run.gain(f"request_{phase}_s") for phase in PHASES)


def _gain(counter: str, scale: float = 1) -> Callable[[RunData], float]:
    return lambda run: scale * run.gain(counter)


def _count(counter: str) -> Callable[[RunData], int]:
    return lambda run: int(run.gain(counter))


def _share(counter: str, whole: Callable[[RunData], float]) -> Callable[[RunData], float]:
    return lambda run: run.gain(counter) / whole(run)


def _mean_ms(seconds: str, count: str) -> Callable[[RunData], float]:
    return lambda run: 1000 * run.gain(seconds) / run.gain(count)


METRICS = (
    Metric("engine_steps", "steps", None, "Steps of the engine.", ("server",), _count("engine_steps")),
    Metric("verify_steps", "steps", None, "Steps that verified a draft.", ("plugin",), _count("verify_steps")),
    *(
        Metric(f"step_{part}_s", "s", "lower", f"{what}: seconds, all workers.", ("plugin",), _gain(counter))
        for part, (counter, what) in PARTS.items()
    ),
    *(
        Metric(
            f"step_{part}_share",
            "",
            None,
            f"{what}: seconds / seconds of all six parts of a step.",
            ("plugin",),
            _share(counter, _step_time),
        )
        for part, (counter, what) in PARTS.items()
    ),
    *(
        Metric(
            f"{part}_pass_ms",
            "ms",
            "lower",
            f"{PARTS[f'{part}_pass'][1]}: milliseconds of one, on average.",
            ("plugin",),
            _mean_ms(f"{counter}_s", f"{counter}_passes"),
        )
        for part, counter in (("verify", "verifying"), ("decode", "decoding"))
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
