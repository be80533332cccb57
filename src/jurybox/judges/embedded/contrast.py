"""A summary against slightly damaged copies of itself, at no cost.

Owns two questions. At each number, quantity, time, word with an opposite and denial: given the source and the text so
far, is the word that stands there more expected than the word that would make the statement wrong (for a denial the one
after it, as if it were not denied)? And at every token: is it more expected than the one after it? Both sides are
compared in one place of one sentence, so topic, style and blandness cancel out. The lists of rival words are our own.
Refuses to speak where no such word stands.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.llama import LlamaScorer, Scored

Floats = NDArray[np.float32]
_LOW, _HIGH = -8.0, 4.0  # beyond four nats a word is simply right
_FREQUENCY = 0.5  # all of it makes every rare rival likelier, none of it every common one
_WORD = re.compile(r"\s*([A-Za-z]+)")

_SETS = """
two three four five six seven eight nine ten eleven twelve twenty thirty fifty hundred
always often sometimes rarely never
first second third fourth fifth
Monday Tuesday Wednesday Thursday Friday Saturday Sunday
January February March April May June July August September October November December
day days week weeks month months year years hour hours minute minutes
today tomorrow yesterday
"""
_OPPOSITES = """
all/none all/few most/few most/none many/few many/none several/none some/none more/less
better/worse best/worst good/bad great/poor excellent/terrible high/low higher/lower highest/lowest
easy/difficult easily/hardly large/small big/small wide/narrow long/short longer/shorter fast/slow quickly/slowly
quick/slow loud/quiet light/heavy tight/loose soft/hard warm/cold hot/cold strong/weak cheap/expensive
positive/negative comfortable/uncomfortable satisfied/disappointed pleased/disappointed happy/unhappy love/hate
loved/hated like/dislike liked/disliked praise/criticize praised/criticized increase/decrease increases/decreases
increased/decreased reduce/increase reduces/increases improve/worsen improves/worsens improved/worsened before/after
with/without above/below inside/outside up/down new/old newest/oldest safe/dangerous common/rare harmless/harmful
true/false accurate/inaccurate sturdy/flimsy durable/fragile smooth/rough bright/dim clean/dirty free/expensive
early/late start/end begin/end included/excluded includes/excludes include/exclude only/also internal/external
limited/unlimited exclusive/public well/poorly beautiful/ugly nice/ugly perfect/useless recommend/avoid
recommends/avoids appreciate/dislike enjoy/dislike enjoyed/disliked empty/full same/different thin/thick works/fails
worked/failed is/isn are/aren was/wasn can/cannot does/doesn do/don has/hasn have/haven will/won would/wouldn
could/couldn
"""

_DENIALS = frozenset({"not", "'t", "never", "no", "without"})


def _rivals() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in _SETS.split("\n"):
        for word in line.split():
            found[word] |= set(line.split()) - {word}
    for pair in _OPPOSITES.split():
        first, second = pair.split("/")
        found[first].add(second)
        found[second].add(first)
    return {word: frozenset(rivals) for word, rivals in found.items()}


RIVALS = _rivals()


@dataclass(frozen=True)
class Contrast:
    """One place: what stands there, its best rival, and by how much the first is more expected."""

    start: int
    end: int
    text: str
    rival: str
    lead: float


class Contrasts:
    """Asks a language model; keeps the token numbers of the rival words."""

    def __init__(self, model: LlamaScorer, log_unigram: Floats) -> None:
        self._model = model
        self._log_unigram = log_unigram
        self._digits = {str(d): model.tokenize(str(d))[0] for d in range(10)}
        self._first: dict[str, int] = {}

    def find(self, text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]], scored: Scored) -> list[Contrast]:
        """Every place of `text` (as encoded) where a rival word could stand."""
        return [
            self._compare(scored, position, ids[position], span, rivals)
            for position, span, rivals in self._places(text, ids, offsets[: len(scored.log_probabilities)])
        ]

    def needed(self, ids: Sequence[int], scored: Scored) -> Floats:
        """By how much each token is more expected than the one after it, the last one than those are in the mean; nan
        where the two are the same."""
        here = np.asarray(ids)
        own, rivals = scored.log_probabilities, self._model.following(scored, ids)
        rivals = rivals - _FREQUENCY * self._log_unigram[here[1:]]
        rivals = np.append(rivals, rivals.mean() if len(rivals) else 0.0)
        lead = own - _FREQUENCY * self._log_unigram[here] - rivals
        return np.where(here == np.append(here[1:], -1), np.nan, lead).astype(np.float32)

    def _places(
        self, text: str, ids: Sequence[int], offsets: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, tuple[int, int, str], dict[str, int]]]:
        for position, (start, end) in enumerate(offsets):
            piece = text[start:end]
            if piece.strip() in self._digits:
                rivals = {d: token for d, token in self._digits.items() if token != ids[position]}
                yield position, (start, end, piece.strip()), rivals
                continue
            span = _word_at(text, start, end)
            word = span[2]
            rivals = {rival: token for rival, token in self._tokens(word) if token != ids[position]}
            if word.lower() in _DENIALS and position + 1 < len(offsets):
                rivals[text[slice(*offsets[position + 1])].strip()] = ids[position + 1]
            if rivals:
                yield position, span, rivals

    def _tokens(self, word: str) -> Iterator[tuple[str, int]]:
        key = word if word in RIVALS else word.lower()
        for rival in sorted(RIVALS.get(key, ())):
            form = rival if word == key else rival.capitalize()
            if form not in self._first:
                self._first[form] = self._model.tokenize(" " + form)[0]
            yield rival, self._first[form]

    def _compare(
        self, scored: Scored, position: int, own: int, span: tuple[int, int, str], rivals: dict[str, int]
    ) -> Contrast:
        tokens = list(rivals.values())
        theirs = self._model.alternatives(scored, position, tokens) - _FREQUENCY * self._log_unigram[tokens]
        best = int(theirs.argmax())
        lead = float(scored.log_probabilities[position] - _FREQUENCY * self._log_unigram[own] - theirs[best])
        start, end, word = span
        return Contrast(start, end, word, list(rivals)[best], max(_LOW, min(_HIGH, lead)))


def _word_at(text: str, start: int, end: int) -> tuple[int, int, str]:
    """The word that begins with this token, or "'t", with its place; empty in the middle of a word."""
    match = _WORD.match(text, start)
    if match and (text[start].isspace() or text[start - 1 : start].isspace()):
        return match.start(1), match.end(1), match.group(1)
    return start, end, text[start:end] if text[start:end] == "'t" else ""


def mean_lead(found: Sequence[Contrast]) -> float | None:
    """The average over all places, None where there is none."""
    return float(np.mean([contrast.lead for contrast in found])) if found else None
