"""Servers are looked at before anything is measured on them."""

import pytest

from tests.harness.server.test_command import scenario
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.launch import check_servers
from verispec_bench.scenario import BASELINE
from verispec_bench.server.readback import Readback


def test_a_baseline_that_is_to_count_its_steps_must_have_the_clocks():
    spec = scenario().model_copy(update={"count_steps": True, "arms": {}})
    check_servers(spec, {BASELINE: Readback({}, {}, [{"seams": ["forward-pass"]}])})
    for workers in ([], [{"seams": []}]):
        with pytest.raises(InfrastructureFailed, match=r"target-only: verispec is not active .* to count its steps"):
            check_servers(spec, {BASELINE: Readback({}, {}, workers)})
    check_servers(scenario().model_copy(update={"arms": {}}), {BASELINE: Readback({}, {})})
