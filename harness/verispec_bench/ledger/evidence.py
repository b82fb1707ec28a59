"""What greedy answers say of the decoder's state, as a file that a server's setting `evidence` takes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from verispec_bench.ledger.state import state_finding
from verispec_bench.record.atomic import write_json


def write_evidence(directory: Path, verification: Mapping[str, Any], servers: Mapping[str, Any]) -> list[Path]:
    """Write evidence-ARM.json for each arm whose greedy answers say something of its state; the paths.

    "closed" is true where enough rejected drafts were followed by target-only's answers, false where an answer differs.

    Args:
        directory: of `verispec verify`.
        verification: verify.json.
        servers: of its manifest, with their release manifests.

    """
    paths = []
    for parity in (verification["parity"] or {}).get("arms", []):
        release = servers.get(parity["arm"], {}).get("release")
        state, said = state_finding(parity)
        if release is None or state == "open":
            continue
        path = directory / f"evidence-{parity['arm']}.json"
        content = {"contract_sha256": release["contract_sha256"], "closed": state == "closed", "found": said}
        write_json(path, content | {"machine": release["machine"], "draft_tokens": parity["draft_tokens"]})
        paths.append(path)
    return paths
