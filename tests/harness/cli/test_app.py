"""Addresses are looked at before they are used; whatever ends a long work, it is said how to go on."""

import pytest

from verispec_bench.cli.app import checked_url, resumable
from verispec_bench.errors import InfrastructureFailed, UnusableInput


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "https://host/prefix", "http://[::1]:8000/"])
def test_an_address_loses_its_last_slash_only(url):
    assert checked_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url", ["", "host", "host:8000", "ftp://host", "http://", "http://h:0", "http://h:x", "http://h/v1/"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UnusableInput, match="give http://HOST:PORT, without /v1"):
        checked_url(url)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InfrastructureFailed("server suffix died"), "server suffix died; 3 runs are kept; go on with: again"),
        (InfrastructureFailed("it died\n  its log"), "it died\n  its log\n3 runs are kept; go on with: again"),
        (OSError(28, "No space left on device", "cells.csv"), "cells.csv: No space left on device; 3 runs are kept"),
        (TimeoutError(), "TimeoutError; 3 runs are kept; go on with: again"),
    ],
)
def test_a_fault_says_what_is_kept_and_how_to_go_on(error, said):
    with pytest.raises(InfrastructureFailed) as raised, resumable(lambda: "3 runs are kept", "again"):
        raise error
    assert said in str(raised.value)


def test_an_interruption_says_so_and_stays_one(capsys):
    with pytest.raises(KeyboardInterrupt), resumable(lambda: "3 runs are kept", "again"):
        raise KeyboardInterrupt
    assert "interrupted: 3 runs are kept; go on with: again" in capsys.readouterr().err


def test_what_is_the_users_mistake_is_not_to_be_tried_again():
    with pytest.raises(UnusableInput, match="no matched pair"), resumable(lambda: "3 runs are kept", "again"):
        raise UnusableInput("no matched pair")
