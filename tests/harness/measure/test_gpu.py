"""GPUs by NVML, against a binding that answers as NVML does."""

import os
from types import SimpleNamespace

import pytest

from tests.fakes.nvml import FakeNvml
from verispec_bench.measure.gpu import Gpus

OURS, ITS_WORKER, OTHER = 100, 101, 900


def test_devices_are_those_on_which_the_servers_processes_run():
    nvml = FakeNvml([{OTHER: 7}, {OURS: 10, OTHER: 5}, {ITS_WORKER: 20}], energy_mj=[1000, 2000, 3000])
    gpus = Gpus([OURS, ITS_WORKER], nvml)
    assert gpus.count == 2
    assert gpus.memory_bytes() == 30
    assert gpus.energy_j() == 5.0


def test_without_a_driver_there_are_none():
    gpus = Gpus([OURS], FakeNvml(None))
    assert (gpus.count, gpus.memory_bytes(), gpus.energy_j()) == (0, None, None)


def test_devices_that_a_server_holds_without_nvml_are_unknown_and_not_none(monkeypatch):
    monkeypatch.setattr(os, "scandir", lambda path: [SimpleNamespace(path=f"{path}/3")])
    monkeypatch.setattr(os, "readlink", lambda path: "/dev/nvidia0")
    assert Gpus([OURS], FakeNvml(None)).count is None


def test_a_server_on_processors_uses_no_device_of_the_machine():
    gpus = Gpus([os.getpid()], FakeNvml([{OTHER: 7}]))
    assert (gpus.count, gpus.memory_bytes(), gpus.energy_j()) == (0, None, None)


def test_a_device_without_an_energy_counter_gives_none():
    assert Gpus([OURS], FakeNvml([{OURS: 10}], energy_mj=None)).energy_j() is None


def test_memory_that_nvml_does_not_tell_is_none():
    assert Gpus([OURS], FakeNvml([{OURS: None}])).memory_bytes() is None


@pytest.mark.parametrize(("opened", "count"), [("/dev/nvidia0", 2), ("/dev/nvidiactl", 0), ("/dev/null", 0)])
def test_in_a_container_a_server_that_holds_a_device_uses_all_that_are_visible(monkeypatch, opened, count):
    """NVML names processes by their ids outside: none is ours."""
    monkeypatch.setattr(os, "scandir", lambda path: [SimpleNamespace(path=f"{path}/3")])
    monkeypatch.setattr(os, "readlink", lambda path: opened)
    gpus = Gpus([OURS], FakeNvml([{70001: 10}, {}]))
    assert gpus.count == count
    assert gpus.memory_bytes() is None
