"""`agree` on the development data: its figures are those of a computation that shares no line with ours.

Word count, people's ceiling and alpha are computed here by scipy, by loops and by the krippendorff package, from the
file itself; `agree` has them from a run file. The figures are pinned too, so that both cannot drift together.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats as scipy_stats

from jurybox.api import judging
from jurybox.report.agree import Agreement
from jurybox.report.agree_text import agreement_text
from jurybox.stats.agreement import Level

DEV = Path(__file__).parents[2] / "shared" / "data" / "summeval_op_dev.jsonl"
pytestmark = pytest.mark.skipif(not DEV.exists(), reason="the development data are not here")

# Word count at summary level, each rater against the mean of the others, alpha ordinal and interval.
PINNED = {
    "aspect_coverage": (0.84, 0.79, 0.59, 0.64),
    "faithfulness": (0.69, 0.68, 0.54, 0.64),
    "sentiment_consistency": (0.74, 0.66, 0.33, 0.38),
    "fluency": (0.63, 0.54, 0.25, 0.51),
    "coherence": (0.58, 0.43, 0.23, 0.39),
    "relevance": (0.64, 0.51, 0.38, 0.47),
    "specificity": (0.77, 0.64, 0.30, 0.33),
}
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Agreement:
    run = judging.evaluate(
        DEV,
        rubrics="product-opinion",
        judge="baseline/length",
        out=tmp_path_factory.mktemp("dev") / "run.db",
        cache=False,
    )
    return run.agree(resamples=200)


@pytest.fixture(scope="module")
def sources() -> Rows:
    """Source -> its items."""
    grouped: Rows = {}
    for line in DEV.read_text("utf-8").splitlines():
        item = json.loads(line)
        grouped.setdefault(item["id"], []).append(item)
    return grouped


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(scipy_stats.spearmanr(x, y).statistic)


def averaged(sources: Rows, of: Callable[[dict[str, Any]], tuple[float, float]]) -> float:
    """Spearman's rho of two numbers an item within each source, averaged over the sources that have one."""
    values = [spearman(*zip(*map(of, items), strict=True)) for items in sources.values()]
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known)


def left_out(sources: Rows, rubric: str, rater: int) -> float:
    """One rater against the mean of the others."""

    def pair(item: dict[str, Any]) -> tuple[float, float]:
        given = item["human"][rubric]
        others = [score for place, score in enumerate(given) if place != rater]
        return given[rater], math.fsum(others) / len(others)

    return averaged(sources, pair)


def alpha(units: list[list[int]], distance: Callable[[int, int, Counter[int]], float]) -> float:
    """Krippendorff's alpha by its definition: 1 - observed / expected disagreement over all pairs of ratings."""
    totals = Counter(score for unit in units for score in unit)
    n = totals.total()
    observed = sum(
        distance(a, b, totals) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2) if a != b
    )
    expected = sum(totals[a] * totals[b] * distance(a, b, totals) for a, b in permutations(totals, 2)) / (n - 1)
    return 1 - observed / expected


def interval_distance(a: int, b: int, _: Counter[int]) -> float:
    return float((a - b) ** 2)


def ordinal_distance(a: int, b: int, totals: Counter[int]) -> float:
    low, high = sorted((a, b))
    return float((sum(totals[g] for g in range(low, high + 1)) - (totals[a] + totals[b]) / 2) ** 2)


DISTANCES: dict[Level, Callable[[int, int, Counter[int]], float]] = {
    "ordinal": ordinal_distance,
    "interval": interval_distance,
}


@pytest.mark.parametrize("rubric", PINNED)
def test_word_count_is_that_of_scipy(found: Agreement, sources: Rows, rubric: str) -> None:
    """As the trivial judge, by words; and as the judge of the run, by its scores, which rank the same."""

    def pair(item: dict[str, Any]) -> tuple[float, float]:
        given = item["human"][rubric]
        return len(item["summary"].split()), math.fsum(given) / len(given)

    expected = averaged(sources, pair)
    assert found.rubrics[rubric].trivial.baselines["length"].value == pytest.approx(expected, abs=1e-9)
    assert found.rubrics[rubric].headline.value == pytest.approx(expected, abs=1e-9)
    assert expected == pytest.approx(PINNED[rubric][0], abs=0.005)


@pytest.mark.parametrize("rubric", PINNED)
def test_the_ceiling_is_each_rater_against_the_others(found: Agreement, sources: Rows, rubric: str) -> None:
    expected = math.fsum(left_out(sources, rubric, rater) for rater in range(3)) / 3
    assert found.rubrics[rubric].ceiling.value == pytest.approx(expected, abs=1e-9)
    assert expected == pytest.approx(PINNED[rubric][1], abs=0.005)


@pytest.mark.parametrize("rubric", PINNED)
def test_word_count_in_each_raters_place(found: Agreement, sources: Rows, rubric: str) -> None:
    def pair(item: dict[str, Any], rater: int) -> tuple[float, float]:
        others = [score for place, score in enumerate(item["human"][rubric]) if place != rater]
        return len(item["summary"].split()), math.fsum(others) / len(others)

    values = [averaged(sources, lambda item, rater=rater: pair(item, rater)) for rater in range(3)]  # type: ignore[misc]
    assert found.rubrics[rubric].in_place.value == pytest.approx(math.fsum(values) / 3, abs=1e-9)


@pytest.mark.parametrize("rubric", PINNED)
def test_alpha_is_that_of_its_definition_and_of_the_krippendorff_package(
    found: Agreement, sources: Rows, rubric: str
) -> None:
    units = [item["human"][rubric] for items in sources.values() for item in items]
    for place, (level, distance) in enumerate(DISTANCES.items(), 2):
        value = found.rubrics[rubric].alpha[level].value
        assert value == pytest.approx(alpha(units, distance), abs=1e-9)
        table = np.array(units, dtype=float).T
        assert value == pytest.approx(krippendorff.alpha(table, level_of_measurement=level), abs=1e-9)
        assert value == pytest.approx(PINNED[rubric][place], abs=0.005)


def test_word_count_is_never_called_valid_and_the_test_it_passes_carries_a_warning(found: Agreement) -> None:
    """Word count, given people's scale, passes the alternative-annotator test on every rubric. Whoever passes it here
    is told so; and a judge that is word count itself beats nothing that matters."""
    text = agreement_text(found)
    assert "valid" not in text.lower()
    assert not any(one.beats_baselines for one in found.rubrics.values())
    assert all("length" in one.standing.trivial_too for one in found.rubrics.values())
    passing = [one for one in found.rubrics.values() if one.standing.judge.passes]
    assert passing, "word count on its own scale passes on some rubric too"
    assert all("length" in (one.standing.warning or "") for one in passing)
    assert "Warning: where a trivial judge passes this test too" in text
    assert "so would word count" in " ".join(text.split())
