"""What every kind of damage asks of a text: its sentences, what its source says, and where something can be put in.

Nothing here draws or decides; `taken` alone uses chance, in the one way that makes a larger dose contain a smaller one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from jurybox.fields import entries
from jurybox.language import no_aspects, seems_english, sentences, stem, word_list, words
from jurybox.perturb.change import Edit, Place
from jurybox.perturb.vocabulary import known, listed
from jurybox.types import Item

Candidate = TypeVar("Candidate")
_ENDED = re.compile(r"[.!?。！？…][\"'”’)\]]*$")
_VOWEL = re.compile(r"(?:[aeio]|u(?!n[aeiou]|s[aeiu])|hour|honest|8|11(?!\d)|18(?!\d))", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(an?)\s+$", re.IGNORECASE)


class Sentence(NamedTuple):
    """A sentence and where it stands."""

    start: int
    end: int
    text: str

    @property
    def ended(self) -> bool:
        """Whether it ends as a sentence does, so that another may follow."""
        return _ENDED.search(self.text) is not None


def sentences_of(text: str) -> list[Sentence]:
    return [Sentence(start, end, text[start:end]) for start, end in sentences(text)]


def source_texts(item: Item, *fields: str) -> list[str]:
    """Every entry of the source's fields, or of the named ones alone."""
    found: list[str] = []
    for name, value in item.source.items():
        if not fields or name in fields:
            shown = entries(value)
            found += [shown] if isinstance(shown, str) else shown
    return found


def source_text(item: Item) -> str:
    return "\n".join(source_texts(item))


def stems(text: str) -> set[str]:
    """What a text speaks about: its words without endings, and without those that name nothing."""
    return {stem(word) for word in words(text) if word not in no_aspects() and len(word) > 2}


def all_stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}


def taken(place: Place, candidates: Iterable[Candidate]) -> list[Candidate] | None:
    """As many as the dose asks for, or None; the order does not depend on the dose, so larger doses contain smaller."""
    pool = list(candidates)
    place.rng.shuffle(pool)
    return pool[: place.dose] if len(pool) >= place.dose else None


def put_in(place: Place, additions: Sequence[str], *, last: bool = True) -> list[Edit] | None:
    """The first additions of the dose, each an English sentence after some sentence; `last` allows the end of the
    text."""
    if not seems_english(place.text):
        return None
    spots = [sentence.end for sentence in sentences_of(place.text) if sentence.ended]
    if not last and len(spots) > 1:
        spots.pop()
    chosen = [place.rng.choice(spots) for _ in additions] if spots else []
    if len(chosen) < place.dose:
        return None
    return [Edit(at, at, f" {text}") for at, text in list(zip(chosen, additions, strict=True))[: place.dose]]


def narrowed(sentence: Sentence, new: str) -> Edit:
    """The edit that makes the sentence the new one and names no word that both begin or end with."""
    old_words, new_words = re.findall(r"\s*\S+", sentence.text), re.findall(r"\s*\S+", new)
    most = min(len(old_words), len(new_words))
    same = (old == fresh for old, fresh in zip(old_words, new_words, strict=False))
    head = next((number for number, equal in enumerate(same) if not equal), most)
    ends = zip(reversed(old_words), reversed(new_words), strict=False)
    tail = next((number for number, (old, fresh) in enumerate(ends) if old != fresh), most)
    tail = min(tail, most - head)
    start = sentence.start + len("".join(old_words[:head]))
    end = sentence.end - len("".join(old_words[len(old_words) - tail :]))
    return Edit(start, end, "".join(new_words[head : len(new_words) - tail]))


def left_out(text: str, dropped: set[int]) -> list[Edit]:
    """Edits that delete whole sentences with the white space that parted them from the next."""
    spans = sentences_of(text)
    kept = [number for number in range(len(spans)) if number not in dropped]
    edits = []
    for number in sorted(dropped):
        if number + 1 < len(spans) and (not kept or number < kept[-1]):
            edits.append(Edit(spans[number].start, spans[number + 1].start, ""))
        else:
            edits.append(Edit(spans[number - 1].end if number else 0, spans[number].end, ""))
    return edits


def replaced(text: str, change: Callable[[str], str | None]) -> list[Edit]:
    """Each word of the text that `change` has another word for, in its case, with the article that fits."""
    edits: list[Edit] = []
    for match in re.finditer(r"[^\W\d_]+(?:-[^\W\d_]+)*", text):
        new = change(match[0].lower())
        if new is not None:
            edits += with_article(text, Edit(match.start(), match.end(), like(match[0], new)))
    return edits


def like(old: str, new: str) -> str:
    """The new word with the old one's capital."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


def with_article(text: str, edit: Edit) -> list[Edit]:
    """The edit, and an edit of the article before it where that no longer fits."""
    article = _ARTICLE.search(text, 0, edit.start)
    if article is None:
        return [edit]
    right = like(article[1], "an" if starts_with_vowel(edit.text) else "a")
    if right == article[1]:
        return [edit]
    return [Edit(article.start(1), article.end(1), right), edit]


def starts_with_vowel(word: str) -> bool:
    return _VOWEL.match(word) is not None


def lowered(sentence: str, context: str) -> str | None:
    """The sentence as it would go on after a comma, or None when its first word may be a name."""
    found = re.match(r"[^\W\d_]+", sentence)
    if found is None or found[0] == "I" or (found[0].isupper() and len(found[0]) > 1):
        return None
    word = found[0].lower()
    plain = word in word_list("stop") | known("people") | known("person")
    if not plain and not re.search(rf"(?<![\w'’-]){re.escape(word)}(?![\w])", context):
        return None
    return word + sentence[found.end() :]


def hangs(sentence: str) -> bool:
    """Whether the sentence begins with a word that leans on the one before it: however, it, others."""
    return re.match(rf"(?:{'|'.join(listed('links'))})\b", sentence, re.IGNORECASE) is not None


def is_health(item: Item) -> bool:
    """Whether the item's source is people's answers to a question."""
    return bool(item.source.get("answers") or item.source.get("input_spans"))
