"""Systems in the order of their means, rubric by rubric, with letters for those that no test tells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jurybox.report.compare import Comparison, PairComparison, compare_systems
from jurybox.report.html.heat import Column
from jurybox.report.judge import JudgeSummary
from jurybox.stats.letters import letter_groups
from jurybox.stats.paired import LEVEL, least_p
from jurybox.store import RunReader
from jurybox.types import Estimate

# With more systems the pairs are so many that Holm leaves hardly any told apart, and a page cannot show them.
MOST_SYSTEMS = 20


@dataclass(frozen=True, slots=True)
class Place:
    """A system on one rubric. `best` says that no test tells it apart from the highest mean, where any test does."""

    rank: int
    system: str
    estimate: Estimate
    letters: tuple[str, ...]
    best: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """One rubric: systems by their means; systems without a score are left to the end."""

    column: Column
    places: tuple[Place, ...]
    tested: bool


@dataclass(frozen=True, slots=True)
class Rankings:
    """Every rubric, and in words how the letters were found, or why there are none."""

    rubrics: tuple[Ranking, ...]
    method: str


def rankings(reader: RunReader, judge: JudgeSummary, known: Mapping[str, Column]) -> Rankings:
    """The rankings of the run's main judge; letters from the paired tests of `compare`."""
    count = len(judge.systems)
    comparison = compare_systems(reader) if 2 <= count <= MOST_SYSTEMS else None
    rubrics = tuple(
        _ranking(known.get(rubric, Column(rubric, rubric, "")), judge, _pairs(comparison, rubric))
        for rubric in judge.signatures
    )
    if all(place.estimate.value is None for one in rubrics for place in one.places):
        return Rankings((), "Nothing was scored, so there is nothing to rank.")
    return Rankings(rubrics, _method(comparison, count))


def _pairs(comparison: Comparison | None, rubric: str) -> Sequence[PairComparison] | None:
    return None if comparison is None else comparison.rubrics[rubric].pairs


def _ranking(column: Column, judge: JudgeSummary, pairs: Sequence[PairComparison] | None) -> Ranking:
    found = {system: row[column.name] for system, row in judge.systems.items() if column.name in row}
    order = sorted(found, key=lambda system: -(found[system].value or 0))
    letters: Mapping[str, tuple[str, ...]] = {}
    if pairs is not None and len(order) > 1:
        scored = [system for system in order if found[system].value is not None]
        letters = letter_groups(scored, [(pair.first, pair.second) for pair in pairs if _told_apart(pair)])
    parted = len({letter for mine in letters.values() for letter in mine}) > 1
    places, rank, before = [], 0, None
    for number, system in enumerate(order, 1):
        value = found[system].value
        rank = rank if value == before and number > 1 else number
        before = value
        mine = letters.get(system, ())
        best = parted and bool(set(mine) & set(letters[order[0]]))
        places.append(Place(rank, system, found[system], mine, best))
    return Ranking(column, tuple(places), bool(letters))


def _told_apart(pair: PairComparison) -> bool:
    return pair.conclusion in ("first is higher", "second is higher")


def _method(comparison: Comparison | None, systems: int) -> str:
    if systems > MOST_SYSTEMS:
        return (
            f"With {systems:,} systems there are too many pairs for letters (at most {MOST_SYSTEMS} systems); "
            "`jurybox compare RUN.db A B` tests the ones you name."
        )
    if comparison is None:
        return "One system alone: there is nothing to compare it with."
    tests = f"{comparison.tests:,} test" + ("" if comparison.tests == 1 else "s")
    most = max(pair.difference.n for found in comparison.rubrics.values() for pair in found.pairs)
    if least_p(most) > comparison.level:
        return (
            f"Every system has the same letter: {most:,} sources cannot tell any two apart after a correction over "
            f"{tests}, however large the difference. Paired sign-flip tests, p corrected by Holm ({LEVEL:.0%})."
        ).replace("%", " %")
    return (
        "Systems that share a letter are not told apart. Each pair was compared on the same sources by a sign-flip "
        f"test, p corrected by Holm over {tests} ({LEVEL:.0%}); letters by insert and absorb (Piepho 2004). "
        "Not told apart does not mean equal: with few sources only large differences show. Systems in bold are not "
        "told apart from the one with the highest mean."
    ).replace("%", " %")
