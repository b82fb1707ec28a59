"""Runs one tiny speculative engine in a process of its own and reports, as JSON, whose answers are not target-only.

python -m tests.engine.replay MODEL_DIR '{"speculative_config": …}' REFERENCE

The batch of the reference (tests/engine/reference.py) is asked under every adversary of tests/engine/adversaries.py,
and under some of them with cached prefixes, a KV cache that is too small, aborted requests, and whole answers at once.
"""

import json
import pickle
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.engine.adversaries import adversaries_with_a_law, point_mass_adversaries
from tests.engine.answers import differing_fields
from tests.engine.mixed import mixed_batch, structured_batch, with_whole_laws
from tests.engine.tiny import DRAFTS, Engine, RequestOutputKind
from verispec.engine import commits, runtime

FINAL = RequestOutputKind.FINAL_ONLY
BLOCKS_LEFT = 14
COUNTERS = ("verify_steps", "drafted_tokens", "accepted_tokens", "rows_with_draft_probs", "committed_tokens")


@contextmanager
def few_blocks(engine: Engine, count: int):
    """A KV cache in which all but a few blocks are taken."""
    pool = engine.scheduler.kv_cache_manager.block_pool
    held = pool.get_new_blocks(pool.get_num_free_blocks() - count)
    yield
    pool.free_blocks(held)


class Replays:
    """Asks a speculative engine what a target-only one has answered."""

    def __init__(self, engine: Engine, reference: dict) -> None:
        self.engine, self.reference = engine, reference
        self.batch = mixed_batch(engine.tokenizer)
        self.tolerance = reference["tolerance"]
        self.preemptions = 0
        preempt = engine.scheduler._preempt_request

        def counted(*args, **kwargs):
            self.preemptions += 1
            return preempt(*args, **kwargs)

        engine.scheduler._preempt_request = counted

    def run(self, drafter, reference="answers", batch=None, only="", **how) -> dict:
        """Whose answers differ, and in what; with what was drafted."""
        self.engine.draft_by(drafter)
        before, self.preemptions, free = self.counts(), 0, self.free_blocks()
        batch = batch or self.batch
        answers = self.engine.serve(batch, **how)
        expected = {
            one.name: self.reference[reference][one.name] for one in batch if one.name in self.reference[reference]
        }
        after = self.counts()
        differing = {
            name: differing_fields(answers[name], expected[name], self.tolerance) for name in expected if only in name
        }
        return {
            "compared": len(differing),
            "differing": {name: fields for name, fields in differing.items() if fields},
            "miscounted": sorted(n for n, a in answers.items() if a.finish_reason and a.counted != len(a.token_ids)),
            "cached": sum(answer.cached for answer in answers.values()),
            "preemptions": self.preemptions,
            "blocks lost": free - self.free_blocks(),
            "delivered": sum(len(answer.token_ids) for answer in answers.values()),
            "counted": sum(answer.counted or 0 for answer in answers.values()),
        } | {name: after[name] - before.get(name, 0) for name in after}

    def fresh(self, drafter, **how) -> dict:
        """Without cached prefixes."""
        self.engine.llm.reset_prefix_cache()
        return self.run(drafter, **how)

    def cached(self, drafter) -> dict:
        """With prefixes that the same requests have left."""
        self.fresh(drafter)
        return self.run(drafter)

    def counts(self) -> dict[str, int]:
        """Of tokens and rounds, and of fallbacks by their reason."""
        counters = runtime.current().counters.as_dict() | commits.status()
        return {name: counters[name] for name in COUNTERS} | dict(runtime.current().fallback.trips)

    def free_blocks(self) -> int:
        return self.engine.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()

    def with_aborts(self, drafter) -> dict:
        """Further requests are aborted while their drafts are under way, one each step."""
        doomed = [replace(one, name=f"doomed {one.name}") for one in self.batch[::3]]
        aborted = []

        def abort(answers):
            open_ = [one.name for one in doomed if answers[one.name].token_ids and not answers[one.name].finish_reason]
            for name in [name for name in open_ if name not in aborted][:1]:
                aborted.append(name)
                self.engine.engine.abort_request([name])

        report = self.fresh(drafter, batch=[*doomed, *self.batch], after_step=abort)
        return report | {"aborted": len(aborted)}


def compare(engine: Engine, reference: dict) -> dict:
    replays, vocab = Replays(engine, reference), reference["vocabulary"]
    point_mass = point_mass_adversaries(reference["known"], engine.tokenizer, vocab, DRAFTS)
    some = ("always right", "right for 2, then wrong")
    report = {name: replays.fresh(drafter) for name, drafter in point_mass.items()}
    for name, drafter in adversaries_with_a_law(reference["known"], vocab).items():
        report[name] = replays.fresh(drafter, only="greedy")
    for name in some:
        drafter = point_mass[name]
        report[f"{name}; prefixes cached"] = replays.cached(drafter)
        report[f"{name}; at once"] = replays.fresh(drafter, reference="at once", kind=FINAL)
        whole = with_whole_laws(replays.batch)
        report[f"{name}; whole laws"] = replays.fresh(drafter, reference="whole laws", batch=whole)
        report[f"{name}; aborts"] = replays.with_aborts(drafter)
        with few_blocks(engine, BLOCKS_LEFT):
            report[f"{name}; few blocks"] = replays.fresh(drafter)
            report[f"{name}; few blocks, grammars"] = replays.fresh(drafter, batch=structured_batch())
    return report


def main(model: str, options: str, path: str) -> None:
    report = compare(Engine(model, **json.loads(options)), pickle.loads(Path(path).read_bytes()))
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
