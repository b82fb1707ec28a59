"""Reads a scenario file; a mistake is reported with file, line, key and the nearest valid name."""

import difflib
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario.schema import Scenario, Setup, Verification
from verispec_bench.scenario.workloads import tag

Path_ = tuple[str | int, ...]
_TYPE = "Input should be a valid "
Kind = TypeVar("Kind", bound=Setup)


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario that is to be swept.

    Raises:
        UnusableInput: no such file, no YAML, or no valid scenario; one line for each mistake.

    """
    return _load(path, Scenario)


def load_verification(path: Path) -> Verification:
    """Read and check a scenario whose arms' exactness is to be tested.

    Raises:
        UnusableInput: as load_scenario.

    """
    return _load(path, Verification)


def load_setup(path: Path) -> Setup:
    """Read and check a scenario of either kind, for its servers.

    Raises:
        UnusableInput: as load_scenario.

    """
    return _load(path, Setup)


def _load(path: Path, kind: type[Kind]) -> Kind:
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except FileNotFoundError:
        near = sorted(p.stem for p in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
        raise UnusableInput(f"{path}: no such scenario file{_listing('; there is', near)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise UnusableInput(f"{path}{where}: not YAML: {getattr(error, 'problem', None) or error}") from error
    except ValueError as error:  # a date that is none, a number that is too long
        raise UnusableInput(f"{path}: holds an unreadable value: {error}") from error
    if not isinstance(data, dict):
        raise UnusableInput(f"{path}: a scenario is a mapping of keys to values")
    lines: dict[Path_, int] = {}
    repeated = _index_lines(root, (), lines)
    if repeated:
        raise UnusableInput(f"{path}:{repeated[1]}: key {repeated[0]!r} is given twice")
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        mistakes: dict[tuple[Path_, str], list[Any]] = {}
        for problem in error.errors():
            loc = _in_file(tuple(problem["loc"]), lines)
            # A value that is of none of its types is one mistake, not one for each type.
            kind_of_mistake = _TYPE if str(problem["msg"]).startswith(_TYPE) else str(problem)
            mistakes.setdefault((loc, kind_of_mistake), []).append(problem)
        raise UnusableInput("\n".join(_describe(path, lines, *same) for same in mistakes.values())) from error


def _index_lines(node: yaml.Node | None, at: Path_, lines: dict[Path_, int]) -> tuple[str, int] | None:
    """Fill {path of keys: line}; the first repeated key and its line, if any."""
    repeated = None
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*at, key.value)
            if inner in lines:
                return key.value, key.start_mark.line + 1
            lines[inner] = key.start_mark.line + 1
            repeated = repeated or _index_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for i, value in enumerate(node.value):
            lines[(*at, i)] = value.start_mark.line + 1
            repeated = repeated or _index_lines(value, (*at, i), lines)
    return repeated


def _describe(path: Path, lines: dict[Path_, int], problem: Any, *further: Any) -> str:
    loc = _in_file(tuple(problem["loc"]), lines)
    line = lines.get(loc)
    where = f"{path}:{line}" if line else str(path)
    if problem["type"] == "missing":
        loc = (*loc, problem["loc"][-1])
    key = ".".join(map(str, loc)) or "scenario"
    if problem["type"] == "extra_forbidden":
        valid = _valid_keys(tuple(problem["loc"])[:-1])
        near = difflib.get_close_matches(str(problem["loc"][-1]), valid, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else _listing("; valid here:", valid)
        return f"{where}: {key}: unknown key{hint}"
    if problem["type"] == "missing":
        return f"{where}: {key}: is required"
    message = str(problem["msg"]).removeprefix("Value error, ")
    message += "".join(f", or {other['msg'].removeprefix(_TYPE)}" for other in further)
    return f"{where}: {key}: {message[0].lower()}{message[1:]}"


def _in_file(loc: Path_, lines: dict[Path_, int]) -> Path_:
    """The keys of the file: where a value may have one of several types, pydantic names the type among them."""
    at: Path_ = ()
    for part in loc:
        if (*at, part) in lines:
            at = (*at, part)
    return at


def _valid_keys(at: Path_) -> list[str]:
    """Field names of the model that stands at a path of the schema; where there are several, its kind names one."""
    models: list[type[BaseModel]] = [Scenario]
    for part in at:
        field = models[0].model_fields.get(str(part))
        models = (_models_in(field.annotation) if field else []) or [m for m in models if _is_kind(m, part)] or models
    return list(models[0].model_fields)


def _is_kind(model: type[BaseModel], name: str | int) -> bool:
    kind = model.model_fields.get("kind")
    return kind is not None and name in [tag(value) for value in get_args(kind.annotation)]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]


def _listing(lead: str, names: list[str]) -> str:
    return f"{lead} {', '.join(names)}" if names else ""
