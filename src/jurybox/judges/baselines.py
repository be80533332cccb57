"""Trivial judges that every real judge must beat. They read no prompt and know nothing.

`length` counts words, `constant` always says the middle, `system` knows only who wrote the summary and how people
rated that system's other summaries, `rouge` counts words shared with the source, `rouge-l` those shared in the
same order.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from jurybox.errors import JudgeSpecError, unknown_name
from jurybox.fields import entries
from jurybox.judges.base import Judge, Settings
from jurybox.types import SCALE, Item, Question, Reply, Review, Rubric, Verdict

# Words at which `length` is half way up the scale. Any positive number ranks the same.
HALF_WAY_WORDS = 60
_WORD = re.compile(r"[a-z0-9]+")
# What a summary is written from; the question and the perspective are not.
_MATERIAL = ("description", "key_features", "specifications", "reviews", "answers")


def make(spec: str, name: str, settings: Settings) -> Judge:
    if name not in BASELINES:
        raise JudgeSpecError(f"--judge {spec}: {unknown_name('baseline', name, BASELINES)}")
    return BASELINES[name](spec)


class Baseline(Judge):
    """A judge that computes one verdict a rubric from the item alone."""

    computed = True
    kept = False

    def __init__(self, spec: str) -> None:
        self.spec = self.model = spec

    @abstractmethod
    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        """What it says of one item on one rubric."""

    async def ask(self, question: Question) -> Reply:
        verdicts = {rubric.name: self.verdict(question.item, rubric) for rubric in question.rubrics}
        text = "\n".join(f"{name}: {verdict.reason}" for name, verdict in verdicts.items())
        return Reply(text, model=self.model, tokens_in=0, tokens_out=0, verdicts=verdicts)


class Length(Baseline):
    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        words = len(item.summary.split())
        return _scored(1 - math.exp(-words * math.log(2) / HALF_WAY_WORDS), f"{words} words")


class Constant(Baseline):
    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        return _scored(0.5, "the same for every summary")


class System(Baseline):
    """Mean human rating of the system's *other* summaries (leave one out), rubric by rubric."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self._seen: defaultdict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0])

    def observe(self, item: Item) -> None:
        for rubric, scores in item.human.items():
            if scores:
                seen = self._seen[item.system, rubric]
                seen[0] += _mean(scores.values())
                seen[1] += 1

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        total, count = self._seen[item.system, rubric.name]
        own = item.human.get(rubric.name)
        if own:
            total, count = total - _mean(own.values()), count - 1
        if count < 1:
            return Verdict("unsupported", reason=f"no human ratings of other summaries by '{item.system}'")
        share = (total / count - SCALE[0]) / (SCALE[-1] - SCALE[0])
        return _scored(share, f"mean rating of {count:g} other summaries by '{item.system}'")


class Rouge(Baseline):
    """ROUGE-1 F-measure against the source: unigrams, lower case, no stemming (Lin 2004)."""

    name = "ROUGE-1"

    def verdict(self, item: Item, rubric: Rubric) -> Verdict:
        texts = [text for field in _MATERIAL for text in _texts(item, field)]
        if not texts:
            return Verdict("unsupported", reason="the item has no source text")
        return _scored(self.overlap(item.summary, " ".join(texts)), f"{self.name} against the source")

    def overlap(self, summary: str, source: str) -> float:
        return rouge_1(summary, source)


class RougeL(Rouge):
    """ROUGE-L F-measure against the source: the longest common subsequence of words (Lin 2004)."""

    name = "ROUGE-L"

    def overlap(self, summary: str, source: str) -> float:
        return rouge_l(summary, source)


BASELINES: dict[str, Callable[[str], Baseline]] = {
    "length": Length,
    "constant": Constant,
    "system": System,
    "rouge": Rouge,
    "rouge-l": RougeL,
}


def rouge_1(candidate: str, reference: str) -> float:
    """F-measure of shared unigrams, counted with multiplicity."""
    ours, theirs = _words(candidate), _words(reference)
    return _f_measure((Counter(ours) & Counter(theirs)).total(), ours, theirs)


def rouge_l(candidate: str, reference: str) -> float:
    """F-measure of the longest common subsequence of words, over the whole texts as one sentence each.

    rapidfuzz works on 64 words of the shorter side at a time (Hyyrö 2004), so a long source costs milliseconds.
    """
    from rapidfuzz.distance import LCSseq

    ours, theirs = _words(candidate), _words(reference)
    return _f_measure(LCSseq.similarity(ours, theirs), ours, theirs)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _f_measure(shared: int, ours: list[str], theirs: list[str]) -> float:
    return 2 * shared / (len(ours) + len(theirs)) if shared else 0.0


def _texts(item: Item, field: str) -> list[str]:
    value = item.source.get(field)
    if value is None:
        return []
    if field == "reviews":  # the words alone: what we write around a rating is not the source's
        return [review.text if isinstance(review, Review) else str(review) for review in value]
    shown = entries(value)
    return [shown] if isinstance(shown, str) else shown


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)


def _scored(share: float, reason: str) -> Verdict:
    """A share of the way from the lowest to the highest step."""
    share = min(max(share, 0.0), 1.0)
    return Verdict("scored", SCALE[0] + share * (SCALE[-1] - SCALE[0]), reason)
