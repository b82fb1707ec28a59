"""The GPUs of a server, by NVML: memory of its processes, energy of its devices. All None where NVML can't say."""

import os
from collections.abc import Collection
from types import ModuleType
from typing import Any

import pynvml


class Gpus:
    """The devices that processes use; none on a machine without NVML.

    Inside a container NVML may not know the processes by their ids there: a process that holds a device open is then
    taken to use all devices that are visible, and its memory is unknown.

    Args:
        pids: processes of a server.
        nvml: the binding.

    """

    def __init__(self, pids: Collection[int], nvml: ModuleType | Any = pynvml) -> None:
        self._nvml, self._pids = nvml, set(pids)
        self._devices: list[Any] = []
        self._count: int | None = None
        try:
            nvml.nvmlInit()
            visible = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
            ours = [device for device in visible if self._memory_on(device)]
            self._devices = ours or (visible if any(map(_holds_device, self._pids)) else [])
            self._count = len(self._devices)
        except nvml.NVMLError:
            self._count = None if any(map(_holds_device, self._pids)) else 0

    @property
    def count(self) -> int | None:
        """Devices that the server uses; None where it holds some, and NVML says nothing of them."""
        return self._count

    def memory_bytes(self) -> int | None:
        """Of the server's processes, over its devices."""
        try:
            used = [amount for device in self._devices for amount in self._memory_on(device)]
        except self._nvml.NVMLError:
            return None
        known = [amount for amount in used if amount is not None]
        return sum(known) if known and len(known) == len(used) else None

    def energy_j(self) -> float | None:
        """Of the devices, since their driver was loaded."""
        try:
            used = [self._nvml.nvmlDeviceGetTotalEnergyConsumption(device) for device in self._devices]
        except self._nvml.NVMLError:
            return None
        return sum(used) / 1000 if used else None

    def _memory_on(self, device: Any) -> list[int | None]:
        processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(device)
        return [process.usedGpuMemory for process in processes if process.pid in self._pids]


def _holds_device(pid: int) -> bool:
    """Has it one of /dev/nvidia0, /dev/nvidia1, … open?"""
    try:
        files = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(file.removeprefix("/dev/nvidia").isdigit() for file in files)
