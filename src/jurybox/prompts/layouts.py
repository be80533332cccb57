"""The order of things in a prompt.

`classic` and `form`: task, criteria, scale, metric, material, steps, answer format.
`shared`: what all calls about an item have in common first and byte-identical, then the rubric, and the answer format
once more in a few words.
`verbatim`: a prompt file's own text with its placeholders filled, and not a byte of ours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from jurybox.fields import canonical_name, field_text
from jurybox.prompts import wording
from jurybox.prompts.duels import render_duel
from jurybox.prompts.fences import NOT_AVAILABLE, fenced
from jurybox.prompts.sheets import Sheet
from jurybox.types import Item, Prompt, Rubric


def render(sheet: Sheet, item: Item, note: str = "") -> Prompt:
    """The prompt that asks one sheet about one item; `note` tells the judge what it is not shown of the material."""
    if sheet.layout == "verbatim":
        return _verbatim(sheet, item, note)
    source = with_definition(item.source)
    if sheet.answer == "choice":
        return render_duel(sheet, item, source, note)
    mark, material, summary = fenced(sheet.fields, source, item.summary)
    notice = f"{wording.DATA_NOTICE.format(mark=mark)} {note}".rstrip()
    body = f"{notice}\n\n{material}\n{summary}" if material else f"{notice}\n\n{summary}"
    schema = wording.schema(sheet.rubrics) if sheet.answer == "json" else None
    before, after = _around(sheet)
    user = f"{before}{body}{after}"
    shared = len(before) + len(body) if sheet.layout == "shared" else 0
    return Prompt(user, wording.SYSTEM, shared, schema, _is_alone(sheet))


@cache
def _around(sheet: Sheet) -> tuple[str, str]:
    """What stands before and after the material; the same for every item."""
    rubrics = sheet.rubrics
    task, title = (wording.TASK_WITH_MATERIAL, "Material") if sheet.fields else (wording.TASK_SUMMARY_ALONE, "Summary")
    way = "tag" if sheet.reasoned else sheet.answer
    answer = _section("Answer", wording.answer_format(rubrics, way))
    # Steps are for working through in writing; a digit alone leaves no room for them.
    steps = () if _is_alone(sheet) else tuple(_steps(rubrics))
    if sheet.layout == "shared":
        reminder = wording.reminder(way)
        before = [
            _section("Task", task.format(what=wording.METRIC_TO_COME)),
            _section("Criteria", wording.criteria(())),
        ]
        before += [answer] if reminder else []
        after = [*_measures(sheet), *steps, _section("Answer", reminder) if reminder else answer]
    else:
        task = task.format(what=wording.what(rubrics))
        before = [_section("Task", task), _section("Criteria", wording.criteria(rubrics)), *_measures(sheet)]
        after = [*steps, answer]
    return "\n\n".join((*before, title, "")), "\n\n".join(("", *after))


def _is_alone(sheet: Sheet) -> bool:
    """Whether the answer is one digit and nothing else."""
    return sheet.answer == "digit" and not sheet.reasoned


def _measures(sheet: Sheet) -> Iterable[str]:
    for rubric in sheet.rubrics:
        yield _section(f"Scale of {rubric.title} ({rubric.target} is best)", wording.scale(rubric))
        yield _section("Metric", wording.metric(rubric, beside_material=bool(sheet.fields)))


def _steps(rubrics: tuple[Rubric, ...]) -> Iterable[str]:
    for rubric in rubrics:
        yield _section("Steps" if len(rubrics) == 1 else f"Steps for {rubric.title}", wording.steps(rubric))


def _section(title: str, text: str) -> str:
    return f"{title}\n\n{text}"


def _verbatim(sheet: Sheet, item: Item, note: str) -> Prompt:
    template = sheet.rubrics[0].template
    assert template is not None, "a verbatim sheet is made from a prompt file"
    source = with_definition(item.source)

    def value(name: str) -> str:
        field = canonical_name(name) or name
        if field in ("summary", "id", "system"):
            return str(getattr(item, field))
        found = source.get(field, item.metadata.get(name))
        # The file's own words stay as they are, so the note can only stand with the material.
        told = f"({note})\n" if note and isinstance(found, tuple) else ""
        return NOT_AVAILABLE if found is None else told + field_text(found)

    return Prompt(template.fill(value), template.system)


def with_definition(source: Any) -> Any:
    """The source with the built-in definition of its perspective, where it names one and defines none."""
    perspective = source.get("perspective")
    if perspective is None or "perspective_definition" in source:
        return source
    definition = perspectives().get(str(perspective).strip().upper())
    return source if definition is None else {**source, "perspective_definition": definition}


@cache
def perspectives() -> dict[str, str]:
    """The five perspectives with their built-in definitions."""
    return tomllib.loads(files("jurybox.prompts").joinpath("perspectives.toml").read_text("utf-8"))
