"""The shape of a rubric's TOML file, checked with pydantic: unknown keys and wrong types are errors.

A room of its own because pydantic costs 65 ms of CPU to load, and only files of users need it: the built-in ones are
checked by the tests.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from jurybox.errors import RubricError, unknown_name
from jurybox.fields import FIELDS
from jurybox.types import SCALE, Layout

Text = Annotated[str, Field(min_length=1)]
_INPUTS = ("summary", *FIELDS)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, str_strip_whitespace=True)


class _Inputs(_Strict):
    required: list[Text] = ["summary"]
    any_of: list[Text] = []
    optional: list[Text] = []


class _RubricFile(_Strict):
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    title: Text | None = None
    version: Annotated[int, Field(ge=1)]
    pack: list[Text] = []
    question: Text
    definition: Text
    scale: dict[Literal["1", "2", "3", "4", "5"], Text]
    steps: Annotated[list[Text], Field(min_length=1)]
    inputs: _Inputs
    target: Literal[1, 5]
    citation: Text | None = None
    layout: Layout | None = None

    @field_validator("pack", mode="before")
    @classmethod
    def _one_pack(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


def refuse_wrong_shape(document: dict[str, Any], name: str) -> None:
    """Raise a `RubricError` that names every wrong key of the file."""
    try:
        parsed = _RubricFile.model_validate(document)
    except ValidationError as exc:
        raise RubricError(f"{name}: {_plainly(exc)}") from exc
    missing = [str(step) for step in SCALE if str(step) not in parsed.scale]
    if missing:
        raise RubricError(f"{name}: scale has no label for {', '.join(missing)}; every step 1-5 needs one")
    for field in (*parsed.inputs.required, *parsed.inputs.any_of, *parsed.inputs.optional):
        if field not in _INPUTS:
            raise RubricError(f"{name}: inputs: {unknown_name('field', field, _INPUTS)}")
    if "summary" not in parsed.inputs.required:
        raise RubricError(f"{name}: inputs: 'summary' must be among the required fields")


def _plainly(exc: ValidationError) -> str:
    """pydantic's findings as one sentence each, with the key's path."""
    found = []
    for error in exc.errors(include_url=False):
        where, key = ".".join(str(part) for part in error["loc"] if part != "[key]"), str(error["loc"][-1])
        if error["type"] == "extra_forbidden":
            known = _Inputs.model_fields if error["loc"][0] == "inputs" else _RubricFile.model_fields
            found.append(("inputs: " if known is _Inputs.model_fields else "") + unknown_name("key", key, known))
        elif error["type"] == "missing":
            found.append(f"key '{where}' is missing")
        else:
            found.append(f"key '{where}': {error['msg'][0].lower()}{error['msg'][1:]}")
    return "; ".join(found)
