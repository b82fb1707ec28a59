"""How long does a step take? Learned from the steps themselves.

Seconds = f(tokens) + a·(KV tokens) + b·requests + c·(any drafts?) + d·(prompt tokens), with f a line and bumps between
knots: it is neither linear nor monotone on real hardware (8 rows can be cheaper than 2). The fit is a ridge regression
that forgets: the prior holds that what was never tried lies on the line through what was, and that the line is flat
until more than one size was seen, so that drafts are tried before they are ruled out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec.control.calibration import Costs

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
TRIED = 0.5
"""Observations near a point from which on it counts as tried."""
DRIFT = 0.03
"""Share of a known step's deviation that is taken for a change of the whole machine's speed."""
OUTLIER = 3.0
"""Typical deviations beyond which a step counts less, the more the farther it is off."""
REFIT_EVERY = 8
CALIBRATION_STEPS = 30.0
"""Most steps that a calibration is worth at any point."""


@dataclass(frozen=True)
class Batch:
    """What a step does, but for drafts.

    Attributes:
        requests: that decode.
        kv_tokens: in their KV caches.
        prompt_tokens: of other requests, that are read in the same step.

    """

    requests: int
    kv_tokens: int
    prompt_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Scheduled without drafts."""
        return self.requests + self.prompt_tokens


@dataclass(frozen=True)
class Step:
    """A step as it was measured.

    Attributes:
        batch: what it did.
        drafts: that were verified in it.
        seconds: from the end of the step before to its own end.

    """

    batch: Batch
    drafts: int
    seconds: float


class StepCosts:
    """The step-cost table of a running engine.

    Args:
        calibration: costs that were measured earlier.

    """

    def __init__(self, calibration: Costs | None = None) -> None:
        size = len(KNOTS) + len(LINEAR_UNITS)
        self._gram = np.zeros((size, size))
        self._moment = np.zeros(size)
        self._mass = np.zeros(len(KNOTS))
        self._mass_decoding = np.zeros(len(KNOTS))
        self._tried = np.zeros(len(KNOTS))
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
        self._mass = np.minimum(np.interp(KNOTS, calibration.tokens, calibration.steps, 0, 0), CALIBRATION_STEPS)
        self._mass_decoding, self._tried = self._mass.copy(), self._mass.copy()
        tokens, seconds = np.array(calibration.tokens), np.array(calibration.seconds)
        token_s = np.polyfit(tokens, seconds, 1)[0] if len(tokens) > 1 else 0.0
        own = calibration.kv_token_s, calibration.request_s, calibration.drafts_s, calibration.prompt_token_s
        rates = np.array([token_s, *own])
        self._expected[: len(KNOTS)] = np.interp(KNOTS, tokens, seconds - token_s * tokens)
        self._expected[len(KNOTS) :] = rates * LINEAR_UNITS
        self._typical_s, self._decoding_steps = float(np.median(calibration.seconds)), 1
        knots = range(len(KNOTS))
        self._prior[knots, knots] += self._mass
        linear = range(len(KNOTS), len(self._prior))
        self._prior[linear, linear] += CALIBRATION_STEPS

    def observe(self, step: Step) -> None:
        """Learn from a step; one far off counts less, and what all steps have in common is the machine's speed."""
        weight = 1.0
        if np.interp(step.batch.tokens + step.drafts, KNOTS, self._mass) >= ENOUGH:
            off = float(np.log(step.seconds / self.seconds(step.batch, np.array([step.drafts]))[0]))
            limit = OUTLIER * self._deviation
            weight = min(1.0, limit / max(abs(off), 1e-9))
            self._deviation += DRIFT * (min(abs(off), 2 * limit) - self._deviation)
            self._speed *= float(np.exp(DRIFT * np.clip(off, -limit, limit)))
        self._remember(step, step.seconds / self._speed, weight)

    def _remember(self, step: Step, seconds: float, weight: float) -> None:
        features = _features(step)
        hats, decodes_only = features[: len(KNOTS)], not step.batch.prompt_tokens
        relative = features / seconds  # so that errors of 1% count alike in short steps and long ones
        self._gram = MEMORY * self._gram + weight * np.outer(relative, relative)
        self._moment = MEMORY * self._moment + weight * relative
        self._mass = MEMORY * self._mass + weight * hats
        self._mass_decoding = MEMORY * self._mass_decoding + weight * decodes_only * hats
        self._tried = MEMORY * self._tried + weight * _hats(step.batch.requests + step.drafts)
        self._note_typical(seconds, decodes_only)
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
        tokens, rates = batch.tokens + drafts, self._weights[len(KNOTS) :] / LINEAR_UNITS
        every = rates[1] * batch.kv_tokens + rates[2] * batch.requests + rates[4] * batch.prompt_tokens
        expected = np.interp(tokens, KNOTS, self._weights[: len(KNOTS)]) + rates[0] * tokens + rates[3] * (drafts > 0)
        seconds: NDArray[np.float64] = self._speed * np.maximum(expected + every, 0.1 * self._typical_s)
        return seconds

    def known(self, tokens: int, enough: float = ENOUGH) -> bool:
        """Enough steps that only decode, of about so many tokens, have been measured, not too long ago."""
        return bool(np.interp(tokens, KNOTS, self._mass_decoding) >= enough)

    @property
    def reach(self) -> int:
        """The most requests and drafts together that steps had, not too long ago."""
        tried = np.flatnonzero(self._tried >= TRIED)
        return int(KNOTS[tried[-1]]) if len(tried) else 0

    def table(self) -> Costs | None:
        """What is known of steps that only decode; None where nothing is."""
        known = self._mass_decoding >= ENOUGH
        if not known.any():
            return None
        weights = self._speed * self._weights
        token_s, kv_token_s, request_s, drafts_s, prompt_token_s = (weights[len(KNOTS) :] / LINEAR_UNITS).tolist()
        seconds = weights[: len(KNOTS)] + token_s * KNOTS
        return Costs(
            tokens=KNOTS[known].astype(int).tolist(),
            seconds=np.maximum(seconds[known], 0.1 * self._typical_s).tolist(),
            steps=self._mass_decoding[known].tolist(),
            kv_token_s=kv_token_s,
            request_s=request_s,
            drafts_s=drafts_s,
            prompt_token_s=prompt_token_s,
        )


def _hats(tokens: int) -> NDArray[np.float64]:
    """Weights of the knots between which a count of tokens lies, float64 [knots]."""
    hats = np.zeros(len(KNOTS))
    at = min(max(tokens, KNOTS[0]), KNOTS[-1])
    upper = min(max(int(np.searchsorted(KNOTS, at)), 1), len(KNOTS) - 1)
    share = (at - KNOTS[upper - 1]) / (KNOTS[upper] - KNOTS[upper - 1])
    hats[upper - 1], hats[upper] = 1 - share, share
    return hats


def _features(step: Step) -> NDArray[np.float64]:
    """float64 [knots + linear terms]: where its tokens lie, and what the linear terms count."""
    batch, tokens = step.batch, step.batch.tokens + step.drafts
    linear = tokens, batch.kv_tokens, batch.requests, step.drafts > 0, batch.prompt_tokens
    return np.concatenate([_hats(tokens), np.array(linear) / LINEAR_UNITS])


def _prior() -> NDArray[np.float64]:
    """The priors as observations of a step that takes one unit, [features, features]."""
    slopes = np.diff(np.eye(len(KNOTS)), axis=0)
    prior = np.zeros((len(KNOTS) + len(LINEAR_UNITS),) * 2)
    prior[: len(KNOTS), : len(KNOTS)] = FLATNESS * slopes.T @ slopes
    prior[range(len(KNOTS), len(prior)), range(len(KNOTS), len(prior))] = LINEAR_PRIOR
    return prior
