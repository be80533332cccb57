"""A jury: two or more judges of one run, one combined score an item and rubric, and how far they agree.

An item counts only where every judge on the rubric's panel scored it. Over those that did, the mean would move with
the leniency of whoever is missing; so the item is a loss instead, and is counted as one. A judge that has no honest way
to judge a rubric (every verdict `unsupported`) is not on that rubric's panel. Baselines are never on a jury.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from jurybox.errors import SetupError
from jurybox.report.judge import JudgeSummary
from jurybox.report.systems import by_system
from jurybox.stats import LearnedWeights, krippendorff_alphas, learn_weights
from jurybox.stats.bootstrap import complete
from jurybox.stats.weights import MOST_JUDGES
from jurybox.store import RunReader, item_keys
from jurybox.types import Estimate, Signature, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jurybox.report.browsing import RunIndex

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
    """One rubric: judges x items, nan where a judge has no score. Items are numbers in the store; `systems` and
    `sources` number theirs."""

    panel: tuple[str, ...]
    items: NDArray[Any]
    systems: NDArray[Any]
    sources: NDArray[Any]
    scores: NDArray[np.float64]


def convene(
    reader: RunReader, judges: Sequence[JudgeSummary], index: RunIndex, jury: JuryCombine = "mean"
) -> JurySummary | None:
    """The jury of a run's real judges; None when there are fewer than two. `index` has their scores."""
    real = [judge for judge in judges if not judge.judge.startswith(BASELINE)]
    panels = _panels(real)
    members = [judge.judge for judge in real if any(judge.judge in panel for panel in panels.values())]
    if len(members) < 2:
        if jury != "mean":
            raise SetupError(f"--jury {jury}: a jury is two judges or more, and {reader.path} has {_named(members)}")
        return None
    ballots = {rubric: _ballot(index, rubric, panel) for rubric, panel in panels.items()}
    learned = _learn(reader, index, ballots) if jury == "learned" else {}
    systems, distributions = _tables(index.systems, ballots, jury, learned)
    return JurySummary(
        _name(jury, members),
        {rubric: _signature(rubric, jury, panel, real) for rubric, panel in panels.items()},
        systems,
        {rubric: _statuses(rubric, panel, real) for rubric, panel in panels.items()},
        combine=jury,
        panels=panels,
        alpha={
            rubric: krippendorff_alphas(ballot.scores, ballot.sources)
            for rubric, ballot in ballots.items()
            if len(ballot.panel) > 1
        },
        learned=learned,
        distributions=distributions,
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


def _ballot(index: RunIndex, rubric: str, panel: tuple[str, ...]) -> _Ballot:
    import numpy as np

    rows = [np.full(len(index.numbers), np.nan) for _ in panel]
    asked = np.zeros(len(index.numbers), dtype=bool)
    for row, judge in zip(rows, panel, strict=True):
        (place,) = index.series_of(rubric, judge)
        cells = index.cell_series == place
        row[index.cell_item[cells]] = index.cell_score[cells]
        asked[index.cell_item[cells]] = True
    scores = np.array(rows)[:, asked]
    return _Ballot(panel, index.numbers[asked], index.system[asked], index.source[asked], scores)


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


def _tables(
    names: Sequence[str], ballots: Mapping[str, _Ballot], jury: JuryCombine, learned: Mapping[str, LearnedWeights]
) -> tuple[dict[str, dict[str, Estimate]], dict[str, dict[str, tuple[int, ...]]]]:
    """System -> rubric -> estimate, and system -> rubric -> how many items are nearest to each step of the scale."""
    systems: dict[str, dict[str, Estimate]] = {}
    distributions: dict[str, dict[str, tuple[int, ...]]] = {}
    for rubric, ballot in ballots.items():
        weights = learned[rubric].weights if rubric in learned else None
        for code, found, nearest in by_system(_combined(ballot.scores, jury, weights), ballot.systems, len(names)):
            systems.setdefault(names[code], {})[rubric] = _as_weighted(found) if weights is not None else found
            if any(nearest):
                distributions.setdefault(names[code], {})[rubric] = nearest
    return systems, distributions


def _combined(scores: NDArray[np.float64], jury: JuryCombine, weights: Sequence[float] | None) -> NDArray[np.float64]:
    """One score an item; nan as soon as one judge has none."""
    import numpy as np

    if weights is not None:
        return np.asarray(np.asarray(weights) @ scores, dtype=np.float64)
    return np.asarray(np.median(scores, axis=0) if jury == "median" else np.mean(scores, axis=0), dtype=np.float64)


def _as_weighted(found: Estimate) -> Estimate:
    return replace(found, method=f"{found.method}; weights taken as known") if found.n else found


def _learn(reader: RunReader, index: RunIndex, ballots: Mapping[str, _Ballot]) -> dict[str, LearnedWeights]:
    """Weights for every rubric with a panel; a rubric that cannot have them stops the whole, and all are named."""
    # Items may have come since the index was read, and stand behind the others.
    ratings, keys = _ratings(reader), dict(zip(index.numbers.tolist(), item_keys(reader), strict=False))
    learned, refused = {}, []
    for rubric, ballot in ballots.items():
        if len(ballot.panel) < 2:
            continue
        if len(ballot.panel) > MOST_JUDGES:
            raise SetupError(f"--jury learned: for {MOST_JUDGES} judges at most; '{rubric}' has {len(ballot.panel)}")
        human, items = ratings.get(rubric, {}), [keys[number] for number in ballot.items.tolist()]
        labelled = [place for place, item in enumerate(items) if item in human]
        values = [human[items[place]] for place in labelled]
        sources = [items[place][0] for place in labelled]
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
