"""Plain text for a terminal or a log: a run's tables. Returns text, prints nothing.

Fits 80 columns, but for signatures: each is one word, to be copied whole.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from jurybox.report.calibrate_text import applied_text, calibrated_by, marked, raw_text
from jurybox.report.judge import IN_SAMPLE, JudgeSummary
from jurybox.report.jury import BASELINE, JurySummary
from jurybox.report.summary import Summary
from jurybox.types import DIRECT, Estimate

_LONGEST_CAUSE = 300
_GAP = "  "
# A system's name beyond this goes on in the next line of the head.
NAME_WIDTH = 24
_BARS = "▁▂▃▄▅▆▇█"
_JURY_WORDS = {"mean": "mean", "median": "median", "learned": "weighted mean"}


def summary_text(summary: Summary, width: int = 80) -> str:
    """The jury first, then one table a judge, what was lost, the signatures, and what was spent."""
    parts = [] if summary.jury is None else _jury_text(summary.jury, width)
    baselines_last = sorted(summary.judges, key=lambda judge: judge.judge.startswith(BASELINE))
    parts += [_judge_text(judge, width) for judge in baselines_last]
    if any(judge.maps for judge in (summary.main, *summary.judges)):
        parts.append(_filled(IN_SAMPLE, width))
    if summary.spent.get("tokens_in") or summary.spent.get("cost", 0) != 0:
        parts.append(textwrap.fill(_spent(summary.spent), width))
    if summary.missing:
        told = (
            f"Unfinished: {summary.missing:,} judgments are still to be made; the same `jurybox run` command goes on."
        )
        parts.append(textwrap.fill(told, width))
    return "\n\n".join(parts)


def _judge_text(judge: JudgeSummary, width: int) -> str:
    if not judge.systems:
        return f"Judge {judge.judge}: no judgments yet"
    means = f"mean score 1-5 (5 is best){calibrated_by(judge)}, 95 % interval over items, n scored"
    about = _filled(f"{means}{_bars_told(judge)}", width)
    head = "\n".join((f"Judge {judge.judge}", about, *raw_text(judge, width)))
    shown = marked(judge)
    grids = tables(list(shown.signatures), shown.systems, width, shown.distributions) + applied_text(judge, width)
    foot = "\n".join((_losses(judge, width), *_remarks(judge, width), _signatures(judge)))
    return "\n\n".join((head, *grids, *_samples_text(judge, width), foot))


def _remarks(judge: JudgeSummary, width: int) -> list[str]:
    """What to know of a judge beside its scores."""
    told = [f"Its server has no {feature}: {said}" for feature, said in judge.lacks.items()]
    if judge.quotes is not None and judge.quotes.absent:
        told.append(f"{judge.quotes.absent:,} of {judge.quotes.quotes:,} quotes are not in the material")
    elif judge.quotes is not None:
        told.append(f"All {judge.quotes.quotes:,} quotes are in the material")
    return [textwrap.fill(line, width, subsequent_indent=_GAP) for line in told]


def _bars_told(judge: JudgeSummary) -> str:
    return "; bars: how many items are nearest to 1, 2, 3, 4, 5" if judge.distributions else ""


def sparkline(counts: Sequence[int]) -> str:
    """A bar a count, the highest one full; a dot where there is nothing, for an empty place is easily overlooked."""
    most = max(counts, default=0)
    return "".join(_BARS[-(-count * len(_BARS) // most) - 1] if count else "·" for count in counts)


def _samples_text(judge: JudgeSummary, width: int) -> list[str]:
    """How far samples differ; a judge that computes gives the same one each time, and nothing is said of it."""
    drawn = {name: found for name, found in judge.samples.items() if judge.signatures[name].layout != DIRECT}
    if not drawn:
        return []
    columns = {
        "spread": {rubric: found.spread for rubric, found in drawn.items()},
        "agreement": {rubric: found.agreement for rubric, found in drawn.items()},
    }
    least, most = min(found.least for found in drawn.values()), max(found.most for found in drawn.values())
    taken = f"{most}" if least == most else f"{least}-{most}"
    head = _filled(
        f"Between samples of one item ({taken} scored): standard deviation, share of equal pairs, 95 % interval over "
        "items, n items with two or more",
        width,
    )
    return [head, *tables(list(drawn), columns, width)]


def _jury_text(jury: JurySummary, width: int) -> list[str]:
    """A jury's table, its agreement, and what its weights were learned from."""
    if not jury.systems:
        return []
    members = "\n".join(f"{_GAP}{judge}" for judge in jury.judges)
    count = len(jury.judges)
    means = _filled(
        f"mean score 1-5 (5 is best){calibrated_by(jury)}, 95 % interval over items, n scored by every judge; -k "
        f"counts items that were not{_bars_told(jury)}",
        width,
    )
    head = f"Jury: {_JURY_WORDS[jury.combine]} of {count} judges\n{members}\n"
    head += "\n".join((means, *raw_text(jury, width)))
    absent = [
        f"{_GAP}{rubric}: without {', '.join(judge for judge in jury.judges if judge not in panel)}"
        for rubric, panel in jury.panels.items()
        if len(panel) < count
    ]
    shown = marked(jury)
    parts = [head, *tables(list(shown.signatures), shown.systems, width, shown.distributions)]
    parts += applied_text(jury, width)
    if absent:
        parts.append("Smaller panels (the rubric was not asked, or is unsupported):\n" + "\n".join(absent))
    parts.append(_signatures(jury))
    return ["\n\n".join(parts + _agreement_text(jury, width) + _weights_text(jury, width))]


def _agreement_text(jury: JurySummary, width: int) -> list[str]:
    if not jury.alpha:
        return []
    levels = {
        level: {rubric: found[level] for rubric, found in jury.alpha.items()} for level in ("ordinal", "interval")
    }
    head = "Agreement between the judges: Krippendorff's alpha (1 is perfect, 0 is chance), 95 % interval over sources"
    return [_filled(head, width), *tables(list(jury.alpha), levels, width)]


def _weights_text(jury: JurySummary, width: int) -> list[str]:
    if not jury.learned:
        return []
    told = []
    for rubric, found in jury.learned.items():
        given = ", ".join(f"{judge} {weight:.2f}" for judge, weight in jury.weights[rubric].items())
        line = f"{rubric}: {given} (from {found.n:,} items of {found.sources:,} sources)"
        told.append(textwrap.fill(line, width, initial_indent=_GAP, subsequent_indent=_GAP * 2))
    rmse = {
        "RMSE learned": {rubric: found.learned["rmse"] for rubric, found in jury.learned.items()},
        "RMSE mean": {rubric: found.plain["rmse"] for rubric, found in jury.learned.items()},
        "RMSE gain": {rubric: found.gain for rubric, found in jury.learned.items()},
    }
    pearson = {
        "r learned": {rubric: found.learned["pearson"] for rubric, found in jury.learned.items()},
        "r mean": {rubric: found.plain["pearson"] for rubric, found in jury.learned.items()},
    }
    head = _filled(
        "Against people, on sources left out one by one: RMSE and Pearson's r with learned weights and with the plain "
        "mean, 95 % interval over sources",
        width,
    )
    weights = "Weights learned from human ratings\n" + "\n".join(told)
    rubrics = list(jury.learned)
    return [weights, head, *tables(rubrics, rmse, width), *tables(rubrics, pearson, width)]


def tables(
    rubrics: Sequence[str],
    columns: Mapping[str, Mapping[str, Estimate]],
    width: int,
    distributions: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
) -> list[str]:
    """Estimates in columns beside the rubrics' names, in as many tables as the width asks for; bars below, if any."""
    label_width = max(len(name) for name in rubrics)
    lines = {
        name: _column(name, rubrics, estimates, distributions.get(name, {}) if distributions else None)
        for name, estimates in columns.items()
    }
    labels = _labels(rubrics, 3 if distributions else 2)
    return [
        _grid(_levelled([labels, *(lines[name] for name in names)])) for names in _folded(lines, width - label_width)
    ]


def _signatures(judge: JudgeSummary) -> str:
    return "Signatures:\n" + "\n".join(f"{_GAP}{signature}" for signature in judge.signatures.values())


def _filled(text: str, width: int) -> str:
    return textwrap.fill(text, width)


def _spent(spent: Mapping[str, Any]) -> str:
    """Spent: 1,234 calls, 1.2 M tokens in (63 % from cache), 0.3 M out, $1.23"""
    share = "" if spent["cached_share"] is None else f" ({spent['cached_share']:.0%} from cache)".replace("%", " %")
    tokens = f"{_count(spent['tokens_in'])} tokens in{share}, {_count(spent['tokens_out'])} out"
    cost = "cost unknown" if spent["cost"] is None else f"${spent['cost']:,.2f}"
    return f"Spent: {spent['calls']:,} call{'' if spent['calls'] == 1 else 's'}, {tokens}, {cost}"


def _count(number: int) -> str:
    return f"{number:,}" if number < 100_000 else f"{number / 1e6:,.1f} M"


def _labels(rubrics: Sequence[str], height: int) -> list[str]:
    return ["", *(line for rubric in rubrics for line in (rubric, *[""] * (height - 1)))]


def _column(
    system: str,
    rubrics: Sequence[str],
    estimates: Mapping[str, Estimate],
    bars: Mapping[str, Sequence[int]] | None = None,
) -> list[str]:
    """A system's column: its name, then two lines a rubric, the mean with its n, and the interval; a third of bars."""
    lines = textwrap.wrap(system, NAME_WIDTH)
    for rubric in rubrics:
        estimate = estimates.get(rubric)
        lines += ["-", ""] if estimate is None else [_mean(estimate), _interval(estimate)]
        if bars is not None:
            lines.append(sparkline(bars.get(rubric, ())))
    return lines


def _mean(estimate: Estimate) -> str:
    lost = f" -{estimate.n_unscored}" if estimate.n_unscored else ""
    value = "none" if estimate.value is None else f"{estimate.value:z.2f}"
    return f"{value} n={estimate.n:,}{lost}"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:z.2f}{'-' if estimate.low >= 0 else ' to '}{estimate.high:z.2f}"


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
    if not told:
        return "Unscored: none"
    return "\n".join(("Unscored (shown as -k beside n):", *told, *_one_loss(judge, width)))


def _one_loss(judge: JudgeSummary, width: int) -> list[str]:
    """Why, of the first of them: mostly the others ended so for the same cause."""
    if judge.loss is None:
        return []
    id_, system, rubric, why = judge.loss
    told = textwrap.shorten(f"the first, {id_} by {system}, {rubric}: {why}", _LONGEST_CAUSE, placeholder=" …")
    return [textwrap.fill(told, width, initial_indent=_GAP, subsequent_indent=_GAP * 2)]
