"""Where a scenario's prompts come from."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from verispec_bench.scenario.strict import Name, Strict

BuiltIn = Literal["code-edit", "chat", "summarise", "mixed"]
Text = Literal["code", "prose"]
"""Of the running interpreter's standard library."""


class WorkloadFile(Strict):
    """Prompts from a JSONL file in Spec-Bench ("turns"), ShareGPT ("conversations") or plain ("prompt") form."""

    name: Name
    kind: Literal["file"] = "file"
    file: str


class FixedLength(Strict):
    """Real text, cut to exactly the load's `input_len` tokens and sent as ids.

    Attributes:
        of: which text.

    """

    name: Name
    kind: Literal["fixed-length"]
    of: Text = "code"


class MultiTurn(Strict):
    """Every turn of conversations with recorded replies.

    Attributes:
        file: JSONL in ShareGPT form; None: the project's own conversations.

    """

    name: Name
    kind: Literal["multi-turn"]
    file: str | None = None


class SharedPrefix(Strict):
    """Distinct questions under one long system text.

    Attributes:
        prefix_chars: its length.

    """

    name: Name
    kind: Literal["shared-prefix"]
    prefix_chars: int = Field(default=4000, ge=100)


class RandomIds(Strict):
    """`input_len` random tokens: a load without meaning, from which no speedup may be claimed.

    Attributes:
        vocab_size: ids are drawn below it; None: from the model's directory, without its special tokens.

    """

    name: Name
    kind: Literal["random"]
    vocab_size: int | None = Field(default=None, ge=2)


class Trace(Strict):
    """Requests that come as they were recorded, with prompts as long; answers are as long with `load.ignore_eos` only.

    Attributes:
        file: JSONL in Mooncake's form or CSV in Azure's (verispec_bench.arrival.trace).
        of: which text the prompts are cut from.
        requests: only the first so many lines; None: all.

    """

    name: Name
    kind: Literal["trace"]
    file: str
    of: Text = "code"
    requests: int | None = Field(default=None, ge=1)


def tag(kind: str) -> str:
    """What pydantic calls a kind where it says which it tried; unlike any key of a file."""
    return f"kind {kind}"


def _tag_of(value: Any) -> str | None:
    """What a workload of a scenario file is to be read as; without a kind it is a file."""
    if isinstance(value, str):
        return tag("built-in")
    kind = value.get("kind", "file") if isinstance(value, dict) else getattr(value, "kind", None)
    return tag(kind) if isinstance(kind, str) else None


Workload = Annotated[
    Annotated[BuiltIn, Tag(tag("built-in"))]
    | Annotated[WorkloadFile, Tag(tag("file"))]
    | Annotated[FixedLength, Tag(tag("fixed-length"))]
    | Annotated[MultiTurn, Tag(tag("multi-turn"))]
    | Annotated[SharedPrefix, Tag(tag("shared-prefix"))]
    | Annotated[RandomIds, Tag(tag("random"))]
    | Annotated[Trace, Tag(tag("trace"))],
    Discriminator(
        _tag_of,
        custom_error_type="workload_kind",
        custom_error_message=(
            "give the name of a workload, or a mapping whose kind is "
            "file, fixed-length, multi-turn, shared-prefix, random or trace"
        ),
    ),
]


def needs_input_len(workload: Workload) -> bool:
    """Its prompts have an exact length, which the load chooses."""
    return isinstance(workload, FixedLength | RandomIds)


def name_of(workload: Workload) -> str:
    """What results call it."""
    return workload if isinstance(workload, str) else workload.name
