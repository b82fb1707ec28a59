"""What a scenario file may hold: its sections are in the files beside."""

from typing import Any

from pydantic import Field, model_validator

from verispec_bench.scenario.exactness import Exactness, Parity
from verispec_bench.scenario.load import Load
from verispec_bench.scenario.servers import BASELINE, Arm, Server
from verispec_bench.scenario.strict import Name, Strict, distinct
from verispec_bench.scenario.workloads import Workload

VERIFIED = {"exactness", "parity"}
"""The sections that `verispec verify` reads."""


class Setup(Strict):
    """What a scenario file may hold; what each verb needs of it is said by the classes below.

    Attributes:
        name: short name, used for the result directory.
        title: one line for people.
        model: a local directory, a hub id, or a name that `verispec fetch-model` knows.
        server: what all arms share.
        arms: the speculative servers by name; the baseline is added.
        seed: orders the prompts.
        workloads, load, warmup_requests, max_foreign_cpu, retries: see Scenario.
        exactness, parity: see Verification.

    """

    name: Name
    title: str = ""
    model: str
    server: Server = Field(default_factory=Server)
    arms: dict[Name, Arm] = Field(min_length=1)
    workloads: list[Workload] = Field(default=[])
    load: Load | None = None
    exactness: Exactness | None = None
    parity: Parity | None = None
    seed: int = 0
    warmup_requests: int = Field(default=4, ge=0)
    max_foreign_cpu: float = Field(default=0.05, gt=0, le=1)
    retries: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Setup":
        if BASELINE in self.arms:
            raise ValueError(f"the arm {BASELINE!r} is made by the harness: give only speculative arms")
        distinct([workload if isinstance(workload, str) else workload.name for workload in self.workloads])
        return self


class Scenario(Setup):
    """A sweep: speculative arms against the target-only baseline, over workloads and loads.

    Attributes:
        workloads: "code-edit", "chat", or a file.
        load: the load of each cell.
        warmup_requests: sent to each server before anything is measured.
        max_foreign_cpu: share of the machine that other processes may use during a run before it is measured again.
        retries: how often a contaminated block is measured again, with other prompts.

    """

    workloads: list[Workload] = Field(min_length=1)
    load: Load

    @model_validator(mode="before")
    @classmethod
    def _has_something_to_sweep(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.keys() & VERIFIED and not data.keys() & {"workloads", "load"}:
            raise ValueError("has no workloads and no load, so there is nothing to sweep; it is for: verispec verify")
        return data


class Verification(Setup):
    """A test of exactness: each arm against the target-only baseline, by its law, by its greedy answers, or by both.

    Attributes:
        exactness: the law of sampled tokens.
        parity: greedy answers.

    """

    @model_validator(mode="after")
    def _has_something_to_verify(self) -> "Verification":
        if not self.exactness and not self.parity:
            raise ValueError(
                "has no section exactness and no section parity, so there is nothing to verify; "
                "see scenarios/exactness.yaml"
            )
        return self
