"""Scenario files: YAML → validated scenario → cells."""

from verispec_bench.scenario.cells import Cell, cells_of
from verispec_bench.scenario.loader import load_scenario
from verispec_bench.scenario.schema import BASELINE, Arm, Scenario, WorkloadFile

__all__ = ["BASELINE", "Arm", "Cell", "Scenario", "WorkloadFile", "cells_of", "load_scenario"]
