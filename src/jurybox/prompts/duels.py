"""How two summaries of one source are put to a judge: rubric and material as ever, a choice instead of a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from jurybox.errors import SetupError
from jurybox.prompts import wording
from jurybox.prompts.fences import fenced
from jurybox.prompts.sheets import Sheet, sheets
from jurybox.types import RIVALS, SCALE, Answer, Item, Layout, Prompt, Rubric

SYSTEM = (
    "You compare two summaries by a written rubric. You read both with the same care, you count before you choose, and "
    "you choose what the evidence supports. You judge only what the rubric asks."
)
TASK_WITH_MATERIAL = (
    "You are given source material and two summaries that were written from it. Say which of the two does better on "
    "{what}, or that neither does. The material is your only evidence: what you know from elsewhere does not count."
)
TASK_SUMMARIES_ALONE = (
    "You are given two summaries of the same text. Say which of the two does better on {what}, or that neither does. "
    "The text they were written from is not shown, and is not needed for this."
)
CRITERIA = (
    "Compare the two on {what} alone: a summary can be the better one here and the worse one elsewhere. Examine each "
    "by itself first, in the same way, and compare what you found then. Which of them is shown first says nothing "
    "about either. Longer is not better, and polished is not better, unless the metric says so. If you find no "
    "difference on this metric, neither is better."
)
ENDS = "At best: {best}\nAt worst: {worst}"
SUMMARIES_ALONE = "For this metric read the summaries alone and leave the rest of the material aside."
ANSWER = (
    "First write your reasoning: what you found in the first summary, what you found in the second, and how they "
    "compare. Then end with one last line in exactly this form, where N is 1 if the first summary is better, 2 if the "
    "second summary is better, and 0 if neither is:\nBetter- <choice>N</choice>"
)


def duel_sheets(
    rubrics: Sequence[Rubric], layout: Layout | None, answer: Answer | None, *, otherwise: Layout
) -> tuple[Sheet, ...]:
    """One call a rubric; a rubric's own wish for a form is left aside."""
    if answer not in (None, "tag"):
        raise SetupError(f"--answer {answer}: a duel is answered by a choice between two; leave --answer out")
    if layout == "form":
        raise SetupError("--layout form: a duel asks one rubric a call; use classic or shared")
    for rubric in rubrics:
        if rubric.template is not None:
            raise SetupError(
                f"rubric '{rubric.name}' comes from a prompt file, which asks about one summary; a duel needs a "
                "rubric: see `jurybox rubrics list`, or write one"
            )
    asked = sheets([replace(rubric, layout=None) for rubric in rubrics], layout, "tag", otherwise=otherwise)
    return tuple(replace(sheet, answer="choice") for sheet in asked)


def render_duel(sheet: Sheet, pair: Item, source: Mapping[str, Any], note: str = "") -> Prompt:
    """The prompt that asks one sheet about a paired item, whose material is `source`; `note` as in `render`."""
    texts = [pair.source[RIVALS][pair.metadata[which]] for which in ("first", "second")]
    # The mark is in neither, and no line break is in the mark.
    mark, material, _ = fenced(sheet.fields, source, "\n".join(texts))
    notice = f"{wording.DATA_NOTICE.format(mark=mark)} {note}".rstrip()
    fences = (f"<summary_{n}-{mark}>\n{text}\n</summary_{n}-{mark}>" for n, text in enumerate(texts, 1))
    body = f"{notice}\n\n" + "\n".join((*([material] if material else []), *fences))
    before, after = _around(sheet)
    shared = len(before) + len(body) if sheet.layout == "shared" else 0
    return Prompt(f"{before}{body}{after}", SYSTEM, shared)


@cache
def _around(sheet: Sheet) -> tuple[str, str]:
    """What stands before and after the material; the same for every pair."""
    (rubric,) = sheet.rubrics
    what = wording.what(sheet.rubrics)
    task, title = (TASK_WITH_MATERIAL, "Material") if sheet.fields else (TASK_SUMMARIES_ALONE, "Summaries")
    alone = f"\n{SUMMARIES_ALONE}" if sheet.fields and rubric.inputs == ("summary",) else ""
    criteria = (
        f"Criteria\n\n{CRITERIA.format(what=what)}",
        f"Metric\n\n{rubric.title}: {rubric.question}\n{rubric.definition}{alone}",
        f"Ends of {rubric.title}\n\n{_ends(rubric)}",
    )
    answer = f"Answer\n\n{ANSWER}"
    if sheet.layout == "shared":
        head = f"Task\n\n{task.format(what=wording.METRIC_TO_COME)}\n\n{title}\n\n"
        return head, "\n\n" + "\n\n".join((*criteria, answer))
    return "\n\n".join((f"Task\n\n{task.format(what=what)}", *criteria, f"{title}\n\n")), f"\n\n{answer}"


def _ends(rubric: Rubric) -> str:
    low, high = rubric.scale[0], rubric.scale[-1]
    best, worst = (high, low) if rubric.target == SCALE[-1] else (low, high)
    return ENDS.format(best=best, worst=worst)
