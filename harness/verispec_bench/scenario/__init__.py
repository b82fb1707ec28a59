"""Scenario files: YAML → validated scenario → cells."""

from verispec_bench.scenario.cells import Cell, cells_of
from verispec_bench.scenario.exactness import Exactness, Parity, SamplingParameters
from verispec_bench.scenario.loader import load_scenario, load_setup, load_verification
from verispec_bench.scenario.schema import Scenario, Setup, Verification
from verispec_bench.scenario.servers import BASELINE, CONTROL, DEFAULT_BASELINE, TARGET_ONLY, Arm
from verispec_bench.scenario.workloads import WorkloadFile

__all__ = [
    "BASELINE",
    "CONTROL",
    "DEFAULT_BASELINE",
    "TARGET_ONLY",
    "Arm",
    "Cell",
    "Exactness",
    "Parity",
    "SamplingParameters",
    "Scenario",
    "Setup",
    "Verification",
    "WorkloadFile",
    "cells_of",
    "load_scenario",
    "load_setup",
    "load_verification",
]
