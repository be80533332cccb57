"""What all entries speak of, counted: the table that stands for entries too many to show.

Every entry is counted, so the table has the majorities that a search for passages would bend. An aspect is a content
word or a pair of neighbouring ones; it counts once an entry, however often the entry repeats it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jurybox.language import no_aspects, sentences, stem, tone, words
from jurybox.material.room import Count, DoesNotFit, as_shown
from jurybox.types import Review

MOST_ASPECTS = 40
# A pair stands for its rarer word if it covers at least this share of its entries, and replaces the word at the other.
PAIR_SHARE, COVERS = 0.5, 0.8
# Below this many entries, what one alone says is an aspect too.
FEW_ENTRIES = 10
_TYPICAL_WORDS = range(4, 26)
# A "sentence" longer than this is text without full stops, and no example of anything.
_EXAMPLE_WORDS = 60

Entry = Review | str


@dataclass(slots=True)
class Aspect:
    """One thing spoken of: the sentences that name it, by entry, and how it is spelt."""

    sentences: dict[int, tuple[int, int]] = field(default_factory=dict)
    spellings: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return min(self.spellings, key=lambda spelling: (-self.spellings[spelling], spelling))


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entries feel which way."""

    positive: int
    negative: int
    of: int


def table(values: Sequence[Entry], one: str, many: str, room: int, count: Count) -> tuple[list[str], tuple[int, ...]]:
    """The rows that fit, the most frequent aspects first, and the entries that they quote."""
    texts = [value.text if isinstance(value, Review) else value for value in values]
    feelings = [_feeling(value) for value in values]
    rows = [_heading(values, feelings, many)]
    used = count(as_shown(1, rows[0]))
    if used > room:
        raise DoesNotFit(f"a table of the {many}", used, room)
    quoted: set[int] = set()
    for aspect in _frequent(_aspects(texts), len(texts)):
        row, entry = _row(aspect, texts, feelings, one, many)
        used += count(as_shown(len(rows) + 1, row))
        if used > room:
            break
        rows.append(row)
        if entry is not None:
            quoted.add(entry)
    return rows, tuple(sorted(quoted))


def _aspects(texts: Sequence[str]) -> dict[str, Aspect]:
    found: defaultdict[str, Aspect] = defaultdict(Aspect)
    for entry, text in enumerate(texts):
        for at in sentences(text):
            for key, spelling in _named(words(text[at[0] : at[1]])):
                aspect = found[key]
                if entry not in aspect.sentences:
                    aspect.sentences[entry] = at
                    aspect.spellings[spelling] += 1
    return found


def _named(found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Content words and pairs of neighbouring ones: how they are counted, and how they are written."""
    empty = no_aspects()
    before: tuple[str, str] | None = None
    for word in found:
        head = word.replace("’", "'").partition("'")[0]  # it's, I've
        if word in empty or head in empty or word.isdigit() or (len(head) < 3 and word.isascii()):
            before = None
            continue
        here = (stem(word), word)
        yield here
        if before and before[0] != here[0]:
            yield f"{before[0]} {here[0]}", f"{before[1]} {here[1]}"
        before = here


def _frequent(aspects: dict[str, Aspect], entries: int) -> list[Aspect]:
    least = 1 if entries < FEW_ENTRIES else 2
    size = {key: len(aspect.sentences) for key, aspect in aspects.items() if len(aspect.sentences) >= least}
    pairs = {key for key in size if " " in key and size[key] >= PAIR_SHARE * min(size[part] for part in key.split())}
    replaced = {part for key in pairs for part in key.split() if size[key] >= COVERS * size[part]}
    kept = [key for key in size if key in pairs or (" " not in key and key not in replaced)]
    kept.sort(key=lambda key: (-size[key], key))
    return [aspects[key] for key in kept[:MOST_ASPECTS]]


def _feeling(value: Entry) -> int:
    """1, 0 or -1: by the stars where there are any, else by the words."""
    if isinstance(value, Review) and value.rating is not None:
        return (value.rating >= 4) - (value.rating <= 2)
    balance = tone(words(value.text if isinstance(value, Review) else value))
    return (balance > 0) - (balance < 0)


def _tally(feelings: Iterable[int]) -> Tally:
    counts = Counter(feelings)
    return Tally(counts[1], counts[-1], counts.total())


def _heading(values: Sequence[Entry], feelings: Sequence[int], many: str) -> str:
    tally = _tally(feelings)
    text = f"Counted over all {tally.of:,} {many}: {tally.positive:,} positive, {tally.negative:,} negative"
    ratings = [value.rating for value in values if isinstance(value, Review) and value.rating is not None]
    if not ratings:
        return f"{text}, by their words."
    stars = Counter(min(max(round(rating), 1), 5) for rating in ratings)
    shown = ", ".join(f"{step}: {stars[step]:,}" for step in (5, 4, 3, 2, 1))
    mean = sum(ratings) / len(ratings)
    return f"{text}. Stars: {shown}; without stars: {len(values) - len(ratings):,}; mean {mean:.2f}."


def _row(aspect: Aspect, texts: Sequence[str], feelings: Sequence[int], one: str, many: str) -> tuple[str, int | None]:
    """`beep: in 412 of 1,240 reviews; …`, and the number of the entry it quotes."""
    overall = _tally(feelings[entry] for entry in aspect.sentences)
    tones = {entry: tone(words(texts[entry][start:end])) for entry, (start, end) in aspect.sentences.items()}
    nearby = _tally((value > 0) - (value < 0) for value in tones.values())
    text = (
        f"{aspect.name}: in {overall.of:,} of {len(texts):,} {many}; of these {overall.positive:,} positive and "
        f"{overall.negative:,} negative as a whole, {nearby.positive:,} and {nearby.negative:,} in the sentence that "
        f"names it."
    )
    entry = _typical(aspect, texts, feelings, overall)
    if entry is None:
        return text, None
    start, end = aspect.sentences[entry]
    return f"{text} {one} {entry + 1}: {texts[entry][start:end]}", entry


def _typical(aspect: Aspect, texts: Sequence[str], feelings: Sequence[int], overall: Tally) -> int | None:
    """An entry of the majority's feeling whose sentence is of ordinary length: the median one, else the shortest."""
    major = (overall.positive > overall.negative) - (overall.positive < overall.negative)
    lengths = {entry: len(texts[entry][start:end].split()) for entry, (start, end) in aspect.sentences.items()}
    candidates = [entry for entry in lengths if feelings[entry] == major] or list(lengths)
    candidates.sort(key=lambda entry: (lengths[entry], entry))
    usual = [entry for entry in candidates if lengths[entry] in _TYPICAL_WORDS]
    if usual:
        return usual[len(usual) // 2]
    return candidates[0] if lengths[candidates[0]] <= _EXAMPLE_WORDS else None
