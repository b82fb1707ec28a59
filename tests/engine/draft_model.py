"""Runs one tiny engine with a real draft model, in a process of its own, and reports on its KV cache as JSON.

python -m tests.engine.draft_model MODEL_DIR '{"speculative_config": …}' REFERENCE

After every round the draft model's keys and values of all committed tokens, and what it drafts next, are compared with
those of a fresh request that has the same committed tokens: as it is, and with a planted leak. The mixed batch is
served too, and compared with the answers of the target-only engine in the file REFERENCE (tests/engine/reference.py).
"""

import json
import pickle
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from tests.engine.answers import differing_fields
from tests.engine.leaks import draft_kv_not_cropped, watched_rounds
from tests.engine.mixed import Asked, mixed_batch
from tests.engine.snapshots import apart, kv_rows
from tests.engine.tiny import Engine, name_of

KINDS = ("plain", "top-k and top-p", "allowed ids", "split characters")
"""Whose next token depends on the committed tokens alone, wherever the prompt ends."""
REFUSED = ("min_p", "logit_bias", "everything")
"""vLLM refuses min_p and logit_bias beside a draft model."""
AT = " @ "


class DraftStates:
    """Draft KV rows and next drafts, by request and number of committed tokens."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.by_key: dict[tuple[str, int], tuple] = {}
        self.tokens: dict[tuple[str, int], list[int]] = {}
        self.rejected: Counter = Counter()

    def read(self, rounds) -> None:
        self.rejected.update(round_.num_accepted for round_ in rounds.values() if round_.rejected)
        for request in self.engine.scheduler.running:
            if request.num_output_tokens and request.spec_token_ids:
                key = name_of(request.request_id).split(AT)[0], request.num_tokens
                rows = kv_rows(self.engine, request.request_id, request.num_tokens, draft=True)
                self.by_key.setdefault(key, (rows.clone(), list(request.spec_token_ids)))
                self.tokens.setdefault(key, list(request.all_token_ids))


def states(engine: Engine, batch: list[Asked], leak=None) -> DraftStates:
    """Of a batch, after each of its steps."""
    seen = DraftStates(engine)
    with watched_rounds(engine) as take, leak(engine, None) if leak else nullcontext(lambda rounds: None) as spoil:

        def after_step(answers):
            rounds = take()
            spoil(rounds)
            seen.read(rounds)

        engine.serve(batch, after_step=after_step)
    return seen


def compare(engine: Engine, batch: list[Asked], tolerance: float, leak=None) -> dict:
    """With fresh requests: each is given all committed tokens but one, and answers with that one itself."""
    seen = states(engine, batch, leak)
    options = {one.name: one.options for one in batch}
    fresh = states(
        engine,
        [
            Asked(f"{name}{AT}{length}", tokens[:-1], options[name] | {"max_tokens": 2})
            for (name, length), tokens in seen.tokens.items()
        ],
    )
    differing: Counter = Counter()
    for key, (rows, drafts) in seen.by_key.items():
        expected_rows, expected_drafts = fresh.by_key[key]
        differing["tokens"] += seen.tokens[key] != fresh.tokens[key]
        differing["draft KV"] += apart(rows, expected_rows) > tolerance
        differing["next drafts"] += drafts != expected_drafts
    return {"snapshots": len(seen.by_key), "differing": +differing, "rejected after": seen.rejected}


def main(model: str, options: str, path: str) -> None:
    engine = Engine(model, enable_prefix_caching=False, **json.loads(options))
    reference = pickle.loads(Path(path).read_bytes())
    expected, tolerance = reference["answers"], reference["tolerance"]
    mixed = mixed_batch(engine.tokenizer)
    batch = [
        replace(one, options=one.options | {"logprobs": None, "ignore_eos": True})
        for one in mixed
        if one.name.rsplit(", ", 1)[0] in KINDS
    ]
    answers = engine.serve([one for one in mixed if one.name.rsplit(", ", 1)[0] not in REFUSED])
    differing = {name: differing_fields(answer, expected[name], tolerance) for name, answer in answers.items()}
    report = {
        "nothing": compare(engine, batch, tolerance),
        "draft KV not cropped": compare(engine, batch, tolerance, draft_kv_not_cropped),
        "mixed": {
            "compared": len(differing),
            "differing": {name: fields for name, fields in differing.items() if fields},
        },
    }
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
