"""Settings for the tests of the plugin's parts."""

import pytest
import torch
from vllm.platforms import current_platform

if current_platform.is_cpu():  # as a CPU worker starts: before anything imports numba, which this does not survive
    current_platform.import_kernels()
    current_platform.register_triton_kernel_overrides()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Small tensors: a second thread costs more than it brings, many times more while another process computes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
