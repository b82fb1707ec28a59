"""Every command of the documentation works, or says why it is not run here; of make it is what it would run."""

import pytest

from tests.docs.pages import PAGES, UNMARKED, commands_of, name_of
from tests.docs.workspace import make_workspace, run_commands

EVERYWHERE = [page for page in PAGES if any(not block.needs for block in commands_of(page))]


@pytest.mark.parametrize("page", EVERYWHERE, ids=name_of)
def test_the_commands_of_a_page_work(tmp_path, page):
    make_workspace(tmp_path)
    run_commands(tmp_path, "".join(block.text for block in commands_of(page) if not block.needs), timeout_s=300)


@pytest.mark.engine
@pytest.mark.timeout(3600)
def test_the_commands_that_need_servers_work(tmp_path):
    """In the order of the pages, and each once."""
    make_workspace(tmp_path)
    blocks = [block for page in PAGES for block in commands_of(page) if block.needs == "engine"]
    lines = dict.fromkeys(line for block in blocks for line in block.text.splitlines())
    for line in sorted(lines, key=lambda line: "adopt" in line):  # which reads what the others wrote
        gates = set(tmp_path.glob("results/gate*/gate.json"))
        try:
            said = run_commands(tmp_path, line, timeout_s=900, may_end_with=(0, 1) if "adopt" in line else (0,))
            assert "verified for another contract only" not in said
        except AssertionError as error:
            # A machine that is disturbed is no failure of a gate's: it says so, and writes what it found.
            if "ended with 3:" not in str(error) or set(tmp_path.glob("results/gate*/gate.json")) == gates:
                raise


def test_a_block_is_for_everywhere_for_engines_or_for_gpus():
    assert {block.needs for page in PAGES for block in commands_of(page)} == {"", "engine", "gpu"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_command_that_is_not_run_says_why(page):
    assert UNMARKED.findall(page.read_text(encoding="utf-8")) == []
