"""Prompts from a JSONL file: Spec-Bench ("turns"), ShareGPT ("conversations") or plain ("prompt") lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput
from verispec_bench.workload.prompt import Message, Prompt

ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
"""ShareGPT's names for who speaks."""
_NO_FORM = 'neither "prompt" nor "turns" (Spec-Bench) nor "conversations" (ShareGPT)'
_NEXT = {None: ("system", "user"), "system": ("user",), "user": ("assistant",), "assistant": ("user",)}


def read_prompts(path: Path) -> list[Prompt]:
    """The first user message of each line; ShareGPT conversations that begin with no user message are left out.

    Raises:
        UnusableInput: naming file and line.

    """
    prompts: dict[str, Prompt] = {}
    for where, id_, record in _records(path):
        text = _first_message(record, where)
        if text:
            prompts[text] = Prompt(id_, text)
    if not prompts:
        raise UnusableInput(f"{path}: holds no prompts")
    return list(prompts.values())


def read_conversations(path: Path) -> list[list[Prompt]]:
    """The prompts of each ShareGPT conversation: one for each user message, after the recorded messages before.

    A conversation ends where user and assistant no longer speak in turns, which chat templates refuse; those that begin
    with neither a user message nor a system message before one are left out.

    Raises:
        UnusableInput: naming file and line.

    """
    conversations: list[list[Prompt]] = []
    seen: set[tuple[tuple[Message, ...], str]] = set()
    for where, id_, record in _records(path):
        if not isinstance(record.get("conversations"), list):
            raise UnusableInput(f'{where}: no "conversations" (ShareGPT); other forms hold no replies')
        turns: list[Prompt] = []
        messages = _in_turns(record["conversations"])
        for at, message in enumerate(messages):
            asked = (tuple(messages[:at]), message.content)
            if message.role == "user" and asked not in seen:
                seen.add(asked)
                turns.append(Prompt(f"{id_}-{at}", message.content, asked[0]))
        if turns:
            conversations.append(turns)
    if not conversations:
        raise UnusableInput(f"{path}: holds no prompts")
    return conversations


def _records(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where it stands, its id and the object, of every line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # U+2028 and the like do not end a line of JSONL
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: the prompt file cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise UnusableInput(f"{where}: not JSON: {error.msg}") from error
        if not isinstance(record, dict):
            raise UnusableInput(f"{where}: {_NO_FORM}")
        yield where, str(record.get("id", record.get("question_id", number))), record


def _first_message(record: dict[str, Any], where: str) -> str | None:
    if isinstance(record.get("prompt"), str):
        return str(record["prompt"])
    if isinstance(record.get("turns"), list) and record["turns"]:
        return str(record["turns"][0])
    if isinstance(record.get("conversations"), list):
        first = record["conversations"][0] if record["conversations"] else None
        asked = isinstance(first, dict) and first.get("from") in ("human", "user") and first.get("value")
        return str(asked) if asked else None
    raise UnusableInput(f"{where}: {_NO_FORM}")


def _in_turns(conversation: list[Any]) -> list[Message]:
    """The messages as long as they take turns: perhaps a system message, then user, assistant, user, …"""
    messages: list[Message] = []
    for said in conversation:
        role = ROLES.get(str(said.get("from"))) if isinstance(said, dict) else None
        value = said.get("value") if role else None
        if role not in _NEXT[messages[-1].role if messages else None] or not isinstance(value, str) or not value:
            break
        messages.append(Message(role, value))
    return messages
