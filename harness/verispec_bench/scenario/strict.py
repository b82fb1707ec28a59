"""What the sections of a scenario file have in common: unknown keys are refused, and nothing changes once read."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


def distinct(values: list[Any]) -> list[Any]:
    """The values, unless one is given twice."""
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    if repeated:
        raise ValueError(f"{repeated[0]} is given twice")
    return values


Distinct = AfterValidator(distinct)


class Strict(BaseModel):
    """Refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)
