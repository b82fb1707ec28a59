"""The server that is deployed is the one that was measured, less what was there for measuring alone."""

import json

from tests.harness.ledger.planted import TARGET_ONLY
from verispec_bench.ledger.deploy import deployment
from verispec_bench.server.command import COUNTERS_ONLY


def test_a_baseline_whose_steps_were_counted_is_deployed_untouched():
    argv = [*TARGET_ONLY["argv"], "--additional-config", json.dumps(COUNTERS_ONLY)]
    counted = {"argv": argv, "env": TARGET_ONLY["env"] | {"VERISPEC_DISABLE": "0"}}
    assert deployment(counted) == deployment(TARGET_ONLY)


def test_a_baseline_with_settings_of_the_users_own_keeps_them():
    argv = [*TARGET_ONLY["argv"], "--additional-config", '{"other": 1}']
    assert deployment(TARGET_ONLY | {"argv": argv}).endswith("""--additional-config '{"other": 1}'""")
