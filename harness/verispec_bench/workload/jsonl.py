"""Prompts from a JSONL file: Spec-Bench ("turns"), ShareGPT ("conversations") or plain ("prompt") lines."""

import json
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput
from verispec_bench.workload.prompt import Prompt


def read_prompts(path: Path) -> list[Prompt]:
    """The first user message of each line; ShareGPT conversations that begin with no user message are left out.

    Raises:
        UnusableInput: naming file and line.

    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # U+2028 and the like do not end a line of JSONL
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: the prompt file cannot be read: {error}") from error
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise UnusableInput(f"{path}:{number}: not JSON: {error.msg}") from error
        text = _first_message(record, f"{path}:{number}")
        if text:
            id_ = str(record.get("id", record.get("question_id", number)))
            prompts[text] = Prompt(id_, text)
    if not prompts:
        raise UnusableInput(f"{path}: holds no prompts")
    return list(prompts.values())


def _first_message(record: Any, where: str) -> str | None:
    if isinstance(record, dict):
        if isinstance(record.get("prompt"), str):
            return str(record["prompt"])
        if isinstance(record.get("turns"), list) and record["turns"]:
            return str(record["turns"][0])
        if isinstance(record.get("conversations"), list):
            first = record["conversations"][0] if record["conversations"] else None
            asked = isinstance(first, dict) and first.get("from") in ("human", "user") and first.get("value")
            return str(asked) if asked else None
    raise UnusableInput(f'{where}: neither "prompt" nor "turns" (Spec-Bench) nor "conversations" (ShareGPT)')
