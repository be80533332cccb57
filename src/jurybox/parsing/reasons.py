"""Cutting a reasoning cleanly out of an answer's markup."""

from __future__ import annotations

import re

OPENING_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[a-z]*[ \t]*\n")
# Rules, headings and fences that separate one part of an answer from the next.
DIVIDER = re.compile(r"\n[ \t]*(?:-{3,}|#{1,6}[^\n]*|`{3,})[ \t]*(?=\n|\Z)")
# Marks left hanging where a label was cut off: "… altogether. **", "…\n- ". Marks that close a word stay.
HANGING = re.compile(r"(?:(?:^|(?<=\s))[*_#`>|(\[\"'•-]{1,9}|\s)+$")
# A dangling mark lies near the end; a bound keeps the search linear.
NEAR = 60


def tidy(text: str) -> str:
    """The reasoning without the fence that opens it and the marks that hang at its end; "" if no word is left."""
    fence = OPENING_FENCE.match(text)
    text = text[fence.end() if fence else 0 :].strip()
    tail = HANGING.search(text, max(0, len(text) - NEAR))
    text = text[: tail.start()] if tail else text
    return text if any(map(str.isalnum, text)) else ""
