"""What runs in every step for every request and every draft: functions in machine code.

A vLLM worker on CPUs does not start where numba was imported before it: whatever imports this is imported when the
worker is up (verispec.drafting.make_drafter, verispec.control.make_controller).
"""

from typing import Any

from numba import njit


def compiled(function: Any) -> Any:
    """To machine code, kept on disk for the next process where there is a place for it."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # no folder that can be written
        return njit(function)
