"""Settings for all tests."""

from hypothesis import settings

# Timings say nothing on a shared machine; examples are the same in every run.
settings.register_profile("verispec", deadline=None, derandomize=True)
settings.load_profile("verispec")
