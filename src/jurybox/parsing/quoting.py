"""Which parts of an answer are quoted from somewhere else, and so are not the judge's own verdict."""

from __future__ import annotations

import re
from bisect import bisect_right

Span = tuple[int, int]

# Straight marks open after a blank or bracket and before text; any other place closes ('15.6"', 'users\'').
# A blockquote line and inline code are whole spans; a code fence and an escaped mark are consumed
# because they are no marks: a fenced answer is an answer.
MARK = re.compile(
    r"(?P<plain>`{3,}|~{3,}|\\[\"'])"
    r"|(?P<code>(?<!`)(?P<ticks>`{1,2})[^`\n]+(?P=ticks))"
    r"|(?P<block>^[ \t]{0,8}>[^\n]*)"
    r"|(?P<open>[“«「„]|(?<![^\s(\[{:*_—–-])\"(?![\s.,;:!?)\]]|$))"
    r"|(?P<close>[”»」\"])"
    r"|(?P<single_open>‘|(?<![^\s(\[:])'(?=\S))"
    r"|(?P<single_close>['’](?!\w))",
    re.MULTILINE,
)
BLOCKQUOTE = re.compile(r"^[ \t]{0,8}>", re.MULTILINE)
CLOSING_MARKS = "\"'`”’»」"


class Quotes:
    """The quoted parts of one text, worked out only when a place is asked about that may be quoted.

    Most verdicts end their answer, where no mark can close behind them: two cheap looks settle that.
    """

    __slots__ = ("_has_block", "_last_mark", "_spans", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_mark = max(map(text.rfind, CLOSING_MARKS))
        self._has_block = BLOCKQUOTE.search(text) is not None
        self._spans: list[Span] | None = None

    def cover(self, position: int) -> bool:
        """Whether the character at `position` is quoted."""
        if position > self._last_mark and not self._has_block:
            return False
        if self._spans is None:
            self._spans = quoted_spans(self._text)
        return is_within(self._spans, position)


def quoted_spans(text: str) -> list[Span]:
    """The quoted parts in order, without overlaps. One pass; a mark that is never closed quotes nothing."""
    spans: list[Span] = []
    opened = single_opened = -1
    for mark in MARK.finditer(text):
        kind = mark.lastgroup
        if kind in ("code", "block"):
            spans.append(mark.span())
        elif kind == "open":
            opened = mark.start()
        elif kind == "close" and opened >= 0:
            spans.append((opened, mark.end()))
            opened = -1
        elif kind == "single_open":
            single_opened = mark.start()
        elif kind == "single_close" and single_opened >= 0:
            # An apostrophe looks like a single mark, so these quote only within one line.
            if text.find("\n", single_opened, mark.start()) < 0:
                spans.append((single_opened, mark.end()))
            single_opened = -1
    return _merged(spans)


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def is_within(spans: list[Span], position: int) -> bool:
    index = bisect_right(spans, (position, float("inf"))) - 1
    return index >= 0 and position < spans[index][1]
