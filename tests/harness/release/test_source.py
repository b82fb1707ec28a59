"""Manifests from servers, files and result directories; what is none is refused."""

import json

import pytest

from tests.fakes.server import FakeServer, serving
from tests.plugin.release.example import manifest
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.release import ask_server, read_file


@pytest.fixture
def release():
    return manifest().as_dict()


def result_directory(path, **releases):
    path.mkdir()
    run = {"identity": {}, "identity_sha256": "", "complete": True}
    servers = {name: {"argv": [], "release": release} for name, release in releases.items()}
    (path / "manifest.json").write_text(json.dumps(run | {"servers": servers}))
    return path


async def test_a_server_is_asked(release):
    async with serving(FakeServer(release=release)) as url:
        assert await ask_server(url) == release


async def test_a_server_without_the_plugin_has_none():
    async with serving(FakeServer()) as url:
        with pytest.raises(UnusableInput, match="gives no release manifest"):
            await ask_server(url)


async def test_a_server_must_answer(release):
    with pytest.raises(InfrastructureFailed, match="no server answers there"):
        await ask_server("http://127.0.0.1:9")
    async with serving(FakeServer(release={"a": 1})) as url:
        with pytest.raises(InfrastructureFailed, match="is no release manifest"):
            await ask_server(url)


def test_a_file_is_read_as_it_was_written(release, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release, indent=2, sort_keys=True))
    assert read_file(path) == release


def test_of_a_result_directory_the_only_server_that_has_one_or_the_arm_that_is_asked_for(release, tmp_path):
    other = manifest(verifier__rule="block").as_dict()
    assert read_file(result_directory(tmp_path / "one", ours=release, **{"target-only": None})) == release
    two = result_directory(tmp_path / "two", ours=release, block=other)
    assert read_file(two, "block") == other
    with pytest.raises(UnusableInput, match="ours, block; choose one with --arm"):
        read_file(two)
    with pytest.raises(UnusableInput, match="server 'nope' has no release manifest; those that have one: ours, block"):
        read_file(two, "nope")


def test_a_manifest_that_was_edited_is_refused(release, tmp_path):
    release["defined_by"]["verifier"]["rule"] = "greedy"
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release))
    with pytest.raises(UnusableInput, match="it was edited or cut"):
        read_file(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "cannot be read as JSON"), ("[]", "is no release manifest"), ("{}", "is no release manifest")],
)
def test_what_is_no_manifest_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "release.json"
    path.write_text(content)
    with pytest.raises(UnusableInput, match=message) as refusal:
        read_file(path)
    assert "\n" not in str(refusal.value)


def test_a_later_schema_is_refused(release, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release | {"schema_version": 2}))
    with pytest.raises(UnusableInput, match="has schema 2, this verispec reads 1"):
        read_file(path)
