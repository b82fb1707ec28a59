"""The server that was measured, as a command to be run."""

import json
import shlex
from typing import Any

from verispec.settings import DISABLE_VARIABLE
from verispec_bench.server.command import COUNTERS_ONLY

_OF_THE_SWEEP = ("--host", "--port", "--served-model-name")
_OF_MEASURING = {
    (DISABLE_VARIABLE, "0"),
    ("DO_NOT_TRACK", "1"),
    ("HF_HUB_OFFLINE", "1"),
    ("VLLM_NO_USAGE_STATS", "1"),
    ("VLLM_SERVER_DEV_MODE", "1"),
}
"""Variables that are set for the sweep alone; without the others it would be another server."""


def deployment(server: dict[str, Any]) -> str:
    """`vllm serve …` for a server of a sweep's manifest; address and name are left to the reader.

    Args:
        server: its entry in manifest.json: argv and env.

    """
    argv: list[str] = server["argv"]
    arguments = argv[argv.index("--model") :]
    options: list[list[str]] = []
    for word in arguments:
        if word.startswith("--"):
            options.append([word])
        else:
            options[-1].append(word)
    counting = ["--additional-config", json.dumps(COUNTERS_ONLY)]
    untouched = {DISABLE_VARIABLE: "1"} if counting in options else {}
    model = next(option[1] for option in options if option[0] == "--model")
    of_the_sweep = [option for option in options if option[0] in ("--model", *_OF_THE_SWEEP) or option == counting]
    kept = [word for option in options if option not in of_the_sweep for word in option]
    environment = [item for item in (server["env"] | untouched).items() if item not in _OF_MEASURING]
    variables = [f"{name}={shlex.quote(value)}" for name, value in environment]
    return " ".join([*variables, "vllm", "serve", shlex.quote(model), *map(shlex.quote, kept)])
