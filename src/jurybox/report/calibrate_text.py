"""Calibrations as plain text in 80 columns: one just fitted, all that a run holds, and what one did to a table.

Returns text, prints nothing.
"""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from jurybox.report.calibrate import Fit, KeptCalibrations
from jurybox.report.judge import IN_SAMPLE, JudgeSummary
from jurybox.store import NamedCalibration
from jurybox.types import Estimate

_GAP = "  "
_HEAD = ("rubric", "map", "items", "before", "after", "gain")
_WORDS = (
    "RMSE against people (0 is best) before and after, each source scored by a map fitted on other sources; 95 % "
    "interval over sources. Gain: before less after."
)
_WORTH = {
    "better": "Lowers the error",
    "unclear": "Lower, but perhaps by luck (the gain's interval holds 0)",
    "no better": "MAKES IT WORSE or no better; do not use it for",
    "unknown": "Nobody can tell; do not use it for",
}
_USELESS = ("no better", "unknown")


def fit_text(fit: Fit, width: int = 80) -> str:
    """One line of figures a rubric, what they come to in words, and how to use it."""
    done = _kept(fit)
    head = "\n".join(
        _filled(line, width) for line in (f"Calibration {fit.name}: {done}", f"Judge {fit.judge}", _humans([fit.human]))
    )
    parts = [head, *_figures(fit.rubrics, width), *_remarks(fit, width)]
    if all(one.check.worth in _USELESS for one in fit.rubrics.values()):
        parts.append(_filled("Not worth applying: no rubric is judged better by it.", width))
    else:
        use = f"Nothing is calibrated until you ask: jurybox show {shlex.quote(fit.run)} --calibration {fit.name}"
        parts += [textwrap.fill(IN_SAMPLE, width), _filled(use, width)]
    return "\n\n".join(parts)


def _kept(fit: Fit) -> str:
    """kept in RUN.db, …"""
    what = set((fit.kept or {}).values())
    if not what:
        return "not kept"
    if what == {"the same"}:
        return f"{fit.run} holds it already; nothing was changed"
    return f"kept in {fit.run}" + (", in the place of another" if "replaced" in what else "")


def kept_text(kept: KeptCalibrations, width: int = 80) -> str:
    """Everything that a run file holds, by name and judge."""
    if not kept.found:
        return _filled(f"{kept.run} holds no calibration; `jurybox calibrate {kept.run} --name NAME` fits one", width)
    parts = []
    for (name, judge), group in groupby(kept.found, lambda one: (one.name, one.judge)):
        maps = {one.rubric: one for one in group}
        head = [f"Calibration {name}", f"Judge {judge}", _humans(one.human for one in maps.values())]
        made = dict.fromkeys(f"{one.at} by jurybox {one.version}" for one in maps.values())
        head.append(f"Fitted {', '.join(made)}")
        parts.append("\n".join(_filled(line, width) for line in head))
        parts += _figures(maps, width)
        parts.append("Marks in signatures:\n" + "\n".join(f"{_GAP}{one.mark}  {one.rubric}" for one in maps.values()))
    return "\n\n".join((*parts, textwrap.fill(IN_SAMPLE, width)))


def _humans(origins: Iterable[str]) -> str:
    return f"Human ratings: {', '.join(dict.fromkeys(origins))}"


def _figures(maps: Mapping[str, NamedCalibration], width: int) -> list[str]:
    rows: list[Sequence[str]] = [_HEAD]
    for rubric, one in maps.items():
        check = one.check
        rows.append(
            (
                rubric,
                one.map.kind,
                f"{one.map.n:,}",
                _value(check.before),
                _value(check.after),
                _value(check.gain, signed=True),
            )
        )
        sources = f"{one.sources:,} sources"
        rows.append(
            ("", sources, "", _interval(check.before), _interval(check.after), _interval(check.gain, signed=True))
        )
    return [textwrap.fill(_WORDS, width), _grid(rows), "\n".join(_verdicts(maps, width))]


def _verdicts(maps: Mapping[str, NamedCalibration], width: int) -> list[str]:
    """What the figures come to, rubrics of one verdict together."""
    told = []
    for worth, words in _WORTH.items():
        named = [rubric for rubric, one in maps.items() if one.check.worth == worth]
        if named:
            told.append(f"{words}: {', '.join(named)}")
    flat = [
        f"{rubric} ({_value(one.check.constant)})"
        for rubric, one in maps.items()
        if one.check.worth != "unknown" and not one.check.beats_constant
    ]
    if flat:
        told.append(
            "Not shown to be better than people's mean for every item (its RMSE): "
            f"{', '.join(flat)}. There the gain is the right level; that the judge tells one item from another is "
            "not shown."
        )
    lost = {rubric: one.check.before.n_unscored for rubric, one in maps.items() if one.check.before.n_unscored}
    if lost:
        told.append("Rated but without a score: " + ", ".join(f"{rubric} {count:,}" for rubric, count in lost.items()))
    return [_filled(line, width) for line in told]


def _remarks(fit: Fit, width: int) -> list[str]:
    told = []
    if fit.skipped:
        told.append("No map: " + "; ".join(f"{rubric} ({why})" for rubric, why in fit.skipped.items()))
    if fit.foreign:
        told.append(f"{fit.foreign:,} rated items are not in the run and were not used")
    return ["\n".join(_filled(line, width) for line in told)] if told else []


def calibrated_by(judge: JudgeSummary) -> str:
    """For the heading of a table: by what its scores are calibrated, if they are."""
    return f", calibrated by {judge.calibration}" if judge.maps else ""


def raw_text(judge: JudgeSummary, width: int) -> list[str]:
    """Beneath the heading of a table: what is raw although a calibration was asked for."""
    if not judge.uncalibrated:
        return []
    what = f"of {', '.join(judge.uncalibrated)}" if judge.maps else "of this judge"
    return [_filled(f"NOT calibrated, raw scores, because '{judge.calibration}' has no map {what}", width)]


def marked(judge: JudgeSummary) -> JudgeSummary:
    """The judge as its table shows it: where only some rubrics are calibrated, the others have it in their name."""
    if not judge.maps or not judge.uncalibrated:
        return judge
    names = {rubric: rubric if rubric in judge.maps else f"{rubric} (raw)" for rubric in judge.signatures}
    return replace(
        judge,
        signatures={names[rubric]: found for rubric, found in judge.signatures.items()},
        systems={name: {names[rubric]: one for rubric, one in found.items()} for name, found in judge.systems.items()},
        distributions={
            name: {names[rubric]: counts for rubric, counts in found.items()}
            for name, found in judge.distributions.items()
        },
    )


def applied_text(judge: JudgeSummary, width: int) -> list[str]:
    """Beneath a table: what each of its maps is worth, and how many of its items the map has seen."""
    if not judge.maps:
        return []
    words = f"Calibrated by {judge.calibration}: RMSE before -> after on sources left out; how many of the items shown "
    words += "each map was fitted on"
    rows = [_applied(judge, rubric, one) for rubric, one in judge.maps.items()]
    told = [_filled(words, width), textwrap.indent(_grid(rows), _GAP)]
    if judge.moved:
        line = f"The run has gone on under other settings since the fit: {', '.join(judge.moved)}"
        told.append(_filled(line, width))
    if judge.samples or getattr(judge, "alpha", None):
        told.append(_filled("Spread between samples and agreement between judges are of raw scores.", width))
    return ["\n".join(told)]


def _applied(judge: JudgeSummary, rubric: str, one: NamedCalibration) -> tuple[str, ...]:
    scored = sum(estimates[rubric].n for estimates in judge.systems.values() if rubric in estimates)
    warning = {"better": "", "unclear": "perhaps luck"}.get(one.check.worth, "do not use it")
    rmse = f"{_value(one.check.before)} -> {_value(one.check.after)}"
    return rubric, one.map.kind, rmse, f"{one.map.n:,} of {scored:,}", warning


def _value(estimate: Estimate, signed: bool = False) -> str:
    if estimate.value is None:
        return "none"
    return f"{estimate.value:+z.2f}" if signed else f"{estimate.value:z.2f}"


def _interval(estimate: Estimate, signed: bool = False) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:+z.2f} to {estimate.high:+z.2f}" if signed else f"{estimate.low:z.2f}-{estimate.high:z.2f}"


def _grid(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        _GAP.join(cell.ljust(wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _filled(text: str, width: int) -> str:
    """Filled with a hanging indent; a path is one word, to be copied whole."""
    return textwrap.fill(text, width, subsequent_indent=_GAP, break_on_hyphens=False, break_long_words=False)
