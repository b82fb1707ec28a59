"""Arms that differ in a few values: one entry with a grid instead of many entries."""

from itertools import product
from typing import Any

AXES = ("num_speculative_tokens", "drafter", "rule")
"""What a grid may vary, in the order in which the values stand in an arm's name."""


def expand(arms: dict[str, Any]) -> dict[str, Any]:
    """Each arm with a `grid` replaced by one arm for each combination: suffix → suffix-k4-block, …

    Raises:
        ValueError: the grid is no mapping of its axes to lists, or two arms would have one name.

    """
    expanded: dict[str, Any] = {}
    for name, arm in arms.items():
        grid = arm.get("grid") if isinstance(arm, dict) else None
        if grid is None:
            _add(expanded, str(name), arm)
            continue
        if not isinstance(grid, dict) or not grid or not all(isinstance(v, list) and v for v in grid.values()):
            raise ValueError(f"{name}: a grid is a mapping of axes to lists of values")
        if unknown := sorted(grid.keys() - set(AXES)):
            raise ValueError(f"{name}: the grid has no axis {unknown[0]!r}; it may have {', '.join(AXES)}")
        axes = [axis for axis in AXES if axis in grid]
        for values in product(*(grid[axis] for axis in axes)):
            point = dict(zip(axes, values, strict=True))
            _add(expanded, "-".join([str(name), *map(_label, axes, values)]), _at(arm, point))
    return expanded


def _add(arms: dict[str, Any], name: str, arm: Any) -> None:
    if name in arms:
        raise ValueError(f"{name}: two arms would have this name; rename one, or change its grid")
    arms[name] = arm


def _label(axis: str, value: Any) -> str:
    return f"k{value}" if axis == "num_speculative_tokens" else str(value).rpartition(".")[2].lower()


def _at(arm: dict[str, Any], point: dict[str, Any]) -> dict[str, Any]:
    settings = {axis: value for axis, value in point.items() if axis != "num_speculative_tokens"}
    single = {key: value for key, value in arm.items() if key != "grid"}
    if "num_speculative_tokens" in point:
        window = {"num_speculative_tokens": point["num_speculative_tokens"]}
        single["speculative"] = _mapping(single.get("speculative")) | window
    if settings:
        single["verispec"] = _mapping(single.get("verispec")) | settings
    return single


def _mapping(value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ValueError("beside a grid, speculative and verispec are mappings")
    return value or {}
