"""Setting a reasoning model's thinking apart from its answer."""

from __future__ import annotations

import re

# <think>, <thinking>, <reasoning>, <thought> and Magistral's [THINK]. White space is bounded so that a
# megabyte of "<    " costs a bounded number of steps a character.
THINKING = re.compile(
    r"<\s{0,9}(?P<close>/?)\s{0,9}(?P<name>think(?:ing)?|reasoning|thought)\s{0,9}>|\[(?P<bracket_close>/?)THINK\]",
    re.IGNORECASE,
)


def set_thinking_apart(text: str) -> tuple[str | None, str]:
    """The answer without thinking (None if thinking never ends), and what a `<reasoning>` block held.

    A closing mark without an opening one closes what the chat template opened: all before it is thinking.
    """
    if THINKING.search(text) is None:
        return text, ""
    kept: list[str] = []
    reasoning = ""
    opened, position = False, 0
    for mark in THINKING.finditer(text):
        closes = bool(mark["close"] or mark["bracket_close"])
        if not closes and not opened:
            kept.append(text[position : mark.start()])
            opened, position = True, mark.end()
        elif closes:
            if not opened:
                kept.clear()
            elif (mark["name"] or "").lower() == "reasoning":
                reasoning = text[position : mark.start()].strip()
            opened, position = False, mark.end()
    if opened:
        return None, ""
    kept.append(text[position:])
    return "".join(kept), reasoning
