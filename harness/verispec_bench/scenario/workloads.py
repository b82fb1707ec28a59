"""Where a scenario's prompts come from."""

from typing import Literal

from verispec_bench.scenario.strict import Name, Strict


class WorkloadFile(Strict):
    """Prompts from a JSONL file in Spec-Bench ("turns"), ShareGPT ("conversations") or plain ("prompt") form."""

    name: Name
    file: str


Workload = Literal["code-edit", "chat"] | WorkloadFile


def needs_input_len(workload: Workload) -> bool:
    """Its prompts have an exact length, which the load chooses."""
    return False
