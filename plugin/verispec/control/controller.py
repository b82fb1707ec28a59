"""Decides in each step how much of each request's draft is submitted, from costs and acceptance that it measures."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verispec.control.calibration import Costs
from verispec.control.choice import draft_lengths
from verispec.control.estimates import AcceptanceEstimates
from verispec.control.request_rows import RequestRows
from verispec.control.step import Batch, Step
from verispec.control.step_costs import ENOUGH, StepCosts
from verispec.drafting import DraftRequest, Proposal
from verispec.settings import ControlSettings

NO_IDEA = 0.5
"""A drafter's estimate where it gives none."""
GRACE_TOKENS = 32
"""A request may fall behind by its share of so many tokens before it has had any."""
STRETCH = 2
"""A step has at most so many times the tokens of the largest that is known."""
LEAST_TRIAL = 4
"""Drafts that may always be tried, once any step has been measured."""
LOOK_EVERY = 64
LOOK_EVERY_AT_FIRST = 8
"""Steps between two that go without drafts only to see what such a step costs; the second until that is known."""


SPENT_S, TARGET_ONLY_S = range(2)
"""What is kept of a request: the seconds that its tokens took, and would have taken without drafts."""


@dataclass(frozen=True)
class Drafted:
    """What was drafted for a step, submitted or not; a row for each request.

    Attributes:
        request_ids, sources: whose, and which drafter's.
        token_ids: the drafts.
        comparable: how many of them can be held against what comes; beyond the submitted ones, point masses only.
        stated, chances: float64 [requests, most drafts], what the drafter said of them, and what was expected.

    """

    request_ids: Sequence[str] = ()
    sources: Sequence[str] = ()
    token_ids: Sequence[Sequence[int]] = ()
    comparable: Sequence[int] = ()
    stated: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))
    chances: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))

    def only(self, wanted: Callable[[str], bool]) -> "Drafted":
        """Without the other requests."""
        rows = [row for row, request_id in enumerate(self.request_ids) if wanted(request_id)]
        if len(rows) == len(self.request_ids):
            return self
        return Drafted(
            [self.request_ids[row] for row in rows],
            [self.sources[row] for row in rows],
            [self.token_ids[row] for row in rows],
            [self.comparable[row] for row in rows],
            self.stated[rows],
            self.chances[rows],
        )


@dataclass
class Choices:
    """What the controller did.

    Attributes:
        decisions, decisions_without_drafts, decisions_to_look: one for each step; those for no drafts; and of these the
            ones that were made only to see what such a step costs.
        offered_tokens, submitted_tokens: drafts of the drafter, and what was submitted of them.
        target_only_seconds, spent_seconds: what the steps' tokens would have taken without drafts, as far as that is
            known, and what they took: their ratio is the speedup that the controller believes in.

    """

    decisions: int = 0
    decisions_without_drafts: int = 0
    decisions_to_look: int = 0
    offered_tokens: int = 0
    submitted_tokens: int = 0
    target_only_seconds: float = 0.0
    spent_seconds: float = 0.0


class Controller:
    """The goodput controller.

    Args:
        settings: what it is to reach.
        calibration: costs of steps that were measured earlier.
        most_step_tokens: that the scheduler puts into a step (max_num_batched_tokens); with more, some that
            decode would have to wait for the drafts of others.

    """

    def __init__(
        self, settings: ControlSettings, calibration: Costs | None = None, most_step_tokens: float = inf
    ) -> None:
        self._settings = settings
        self._most_step_tokens = most_step_tokens
        self._accounts = RequestRows(columns=2)
        self._drafted = Drafted()
        self._since_look = 0
        self.costs = StepCosts(calibration)
        self.estimates = AcceptanceEstimates()
        self.choices = Choices()

    def step_ended(self, committed: Mapping[str, Sequence[int]], step: Step | None) -> None:
        """These tokens came next, of these requests and no others.

        Args:
            committed: by request.
            step: as it was measured; None: it was not.

        """
        self._hold_drafts_against(committed)
        if step is None:
            return
        self.costs.observe(step)
        decoding_s, prompts_s = self._without_drafts(step.batch)
        luck = step.seconds / float(self.costs.seconds(step.batch, np.array([step.drafts]))[0])
        tokens = np.array([len(token_ids) for token_ids in committed.values()])
        first_tokens = max(0, len(committed) - step.batch.requests)  # of requests whose prompts ended in this step
        each = float(tokens.sum() - first_tokens) / step.batch.requests
        self.choices.spent_seconds += step.seconds
        self.choices.target_only_seconds += luck * (each * decoding_s + prompts_s)
        rows = self._accounts.of(committed)
        self._accounts.values[rows, SPENT_S] += step.seconds
        self._accounts.values[rows, TARGET_ONLY_S] += luck * (tokens * decoding_s + prompts_s)

    def _hold_drafts_against(self, committed: Mapping[str, Sequence[int]]) -> None:
        """Learn the fate of the latest drafts, submitted or not."""
        latest, self._drafted = self._drafted.only(lambda request_id: request_id in committed), Drafted()
        drafts = zip(latest.request_ids, latest.token_ids, latest.comparable, strict=True)
        fates = [_fate(token_ids[:count], committed[request_id]) for request_id, token_ids, count in drafts]
        if fates:
            self.estimates.observe(latest.request_ids, latest.sources, latest.stated, latest.chances, np.array(fates))

    def choose(
        self,
        requests: Sequence[DraftRequest],
        proposals: Sequence[Proposal],
        others: Sequence[str],
        kv_tokens: int,
        prompt_tokens: int = 0,
    ) -> list[int]:
        """How many drafts of each proposal to submit.

        With a law q the choice must not depend on what was drawn: all that is looked at there is the drafter's own
        estimates, which are functions of the history.

        Args:
            requests: those that were drafted for.
            proposals: one for each.
            others: requests that the next step decodes without a draft.
            kv_tokens: in the caches of all of them.
            prompt_tokens: that the next step reads besides, at most.

        """
        ids, sources = [request.request_id for request in requests], [proposal.source for proposal in proposals]
        stated, counts = _stated(requests, proposals)
        chances = self.estimates.chances(ids, sources, stated)
        if self._settings.mode == "fixed":
            lengths: list[int] = counts.tolist()
        else:
            batch = Batch(len(ids) + len(others), kv_tokens, prompt_tokens)
            lengths = self._best([*ids, *others], chances, counts, batch)[: len(ids)]
        comparable = [
            min(count if proposal.probs is None else min(count, length), len(proposal.token_ids))
            for proposal, count, length in zip(proposals, counts.tolist(), lengths, strict=True)
        ]
        drafts = [proposal.token_ids for proposal in proposals]
        self._drafted = Drafted(ids, sources, drafts, comparable, stated, chances)
        self.choices.decisions += 1
        self.choices.offered_tokens += sum(map(len, drafts))
        self.choices.submitted_tokens += sum(map(min, lengths, map(len, drafts)))
        self.choices.decisions_without_drafts += not any(lengths)
        return lengths

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended, or are no longer drafted for."""
        self._drafted = self._drafted.only(lambda request_id: request_id not in request_ids)
        self.estimates.forget(request_ids)
        self._accounts.forget(request_ids)

    def status(self) -> dict[str, Any]:
        """What was chosen, what steps cost, and how far the estimates were right."""
        costs = self.costs.table()
        return {
            "choices": asdict(self.choices),
            "costs": costs.model_dump() if costs else None,
            "reliability": {name: column.tolist() for name, column in vars(self.estimates.reliability).items()},
        }

    def _best(
        self,
        ids: Sequence[str],
        chances: NDArray[np.float64],
        counts: NDArray[np.int64],
        batch: Batch,
    ) -> list[int]:
        """How many drafts of each request to submit; the first requests have some, as many as `counts` says."""
        drafts = min(int(counts.sum()), self._most_drafts(batch))
        if drafts == 0 or self._looks(batch):
            return [0] * len(ids)
        if without := len(ids) - len(counts):
            chances, counts = np.pad(chances, ((0, without), (0, 0))), np.pad(counts, (0, without))
        decoding_s, prompts_s = self._without_drafts(batch)
        seconds = self.costs.seconds(batch, np.arange(drafts + 1)) - prompts_s
        if batch.prompt_tokens:  # the difference of two long times: drafts gain no time, whatever the noise says
            seconds = np.maximum(seconds, decoding_s)
        target = self._settings.tpot_target_ms
        lengths: list[int] = draft_lengths(
            chances, counts, seconds, self._slack_s(ids, float(seconds[0])), target / 1000 if target else inf, prompts_s
        ).tolist()
        return lengths

    def _most_drafts(self, batch: Batch) -> int:
        """Drafts in all that a step may have: it may be larger than what was tried, but not by far."""
        reach = self.costs.reach
        tried = max(STRETCH * reach - batch.requests, LEAST_TRIAL if reach else 0)
        return int(max(0, min(tried, self._most_step_tokens - batch.requests)))

    def _looks(self, batch: Batch) -> bool:
        """This step goes without drafts to keep it known what decoding costs: all gains are measured by it."""
        if batch.prompt_tokens:
            return False
        self._since_look += 1
        interval = LOOK_EVERY if self.costs.known(batch.requests) else LOOK_EVERY_AT_FIRST
        looks = self._since_look >= interval and not self.costs.known(batch.requests, 2 * ENOUGH)
        if looks:
            self._since_look = 0
            self.choices.decisions_to_look += 1
        return looks

    def _slack_s(self, ids: Sequence[str], target_only_s: float) -> NDArray[np.float64]:
        """By how much each request may fall behind in the next step: what it has gained so far, and what is allowed."""
        allowed = self._settings.max_slowdown
        if allowed is None:
            return np.full(len(ids), inf)
        rows = self._accounts.of(ids)
        allowed_s = (1 + allowed) * self._accounts.values[rows, TARGET_ONLY_S] + allowed * GRACE_TOKENS * target_only_s
        slack_s: NDArray[np.float64] = np.maximum(0.0, allowed_s - self._accounts.values[rows, SPENT_S])
        return slack_s

    def _without_drafts(self, batch: Batch) -> tuple[float, float]:
        """Expected seconds of a step without drafts: of decoding, and what the prompts add.

        The prompts take their time in this step or another. A draft costs what it adds to the step as it is, but is
        weighed against decoding alone; and a token is worth a step of decoding, not the prompts beside it.
        """
        none = np.array([0])
        seconds = float(self.costs.seconds(batch, none)[0])
        if not batch.prompt_tokens:
            return seconds, 0.0
        decoding_s = min(seconds, float(self.costs.seconds(replace(batch, prompt_tokens=0), none)[0]))
        return decoding_s, seconds - decoding_s


def rehearse(settings: ControlSettings) -> None:
    """Run through a few steps, so that nothing is left to be compiled in those that count."""
    controller, request = Controller(settings), DraftRequest("", np.zeros(1, np.int32), 1)
    for _ in range(int(ENOUGH) + 2):
        controller.choose([request], [Proposal([0], acceptance=[0.5])], [], 1)
        controller.step_ended({"": [0]}, Step(Batch(1, 1), 0, 1.0))


def _fate(drafts: Sequence[int], token_ids: Sequence[int]) -> tuple[int, int]:
    """How many of the first drafts were what came, and of how many that is known."""
    for right, (draft, token_id) in enumerate(zip(drafts, token_ids, strict=False)):
        if draft != token_id:
            return right, right + 1
    known = min(len(drafts), len(token_ids))
    return known, known


def _stated(
    requests: Sequence[DraftRequest], proposals: Sequence[Proposal]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What drafters say of their drafts, float64 [requests, most drafts], and how many there are of each.

    Of a draft that was drawn there are as many as there might have been: their number is not to depend on the draw.
    """
    counts = []
    for request, proposal in zip(requests, proposals, strict=True):
        count = len(proposal.token_ids)
        if proposal.probs is not None:
            count = request.max_tokens if proposal.acceptance is None else len(proposal.acceptance)
        counts.append(min(count, request.max_tokens))
    stated = np.full((len(counts), max(counts, default=0)), NO_IDEA)
    for row, (proposal, count) in enumerate(zip(proposals, counts, strict=True)):
        if proposal.acceptance is not None:
            stated[row, :count] = proposal.acceptance[:count]
    return stated, np.array(counts, dtype=np.int64)
