"""NVML without a driver: the few calls of pynvml that are made, over devices that are written down."""

from types import SimpleNamespace


class FakeNvml:
    """Stands for the module.

    Args:
        devices: for each device the memory of its processes, {pid: bytes or None}; None: no driver.
        energy_mj: what the counter of each shows; None: it has none.

    """

    class NVMLError(Exception):
        pass

    def __init__(self, devices, energy_mj=()):
        self._devices, self._energy_mj = devices, energy_mj

    def nvmlInit(self):
        if self._devices is None:
            raise self.NVMLError("NVML Shared Library Not Found")

    def nvmlDeviceGetCount(self):
        return len(self._devices)

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetComputeRunningProcesses(self, device):
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self._devices[device].items()]

    def nvmlDeviceGetTotalEnergyConsumption(self, device):
        if self._energy_mj is None:
            raise self.NVMLError("Not Supported")
        return self._energy_mj[device]
