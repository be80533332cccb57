"""The embedded judge against people, length, damage and the clock, as one table.

    python bench/embedded.py [--data ../shared/data] [--json FILE] [--every-pair] [--plain] [--cost]

`--every-pair` sets every faithful summary against every summary of every other product instead of six a source (a
quarter of an hour more); `--plain` measures as on a machine without matrix tiles or NumKong; `--cost` measures load,
speed and memory alone.
Owns the measuring: agreement (summary-level Spearman, bootstrap over sources), the same with length taken
out and among systems of similar length, pairs with a known order, SummEdits, speed, memory. Fits nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_pairs import RUBRICS, damage_pairs, edits, example_pairs, foreign_pairs, read_rows
from jurybox.judges.embedded import products
from jurybox.judges.embedded.examiner import Examiner, load_models
from jurybox.judges.embedded.judge import ENCODER, LANGUAGE_MODEL
from jurybox.judges.embedded.recipes import RECIPES
from jurybox.judges.embedded.sentences import words
from jurybox.weights import get

Array = NDArray[np.float64]
ROOT = Path(__file__).parent.parent
PRE_LLM = ("plansum", "ls-sum-g", "Multimodalsum", "human-summaries")


def ranks(values: Array) -> Array:
    """Average ranks for ties."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse])


def spearman(x: Array, y: Array) -> float | None:
    if np.ptp(y) == 0:
        return None
    return 0.0 if np.ptp(x) == 0 else float(np.corrcoef(ranks(x), ranks(y))[0, 1])


def partial(x: Array, y: Array, z: Array) -> float | None:
    """Spearman of x and y with z taken out."""
    xy, xz, yz = spearman(x, y), spearman(x, z), spearman(z, y)
    if xy is None or xz is None or yz is None:
        return None
    return (xy - xz * yz) / float(np.sqrt(max(1e-9, (1 - xz**2) * (1 - yz**2))))


def by_source(rows: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["id"]].append(index)
    return list(groups.values())


def interval(values: Sequence[float | None], seed: int = 0) -> tuple[float, float, float]:
    """Mean over sources with a bootstrap 95 % interval."""
    known = np.asarray([v for v in values if v is not None])
    draws = np.random.default_rng(seed).integers(0, len(known), (2000, len(known)))
    low, high = np.quantile(known[draws].mean(axis=1), [0.025, 0.975])
    return float(known.mean()), float(low), float(high)


def judge_all(judge: Examiner, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """All rubrics' scores of all rows, a source at a time."""
    scores: list[dict[str, float]] = [{} for _ in rows]
    for group in by_source(rows):
        judge.evidence(rows[group[0]], [rows[i]["summary"] for i in group])  # together is quicker
        for i in group:
            for rubric in RUBRICS:
                score, _, _ = judge.judge(rows[i], rows[i]["summary"], rubric)
                if score is not None:
                    scores[i][rubric] = score
    return scores


def agreement(rows: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    groups = by_source(rows)
    length = np.asarray([float(len(words(row["summary"]))) for row in rows])
    system = np.asarray([row["system"] for row in rows])
    subsets = {
        "pre_llm": np.isin(system, PRE_LLM),
        "llm": ~np.isin(system, (*PRE_LLM, "gpt-4")),
    }
    table: dict[str, Any] = {}
    for rubric in RUBRICS:
        human = np.asarray([float(np.mean(row["human"][rubric])) for row in rows])
        ours = np.asarray([score[rubric] for score in scores])
        picks = [np.asarray(group) for group in groups]
        entry: dict[str, Any] = {
            "spearman": interval([spearman(ours[g], human[g]) for g in picks]),
            "length": interval([spearman(length[g], human[g]) for g in picks]),
            "partial": interval([partial(ours[g], human[g], length[g]) for g in picks]),
        }
        for name, mask in subsets.items():
            entry[name] = interval([spearman(ours[g[mask[g]]], human[g[mask[g]]]) for g in picks])
        entry["worst_left_out"] = _leave_one_out(picks, system, ours, human, length)
        table[rubric] = entry
    return table


def levels(rows: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, float]]) -> dict[str, str]:
    """Mean score and mean rating of the summaries that people wrote, and of all."""
    found: dict[str, str] = {}
    for rubric in RUBRICS:
        ours = np.asarray([score[rubric] for score in scores])
        human = np.asarray([float(np.mean(row["human"][rubric])) for row in rows])
        written = np.asarray([row["system"] == "human-summaries" for row in rows])
        found[f"{rubric}: judge / people, all; written by people"] = (
            f"{ours.mean():.1f} / {human.mean():.1f}; {ours[written].mean():.1f} / {human[written].mean():.1f}"
        )
    return found


def _leave_one_out(picks: Sequence[Any], system: Any, ours: Array, human: Array, length: Array) -> float:
    """The lowest length-free agreement when any one system is left out."""
    means = []
    for name in sorted(set(system)):
        kept = [g[system[g] != name] for g in picks]
        found = [partial(ours[g], human[g], length[g]) for g in kept]
        means.append(float(np.mean([r for r in found if r is not None])))
    return min(means)


def speed(judge: Examiner, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Summaries of 60 words a second after the source was read, by the wall and by one core's own time."""
    pool = " ".join(row["summary"] for row in rows[:40]).split()
    texts = [" ".join(pool[i * 60 : i * 60 + 60]) for i in range(24)]
    source = dict(rows[0])
    clock = _Clock()
    judge.evidence(source, [texts[-1]])
    found = {"source and first summary, s of one core": clock.lap()[1]}
    for text in texts[:8]:
        judge.evidence(source, [text])
    wall, core = clock.lap()
    found |= {"one by one, summaries/s": 8 / wall, "one by one, summaries/s of one core": 8 / core}
    judge.evidence(source, texts[8:16])
    wall, core = clock.lap()
    return found | {"eight together, summaries/s": 8 / wall, "eight together, summaries/s of one core": 8 / core}


class _Clock:
    """Wall and processor seconds since the last lap; on a busy machine only the second is fair."""

    def __init__(self) -> None:
        self._last = (time.perf_counter(), time.process_time())

    def lap(self) -> tuple[float, float]:
        now = (time.perf_counter(), time.process_time())
        wall, core = now[0] - self._last[0], now[1] - self._last[1]
        self._last = now
        return wall, core


def show_section(title: str, figures: Mapping[str, float | str]) -> None:
    print(f"\n{title}")
    for name, value in figures.items():
        print(f"  {name:56} {value if isinstance(value, str) else f'{value:.2f}'}")


def show(result: Mapping[str, Any]) -> None:
    print("agreement with people, development data (mean over sources, 95 % interval)")
    heads = ("spearman", "length", "length taken out", "pre-LLM", "LLMs", "worst left-out")
    print(f"{'rubric':22}" + "".join(f"{head:>20}" for head in heads))
    columns = ("spearman", "length", "partial", "pre_llm", "llm", "worst_left_out")
    for rubric, entry in result["agreement"].items():
        print(f"{rubric:22}" + "".join(f"{_cell(entry[column]):>20}" for column in columns))
    means = [np.mean([_value(entry[column]) for entry in result["agreement"].values()]) for column in columns]
    print(f"{'average':22}" + "".join(f"{mean:>20.2f}" for mean in means))
    print("\nundamaged above damaged, share of pairs")
    print(f"{'damage':20}{'pairs':>6}" + "".join(f"{rubric[:12]:>13}" for rubric in RUBRICS) + f"{'faithfulness':>20}")
    for kind, entry in result["damage"].items():
        shares = "".join(f"{entry[rubric][0]:13.2f}" for rubric in RUBRICS)
        print(f"{kind:20}{entry['fluency'][3]:6}{shares}{_cell(entry['faithfulness'][:3]):>20}")
    found = result["foreign"]
    print(f"{'other products of the summaries that people call faithful':97}{found[3]:6}  {_cell(found[:3], 4)}")
    for title in ("levels", "summedits", "examples", "cost"):
        show_section(title, result[title])


def _value(entry: Sequence[float] | float) -> float:
    return entry if isinstance(entry, float) else entry[0]


def _cell(entry: Sequence[float] | float, places: int = 2) -> str:
    if isinstance(entry, float):
        return f"{entry:.{places}f}"
    return "{} [{}, {}]".format(*(f"{number:.{places}f}" for number in entry))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Bench of the embedded judge")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--every-pair", action="store_true", help="against every summary of every other product")
    parser.add_argument("--plain", action="store_true", help="as on a machine without matrix tiles")
    parser.add_argument("--cost", action="store_true", help="load, speed and memory alone")
    args = parser.parse_args()
    if args.plain:
        products._numkong_with_tiles = lambda: None  # type: ignore[assignment]
    language, encoder = get(LANGUAGE_MODEL), get(ENCODER)
    clock = _Clock()
    judge = Examiner(load_models(language, encoder), threads=1)
    load = clock.lap()
    rows = read_rows(args.data / "summeval_op_dev.jsonl")
    cost: dict[str, Any] = {"matrix products": type(products.keeper()).__name__.lower()}
    cost |= {"load, s": load[0], "load, s of one core": load[1], **speed(judge, rows)}
    if args.cost:
        show_section("cost", cost | {"peak memory, MB": _peak()})
        return
    scores = judge_all(judge, rows)
    result: dict[str, Any] = {"agreement": agreement(rows, scores), "levels": levels(rows, scores)}
    result["damage"] = damage_pairs(judge, rows)
    result["foreign"] = foreign_pairs(judge, rows, args.every_pair)
    result["summedits"] = edits(judge, read_rows(args.data / "summedits_sales_email.jsonl"))
    result["examples"] = example_pairs(judge, ROOT / "src" / "jurybox" / "examples")
    cost["peak memory, MB"] = _peak()
    result["cost"] = cost
    result["recipes"] = {name: dict(recipe.features) for name, recipe in RECIPES.items()}
    if args.json:
        args.json.write_text(json.dumps(result, indent=1), "utf-8")
    show(result)


if __name__ == "__main__":
    main()
