"""Plain text for `agree`: figures, trivial judges beside them, and a verdict in words. Returns text, prints nothing.

The word "valid" is kept for a judge that beats every trivial judge.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping

from jurybox.report.agree import Agreement, RubricAgreement
from jurybox.report.bias_text import bias_text
from jurybox.report.standing import Standing
from jurybox.report.table import tables
from jurybox.stats.figures import over_by_default
from jurybox.types import Estimate

_GAP = "  "
# What a trivial judge goes by, in words.
WORDS = {
    "length": "word count",
    "constant": "a constant",
    "system": "system identity",
    "rouge": "ROUGE-1",
    "rouge_l": "ROUGE-L",
}


def agreement_text(found: Agreement, width: int = 80) -> str:
    """Headline figures beside the ceiling and the trivial judges, the verdict, then everything else."""
    parts = [_head(found, width), *_headline(found, width), *verdicts(found, width), *_lengths(found, width)]
    parts += bias_text(found.bias, width)
    parts += [*_levels(found, width), *_pairwise(found, width), *_people(found, width), *_standing(found, width)]
    parts += [*_judges(found, width), _losses(found, width)]
    signatures = [f"{_GAP}{found.signatures[rubric]}" for rubric in found.rubrics if rubric in found.signatures]
    return "\n\n".join([*parts, "Signatures:\n" + "\n".join(signatures)])


def _head(found: Agreement, width: int) -> str:
    return textwrap.fill(f"Judge {found.judge} against people (ratings from {found.human})", width)


def _table(
    found: Agreement, columns: Mapping[str, Callable[[RubricAgreement], Estimate | None]], width: int
) -> list[str]:
    """One column a function of a rubric's agreement; a column that no rubric has is left out."""
    cells = {
        name: {rubric: cell for rubric, one in found.rubrics.items() if (cell := column(one)) is not None}
        for name, column in columns.items()
    }
    there = {name: column for name, column in cells.items() if column}
    return [table.rstrip("\n") for table in tables(list(found.rubrics), there, width)] if there else []


def _headline(found: Agreement, width: int) -> list[str]:
    about = (
        "Spearman's rho within each source, averaged over n sources (-k were left out), 95 % interval over "
        f"{_drawn(found)}: {_question(found)}. ceiling: each rater against the mean of the others. rouge: ROUGE-1; "
        "ROUGE-L is among the verdicts below and in --json"
    )
    columns: dict[str, Callable[[RubricAgreement], Estimate | None]] = {
        "judge": lambda one: one.headline,
        "ceiling": lambda one: one.ceiling,
    }
    for name in ("length", "system", "rouge"):
        columns[name] = lambda one, name=name: one.trivial.baselines.get(name)  # type: ignore[misc]
    return [textwrap.fill(about, width), *_table(found, columns, width)]


def _drawn(found: Agreement) -> str:
    both = any(over_by_default(one.counts.systems) == "both" for one in found.rubrics.values())
    return "sources and systems" if both else "sources"


def _question(found: Agreement) -> str:
    """What the default interval answers, in words."""
    if _drawn(found) == "sources":
        return "what other sources would give for these very systems"
    return "what other sources and other systems like these would give (for these very systems: --json)"


def verdicts(found: Agreement, width: int) -> list[str]:
    """In words, rubric by rubric, and for the whole."""
    lines = _labelled({rubric: verdict_on(one) for rubric, one in found.rubrics.items()}, width)
    about = (
        "Does it follow people better than a trivial judge? Difference in rho, 95 % interval; better needs an interval "
        f"above 0, and {_test(found)}. Neither is proof alone"
    )
    columns: dict[str, Callable[[RubricAgreement], Estimate | None]] = {}
    for name in ("length", "system", "rouge"):
        columns[f"less {name}"] = lambda one, name=name: one.trivial.differences.get(name)  # type: ignore[misc]
    differences = _table(found, columns, width)
    return [
        textwrap.fill(conclusion(found) + _only_these(found), width),
        *([textwrap.fill(about, width), *differences] if differences else []),
        lines,
    ]


def _test(found: Agreement) -> str:
    if any(one.trivial.system_leads for one in found.rubrics.values()):
        return (
            "p below 0.05 by PERM-BOTH (summaries swapped) and by PERM-SYSTEMS (whole systems swapped); p is the larger"
        )
    return "p below 0.05 by PERM-BOTH (summaries swapped)"


def verdict_on(one: RubricAgreement) -> str:
    """What the comparison with trivial judges comes to on one rubric, in words."""
    if not one.counts.items:
        return "no figure: the judge has no score for any rated item"
    if one.headline.value is None:
        return f"no figure: {one.headline.method.removeprefix('undefined: ')}"
    beaten = [name for name, ahead in one.trivial.beaten.items() if ahead]
    unbeaten = [name for name in one.trivial.leads if name not in beaten]
    if not unbeaten:
        return f"valid here: better than {_named(beaten)}"
    better = f"; better than {_named(beaten)}" if beaten else ""
    return f"not shown to be better than {', '.join(_with_p(one, name) for name in unbeaten)}{better}"


def _with_p(one: RubricAgreement, name: str) -> str:
    p = one.trivial.p(name)
    told = "" if p is None else " (p<0.01)" if p < 0.01 else f" (p={p:.2f})"
    return f"{WORDS[name]}{told}"


def _named(names: Iterable[str]) -> str:
    words = [WORDS[name] for name in names]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def conclusion(found: Agreement) -> str:
    """What it comes to on all rubrics, in words."""
    every, good = len(found.rubrics), [name for name, one in found.rubrics.items() if one.beats_baselines]
    if len(good) == every:
        return f"Beats every trivial judge on all {every} rubrics: valid as far as these ratings go."
    if all(one.headline.value is None for one in found.rubrics.values()):
        return "There is no figure for this judge on any rubric, so nothing here shows that it judges the summaries."
    lost = {
        name: sum(not one.trivial.beaten[name] for one in found.rubrics.values() if name in one.trivial.leads)
        for name in WORDS
    }
    told = ", ".join(f"{WORDS[name]} on {count}" for name, count in lost.items() if count)
    return (
        f"Beats every trivial judge on {len(good)} of {every} rubrics. Not shown to be better than {told}. Where it is "
        "not, these figures do not show that it judges the summaries: something that never read them may do as well."
    )


def _only_these(found: Agreement) -> str:
    """An interval over sources alone is too narrow for other systems, and so is a verdict that rests on it."""
    if _drawn(found) != "sources":
        return ""
    return " With so few systems, sources alone were drawn: figures and verdict hold for these systems only."


def _lengths(found: Agreement, width: int) -> list[str]:
    about = (
        "The same with length taken out: held still (partial correlation), and among systems of similar length "
        "(median words within a factor of 1.5 of the median system's)"
    )
    columns = {
        "length held still": lambda one: one.trivial.partial,
        "similar: judge": lambda one: one.trivial.similar["judge"],
        "similar: length": lambda one: one.trivial.similar["length"],
    }
    return [textwrap.fill(about, width), *_table(found, columns, width)]


def _levels(found: Agreement, width: int) -> list[str]:
    about = (
        "Other coefficients and levels, n sources (summary), systems (system) or items (pooled); --json has all, with "
        "intervals over sources, over systems and over both"
    )
    columns: dict[str, Callable[[RubricAgreement], Estimate | None]] = {
        "summary tau-b": lambda one: one.levels["summary_level"]["kendall_b"],
        "system rho": lambda one: one.levels["system_level"]["spearman"],
        "pooled rho": lambda one: one.levels["pooled"]["spearman"],
    }
    return [textwrap.fill(about, width), *_table(found, columns, width)]


def _pairwise(found: Agreement, width: int) -> list[str]:
    about = (
        "Pairs of summaries of one source: share on which it says what people say, ties included; differences up to "
        "an epsilon from other sources count as ties (interval over sources)"
    )
    columns: dict[str, Callable[[RubricAgreement], Estimate | None]] = {"judge": lambda one: one.pairwise.held_out}
    for name in ("length", "system", "rouge", "rouge_l"):
        columns[name] = lambda one, name=name: _held_out(one, name)  # type: ignore[misc]
    return [textwrap.fill(about, width), *_table(found, columns, width)]


def _held_out(one: RubricAgreement, name: str) -> Estimate | None:
    return one.trivial.pairwise[name].held_out if name in one.trivial.pairwise else None


def _people(found: Agreement, width: int) -> list[str]:
    about = (
        "People among themselves, Krippendorff's alpha (n items); the judge in each rater's place, against the same "
        "means as the ceiling, and how far above the ceiling it is"
    )
    columns = {
        "alpha ordinal": lambda one: one.alpha["ordinal"],
        "judge in place": lambda one: one.in_place,
        "less ceiling": lambda one: one.below_ceiling,
    }
    return [textwrap.fill(about, width), *_table(found, columns, width)]


def _standing(found: Agreement, width: int) -> list[str]:
    epsilon = next(iter(found.rubrics.values())).standing.judge.epsilon
    about = f"Alternative-annotator test (epsilon {epsilon:g}): omega is the share of raters it could stand in for"
    lines = _labelled({rubric: _stands(one.standing) for rubric, one in found.rubrics.items()}, width)
    parts = [f"{textwrap.fill(about, width)}\n{lines}"]
    if any(one.standing.warning for one in found.rubrics.values()):
        warning = "Warning: where a trivial judge passes this test too, passing does not show that the judge reads."
        parts.append(textwrap.fill(warning, width))
    return parts


def _stands(test: Standing) -> str:
    if test.judge.omega is None or test.judge.advantage is None:
        return test.judge.method
    figures = f"omega {test.judge.omega:.2f}, advantage {test.judge.advantage:.2f}"
    too = _named(test.trivial_too) if test.trivial_too else ""
    if test.judge.passes:
        return f"passes: {figures}" + (f"; so would {too}" if too else "; no trivial judge would")
    return f"fails: {figures}" + (f"; {too} would pass" if too else "")


def _labelled(lines: Mapping[str, str], width: int) -> str:
    """A rubric's name and what is said of it, wrapped beside the name."""
    label = max(map(len, lines)) + 4
    return "\n".join(
        textwrap.fill(line, width, initial_indent=f"{_GAP}{name}".ljust(label), subsequent_indent=" " * label)
        for name, line in lines.items()
    )


def _judges(found: Agreement, width: int) -> list[str]:
    names = list(dict.fromkeys(judge for one in found.rubrics.values() for judge in one.judges))
    if len(names) < 2:
        return []
    columns = {judge: (lambda one, judge=judge: one.judges.get(judge)) for judge in names}
    return [textwrap.fill("Every judge of the run, as in the first table", width), *_table(found, columns, width)]


def _losses(found: Agreement, width: int) -> str:
    """What the figures rest on and what they lost."""
    told: dict[str, list[str]] = {}
    for rubric, one in found.rubrics.items():
        told.setdefault(_rests_on(one), []).append(rubric)
    lines = [line if len(told) == 1 else f"{', '.join(rubrics)}: {line}" for line, rubrics in told.items()]
    lines += [f"{rubric}: left out, {why}" for rubric, why in found.skipped.items()]
    return "\n".join(textwrap.fill(line, width, subsequent_indent=_GAP) for line in lines)


def _rests_on(one: RubricAgreement) -> str:
    counts, zero = one.counts, one.as_zero["spearman"]
    told = f"{counts.items:,} items of {counts.sources:,} sources and {counts.systems:,} systems, "
    told += f"{counts.raters:,} rater" + ("" if counts.raters == 1 else "s")
    if counts.unscored:
        told += f"; {counts.unscored:,} rated items have no score"
    if one.headline.n_unscored and zero.value is not None:
        told += f"; {one.headline.n_unscored:,} constant sources left out (counted as 0: rho {zero.value:z.2f})"
    return told
