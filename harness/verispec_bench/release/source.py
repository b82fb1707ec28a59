"""Where release manifests come from: a running server, a file, a result directory."""

import hashlib
import json
from pathlib import Path
from typing import Any

import aiohttp

from verispec_bench.errors import InfrastructureFailed, UnusableInput

MANIFEST_PATH = "/verispec/manifest"
SCHEMA = 1
READING_TIMEOUT_S = 1800
"""A server that is asked for the first time reads all of its model's files."""

Manifest = dict[str, Any]


async def fetch(session: aiohttp.ClientSession, base_url: str) -> Manifest | None:
    """A server's manifest, None if it gives none: the plugin is not active there.

    Raises:
        InfrastructureFailed: it answers with anything else.

    """
    timeout = aiohttp.ClientTimeout(total=READING_TIMEOUT_S)
    async with session.get(f"{base_url}{MANIFEST_PATH}", timeout=timeout) as response:
        if response.status == 404:
            return None
        if response.status != 200:
            raise InfrastructureFailed(f"{base_url}{MANIFEST_PATH}: http {response.status}: {await response.text()}")
        try:
            return _checked(await response.json(), f"{base_url}{MANIFEST_PATH}")
        except UnusableInput as error:
            raise InfrastructureFailed(str(error)) from error


async def ask_server(base_url: str) -> Manifest:
    """The manifest of a server that must have one.

    Raises:
        InfrastructureFailed: no server answers there.
        UnusableInput: it gives no manifest.

    """
    try:
        async with aiohttp.ClientSession() as session:
            manifest = await fetch(session, base_url)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise InfrastructureFailed(f"{base_url}: no server answers there: {error}") from error
    if manifest is None:
        raise UnusableInput(
            f"{base_url}: gives no release manifest: verispec is not active there, or VLLM_PLUGINS does not name it "
            """(a target-only server needs --additional-config '{"verispec": {}}')"""
        )
    return manifest


def read_file(path: Path, arm: str | None = None) -> Manifest:
    """The manifest in a file, or of an arm of a result directory.

    Args:
        arm: which server of a result directory; not needed where only one has a manifest.

    Raises:
        UnusableInput: there is none.

    """
    if path.is_dir():
        return _of_arm(path, arm)
    try:
        return _checked(json.loads(path.read_text(encoding="utf-8")), str(path))
    except FileNotFoundError:
        raise UnusableInput(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path}: cannot be read as JSON: {error}") from error


def _of_arm(path: Path, arm: str | None) -> Manifest:
    from verispec_bench.record import ResultDirectory

    servers = ResultDirectory(path).manifest().get("servers", {})
    releases = {name: server["release"] for name, server in servers.items() if server.get("release")}
    listed = ", ".join(releases) or "none"
    if arm is None and len(releases) != 1:
        raise UnusableInput(f"{path}: servers with a release manifest: {listed}; choose one with --arm")
    name = arm or next(iter(releases))
    if name not in releases:
        raise UnusableInput(f"{path}: server {name!r} has no release manifest; those that have one: {listed}")
    return _checked(releases[name], f"{path}, server {name}")


def _checked(manifest: Any, where: str) -> Manifest:
    """It is a manifest of this schema, and its hash is that of its content.

    Raises:
        UnusableInput: it is not.

    """
    needed = {"schema_version", "contract_sha256", "contract", "defined_by", "fallback", "machine", "sha256"}
    if not isinstance(manifest, dict) or not needed <= manifest.keys():
        raise UnusableInput(f"{where}: is no release manifest")
    if manifest["schema_version"] != SCHEMA:
        raise UnusableInput(f"{where}: has schema {manifest['schema_version']}, this verispec reads {SCHEMA}")
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    if _digest(manifest["defined_by"]) != manifest["contract_sha256"] or _digest(rest) != manifest["sha256"]:
        raise UnusableInput(f"{where}: its hashes are not those of its content: it was edited or cut")
    return manifest


def _digest(value: Any) -> str:
    """As the plugin makes it: sha256 of canonical JSON."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
