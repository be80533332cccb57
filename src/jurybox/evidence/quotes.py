"""Quotations in a reason: between quotation marks of the usual kinds, or in block quotes.

Each kind has one pattern. From an opening mark it reads on to the next mark of its kind and never back, so a reason of
nothing but quotation marks is read in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_WORDS = 3
# For scripts that put no spaces between words.
MIN_CHARACTERS = 12
# A longer passage between two marks is a forgotten mark, not a quotation.
MAX_CHARACTERS = 2000
MAX_QUOTES = 50
_SHORTEST = 2 * MIN_WORDS - 1

# Where a quotation leaves something out, or goes on to the next line of a block quote.
BREAKS = re.compile(r"\s*+(?:[\[(]\s*(?:…|\.{3,})\s*[\])]|…|\.{3,})\s*|[ \t]*+\n\s*")

_MARKS = ('"', "'", ">", "“", "„", "«", "»", "‘", "「", "『")


def _up_to(marks: str) -> str:
    """Everything before the next of these marks or the end of the paragraph."""
    return rf"(?P<__>[^{marks}\n]*+(?:\n(?![ \t]*\n)[^{marks}\n]*+)*+)"


# Every pattern begins with its mark and looks back from there: `re` then leaps from mark to mark.
_KINDS = (
    f"“{_up_to('“”')}”",
    f"„{_up_to('„“”')}[“”]",
    f"«{_up_to('«»')}»",
    f"»{_up_to('«»')}«",
    f"「{_up_to('「」')}」",
    f"『{_up_to('『』')}』",
    # 5" is inches: an opening mark follows no letter or digit, and a closing one is followed by none.
    rf'"(?<![A-Za-z0-9]")(?=\S){_up_to(chr(34))}(?<=\S)"(?![A-Za-z0-9])',
    # An apostrophe stands inside a word, or before a shortened one ('tis, '90s), or after a plural's s.
    r"‘(?=\S)(?P<__>[^‘’\n]*+(?:’(?=\w)[^‘’\n]*+)*+)’(?!\w)",
    r"'(?:(?<=[\s(\[:;,—–-]')|(?<=^'))(?=\S)(?!\d0s\b|tis\b|twas\b|em\b|til\b|cause\b|n\b)"
    r"(?P<__>[^'\n]*+(?:(?<=\w)'(?=\w)[^'\n]*+)*+)(?<=\S)'(?!\w)",
    r">(?:(?<=^>)|(?<=^ >)|(?<=^  >)|(?<=^   >))(?P<block>[^\n]*+(?:\n[ \t]{0,3}>[^\n]*+)*+)",
)
_QUOTATION = re.compile(
    "|".join(pattern.replace("<__>", f"<kind{number}>") for number, pattern in enumerate(_KINDS)), re.MULTILINE
)
_BLOCK_MARK = re.compile(r"^[ \t]{0,3}>[ \t]?", re.MULTILINE)


def find_quotes(reason: str) -> list[str]:
    """The passages a reason quotes, each once, in order; those too short to say anything are left out.

    An ellipsis stays in the passage; `locate` looks for the pieces around it.
    """
    if not any(mark in reason for mark in _MARKS):
        return []
    found: dict[str, None] = {}
    for passage in _passages(reason):
        if not _SHORTEST <= len(passage) <= MAX_CHARACTERS:
            continue
        quote = passage.strip()
        if long_enough(quote):
            found[quote] = None
            if len(found) == MAX_QUOTES:
                break
    return list(found)


def _passages(text: str) -> Iterator[str]:
    for match in _QUOTATION.finditer(text):
        kind = match.lastgroup
        assert kind is not None, "every kind of quotation is a named group"
        if kind != "block":
            yield match[kind]
        elif len(match[kind]) <= MAX_CHARACTERS:
            block = _BLOCK_MARK.sub("", match[kind])
            yield from _marked(block) or [block]


def _marked(block: str) -> list[str]:
    """Quotations inside a block quote, where it has marks of its own: > Review 3: "It leaks." """
    marked = [match[match.lastgroup] for match in _QUOTATION.finditer(block) if match.lastgroup not in (None, "block")]
    return [passage for passage in marked if long_enough(passage)]


def long_enough(quote: str) -> bool:
    """Whether finding the words somewhere would mean anything."""
    words = [word for word in quote.split() if any(map(str.isalnum, word))]
    return len(words) >= MIN_WORDS or max(map(len, words), default=0) >= MIN_CHARACTERS
