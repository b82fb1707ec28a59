"""A drafter whose faults are switched on and off from outside while a server runs."""

import random
import time
from pathlib import Path

import torch

from verispec.drafting import Proposal, make_drafter

STALL_S = 0.8
"""Longer than `fallback.stall_s` of the servers that it is for."""
NO_FAULT = "none"


def _raise(requests, proposals):
    raise RuntimeError("a fault that was asked for")


def _run_out_of_memory(requests, proposals):
    raise MemoryError("a fault that was asked for")


def _stall(requests, proposals):
    time.sleep(STALL_S)
    return proposals


def _answer_for_too_few(requests, proposals):
    return proposals[:-1]


def _answer_nothing(requests, proposals):
    return [None] * len(requests)


def _draft_outside_the_vocabulary(requests, proposals):
    return [Proposal([*p.token_ids, 2**31]) for p in proposals]


def _draft_padding(requests, proposals):
    return [Proposal([-1] * r.max_tokens) for r in requests]


def _draft_too_long(requests, proposals):
    return [Proposal([*p.token_ids] * 9) for p in proposals]


def _draft_wrongly(requests, proposals):
    return [Proposal(random.sample(range(1000, 40_000), r.max_tokens)) for r in requests]


def _send_no_law(requests, proposals):
    return [Proposal([7], torch.full((1, 49_152), 0.5)) for _ in requests]


def _send_a_law_that_excludes_the_draft(requests, proposals):
    law = torch.zeros(1, 49_152)
    law[0, 8] = 1
    return [Proposal([7], law) for _ in requests]


FAULTS = {
    "raises": (_raise, "raised"),
    "out of memory": (_run_out_of_memory, "memory-pressure"),
    "stalls": (_stall, "stalled"),
    "answers for too few requests": (_answer_for_too_few, "invalid-output"),
    "answers nothing": (_answer_nothing, "invalid-output"),
    "drafts outside the vocabulary": (_draft_outside_the_vocabulary, "invalid-output"),
    "drafts padding": (_draft_padding, "invalid-output"),
    "drafts too much": (_draft_too_long, None),
    "drafts wrongly": (_draft_wrongly, "acceptance-collapse"),
    "sends no law": (_send_no_law, "invalid-output"),
    "sends a law that excludes the draft": (_send_a_law_that_excludes_the_draft, "invalid-output"),
}
"""What the drafter does, and the reason for which the server must then fall back (None: it need not)."""
FAILS_TO_LOAD = "fails to load"


class FaultyDrafter:
    """The suffix drafter, with the fault that a file names.

    Args:
        control: the file.

    """

    def __init__(self, control: str) -> None:
        self._control = Path(control)
        if self._fault == FAILS_TO_LOAD:
            raise OSError("the drafter's files are missing, as was asked for")
        self._drafter = make_drafter("suffix", {"min_match": 2})

    @property
    def _fault(self) -> str:
        return self._control.read_text()

    def propose(self, requests):
        proposals, fault = self._drafter.propose(requests), self._fault
        return FAULTS[fault][0](requests, proposals) if fault in FAULTS else proposals

    def forget(self, request_ids):
        self._drafter.forget(request_ids)
