"""The source of a summary as one flat list of documents and passages.

Owns how any mix of source fields (product, reviews, a description alone, health answers)
becomes text that models can read, and the bounds on how much they read. Whatever is left
unread is counted and said (`Reading`); nothing is cut in silence. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jurybox.judges.embedded.sentences import sentences, words

VOICES = ("reviews", "input_spans", "answers")  # what a summary has to cover, first found
MOST_PASSAGES = 400
_LABELS = {
    "product_title": "Product",
    "description": "Description",
    "key_features": "Features",
    "specifications": "Specifications",
    "average_rating": "Average rating",
    "product_ugc_summary": "Earlier summary",
    "reviews": "Reviews",
    "question": "Question",
    "answers": "Answers",
    "input_spans": "Statements",
}


@dataclass(frozen=True)
class Document:
    """One text of the source: a review, an answer, a feature."""

    field: str
    index: int
    text: str
    rating: float | None = None


@dataclass(frozen=True)
class Passage:
    """One sentence of a document; `text == document.text[start:end]`."""

    document: int
    field: str
    index: int
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Reading:
    """How much of the source the models read."""

    documents: int
    passages: int
    passages_read: int
    prompt_passages_read: int = 0


@dataclass(frozen=True)
class Source:
    """Documents, the passages read, and which documents are voices to be covered."""

    documents: tuple[Document, ...]
    passages: tuple[Passage, ...]
    voice_field: str
    perspective: str
    definition: str
    reading: Reading

    def is_voice(self, passage: Passage) -> bool:
        return not self.voice_field or passage.field == self.voice_field

    @property
    def text(self) -> str:
        return "\n".join(document.text for document in self.documents)


def read_source(source: Mapping[str, Any]) -> Source:
    """Flattens the known fields; unknown and empty ones are passed over."""
    documents = tuple(d for d in _documents(source) if words(d.text))
    fields = {d.field for d in documents}
    voice_field = next((field for field in VOICES if field in fields), "")
    every = [list(_passages(i, d)) for i, d in enumerate(documents)]
    read = take_evenly(every, MOST_PASSAGES)
    total = sum(map(len, every))
    return Source(
        documents,
        tuple(read),
        voice_field,
        str(source.get("perspective") or "").strip().upper(),
        str(source.get("perspective_definition") or "").strip(),
        Reading(len(documents), total, len(read)),
    )


def take_evenly(groups: Sequence[Sequence[Passage]], most: int) -> list[Passage]:
    """First passages first, all documents alike, until `most`; kept in source order."""
    if sum(map(len, groups)) <= most:
        return [passage for group in groups for passage in group]
    chosen: list[tuple[int, int]] = []
    for depth in range(max(map(len, groups))):
        turn = [document for document, group in enumerate(groups) if depth < len(group)]
        room = most - len(chosen)
        if len(turn) > room:  # the last turn: every n-th document, from all over the source
            turn = [turn[i * len(turn) // room] for i in range(room)]
        chosen += [(document, depth) for document in turn]
        if len(chosen) >= most:
            break
    return [groups[document][depth] for document, depth in sorted(chosen)]


def prompt(source: Source, passages: Sequence[Passage]) -> str:
    """The passages as the text that a language model reads before the summary."""
    lines: list[str] = []
    label, document = "", -1
    for passage in passages:
        text = " ".join(passage.text.split())
        if passage.field != label:
            label = passage.field
            lines.append(f"{_LABELS[label]}:" if label in LISTS else f"{_LABELS[label]}: {text}")
            if label in LISTS:
                lines.append(f"- {text}")
        elif passage.document != document:
            lines.append(f"- {text}")
        else:
            lines[-1] += f" {text}"
        document = passage.document
    return "\n".join(lines)


LISTS = frozenset({"key_features", "specifications", "reviews", "answers", "input_spans"})


def _documents(source: Mapping[str, Any]) -> Iterator[Document]:
    for field in ("product_title", "description"):
        if source.get(field):
            yield Document(field, 0, str(source[field]))
    for index, text in enumerate(_texts(source.get("key_features"))):
        yield Document("key_features", index, text)
    for index, text in enumerate(_specifications(source.get("specifications"))):
        yield Document("specifications", index, text)
    for field in ("average_rating", "product_ugc_summary", "question"):
        if source.get(field):
            yield Document(field, 0, str(source[field]))
    for index, entry in enumerate(_entries(source.get("reviews"))):
        yield Document("reviews", index, *_review(entry))
    for field in ("answers", "input_spans"):
        for index, text in enumerate(_texts(source.get(field))):
            yield Document(field, index, text)


def _entries(value: Any) -> Sequence[Any]:
    if value is None or value == "":
        return ()
    return value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def _texts(value: Any) -> list[str]:
    return [_review(entry)[0] for entry in _entries(value)]


def _review(entry: Any) -> tuple[str, float | None]:
    if not isinstance(entry, Mapping):
        return str(entry), None
    rating = entry.get("rating")
    return str(entry.get("text") or ""), float(rating) if isinstance(rating, int | float) else None


def _specifications(value: Any) -> Iterator[str]:
    """`key: value` lines of either shape: groups of pairs, or a mapping."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, Mapping):
                yield from _specifications(inner)
            else:
                yield f"{key}: {_joined(inner)}"
        return
    for group in _entries(value):
        if not isinstance(group, Mapping):
            yield str(group)
        elif "values" in group:
            yield from _specifications(group["values"])
        else:
            yield f"{group.get('key', '')}: {_joined(group.get('value', ''))}"


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)


def _passages(index: int, document: Document) -> Iterator[Passage]:
    for span in sentences(document.text):
        yield Passage(index, document.field, document.index, span.start, span.end, span.text)
