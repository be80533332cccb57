"""Judge against people, rubric by rubric: figures at three levels, people's own ceiling, trivial judges beside them.

A judge that cannot be told from word count has not been shown to judge: `RubricAgreement.beats_baselines` is true only
when it follows people better than every trivial judge, each by its own test. (All of them must be beaten, so no
correction for several tests is due: Berger 1982, intersection-union tests.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from jurybox.data.ratings import Ratings
from jurybox.errors import SetupError
from jurybox.report.agree_data import Facts, Key, Rated, chosen_judge, ratings_by_rubric, scores_of
from jurybox.report.bias import Bias, bias
from jurybox.report.notebooks import InNotebooks
from jurybox.report.standing import Standing, standing
from jurybox.report.summary import summarise
from jurybox.report.trivial import Trivial, against_trivial
from jurybox.stats.agreement import krippendorff_alphas
from jurybox.stats.correlation import COEFFICIENTS, Coefficient
from jurybox.stats.figures import OVERS, RESAMPLES, SEED, Draws, Figure
from jurybox.stats.levels import pooled, summary_level, system_level
from jurybox.stats.pairwise import PairwiseAccuracy, pairwise_accuracy
from jurybox.stats.placing import ceiling, in_place_of_raters, mean_of_raters
from jurybox.store import RunReader
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVELS = {"summary_level": summary_level, "system_level": system_level, "pooled": pooled}
HEADLINE: Coefficient = "spearman"
Estimates = Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Counts:
    """What the figures rest on. `unscored` items were rated by people and not scored by the judge."""

    items: int
    unscored: int
    sources: int
    systems: int
    raters: int


@dataclass(frozen=True, slots=True)
class RubricAgreement:
    """One judge on one rubric. `levels` is level -> coefficient -> estimate; `intervals` has every kind of interval of
    the same; `as_zero` counts sources without variation as 0 instead of leaving them out."""

    rubric: str
    counts: Counts
    levels: Mapping[str, Estimates]
    as_zero: Estimates
    intervals: Mapping[str, Mapping[str, Estimates]]
    ceiling: Estimate
    in_place: Estimate
    below_ceiling: Estimate
    alpha: Estimates
    trivial: Trivial
    pairwise: PairwiseAccuracy
    standing: Standing
    judges: Estimates

    @property
    def headline(self) -> Estimate:
        return self.levels["summary_level"][HEADLINE]

    @property
    def beats_baselines(self) -> bool:
        return self.trivial.all_beaten

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {level: _dicts(found) for level, found in self.levels.items()}
        return {
            **shown,
            "summary_level_constant_as_zero": _dicts(self.as_zero),
            "intervals": {
                level: {name: _dicts(kinds) for name, kinds in found.items()} for level, found in self.intervals.items()
            },
            "ceiling": self.ceiling.as_dict(),
            "judge_in_place_of_raters": self.in_place.as_dict(),
            "judge_minus_ceiling": self.below_ceiling.as_dict(),
            "alpha": _dicts(self.alpha),
            **self.trivial.as_dict(),
            "beats_baselines": self.beats_baselines,
            "pairwise_accuracy": {
                **self.pairwise.as_dict(),
                "baselines": {name: found.as_dict() for name, found in self.trivial.pairwise.items()},
            },
            "alternative_annotator": self.standing.as_dict(),
            "judges": _dicts(self.judges),
            "counts": asdict(self.counts),
        }


@dataclass(frozen=True, slots=True)
class Agreement(InNotebooks):
    """A judge of a run against people. `skipped` are rubrics of the run without ratings, with the reason."""

    path: str
    judge: str
    human: str
    rubrics: Mapping[str, RubricAgreement]
    skipped: Mapping[str, str]
    signatures: Mapping[str, str]
    bias: Bias

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.path,
            "judge": self.judge,
            "human": self.human,
            "rubrics": {
                name: {**found.as_dict(), "signature": self.signatures.get(name, "")}
                for name, found in self.rubrics.items()
            },
            "bias": self.bias.as_dict(),
            "skipped": dict(self.skipped),
        }


def _dicts(estimates: Estimates) -> dict[str, Any]:
    return {name: found.as_dict() for name, found in estimates.items()}


def agreement(
    reader: RunReader,
    *,
    human: Ratings | None = None,
    human_from: str = "the run",
    judge: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Agreement:
    """Compare a run's judge with people, on every rubric that both have."""
    summary = summarise(reader)
    subject = chosen_judge(summary, judge)
    ratings = ratings_by_rubric(reader, human, human_from)
    rubrics = list(dict.fromkeys(rubric for rubric, _ in reader.signatures()))
    scores = {rubric: scores_of(reader, summary, rubric) for rubric in rubrics}
    rated = {rubric: _joined(ratings.get(rubric, {}), scores[rubric]) for rubric in rubrics}
    kept = {rubric: found for rubric, found in rated.items() if found and subject in scores[rubric]}
    _refuse_nothing(reader, ratings, rubrics, kept, human_from)
    facts = Facts.of(reader, dict.fromkeys(key for found in kept.values() for key in found))
    one_judge = next((found for found in (summary.main, *summary.judges) if found.judge == subject), summary.main)
    return Agreement(
        str(reader.path),
        subject,
        human_from,
        {
            rubric: _on_rubric(rubric, Rated.of(found), scores[rubric], subject, facts, (resamples, seed))
            for rubric, found in kept.items()
        },
        {rubric: _why_skipped(rubric, rated, subject) for rubric in rubrics if rubric not in kept},
        {rubric: str(signature) for rubric, signature in one_judge.signatures.items()},
        bias(
            reader,
            subject,
            summary.jury.judges if summary.jury is not None and summary.jury.judge == subject else (subject,),
            kept,
            {rubric: scores[rubric][subject] for rubric in kept},
            facts.words,
        ),
    )


def _joined(
    ratings: Mapping[Key, Mapping[str, float]], scores: Mapping[str, Mapping[Key, float | None]]
) -> dict[Key, Mapping[str, float]]:
    """The ratings of items that the run has."""
    judged = {key for by_judge in scores.values() for key in by_judge}
    return {key: given for key, given in ratings.items() if key in judged}


def _why_skipped(rubric: str, rated: Mapping[str, Any], subject: str) -> str:
    return f"not judged by {subject}" if rated[rubric] else "no human ratings of its items"


def _refuse_nothing(
    reader: RunReader, ratings: Mapping[str, Mapping[Key, Any]], rubrics: list[str], kept: Any, human_from: str
) -> None:
    if kept:
        return
    if not ratings:
        raise SetupError(
            f"{reader.path}: holds no human ratings. Give them with the data (`human`), or here with --human FILE "
            "(columns id, system, rubric, rater, score)"
        )
    shared = [rubric for rubric in rubrics if rubric in ratings]
    if not shared:
        raise SetupError(
            f"human ratings of {human_from} are of other rubrics ({', '.join(sorted(ratings))}) than {reader.path} has "
            f"({', '.join(rubrics)})"
        )
    id_, system = next(iter(ratings[shared[0]]))
    raise SetupError(
        f"human ratings of {human_from} and the judgments of {reader.path} have no item in common; items are joined by "
        f"id and system, and the first rated one is id '{id_}', system '{system}'"
    )


def _on_rubric(
    rubric: str,
    rated: Rated,
    scores: Mapping[str, Mapping[Key, float | None]],
    subject: str,
    facts: Facts,
    drawing: tuple[int, int],
) -> RubricAgreement:
    grid, people = rated.grid, mean_of_raters(rated.human)
    judged = grid.table(scores[subject])
    draws = Draws.of(len(grid.sources), len(grid.systems), *drawing)
    figures = {
        level: {name: figure(judged, people, name, draws) for name in COEFFICIENTS} for level, figure in LEVELS.items()
    }
    top, placed = ceiling(rated.human, HEADLINE, draws), in_place_of_raters(judged, rated.human, HEADLINE, draws)
    return RubricAgreement(
        rubric,
        _counts(rated, judged),
        {level: {name: figure.estimate() for name, figure in found.items()} for level, found in figures.items()},
        {name: summary_level(judged, people, name, draws, constant_as_zero=True).estimate() for name in COEFFICIENTS},
        {level: {name: _kinds(figure) for name, figure in found.items()} for level, found in figures.items()},
        top.estimate(),
        placed.estimate(),
        placed.minus(top, "the judge in place of each rater, less the ceiling").estimate(),
        _alpha(rated),
        against_trivial(judged, people, grid, facts, draws),
        pairwise_accuracy(judged, people, draws),
        standing(judged, rated, people, grid.table(facts.words)),
        {
            judge: summary_level(grid.table(given), people, HEADLINE, draws).estimate()
            for judge, given in scores.items()
        },
    )


def _counts(rated: Rated, judged: Floats) -> Counts:
    import numpy as np

    scored = int((~np.isnan(judged)).sum())
    items, grid = len(rated.grid.keys), rated.grid
    return Counts(scored, items - scored, len(grid.sources), len(grid.systems), len(rated.raters))


def _kinds(figure: Figure) -> dict[str, Estimate]:
    """One estimate for each thing that can be drawn."""
    return {over: figure.estimate(over) for over in OVERS if over in figure.resampled}


def _alpha(rated: Rated) -> dict[str, Estimate]:
    """Agreement of people among themselves: raters as judges, items grouped by source."""
    table = rated.human.reshape(-1, len(rated.raters)).T
    groups = [source for source in rated.grid.sources for _ in rated.grid.systems]
    return krippendorff_alphas(table, groups)
