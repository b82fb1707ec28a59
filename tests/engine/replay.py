"""Runs one tiny engine in a process of its own and reports, as JSON, whose answers differ from a target-only engine's.

python -m tests.engine.replay MODEL_DIR '{"speculative_config": …}' REFERENCE

A target-only engine writes its answers to the file REFERENCE, and measures how much its own logprobs depend on the
shape of a batch. A speculative engine is asked the same batch under every adversary of tests/engine/adversaries.py, and
under some of them with cached prefixes, a KV cache that is too small, aborted requests, and whole answers at once.
"""

import json
import pickle
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from tests.engine.adversaries import adversaries_with_a_law, point_mass_adversaries
from tests.engine.comparison import differing_fields, distance
from tests.engine.mixed import Asked, mixed_batch, structured_batch, unstopped, with_whole_laws
from tests.engine.tiny import DRAFTS, Answer, Engine, RequestOutputKind

FINAL = RequestOutputKind.FINAL_ONLY
TOLERANCE = 4
"""Logprobs may differ by this many times the measured envelope: penalties and temperatures scale it."""
BLOCKS_LEFT = 14


def refer(engine: Engine) -> dict:
    """The target-only answers, and what adversaries have to know."""
    batch, grammars = mixed_batch(engine.tokenizer), structured_batch()
    answers, on = engine.serve(batch), engine.serve(unstopped(batch))
    answers |= engine.serve(grammars)
    return {
        "answers": answers,
        "at once": engine.serve(batch, FINAL),
        "whole laws": engine.serve(with_whole_laws(batch)),
        "known": {
            tuple(one.prompt): one.prompt + (on.get(one.name) or answers[one.name]).token_ids
            for one in [*batch, *grammars]
        },
        "envelope": envelope(engine, batch),
    }


def envelope(engine: Engine, batch: list[Asked]) -> dict[str, float]:
    """How far a logprob moves when the same prefixes are served in passes of another shape.

    Largest difference, over every token and every position of some greedy answers, from those that are decoded alone:
    passes of one row.
    """
    asked = [replace(one, options={"detokenize": False, "logprobs": -1, "ignore_eos": True}) for one in batch[:40:2]]
    alone: dict[str, Answer] = {}
    for one in asked:
        alone |= engine.serve([one])
    whole = {"detokenize": False, "prompt_logprobs": -1, "max_tokens": 1, "logprobs": None}
    again = [replace(one, prompt=one.prompt + alone[one.name].token_ids, options=whole) for one in asked]

    def worst(served: dict[str, Answer], field: str) -> float:
        return max(distance(getattr(served[n], field)[-len(a.logprobs) :], a.logprobs) for n, a in alone.items())

    moved = {f"{len(asked)} rows, one of each": worst(engine.serve(asked), "logprobs")}
    for rows in (DRAFTS + 1, 20 * (DRAFTS + 1), engine.scheduler.max_num_scheduled_tokens):
        with tokens_in_a_step(engine, rows):
            moved[f"{rows} rows"] = worst(engine.serve(again), "prompt_logprobs")
    rows = [row for answer in alone.values() for row in answer.logprobs]
    moved["any rows, normalised twice"] = distance([normalised(row) for row in rows], rows)
    return moved


def normalised(row: dict[int, float]) -> dict[int, float]:
    """As vLLM normalises processed logprobs once more after the last draft."""
    return dict(zip(row, torch.tensor(list(row.values())).log_softmax(-1).tolist(), strict=True))


@contextmanager
def tokens_in_a_step(engine: Engine, most: int):
    usual, engine.scheduler.max_num_scheduled_tokens = engine.scheduler.max_num_scheduled_tokens, most
    yield
    engine.scheduler.max_num_scheduled_tokens = usual


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
        from verispec.engine import runtime

        self.engine, self.reference, self.runtime = engine, reference, runtime
        self.batch = mixed_batch(engine.tokenizer)
        self.tolerance = TOLERANCE * max(reference["envelope"].values())
        self.preemptions = 0
        preempt = engine.scheduler._preempt_request

        def counted(*args, **kwargs):
            self.preemptions += 1
            return preempt(*args, **kwargs)

        engine.scheduler._preempt_request = counted

    def run(self, drafter, reference="answers", batch=None, only="", **how) -> dict:
        """Whose answers differ, and in what; with what was drafted."""
        self.engine.draft_by(drafter)
        before, self.preemptions, free = self.runtime.current().counters.as_dict(), 0, self.free_blocks()
        batch = batch or self.batch
        answers = self.engine.serve(batch, **how)
        expected = {
            one.name: self.reference[reference][one.name] for one in batch if one.name in self.reference[reference]
        }
        counters = self.runtime.current().counters.as_dict()
        differing = {
            name: differing_fields(answers[name], expected[name], self.tolerance) for name in expected if only in name
        }
        return {
            "compared": len(differing),
            "differing": {name: fields for name, fields in differing.items() if fields},
            "miscounted": sorted(n for n, a in answers.items() if a.finish_reason and a.counted != len(a.token_ids)),
            "worst logprob": max(distance(answers[n].logprobs, expected[n].logprobs) for n in differing),
            "cached": sum(answer.cached for answer in answers.values()),
            "preemptions": self.preemptions,
            "blocks lost": free - self.free_blocks(),
        } | {name: counters[name] - before[name] for name in counters}

    def fresh(self, drafter, **how) -> dict:
        """Without cached prefixes."""
        self.engine.llm.reset_prefix_cache()
        return self.run(drafter, **how)

    def free_blocks(self) -> int:
        return self.engine.scheduler.kv_cache_manager.block_pool.get_num_free_blocks()

    def with_aborts(self, drafter) -> dict:
        """Further requests are aborted while their drafts are under way; one each step."""
        doomed = [replace(one, name=f"doomed {one.name}") for one in self.batch[::3]]
        waiting = [one.name for one in doomed]
        aborted = []

        def abort(answers):
            if waiting and answers[waiting[0]].token_ids:
                aborted.append(waiting.pop(0))
                self.engine.engine.abort_request([aborted[-1]])

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
        report[f"{name}; at once"] = replays.fresh(drafter, reference="at once", kind=FINAL)
        whole = with_whole_laws(replays.batch)
        report[f"{name}; whole laws"] = replays.fresh(drafter, reference="whole laws", batch=whole)
        report[f"{name}; prefixes cached"] = replays.run(drafter)
        report[f"{name}; aborts"] = replays.with_aborts(drafter)
        with few_blocks(engine, BLOCKS_LEFT):
            report[f"{name}; few blocks"] = replays.fresh(drafter)
            report[f"{name}; few blocks, grammars"] = replays.fresh(drafter, batch=structured_batch())
    return report


def main(model: str, options: str, path: str) -> None:
    engine = Engine(model, **json.loads(options))
    if engine.runner.speculative_config is None:
        reference = refer(engine) | {"vocabulary": engine.runner.model_config.get_vocab_size()}
        Path(path).write_bytes(pickle.dumps(reference))
        answers = reference["answers"].values()
        report = {
            "envelope": reference["envelope"],
            "stopped by": sorted({str(answer.stop_reason or answer.finish_reason) for answer in answers}),
            "at once": {
                name: differing_fields(answer, reference["answers"][name], 0)
                for name, answer in reference["at once"].items()
            },
        }
    else:
        report = compare(engine, pickle.loads(Path(path).read_bytes()))
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
