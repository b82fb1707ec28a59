"""Runs one tiny speculative engine in a process of its own and compares its state after forced rejections.

python -m tests.engine.rollback MODEL_DIR '{"speculative_config": …}' REFERENCE

Drafts are right for 0, 1, … tokens and then wrong. It reports as JSON which snapshots after its rounds differ from
those of the reference (tests/engine/reference.py) after the same committed tokens: without a leak, and with each of
tests/engine/leaks.py.
"""

import json
import pickle
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import torch

from tests.engine.adversaries import Oracle, wrong_at
from tests.engine.answers import Answer, differing_fields, distance, streamed_otherwise
from tests.engine.leaks import LEAKS, Rounds, watched_rounds
from tests.engine.mixed import LAW, mixed_batch, twins
from tests.engine.snapshots import Snapshots, apart, snapshot
from tests.engine.tiny import DRAFTS, Engine
from verispec.drafting import make_drafter

MEASURED = ("target KV", "next law")


class Forced(Oracle):
    """Right for 0 … k tokens, in turns, and then wrong; a suffix drafter follows the same history."""

    def __init__(self, known, vocab_size: int) -> None:
        super().__init__(known)
        self._vocab_size, self.suffix = vocab_size, make_drafter("suffix", {})

    def draft(self, request):
        place = len(request.token_ids) % (DRAFTS + 1)
        return wrong_at(place, self._vocab_size)(super().draft(request))

    def propose(self, requests):
        self.suffix.propose(requests)
        return super().propose(requests)


@contextmanager
def no_leak(engine, drafter):
    yield lambda rounds: None


class Rollback:
    """One run of the batch, with or without a leak, beside the reference."""

    def __init__(self, engine: Engine, reference: dict, leak=no_leak) -> None:
        self.engine, self.reference, self.batch = engine, reference, twins(mixed_batch(engine.tokenizer))
        self.drafter = Forced(reference["known"], reference["vocabulary"])
        self.differing: Counter = Counter()
        self.rejected: Counter = Counter()
        self.worst: dict[str, float] = {}
        self.seen: list[tuple[str, int]] = []
        self.computed: dict[str, torch.Tensor] = {}
        self.run(leak)

    def report(self) -> dict:
        """How many snapshots differ, by field; and what was rejected after how many accepted drafts."""
        return {
            "differing": +self.differing,
            "worst": {field: self.worst[field] for field in MEASURED},
            "rejected after": self.rejected,
            "snapshots": len(self.seen),
        }

    def run(self, leak) -> None:
        self.engine.draft_by(self.drafter)
        with watched_rounds(self.engine) as take, leak(self.engine, self.drafter) as spoil:

            def after_step(answers):
                rounds = take()
                spoil(rounds)
                self.compare(rounds, snapshot(self.engine, self.drafter.suffix))

            answers = self.engine.serve(self.batch, after_step=after_step)
        self.compare_answers(answers)

    def compare(self, rounds: Rounds, taken: Snapshots) -> None:
        self.rejected.update(round_.num_accepted for round_ in rounds.values() if round_.rejected)
        for key, fields in taken.items():
            expected = self.reference["snapshots"].get(key)
            if expected is None or fields["tokens"] != expected["tokens"]:
                self.differing["tokens"] += 1
                continue
            self.seen.append(key)
            for field, value in fields.items():
                self.note(field, apart(value, expected[field]))
            before, now = self.computed.get(key[0]), fields["target KV"]
            if before is not None and not torch.equal(now[:, : before.shape[1]], before):
                self.differing["computed KV rewritten"] += 1
            self.computed[key[0]] = now

    def note(self, field: str, moved: float) -> None:
        self.worst[field] = max(self.worst.get(field, 0.0), moved)
        self.differing[field] += moved > self.reference["tolerance"]

    def compare_answers(self, answers: dict[str, Answer]) -> None:
        expected = self.reference["twins"]
        prompts = {one.name: len(one.prompt) for one in self.batch}
        for name, length in self.seen:
            if name.endswith(LAW):
                place = slice(length - prompts[name], length - prompts[name] + 1)
                moved = distance(answers[name].logprobs[place], expected[name].logprobs[place])
                self.note("next law", moved)
        for name, answer in answers.items():
            self.differing["answer"] += bool(differing_fields(answer, expected[name], self.reference["tolerance"]))
            self.differing["streamed text"] += streamed_otherwise(answer, expected[name])


def main(model: str, options: str, path: str) -> None:
    engine, reference = Engine(model, **json.loads(options)), pickle.loads(Path(path).read_bytes())
    leaks = {"nothing": no_leak} | LEAKS
    report = {name: Rollback(engine, reference, leak).report() for name, leak in leaks.items()}
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
