"""What in the source stands behind each sentence of a summary, and what it leaves out.

Owns the similarity evidence: sentence by sentence (best passage, themes) and word piece by
word piece (each content word's nearest content word on the other side, as in BERTScore,
Zhang et al. 2020, both directions). Pure functions on vectors. Nearness is not entailment:
a flipped statement stays near, which is why likelihood and `statements` stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.embedding import SentenceEncoder
from jurybox.judges.embedded.source import Passage, Source

Floats = NDArray[np.float32]
NEAR = 0.45  # two sentences speak of the same thing; seen on the development data
_MOST_THEMES = 20
_EMPTY_WORDS = """
the a an of to is are was were and that it they this these those for in on with as i my you your be have has had but
so or not at from by if their its he she we them me do does did can will would some many most more very also one
which who when than there been being just get got overall however while although though other others such both
"""
STOP = frozenset(_EMPTY_WORDS.split())


@dataclass(frozen=True)
class Vectors:
    """Vectors of a list of texts: one a text, one a content word piece."""

    sentences: Floats
    pieces: Floats
    piece_owner: NDArray[np.int64]


@dataclass(frozen=True)
class Theme:
    """A passage that stands for what several voices say."""

    passage: int
    share: float
    nearness: float = 0.0


@dataclass(frozen=True)
class Support:
    """Numbers that the rubrics use, and the matches behind them."""

    best_passage: tuple[int, ...]
    best_score: tuple[float, ...]
    precision: float
    least: float
    topic: float
    piece_precision: float
    coverage: float
    piece_recall: float
    piece_recall_low: float


def vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> Vectors:
    """Vectors of one list of texts."""
    return vectors_of(encoder, [texts])[0]


def vectors_of(encoder: SentenceEncoder, lists: Sequence[Sequence[str]]) -> list[Vectors]:
    """Vectors of several lists of texts by one encoder pass; stop words and punctuation get no piece vector."""
    encoded = iter(encoder.encode_words([text for texts in lists for text in texts], _is_content))
    found: list[Vectors] = []
    for texts in lists:
        mine = list(islice(encoded, len(texts)))
        found.append(
            Vectors(
                _stack([entry.sentence[None] for entry in mine], encoder.width),
                _stack([entry.pieces for entry in mine], encoder.width),
                np.repeat(np.arange(len(mine)), [len(entry.pieces) for entry in mine]),
            )
        )
    return found


def support(source: Source, there: Vectors, here: Vectors) -> Support:
    """Evidence of a summary (`here`) against the source (`there`); both non-empty."""
    voice = np.asarray([source.is_voice(passage) for passage in source.passages])
    nearness = there.sentences @ here.sentences.T
    best = nearness.argmax(axis=0)
    scores = nearness.max(axis=0)
    precision, recall = _pieces(there, here, voice)
    return Support(
        best_passage=tuple(int(i) for i in best),
        best_score=tuple(float(s) for s in scores),
        precision=float(scores.mean()),
        least=float(scores.min()),
        topic=_cosine(there.sentences[voice].mean(axis=0), here.sentences.mean(axis=0)),
        piece_precision=precision,
        coverage=float(nearness[voice].max(axis=1).mean()),
        piece_recall=float(recall.mean()),
        piece_recall_low=float(np.sort(recall)[: max(1, len(recall) // 2)].mean()),
    )


def _cosine(first: Floats, second: Floats) -> float:
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def themes(source: Source, there: Vectors) -> tuple[Theme, ...]:
    """What several voices say, most spoken of first; each passage in one theme at most.

    Input spans were chosen by people, so each of them counts by itself.
    """
    voices = [i for i, passage in enumerate(source.passages) if source.is_voice(passage)]
    documents = np.asarray([source.passages[i].document for i in voices])
    total = len(set(documents))
    if source.voice_field == "input_spans":
        return tuple(Theme(i, 1 / total) for i in voices)
    near = there.sentences[voices] @ there.sentences[voices].T >= NEAR
    free = np.ones(len(voices), bool)
    found: list[Theme] = []
    while free.any() and len(found) < _MOST_THEMES:
        reach = [len(set(documents[row & free])) if free[i] else 0 for i, row in enumerate(near)]
        centre = int(np.argmax(reach))
        if reach[centre] < 2:
            break
        found.append(Theme(voices[centre], reach[centre] / total))
        free &= ~near[centre]
    return tuple(found)


def theme_nearness(found: Sequence[Theme], there: Vectors, here: Vectors) -> list[Theme]:
    """The themes with how near the summary comes to each."""
    if not len(here.sentences):
        return list(found)
    return [Theme(t.passage, t.share, float((here.sentences @ there.sentences[t.passage]).max())) for t in found]


def passage_evidence(passage: Passage, score: float) -> dict[str, object]:
    """A passage as JSON: where it stands and what it says."""
    return {
        "field": passage.field,
        "index": passage.index,
        "start": passage.start,
        "end": passage.end,
        "text": passage.text,
        "score": round(score, 3),
    }


def _pieces(there: Vectors, here: Vectors, voice: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Mean nearest source piece of the summary's pieces; nearest summary piece of each voice piece."""
    if not len(there.pieces) or not len(here.pieces):
        return 0.0, np.zeros(1, np.float32)
    nearness = here.pieces @ there.pieces.T
    spoken = voice[there.piece_owner]
    recall = nearness[:, spoken].max(axis=0) if spoken.any() else nearness.max(axis=0)
    return float(nearness.max(axis=1).mean()), recall


def self_similarity(sentences: Floats) -> float:
    """How near each sentence comes to another one of the same summary, on average."""
    if len(sentences) < 2:
        return 0.0
    nearness = sentences @ sentences.T - 2 * np.eye(len(sentences), dtype=np.float32)
    return float(nearness.max(axis=1).mean())


def _is_content(piece: str) -> bool:
    return piece.isalnum() and piece.lower() not in STOP


def _stack(parts: Sequence[Floats], width: int) -> Floats:
    return np.concatenate(parts) if parts else np.zeros((0, width), np.float32)
