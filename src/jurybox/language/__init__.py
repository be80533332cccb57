"""Sentences, words and tone of judged text, by rules that fit on a page.

Made for finding and counting, not for understanding: words are cut to rough stems, scripts without spaces are read in
pairs of characters, and the tone of a text is the balance of some 180 English words
(`words.toml`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

_SENTENCE = re.compile(r"[^.!?。！？\n]*+(?:[.!?](?![\s\"'”’)\]]|$)[^.!?。！？\n]*+)*+[.!?。！？…\"'”’)\]]*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SUFFIXES = ("ingly", "edly", "ings", "ing", "ies", "ied", "ed", "es", "ly", "s")

# The least share of plain Latin letters in English; names and loans bring the others.
_LATIN = 0.9
# How far a negation reaches: "not a very good".
_REACH = 3


def sentences(text: str) -> list[tuple[int, int]]:
    """Offsets of the sentences; what stands between them is white space."""
    found = []
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        start = match.start() + len(sentence) - len(sentence.lstrip())
        end = start + len(sentence.strip())
        if end > start:
            found.append((start, end))
    return found


def words(text: str) -> list[str]:
    """Lower-case words; a run of a script without spaces becomes its pairs of characters."""
    found = _WORD.findall(text.lower())
    if text.isascii() or not _SPACELESS.search(text):
        return found
    return [part for word in found for part in _pairs(word)]


def _pairs(word: str) -> Iterable[str]:
    if len(word) < 3 or not _SPACELESS.search(word):
        return (word,)
    return (word[at : at + 2] for at in range(len(word) - 1))


def stem(word: str) -> str:
    """The word without its ending, roughly: charge, charges, charged and charging are one."""
    if not word.isascii() or len(word) < 4:
        return word
    word = word.partition("'")[0]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            word = word[: -len(suffix)]
            break
    return word.rstrip("eiy") if len(word) > 3 else word


def tone(found: Iterable[str]) -> int:
    """Above zero if more of the words please than displease; a negation turns the words that follow it."""
    positive, negative, negations = word_list("positive"), word_list("negative"), word_list("negations")
    balance, since_negation = 0, _REACH
    for word in found:
        value = (word in positive) - (word in negative)
        balance += -value if since_negation < _REACH else value
        negates = word in negations or word.endswith(("n't", "n’t"))
        since_negation = 0 if negates else since_negation + 1
    return balance


def seems_english(text: str, latin: float = _LATIN) -> bool:
    """Whether it reads as English: at least such a share of plain Latin letters, and signs of English outweigh those of
    other languages. A few words without any sign may well be English."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(map(str.isascii, letters)) < latin * len(letters):
        return False
    said = words(text)
    english, other = word_list("english"), word_list("other_languages")
    return sum(word in english for word in said) >= sum(word in other for word in said)


@cache
def word_list(name: str) -> frozenset[str]:
    """One of the lists in `words.toml`: stop, positive, negative, negations, english, other_languages."""
    import tomllib

    return frozenset(tomllib.loads(files("jurybox.language").joinpath("words.toml").read_text("utf-8"))[name].split())


@cache
def no_aspects() -> frozenset[str]:
    """Words that name nothing one can have an opinion about: they join others, or they are the opinion."""
    return word_list("stop") | word_list("positive") | word_list("negative") | word_list("negations")
