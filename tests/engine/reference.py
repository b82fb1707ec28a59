"""Runs a tiny target-only engine in a process of its own and keeps its answers and its state, for others to compare.

python -m tests.engine.reference MODEL_DIR OUT

It writes the file OUT, and reports as JSON how much its logprobs depend on the shape of a batch, why its answers ended,
and whether what it streams is what it answers at once.
"""

import json
import pickle
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from tests.engine.answers import Answer, differing_fields, distance
from tests.engine.mixed import (
    Asked,
    mixed_batch,
    structured_batch,
    twins,
    unstopped,
    with_whole_laws,
)
from tests.engine.snapshots import Snapshots, snapshot
from tests.engine.tiny import Engine, RequestOutputKind

FINAL = RequestOutputKind.FINAL_ONLY
SHAPES = (2, 3, 5, 8, 13, 21, 34, 55, 96)
"""Rows of a pass; kernels take other ways at some sizes, and nobody says at which."""
TOLERANCE = 4
"""Floats may differ by this many times the measured envelope: penalties and temperatures scale it."""


def refer(engine: Engine) -> dict:
    """The target-only answers and snapshots, and what adversaries have to know."""
    batch, grammars = mixed_batch(engine.tokenizer), structured_batch()
    snapshots: Snapshots = {}
    on, moved = engine.serve(unstopped(batch)), envelope(engine, batch)
    answers = engine.serve(batch) | engine.serve(grammars)
    return {
        "answers": answers,
        "twins": engine.serve(twins(batch), after_step=lambda answers: snapshots.update(snapshot(engine))),
        "snapshots": snapshots,
        "at once": engine.serve(batch, FINAL),
        "whole laws": engine.serve(with_whole_laws(batch)),
        "known": {
            tuple(one.prompt): one.prompt + (on.get(one.name) or answers[one.name]).token_ids
            for one in [*batch, *grammars]
        },
        "vocabulary": engine.runner.model_config.get_vocab_size(),
        "envelope": moved,
        "tolerance": TOLERANCE * max(moved.values()),
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
    for rows in (*SHAPES, engine.scheduler.max_num_scheduled_tokens):
        with tokens_in_a_step(engine, rows):
            moved[f"{rows} rows"] = worst(engine.serve(again), "prompt_logprobs")
    with largest_logit(engine) as largest:
        engine.serve(asked)
    moved["any rows, one rounding of the largest logit"] = torch.finfo(torch.float32).eps * largest()
    rows = [row for answer in alone.values() for row in answer.logprobs]
    moved["any rows, normalised twice"] = distance([normalised(row) for row in rows], rows)
    return moved


@contextmanager
def largest_logit(engine: Engine):
    """Gives a function that returns the largest absolute logit of the steps within: logprobs are no more exact."""
    compute, seen = engine.runner.model.compute_logits, [0.0]

    def compute_logits(*args):
        logits = compute(*args)
        seen.append(logits.abs().max().item())
        return logits

    engine.runner.model.compute_logits = compute_logits
    yield lambda: max(seen)
    del engine.runner.model.compute_logits


def normalised(row: dict[int, float]) -> dict[int, float]:
    """As vLLM normalises processed logprobs once more after the last draft."""
    return dict(zip(row, torch.tensor(list(row.values())).log_softmax(-1).tolist(), strict=True))


@contextmanager
def tokens_in_a_step(engine: Engine, most: int):
    usual, engine.scheduler.max_num_scheduled_tokens = engine.scheduler.max_num_scheduled_tokens, most
    yield
    engine.scheduler.max_num_scheduled_tokens = usual


def main(model: str, path: str) -> None:
    reference = refer(Engine(model, enable_prefix_caching=False))
    Path(path).write_bytes(pickle.dumps(reference))
    answers = reference["answers"]
    print()
    print(
        json.dumps(
            {
                "envelope": reference["envelope"],
                "stopped by": sorted({str(answer.stop_reason or answer.finish_reason) for answer in answers.values()}),
                "at once": {
                    name: differing_fields(answer, answers[name], reference["tolerance"])
                    for name, answer in reference["at once"].items()
                },
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
