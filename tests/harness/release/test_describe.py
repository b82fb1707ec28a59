"""What people are shown."""

from tests.plugin.release.example import manifest, without
from verispec_bench.release import describe


def test_everything_that_identifies_a_server_is_shown():
    text = describe(manifest().as_dict())
    for shown in ("owner/target at abc, weights aaaaaaaaaaaa", "16 tokens", "verispec suffix, up to 4 tokens", "token",
                  "exact-by-construction", "not known: no evidence was handed in", "float32", "vllm 0.32.0",
                  manifest().contract_sha256):  # fmt: skip
        assert shown in text


def test_what_breaks_the_contract_is_shown_with_its_reason():
    text = describe(manifest(seams=without("sampling-parameters")).as_dict())
    assert "approximate" in text
    assert "does not hold: on CPUs vLLM loses temperature, top-k and top-p at drafted positions" in text


def test_a_rule_that_is_not_in_place_is_not_shown_as_the_rule():
    text = describe(manifest(seams=without("rejection-rule"), verifier__function="other.sample").as_dict())
    assert next(line for line in text.splitlines() if line.startswith("rule")).split() == ["rule", "other.sample"]


def test_what_is_not_known_and_what_is_not_there_are_said():
    text = describe(manifest(target__weights_sha256=None, tokenizer=None, drafter=None).as_dict())
    for shown in ("weights not known", "none: token ids in and out", "none: target-only", "none: nothing is drafted"):
        assert shown in text
