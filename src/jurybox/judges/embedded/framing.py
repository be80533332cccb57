"""What of a text is the summary, and how it reads without its dress.

Owns the line between a summary and words about it ("Here is the summary you asked for.", "It should be noted that"),
which state nothing that a source could bear out, and the plain form of marks: curly quotes, long dashes, list marks and
invisible characters are no evidence for or against a text. Takes away nothing that says anything about the matter.
"""

from __future__ import annotations

import re
import unicodedata

from jurybox.judges.embedded.sentences import Span, sentences, words

_MOST_WORDS, _MOST_LETTERS = 16, 200  # a longer sentence is hardly a mere frame
_GREETING = r"(?:(?:sure|certainly|of course|absolutely|thank you|thanks)\b[^.!?:;]*[,;.!:]\s*)?"
_SUMMARY = r"(?:summary|summaries|overview|recap)"
# What a summary may be said to be of; a clause of its own might state something.
_OF = r"(?:(?!\b(?:that(?!\s+you)|which|who|and|but|because|while)\b)[^.!?:])*"
_BEFORE = re.compile(
    rf"\s*{_GREETING}(?:"
    rf"(?:here\s+(?:is|are|comes)|here['’]s|below\s+(?:is|are)|please\s+find|you\s+will\s+find)\b{_OF}\b{_SUMMARY}\b{_OF}"
    rf"|(?:the|your|my|a)\s+{_SUMMARY}\s+(?:follows|is\s+below|that\s+you\s+asked\s+for)"
    rf"|[#*\s]*{_SUMMARY}[*\s]*(?=[:\n])"
    r")(?:[.!:]+[*]*\s+|\n\s*)",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"^(?:(?:i|we)\s+hope\b.*\b(?:help\w*|useful|of\s+use|what\s+you)\b"
    r"|(?:please\s+)?(?:let\s+me|let\s+us|feel\s+free)\b.*\b(?:know|ask|reach)\b"
    r"|(?:thank\s+you|thanks)\s+for\s+(?:reading|asking|your)\b)",
    re.IGNORECASE,
)
# A clause of these alone announces a statement and makes none. Whoever says it must be nobody: "some say that" stays.
_SAYING = r"not(?:e|ed|ing)|say|said|mention(?:ed|ing)?|add(?:ed)?|stress(?:ed)?|stated?|emphasi[sz]ed?|observed?|put"
_MAY = r"can|could|may|might|must|should|will|is"
_ELSE = r"it|one|we|what|be|to|also|here|now|at|this|point|down|out|in|as|far|the|matter|hand|goes|worth|important"
_ANNOUNCED = re.compile(
    rf"(?:(?<=[.!?]\s)|^)((?:(?:{_SAYING}|{_MAY}|{_ELSE})\b,?\s+){{2,14}})that,?\s+(\w)", re.IGNORECASE
)
_SAYS, _MIGHT = (re.compile(rf"\b(?:{part})\b", re.IGNORECASE) for part in (_SAYING, _MAY))
_LISTED = re.compile(r"(?m)^[ \t]*(?:[-*•·–]|\d{1,2}[.)])[ \t]+(\S.*?)[ \t]*$")
_MARKS = str.maketrans("‘’‚‛“”„‟–—−", "''''\"\"\"\"---")
_TIGHT_DASH = re.compile(r"(?<=\S)—(?=\S)")
_ENDED = re.compile(r"[.!?…:;][\"'”’)\]*]*$")


def body(text: str) -> Span:
    """The summary itself: the text without a frame before and after it; the whole text where nothing else is left."""
    found = _BEFORE.match(text[:_MOST_LETTERS])
    start = found.end() if found and len(words(found[0])) <= _MOST_WORDS else 0
    end = len(text)
    for last in reversed(sentences(text)):
        if last.start < start or len(words(last.text)) > _MOST_WORDS or not _AFTER.match(last.text):
            break
        end = last.start
    if not words(text[start:end]):
        start, end = 0, len(text)
    return Span(start, end, text[start:end])


def stated(text: str) -> str:
    """The text without clauses that only announce what comes ("It should be noted that")."""
    return _ANNOUNCED.sub(_without_announcement, text)


def _without_announcement(found: re.Match[str]) -> str:
    return found[2].upper() if _SAYS.search(found[1]) and _MIGHT.search(found[1]) else found[0]


def plain(text: str) -> str:
    """The text on one line, in plain marks and ended, nothing announced: a full stop where it has none tells by how
    unexpected it is whether the text breaks off."""
    seen = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    prose = _LISTED.sub(lambda entry: _ended(entry[1]), seen)
    return _ended(stated(" ".join(_TIGHT_DASH.sub(" - ", prose).translate(_MARKS).split())))


def _ended(text: str) -> str:
    return text if _ENDED.search(text) else f"{text}."
