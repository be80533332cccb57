"""What stands around a tag in an answer: its line, the statement it belongs to, the reasoning that leads up to it."""

from __future__ import annotations

import re

from jurybox.parsing.reasons import tidy

# How far around a tag its line is looked at. A bound keeps a one-line megabyte of tags linear.
NEAR = 100
# Marks at the edges of a text that are no part of it.
EDGES = " \t\r\n*_#`"
# Two tags belong to one statement unless a line or a sentence ends between them.
_STATEMENT_END = re.compile(r"\n|[.!?;][\s*)]")
_MARKUP_ONLY = re.compile(r"[\s*_#`.!>|-]*")


def line_before(text: str, position: int) -> str:
    return text[max(0, position - NEAR) : position].rpartition("\n")[2]


def stands_alone(text: str, tag: re.Match[str]) -> bool:
    """Whether nothing but markup is on the tag's line."""
    after = text[tag.end() : tag.end() + NEAR].partition("\n")[0]
    before = line_before(text, tag.start())
    return _MARKUP_ONLY.fullmatch(before) is not None and _MARKUP_ONLY.fullmatch(after) is not None


def in_one_statement(text: str, first: re.Match[str], last: re.Match[str], joined: re.Pattern[str]) -> bool:
    """Whether two tags are said in one breath; `joined` are words that join them across lines, a lone "or"."""
    if last.start() - first.end() > NEAR:
        return False
    between = text[first.end() : last.start()]
    return _STATEMENT_END.search(between) is None or joined.fullmatch(between) is not None


def reason_around(text: str, start: int, end: int, label: re.Pattern[str]) -> str:
    """What precedes the verdict without its label; what follows if the verdict comes first."""
    before = text[:start].rstrip(EDGES + "\"'[")
    last_line = before[max(0, len(before) - NEAR) :].rpartition("\n")[2]
    found = label.search(last_line)
    if found:
        before = before[: len(before) - len(last_line) + found.start()]
    return tidy(before) or tidy(text[end:].lstrip(" \t.:!–—-"))
