"""Plain text for a terminal or a log: a run's table and a plan's. Returns text, prints nothing.

Fits 80 columns, but for signatures: each is one word, to be copied whole.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from jurybox.report.summary import JudgeSummary, Summary
from jurybox.runner import Plan
from jurybox.types import Estimate

_GAP = "  "
# A system's name beyond this goes on in the next line of the head.
NAME_WIDTH = 24


def summary_text(summary: Summary, width: int = 80) -> str:
    """One table a judge, what was lost, and the signatures."""
    parts = [_judge_text(judge, width) for judge in summary.judges]
    if summary.missing:
        told = (
            f"Unfinished: {summary.missing:,} judgments are still to be made; the same `jurybox run` command goes on."
        )
        parts.append(textwrap.fill(told, width))
    return "\n\n".join(parts)


def _judge_text(judge: JudgeSummary, width: int) -> str:
    if not judge.systems:
        return f"Judge {judge.judge}: no judgments yet"
    rubrics = list(judge.signatures)
    label_width = max(len(name) for name in rubrics)
    columns = {system: _column(system, rubrics, estimates) for system, estimates in judge.systems.items()}
    tables = [
        _grid(_levelled([_labels(rubrics), *(columns[system] for system in systems)]))
        for systems in _folded(columns, width - label_width)
    ]
    head = f"Judge {judge.judge}\nmean score 1-5 (5 is best), 95 % interval over items, n scored"
    signatures = "\n".join(f"{_GAP}{signature}" for signature in judge.signatures.values())
    return "\n\n".join((head, *tables, f"{_losses(judge, width)}\nSignatures:\n{signatures}"))


def _labels(rubrics: Sequence[str]) -> list[str]:
    return ["", *(line for rubric in rubrics for line in (rubric, ""))]


def _column(system: str, rubrics: Sequence[str], estimates: Mapping[str, Estimate]) -> list[str]:
    """A system's column: its name, then two lines a rubric, the mean with its n, and the interval."""
    lines = textwrap.wrap(system, NAME_WIDTH)
    for rubric in rubrics:
        estimate = estimates.get(rubric)
        lines += ["-", ""] if estimate is None else [_mean(estimate), _interval(estimate)]
    return lines


def _mean(estimate: Estimate) -> str:
    lost = f" -{estimate.n_unscored}" if estimate.n_unscored else ""
    value = "none" if estimate.value is None else f"{estimate.value:.2f}"
    return f"{value} n={estimate.n:,}{lost}"


def _interval(estimate: Estimate) -> str:
    return "" if estimate.low is None else f"{estimate.low:.2f}-{estimate.high:.2f}"


def _folded(columns: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """Systems in groups that fit the width beside the rubrics' names."""
    groups: list[list[str]] = [[]]
    used = 0
    for system, lines in columns.items():
        needed = len(_GAP) + max(map(len, lines))
        if groups[-1] and used + needed > width:
            groups.append([])
            used = 0
        groups[-1].append(system)
        used += needed
    return groups


def _levelled(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Columns of one height: shorter names stand at the bottom of the head."""
    height = max(map(len, columns))
    return [[""] * (height - len(column)) + list(column) for column in columns]


def _grid(columns: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in columns]
    rows = zip(*columns, strict=True)
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _losses(judge: JudgeSummary, width: int) -> str:
    lost = {
        rubric: ", ".join(f"{count:,} {status}" for status, count in counts.items() if status != "scored")
        for rubric, counts in judge.statuses.items()
    }
    told = [
        textwrap.fill(f"{rubric}: {what}", width, initial_indent=_GAP, subsequent_indent=_GAP * 2)
        for rubric, what in lost.items()
        if what
    ]
    return "Unscored: none" if not told else "Unscored (shown as -k beside n):\n" + "\n".join(told)


def plan_text(plan: Plan) -> str:
    """A plan in a few lines, one block a judge, with what was assumed."""
    lines = [f"{plan.items:,} items by {plan.systems:,} systems; {plan.judgments:,} judgments"]
    for name, judge in plan.judges.items():
        cost = "unknown (give --price IN,OUT)" if judge.cost is None else f"${judge.cost:,.2f}"
        lines += [
            "",
            f"Judge {name}",
            f"  calls to send    {judge.calls:,}",
            f"  already stored   {judge.stored:,}",
            f"  tokens in        about {judge.tokens_in:,}",
            f"  tokens out       about {judge.tokens_out:,}",
            f"  cost             {cost}",
            f"  time             about {_duration(judge.seconds)}",
        ]
    assumed = plan.assumptions
    lines += [
        "",
        f"Assumed: {assumed['characters_a_token']:g} characters a token, {assumed['tokens_out_a_rubric']:g} tokens out "
        "a rubric,",
        f"{assumed['seconds_a_call']:.3g} s a call, {assumed['concurrency']:g} in flight. Nothing was sent.",
    ]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
