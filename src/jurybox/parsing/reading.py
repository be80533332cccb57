"""One reply in, one verdict a rubric out: what holds for every way of answering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jurybox.parsing.digits import read_digit
from jurybox.parsing.forms import read_form
from jurybox.parsing.objects import read_object
from jurybox.parsing.refusals import first_sentences, is_refusal
from jurybox.parsing.tags import read_tag
from jurybox.parsing.thinking import set_thinking_apart
from jurybox.types import Answer, Reply, Rubric, Status, Verdict

# What servers call an answer that ran into its token limit.
CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})

Reader = Callable[[str, Sequence[Rubric], bool], dict[str, Verdict]]


def _read_choice(text: str, rubrics: Sequence[Rubric], cut: bool) -> dict[str, Verdict]:
    from jurybox.parsing.choices import read_choice  # its patterns are for duels alone

    return read_choice(text, rubrics, cut)


READERS: Mapping[Answer, Reader] = {"tag": read_tag, "form": read_form, "json": read_object, "choice": _read_choice}


def read(reply: Reply, rubrics: Sequence[Rubric], answer: Answer) -> dict[str, Verdict]:
    """The verdict for each rubric, by its name; always all of them, whatever the reply says."""
    if reply.verdicts is not None:
        return _handed_over(reply.verdicts, rubrics)
    if reply.refusal.strip() or reply.finish.lower() == "content_filter":
        said = first_sentences(reply.refusal) or "the server's content filter stopped the answer"
        return _same_for_all(rubrics, "refused", said)
    if answer == "digit":
        return read_digit(reply, read(reply, rubrics, "tag"))
    cut = reply.finish.lower() in CUT_OFF
    text, set_apart = set_thinking_apart(reply.text)
    if text is None or not text.strip():
        return _same_for_all(rubrics, *_nothing_written(text is None, cut))
    verdicts = READERS[answer](text, rubrics, cut)
    return _explain_unread(_keep_reasoning(verdicts, set_apart), text, cut)


def _handed_over(given: Mapping[str, Verdict], rubrics: Sequence[Rubric]) -> dict[str, Verdict]:
    absent = Verdict("unsupported", reason="the judge gave no verdict for this rubric")
    return {rubric.name: given.get(rubric.name, absent) for rubric in rubrics}


def _same_for_all(rubrics: Sequence[Rubric], status: Status, reason: str) -> dict[str, Verdict]:
    return {rubric.name: Verdict(status, reason=reason) for rubric in rubrics}


def _nothing_written(still_thinking: bool, cut: bool) -> tuple[Status, str]:
    if cut:
        return "truncated", "the answer was cut off before it began"
    return "unparsed", "the thinking never ended in an answer" if still_thinking else "empty answer"


def _keep_reasoning(verdicts: dict[str, Verdict], set_apart: str) -> dict[str, Verdict]:
    """A `<reasoning>` block that stands in for the written reasoning becomes the reason."""
    if not set_apart:
        return verdicts
    bare = [name for name, verdict in verdicts.items() if verdict.status == "scored" and not verdict.reason]
    return verdicts | {name: replace(verdicts[name], reason=set_apart) for name in bare}


def _explain_unread(verdicts: dict[str, Verdict], text: str, cut: bool) -> dict[str, Verdict]:
    """Say of an unread answer whether it was a refusal or was cut off; leave what was read alone."""
    unread = [name for name, verdict in verdicts.items() if verdict.status == "unparsed"]
    if not unread:
        return verdicts
    if len(unread) == len(verdicts) and is_refusal(text):
        why = Verdict("refused", reason=first_sentences(text))
    elif cut:
        why = Verdict("truncated", reason="the answer was cut off before its score")
    else:
        return verdicts
    return verdicts | dict.fromkeys(unread, why)
