"""All evidence about one summary, gathered once for every rubric.

Owns putting the parts together: `gather_source` reads a source, `gather` looks at summaries
of it. Features are plain numbers for `recipes`; details are JSON for people.
Holds no state and gives no score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jurybox.judges.embedded.contrast import Contrasts
from jurybox.judges.embedded.embedding import SentenceEncoder
from jurybox.judges.embedded.framing import body, stated
from jurybox.judges.embedded.language import Wording, candidates, evaluate_source, wordings
from jurybox.judges.embedded.llama import LlamaScorer, Prefix
from jurybox.judges.embedded.opinion import CLEAR, Axis, Opinion, opinion, polarities
from jurybox.judges.embedded.perspective import manner, margin
from jurybox.judges.embedded.sentences import Span, sentences, words
from jurybox.judges.embedded.source import Source, read_source
from jurybox.judges.embedded.statements import Flag, Vocabulary, absent, negations, vocabulary
from jurybox.judges.embedded.support import (
    NEAR,
    STOP,
    Support,
    Theme,
    Vectors,
    passage_evidence,
    self_similarity,
    support,
    theme_nearness,
    themes,
    vectors,
    vectors_of,
)

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Models:
    """Everything loaded: the language model, the encoder, and the tables made for them."""

    language: LlamaScorer
    contrasts: Contrasts
    encoder: SentenceEncoder
    log_unigram: Floats
    axis: Axis
    ways: Mapping[str, Floats]


@dataclass(frozen=True)
class SourceEvidence:
    """A source evaluated once."""

    source: Source
    prefix: Prefix
    candidates: NDArray[np.int64]
    vectors: Vectors
    felt: Floats
    themes: tuple[Theme, ...]
    vocabulary: Vocabulary


@dataclass(frozen=True)
class Evidence:
    """Numbers for the rubrics (None where there is nothing to measure) and details."""

    features: Mapping[str, float | None]
    details: Mapping[str, Any]


def gather_source(models: Models, source: Mapping[str, Any]) -> SourceEvidence:
    """Reads and evaluates a source for any number of summaries."""
    read, prefix = evaluate_source(models.language, read_source(source))
    texts = [passage.text for passage in read.passages]
    found = vectors(models.encoder, texts)
    return SourceEvidence(
        read,
        prefix,
        candidates(prefix, models.log_unigram),
        found,
        polarities(models.axis, texts, found),
        themes(read, found) if texts else (),
        vocabulary(read.text),
    )


def gather(models: Models, known: SourceEvidence, summaries: Sequence[str]) -> list[Evidence]:
    """Evidence about several summaries of one source; each must have at least one word."""
    bodies = [body(text) for text in summaries]
    texts = [each.text for each in bodies]
    worded = wordings(models.language, models.contrasts, known.prefix, known.candidates, models.log_unigram, texts)
    spans = [_within(each) for each in bodies]
    here = vectors_of(models.encoder, [[stated(span.text) for span in each] for each in spans])
    parts = zip(texts, worded, spans, here, strict=True)
    return [_gather_one(models, known, *part) for part in parts]


def _within(whole: Span) -> list[Span]:
    """The sentences of a body, with offsets into the text that it was taken from."""
    return [replace(each, start=each.start + whole.start, end=each.end + whole.start) for each in sentences(whole.text)]


def _gather_one(
    models: Models, known: SourceEvidence, text: str, wording: Wording, spans: list[Span], here: Vectors
) -> Evidence:
    features: dict[str, float | None] = {
        "slor": wording.slor,
        "slor_low": wording.slor_low,
        "glue": wording.glue,
        "unrepeated": wording.unrepeated,
        "self_similarity": self_similarity(here.sentences),
        "rarity": wording.rarity,
        "lead": wording.lead,
    }
    details: dict[str, Any] = {
        "read": asdict(known.source.reading),
        "odd_words": [{"text": word, "slor": round(value, 2)} for word, value in wording.odd],
        "rivals": [{"text": c.text, "likelier": c.rival, "lead": round(c.lead, 2)} for c in wording.outdone],
    }
    if known.source.passages:
        found = support(known.source, known.vectors, here)
        feeling = polarities(models.axis, [stated(span.text) for span in spans], here)
        felt = opinion(known.source, known.vectors, known.felt, here, feeling)
        invented = absent(text, known.vocabulary)
        features |= _source_features(models, known, text, here, found, felt)
        features["founded"] = -float(len(invented)) / max(1, len(spans))
        details |= _source_details(known, invented, spans, here, found, felt)
    return Evidence(features, details)


def _source_features(
    models: Models, known: SourceEvidence, text: str, here: Vectors, found: Support, felt: Opinion
) -> dict[str, float | None]:
    source = known.source
    return {
        "precision": found.precision,
        "least_support": found.least,
        "topic": found.topic,
        "piece_precision": found.piece_precision,
        "coverage": found.coverage,
        "piece_recall": found.piece_recall,
        "piece_recall_low": found.piece_recall_low,
        "sentiment_agreement": felt.agreement,
        "shared_words": _shared_words(text, known.vocabulary.words),
        "own_margin": margin(source, known.vectors, here),
        "own_manner": manner(source, models.ways, here),
    }


def _source_details(
    known: SourceEvidence, invented: list[Flag], spans: list[Span], here: Vectors, found: Support, felt: Opinion
) -> dict[str, Any]:
    passages = known.source.passages
    best = [passages[i] for i in found.best_passage]
    rows = [
        {"start": span.start, "end": span.end, "text": span.text, "support": passage_evidence(passage, score)}
        for span, passage, score in zip(spans, best, found.best_score, strict=True)
    ]
    flags = invented + negations(spans, [p.text for p in best], found.best_score)
    near = theme_nearness(known.themes, known.vectors, here)
    return {
        "sentences": rows,
        "least_supported": rows[int(np.argmin(found.best_score))],
        "missed_themes": [
            {**passage_evidence(passages[t.passage], t.nearness), "share": round(t.share, 3)}
            for t in near
            if t.nearness < NEAR
        ],
        "themes": len(near),
        "sentiment_differs": [
            {"text": span.text, "start": span.start, "end": span.end, "summary": round(a, 2), "source": round(b, 2)}
            for span, a, b in zip(spans, felt.summary, felt.expected, strict=True)
            if abs(a - b) >= CLEAR
        ],
        "sentiment": {"summary": round(felt.overall_summary, 2), "source": round(felt.overall_source, 2)},
        "flags": [asdict(flag) for flag in flags],
    }


def _shared_words(text: str, known: frozenset[str]) -> float:
    """Distinct content words that the source has too, for each word of the summary."""
    said = words(text)
    return len({word for word in said if word not in STOP and word in known}) / max(1, len(said))
