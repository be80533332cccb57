"""Whether a summary feels about each thing what the source feels about it.

Owns the comparison of sentiment: a sentence's polarity is the mean of the word list's and of
a direction in embedding space learnt from that list alone (bench/calibrate_embedded.py; no ratings), so words that
the list lacks still count. Refuses to name a sentiment where neither sees one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.sentiment import polarity
from jurybox.judges.embedded.source import Source
from jurybox.judges.embedded.support import Vectors

Floats = NDArray[np.float32]
_SHARPNESS = 10.0  # of the soft match between a summary sentence and the passages
CLEAR = 0.5  # a difference worth telling a person


@dataclass(frozen=True)
class Axis:
    """The polarity direction: `tanh(gain · (x·weights + offset))`."""

    weights: Floats
    offset: float
    gain: float = 1.5

    def __call__(self, sentences: Floats) -> Floats:
        return np.asarray(np.tanh(self.gain * (sentences @ self.weights + self.offset)), np.float32)


@dataclass(frozen=True)
class Opinion:
    """Agreement (0 is best, negative is worse) and both polarities of each sentence."""

    agreement: float
    summary: tuple[float, ...]
    expected: tuple[float, ...]
    overall_summary: float
    overall_source: float


def polarities(axis: Axis, texts: Sequence[str], vectors: Vectors) -> Floats:
    """One number a text, -1 … 1."""
    listed = np.asarray([polarity(text) for text in texts], np.float32)
    return np.asarray(0.5 * listed + 0.5 * axis(vectors.sentences), np.float32)


def opinion(source: Source, there: Vectors, felt_there: Floats, here: Vectors, felt_here: Floats) -> Opinion:
    """Compares each sentence with the passages it speaks of, and the whole with the whole."""
    voice = np.asarray([source.is_voice(passage) for passage in source.passages])
    nearness = there.sentences[voice] @ here.sentences.T
    weight = np.exp(_SHARPNESS * (nearness - nearness.max(axis=0)))
    weight /= weight.sum(axis=0)
    expected = weight.T @ felt_there[voice]
    overall_there, overall_here = float(felt_there[voice].mean()), float(felt_here.mean())
    local = float(np.abs(expected - felt_here).mean())
    return Opinion(
        agreement=-0.5 * local - 0.5 * abs(overall_there - overall_here),
        summary=tuple(float(x) for x in felt_here),
        expected=tuple(float(x) for x in expected),
        overall_summary=overall_here,
        overall_source=overall_there,
    )
