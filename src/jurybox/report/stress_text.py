"""Plain text for `stress`: a grade in words, the figures behind it, and what was missed. Returns text, prints nothing.

Fits 80 columns, but for signatures: each is one word, to be copied whole.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

from jurybox.report.stress import JudgeStress, RubricStress, Stress
from jurybox.report.stress_grade import RULES
from jurybox.report.table import tables
from jurybox.stats.stress import FOOLED, MOVED
from jurybox.types import Estimate

_GAP = "  "
Column = Callable[[RubricStress], Estimate | None]
# Kind -> rubric -> what stands in the cell; nothing where the kind was not made for the rubric.
Cells = Mapping[str, Mapping[str, str]]


def stress_text(found: Stress, width: int = 80) -> str:
    """The main judge first, then the others; what the exam was made of comes last."""
    judges = sorted(found.judges.values(), key=lambda judge: judge is not found.main)
    parts = [part for number, judge in enumerate(judges) for part in _judge_text(judge, width, explained=number > 0)]
    if found.missing:
        told = f"Unfinished: {found.missing:,} judgments are still to be made; the same command goes on."
        parts.append(textwrap.fill(told, width))
    lost = f"Unscored: {found.unscored:,} judgments" if found.unscored else "Unscored: none"
    return "\n\n".join([_head(found, width), *parts, f"{lost}\n{_refused(found, width)}"])


def _head(found: Stress, width: int) -> str:
    exam = found.exam
    good, source = "summary" if exam.summaries == 1 else "summaries", "source" if exam.sources == 1 else "sources"
    told = f"{exam.summaries:,} good {good} of {exam.sources:,} {source}, changed on purpose into {len(exam.trials):,} "
    told += f"trials (seed {exam.seed}, exam {exam.digest})"
    chosen = f". Good: {exam.chosen}" if exam.chosen else ""
    return textwrap.fill(told + chosen, width)


def _judge_text(judge: JudgeStress, width: int, explained: bool) -> list[str]:
    """What one judge did; what the words mean is said once."""
    grades = {rubric: f"{one.grade.word}: {one.grade.sentence}" for rubric, one in judge.rubrics.items()}
    return [
        f"Judge {judge.judge}\n{_labelled(grades, width)}",
        *([] if explained else [textwrap.fill(RULES, width)]),
        *_headline(judge, width)[explained:],
        *_beside(judge, width)[explained:],
        *_matrices(judge, width),
        "Signatures:\n" + "\n".join(f"{_GAP}{one.signature}" for one in judge.rubrics.values()),
    ]


def _headline(judge: JudgeStress, width: int) -> list[str]:
    about = (
        "Shares with 95 % interval over sources, n trials (-k unscored). detection: the score falls by more than "
        f"{MOVED:g} after damage to the rubric. false alarms: harmless edits that move it so far, up or down. "
        "discrimination: detection less false alarms; 0 or less is chance. attacks: texts that tell the judge what to "
        f"say, and lift the score by {FOOLED:g} or more above a harmless text in their place"
    )
    columns: dict[str, Column] = {
        "detection": lambda one: one.detection,
        "false alarms": lambda one: one.false_alarms,
        "discrimination": lambda one: one.discrimination,
        "attacks": lambda one: one.attacks,
    }
    return [textwrap.fill(about, width), *_table(judge, columns, width)]


def _beside(judge: JudgeStress, width: int) -> list[str]:
    about = (
        "dose response: more damage, lower score, and the most is noticed. spilled: damage to other rubrics that falls "
    )
    about += "here"
    if any(one.position for one in judge.rubrics.values()):
        about += ". first to last: mean drop when one review moves from the first place to the last"
    columns: dict[str, Column] = {
        "dose response": lambda one: one.dose_response,
        "spilled": lambda one: one.spilled,
        "first to last": lambda one: one.position.get("first_to_last"),
    }
    return [textwrap.fill(about, width), *_table(judge, columns, width)]


def _table(judge: JudgeStress, columns: Mapping[str, Column], width: int) -> list[str]:
    cells = {
        name: {rubric: cell for rubric, one in judge.rubrics.items() if (cell := column(one)) is not None}
        for name, column in columns.items()
    }
    shown = tables(list(judge.rubrics), {name: column for name, column in cells.items() if column}, width)
    return [table.rstrip("\n") for table in shown]


def _matrices(judge: JudgeStress, width: int) -> list[str]:
    """Kinds beside rubrics in percent; --json has the same with intervals."""
    damage = _cells(judge, lambda one: {kind: _claimed(*found) for kind, found in one.matrix.items()})
    harmless = _cells(judge, lambda one: {kind: _percent(found.moved) for kind, found in one.harmless.items()})
    attacks = _cells(judge, lambda one: {name: _percent(found) for name, found in one.attack_families.items()})
    places = _cells(judge, lambda one: {name: _percent(found) for name, found in one.attack_places.items()})
    about = "Damage, and in how many of 100 trials the score falls: [must fall], (must stay), nothing claimed"
    parts = [textwrap.fill(about, width), *_grids(damage, _trials(judge), list(judge.rubrics), width)]
    parts += _sparse(
        "Harmless edits, and how many of 100 move the score", "No score is moved by", harmless, judge, width
    )
    parts += _sparse("Attacks, and how many of 100 lift the score", "No score is lifted by", attacks, judge, width)
    if not all(map(_idle, places.values())):
        parts += ["Attacks by the place where they stand", *_grids(places, {}, list(judge.rubrics), width)]
    cramped = {rubric: one.attacks_without_room for rubric, one in judge.rubrics.items() if one.attacks_without_room}
    if cramped:
        told = ", ".join(f"{rubric} {count:,}" for rubric, count in cramped.items())
        parts.append(textwrap.fill(f"Attacks left out, because the control has the best score already: {told}", width))
    return parts


def _sparse(told: str, none: str, cells: Cells, judge: JudgeStress, width: int) -> list[str]:
    """Rows that have something to tell as a table, the names of the others in one sentence."""
    idle = [kind for kind, row in cells.items() if _idle(row)]
    active = {kind: row for kind, row in cells.items() if kind not in idle}
    parts = [told, *_grids(active, {}, list(judge.rubrics), width)] if active else []
    if idle:
        parts.append(textwrap.fill(f"{none}: {', '.join(idle)}", width, subsequent_indent=_GAP))
    return parts


def _idle(row: Mapping[str, str]) -> bool:
    return set(row.values()) <= {"0", "-"}


def _cells(judge: JudgeStress, of: Callable[[RubricStress], Mapping[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for rubric, one in judge.rubrics.items():
        for kind, cell in of(one).items():
            found.setdefault(kind, {})[rubric] = cell
    return found


def _trials(judge: JudgeStress) -> dict[str, str]:
    """How many trials a kind has; the same for every rubric, but for what is unscored."""
    counts: dict[str, int] = {}
    for one in judge.rubrics.values():
        for kind, (_, found) in one.matrix.items():
            counts[kind] = max(counts.get(kind, 0), found.rate.n)
    return {kind: f"{count:,}" for kind, count in counts.items()}


def _claimed(claim: str, found: object) -> str:
    told = _percent(found.rate)  # type: ignore[attr-defined]
    return {"hurts": f"[{told}]", "spares": f"({told})"}.get(claim, f" {told} ")


def _percent(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    return "<1" if 0 < estimate.value < 0.005 else f"{estimate.value * 100:.0f}"


def _grids(cells: Cells, counts: Mapping[str, str], rubrics: Sequence[str], width: int) -> list[str]:
    """One row a kind, one column a rubric, in as many tables as the width asks for."""
    label = max(map(len, cells)) + len(_GAP)
    count = max(map(len, (*counts.values(), "n"))) if counts else 0
    room = width - label - (count + len(_GAP) if counts else 0)
    heads = {rubric: _head_lines(rubric) for rubric in rubrics if any(rubric in row for row in cells.values())}
    groups: list[list[str]] = [[]]
    used = 0
    for rubric, lines in heads.items():
        needed = max(map(len, lines)) + len(_GAP)
        if groups[-1] and used + needed > room:
            groups.append([])
            used = 0
        groups[-1].append(rubric)
        used += needed
    return [_grid(cells, counts, {rubric: heads[rubric] for rubric in group}, label, count) for group in groups]


def _head_lines(rubric: str) -> list[str]:
    """A rubric's name broken at its underscores, at least as wide as a cell."""
    words = rubric.split("_")
    lines = [f"{word}_" for word in words[:-1]] + [words[-1]]
    return [line.rjust(max(5, *map(len, lines))) for line in lines]


def _grid(cells: Cells, counts: Mapping[str, str], heads: Mapping[str, Sequence[str]], label: int, count: int) -> str:
    height = max(map(len, heads.values()))
    rows = []
    for line in range(height):
        parts = [" " * label, *(["n".rjust(count) if line == height - 1 else " " * count] if counts else [])]
        for lines in heads.values():
            at = line - (height - len(lines))
            parts.append(lines[at] if at >= 0 else " " * len(lines[0]))
        rows.append(_GAP.join(parts).rstrip())
    for kind, row in cells.items():
        parts = [f"{_GAP}{kind}".ljust(label), *([counts.get(kind, "").rjust(count)] if counts else [])]
        parts += [row.get(rubric, "").rjust(len(lines[0])) for rubric, lines in heads.items()]
        rows.append(_GAP.join(parts).rstrip())
    return "\n".join(rows)


def _refused(found: Stress, width: int) -> str:
    if found.exam.refused is None:
        return "How often a text gave no honest place is not kept in the run file."
    if not found.exam.refused:
        return "Every kind of change found a place in every summary."
    told = ", ".join(f"{kind} {count:,}" for kind, count in found.exam.refused.items())
    return textwrap.fill(f"Left out because the text gives no honest place: {told}", width, subsequent_indent=_GAP)


def _labelled(lines: Mapping[str, str], width: int) -> str:
    """A rubric's name and what is said of it, wrapped beside the name."""
    label = max(map(len, lines)) + 2 * len(_GAP)
    return "\n".join(
        textwrap.fill(line, width, initial_indent=f"{_GAP}{name}".ljust(label), subsequent_indent=" " * label)
        for name, line in lines.items()
    )
