"""Greedy answers become evidence that a server believes, as far as they go."""

import json

import pytest

from tests.harness.ledger.planted import PARITY, SERVER
from tests.plugin.release.example import manifest
from verispec.release import Evidence
from verispec_bench.ledger.evidence import write_evidence

SERVERS = {"target-only": SERVER, "x": SERVER | {"release": manifest().as_dict()}}


@pytest.mark.parametrize(
    ("planted", "closed"),
    [({}, True), ({"unexplained": 3, "closed": False}, False), ({"unexplained": 3, "draft_tokens": 2100}, False)],
)
def test_a_server_reads_what_was_found(tmp_path, planted, closed):
    [path] = write_evidence(tmp_path, {"parity": {"arms": [PARITY | planted]}}, SERVERS)
    evidence = Evidence.read(str(path))
    assert (evidence.contract_sha256, evidence.closed) == (SERVERS["x"]["release"]["contract_sha256"], closed)
    assert "rejected drafts" in json.loads(path.read_text(encoding="utf-8"))["found"]


@pytest.mark.parametrize("planted", [{"draft_tokens": 2100}, {"closed": False}, {"arm": "of vLLM's own verifier"}])
def test_what_says_nothing_is_no_evidence(tmp_path, planted):
    assert write_evidence(tmp_path, {"parity": {"arms": [PARITY | planted]}}, SERVERS) == []
    assert write_evidence(tmp_path, {"parity": None}, SERVERS) == []
    assert list(tmp_path.iterdir()) == []
