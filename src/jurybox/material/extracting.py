"""What a rubric needs of material that is too long to show.

A rubric that checks statements needs the passages nearest to them. A rubric that weighs what most people say needs
counts over all entries: passages found by a summary's words would confirm whatever the summary says. A rubric of the
summary alone needs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from jurybox.material.aspects import Entry, table
from jurybox.material.passages import nearest_passages
from jurybox.material.room import LONG_FIELDS, Count, estimate_tokens, overflow
from jurybox.material.shown import WHOLE, Part, Shown, Way
from jurybox.types import Item, Review, Rubric

Need = Literal["passages", "counts", "nothing"]

# Words in the names of rubrics that weigh what most people say.
_WEIGHING = frozenset(("coverage", "sentiment", "relevance", "omission", "specificity"))


def need_of(rubric: Rubric) -> Need:
    """What a rubric needs of the source. One that we do not know checks statements."""
    if rubric.template is None and rubric.inputs == ("summary",):
        return "nothing"
    return "counts" if _WEIGHING & set(rubric.name.lower().replace("-", "_").split("_")) else "passages"


def extract(
    item: Item, rubrics: Sequence[Rubric], fields: Sequence[str], room: int, count: Count = estimate_tokens
) -> tuple[Item, Shown]:
    """The item with what the rubrics of one call need of its long fields, within `room` tokens for all `fields`.

    Rubrics of both kinds in one call share the room in halves. Where all fits, all is shown.
    """
    too_much = overflow(item, fields, room, count)
    if too_much is None:
        return item, WHOLE
    needs = {need_of(rubric) for rubric in rubrics} - {"nothing"}
    source = dict(item.source)
    parts: dict[str, Part] = {}
    for field, allowed in too_much.shares().items():
        if allowed >= sum(too_much.costs[field]):
            continue
        entries, parts[field] = _shortened(field, item, needs, allowed, count)
        if entries:
            source[field] = entries
        else:
            del source[field]
    note = " ".join(_note(field, part) for field, part in parts.items())
    return replace(item, source=source), Shown("extract", parts, note)


def _shortened(
    field: str, item: Item, needs: Iterable[Need], room: int, count: Count
) -> tuple[tuple[Entry, ...], Part]:
    values: Sequence[Entry] = item.source[field]
    one, many = LONG_FIELDS[field]
    needs = set(needs)
    share = room // max(len(needs), 1)
    entries: list[Entry] = []
    shown: set[int] = set()
    if "counts" in needs:
        rows, quoted = table(values, one, many, share, count)
        entries += [Review(row) if field == "reviews" else row for row in rows]
        shown.update(quoted)
    if "passages" in needs:
        texts = [value.text if isinstance(value, Review) else value for value in values]
        passages = nearest_passages(texts, item.summary, one, share, count)
        entries += [_like(values[number], text) for number, text in passages.items()] or [
            _like(values[0], f"None of the {len(values):,} {many} has a word in common with the summary.", stars=False)
        ]
        shown.update(passages)
    way: Way = "passages and counts" if len(needs) == 2 else next(iter(needs), "nothing")
    return tuple(entries), Part(way, tuple(sorted(shown)), len(values))


def _like(value: Entry, text: str, *, stars: bool = True) -> Entry:
    return Review(text, value.rating if stars else None) if isinstance(value, Review) else text


def _note(field: str, part: Part) -> str:
    one, many = LONG_FIELDS[field]
    if part.way == "nothing":
        return f"The {part.of:,} {many} are not shown; what you are asked needs the summary alone."
    counts = (
        f"The {part.of:,} {many} are too many to show. You see a table of what all of them speak of: in how many each "
        "thing is named, how many of these are positive or negative (by their stars, else by their words), and one "
        "example each; what it does not list is named more rarely."
    )
    passages = (
        f"Of {part.of:,} {many} you see the passages that come nearest to the statements of the summary, each with the "
        f"number of its {one}; all were searched, and the rest comes less near. How many passages you see says nothing "
        f"about how many {many} agree."
    )
    return {"counts": counts, "passages": passages}.get(part.way, f"{counts} After the table: {passages}")
