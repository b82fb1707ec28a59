"""Seams are checked by signature, refused by name, replaced once."""

import sys
import types

import pytest

from verispec.engine import seams
from verispec.engine.seams import Seam, SeamError


@pytest.fixture
def module(monkeypatch):
    """A module of vLLM's place, with one function and one method."""
    made = types.ModuleType("seam_target")

    def verify(drafts, target, bonus=None):
        return "original"

    class Runner:
        def step(self, tokens):
            return "original"

    made.verify, made.Runner = verify, Runner
    monkeypatch.setitem(sys.modules, "seam_target", made)
    return made


def seam(attribute, *parameters) -> Seam:
    return Seam("test-seam", "seam_target", attribute, parameters, why="", removed_when="")


def test_functions_and_methods_are_replaced(module):
    seam("verify", "drafts", "target").replace(lambda original: lambda drafts, target: "ours")
    seam("Runner.step", "self", "tokens").replace(lambda original: lambda self, tokens: "ours")
    assert module.verify(1, 2) == "ours"
    assert module.Runner().step(1) == "ours"


def test_replacing_again_does_not_stack(module):
    target, received = seam("verify", "drafts", "target"), []
    for _ in range(2):
        target.replace(lambda original: received.append(original) or (lambda *a: original(*a)))
    assert received[0] is received[1]
    assert module.verify(1, 2) == "original"


def test_active_says_whether_an_adapter_is_in_place(module):
    target = seam("verify", "drafts")
    assert not target.active
    target.replace(lambda original: lambda *a: None)
    assert target.active


def test_asking_whether_a_seam_is_active_loads_nothing():
    assert not Seam("test-seam", "verispec_no_such_module", "verify", (), why="", removed_when="").active


@pytest.mark.parametrize("attribute", ["gone", "Gone.step", "Runner.gone"])
def test_a_missing_function_is_refused_by_the_seams_name(module, attribute):
    with pytest.raises(SeamError, match=f"seam 'test-seam': seam_target.{attribute} does not exist in vLLM"):
        seam(attribute, "x").check()


def test_a_changed_signature_is_refused_by_the_seams_name(module):
    with pytest.raises(SeamError, match=r"'test-seam'.*takes \(drafts, target\) in vLLM.*expected \(target, drafts\)"):
        seam("verify", "target", "drafts").check()


def test_further_parameters_of_a_later_vllm_do_not_matter(module):
    assert seam("verify", "drafts", "target").check() is module.verify


def test_an_unsupported_vllm_is_refused_with_both_versions(monkeypatch):
    import vllm

    monkeypatch.setattr(vllm, "__version_tuple__", (0, 99, 0))
    monkeypatch.setattr(vllm, "__version__", "0.99.0")
    with pytest.raises(SeamError, match=r"vLLM 0\.99\.0 is not supported, this one fits 0\.32, 0\.33"):
        seams.check_version()


def test_every_declared_seam_fits_the_installed_vllm():
    seams.check_version()
    for declared in (*seams.SEAMS, seams.RUNNER_V2_INIT):
        declared.check()


def test_every_seam_says_why_it_exists_and_what_would_remove_it():
    for declared in (*seams.SEAMS, seams.RUNNER_V2_INIT):
        assert len(declared.why) > 20
        assert len(declared.removed_when) > 20
