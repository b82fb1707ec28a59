"""The commit boundary: what the scheduler gave to the target, and which tokens became part of requests.

vLLM pads some steps with drafts of -1 (for the sake of CUDA graphs); those were never drafted, and count nowhere here.
The scheduler's process is the engine core's, mostly another than the worker's.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from verispec.coupling.round import PADDING
from verispec.engine.counters import add_at


@dataclass
class Commits:
    """Counts of request-steps and tokens.

    Attributes:
        scheduled_tokens: drafts that were given to the target (a grammar, a budget or a limit may have cut them).
        rounds_with_drafts, rounds_without_drafts: request-steps that committed tokens; the step that completes a
            prompt is one without drafts.
        committed_tokens: tokens that became part of their requests, after stops: the sum of all completion tokens (of
            a request that a stop string or its client ends, those of its last steps are not delivered).
        committed_per_position: of rounds with drafts, how many committed a 1st, 2nd, … token.

    """

    scheduled_tokens: int = 0
    rounds_with_drafts: int = 0
    rounds_without_drafts: int = 0
    committed_tokens: int = 0
    committed_per_position: list[int] = field(default_factory=list)

    def add(self, drafted: int, committed: int) -> None:
        """A request's part of a step."""
        self.committed_tokens += committed
        if drafted:
            self.scheduled_tokens += drafted
            self.rounds_with_drafts += 1
            add_at(self.committed_per_position, [1] * committed)
        else:
            self.rounds_without_drafts += 1


class CommitWatch:
    """Stands at the scheduler's side of a step.

    Attributes:
        commits: what was counted.

    """

    def __init__(self) -> None:
        self.commits = Commits()
        self._drafted: dict[str, int] = {}
        self._failed: set[str] = set()

    def step_output(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Adapt Scheduler.update_from_output."""

        def update_from_output(scheduler: Any, scheduler_output: Any, model_runner_output: Any) -> Any:
            scheduled = scheduler_output.scheduled_spec_decode_tokens
            self._drafted = {request_id: len(drafts) for request_id, drafts in scheduled.items()}
            if not scheduler.scheduler_config.async_scheduling:  # there every draft is -1 here, and has its token later
                padding = {request_id: drafts.count(PADDING) for request_id, drafts in scheduled.items()}
                self._drafted = {request_id: count - padding[request_id] for request_id, count in self._drafted.items()}
                # The field by which vLLM leaves drafts out that a grammar has dropped.
                scheduler_output.num_invalid_spec_tokens = {key: count for key, count in padding.items() if count}
            nans = model_runner_output.num_nans_in_logits or {}
            self._failed = {request_id for request_id, count in nans.items() if count}
            return original(scheduler, scheduler_output, model_runner_output)

        return update_from_output

    def commit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Adapt Scheduler._update_request_with_output, which appends tokens up to a stop."""

        def _update_request_with_output(scheduler: Any, request: Any, new_token_ids: list[int], **further: Any) -> Any:
            if request.request_id in self._failed:
                from vllm.v1.request import RequestStatus

                request.status = RequestStatus.FINISHED_ERROR
                request.resumable = False
                return [], True
            committed, stopped = original(scheduler, request, new_token_ids, **further)
            self.commits.add(self._drafted.get(request.request_id, 0), len(committed))
            return committed, stopped

        return _update_request_with_output


_watch: CommitWatch | None = None


def start() -> CommitWatch:
    """Begin to count in this process."""
    global _watch
    _watch = CommitWatch()
    return _watch


def status() -> dict[str, Any] | None:
    """What was counted in this process, None where no speculative scheduler is."""
    return asdict(_watch.commits) if _watch else None


def count_round(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt Scheduler.make_spec_decoding_stats: a request-step without a draft is no round."""

    def make_spec_decoding_stats(
        self: Any,
        spec_decoding_stats: Any,
        num_draft_tokens: int,
        num_accepted_tokens: int,
        num_invalid_spec_tokens: dict[str, int] | None,
        request_id: str,
    ) -> Any:
        if num_draft_tokens == (num_invalid_spec_tokens or {}).get(request_id, 0):
            return spec_decoding_stats
        counts = num_draft_tokens, num_accepted_tokens, num_invalid_spec_tokens, request_id
        return original(self, spec_decoding_stats, *counts)

    return make_spec_decoding_stats


def count_request_round(original: Callable[..., None]) -> Callable[..., None]:
    """Adapt RequestSpecDecodeMetrics.observe in the same way."""

    def observe(self: Any, num_draft_tokens: int, num_accepted: int, *args: Any, **kwargs: Any) -> None:
        if num_draft_tokens:
            original(self, num_draft_tokens, num_accepted, *args, **kwargs)

    return observe
