"""What is asked in one call: which rubrics together, in which layout, with which way to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jurybox.errors import SetupError
from jurybox.fields import FIELDS
from jurybox.types import DUEL, Answer, Layout, Rubric

SheetLayout = Literal["classic", "shared", "form", "verbatim"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rubrics of one call. `fields` is the material shown, in reading order; empty for the summary alone. A digit
    that is `reasoned` stands at the end of written reasoning, not alone."""

    rubrics: tuple[Rubric, ...]
    layout: SheetLayout
    answer: Answer
    fields: tuple[str, ...]
    reasoned: bool = False

    @property
    def label(self) -> str:
        """The layout as signatures show it; the way to answer is named where it is not the layout's own."""
        if self.answer == "choice":
            return f"{DUEL}/{self.layout}"
        own = "form" if self.layout == "form" else "tag"
        if self.answer == own or (self.layout == "verbatim" and self.answer != "digit"):
            return self.layout
        return f"{self.layout}/{self.answer}+reasons" if self.reasoned else f"{self.layout}/{self.answer}"


def sheets(
    rubrics: Sequence[Rubric],
    layout: Layout | None = None,
    answer: Answer | None = None,
    *,
    otherwise: Layout = "classic",
    reasoned: bool = False,
) -> tuple[Sheet, ...]:
    """Group rubrics into calls.

    A prompt file is one call. Rubrics in layout `form` share one call. Every other rubric has its own. The layout is
    `layout` if it is given, else the rubric's own, else `otherwise`. `reasoned` asks for reasoning before a digit.
    """
    if reasoned and answer != "digit":
        raise SetupError("--reasons goes with --answer digit; the other ways to answer have reasoning anyway")
    groups: dict[str, list[Rubric]] = {}
    for rubric in rubrics:
        groups.setdefault(_group(rubric, layout or rubric.layout or otherwise), []).append(rubric)
    shared_fields = _fields([rubric for rubric in rubrics if rubric.template is None])
    return tuple(
        _sheet(tuple(group), layout or group[0].layout or otherwise, answer, shared_fields, reasoned)
        for group in groups.values()
    )


def _group(rubric: Rubric, layout: Layout) -> str:
    if rubric.template is not None:
        # A form asks for all its scores at once; a file of one score that is given two names is two calls.
        return f"template {rubric.digest}" if rubric.answer == "form" else f"rubric {rubric.name}"
    return "form" if layout == "form" else f"rubric {rubric.name}"


def _sheet(
    group: tuple[Rubric, ...], chosen: Layout, answer: Answer | None, shared_fields: tuple[str, ...], reasoned: bool
) -> Sheet:
    first = group[0]
    if first.template is not None:
        # The file's own words ask for reasoning and a tag; probabilities may be read where the score stands.
        by_digit = answer == "digit"
        if by_digit and first.answer == "form":
            raise SetupError(
                f"--answer digit reads one score a call, and the prompt file of '{first.name}' asks for several; "
                "leave it out for this file"
            )
        return Sheet(group, "verbatim", "digit" if by_digit else first.answer or "tag", _fields(group), by_digit)
    if answer in ("tag", "digit") and chosen == "form":
        raise SetupError(
            f"--answer {answer} gives one score a call, so it does not fit --layout form; use form or json, or another "
            "--layout"
        )
    way: Answer = answer or ("form" if chosen == "form" else "tag")
    return Sheet(group, chosen, way, shared_fields if chosen == "shared" else _fields(group), reasoned)


def _fields(rubrics: Sequence[Rubric]) -> tuple[str, ...]:
    wanted = {field for rubric in rubrics for field in rubric.inputs}
    return tuple(field for field in FIELDS if field in wanted)
