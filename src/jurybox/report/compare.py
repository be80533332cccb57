"""Systems compared in pairs on the same sources, rubric by rubric, with one correction over every test that is shown.

A source where either summary is unscored is counted and bounded, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from jurybox.errors import SetupError, unknown_name
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import JuryCombine
from jurybox.report.notebooks import InNotebooks
from jurybox.report.pairing import Meeting, item_scores
from jurybox.report.summary import Summary, summarise
from jurybox.stats import Combine, holm
from jurybox.stats.flip_power import detectable_by_flips, needed_by_flips, step_of
from jurybox.stats.paired import LEVEL, POWER, mean_differences, sign_flip_tests, standardised, superiority
from jurybox.store import RunReader
from jurybox.types import SCALE, Estimate, Signature

Conclusion = Literal["first is higher", "second is higher", "no difference shown", "undefined"]
_GAP = 1e-9


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Two systems on one rubric. Everything is of the sources with both scores, but for `low` and `high`: the ends
    between which the difference lies whatever the unscored would have got. `holds` says whether the conclusion is the
    same at both ends. `aim` is the difference that `n_needed` sources would show."""

    first: str
    second: str
    means: tuple[float | None, float | None]
    difference: Estimate
    p: Estimate
    p_holm: float | None
    d_z: float | None
    superiority: Estimate
    low: float | None
    high: float | None
    holds: bool | None
    detectable: float | None
    aim: float | None
    n_needed: int | None
    missing: int

    @property
    def conclusion(self) -> Conclusion:
        return _conclusion(self.difference.value, self.p_holm)

    def as_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "conclusion": self.conclusion,
            "means": {"first": self.means[0], "second": self.means[1]},
            "difference": self.difference.as_dict(),
            "p": self.p.value,
            "p_method": self.p.method,
            "p_seed": self.p.seed,
            "p_holm": self.p_holm,
            "effect": {"d_z": self.d_z, "superiority": self.superiority.as_dict()},
            "bounds": {"low": self.low, "high": self.high, "conclusion_holds": self.holds},
            "detectable": self.detectable,
            "n_needed": self.n_needed,
            "n_needed_for": self.aim,
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True)
class RubricComparison:
    """Every pair on one rubric."""

    signature: Signature
    pairs: tuple[PairComparison, ...]


@dataclass(frozen=True, slots=True)
class Comparison(InNotebooks):
    """Every pair on every rubric. `tests` is over how many Holm corrects; `unfinished` counts judgments to be made."""

    path: str
    judge: str
    signature: str
    rubrics: Mapping[str, RubricComparison]
    tests: int
    unfinished: int

    @property
    def level(self) -> float:
        """What the smallest p must reach: detectable differences and needed sources are for this."""
        return LEVEL / max(self.tests, 1)

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.path,
            "judge": self.judge,
            "signature": self.signature,
            "correction": "holm",
            "tests": self.tests,
            "level": round(LEVEL, 9),
            "power": POWER,
            "rubrics": {
                rubric: {"signature": str(found.signature), "pairs": [pair.as_dict() for pair in found.pairs]}
                for rubric, found in self.rubrics.items()
            },
            "unfinished": self.unfinished,
        }


def compare_systems(
    reader: RunReader,
    systems: Sequence[str] = (),
    *,
    judge: str | None = None,
    rubrics: Sequence[str] = (),
    combine: Combine = "mean",
    jury: JuryCombine = "mean",
    difference: float | None = None,
) -> Comparison:
    """Every pair of the systems (all of them without names) on the rubrics (all of them without names)."""
    if difference is not None and not 0 < difference <= SCALE[-1] - SCALE[0]:
        raise SetupError(f"--difference {difference:g}: should be above 0 and at most {SCALE[-1] - SCALE[0]}")
    summary = summarise(reader, combine, jury)
    by = _judge(summary, judge)
    pairs = _pairs(reader, systems, by.systems)
    wanted = _known("rubric", rubrics, by.signatures)
    met = {
        rubric: [Meeting.of(pair, scores) for pair in pairs]
        for rubric, scores in ((rubric, item_scores(reader, rubric, by, combine)) for rubric in wanted)
    }
    return _tested(summary, by, met, difference)


def _judge(summary: Summary, judge: str | None) -> JudgeSummary:
    if judge is None or judge == summary.main.judge:
        return summary.main
    for found in summary.judges:
        if found.judge == judge:
            return found
    raise SetupError("--judge: " + unknown_name("judge", judge, [found.judge for found in summary.judges]))


def _known(kind: str, names: Sequence[str], known: Iterable[str]) -> list[str]:
    """The names, all of them known and each once; without names, everyone there is."""
    there = list(known)
    for name in names:
        if name not in there:
            raise SetupError(unknown_name(kind, name, there))
    if len(set(names)) < len(names):
        raise SetupError(f"a {kind} is named twice: {', '.join(names)}")
    return list(names) or there


def _pairs(reader: RunReader, systems: Sequence[str], known: Iterable[str]) -> list[tuple[str, str]]:
    chosen = _known("system", systems, known)
    if len(chosen) < 2:
        there = f"it has {chosen[0]} alone" if chosen else "nothing has been judged yet"
        named = f"only {chosen[0]} is named" if systems else f"{reader.path}: {there}"
        raise SetupError(f"a comparison takes two systems; {named}")
    return list(combinations(chosen, 2))


def _tested(summary: Summary, by: JudgeSummary, met: Mapping[str, Sequence[Meeting]], aim: float | None) -> Comparison:
    """All tests first: the correction, and with it what can be shown, depends on how many there are."""
    tests = {rubric: _tests(meetings) for rubric, meetings in met.items()}
    p_values = [test.value for row in tests.values() for test in row]
    at_ends = [ends for meetings in met.values() for ends in _p_at_ends(meetings)]
    corrected = _Corrected(p_values, holm(p_values), at_ends)
    count = sum(p is not None for p in p_values)
    rubrics: dict[str, RubricComparison] = {}
    place = 0
    for rubric, meetings in met.items():
        means = mean_differences([one.found for one in meetings], [one.n_unscored for one in meetings])
        pairs = []
        for meeting, mean, test in zip(meetings, means, tests[rubric], strict=True):
            pairs.append(_compared(meeting, mean, test, corrected, place, LEVEL / max(count, 1), aim))
            place += 1
        rubrics[rubric] = RubricComparison(by.signatures[rubric], tuple(pairs))
    signature = replace(by, signatures={rubric: by.signatures[rubric] for rubric in met}).signature
    return Comparison(summary.path, by.judge, signature, rubrics, count, summary.missing)


def _tests(meetings: Sequence[Meeting]) -> list[Estimate]:
    return sign_flip_tests([one.found for one in meetings], [one.n_unscored for one in meetings])


def _p_at_ends(meetings: Sequence[Meeting]) -> list[tuple[float | None, float | None]]:
    """p with the unscored filled in at their lowest and their highest; only where there are any."""
    columns = [end for one in meetings for end in (one.ends if one.n_unscored else (one.found[:0], one.found[:0]))]
    found = [test.value for test in sign_flip_tests(columns, [0] * len(columns))]
    return list(zip(found[::2], found[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class _Corrected:
    """Every p as it is and after Holm, and what each would be with its unscored at either end."""

    p_values: Sequence[float | None]
    adjusted: Sequence[float | None]
    at_ends: Sequence[tuple[float | None, float | None]]

    def holds(self, place: int, difference: float | None, ends: tuple[float, float]) -> bool | None:
        """Whether the conclusion is the same at both ends, all other tests being what they are."""
        if difference is None:
            return None
        if None in self.at_ends[place]:
            return True
        mine = _conclusion(difference, self.adjusted[place])
        return all(
            _conclusion(end, holm([*self.p_values[:place], p, *self.p_values[place + 1 :]])[place]) == mine
            for end, p in zip(ends, self.at_ends[place], strict=True)
        )


def _conclusion(difference: float | None, p_holm: float | None) -> Conclusion:
    if difference is None or p_holm is None:
        return "undefined"
    if p_holm > LEVEL or abs(difference) <= _GAP:
        return "no difference shown"
    return "first is higher" if difference > 0 else "second is higher"


def _compared(
    meeting: Meeting, mean: Estimate, test: Estimate, corrected: _Corrected, place: int, level: float, aim: float | None
) -> PairComparison:
    low, high = (float(end.mean()) for end in meeting.ends) if len(meeting.scores[0]) else (None, None)
    d_z = standardised(meeting.found)
    spread = 0.0 if d_z is None else float(meeting.found.std(ddof=1))
    wanted = abs(mean.value) if aim is None and mean.value is not None else aim
    parts = step_of(meeting.found)
    return PairComparison(
        meeting.first,
        meeting.second,
        meeting.means,
        mean,
        test,
        corrected.adjusted[place],
        d_z,
        superiority(meeting.found, meeting.n_unscored),
        low,
        high,
        None if low is None or high is None else corrected.holds(place, mean.value, (low, high)),
        detectable_by_flips(mean.n, spread, level, parts),
        wanted,
        needed_by_flips(wanted, spread, level, parts) if wanted else None,
        meeting.missing,
    )
