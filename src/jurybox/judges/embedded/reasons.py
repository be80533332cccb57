"""The stored evidence of one rubric as one to four sentences for a person.

Owns wording only: it quotes what `evidence` found, shortened, and adds no finding of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jurybox.judges.embedded.source import LISTS

_LONG = 110
_READS_WORDS = frozenset({"fluency", "coherence", "redundancy"})
_READS_SUPPORT = frozenset(
    {"faithfulness", "relevance", "contradiction", "extraneous_information", "perspective_misalignment", "specificity"}
)
_READS_THEMES = frozenset({"aspect_coverage", "omission", "relevance", "specificity", "sentiment_consistency"})
_READS_SENTIMENT = frozenset({"sentiment_consistency", "contradiction"})


_NAMES = {
    "slor": "how expected its words are after the source",
    "slor_low": "its least expected words",
    "glue": "the words that hold its sentences together",
    "unrepeated": "phrases not said twice",
    "self_similarity": "sentences unlike one another",
    "rarity": "uncommon words",
    "lead": "its words against their opposites and other numbers",
    "precision": "passages behind its sentences",
    "least_support": "the passage behind its weakest sentence",
    "topic": "being about what the source is about",
    "coverage": "passages that it covers",
    "piece_recall": "the source's words that it takes up",
    "piece_recall_low": "the seldom said half that it takes up",
    "sentiment_agreement": "feeling as the source feels",
    "founded": "numbers and names that the source has",
    "shared_words": "words shared with the source",
    "own_margin": "nearness to its own perspective's statements",
    "own_manner": "its own perspective's way of speaking",
}


def reason(evidence: Mapping[str, Any], rubric: str) -> str:
    """What the score rests on, most telling first."""
    said = [_strongest(evidence)]
    if rubric in _READS_SENTIMENT:
        said.append(_sentiment(evidence))
    if rubric in _READS_SUPPORT:
        said += [_flags(evidence), _rivals(evidence), _least(evidence)]
    if rubric in _READS_THEMES:
        said.append(_missed(evidence))
    if rubric in _READS_WORDS:
        said.append(_odd(evidence))
    said.append(_unread(evidence))
    return " ".join(sentence for sentence in said if sentence)[:1200]


def _strongest(evidence: Mapping[str, Any]) -> str:
    used = evidence.get("used") or {}
    if not used:
        return ""
    ordered = sorted(used.items(), key=lambda pair: pair[1])
    low, high = ordered[0], ordered[-1]
    return f"Weakest evidence: {_plain(low[0])} ({low[1]:+.1f} sd); strongest: {_plain(high[0])} ({high[1]:+.1f} sd)."


def _sentiment(evidence: Mapping[str, Any]) -> str:
    rows = evidence.get("sentiment_differs") or []
    if not rows:
        known = "sentiment" in evidence
        return "No sentence differs clearly in sentiment from the passages it speaks of." if known else ""
    worst = max(rows, key=lambda row: abs(row["summary"] - row["source"]))
    return f"Sentiment differs in {_quote(worst['text'])} ({worst['summary']:+.1f}, the source {worst['source']:+.1f})."


def _flags(evidence: Mapping[str, Any]) -> str:
    flags = evidence.get("flags") or []
    if not flags:
        return ""
    named = "; ".join(f"{flag['kind']}: {_quote(flag['text'])}" for flag in flags[:3])
    return f"Doubts: {named}."


def _rivals(evidence: Mapping[str, Any]) -> str:
    rows = evidence.get("rivals") or []
    if not rows:
        return ""
    worst = rows[0]
    return f"Where it says {_quote(worst['text'])}, the source makes {_quote(worst['likelier'])} likelier."


def _least(evidence: Mapping[str, Any]) -> str:
    row = evidence.get("least_supported")
    if not row:
        return ""
    best = row["support"]
    return (
        f"Least supported: {_quote(row['text'])}; nearest is {_place(best)} "
        f"{_quote(best['text'])} ({best['score']:.2f})."
    )


def _place(passage: Mapping[str, Any]) -> str:
    """Where a passage stands, counted from 1 as prompts and pages count: no. 3 of reviews; product title."""
    field = passage["field"].replace("_", " ")
    return f"no. {passage['index'] + 1} of {field}" if passage["field"] in LISTS else field


def _missed(evidence: Mapping[str, Any]) -> str:
    rows = evidence.get("missed_themes")
    if rows is None:
        return ""
    if not rows:
        count = evidence.get("themes", 0)
        return f"None of the {count} themes of the source is missed." if count else ""
    named = "; ".join(f"{_quote(row['text'])} ({row['share']:.0%})" for row in rows[:2])
    return f"Missed themes: {named}."


def _odd(evidence: Mapping[str, Any]) -> str:
    rows = [row for row in evidence.get("odd_words") or [] if row["text"]]
    return "Least expected words: " + ", ".join(_quote(row["text"]) for row in rows) + "." if rows else ""


def _unread(evidence: Mapping[str, Any]) -> str:
    read = evidence.get("read") or {}
    total, seen = read.get("passages", 0), read.get("prompt_passages_read", 0)
    if seen >= total:
        return ""
    return (
        f"Long source: the language model read {seen} of {total} passages, the comparison "
        f"{read.get('passages_read', 0)}."
    )


def _plain(name: str) -> str:
    return _NAMES.get(name, name)


def _quote(text: str) -> str:
    short = " ".join(text.split())
    return f"“{short if len(short) <= _LONG else short[: _LONG - 1] + '…'}”"
