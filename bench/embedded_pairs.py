"""Pairs with a known order for the embedded judge: damage, other products, edits, the bundled examples.

Owns which text must score above which, and counts how often it does. Part of `bench/embedded.py`.
"""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from damage import all_damage
from jurybox.judges.embedded.examiner import Examiner
from jurybox.stats.shares import clustered_share

Array = NDArray[np.float64]
Share = tuple[float, float, float, int]
RUBRICS = (
    "fluency",
    "coherence",
    "aspect_coverage",
    "sentiment_consistency",
    "faithfulness",
    "relevance",
    "specificity",
)
DAMAGED_SYSTEMS = ("human-summaries", "Llama-2-13b-chat-hf", "chatgpt-3.5-turbo")
_FAITHFUL = 4.0  # the people's mean from which a summary is called faithful
_FOREIGN = 6  # summaries of other products a source


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def share(wins: Sequence[bool]) -> Share:
    """Share, its 95 % interval (Wilson 1927), and of how many."""
    n, z = len(wins), 1.96
    p = sum(wins) / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return p, centre - half, centre + half, n


def foreign_pairs(judge: Examiner, rows: Sequence[Mapping[str, Any]], every: bool = False, seed: int = 1) -> Share:
    """Every summary that people call faithful against summaries of other products, some or every one, on faithfulness.

    Pairs come in sources, and the interval knows it.
    """
    rng = random.Random(seed)
    sources: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        sources[row["id"]].append(row)
    wins: list[bool] = []
    source_of: list[int] = []
    for number, (key, own) in enumerate(sources.items()):
        faithful = [row["summary"] for row in own if np.mean(row["human"]["faithfulness"]) >= _FAITHFUL]
        others = rng.sample([other for other in sources if other != key], _FOREIGN)
        foreign = [rng.choice(sources[other])["summary"] for other in others]
        if every:
            foreign = [row["summary"] for row in rows if row["id"] != key]
        judge.look_at(own[0], [*faithful, *foreign])
        good, bad = ([judge.judge(own[0], t, "faithfulness")[0] or 0 for t in texts] for texts in (faithful, foreign))
        wins += [one > other for one in good for other in bad]
        source_of += [number] * (len(wins) - len(source_of))
    found = clustered_share(np.asarray(wins), np.asarray(source_of), 0, "pairs")
    return found.value or 0.0, found.low or 0.0, found.high or 0.0, found.n


def damage_pairs(judge: Examiner, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Share]]:
    """Share of pairs in which the undamaged summary scores higher, by kind and rubric."""
    known = {(row["id"], row["system"]): row for row in rows}
    ids = sorted({row["id"] for row in rows})
    wins: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for position, key in enumerate(ids):
        for system in DAMAGED_SYSTEMS:
            row = known[(key, system)]
            other = known[(ids[(position + 1) % len(ids)], system)]["summary"]
            made = all_damage(row["summary"], other, f"{key}/{system}")
            judge.evidence(row, [row["summary"], *made.values()])
            for kind, text in made.items():
                for rubric in RUBRICS:
                    good, _, _ = judge.judge(row, row["summary"], rubric)
                    bad, _, _ = judge.judge(row, text, rubric)
                    wins[kind][rubric].append((good or 0) > (bad or 0))
    return {kind: {r: share(v) for r, v in entry.items()} for kind, entry in wins.items()}


def area(good: Array, bad: Array) -> float:
    """Probability that a good one scores above a bad one (area under the ROC curve)."""
    return float(np.mean((good[:, None] > bad[None]) + 0.5 * (good[:, None] == bad[None])))


def edits(judge: Examiner, rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Consistent against edited summaries, pooled and within a source."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row["description"]].append(i)
    score = np.zeros(len(rows))
    for group in groups.values():
        judge.evidence(rows[group[0]], [rows[i]["summary"] for i in group])
        for i in group:
            score[i] = judge.judge(rows[i], rows[i]["summary"], "faithfulness")[0] or 0.0
    truth = np.asarray([row["consistent"] == 1 for row in rows])
    within = [
        area(score[g][truth[g]], score[g][~truth[g]])
        for g in map(np.asarray, groups.values())
        if 0 < truth[g].sum() < len(g)
    ]
    return {"pooled": area(score[truth], score[~truth]), "within": float(np.mean(within)), "n": float(len(rows))}


def example_pairs(judge: Examiner, folder: Path) -> dict[str, str]:
    """The bundled examples: careful above altered and misplaced, by the rubric that should see it."""
    found: dict[str, str] = {}
    tests = {
        "products": (
            ("faithfulness", "altered"),
            ("faithfulness", "misplaced"),
            ("relevance", "misplaced"),
            ("aspect_coverage", "lead"),
        ),
        "health": (
            ("contradiction", "altered"),
            ("extraneous_information", "altered"),
            ("redundancy", "altered"),
            ("perspective_misalignment", "misplaced"),
            ("omission", "misplaced"),
        ),
    }
    for name, pairs in tests.items():
        path = folder / f"{name}.jsonl"
        rows = read_rows(path) if path.exists() else []
        for rubric, system in pairs:
            wins = [
                (judge.judge(row, row["summaries"]["careful"], rubric)[0] or 0)
                > (judge.judge(row, row["summaries"][system], rubric)[0] or 0)
                for row in rows
                if system in row["summaries"]
            ]
            found[f"{name}: {rubric}, careful > {system}"] = f"{sum(wins)}/{len(wins)}"
    return found
