"""In which direction a run's judge errs, beside how far it agrees: the part of `agree` about bias.

Rubric by rubric: leniency, clustering at the top, length. Over all rubrics: halo, and self-preference by family.
Without people: whether the judge says the same again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.report.agree_data import Grid, Key
from jurybox.report.families import family
from jurybox.stats.bias import Sides, leniency, score_entropy, self_preference, top_share
from jurybox.stats.given_human import self_preference_given_human, verbosity, verbosity_without_noise
from jurybox.stats.halo import halo
from jurybox.stats.placing import mean_of_raters
from jurybox.stats.stability import ONE_SAMPLE, Stability, stability
from jurybox.store import RunReader
from jurybox.types import Estimate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Scores = Mapping[Key, float | None]
Ratings = Mapping[Key, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class RubricBias:
    """One rubric. `verbosity_corrected` has the raters' noise taken out of `verbosity`; it is the one to go by."""

    leniency: Estimate
    top_share: Sides
    entropy: Sides
    verbosity: Estimate
    verbosity_corrected: Estimate

    def as_dict(self) -> dict[str, Any]:
        names = ("leniency", "top_share", "entropy", "verbosity", "verbosity_corrected")
        return {name: getattr(self, name).as_dict() for name in names}


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge on its own family's systems, in points, the rubrics' scores averaged. `systems` are those of each family,
    those of unknown family under None; `leniency` is by family."""

    family: str | None
    systems: Mapping[str | None, Sequence[str]]
    leniency: Mapping[str, Estimate]
    difference: Estimate
    given_human: Estimate
    rubrics: Mapping[str, Estimate]

    def as_dict(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "systems": {kind: list(names) for kind, names in self.systems.items() if kind is not None},
            "unknown_systems": list(self.systems.get(None, ())),
            "leniency": {kind: found.as_dict() for kind, found in self.leniency.items()},
            "difference": self.difference.as_dict(),
            "given_human": self.given_human.as_dict(),
            "rubrics": {rubric: found.as_dict() for rubric, found in self.rubrics.items()},
        }


@dataclass(frozen=True, slots=True)
class Bias:
    """One judge of a run."""

    rubrics: Mapping[str, RubricBias]
    halo: Sides
    self_preference: SelfPreference
    stability: Mapping[str, Stability]

    def as_dict(self) -> dict[str, Any]:
        return {
            "rubrics": {rubric: found.as_dict() for rubric, found in self.rubrics.items()},
            "halo": self.halo.as_dict(),
            "self_preference": self.self_preference.as_dict(),
            "stability": {rubric: found.as_dict() for rubric, found in self.stability.items()},
        }


def bias(
    reader: RunReader,
    judge: str,
    members: Sequence[str],
    ratings: Mapping[str, Ratings],
    scores: Mapping[str, Scores],
    words: Mapping[Key, float],
) -> Bias:
    """Of one judge: rubric -> people's ratings, rubric -> its scores. `members` are a jury's judges, or the judge."""
    grid = Grid.of(dict.fromkeys(key for given in ratings.values() for key in given))
    people = {rubric: _ratings(grid, given) for rubric, given in ratings.items()}
    judged = {rubric: grid.table(scores[rubric]) for rubric in ratings}
    lengths = grid.table(words)
    means = {rubric: mean_of_raters(table) for rubric, table in people.items()}
    return Bias(
        {rubric: _on_rubric(judged[rubric], people[rubric], means[rubric], lengths) for rubric in ratings},
        halo(list(judged.values()), list(means.values())),
        _self_preference(members, grid.systems, judged, means),
        _stabilities(reader, judge, members, list(ratings)),
    )


def _ratings(grid: Grid, given: Ratings) -> Floats:
    """Source x system x rater."""
    import numpy as np

    raters = dict.fromkeys(rater for by_rater in given.values() for rater in by_rater)
    layers = [grid.table({key: by_rater.get(rater) for key, by_rater in given.items()}) for rater in raters]
    return np.stack(layers, axis=2)


def _on_rubric(judged: Floats, ratings: Floats, people: Floats, words: Floats) -> RubricBias:
    return RubricBias(
        leniency(judged, people),
        top_share(judged, ratings),
        score_entropy(judged, ratings),
        verbosity(judged, people, words),
        verbosity_without_noise(judged, ratings, words),
    )


def _self_preference(
    members: Sequence[str], systems: Sequence[str], judged: Mapping[str, Floats], people: Mapping[str, Floats]
) -> SelfPreference:
    kinds = {system: family(system) for system in systems}
    by_kind = {kind: [name for name in systems if kinds[name] == kind] for kind in dict.fromkeys(kinds.values())}
    own, why = _family_of(members)
    marks = [None if kinds[system] is None else kinds[system] == own for system in systems]
    score, rating = _mean_of_rubrics(judged, people)
    overall = self_preference(score, rating, marks)
    given_human = self_preference_given_human(score, rating, marks)
    rubrics = {rubric: self_preference(judged[rubric], people[rubric], marks) for rubric in judged}
    if why:
        overall, given_human = _undefined(why), _undefined(why)
        rubrics = {rubric: _undefined(why) for rubric in rubrics}
    elif overall.value is None:
        given_human = overall
    lenient = {
        kind: leniency(*(table[:, [systems.index(name) for name in names]] for table in (score, rating)))
        for kind, names in by_kind.items()
        if kind is not None
    }
    return SelfPreference(own, by_kind, lenient, overall, given_human, rubrics)


def _undefined(why: str) -> Estimate:
    return Estimate(None, None, None, 0, 0, f"undefined: {why}")


def _family_of(members: Sequence[str]) -> tuple[str | None, str]:
    """The one family of all members, or why there is none."""
    kinds = {member: family(member) for member in members}
    nameless = [member for member, kind in kinds.items() if kind is None]
    if nameless:
        return None, f"no family of models is known for {', '.join(nameless)}"
    if len(set(kinds.values())) > 1:
        return None, f"a jury of several families ({', '.join(map(str, dict.fromkeys(kinds.values())))})"
    return next(iter(kinds.values())), ""


def _mean_of_rubrics(judged: Mapping[str, Floats], people: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Each item's mean over those rubrics that both sides have, so that one figure covers them all."""
    import numpy as np

    both = [np.stack(list(side.values()), axis=2) for side in (judged, people)]
    missing = np.isnan(both[0]) | np.isnan(both[1])
    score, rating = (mean_of_raters(np.where(missing, np.nan, side)) for side in both)
    # An item that was rated and on no rubric scored is a loss, and only its rating can say so.
    return score, np.where(np.isnan(rating), mean_of_raters(both[1]), rating)


def _stabilities(reader: RunReader, judge: str, members: Sequence[str], rubrics: Sequence[str]) -> dict[str, Stability]:
    if judge not in members:
        why = "a jury's samples are its judges' own; ask about each with --judge"
        return {rubric: Stability.undefined(why) for rubric in rubrics}
    signatures = reader.signatures()
    repeated = [rubric for rubric in rubrics if signatures[rubric, judge].samples != 1]
    drawn = _samples(reader, judge, repeated) if repeated else {}
    return {
        rubric: _stability(drawn[rubric]) if rubric in drawn else Stability.undefined(ONE_SAMPLE) for rubric in rubrics
    }


def _samples(reader: RunReader, judge: str, rubrics: Sequence[str]) -> dict[str, dict[Key, list[float | None]]]:
    """Rubric -> item -> its samples, of all items of the run, rated or not."""
    found: dict[str, dict[Key, list[float | None]]] = {}
    for judgment in reader.judgments():
        if judgment.judge == judge and judgment.rubric in rubrics:
            by_item = found.setdefault(judgment.rubric, {})
            by_item.setdefault((judgment.id, judgment.system), []).append(judgment.verdict.score)
    return found


def _stability(by_item: Mapping[Key, Sequence[float | None]]) -> Stability:
    import numpy as np

    table = np.full((len(by_item), max(map(len, by_item.values()))), np.nan)
    for row, given in enumerate(by_item.values()):
        table[row, : len(given)] = [np.nan if score is None else score for score in given]
    return stability(table, [id_ for id_, _ in by_item])
