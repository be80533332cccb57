"""Judgments as tests: the fixture `jurybox` judges data and fails a test whose summaries, or whose judge, fall short.

Loaded by pytest wherever jurybox is installed, so it imports nothing of jurybox until a test uses the fixture. Run
files go to the test's own `tmp_path` unless `out` names one; replies are cached as for `jurybox run`, so that what was
asked once is not paid again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jurybox.api.jobs import Data
    from jurybox.report.stress import Stress
    from jurybox.report.summary import Summary
    from jurybox.types import Estimate, Rubric

JUDGE = "embedded"
MARKER = "jurybox_stress: damages summaries on purpose to test a judge; slow, leave out with -m 'not jurybox_stress'"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def jurybox(tmp_path: Path) -> Jurybox:
    """jurybox.check(data, rubrics=…, at_least={rubric: mean}) and jurybox.stress(data, rubrics=…, at_least={…})."""
    return Jurybox(tmp_path)


class Jurybox:
    """What the fixture hands to a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0

    def check(
        self,
        data: Data,
        *,
        rubrics: str | Sequence[str | Rubric],
        at_least: Mapping[str, float],
        judge: str | Sequence[str] = JUDGE,
        strict: bool = False,
        **options: Any,
    ) -> Summary:
        """Judge the data; fail unless every system's mean reaches `at_least` on each rubric named there.

        `strict` fails when anything ends unscored. Other options are those of `jurybox.evaluate`.
        """
        from jurybox.api import judging
        from jurybox.report.table import summary_text

        __tracebackhide__ = True
        _refuse_unknown(at_least, rubrics)
        run = judging.evaluate(data, rubrics=rubrics, judge=judge, out=options.pop("out", self._file("run")), **options)
        found = run.show()
        failed = [line for rubric, least in at_least.items() for line in _below(found, rubric, least)]
        if strict and found.unscored:
            failed.append(f"{found.unscored:,} judgments ended unscored")
        _fail("the summaries fall short", failed, summary_text(found))
        return found

    def stress(
        self,
        data: Data,
        *,
        rubrics: str | Sequence[str | Rubric],
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        judge: str | Sequence[str] = JUDGE,
        **options: Any,
    ) -> Stress:
        """Damage good summaries; fail unless the judge notices enough and is fooled little enough.

        Bounds are by figure, as in `at_least={"detection": 0.8}, at_most={"attack": 0.05}`, for every rubric or for
        one (`"faithfulness.detection"`). Other options are those of `jurybox.stress`.
        """
        from jurybox.api import jobs, stressing
        from jurybox.report.stress_gates import failed_gates, refuse_odd_gates
        from jurybox.report.stress_text import stress_text

        __tracebackhide__ = True
        names = [rubric.name for rubric in jobs.find_rubrics(rubrics)]
        for option, bounds in (("at_least", at_least), ("at_most", at_most)):
            refuse_odd_gates(option, bounds or {}, names)
        out = options.pop("out", self._file("stress"))
        found = stressing.stress(data, rubrics=rubrics, judge=judge, out=out, **options)
        _fail("the judge falls short", failed_gates(found, at_least or {}, at_most or {}), stress_text(found))
        return found

    def _file(self, kind: str) -> Path:
        self._files += 1
        return self._folder / f"jurybox-{self._files}.{kind}.db"


def _refuse_unknown(at_least: Mapping[str, float], rubrics: str | Sequence[str | Rubric]) -> None:
    from jurybox.api import jobs
    from jurybox.errors import SetupError, unknown_name

    known = [rubric.name for rubric in jobs.find_rubrics(rubrics)]
    for rubric in at_least:
        if rubric not in known:
            raise SetupError(f"at_least: {unknown_name('rubric', rubric, known)}")


def _below(found: Summary, rubric: str, least: float) -> Iterator[str]:
    for system, estimates in found.main.systems.items():
        estimate = estimates.get(rubric)
        if estimate is None or estimate.value is None:
            yield f"{rubric} of {system} has no score; at least {least:g} was asked for"
        elif estimate.value < least:
            yield f"{rubric} of {system} is {_shown(estimate)}; at least {least:g} was asked for"


def _shown(estimate: Estimate) -> str:
    interval = "" if estimate.low is None else f" ({estimate.low:.2f}-{estimate.high:.2f})"
    return f"{estimate.value:.2f}{interval}, n={estimate.n:,}, {estimate.n_unscored:,} unscored"


def _fail(what: str, lines: Sequence[str], table: str) -> None:
    __tracebackhide__ = True
    if lines:
        told = "\n".join(f"  {line}" for line in lines)
        pytest.fail(f"{what}:\n{told}\n\n{table}")
