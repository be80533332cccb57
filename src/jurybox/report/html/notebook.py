"""How results look in a notebook: tables instead of `repr`. The results themselves stay plain (`report.notebooks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from jurybox.report.agree import Agreement
from jurybox.report.compare import Comparison
from jurybox.report.duels import Duels
from jurybox.report.estimate import Estimates
from jurybox.report.html.figures import CORRELATIONS
from jurybox.report.html.heat import Column, heat_map
from jurybox.report.html.people import agreement_view
from jurybox.report.html.rendering import environment, text_of
from jurybox.report.judge import JudgeSummary
from jurybox.report.summary import Summary
from jurybox.types import Estimate


def to_html(result: Any) -> str:
    """The table of any kind of result."""
    tables: dict[type, Callable[[Any], str]] = {
        Agreement: agreement_html,
        Comparison: comparison_html,
        Duels: duels_html,
        Estimate: estimate_html,
        Estimates: estimates_html,
        JudgeSummary: judge_html,
        Summary: summary_html,
    }
    return next(table(result) for kind, table in tables.items() if isinstance(result, kind))


def estimate_html(found: Estimate) -> str:
    return _shown("estimate", found)


def judge_html(found: JudgeSummary) -> str:
    return _shown("judge", heat_map(found, _columns(found.signatures)))


def summary_html(found: Summary) -> str:
    main = found.main
    known = _columns(rubric for judge in (main, *found.judges) for rubric in judge.signatures)
    others = [heat_map(judge, known) for judge in found.judges if judge is not main]
    return _shown("summary", heat_map(main, known), others, found.missing, found.spent)


def agreement_html(found: Agreement) -> str:
    return _shown("agreement", found, agreement_view(found, _columns(found.rubrics)), CORRELATIONS)


def comparison_html(found: Comparison) -> str:
    return _shown("comparison", found)


def estimates_html(found: Estimates) -> str:
    return _shown("estimates", found)


def duels_html(found: Duels) -> str:
    return _shown("duels", found)


def _columns(rubrics: Iterable[str]) -> dict[str, Column]:
    return {rubric: Column(rubric, rubric.replace("_", " ").capitalize(), "") for rubric in rubrics}


def _shown(macro: str, *values: Any) -> str:
    template = environment().get_template("notebook.html.j2").make_module({"style": text_of("components.css")})
    return str(getattr(template, macro)(*values))
