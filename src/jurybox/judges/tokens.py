"""The probabilities of the scale's steps at the place of the score, out of the log-probabilities of a completion.

Pure functions on what servers send: OpenAI's `logprobs.content`, a list of tokens, each with its likeliest rivals. The
tokens are aligned with the text by their bytes; where the place cannot be told for certain there is no distribution.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jurybox.types import SCALE

Token = Mapping[str, Any]
Span = tuple[int, int]

# Marks that may stand around a score; a sign or a digit would make it another number.
_MARKS = r"[\s*_`\"'“”()\[\]]{0,9}"
_STEP = rf"{_MARKS}(?P<step>[1-5１-５]){_MARKS}(?:[/／]\s?[5５]|out of 5)?{_MARKS}[.。]?{_MARKS}"
_ONLY = re.compile(_STEP)
_TAG = re.compile(r"<\s{0,9}score\s{0,9}>([^<]{0,80})<\s{0,9}/\s{0,9}score\s{0,9}>", re.IGNORECASE)
_LABEL = re.compile(
    r"[^\w\n]{0,9}(?:[\w ]{0,40}\b)?(?:score|rating|grade)\b(?:[^\d\n]|\(1[^)\n]{1,8}5\)){0,60}?"
    rf"(?:[:：=–—-]|\bis\b){_STEP}",
    re.IGNORECASE,
)
_THINKING = re.compile(r"<\s{0,9}(/?)\s{0,9}(?:think(?:ing)?|reasoning|thought)\s{0,9}>|\[(/?)THINK\]", re.IGNORECASE)
# What may follow a step within its token without changing it: "4</", "4**", "4\n".
_ENDS = "<*\n "


def score_distribution(tokens: Sequence[Token], text: str, *, alone: bool = False) -> dict[int, float] | None:
    """The probability of each step at the place of the score, as found: what is missing to 1 went to other tokens.

    The place is the digit in the last complete `<score>` tag, else the one behind the label of the last line, else the
    whole completion; never one in the thinking. Where nothing but a digit was asked for (`alone`) and something else
    came, it is the first token: a digit might have come there. None when the place cannot be told.
    """
    if not tokens:
        return None
    span = score_span(text)
    if span is None:
        return _at_first_token(tokens, text) if alone else None
    pieces = [_bytes(token) for token in tokens]
    found = _align(b"".join(pieces), text, span)
    return None if found is None else _at(tokens, pieces, found)


def scale_of(tokens: Iterable[Token]) -> dict[int, float]:
    """The probability of each step: "4", " 4" and "４" all say 4. What other tokens have is nobody's."""
    return _scale_of((_plain(token["token"]), token["logprob"]) for token in tokens)


def score_span(text: str) -> Span | None:
    """Where in a completion the one digit stands that is its score."""
    answer = _without_thinking(text)
    if answer is None:
        return None
    tags = [tag for tag in _TAG.finditer(answer) if any(map(str.isdigit, tag[1]))]
    if tags:
        step = _ONLY.fullmatch(answer, *tags[-1].span(1))
    else:
        start, end = len(answer) - len(answer.lstrip()), len(answer.rstrip())
        line = answer.rfind("\n", 0, end) + 1
        step = _ONLY.fullmatch(answer, start, end) or _LABEL.fullmatch(answer, line, end)
    return step.span("step") if step else None


def _without_thinking(text: str) -> str | None:
    """The text with its thinking blanked, so that places stay what they are; None while the thinking goes on."""
    opened = -1
    for mark in _THINKING.finditer(text):
        if mark[1] or mark[2]:
            start = max(opened, 0)  # a mark that nothing opened closes what the chat template opened
            text = text[:start] + " " * (mark.end() - start) + text[mark.end() :]
            opened = -1
        elif opened < 0:
            opened = mark.start()
    return None if opened >= 0 else text


def _at_first_token(tokens: Sequence[Token], text: str) -> dict[int, float] | None:
    first = next((token for token in tokens if _plain(token["token"])), None)
    if first is None or not text.strip() or not text.lstrip().startswith(_plain(first["token"])):
        return None  # the first token belongs to thinking that the server keeps apart
    return scale_of(_rivals(first))


def _align(whole: bytes, text: str, span: Span) -> Span | None:
    """Where the digit stands in the bytes of all tokens.

    The text is their end, but for thinking before it, special tokens behind it and blanks that the server cut off. If
    it is not found (some servers spell a character that is split over tokens as �), its last line is looked for.
    """
    digit = text[slice(*span)].encode()
    for start in (len(text) - len(text.lstrip()), text.rfind("\n", 0, span[0]) + 1, text.rfind("<", 0, span[0])):
        if not 0 <= start <= span[0]:
            continue
        place = whole.rfind(text[start:].rstrip().encode("utf-8", "surrogatepass"))
        if place >= 0:
            place += len(text[start : span[0]].encode("utf-8", "surrogatepass"))
            return place, place + len(digit)
    return None


def _at(tokens: Sequence[Token], pieces: Sequence[bytes], digit: Span) -> dict[int, float] | None:
    """The distribution over the token that ends the digit. Others in its place count if they are of the same shape:
    for ">4" those are ">3" and "> 5", and for the last byte of "４" the last bytes of its sisters."""
    index, start = 0, 0
    while start + len(pieces[index]) < digit[1]:
        start += len(pieces[index])
        index += 1
    end = start + len(pieces[index])
    whole = b"".join(pieces)
    before = whole[digit[0] : start]  # bytes of the digit that came with earlier tokens
    head = _normal(whole[start : digit[0]]).lstrip()
    tail = _normal(whole[digit[1] : end]).rstrip()
    rivals = _rivals(tokens[index])
    if len(rivals) < 2:
        return None  # no rival was sent: the probability of the one that came is no distribution
    return _scale_of((_step(_normal(before + _bytes(rival)), head, tail), rival["logprob"]) for rival in rivals)


def _step(said: str, head: str, tail: str) -> str:
    """The digit that a token says in the place of another with this head and tail; an empty text if it says none."""
    said = said.lstrip()
    if not said.startswith(head):
        return ""
    said = said[len(head) :].lstrip()
    rest = said[1:]
    return said[:1] if not rest or rest[0] in _ENDS or rest.rstrip() == tail else ""


def _rivals(token: Token) -> list[Token]:
    """The likeliest tokens in this place, and the one that came if it is not among them."""
    rivals: list[Token] = list(token.get("top_logprobs") or ())
    if all(_bytes(rival) != _bytes(token) for rival in rivals):
        rivals.append(token)
    return rivals


def _scale_of(said: Iterable[tuple[str, Any]]) -> dict[int, float]:
    steps = {str(step): step for step in SCALE}
    found = dict.fromkeys(SCALE, 0.0)
    for text, logprob in said:
        step = steps.get(text)
        if step is not None and logprob is not None:
            found[step] += math.exp(min(float(logprob), 0.0))
    return found


def _bytes(token: Token) -> bytes:
    spelled = token.get("bytes")
    return bytes(spelled) if spelled is not None else _word(token["token"]).encode("utf-8", "surrogatepass")


def _word(text: str) -> str:
    """A token as text; some servers leave the blanks as their vocabulary spells them."""
    return text.replace("▁", " ").replace("Ġ", " ").replace("Ċ", "\n")


def _normal(spelled: bytes) -> str:
    return unicodedata.normalize("NFKC", spelled.decode("utf-8", "replace"))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", _word(text)).strip()
