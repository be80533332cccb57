"""A jury: two or more judges of one run, one combined score an item and rubric, and how far they agree.

An item counts only where every judge on the rubric's panel scored it. Over those that did, the mean would move with
the leniency of whoever is missing; so the item is a loss instead, and is counted as one. A judge that has no honest way
to judge a rubric (every verdict `unsupported`) is not on that rubric's panel. Baselines are never on a jury.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.errors import SetupError
from jurybox.report.judge import JudgeSummary
from jurybox.stats import Combine, LearnedWeights, krippendorff_alpha, learn_weights, mean_of_scores
from jurybox.stats.bootstrap import complete
from jurybox.stats.weights import MOST_JUDGES
from jurybox.store import RunReader
from jurybox.types import SCALE, Estimate, Signature, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JuryCombine = Literal["mean", "median", "learned"]
JURY_COMBINES: tuple[JuryCombine, ...] = get_args(JuryCombine)
BASELINE = "baseline/"

# Weights from less than this would be learned by heart.
LEAST_LABELLED, LEAST_SOURCES = 10, 3


@dataclass(frozen=True, slots=True)
class JurySignature(Signature):
    """The signature of a panel. Where its members differ in samples, temperature or version, each one's is told."""

    members: tuple[Signature, ...] = ()

    def __str__(self) -> str:
        rows = [str(replace(member, judge="")).split("|") for member in self.members]
        words = [_shared(column) for column in zip(*rows, strict=True)]
        words[1:4] = self.rubric, self.layout, self.judge
        return "|".join(words)


def _shared(words: Sequence[str]) -> str:
    """What all members have in common, or each one's in the order of the panel: `n:1,20`."""
    if len(set(words)) == 1:
        return words[0]
    name = words[0][: words[0].find(":") + 1]
    return ",".join((words[0], *(word.removeprefix(name) for word in words[1:])))


@dataclass(frozen=True, slots=True)
class JurySummary(JudgeSummary):
    """A jury's table, with the panel of each rubric, its agreement, and its weights where they were learned."""

    combine: JuryCombine = "mean"
    panels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    alpha: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    learned: Mapping[str, LearnedWeights] = field(default_factory=dict)

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(judge for panel in self.panels.values() for judge in panel))

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Rubric -> judge -> learned weight."""
        return {
            rubric: dict(zip(self.panels[rubric], found.weights, strict=True)) for rubric, found in self.learned.items()
        }

    def as_dict(self) -> dict[str, Any]:
        shown = {
            "judge": self.judge,
            "judges": list(self.judges),
            "combine": self.combine,
            "panels": {rubric: list(panel) for rubric, panel in self.panels.items()},
            **JudgeSummary.as_dict(self),
            "alpha": {
                rubric: {level: found.as_dict() for level, found in levels.items()}
                for rubric, levels in self.alpha.items()
            },
        }
        if self.learned:
            shown["weights"] = self.weights
            shown["learned"] = {rubric: found.as_dict() for rubric, found in self.learned.items()}
        return shown


@dataclass(frozen=True, slots=True)
class _Ballot:
    """One rubric: judges x items, nan where a judge has no score."""

    panel: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    scores: NDArray[np.float64]

    @property
    def sources(self) -> list[str]:
        return [id_ for id_, _ in self.items]


def convene(
    reader: RunReader, judges: Sequence[JudgeSummary], combine: Combine = "mean", jury: JuryCombine = "mean"
) -> JurySummary | None:
    """The jury of a run's real judges; None when there are fewer than two."""
    real = [judge for judge in judges if not judge.judge.startswith(BASELINE)]
    panels = _panels(real)
    members = [judge.judge for judge in real if any(judge.judge in panel for panel in panels.values())]
    if len(members) < 2:
        if jury != "mean":
            raise SetupError(f"--jury {jury}: a jury is two judges or more, and {reader.path} has {_named(members)}")
        return None
    ballots = {rubric: _ballot(reader, rubric, panel, combine) for rubric, panel in panels.items()}
    learned = _learn(reader, ballots) if jury == "learned" else {}
    return JurySummary(
        _name(jury, members),
        {rubric: _signature(rubric, jury, panel, real) for rubric, panel in panels.items()},
        _systems(ballots, jury, learned),
        {rubric: _statuses(rubric, panel, real) for rubric, panel in panels.items()},
        combine=jury,
        panels=panels,
        alpha={rubric: _alpha(ballot) for rubric, ballot in ballots.items() if len(ballot.panel) > 1},
        learned=learned,
        distributions=_distributions(ballots, jury, learned),
    )


def _named(members: Sequence[str]) -> str:
    return f"one: {members[0]}" if members else "none but baselines"


def _name(jury: JuryCombine, judges: Sequence[str]) -> str:
    return f"jury({jury}: {' + '.join(judges)})"


def _panels(real: Sequence[JudgeSummary]) -> dict[str, tuple[str, ...]]:
    """Who judges each rubric; where nobody can, everybody is named and nothing is scored."""
    panels = {}
    for rubric in dict.fromkeys(rubric for judge in real for rubric in judge.signatures):
        asked = [judge for judge in real if rubric in judge.signatures]
        able = [judge for judge in asked if set(judge.statuses.get(rubric, {})) != {"unsupported"}]
        panels[rubric] = tuple(judge.judge for judge in able or asked)
    return panels


def _ballot(reader: RunReader, rubric: str, panel: tuple[str, ...], combine: Combine) -> _Ballot:
    import numpy as np

    rows: dict[tuple[str, str], list[float | None]] = {}
    place = {judge: number for number, judge in enumerate(panel)}
    for judge, id_, system, score in reader.scores(rubric, combine):
        if judge in place:
            rows.setdefault((id_, system), [None] * len(panel))[place[judge]] = score
    scores = np.array(list(rows.values()), dtype=np.float64).reshape(-1, len(panel)).T
    return _Ballot(panel, tuple(rows), scores)


def _signature(rubric: str, jury: JuryCombine, panel: Sequence[str], real: Iterable[JudgeSummary]) -> Signature:
    members = tuple(judge.signatures[rubric] for judge in real if judge.judge in panel)
    first = {column.name: getattr(members[0], column.name) for column in fields(Signature)}
    first["judge"] = _name(jury, panel)
    first["layout"] = _shared([member.layout for member in members])
    return JurySignature(**first, members=members)


def _statuses(rubric: str, panel: Sequence[str], real: Iterable[JudgeSummary]) -> dict[Status, int]:
    """How the judgments ended that the jury rests on."""
    counts: dict[Status, int] = {}
    for judge in real:
        for status, count in judge.statuses.get(rubric, {}).items() if judge.judge in panel else ():
            counts[status] = counts.get(status, 0) + count
    return counts


def _alpha(ballot: _Ballot) -> dict[str, Estimate]:
    return {
        "ordinal": krippendorff_alpha(ballot.scores, ballot.sources, "ordinal"),
        "interval": krippendorff_alpha(ballot.scores, ballot.sources, "interval"),
    }


def _systems(
    ballots: Mapping[str, _Ballot], jury: JuryCombine, learned: Mapping[str, LearnedWeights]
) -> dict[str, dict[str, Estimate]]:
    systems: dict[str, dict[str, Estimate]] = {}
    for rubric, ballot in ballots.items():
        weights = learned[rubric].weights if rubric in learned else None
        by_system: dict[str, list[float]] = {}
        for (_, system), score in zip(ballot.items, _combined(ballot.scores, jury, weights), strict=True):
            by_system.setdefault(system, []).append(score)
        for system, scores in by_system.items():
            systems.setdefault(system, {})[rubric] = _estimate(scores, weights is not None)
    return systems


def _distributions(
    ballots: Mapping[str, _Ballot], jury: JuryCombine, learned: Mapping[str, LearnedWeights]
) -> dict[str, dict[str, tuple[int, ...]]]:
    """System -> rubric -> how many items have a score nearest to each step of the scale; halves go up."""
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for rubric, ballot in ballots.items():
        weights = learned[rubric].weights if rubric in learned else None
        nearest: dict[str, Counter[int]] = {}
        for (_, system), score in zip(ballot.items, _combined(ballot.scores, jury, weights), strict=True):
            if not math.isnan(score):
                nearest.setdefault(system, Counter())[int(score + 0.5)] += 1
        for system, counts in nearest.items():
            found.setdefault(system, {})[rubric] = tuple(counts[step] for step in SCALE)
    return found


def _combined(scores: NDArray[np.float64], jury: JuryCombine, weights: Sequence[float] | None) -> list[float]:
    """One score an item; nan as soon as one judge has none."""
    import numpy as np

    if weights is not None:
        return [float(score) for score in np.asarray(weights) @ scores]
    together = np.median(scores, axis=0) if jury == "median" else np.mean(scores, axis=0)
    return [float(score) for score in together]


def _estimate(scores: Sequence[float], weighted: bool) -> Estimate:
    middle = (SCALE[0] + SCALE[-1]) / 2
    known = [score for score in scores if not math.isnan(score)]
    squares = sum((score - middle) ** 2 for score in known)
    found = mean_of_scores(len(known), sum(known), squares, len(scores) - len(known))
    return replace(found, method=f"{found.method}; weights taken as known") if weighted and known else found


def _learn(reader: RunReader, ballots: Mapping[str, _Ballot]) -> dict[str, LearnedWeights]:
    """Weights for every rubric with a panel; a rubric that cannot have them stops the whole, and all are named."""
    ratings = _ratings(reader)
    learned, refused = {}, []
    for rubric, ballot in ballots.items():
        if len(ballot.panel) < 2:
            continue
        if len(ballot.panel) > MOST_JUDGES:
            raise SetupError(f"--jury learned: for {MOST_JUDGES} judges at most; '{rubric}' has {len(ballot.panel)}")
        human = ratings.get(rubric, {})
        labelled = [number for number, item in enumerate(ballot.items) if item in human]
        values = [human[ballot.items[number]] for number in labelled]
        sources = [ballot.items[number][0] for number in labelled]
        scores = ballot.scores[:, labelled]
        if why := _too_few(scores, values, sources):
            refused.append(f"{rubric} has {why}")
        else:
            learned[rubric] = learn_weights(scores, values, sources)
    if refused:
        raise SetupError(
            f"--jury learned: {reader.path} has too few human ratings to learn from: {'; '.join(refused)}. Needed for "
            f"every rubric: {LEAST_LABELLED} items of {LEAST_SOURCES} sources that people rated and every judge scored"
        )
    return learned


def _too_few(scores: NDArray[np.float64], values: Sequence[float], sources: Sequence[str]) -> str:
    """What there is to learn from, when it is not enough."""
    kept = complete(scores, len(scores))
    known = {source for source, has in zip(sources, kept, strict=True) if has}
    if kept.sum() < LEAST_LABELLED or len(known) < LEAST_SOURCES:
        return f"{kept.sum():,} items of {len(known):,} sources"
    rated = {value for value, has in zip(values, kept, strict=True) if has}
    return "the same rating for every item" if len(rated) == 1 else ""


def _ratings(reader: RunReader) -> dict[str, dict[tuple[str, str], float]]:
    """Rubric -> item -> mean of its raters."""
    raters: dict[str, dict[tuple[str, str], list[float]]] = {}
    for id_, system, rubric, _, score in reader.ratings():
        raters.setdefault(rubric, {}).setdefault((id_, system), []).append(score)
    return {
        rubric: {item: sum(scores) / len(scores) for item, scores in items.items()} for rubric, items in raters.items()
    }
