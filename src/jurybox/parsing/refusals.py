"""Telling a refusal from an answer that merely has no score."""

from __future__ import annotations

import re

# A refusal stands at the head of an answer; the same words far inside are the judge's reasoning.
HEAD = 300

_UNABLE = r"(?:can['’]?t|cannot|can not|won['’]t|will not|(?:['’]m |am |be )?(?:unable|not able|not comfortable))"
# "cannot find any support" is reasoning, so the verb must be one of answering or judging.
_TASK = (
    r"(?:assist|help|rate|evaluate|score|judge|comply|continue|fulfil|engage|assess|answer|discuss|grade"
    r"|(?:provide|assign|give|offer|complete|produce) (?:a |an |any |this |that |the |you )?"
    r"(?:\w+ )?(?:score|rating|evaluation|assessment|request|answer|judg\w+))"
)
REFUSAL = re.compile(
    rf"\b(?:sorry|apologi[sz]e|apologies|afraid)\b[^.!?\n]{{0,80}}?\b{_UNABLE}"
    rf"|\bI ?{_UNABLE}\b[^.!?\n]{{0,30}}?\b{_TASK}"
    rf"|\bI(?:['’]d| would) (?:rather|prefer) not\b|\bI (?:must|have to) (?:decline|refuse)\b"
    rf"|\bI (?:decline|refuse) to\b|\bI do(?:n['’]t| not) feel comfortable\b"
    rf"|\bas an AI\b[^.!?\n]{{0,120}}?\b(?:{_UNABLE}|do not|don['’]t|rather not)\b",
    re.IGNORECASE,
)

# One or two sentences of at most 240 characters are enough to say how it refused.
SENTENCES = re.compile(r"\s*((?:[^.!?\n]{1,200}[.!?]+){1,2}|[^\n]{1,240})")


def is_refusal(text: str) -> bool:
    return REFUSAL.search(text.lstrip()[:HEAD]) is not None


def first_sentences(text: str) -> str:
    """How a refusal begins, for the verdict's reason."""
    found = SENTENCES.match(text.lstrip()[:400])
    return found[1].strip() if found else ""
