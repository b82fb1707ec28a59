"""One long system text, distinct questions."""

import pytest

from verispec_bench.scenario.workloads import SharedPrefix
from verispec_bench.workload import load_workload


@pytest.mark.parametrize("prefix_chars", [100, 4000, 60_000])
def test_all_questions_stand_under_the_same_text_of_the_length_that_is_asked_for(prefix_chars):
    workload = load_workload(SharedPrefix(name="s", kind="shared-prefix", prefix_chars=prefix_chars), 0)
    ((system,),) = {prompt.history for prompt in workload.prompts}
    assert (system.role, len(system.content)) == ("system", prefix_chars)
    assert len({prompt.text for prompt in workload.prompts}) == len(workload.prompts) >= 160
    assert workload.shares_prefix
