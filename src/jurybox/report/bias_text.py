"""Plain text about a judge's bias, a section of `agree`. Returns text, prints nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from jurybox.report.bias import Bias, SelfPreference
from jurybox.report.table import tables
from jurybox.stats.bias import Sides
from jurybox.stats.stability import ONE_SAMPLE
from jurybox.types import Estimate

_GAP = "  "


def bias_text(found: Bias, width: int = 80) -> list[str]:
    """What stands out, then points and shares rubric by rubric, then what is said of all rubrics together."""
    about = (
        "Points beyond people's, same items (n), 95 % interval over sources. leniency: score less rating. doubling: "
        "for twice the words, among summaries that people rate alike. noise out: the same less what raters' noise adds"
    )
    shares = (
        "Scores at the top step, and how evenly all steps are used (entropy: 1 evenly, 0 one step alone), beside each "
        "rater's own"
    )
    return [
        textwrap.fill(f"Bias. {conclusion(found)}", width),
        textwrap.fill(about, width),
        *_points(found, width),
        textwrap.fill(shares, width),
        *_shares(found, width),
        *_repeats(found, width),
        _together(found, width),
    ]


def conclusion(found: Bias) -> str:
    """What lies off 0 by its interval, in a sentence each."""
    rubrics = found.rubrics.values()
    sentences = {
        "Gives more than people": [one.leniency for one in rubrics],
        "Gives more for length than people's ratings explain": [one.verbosity_corrected for one in rubrics],
        "Gives the top step more often than a rater does": [one.top_share.difference for one in rubrics],
        "Uses the steps more evenly than a rater does": [one.entropy.difference for one in rubrics],
    }
    told = [_counted(more, [_side(estimate) for estimate in figures]) for more, figures in sentences.items()]
    if side := _side(found.halo.difference):
        told.append(f"Tells rubrics apart {'less' if side > 0 else 'more'} than people do.")
    if side := _preference(found.self_preference):
        kind, more = found.self_preference.family, "more" if side > 0 else "less"
        told.append(f"Gives its own family's systems ({kind}) {more} than others, beyond people's ratings.")
    return " ".join(filter(None, told)) or "No figure here is off 0 by its 95 % interval."


def _counted(more: str, sides: list[int]) -> str:
    """The sentence for rubrics above 0, and its opposite for those below."""
    above, below, of = sides.count(1), sides.count(-1), f"of {len(sides)} rubrics"
    if above and below:
        return f"{more} on {above} {of}, less on {below}."
    if above:
        return f"{more} on {above} {of}."
    return f"{more.replace('more', 'less', 1)} on {below} {of}." if below else ""


def _side(estimate: Estimate) -> int:
    """1 above 0 by its interval, -1 below, 0 where it cannot be said."""
    if estimate.low is None or estimate.high is None:
        return 0
    return int(estimate.low > 0) - int(estimate.high < 0)


def _preference(found: SelfPreference) -> int:
    """Said only if both figures say it: a judge with a narrower scale than people's is lenient with bad systems."""
    sides = {_side(estimate) for estimate in (found.difference, found.given_human) if estimate.low is not None}
    return sides.pop() if len(sides) == 1 else 0


def _points(found: Bias, width: int) -> list[str]:
    columns: dict[str, Mapping[str, Estimate]] = {
        "leniency": {rubric: one.leniency for rubric, one in found.rubrics.items()},
        "doubling": {rubric: one.verbosity for rubric, one in found.rubrics.items()},
        "noise out": {rubric: one.verbosity_corrected for rubric, one in found.rubrics.items()},
    }
    return _tables(found, columns, width)


def _shares(found: Bias, width: int) -> list[str]:
    columns = {
        "top": {rubric: one.top_share.judge for rubric, one in found.rubrics.items()},
        "people's top": {rubric: one.top_share.human for rubric, one in found.rubrics.items()},
        "entropy": {rubric: one.entropy.judge for rubric, one in found.rubrics.items()},
        "people's entropy": {rubric: one.entropy.human for rubric, one in found.rubrics.items()},
    }
    return _tables(found, columns, width)


def _tables(found: Bias, columns: Mapping[str, Mapping[str, Estimate]], width: int) -> list[str]:
    return [table.rstrip("\n") for table in tables(list(found.rubrics), columns, width)]


def _together(found: Bias, width: int) -> str:
    lines = {"halo": _halo(found.halo), "own family": _family(found.self_preference), **_no_repeats(found)}
    label = max(map(len, lines)) + 4
    return "\n".join(
        textwrap.fill(line, width, initial_indent=f"{_GAP}{name}".ljust(label), subsequent_indent=" " * label)
        for name, line in lines.items()
    )


def _halo(sides: Sides) -> str:
    if sides.difference.value is None:
        return _why(sides.difference)
    return (
        f"rubrics correlate {_figure(sides.judge)} in the judge's scores and {_figure(sides.human)} in people's means "
        f"(Spearman, n={sides.judge.n:,}): {_figure(sides.difference, signed=True)}"
    )


def _family(found: SelfPreference) -> str:
    if found.difference.value is None:
        return _why(found.difference)
    own, others = (
        sum(len(names) for kind, names in found.systems.items() if kind is not None and (kind == found.family) is same)
        for same in (True, False)
    )
    unknown = len(found.systems.get(None, ()))
    told = (
        f"{_figure(found.difference, signed=True)} points of leniency with {_systems(own, found.family)} over "
        f"{_systems(others)} of other families (n={found.difference.n:,}); "
        f"{_figure(found.given_human, signed=True)} among summaries that people rate alike"
    )
    return told + (f"; {_systems(unknown)} of unknown family left out" if unknown else "")


def _systems(count: int, kind: str | None = None) -> str:
    return f"{count:,} {f'{kind} ' if kind else ''}system{'' if count == 1 else 's'}"


def _no_repeats(found: Bias) -> dict[str, str]:
    """Why no rubric has a figure about repeats; nothing where one has."""
    if any(one.single.value is not None for one in found.stability.values()):
        return {}
    reasons = "; ".join(dict.fromkeys(_why(one.single) for one in found.stability.values()))
    return {"repeats": reasons + ("; run with --samples 5 --temperature 1 to know" if ONE_SAMPLE in reasons else "")}


def _repeats(found: Bias, width: int) -> list[str]:
    if _no_repeats(found):
        return []
    about = (
        "Asked again (n items with two samples or more, rated or not): intraclass correlation of one sample, ICC(1,1), "
        "and of an item's mean, ICC(1,k); 1 where samples never differ, 0 where items differ no more than samples do"
    )
    columns = {
        "one sample": {rubric: one.single for rubric, one in found.stability.items()},
        "item's mean": {rubric: one.mean for rubric, one in found.stability.items()},
    }
    return [textwrap.fill(about, width), *_tables(found, columns, width)]


def _why(estimate: Estimate) -> str:
    return f"no figure: {estimate.method.removeprefix('undefined: ')}"


def _figure(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.value is None:
        return "none"
    value = f"{estimate.value:+z.2f}" if signed else f"{estimate.value:z.2f}"
    if estimate.low is None or estimate.high is None:
        return f"{value} (no interval)"
    return f"{value} ({estimate.low:z.2f}{'-' if estimate.low >= 0 else ' to '}{estimate.high:z.2f})"
