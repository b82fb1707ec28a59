"""From the name of a drafter in the settings to the object."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from verispec.drafting.proposal import Drafter, DrafterError

DRAFTERS = {
    "suffix": "verispec.drafting.suffix.SuffixDrafter",
    "stochastic-suffix": "verispec.drafting.stochastic_suffix.StochasticSuffixDrafter",
    "ngram": "verispec.drafting.ngram.NGramDrafter",
    "combined": "verispec.drafting.combined.CombinedDrafter",
    "probe": "verispec.drafting.probe.ProbeDrafter",
}
"""By path, because they need numba, which must not be imported before the worker is up (verispec.compiled)."""


def make_drafter(name: str, options: Mapping[str, Any]) -> Drafter:
    """Build a drafter by its short name, or by the import path of a class: "package.module.Class".

    Raises:
        DrafterError: no such drafter, or it refuses the options.
        Exception: whatever its module or its constructor raises beside (it could not be loaded).

    """
    factory = _import_class(DRAFTERS.get(name, name))
    try:
        inspect.signature(factory).bind(**options)
    except TypeError as error:
        raise DrafterError(f"drafter_options of {name!r}: {error}") from error
    try:
        drafter = factory(**options)
    except DrafterError as error:
        raise DrafterError(f"drafter_options of {name!r}: {error}") from error
    missing = [method for method in ("propose", "forget") if not callable(getattr(drafter, method, None))]
    if missing:
        raise DrafterError(f"drafter {name!r} has no method {' and no method '.join(missing)}")
    return drafter


def _import_class(path: str) -> Callable[..., Drafter]:
    module_name, _, class_name = path.rpartition(".")
    if not module_name:
        raise DrafterError(f"drafter {path!r} is none of {', '.join(DRAFTERS)} and no import path of a class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module is there: something that it needs is not
        raise DrafterError(f"drafter {path!r} cannot be imported: {error}") from error
    if not hasattr(module, class_name):
        raise DrafterError(f"drafter {path!r} cannot be imported: {module_name} has no {class_name}")
    return getattr(module, class_name)  # type: ignore[no-any-return]
