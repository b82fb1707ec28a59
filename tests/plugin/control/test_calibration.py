"""A calibration is of one engine, and a file that is none is refused in one line."""

import json

import pytest

from verispec.control import Calibration, Costs

COSTS = {
    "tokens": [1, 8],
    "seconds": [0.05, 0.09],
    "steps": [9.0, 9.0],
    "kv_token_s": 0.0,
    "request_s": 0.0,
    "drafts_s": 0.0,
}


def written(tmp_path, **changes):
    path = tmp_path / "costs.json"
    path.write_text(json.dumps({"identity": {"model": "m", "device": "a"}, "costs": COSTS} | changes))
    return str(path)


def test_what_was_written_is_read(tmp_path):
    calibration = Calibration.read(written(tmp_path))
    assert calibration.costs == Costs(**COSTS)
    assert calibration.differs({"model": "m", "device": "a"}) == []


def test_every_difference_is_named_with_both_values(tmp_path):
    calibration = Calibration.read(written(tmp_path))
    assert calibration.differs({"model": "m", "device": "b", "dtype": "float32"}) == [
        "device 'a', here 'b'",
        "dtype 'not said', here 'float32'",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"costs": None}, "costs"),
        ({"costs": COSTS | {"seconds": [1.0]}}, "differ in length"),
        ({"costs": COSTS | {"tokens": [8, 1]}}, "not ascending"),
        ({"costs": COSTS | {"seconds": [0.0, 1.0]}}, "not those of steps"),
        ({"costs": COSTS | {"tokens": [], "seconds": [], "steps": []}}, "costs.tokens"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_no_calibration_is_refused_in_one_line(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message) as refusal:
        Calibration.read(written(tmp_path, **changes))
    assert "is no file of `verispec calibrate`" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused():
    with pytest.raises(ValueError, match=r"/no/such\.json cannot be read: No such file"):
        Calibration.read("/no/such.json")
