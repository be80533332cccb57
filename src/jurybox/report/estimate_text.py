"""Estimates from few human and many judge scores as plain text in 80 columns. Returns text, prints nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from jurybox.report.estimate import RANDOM, Estimates, RubricEstimates, SystemEstimate
from jurybox.types import Estimate

_GAP = "  "
_HEAD = ("system", "PPI++", "people only", "judge", "labels", "worth", "halve")
_WORDS = (
    "Mean score 1-5 people would give (5 is best), 95 % interval over sources. PPI++ joins the labels with the judge's "
    "scores of all items; worth: as many labels alone would say as much; halve: labels more that halve the interval "
    "(>k: all k left do not). The judge's own mean is not what people would say."
)
# How many sources are named before the rest is left to --json.
_NAMED = 8


def estimates_text(found: Estimates, width: int = 80) -> str:
    """One table a rubric, then what to label next, and the signatures."""
    head = f"Judge {found.judge}\nHuman ratings: {found.human}\n\n" + textwrap.fill(_WORDS, width)
    parts = [head, *(_rubric_text(rubric, told, width) for rubric, told in found.rubrics.items())]
    if any(told.next.items for told in found.rubrics.values()):
        parts.append(textwrap.fill(RANDOM, width))
    parts += [textwrap.fill(line, width, subsequent_indent=_GAP) for line in _remarks(found)]
    signatures = "\n".join(f"{_GAP}{told.signature}" for told in found.rubrics.values())
    return "\n\n".join((*parts, f"Signatures:\n{signatures}"))


def _remarks(found: Estimates) -> list[str]:
    told = []
    if found.unrated:
        told.append(f"Left out, because nobody rated them: {', '.join(found.unrated)}")
    if found.foreign:
        told.append(f"{found.foreign:,} rated items are not in the run and were not used")
    return told


def _rubric_text(rubric: str, found: RubricEstimates, width: int) -> str:
    rows = [(system, *_cells(told)) for system, told in found.systems.items()]
    lines = [rubric, _grid([_HEAD, *rows], width)]
    lines += [textwrap.fill(line, width, subsequent_indent=_GAP) for line in _notes(found)]
    return "\n".join(lines)


def _cells(told: SystemEstimate) -> tuple[str, ...]:
    found = told.found
    judge = "none" if found.judge.value is None else f"{found.judge.value:.2f}"
    worth = "-" if found.effective_n is None else f"{found.effective_n:,.0f}"
    return (
        _shown(found.ppi),
        _shown(found.human),
        judge,
        f"{told.labelled:,}/{told.items:,}",
        worth,
        _to_halve(told),
    )


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} {estimate.low:.2f}-{estimate.high:.2f}"


def _to_halve(told: SystemEstimate) -> str:
    if told.needed is None:
        return "-"
    return f">{told.needed.available:,}" if told.needed.labels is None else f"+{told.needed.labels:,}"


def _grid(rows: Sequence[Sequence[str]], width: int) -> str:
    """Columns as wide as they need; a name too long for what is left stands on a line of its own."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(width - sum(widths[1:]) - len(_GAP) * (len(widths) - 1), 10)
    widths[0] = min(widths[0], room)
    lines = []
    for name, *cells in rows:
        fits = len(name) <= widths[0]
        lines += [] if fits else textwrap.wrap(name, width)
        padded = [
            (name if fits else "").ljust(widths[0]),
            *(cell.ljust(wide) for cell, wide in zip(cells, widths[1:], strict=True)),
        ]
        lines.append(_GAP.join(padded).rstrip())
    return "\n".join(lines)


def _notes(found: RubricEstimates) -> list[str]:
    told = []
    undefined = [system for system, each in found.systems.items() if each.found.ppi.value is None]
    if undefined:
        told.append(f"No estimate from fewer than 2 labelled sources: {', '.join(undefined)}")
    unscored = sum(each.found.judge.n_unscored for each in found.systems.values())
    if unscored:
        told.append(f"{unscored:,} items without a score of the judge; a label there counts, the item does not")
    difference = found.shift.difference
    if found.shift.unlike and difference.value is not None:
        told.append(
            f"WARNING: the labelled items look unlike the rest: the judge gives them {difference.value:+.2f} "
            f"({difference.low:+.2f} to {difference.high:+.2f}) within systems. PPI++ assumes labels at random; if "
            "they were picked, these means are biased."
        )
    told += _calibration(found)
    if found.next.items:
        told.append(_label_next(found))
    return told


def _calibration(found: RubricEstimates) -> list[str]:
    """What each map would make of the judge's error, on sources it was not learned on."""
    checks = [check for check in found.calibration.values() if check.after.value is not None]
    if not checks:
        return []
    after = ", ".join(f"{check.kind} {_shown(check.after)}" for check in checks)
    return [f"RMSE of the judge {_shown(checks[0].before)}; calibrated, on other sources: {after}. Not applied."]


def _label_next(found: RubricEstimates) -> str:
    sources = list(dict.fromkeys(id_ for id_, _ in found.next.items))
    named = ", ".join(sources[:_NAMED])
    more = len(sources) - _NAMED
    rest = f" and {more:,} more source{'' if more == 1 else 's'} (--json lists every item)" if more > 0 else ""
    return f"Label next, {len(found.next.items):,} items ({found.next.why}; seed {found.next.seed}): {named}{rest}"
