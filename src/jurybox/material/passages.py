"""The passages of many entries that are nearest to each statement of a summary.

Sentences are ranked by BM25 (Robertson and Zaragoza 2009, with k1 = 1.2 and b = 0.75); each comes with the neighbour
that is nearer to the statement. The statement that has been given least so far chooses next, so each gets its share.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jurybox.language import sentences, stem, word_list, words
from jurybox.material.room import Count, DoesNotFit, as_shown

K1, B = 1.2, 0.75
# More than these are never needed: a judge that reads forty passages on one statement has read enough.
BEST = 40
# As long as the numbers of most entries.
_NUMBER = 1234


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's entry and offsets in it; up to `next` there is white space."""

    entry: int
    start: int
    end: int
    next: int


class Index:
    """All sentences of all entries, with the terms that the statements ask for."""

    def __init__(self, texts: Sequence[str], asked: frozenset[str]) -> None:
        self.sentences = [each for entry, text in enumerate(texts) for each in _sentences(entry, text)]
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        for number, each in enumerate(self.sentences):
            found = words(texts[each.entry][each.start : each.end])
            self._lengths.append(len(found))
            for term, times in Counter(filter(asked.__contains__, map(stem, found))).items():
                self._postings[term].append((number, times))
        self._mean_length = sum(self._lengths) / max(len(self._lengths), 1) or 1.0

    def scores(self, terms: frozenset[str]) -> dict[int, float]:
        """Sentence number -> BM25, for the sentences that share a term."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in sorted(terms):  # sorted: sums of floats depend on their order
            postings = self._postings.get(term, [])
            rarity = math.log(1 + (len(self.sentences) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, times in postings:
                length = 1 - B + B * self._lengths[number] / self._mean_length
                scores[number] += rarity * times * (K1 + 1) / (times + K1 * length)
        return scores

    def nearest(self, terms: frozenset[str]) -> list[tuple[int, ...]]:
        """The best sentences, best first, each with the better of its neighbours in the same entry."""
        scores = self.scores(terms)
        best = heapq.nsmallest(BEST, scores, key=lambda number: (-scores[number], number))
        return [self._with_neighbour(number, scores) for number in best]

    def _with_neighbour(self, number: int, scores: dict[int, float]) -> tuple[int, ...]:
        entry = self.sentences[number].entry
        beside = [
            other
            for other in (number + 1, number - 1)
            if 0 <= other < len(self.sentences) and self.sentences[other].entry == entry
        ]
        if not beside:
            return (number,)
        return tuple(sorted((number, max(beside, key=lambda other: scores.get(other, 0.0)))))


def _sentences(entry: int, text: str) -> list[Sentence]:
    spans = sentences(text)
    starts = [start for start, _ in spans]
    return [
        Sentence(entry, start, end, then)
        for (start, end), then in zip(spans, [*starts[1:], len(text)], strict=False)  # no sentence has no next one
    ]


def statements(summary: str) -> list[frozenset[str]]:
    """The terms of each sentence of a summary, each set once; a sentence of stop words alone asks for nothing."""
    stop = word_list("stop")
    found = (
        frozenset(stem(word) for word in words(summary[start:end]) if word not in stop)
        for start, end in sentences(summary)
    )
    return [terms for terms in dict.fromkeys(found) if terms]


def nearest_passages(texts: Sequence[str], summary: str, label: str, room: int, count: Count) -> dict[int, str]:
    """Entry -> its chosen passages as one text, "review 17: …"; an entry that is near to no statement is not there.

    Every statement that anything comes near to gets at least one passage, or the room is too small.
    """
    asked = statements(summary)
    index = Index(texts, frozenset().union(*asked))
    chosen = _chosen(index, [index.nearest(terms) for terms in asked], texts, room, count)
    by_entry: defaultdict[int, list[int]] = defaultdict(list)
    for number in sorted(chosen):
        by_entry[index.sentences[number].entry].append(number)
    return {
        entry: f"{label} {entry + 1}: {_joined(index, numbers, texts[entry])}" for entry, numbers in by_entry.items()
    }


def _chosen(
    index: Index, candidates: Sequence[list[tuple[int, ...]]], texts: Sequence[str], room: int, count: Count
) -> set[int]:
    """Sentences for each statement in turn, the one with least so far first, until the room is full."""
    chosen: set[int] = set()
    used = 0
    turns = [(0, 0, which, 0) for which, passages in enumerate(candidates) if passages]
    while turns:
        given, got, which, rank = heapq.heappop(turns)
        passages = candidates[which]
        if rank == len(passages):
            if not got:
                smallest = min(_cost(index, set(passage) - chosen, texts, count) for passage in passages)
                raise DoesNotFit("one passage for each statement of the summary", used + smallest, room)
            continue
        new = set(passages[rank]) - chosen
        cost = _cost(index, new, texts, count)
        fits = used + cost <= room
        if fits:
            chosen |= new
            used += cost
        heapq.heappush(turns, (given + cost * fits, got + fits, which, rank + 1))
    return chosen


def _cost(index: Index, numbers: set[int], texts: Sequence[str], count: Count) -> int:
    """Tokens of these sentences, each with the number and label its entry may need."""
    return sum(
        count(as_shown(_NUMBER, f"(rating 5) review {_NUMBER}: {texts[each.entry][each.start : each.next]} … "))
        for each in (index.sentences[number] for number in numbers)
    )


def _joined(index: Index, numbers: Sequence[int], text: str) -> str:
    """Sentences that follow each other as they stand; an ellipsis where some are left out."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " … ".join(text[index.sentences[run[0]].start : index.sentences[run[-1]].end] for run in runs)
