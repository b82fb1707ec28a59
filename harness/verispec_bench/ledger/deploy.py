"""The server that was measured, as a command to be run."""

import shlex
from typing import Any

_OF_THE_SWEEP = ("--host", "--port", "--served-model-name")
_ENVIRONMENT = ("VLLM_PLUGINS",)
"""Variables without which it would be another server; the others are of this machine, or of measuring."""


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
    model = next(option[1] for option in options if option[0] == "--model")
    kept = [word for option in options if option[0] not in ("--model", *_OF_THE_SWEEP) for word in option]
    variables = [f"{name}={shlex.quote(server['env'][name])}" for name in _ENVIRONMENT if name in server["env"]]
    return " ".join([*variables, "vllm", "serve", shlex.quote(model), *map(shlex.quote, kept)])
