"""Makes `tables.npz` and `calibration.json` of the embedded judge from the development data.

    python bench/calibrate_embedded.py [--data ../shared/data] [--keep-tables]

Owns what is learnt and from what: (1) the unigram table, the language model's own predictions averaged over the
reviews; (2) the polarity direction, a ridge regression of the word list's polarity on sentence vectors of the reviews,
no ratings; (3) mean and within-source spread of each feature; (4) for each rubric the two numbers of its map, by least
squares on the people's mean ratings, with damaged copies holding the low end. Signs and weights are not learnt.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from damage import all_damage
from embedded_pairs import read_rows
from jurybox.judges.embedded.calibration import Calibration
from jurybox.judges.embedded.embedding import SentenceEncoder
from jurybox.judges.embedded.evidence import Models, gather, gather_source
from jurybox.judges.embedded.examiner import HERE as PACKAGE
from jurybox.judges.embedded.examiner import load_models
from jurybox.judges.embedded.judge import ENCODER, LANGUAGE_MODEL
from jurybox.judges.embedded.llama import LlamaScorer
from jurybox.judges.embedded.recipes import RECIPES
from jurybox.judges.embedded.sentences import sentences
from jurybox.judges.embedded.sentiment import polarity
from jurybox.weights import get

Features = Mapping[str, float | None]
ROOT = Path(__file__).parent.parent
_RIDGE = 20.0
# No rated data has perspectives: set by hand from what the two margins look like on the bundled health examples.
_BY_HAND = {"own_margin": (0.10, 0.15), "own_manner": (0.0, 0.08)}
# The two of them give a perspective score of 3 at the mean of that guess.
_MAPS_BY_HAND = {"perspective_misalignment": (1.0, 1.5)}
_LEAST_SPREAD = {"founded": 0.1, "unrepeated": 0.02}  # nearly constant on good summaries
_BATCH = 4
# The development data has no hopeless summaries, so the low end of each map is held by damaged copies whose rating
# follows from what was done to them. They set the scale only: no sign, no weight.
_ANCHOR_SYSTEMS = ("human-summaries", "vicuna-7b-v1.5")
_ANCHOR_KINDS = ("words swapped", "repeated", "other product", "generic")
_ANCHORS: dict[str, dict[str, float]] = {
    "fluency": {"words swapped": 1.5},
    "coherence": {"words swapped": 1.5, "repeated": 2.0},
    "aspect_coverage": {"other product": 1.0, "generic": 2.0},
    "faithfulness": {"other product": 1.0},
    "sentiment_consistency": {"other product": 1.5},
    "relevance": {"other product": 1.0, "generic": 2.0},
    "specificity": {"other product": 1.0, "generic": 1.5},
    "omission": {"other product": 1.0, "generic": 2.0},
    "extraneous_information": {"other product": 1.0},
    "contradiction": {"other product": 1.5},
    "redundancy": {"repeated": 1.5},
}
_UNDAMAGED = {"redundancy": 4.5}  # nobody rated it: what good summaries are taken to deserve


def unigram(model: LlamaScorer, texts: Iterable[str]) -> NDArray[np.float16]:
    """log of the model's mean next-token probabilities over the texts."""
    total, count = np.zeros(0), 0
    for text in texts:
        tokens = model.tokenize("Review: " + text)
        part = model.mean_prediction(tokens).astype(np.float64) * len(tokens)
        total = part if not count else total + part
        count += len(tokens)
    return np.log(total / count).astype(np.float16)


def polarity_axis(encoder: SentenceEncoder, texts: Iterable[str]) -> tuple[NDArray[np.float32], float]:
    """Weights and offset that predict the word list's polarity where it sees any."""
    spans = [span.text for text in texts for span in sentences(text)]
    target = np.asarray([polarity(span) for span in spans])
    seen = target != 0
    x = encoder.encode(spans)[seen].astype(np.float64)
    y = target[seen]
    centre = x.mean(axis=0)
    x = x - centre
    weights = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ (y - y.mean()))
    return weights.astype(np.float32), float(y.mean() - centre @ weights)


def all_features(models: Models, rows: Sequence[Mapping[str, Any]]) -> list[Features]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["id"]].append(index)
    out: list[Features] = [{} for _ in rows]
    for indices in groups.values():
        known = gather_source(models, rows[indices[0]])
        for start in range(0, len(indices), _BATCH):
            batch = indices[start : start + _BATCH]
            found = gather(models, known, [rows[i]["summary"] for i in batch])
            for i, evidence in zip(batch, found, strict=True):
                out[i] = dict(evidence.features)
    return out


def moments(rows: Sequence[Mapping[str, Any]], features: Sequence[Features]) -> dict[str, tuple[float, float]]:
    """Mean over all summaries, spread within a source."""
    ids = np.asarray([row["id"] for row in rows])
    found = dict(_BY_HAND)
    for name in features[0]:
        values = [f[name] for f in features]
        known = np.asarray([v for v in values if v is not None])
        if len(known) < len(rows) / 2:
            continue
        owners = ids[[v is not None for v in values]]
        rest = known.copy()
        for key in set(owners):
            rest[owners == key] -= rest[owners == key].mean()
        found[name] = (float(known.mean()), max(float(rest.std()), _LEAST_SPREAD.get(name, 1e-6)))
    return found


def fit_map(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """a and b > 0 of least squares for 1 + 4·logistic(a + b·x): a grid, made finer six times."""
    a, b, step_a, step_b = 1.0, 1.0, 1.0, 2.0
    for _ in range(7):
        grid = [(a + i * step_a, b * step_b**k) for i in range(-5, 6) for k in range(-4, 5)]
        a, b = min(grid, key=lambda ab: float(((1 + 4 / (1 + np.exp(-(ab[0] + ab[1] * x))) - y) ** 2).sum()))
        step_a, step_b = step_a / 2.5, step_b**0.4
    return a, b


def anchors(models: Models, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Features]]:
    """Features of damaged copies, by kind of damage: the low end of the scale, by construction."""
    known = {(row["id"], row["system"]): row for row in rows}
    ids = sorted({row["id"] for row in rows})
    out: dict[str, list[Features]] = defaultdict(list)
    for position, key in enumerate(ids):
        source = gather_source(models, known[(key, _ANCHOR_SYSTEMS[0])])
        for system in _ANCHOR_SYSTEMS:
            other = known[(ids[(position + 1) % len(ids)], system)]["summary"]
            made = all_damage(known[(key, system)]["summary"], other, f"{key}/{system}")
            chosen = [kind for kind in _ANCHOR_KINDS if kind in made]
            found = gather(models, source, [made[kind] for kind in chosen])
            for kind, evidence in zip(chosen, found, strict=True):
                out[kind].append(dict(evidence.features))
    return out


def rubric_maps(
    rows: Sequence[Mapping[str, Any]],
    features: Sequence[Features],
    low: Mapping[str, Sequence[Features]],
    calibration: Calibration,
) -> dict[str, Any]:
    """The two numbers of each rubric's map, and what they rest on."""
    found: dict[str, Any] = {}
    for name, recipe in RECIPES.items():
        if name in _MAPS_BY_HAND:
            a, b = _MAPS_BY_HAND[name]
            found[name] = {"a": a, "b": b, "ratings": None, "n": 0, "anchors": {}}
            continue
        y = [_UNDAMAGED[name] if name in _UNDAMAGED else float(np.mean(row["human"][recipe.scale])) for row in rows]
        x = [calibration.composite(recipe, f) for f in features]
        for kind, rating in _ANCHORS[name].items():
            x += [calibration.composite(recipe, f) for f in low[kind]]
            y += [rating] * len(low[kind])
        a, b = fit_map(np.asarray(x, np.float64), np.asarray(y))
        ratings = None if name in _UNDAMAGED else recipe.scale
        found[name] = {"a": round(a, 5), "b": round(b, 5), "ratings": ratings, "n": len(x), "anchors": _ANCHORS[name]}
    return found


def make_tables(language: Path, encoder: Path, reviews: Sequence[str]) -> None:
    weights, offset = polarity_axis(SentenceEncoder(encoder), reviews)
    table = unigram(LlamaScorer(language), reviews)
    np.savez_compressed(PACKAGE / "tables.npz", log_unigram=table, axis=weights, axis_offset=offset)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--keep-tables", action="store_true", help="do not make tables.npz again")
    args = parser.parse_args()
    path = args.data / "summeval_op_dev.jsonl"
    rows = read_rows(path)
    reviews = sorted({text for row in rows for text in row["reviews"]})
    language, encoder = get(LANGUAGE_MODEL), get(ENCODER)
    with threadpool_limits(limits=1):
        if not args.keep_tables:
            make_tables(language, encoder, reviews)
        models = load_models(language, encoder)
        features = all_features(models, rows)
        low = anchors(models, rows)
    found = moments(rows, features)
    about = {
        "made": datetime.now(UTC).date().isoformat(),
        "by": "bench/calibrate_embedded.py",
        "data": path.name,
        "summaries": len(rows),
        "sources": len({row["id"] for row in rows}),
        "reviews": len(reviews),
        "language_model": LANGUAGE_MODEL,
        "encoder": ENCODER,
        "map": "1 + 4 / (1 + exp(-(a + b x))), x the recipe's mean of standardised features",
    }
    result = {
        "about": about,
        "features": {k: {"mean": round(m, 6), "spread": round(s, 6)} for k, (m, s) in sorted(found.items())},
        "rubrics": rubric_maps(rows, features, low, Calibration(found, {}, {})),
    }
    (PACKAGE / "calibration.json").write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
