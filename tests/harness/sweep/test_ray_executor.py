"""A sweep over two nodes of a real, local Ray cluster: every cell on one node, the same records back."""

import json

import pandas as pd
import pytest
import ray
from ray.cluster_utils import Cluster

from tests.harness.sweep.test_sweep import strict_json, verispec

LOAD = {"concurrency": [1, 2], "min_requests": 4}
HALF = '{"CPU": 1, "lab": 1}'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes with one processor each, and a resource that only they have; its address."""
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        made.add_node(num_cpus=1, resources={"lab": 1})
    made.wait_for_nodes()
    yield made.address
    ray.shutdown()
    made.shutdown()


def swept(cluster, path, out, *options):
    return verispec(
        "sweep", path, "--out", out, "--executor", "ray", "--ray-address", cluster, "--ray-resources", HALF, *options
    )


def test_cells_are_spread_over_the_nodes_and_the_same_records_come_back(cluster, fake_scenario, tmp_path):
    out, here = tmp_path / "out", tmp_path / "here"
    path = fake_scenario(load=LOAD)
    result = swept(cluster, path, out)
    assert result.returncode == 0, result.stderr
    assert "2 parts on 2 nodes" in result.stderr
    summary = strict_json(out / "summary.json")
    assert [(c["concurrency"], c["valid"]) for c in summary["comparisons"]] == [(1, True), (2, True)]
    runs = pd.read_csv(out / "cells.csv")
    assert verispec("sweep", path, "--out", here).returncode == 0
    alone = pd.read_csv(here / "cells.csv")
    assert sorted(runs.run) == sorted(alone.run)
    sent = [
        sorted((line["run"], line["prompt_id"], str(line["token_ids"])) for line in map(json.loads, file.open()))
        for file in (out / "requests.jsonl", here / "requests.jsonl")
    ]
    assert sent[0] == sent[1]
    assert set(strict_json(out / "manifest.json")["servers"]) == {"target-only", "ours"}


def test_a_sweep_over_nodes_goes_on_with_what_is_kept(cluster, fake_scenario, tmp_path):
    out = tmp_path / "out"
    path = fake_scenario(load=LOAD)
    assert swept(cluster, path, out).returncode == 0
    cells = pd.read_csv(out / "cells.csv")
    cells[cells.concurrency == 1].to_csv(out / "cells.csv", index=False)
    manifest = strict_json(out / "manifest.json")
    (out / "manifest.json").write_text(json.dumps(manifest | {"complete": False}))
    assert swept(cluster, path, out, "--resume").returncode == 0
    again = pd.read_csv(out / "cells.csv")
    assert sorted(again.run) == sorted(cells.run)
    before = cells[cells.concurrency == 1].set_index("run").started
    assert before.equals(again[again.concurrency == 1].set_index("run").started)


def test_a_fault_on_a_node_is_said_with_the_node_and_its_exit_code(cluster, fake_scenario, tmp_path):
    result = swept(cluster, fake_scenario(fake={"die": "no such device"}, load=LOAD), tmp_path / "out")
    assert result.returncode == 3, result.stderr
    assert "node " in result.stderr
    assert "no such device" in result.stderr
    assert "Traceback" not in result.stderr


def test_resources_that_no_node_has_are_refused_at_once(cluster, fake_scenario, tmp_path):
    result = verispec(
        "sweep", fake_scenario(load=LOAD), "--out", tmp_path / "out", "--executor", "ray",
        "--ray-address", cluster, "--ray-resources", '{"GPU": 4}',
    )  # fmt: skip
    assert result.returncode == 3
    assert "no node of the Ray cluster has 4 GPU" in result.stderr


def test_resources_that_are_no_json_are_unusable(fake_scenario):
    result = verispec("sweep", fake_scenario(load=LOAD), "--executor", "ray", "--ray-resources", "2 GPUs")
    assert result.returncode == 2
    assert "--ray-resources 2 GPUs: is no JSON object" in result.stderr
