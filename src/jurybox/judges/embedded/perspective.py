"""Whether a health summary speaks from the perspective it was asked for.

Owns two signs: its sentences lie nearer to the statements of its own perspective than to the rest of the
answers, and nearer to its own perspective's way of speaking than to the four others'.
The examples of each way are our own. Refuses items without a perspective or statements.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.source import Source
from jurybox.judges.embedded.support import Vectors

Floats = NDArray[np.float32]

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "INFORMATION": (
        "The condition is a common disorder that affects the nerves.",
        "This medicine belongs to a group of drugs that lower blood pressure.",
        "It is known that the virus spreads through the air.",
    ),
    "CAUSE": (
        "The pain may be caused by an infection or by stress.",
        "It could be due to a lack of iron, or a side effect of the tablets.",
        "Possible reasons include dehydration and sitting too long.",
    ),
    "SUGGESTION": (
        "It is advised to see a doctor and to avoid salty food.",
        "Try drinking more water and stretching before bed.",
        "Users recommend asking the pharmacist before taking more.",
    ),
    "EXPERIENCE": (
        "One person had the same problem and got better after two weeks.",
        "I took it for three months and it made no difference to me.",
        "Another user shared that her symptoms came back in winter.",
    ),
    "QUESTION": (
        "They asked how long the symptoms have lasted.",
        "Have you seen a doctor, and are you taking any medicine?",
        "A user inquires whether it gets worse at night.",
    ),
}


def margin(source: Source, there: Vectors, here: Vectors) -> float | None:
    """Own statements against the rest of the answers, averaged over sentences; None without either."""
    own = [i for i, passage in enumerate(source.passages) if passage.field == "input_spans"]
    if not own or not len(here.sentences):
        return None
    mine = {_key(source.passages[i].text) for i in own}
    spans = " ".join(mine)
    rest = [
        i for i, passage in enumerate(source.passages) if passage.field == "answers" and _key(passage.text) not in spans
    ]
    near_own = (there.sentences[own] @ here.sentences.T).max(axis=0)
    if not rest:
        return float(near_own.mean())
    near_rest = (there.sentences[rest] @ here.sentences.T).max(axis=0)
    return float((near_own - near_rest).mean())


def manner(source: Source, examples: Mapping[str, Floats], here: Vectors) -> float | None:
    """Own perspective's way of speaking against the best of the others; None if unknown."""
    if source.perspective not in examples or not len(here.sentences):
        return None
    near = {name: (vectors @ here.sentences.T).mean() for name, vectors in examples.items()}
    others = max(value for name, value in near.items() if name != source.perspective)
    return float(near[source.perspective] - others)


def _key(text: str) -> str:
    return " ".join(text.lower().split())
