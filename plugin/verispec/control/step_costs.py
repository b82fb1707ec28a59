"""How long does a step take? Learned from the steps themselves.

Seconds = f(tokens) + a·(KV tokens) + b·requests + c·(any drafts?) + d·(prompt tokens), with f a line and bumps between
knots: it is neither linear nor monotone on real hardware (8 rows can be cheaper than 2). The fit is a ridge regression
that forgets: the prior holds that what was never tried lies on the line through what was, and that the line is flat
until more than one size was seen, so that drafts are tried before they are ruled out.
"""

import numpy as np
from numpy.typing import NDArray

from verispec.compiled import compiled
from verispec.control.calibration import Costs
from verispec.control.step import Batch, Step

KNOTS = np.array(
    [*range(1, 9), *range(10, 18, 2), *range(20, 34, 4), *range(40, 66, 8), 80, 96, 128, 160, 192, 256, 384, 512, 768,
     *(2**power for power in range(10, 14))],
    dtype=np.float64,
)  # fmt: skip
"""Scheduled tokens at which f is a free parameter."""
LINEAR_UNITS = np.array([1e2, 1e4, 1e2, 1.0, 1e2])
"""Of tokens, KV tokens, requests, the flag and prompt tokens: what is about one step's worth of each."""
FLATNESS = 3.0
"""Weight of the prior that the bumps of neighbouring knots are alike, in observations."""
LINEAR_PRIOR = np.array([1e-4, 0.5, 0.5, 0.5, 1e-3])
"""Weight of the prior that the linear terms are nothing, in observations: next to none for the line itself, and little
for prompts, or else the bumps would take the difference."""
MEMORY = 1 - 1 / 800
"""What remains of an observation's weight at the next."""
ENOUGH = 3.0
"""Observations near a point from which on its cost counts as known."""
REACHED = 0.5
"""Observations near a point from which on it counts as tried."""
DRIFT = 0.03
"""Share of a known step's deviation that is taken for a change of the whole machine's speed."""
OUTLIER = 3.0
"""Typical deviations beyond which a step counts less, the more the farther it is off."""
REFIT_EVERY = 8
CALIBRATION_STEPS = 30.0
"""Most steps that a calibration is worth at any point."""
ALL, DECODING, TRIED = range(3)
"""Steps that are counted at each knot, older ones less: all, those that only decode, and those of so many requests and
drafts together, whatever was read beside."""


class StepCosts:
    """The step-cost table of a running engine.

    Args:
        calibration: costs that were measured earlier.

    """

    def __init__(self, calibration: Costs | None = None) -> None:
        size = len(KNOTS) + len(LINEAR_UNITS)
        self._gram = np.zeros((size, size))
        self._moment = np.zeros(size)
        self._steps = np.zeros((3, len(KNOTS)))
        self._prior, self._expected = _prior(), np.zeros(size)
        self._typical_s = 0.0
        self._decoding_steps = 0
        self._speed = 1.0
        self._deviation = 0.05
        self._unfitted = 0
        self.steps = 0
        if calibration:
            self._believe(calibration)
        self._weights = self._expected.copy()

    def _believe(self, calibration: Costs) -> None:
        self._steps[:] = np.minimum(np.interp(KNOTS, calibration.tokens, calibration.steps, 0, 0), CALIBRATION_STEPS)
        tokens, seconds = np.array(calibration.tokens), np.array(calibration.seconds)
        token_s = np.polyfit(tokens, seconds, 1)[0] if len(tokens) > 1 else 0.0
        own = calibration.kv_token_s, calibration.request_s, calibration.drafts_s, calibration.prompt_token_s
        rates = np.array([token_s, *own])
        self._expected[: len(KNOTS)] = np.interp(KNOTS, tokens, seconds - token_s * tokens)
        self._expected[len(KNOTS) :] = rates * LINEAR_UNITS
        self._typical_s, self._decoding_steps = float(np.median(calibration.seconds)), 1
        knots = range(len(KNOTS))
        self._prior[knots, knots] += self._steps[ALL]
        linear = range(len(KNOTS), len(self._prior))
        self._prior[linear, linear] += CALIBRATION_STEPS

    def observe(self, step: Step) -> None:
        """Learn from a step; one far off counts less, and what all steps have in common is the machine's speed."""
        weight = 1.0
        if _at(self._steps[ALL], step.batch.tokens + step.drafts) >= ENOUGH:
            off = float(np.log(step.seconds / self.seconds(step.batch, np.array([step.drafts]))[0]))
            limit = OUTLIER * self._deviation
            weight = min(1.0, limit / max(abs(off), 1e-9))
            self._deviation += DRIFT * (min(abs(off), 2 * limit) - self._deviation)
            self._speed *= float(np.exp(DRIFT * np.clip(off, -limit, limit)))
        self._remember(step, step.seconds / self._speed, weight)

    def _remember(self, step: Step, seconds: float, weight: float) -> None:
        batch = step.batch
        _add(
            self._gram, self._moment, self._steps,
            batch.requests, batch.kv_tokens, batch.prompt_tokens, step.drafts, seconds, weight,
        )  # fmt: skip
        self._note_typical(seconds, not batch.prompt_tokens)
        self.steps += 1
        self._unfitted += 1
        if self._unfitted >= REFIT_EVERY or self.steps <= 4 * REFIT_EVERY:
            prior = self._prior / self._typical_s**2
            self._weights[:] = np.linalg.solve(self._gram + prior, self._moment + prior @ self._expected)
            self._unfitted = 0

    def _note_typical(self, seconds: float, decodes_only: bool) -> None:
        """Of steps that only decode; where there are none yet, the shortest of the others."""
        if decodes_only:
            self._decoding_steps += 1
            self._typical_s += (seconds - self._typical_s) / min(self._decoding_steps, 100)
        elif not self._decoding_steps:
            self._typical_s = min(self._typical_s or seconds, seconds)

    def seconds(self, batch: Batch, drafts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Expected seconds of steps with so many drafts each, at least a tenth of a typical one.

        They are 0 before anything was measured.
        """
        seconds: NDArray[np.float64] = self._speed * _seconds(
            self._weights, batch.requests, batch.kv_tokens, batch.prompt_tokens, drafts, 0.1 * self._typical_s
        )
        return seconds

    def known(self, tokens: int, enough: float = ENOUGH) -> bool:
        """Enough steps that only decode, of about so many tokens, have been measured, not too long ago."""
        return bool(_at(self._steps[DECODING], tokens) >= enough)

    @property
    def reach(self) -> int:
        """The most requests and drafts together that steps had, not too long ago."""
        tried = np.flatnonzero(self._steps[TRIED] >= REACHED)
        return int(KNOTS[tried[-1]]) if len(tried) else 0

    def table(self) -> Costs | None:
        """What is known of steps that only decode; None where nothing is."""
        known = self._steps[DECODING] >= ENOUGH
        if not known.any():
            return None
        weights = self._speed * self._weights
        token_s, kv_token_s, request_s, drafts_s, prompt_token_s = (weights[len(KNOTS) :] / LINEAR_UNITS).tolist()
        seconds = weights[: len(KNOTS)] + token_s * KNOTS
        return Costs(
            tokens=KNOTS[known].astype(int).tolist(),
            seconds=np.maximum(seconds[known], 0.1 * self._typical_s).tolist(),
            steps=self._steps[DECODING, known].tolist(),
            kv_token_s=kv_token_s,
            request_s=request_s,
            drafts_s=drafts_s,
            prompt_token_s=prompt_token_s,
        )


@compiled
def _place(tokens: float) -> tuple[int, float]:
    """Between which knots a count of tokens lies: the upper one's index, and how near it is to that, in [0, 1]."""
    at = min(max(float(tokens), KNOTS[0]), KNOTS[-1])
    upper = min(max(np.searchsorted(KNOTS, at), 1), len(KNOTS) - 1)
    return upper, (at - KNOTS[upper - 1]) / (KNOTS[upper] - KNOTS[upper - 1])


@compiled
def _at(values: NDArray[np.float64], tokens: float) -> float:
    """Between the knots, of values that begin with one for each of them (what follows is not looked at)."""
    upper, share = _place(tokens)
    return float((1 - share) * values[upper - 1] + share * values[upper])


@compiled
def _seconds(
    weights: NDArray[np.float64],
    requests: int,
    kv_tokens: int,
    prompt_tokens: int,
    drafts: NDArray[np.int64],
    least_s: float,
) -> NDArray[np.float64]:
    rates = weights[len(KNOTS) :] / LINEAR_UNITS
    every = rates[1] * kv_tokens + rates[2] * requests + rates[4] * prompt_tokens
    seconds = np.empty(len(drafts))
    for i, count in enumerate(drafts):
        tokens = requests + prompt_tokens + count
        expected = _at(weights, tokens) + rates[0] * tokens + rates[3] * (count > 0) + every
        seconds[i] = max(expected, least_s)
    return seconds


@compiled
def _add(
    gram: NDArray[np.float64],
    moment: NDArray[np.float64],
    steps: NDArray[np.float64],
    requests: int,
    kv_tokens: int,
    prompt_tokens: int,
    drafts: int,
    seconds: float,
    weight: float,
) -> None:
    """Let the past fade, and add a step: relative to its seconds, so that errors of 1% count alike in all steps."""
    tokens, first = requests + prompt_tokens + drafts, len(KNOTS)
    relative = np.zeros(len(moment))
    upper, share = _place(tokens)
    relative[upper - 1], relative[upper] = (1 - share) / seconds, share / seconds
    relative[first:] = np.array([tokens, kv_tokens, requests, drafts > 0, prompt_tokens]) / (LINEAR_UNITS * seconds)
    gram *= MEMORY
    moment *= MEMORY
    steps *= MEMORY
    moment += weight * relative
    for i in np.flatnonzero(relative):
        gram[i] += weight * relative[i] * relative
    for kind, counted in ((ALL, True), (DECODING, prompt_tokens == 0)):
        if counted:
            steps[kind, upper - 1] += weight * (1 - share)
            steps[kind, upper] += weight * share
    upper, share = _place(requests + drafts)
    steps[TRIED, upper - 1] += weight * (1 - share)
    steps[TRIED, upper] += weight * share


def _prior() -> NDArray[np.float64]:
    """The priors as observations of a step that takes one unit, [features, features]."""
    slopes = np.diff(np.eye(len(KNOTS)), axis=0)
    prior = np.zeros((len(KNOTS) + len(LINEAR_UNITS),) * 2)
    prior[: len(KNOTS), : len(KNOTS)] = FLATNESS * slopes.T @ slopes
    prior[range(len(KNOTS), len(prior)), range(len(KNOTS), len(prior))] = LINEAR_PRIOR
    return prior
