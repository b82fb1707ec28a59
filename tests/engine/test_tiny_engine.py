"""What reaches the verifier in a real engine: the target's rows, the drafts' laws; and the law that is served."""

import pytest
from scipy.stats import chisquare

from tests.engine.conftest import run, run_json
from verispec.engine.seams import RUNNER_INIT, SEAMS, SPECULATIVE_SEAMS
from verispec_bench.release import compare

PROBE = "tests.engine.probe"
OURS = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 4}
NGRAM = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_min": 1, "prompt_lookup_max": 3}
PATIENT = {"fallback": {"stall_s": 600}, "control": {"mode": "fixed"}}
"""The machine may be busy: no time is a stall here."""
RANDOM = {"drafter": "tests.engine.drafters.RandomLaw", "drafter_options": {"vocab_size": 16}} | PATIENT
ALL_SEAMS = [seam.name for seam in SEAMS]
FALSE_ALARM = 1e-6


def p_value(report) -> float:
    total = sum(report["counts"])
    mass = sum(report["exact_law"])
    return float(chisquare(report["counts"], [total * p / mass for p in report["exact_law"]]).pvalue)


@pytest.fixture(scope="module")
def stochastic(tiny_model):
    """Our proposer, with a drafter that has a true q."""
    return run_json(PROBE, tiny_model, {"speculative_config": OURS, "additional_config": {"verispec": RANDOM}})


@pytest.fixture(scope="module")
def block(tiny_model):
    """The same under block verification."""
    return run_json(
        PROBE, tiny_model, {"speculative_config": OURS, "additional_config": {"verispec": RANDOM | {"rule": "block"}}}
    )


@pytest.fixture(scope="module")
def vllms_drafter(tiny_model):
    """vLLM's own n-gram drafter under our plugin."""
    return run_json(PROBE, tiny_model, {"speculative_config": NGRAM, "additional_config": {"verispec": PATIENT}})


@pytest.fixture(scope="module")
def untouched(tiny_model):
    """vLLM's own n-gram drafter with the kill switch on."""
    return run_json(PROBE, tiny_model, {"speculative_config": NGRAM}, "temperatures", VERISPEC_DISABLE="1")


def test_drafted_positions_have_their_requests_temperature_top_k_and_top_p(stochastic):
    assert stochastic["rounds"] > 50
    assert stochastic["worst_target_error"] < 1e-5


def test_rows_of_q_follow_request_ids_though_batch_rows_move(stochastic):
    assert stochastic["moved_rows"] > 0
    assert stochastic["q_rows"] > 500
    assert stochastic["wrong_q"] == 0
    assert stochastic["status"]["counters"]["rows_without_draft_probs"] == 0


def test_the_served_law_under_a_true_q_is_the_targets(stochastic):
    assert p_value(stochastic) > FALSE_ALARM


def test_the_served_law_under_block_verification_is_the_targets(block):
    assert block["status"]["settings"]["rule"] == "block"
    assert p_value(block) > FALSE_ALARM
    assert block["lengths_right"]


def test_block_verification_keeps_at_least_as_many_drafts(stochastic, block):
    """The same drafts law on the same target: the rates differ by the rule alone, and by sampling error."""

    def rate(report):
        return report["status"]["counters"]["accepted_tokens"] / report["status"]["counters"]["drafted_tokens"]

    assert rate(block) > rate(stochastic) - 0.01


def test_every_request_gets_exactly_the_tokens_it_asked_for(stochastic):
    assert stochastic["lengths_right"]


def test_committed_tokens_are_the_completion_tokens(stochastic, vllms_drafter):
    for report in (stochastic, vllms_drafter):
        commits = report["commits"]
        assert commits["committed_tokens"] == report["completion_tokens"]
        assert sum(commits["committed_per_position"]) < commits["committed_tokens"]
        assert commits["committed_per_position"][0] == commits["rounds_with_drafts"]
        kept = report["status"]["counters"]["accepted_per_position"]
        assert sum(kept) == report["status"]["counters"]["accepted_tokens"]
        # Accepted drafts that a stop has cut are not committed.
        assert all(c <= k for c, k in zip(commits["committed_per_position"][1:], kept, strict=False))
        assert commits["scheduled_tokens"] == report["status"]["counters"]["drafted_tokens"]


def test_what_vllm_pads_is_not_counted_as_drafted(vllms_drafter, stochastic):
    """Scheduled and verified drafts agree above; here is that there was padding to be left out."""
    for report in (vllms_drafter, stochastic):
        assert report["padding"] > 0


def test_time_is_accounted_for(stochastic):
    counters = stochastic["status"]["counters"]
    for name in ("verify", "decode", "rule", "draft", "overhead"):
        assert counters[f"{name}_seconds"] > 0


def test_nan_logits_end_the_request_that_has_them_with_an_error_and_no_other(stochastic):
    (first, second, third) = stochastic["with_nan_in_one"]
    assert [first, third] == [["length", 20]] * 2
    assert second[0] == "error"
    assert second[1] < 20


def test_nothing_fell_back(stochastic, block, vllms_drafter):
    for report in (stochastic, block, vllms_drafter):
        assert not any(report["status"]["fallback"]["trips"].values())


def test_drafting_goes_on_up_to_the_models_length(stochastic):
    """Prompts of 80 and 10 tokens in a context of 96, decoded to its end in one batch."""
    assert stochastic["lengths_to_the_end"] == [16, 86]
    assert stochastic["status"]["counters"]["proposals_cut"] == 0


def test_every_seam_is_in_place(stochastic):
    assert stochastic["seams"] == ALL_SEAMS


def test_vllms_own_drafter_is_repaired_and_verified_by_our_rule(vllms_drafter):
    assert vllms_drafter["seams"] == ALL_SEAMS
    assert vllms_drafter["status"]["counters"]["verify_steps"] > 50
    assert vllms_drafter["worst_target_error"] < 1e-5
    assert p_value(vllms_drafter) > FALSE_ALARM


def test_the_kill_switch_leaves_vllm_untouched(untouched):
    assert untouched["seams"] == []
    assert untouched["status"] is None


def test_unrepaired_vllm_is_caught(untouched):
    """The control: if this fails, vLLM has repaired expand_batch_to_tokens and the seam can go."""
    assert untouched["worst_target_error"] > 0.01
    assert p_value(untouched) < FALSE_ALARM


def changed(first, second) -> list[str]:
    return [found.key for found in compare(first["manifest"], second["manifest"])]


def test_the_manifest_says_what_is_served(stochastic):
    manifest, facts = stochastic["manifest"], stochastic["manifest"]["defined_by"]
    assert facts["drafter"]["name"] == RANDOM["drafter"]
    assert facts["drafter"]["options"] == RANDOM["drafter_options"]
    assert set(facts["seams"]) == {seam.name for seam in (RUNNER_INIT, *SPECULATIVE_SEAMS)}  # the worker's
    assert facts["numerics"]["dtype"] == "float32"
    assert facts["numerics"]["attention_backends"] == ["CPU_ATTN"]
    assert manifest["contract"]["kind"] == "exact-by-construction"
    not_known = [entry["name"] for entry in manifest["contract"]["because"] if entry["holds"] is not True]
    assert not_known == ["draft-state", "target-state"]


def test_another_rule_changes_the_manifest_in_its_rule_alone(stochastic, block):
    assert changed(stochastic, block) == ["defined_by.verifier.rule"]
    assert stochastic["manifest"]["contract_sha256"] != block["manifest"]["contract_sha256"]


def test_another_drafter_changes_the_manifest_in_its_drafter_and_what_that_lets_requests_use(stochastic, vllms_drafter):
    """The n-gram server does not name verispec in its settings: vLLM goes on refusing min_p there."""
    drafter = ("defined_by.drafter.", "defined_by.logits_processors.all_accepted")
    assert changed(stochastic, vllms_drafter)
    assert [key for key in changed(stochastic, vllms_drafter) if not key.startswith(drafter)] == []
    assert vllms_drafter["manifest"]["defined_by"]["drafter"]["method"] == "ngram"
    assert vllms_drafter["manifest"]["fallback"] == stochastic["manifest"]["fallback"]


def test_one_byte_of_the_weights_changes_the_manifest_in_the_weights_alone(stochastic):
    other = {"manifest": stochastic["manifest_of_other_weights"]}
    assert changed(stochastic, other) == ["defined_by.target.weights_sha256"]
    assert None not in {report["manifest"]["defined_by"]["target"]["weights_sha256"] for report in (stochastic, other)}


def test_there_is_no_manifest_where_the_plugin_is_switched_off(untouched):
    assert untouched["manifest"] is None


def test_a_plugin_that_is_locked_out_stops_the_start(tiny_model):
    result = run(PROBE, tiny_model, {"speculative_config": OURS}, VLLM_PLUGINS="typo")
    assert result.returncode != 0
    assert "VLLM_PLUGINS='typo' must name verispec" in result.stderr
