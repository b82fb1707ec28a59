"""Settings for all tests."""

import os
import sys

from hypothesis import settings

os.environ["VERISPEC_TEST_PYTHON"] = sys.executable  # for tests/fakes/python

# Timings say nothing on a shared machine; examples are the same in every run.
settings.register_profile("verispec", deadline=None, derandomize=True)
settings.load_profile("verispec")
