"""A real draft model: its KV cache is cropped to the committed tokens, and the answers are the target's.

vLLM's own draft_model method on vLLM's own runner; the draft model is the target's first layer.
"""

import pytest

from tests.engine.conftest import run_json


@pytest.fixture(scope="module")
def report(byte_model, draft_model, target_only):
    speculative = {"method": "draft_model", "model": draft_model, "num_speculative_tokens": 3}
    options = {"speculative_config": speculative}
    return run_json("tests.engine.draft_model", byte_model, options, target_only["path"])


def test_a_rejected_draft_leaves_no_trace_in_the_draft_models_kv_cache(report):
    """Keys and values of all committed tokens, and the next drafts, are those of a fresh request."""
    assert report["nothing"]["snapshots"] > 100
    assert report["nothing"]["differing"] == {}


def test_drafts_were_rejected_at_every_place(report):
    assert report["nothing"]["rejected after"].keys() == {"0", "1", "2"}


def test_draft_kv_that_is_not_cropped_is_noticed(report):
    print("\nsnapshots that differ under a draft KV cache that is not cropped:", report["draft KV not cropped"])
    assert report["draft KV not cropped"]["differing"]["draft KV"] > 50


def test_every_request_gets_the_target_only_answer(report):
    """Those that vLLM accepts beside a draft model."""
    assert report["mixed"]["compared"] == 64
    assert report["mixed"]["differing"] == {}
