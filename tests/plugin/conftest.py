"""Settings for the tests of the plugin's pure parts."""

import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Small tensors: a second thread costs more than it brings, many times more while another process computes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
