"""Who beat whom: wins, losses, ties and inconsistencies of every pair of systems, position bias, and a ranking.

The verdicts of a duel code a preference (`types.FIRST`, `NEITHER`, `SECOND`). A system wins on a source when it is
preferred in both orders of showing; an answer that changes with the order is a tie, and counted as inconsistent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from jurybox.report.notebooks import InNotebooks
from jurybox.stats import bounded_mean, ranking, wilson
from jurybox.stats.bradley_terry import Result
from jurybox.store import RunReader
from jurybox.types import DUEL, FIRST, SECOND, Estimate, Judgment, Signature

Pair = tuple[str, str]
# Preferences for the first system of a pair on one source: shown first, and shown second. None is unscored.
Orders = tuple[float | None, float | None]
EVEN = 0.5
NO_ORDER = "by construction: each summary is scored by itself"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PairResult:
    """The duels of two systems. `ties` holds the inconsistent ones too; `missing` is None where nobody counted."""

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    inconsistent: int
    unscored: int
    missing: int | None
    win_rate: Estimate

    def as_dict(self) -> dict[str, Any]:
        counts = ("first", "second", "wins", "losses", "ties", "inconsistent", "unscored", "missing")
        return {**{name: getattr(self, name) for name in counts}, "win_rate": self.win_rate.as_dict()}


@dataclass(frozen=True, slots=True)
class RubricDuels:
    """All duels on one rubric by one judge. `ranking` is empty for two systems."""

    signature: Signature
    pairs: tuple[PairResult, ...]
    position_bias: Estimate
    ranking: tuple[tuple[str, Estimate], ...]

    def as_dict(self, judge: str) -> dict[str, Any]:
        told: dict[str, Any] = {
            "judge": judge,
            "signature": str(self.signature),
            "pairs": [pair.as_dict() for pair in self.pairs],
            "position_bias": self.position_bias.as_dict(),
        }
        if self.ranking:
            told["ranking"] = [{"system": system, "strength": strength.as_dict()} for system, strength in self.ranking]
        return told


@dataclass(frozen=True, slots=True)
class Duels(InNotebooks):
    """A whole run of duels: judge -> rubric -> duels. `unfinished` counts judgments still to be made."""

    path: str
    judges: Mapping[str, Mapping[str, RubricDuels]]
    unfinished: int
    spent: Mapping[str, Any]

    @property
    def main(self) -> str:
        """The judge that the run is about: the first that is no baseline."""
        real = [judge for judge in self.judges if not judge.startswith("baseline/")]
        return (real or list(self.judges))[0]

    @property
    def unscored(self) -> int:
        return sum(
            pair.unscored for rubrics in self.judges.values() for duels in rubrics.values() for pair in duels.pairs
        )

    def as_dict(self) -> dict[str, Any]:
        judges = {
            judge: {name: duels.as_dict(judge) for name, duels in rubrics.items()}
            for judge, rubrics in self.judges.items()
        }
        return {
            "run": self.path,
            "judge": self.main,
            "rubrics": judges[self.main],
            "judges": {judge: {"rubrics": rubrics} for judge, rubrics in judges.items()},
            "unfinished": self.unfinished,
            "spent": dict(self.spent),
        }


def holds_duels(reader: RunReader) -> bool:
    """Whether a run file's verdicts are preferences and no scores."""
    return any(signature.is_duel for signature in reader.signatures().values())


def summarise_duels(reader: RunReader, systems: Iterable[str] = (), missing: Mapping[Pair, int] | None = None) -> Duels:
    """Read a run of duels. `systems` says who is told of and in which order; without it, everyone as they come."""
    found = _collect(reader)
    wanted = tuple(systems) or _systems(found)
    judges: dict[str, dict[str, RubricDuels]] = {}
    for (rubric, judge), signature in reader.signatures().items():
        if signature.is_duel:
            duels = _on_rubric(signature, wanted, found.get((rubric, judge), {}), missing)
            judges.setdefault(judge.removeprefix(f"{DUEL}/"), {})[rubric] = duels
    made = reader.statuses()
    unfinished = sum(
        max(expected - sum(made.get(series, {}).values()), 0) for series, expected in reader.expected().items()
    )
    return Duels(str(reader.path), judges, unfinished, reader.spent())


# (first, second) as shown -> source -> the answers, one a sample; None is unscored.
_Answers = dict[Pair, dict[str, list[float | None]]]


def _collect(reader: RunReader) -> dict[tuple[str, str], _Answers]:
    """Every answer by (rubric, judge)."""
    found: dict[tuple[str, str], _Answers] = {}
    shown: dict[str, Pair] = {}
    for judgment in reader.judgments():
        if judgment.system not in shown:
            shown[judgment.system] = _names(reader, judgment)
        answers = found.setdefault((judgment.rubric, judgment.judge), {}).setdefault(shown[judgment.system], {})
        score = judgment.verdict.score
        answers.setdefault(judgment.id, []).append(None if score is None else (score - SECOND) / (FIRST - SECOND))
    return found


def _names(reader: RunReader, judgment: Judgment) -> Pair:
    """The names are kept with the item: a system may well be called `A vs B` itself."""
    told = reader.item(judgment.id, judgment.system)["metadata"]
    return told["first"], told["second"]


def _systems(found: Mapping[tuple[str, str], _Answers]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for answers in found.values() for pair in answers for name in pair))


def _on_rubric(
    signature: Signature, systems: tuple[str, ...], answers: _Answers, missing: Mapping[Pair, int] | None
) -> RubricDuels:
    orders = {pair: _orders(answers, *pair) for pair in combinations(systems, 2)}
    results = tuple(_pair_result(pair, list(met.values()), missing) for pair, met in orders.items())
    ranked = tuple(_ranking(systems, orders, results)) if len(systems) > 2 else ()
    bias = _position_bias(orders)
    if signature.judge.startswith(f"{DUEL}/") and bias.n:
        bias = Estimate(EVEN, EVEN, EVEN, bias.n, bias.n_unscored, NO_ORDER)
    return RubricDuels(signature, results, bias, ranked)


def _orders(answers: _Answers, first: str, second: str) -> dict[str, Orders]:
    """Source -> the preference for `first` in either order. A source with one order still to be asked is left out."""
    ahead, behind = answers.get((first, second), {}), answers.get((second, first), {})
    return {id_: (_mean(ahead[id_]), _flipped(_mean(behind[id_]))) for id_ in ahead if id_ in behind}


def _mean(samples: list[float | None]) -> float | None:
    scored = [sample for sample in samples if sample is not None]
    return sum(scored) / len(scored) if scored else None


def _flipped(preference: float | None) -> float | None:
    return None if preference is None else 1 - preference


def _outcome(orders: Orders) -> tuple[float, bool] | None:
    """1, 0.5 or 0 for the pair's first system, and whether the answer changed with the order. None if unscored."""
    ahead, behind = orders
    if ahead is None or behind is None:
        return None
    one, other = _side(ahead), _side(behind)
    return (one, False) if one == other else (EVEN, True)


def _side(preference: float) -> float:
    """Several samples of one order say together whom they prefer."""
    return EVEN if abs(preference - EVEN) < _ROUNDING else float(preference > EVEN)


def _pair_result(pair: Pair, met: list[Orders], missing: Mapping[Pair, int] | None) -> PairResult:
    outcomes = [outcome for orders in met if (outcome := _outcome(orders)) is not None]
    points = [share for share, _ in outcomes]
    unscored = len(met) - len(outcomes)
    return PairResult(
        *pair,
        wins=points.count(1.0),
        losses=points.count(0.0),
        ties=points.count(EVEN),
        inconsistent=sum(inconsistent for _, inconsistent in outcomes),
        unscored=unscored,
        missing=None if missing is None else missing.get(pair, missing.get(pair[::-1], 0)),
        win_rate=wilson(sum(points), len(points), unscored, "share of wins, ties half"),
    )


def _position_bias(orders: Mapping[Pair, Mapping[str, Orders]]) -> Estimate:
    """How far the place decides: the mean preference for whichever summary is shown first. 0.5 is none.

    A judge that always answers alike in both orders has exactly 0.5, because every summary is first once. A source's
    answers are one observation: they share its material.
    """
    by_source: dict[str, list[float]] = {}
    unscored = 0
    for met in orders.values():
        for id_, (ahead, behind) in met.items():
            if ahead is None or behind is None:
                unscored += 1
            else:
                by_source.setdefault(id_, []).append((ahead + 1 - behind) / 2)
    shares = [sum(values) / len(values) for values in by_source.values()]
    mean = sum(shares) / max(len(shares), 1)
    deviations = sum((share - mean) ** 2 for share in shares)
    what = "mean preference for the summary shown first, by source"
    return bounded_mean(len(shares), sum(shares), deviations, unscored, (0.0, 1.0), what)


def _ranking(
    systems: tuple[str, ...], orders: Mapping[Pair, Mapping[str, Orders]], results: Iterable[PairResult]
) -> list[tuple[str, Estimate]]:
    number = {system: index for index, system in enumerate(systems)}
    by_source: dict[str, list[Result]] = {}
    for (first, second), met in orders.items():
        for id_, both in met.items():
            outcome = _outcome(both)
            if outcome is not None:
                by_source.setdefault(id_, []).append((number[first], number[second], outcome[0]))
    unscored = {
        system: sum(pair.unscored for pair in results if system in (pair.first, pair.second)) for system in systems
    }
    return ranking(systems, list(by_source.values()), unscored)
