"""What a scenario file may hold: its sections are in the files beside."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from verispec_bench.scenario.exactness import Exactness, Parity
from verispec_bench.scenario.grid import expand
from verispec_bench.scenario.load import Load
from verispec_bench.scenario.servers import BASELINE, CONTROL, DEFAULT_BASELINE, TARGET_ONLY, Arm, Server, ServerAxes
from verispec_bench.scenario.strict import Name, Strict, distinct
from verispec_bench.scenario.workloads import Trace, Workload, name_of, needs_input_len

VERIFIED = {"exactness", "parity"}
"""The sections that `verispec verify` reads."""


class Setup(Strict):
    """What a scenario file may hold; what each verb needs of it is said by the classes below.

    Attributes:
        name: short name, used for the result directory.
        title: one line for people.
        model: a local directory, a hub id, or a name that `verispec fetch-model` knows.
        server: what all arms share.
        axes: server settings to sweep over.
        arms: the speculative servers by name; the baseline is added. One with a `grid` stands for several.
        deployment_default: compare with the target-only server that vLLM starts by default as well.
        control: compare a second baseline server with the first (A/A): what differs is the harness's own error.
        count_steps: time the steps of the matched baseline as well, by the plugin's clocks (`counters_only`), as those
            of the arms are. `control` has no such clocks: beside it what they cost is measured.
        placement: "resident": all servers of a comparison are up at once; "alternating": one at a time, where they do
            not fit together; each block of prompts then costs a start of each server.
        seed: orders the prompts.
        workloads, load, warmup_requests, max_foreign_cpu, retries: see Scenario.
        exactness, parity: see Verification.

    """

    name: Name
    title: str = ""
    model: str
    server: Server = Field(default_factory=Server)
    axes: ServerAxes = Field(default_factory=ServerAxes)
    arms: dict[Name, Arm] = Field(default={})
    deployment_default: bool = False
    control: bool = False
    count_steps: bool = False
    placement: Literal["resident", "alternating"] = "resident"
    workloads: list[Workload] = Field(default=[])
    load: Load | None = None
    exactness: Exactness | None = None
    parity: Parity | None = None
    seed: int = 0
    warmup_requests: int = Field(default=4, ge=0)
    max_foreign_cpu: float = Field(default=0.05, gt=0, le=1)
    retries: int = Field(default=1, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _expand_grids(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("arms"), dict):
            return data | {"arms": expand(data["arms"])}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> "Setup":
        if taken := [name for name in TARGET_ONLY if name in self.arms]:
            raise ValueError(f"the arm {taken[0]!r} is made by the harness: give only speculative arms")
        if not self.arms and not self.control and not self.deployment_default:
            raise ValueError("has no arms, so there is nothing to compare")
        distinct([name_of(workload) for workload in self.workloads])
        return self

    @property
    def all_arms(self) -> list[str]:
        """Names of all servers of a comparison, the baseline first."""
        made = [(DEFAULT_BASELINE, self.deployment_default), (CONTROL, self.control)]
        return [BASELINE, *(name for name, wanted in made if wanted), *self.arms]

    @property
    def variant(self) -> str:
        """What tells the servers of one combination of `axes` from those of another."""
        return f"s{self.server.max_num_seqs}-{self.server.dtype}"

    def variants(self) -> list[Self]:
        """This scenario for each combination of its server axes."""
        return [
            self.model_copy(update={"server": server, "axes": ServerAxes()})
            for server in self.axes.variants(self.server)
        ]


class Scenario(Setup):
    """A sweep: speculative arms against the target-only baseline, over workloads and loads.

    Attributes:
        workloads: "code-edit", "chat", "summarise", "mixed", a file, or a mapping with a kind.
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

    @model_validator(mode="after")
    def _has_cells(self) -> "Scenario":
        load, made = self.load, [workload for workload in self.workloads if not isinstance(workload, Trace)]
        if made and not (load.concurrency or load.request_rate or load.slo_search):
            raise ValueError("load needs concurrency (closed loop), request_rate (open loop) or slo_search")
        if not made and (load.concurrency or load.request_rate or load.slo_search):
            raise ValueError("traces have their own arrivals: load has only trace_speed for them")
        for workload in self.workloads:
            if needs_input_len(workload) and not load.input_len:
                raise ValueError(f"workload {name_of(workload)} has no length of its own: load needs input_len")
        if load.input_len and not any(map(needs_input_len, self.workloads)):
            raise ValueError("load has input_len, but no workload has prompts of a length that can be chosen")
        return self


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
