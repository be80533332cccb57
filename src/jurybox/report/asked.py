"""The prompt of a call, made again from what the run file keeps, and shown only if it is byte for byte the one sent.

Run files keep a prompt's digest and not its text, which is the material again for every call. A prompt is a pure
function of rubrics, item and layout; if a later jurybox words it differently, the digest says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from jurybox.prompts import Sheet, render
from jurybox.prompts.sheets import SheetLayout
from jurybox.store.browsing import Call, SeriesRow
from jurybox.templates import Template
from jurybox.types import DIRECT, DUEL, Answer, Item, Prompt, Rubric

LAYOUTS: tuple[SheetLayout, ...] = get_args(SheetLayout)
COMPUTED = "This judge computes its verdict from the item and is shown no prompt."
SHORTENED = (
    "The material was too long for the judge, which was shown a part of it; the prompt is not kept word for word."
)
UNLIKE = "The prompt that was sent is not kept, and this version of jurybox would word it differently."
BOTH = "A duel shows two summaries in one prompt; it is not kept word for word."


def prompt_of(
    call: Call, item: Item, series: Sequence[SeriesRow], bodies: Mapping[str, Mapping[str, Any]]
) -> Prompt | str:
    """The prompt as it was sent, or why it cannot be shown."""
    settings = next(one.settings for one in series if (one.rubric, one.judge) == (call.rubrics[0], call.judge))
    layout = str(settings["layout"])
    if layout == DIRECT:
        return COMPUTED
    if DUEL in (layout.partition("/")[0], call.judge.partition("/")[0]):
        return BOTH
    if call.shown is not None:
        return SHORTENED
    sheet = _sheet(layout, str(settings["material"]), [_rubric(bodies[name]) for name in call.rubrics])
    prompt = None if sheet is None else render(sheet, item)
    return UNLIKE if prompt is None or prompt.digest != call.prompt_digest else prompt


def _sheet(label: str, material: str, rubrics: list[Rubric]) -> Sheet | None:
    """A sheet from its label in signatures (`Sheet.label`); None for one that this version does not know."""
    name, _, way = label.partition("/")
    layout = next((known for known in LAYOUTS if known == name), None)
    if layout is None:
        return None
    own: Answer = "form" if layout == "form" else "tag"
    if layout == "verbatim":
        own = rubrics[0].answer or "tag"
    answer = next((known for known in get_args(Answer) if known == way.removesuffix("+reasons")), own)
    fields = tuple(name for name in material.split(", ") if name)
    reasoned = way.endswith("+reasons") or (layout == "verbatim" and answer == "digit")
    return Sheet(tuple(rubrics), layout, answer, fields, reasoned)


def _rubric(body: Mapping[str, Any]) -> Rubric:
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in body.items()}
    if told.get("template") is not None:
        told["template"] = Template(**told["template"])
    return Rubric(**told)
