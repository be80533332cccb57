"""The prompt of a call, made to fit the judge's context where a person allowed it. Nothing is ever cut in silence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from jurybox.judges import Judge
from jurybox.prompts import Sheet, render
from jurybox.types import Item, Prompt, Sampling

if TYPE_CHECKING:
    from jurybox.material import Shown

Long = Literal["refuse", "sample", "extract"]
LONGS: tuple[Long, ...] = get_args(Long)

# Tokens kept free for an answer of one rubric where no limit is given: a reasoned one has some 350.
ROOM_FOR_ANSWER = 1024
# The same for a bare digit.
ROOM_FOR_DIGIT = 16
# The estimate of tokens is off by a tenth or so; material that is made to fit keeps that distance.
CAUTION = 0.9
# Tokens of the note that says what is not shown.
ROOM_FOR_NOTE = 320


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt; what it shows of the material if that was shortened, and the item so; why it cannot be asked, if it
    cannot."""

    prompt: Prompt
    shown: Shown | None = None
    item: Item | None = None
    too_long: str = ""


def fit(judge: Judge, sheet: Sheet, item: Item, long: Long, sampling: Sampling) -> Fitted:
    """The prompt of one sheet about one item, shortened if the judge cannot hold it and `long` says how."""
    prompt = render(sheet, item)
    context = judge.context
    answer = sampling.max_tokens or _room_for_answer(sheet)
    # A token is seldom less than a character, so a prompt of few characters need not be counted.
    if context is None or len(prompt.user) + len(prompt.system) <= context - answer:
        return Fitted(prompt)
    tokens = tokens_of(prompt)
    if tokens + answer <= context:
        return Fitted(prompt)
    why = (
        f"the prompt has about {tokens:,} tokens; with {answer:,} for the answer that is more than the {context:,} "
        f"that {judge.spec} can hold"
    )
    if long == "refuse":
        return Fitted(prompt, too_long=f"{why}; --long sample or --long extract shows the judge less")
    from jurybox.material import DoesNotFit

    try:
        less, shown = _less(sheet, item, long, context - answer, sampling.seed or 0)
    except DoesNotFit as exc:
        return Fitted(prompt, too_long=f"{why}, and --long {long} cannot help: {exc}")
    return Fitted(render(sheet, less, shown.note), shown, less)


def _room_for_answer(sheet: Sheet) -> int:
    if sheet.answer == "digit" and not sheet.reasoned:
        return ROOM_FOR_DIGIT
    return ROOM_FOR_ANSWER * len(sheet.rubrics)


def _less(sheet: Sheet, item: Item, long: Long, limit: int, seed: int) -> tuple[Item, Shown]:
    """The item with less material, and what it shows of it."""
    from jurybox.material import extract, room_for, sample

    others = {field: value for field, value in item.source.items() if field not in sheet.fields}
    bare = render(sheet, replace(item, summary="", source=others))
    room = room_for(int(limit * CAUTION), tokens_of(bare) + ROOM_FOR_NOTE, item.summary)
    if long == "sample":
        return sample(item, sheet.fields, room, seed)
    return extract(item, sheet.rubrics, sheet.fields, room)


def tokens_of(prompt: Prompt) -> int:
    from jurybox.material import estimate_tokens  # seldom needed, and much comes with it

    return estimate_tokens(prompt.user) + estimate_tokens(prompt.system)
