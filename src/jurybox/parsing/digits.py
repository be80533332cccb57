"""Answers by digit: the expected score under the probabilities of the scale's steps, alone or after reasoning.

A sampled digit is a whole step and often the same one; the probabilities behind it are a graded score from one call
(G-Eval, Liu et al. 2023, section 2, weights the scores so). What is written is read too: it gives the reason, and a
score that the text does not plainly give has no probabilities worth having.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from jurybox.parsing.thinking import set_thinking_apart
from jurybox.parsing.values import COMPLETE_TAG, read_value
from jurybox.types import SCALE, Reply, Verdict

# Below this share the model was, more likely than not, about to write something else than a score: what little stands
# on the scale would be renormalised into a confident figure that the model never gave.
LEAST_MASS = 0.5

NO_PROBABILITIES = Verdict("unparsed", reason="the reply holds no probabilities of the scale's steps")
ELSEWHERE = Verdict(
    "unparsed", reason="the answer repeats scores; which of them its probabilities belong to is unclear"
)


def read_digit(reply: Reply, written: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """A verdict for every rubric asked; `digit` is only ever asked about one. `written` is what the text itself says,
    read as a tag."""
    return {name: _verdict(reply, verdict) for name, verdict in written.items()}


def _verdict(reply: Reply, written: Verdict) -> Verdict:
    if reply.scale is None:
        return _without_probabilities(written)
    expected = _expected(reply.scale)
    if expected.status != "scored":
        return expected
    tags = COMPLETE_TAG.findall(set_thinking_apart(reply.text)[0] or "")
    if written.status == "off_scale" or (tags and written.status != "scored"):
        return written
    if tags and not _is_last(tags, written.score):
        return ELSEWHERE
    reason = (
        f"{written.reason}\n\n{expected.reason}" if written.status == "scored" and written.reason else expected.reason
    )
    return replace(expected, reason=reason)


def _without_probabilities(written: Verdict) -> Verdict:
    if written.status == "scored":
        what = f"the answer gives {written.score:g}, but the probabilities in its place cannot be told"
        return Verdict("unparsed", reason=what)
    return NO_PROBABILITIES if written.status == "unparsed" else written


def _is_last(tags: list[str], score: float | None) -> bool:
    """Whether a score is the one of the last tag that holds any: probabilities are taken from there."""
    values = [value for tag in tags if (value := read_value(tag)) is not None]
    return bool(values) and values[-1].score == score


def _expected(scale: Mapping[int, float]) -> Verdict:
    found = {step: scale.get(step, 0.0) for step in SCALE}
    mass = math.fsum(found.values())
    shown = ", ".join(f"{step}: {probability:.3f}" for step, probability in found.items())
    if not all(probability >= 0 for probability in found.values()) or mass < LEAST_MASS:
        what = f"only {mass:.3f} of the probability is on the scale (at least {LEAST_MASS:g} is needed): {shown}"
        return Verdict("unparsed", reason=what)
    score = math.fsum(step * probability for step, probability in found.items()) / mass
    # Rounding may step over an end of the scale by a last digit.
    return Verdict("scored", min(max(score, SCALE[0]), SCALE[-1]), f"probabilities {shown}; on the scale: {mass:.3f}")
