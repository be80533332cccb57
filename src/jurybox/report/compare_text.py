"""Comparisons in words, for a terminal or a log. Returns text, prints nothing. Fits 80 columns, but for signatures."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import count

from jurybox.report.compare import Comparison, PairComparison, RubricComparison
from jurybox.stats.paired import LEVEL, least_p
from jurybox.types import SCALE, Estimate

_NO_BREAK = "\N{NO-BREAK SPACE}"
_HEAD = ("difference", "p", "Holm", "n", "shows")
_WHAT = {
    "first is higher": "{first} scores higher than {second} on {rubric} by {size}, {p}",
    "second is higher": "{first} scores lower than {second} on {rubric} by {size}, {p}",
    "no difference shown": "No difference between {first} and {second} is shown on {rubric}, {p}; {limit}",
    "undefined": "Nothing can be said of {first} and {second} on {rubric}: {why}",
}
_SHOWN = ("first is higher", "second is higher")


def comparison_text(comparison: Comparison, width: int = 80) -> str:
    """One block a rubric for two systems, one table a rubric for more; then what the signs mean, and the signatures."""
    several = any(len(found.pairs) > 1 for found in comparison.rubrics.values())
    show = _table if several else _block
    parts = [_head(comparison, width)]
    parts += [show(rubric, found, comparison, width) for rubric, found in comparison.rubrics.items()]
    if several:
        parts.append(_legend(comparison, width))
    parts += [textwrap.fill(told, width) for told in _too_few(comparison)]
    if comparison.unfinished:
        told = f"Unfinished: {comparison.unfinished:,} judgments are still to be made; the figures will move."
        parts.append(textwrap.fill(told, width))
    signatures = "\n".join(f"  {found.signature}" for found in comparison.rubrics.values())
    return "\n\n".join((*parts, f"Signatures:\n{signatures}"))


def _head(comparison: Comparison, width: int) -> str:
    corrected = f", then corrected by Holm over {comparison.tests:,} tests" if comparison.tests > 1 else ""
    told = (
        "Pairs on the same sources: difference of mean scores with its 95 % bootstrap interval over sources; p by sign "
        f"flips{corrected}."
    )
    return "\n".join((f"Judge {comparison.judge}", textwrap.fill(told, width)))


def _block(rubric: str, found: RubricComparison, comparison: Comparison, width: int) -> str:
    lines = [line for pair in found.pairs for line in _sentences(rubric, pair, comparison)]
    return "\n".join((rubric, *(_indented(line, width) for line in lines)))


def _indented(line: str, width: int) -> str:
    """Filled, with lines broken at no place where a number and its sign would part."""
    kept = re.sub(r" (=|%|-) ?(?=\S)", lambda found: found[0].replace(" ", _NO_BREAK), line)
    filled = textwrap.fill(kept, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return filled.replace(_NO_BREAK, " ")


def _sentences(rubric: str, pair: PairComparison, comparison: Comparison) -> list[str]:
    told = [_verdict(rubric, pair, comparison)]
    if pair.difference.value is not None:
        one, other = pair.means
        n = f"n={pair.difference.n:,}"
        told.append(f"Means: {pair.first} {one:.2f}, {pair.second} {other:.2f}; difference {_signed(pair)}, {n}.")
        told.append(f"p = {_p(pair.p.value)} by {pair.p.method}.")
        told.append(_effect(pair))
        told += _plan(pair)
    told += _losses(pair)
    if pair.missing:
        told.append(f"Left out, because only one of the two was judged there: {_count(pair.missing, 'source')}.")
    return told


def _verdict(rubric: str, pair: PairComparison, comparison: Comparison) -> str:
    words = _WHAT[pair.conclusion].format(
        first=pair.first,
        second=pair.second,
        rubric=rubric,
        size=_size(pair.difference),
        p=_after(pair, comparison.tests),
        limit=_limit(pair, comparison),
        why=pair.difference.method.removeprefix("undefined: "),
    )
    return f"{words}."


def _size(difference: Estimate) -> str:
    """The distance without its sign: 0.42 (0.15 to 0.70)."""
    value, low, high = difference.value, difference.low, difference.high
    if value is None or low is None or high is None:
        return "none"
    if value < 0:
        value, low, high = -value, -high, -low
    return f"{value:.2f} ({low:z.2f} to {high:z.2f})"


def _after(pair: PairComparison, tests: int) -> str:
    return f"p = {_p(pair.p_holm)} after Holm over {_count(tests, 'test')}" if tests > 1 else f"p = {_p(pair.p_holm)}"


def _limit(pair: PairComparison, comparison: Comparison) -> str:
    """What so many sources could have shown."""
    sources = _count(pair.difference.n, "source")
    if least_p(pair.difference.n) > comparison.level:
        return f"{sources} cannot show any, however large"
    if pair.detectable is None and pair.d_z is None:
        return "the differences have no spread to plan with"
    if pair.detectable is None:
        return f"{sources} with so many ties cannot show any with 80 % power"
    return f"{sources} can show {pair.detectable:.2f} or more with 80 % power"


def _effect(pair: PairComparison) -> str:
    share = pair.superiority
    size = "d_z undefined (no spread)" if pair.d_z is None else f"d_z = {pair.d_z:z.2f}"
    return (
        f"Effect: {size}; {pair.first} is higher on {share.value:.0%} of sources, ties half "
        f"({share.low:.0%} to {share.high:.0%})."
    ).replace("%", " %")


def _plan(pair: PairComparison) -> list[str]:
    told = []
    if pair.detectable is not None and pair.conclusion != "no difference shown":
        told.append(f"{_count(pair.difference.n, 'source')} can show {pair.detectable:.2f} or more with 80 % power.")
    if pair.n_needed is not None:
        told.append(f"To show {pair.aim:.2f} takes {_count(pair.n_needed, 'source')}.")
    return [" ".join(told)] if told else []


def _losses(pair: PairComparison) -> list[str]:
    lost = pair.difference.n_unscored
    if not lost:
        return []
    told = f"Unscored on one side or both: {_count(lost, 'source')}."
    if pair.low is None or pair.high is None or pair.holds is None:
        return [told]
    ends = f"the difference would lie from {pair.low:+z.2f} to {pair.high:+z.2f}"
    told += f" Were they all {SCALE[0]} or {SCALE[-1]}, {ends}: "
    if pair.holds:
        return [f"{told}the conclusion stands."]
    changed = "would no longer be shown" if pair.conclusion in _SHOWN else "would be shown"
    return [f"{told}the conclusion could change, at one end a difference {changed}."]


def _table(rubric: str, found: RubricComparison, comparison: Comparison, width: int) -> str:
    """A row a pair. Names too long for the first column have a line of their own."""
    rows = [_row(pair, comparison) for pair in found.pairs]
    widths = [max(len(row[column]) for row in (_HEAD, *rows)) for column in range(len(_HEAD))]
    room = width - sum(widths) - 2 * len(widths)
    names = [f"{pair.first} - {pair.second}" for pair in found.pairs]
    label = max(len(rubric), *(len(name) + 2 for name in names if len(name) + 2 <= room), 8)
    lines = [rubric.ljust(label) + _cells(_HEAD, widths)]
    for name, row in zip(names, rows, strict=True):
        if len(name) + 2 > label:
            lines += [_indented(name, width), " " * label + _cells(row, widths)]
        else:
            lines.append(f"  {name}".ljust(label) + _cells(row, widths))
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Sequence[str], widths: Sequence[int]) -> str:
    return "".join("  " + cell.ljust(width) for cell, width in zip(row, widths, strict=True))


def _row(pair: PairComparison, comparison: Comparison) -> tuple[str, ...]:
    n = f"{pair.difference.n:,}" + (f" -{pair.difference.n_unscored:,}" if pair.difference.n_unscored else "")
    if pair.difference.value is None:
        return ("none", "", "", n, "")
    marks = ("*" if pair.conclusion in _SHOWN else "") + ("?" if pair.holds is False else "")
    limit = "" if pair.detectable is None else f"{pair.detectable:.2f}"
    if least_p(pair.difference.n) > comparison.level:
        limit = "never"
    return (_signed(pair), _p(pair.p.value), _p(pair.p_holm) + marks, n, limit)


def _legend(comparison: Comparison, width: int) -> str:
    pairs = [pair for found in comparison.rubrics.values() for pair in found.pairs]
    told = []
    if any(pair.conclusion in _SHOWN for pair in pairs):
        told.append(f"* a difference is shown: p after Holm is {LEVEL:.2f} or below")
    if any(pair.holds is False for pair in pairs):
        told.append(
            f"? the unscored could change that: were they all {SCALE[0]} or {SCALE[-1]}, the answer would be another"
        )
    if any(pair.difference.n_unscored for pair in pairs):
        told.append("-k beside n: sources unscored on one side or both")
    if any(pair.difference.value is None for pair in pairs):
        told.append("none: fewer than two sources have a score of both, so nothing can be said")
    missing = sum(pair.missing for pair in pairs)
    if missing:
        told.append(f"left out, because only one of a pair was judged there: {_count(missing, 'source')} in all")
    if any(pair.detectable is not None for pair in pairs):
        told.append("shows: the smallest difference that n sources show with 80 % power after the correction")
    return "\n".join(textwrap.fill(line, width, subsequent_indent="  ") for line in told)


def _too_few(comparison: Comparison) -> list[str]:
    """What to do where not even the largest difference could be shown."""
    counts = [pair.difference.n for found in comparison.rubrics.values() for pair in found.pairs]
    few = max((n for n in counts if n > 1 and least_p(n) > comparison.level), default=0)
    if not few:
        return []
    enough = next(n for n in count(few) if least_p(n) <= comparison.level)
    return [
        f"Too few sources for so many tests: the smallest p that {few:,} can give is {_p(least_p(few))}, and the "
        f"correction over {_count(comparison.tests, 'test')} asks for {_p(comparison.level)}. It takes {enough:,} "
        "sources or more, or fewer rubrics and systems, chosen before looking."
    ]


def _signed(pair: PairComparison) -> str:
    estimate = pair.difference
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+z.2f}"
    return f"{estimate.value:+z.2f} ({estimate.low:+z.2f} to {estimate.high:+z.2f})"


def _p(value: float | None) -> str:
    if value is None:
        return "none"
    if value < 0.0001:
        return f"{value:.0e}"
    return f"{value:.2f}" if value >= 0.0995 else f"{value:.3f}" if value >= 0.000995 else f"{value:.4f}"


def _count(number: int, one: str) -> str:
    return f"{number:,} {one}{'' if number == 1 else 's'}"
