"""Answers that are one digit: the expected score under the probabilities of the scale's steps.

A sampled digit is a whole step and often the same one; the probabilities behind it are a graded score from one call
(G-Eval, Liu et al. 2023, section 2, weights the scores so). Nothing is read from the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jurybox.types import SCALE, Reply, Rubric, Verdict

# Below this share the model was, more likely than not, about to write something else than a score: what little stands
# on the scale would be renormalised into a confident figure that the model never gave.
LEAST_MASS = 0.5

NO_PROBABILITIES = Verdict("unparsed", reason="the reply holds no probabilities of the scale's steps")


def read_digit(reply: Reply, rubrics: Sequence[Rubric]) -> dict[str, Verdict]:
    """The same verdict for every rubric asked; `digit` is only ever asked about one."""
    verdict = NO_PROBABILITIES if reply.scale is None else _expected(reply.scale)
    return {rubric.name: verdict for rubric in rubrics}


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
