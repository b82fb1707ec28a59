"""Files by their content; large ones are read once."""

import hashlib
import os

import pytest

from verispec.release import digest
from verispec.release.digest import files_digest, tokenizer_files, value_digest, weight_files


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    monkeypatch.setattr(digest, "SMALL", 0)


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "model" / "model.safetensors"
    path.parent.mkdir()
    path.write_bytes(b"weights" * 1000)
    return path


def test_the_digest_is_the_sha256_of_names_and_contents(weights, tmp_path):
    expected = value_digest({"model.safetensors": hashlib.sha256(b"weights" * 1000).hexdigest()})
    assert files_digest([weights], tmp_path / "cache") == expected


def test_one_other_byte_is_another_digest_though_size_and_mtime_stay(weights, tmp_path):
    before, times = files_digest([weights], tmp_path / "cache"), weights.stat()
    weights.write_bytes(b"Weights" + b"weights" * 999)
    os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert weights.stat().st_size == times.st_size
    assert files_digest([weights], tmp_path / "cache") != before


def test_a_large_file_is_read_once(weights, tmp_path, monkeypatch):
    first = files_digest([weights], tmp_path / "cache")
    monkeypatch.setattr(hashlib, "file_digest", lambda *a: pytest.fail("read again"))
    assert files_digest([weights], tmp_path / "cache") == first


def test_a_damaged_cache_is_not_believed(weights, tmp_path):
    cache = tmp_path / "cache"
    first = files_digest([weights], cache)
    (entry,) = cache.iterdir()
    entry.write_text("cut")
    assert files_digest([weights], cache) == first


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(weights):
    assert files_digest([weights], weights / "cache") == files_digest([weights], weights.parent / "cache")


def test_what_cannot_be_read_has_no_digest(tmp_path):
    assert files_digest([], tmp_path) is None
    assert files_digest([tmp_path / "gone.safetensors"], tmp_path) is None


def test_older_formats_count_where_there_are_no_safetensors(weights):
    older = weights.with_name("pytorch_model.bin")
    older.write_bytes(b"older")
    assert weight_files(weights.parent) == [weights]
    weights.unlink()
    assert weight_files(older.parent) == [older]
    assert weight_files(older) == [older]


def test_all_files_of_a_tokenizer_count(tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "merges.txt", "config.json"):
        (tmp_path / name).write_text(name)
    assert [p.name for p in tokenizer_files(tmp_path)] == [
        "chat_template.jinja", "merges.txt", "tokenizer.json", "tokenizer_config.json"
    ]  # fmt: skip
