"""What runs in every step is machine code, whether or not it can be kept on disk."""

import numpy as np
import pytest
from numba.core import caching

from verispec.compiled import compiled


def half(values):
    return values[0] / 2


def test_it_is_kept_for_the_next_process():
    made = compiled(half)
    assert made(np.array([3.0])) == 1.5
    assert made.stats.cache_path


@pytest.fixture
def nowhere_to_write(monkeypatch):
    for kind in (caching.CacheImpl, *caching.CacheImpl.__subclasses__()):
        monkeypatch.setattr(kind, "_locator_classes", [])


def test_without_a_place_to_keep_it_it_is_made_anew(nowhere_to_write):
    made = compiled(half)
    assert made(np.array([3.0])) == 1.5
    assert not made.stats.cache_path
