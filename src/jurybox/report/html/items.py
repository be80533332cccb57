"""One item to read: its source with what judges quote from it, its summary, and every verdict with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from jurybox.evidence import find_quotes, locate
from jurybox.fields import FIELDS, entries
from jurybox.report.html.heat import Column
from jurybox.report.html.passages import Piece, pieces, reason_pieces
from jurybox.store import RunReader, ratings_of, rubric_bodies
from jurybox.types import DIRECT, Item, Judgment, Quote, Review

# Characters of source material that one item may take on a page; quotations are shown beyond it.
ROOM = 9_000
LEAST_ENTRY = 300


@dataclass(frozen=True, slots=True)
class Entry:
    """One text of a field; `label` is its number in a list, or its rating."""

    label: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """One field of the source. `left_out` counts entries that are not shown here."""

    title: str
    entries: tuple[Entry, ...]
    is_list: bool
    left_out: int


@dataclass(frozen=True, slots=True)
class Opinion:
    """One judge on one rubric: the mean of its scored samples, each sample's score, and one sample's reason.

    `status` is that of the sample shown; `people` are the ratings of the item on the rubric."""

    column: Column
    judge: str
    score: float | None
    scores: tuple[float | None, ...]
    status: str
    reason: tuple[Piece, ...]
    absent: int
    people: tuple[float, ...]
    partial: bool

    @property
    def people_mean(self) -> float | None:
        return sum(self.people) / len(self.people) if self.people else None


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as it is read."""

    id: str
    system: str
    material: tuple[Material, ...]
    summary: tuple[Piece, ...]
    opinions: tuple[Opinion, ...]

    @property
    def partial(self) -> bool:
        """Whether a judge saw only a part of the material."""
        return any(opinion.partial for opinion in self.opinions)


def item_view(
    reader: RunReader,
    id_: str,
    system: str,
    known: Mapping[str, Column],
    judges: Sequence[str],
    room: int | None = ROOM,
) -> ItemView:
    """An item with the opinions of these judges. `room` bounds the characters of its source; None shows all of it."""
    item = stored_item(reader, id_, system)
    samples = [one for one in reader.judgments((id_, system)) if one.judge in judges]
    order = {rubric: place for place, rubric in enumerate(known)}
    samples.sort(key=lambda one: (order.get(one.rubric, len(order)), judges.index(one.judge)))  # samples keep theirs
    bodies = rubric_bodies(reader)
    computed = {
        (rubric, judge): bodies[rubric]
        for (rubric, judge), signature in reader.signatures().items()
        if signature.layout == DIRECT
    }
    shown = {id(one): _quotes(one, item, computed) for one in _shown_samples(samples)}
    quotes = [quote for found in shown.values() for quote in found]
    people = ratings_of(reader, id_, system)
    opinions = tuple(
        _opinion(list(group), shown, known, people)
        for _, group in groupby(samples, key=lambda one: (one.rubric, one.judge))
    )
    summary = pieces(item.summary, _spans(quotes, "summary", None))
    return ItemView(id_, system, tuple(_material(item.source, quotes, room)), summary, opinions)


def stored_item(reader: RunReader, id_: str, system: str) -> Item:
    """An item as it was judged: what the store keeps as JSON in the shapes that the rest of jurybox knows."""
    found = reader.item(id_, system)
    source = {
        name: FIELDS[name].normalise(value) if name in FIELDS else value for name, value in found["source"].items()
    }
    return Item(id_, system, found["summary"], source)


def _shown_samples(samples: Iterable[Judgment]) -> list[Judgment]:
    """The sample whose reason is shown, of each judge and rubric: the first that is scored, else the first."""
    groups = (list(group) for _, group in groupby(samples, key=lambda one: (one.rubric, one.judge)))
    return [_told(group) for group in groups]


def _told(group: Sequence[Judgment]) -> Judgment:
    return next((one for one in group if one.verdict.score is not None), group[0])


def _quotes(judgment: Judgment, item: Item, computed: Mapping[tuple[str, str], Mapping[str, Any]]) -> tuple[Quote, ...]:
    """What was located when it was judged. Reasons that a judge computed are looked at only here."""
    body = computed.get((judgment.rubric, judgment.judge))
    if judgment.quotes or body is None:
        return judgment.quotes
    own = [body.get("title", ""), body.get("question", ""), body.get("definition", "")]
    return locate(find_quotes(judgment.verdict.reason), item, [*own, *body.get("scale", ()), *body.get("steps", ())])


def _opinion(
    group: Sequence[Judgment],
    shown: Mapping[int, Sequence[Quote]],
    known: Mapping[str, Column],
    people: Mapping[str, Mapping[str, float]],
) -> Opinion:
    told = _told(group)
    quotes = shown[id(told)]
    scores = tuple(one.verdict.score for one in group)
    scored = [score for score in scores if score is not None]
    return Opinion(
        known.get(told.rubric, Column(told.rubric, told.rubric, "")),
        told.judge,
        sum(scored) / len(scored) if scored else None,
        scores,
        told.verdict.status,
        reason_pieces(told.verdict.reason, quotes),
        sum(quote.field is None for quote in quotes),
        tuple(people.get(told.rubric, {}).values()),
        told.shown is not None,
    )


def _spans(quotes: Iterable[Quote], field: str, index: int | None) -> list[tuple[int, int]]:
    return [
        (quote.start, quote.end)
        for quote in quotes
        if quote.field == field and quote.index == index and quote.start is not None and quote.end is not None
    ]


def _material(source: Mapping[str, Any], quotes: Sequence[Quote], room: int | None) -> Iterable[Material]:
    left = room
    for name, value in source.items():
        found = _field(name, value, quotes, left)
        if left is not None:
            left = max(left - sum(len(one.text) for entry in found.entries for one in entry.pieces), LEAST_ENTRY)
        yield found


def _field(name: str, value: Any, quotes: Sequence[Quote], room: int | None) -> Material:
    title = FIELDS[name].title if name in FIELDS else name
    texts = _texts(value)
    if isinstance(texts, str):
        return Material(title, (Entry("", pieces(texts, _spans(quotes, name, None), room)),), False, 0)
    kept: list[Entry] = []
    used = left_out = 0
    for number, (label, text) in enumerate(texts):
        spans = _spans(quotes, name, number)
        if room is not None and used > room and not spans:
            left_out += 1
            continue
        entry = Entry(f"{number + 1}{label}", pieces(text, spans, None if room is None else max(room - used, 0)))
        used += sum(len(one.text) for one in entry.pieces)
        kept.append(entry)
    return Material(title, tuple(kept), True, left_out)


def _texts(value: Any) -> str | list[tuple[str, str]]:
    """A field's text, or a label and a text for each entry of a list; offsets of quotes refer to these texts."""
    if isinstance(value, list | tuple) and all(isinstance(entry, Review) for entry in value):
        return [("" if one.rating is None else f" · rated {one.rating:g}", one.text) for one in value]
    shown = entries(value)
    return shown if isinstance(shown, str) else [("", text) for text in shown]
