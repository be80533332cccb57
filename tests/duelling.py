"""Summaries that say how good they are, and a server that judges pairs of them by a rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from server import Answer, JudgeServer, Request, completion

Rule = Callable[[int, int], int]
_SHOWN = re.compile(r"<summary_([12])-(\d+)>\n.*?quality (\d+).*?</summary_\1-\2>", re.DOTALL)


def qualities(request: Request) -> tuple[int, int]:
    """How good the two summaries of a request are, as they say of themselves."""
    (_, _, first), (_, _, second) = _SHOWN.findall(request.user)
    return int(first), int(second)


def honest(first: int, second: int) -> int:
    return 0 if first == second else 1 if first > second else 2


def saying(choice: int | str) -> Answer:
    return completion(f"I read both and counted.\nBetter- <choice>{choice}</choice>")


def judge_by(server: JudgeServer, rule: Rule) -> None:
    server.plan = lambda request: saying(rule(*qualities(request)))


def source(number: int, **systems: int) -> dict[str, Any]:
    """A source whose summaries say how good they are."""
    texts = {name: f"Text {number} {name} of quality {quality}." for name, quality in systems.items()}
    return {"id": f"p{number}", "summaries": texts, "reviews": [f"Review {number}."]}


# Six wins for b, two for a, two ties.
RECORDS = [source(n, a=1, b=3) for n in range(6)] + [source(n, a=3, b=1) for n in (6, 7)]
RECORDS += [source(n, a=2, b=2) for n in (8, 9)]
