"""Crash-test the judges that need no server, and put what they notice side by side.

    python bench/stress.py [--minutes M] [--folder F] [--json FILE]

`embedded` and the baselines go through the same exams: damage, harmless edits and attacks on good summaries of the
bundled examples and of the development data. The small language model is slow and is asked about a few summaries and
one kind of damage only. With --folder the run files stay, and the same command goes on where it was stopped.
Prints one Markdown table, which docs/stress.md shows, and the signatures behind it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import jurybox
from jurybox.report.stress import RubricStress, Stress
from jurybox.types import Estimate

DEVELOPMENT = Path(__file__).parent.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"
JUDGES = ("embedded", "baseline/length", "baseline/rouge", "baseline/constant")
LANGUAGE_MODEL = "local/smollm2-135m-instruct"
HEAD = ("data", "rubric", "judge", "detection", "false alarms", "discrimination", "attacks", "grade")


@dataclass(frozen=True, slots=True)
class Test:
    """One exam: its data, what is asked of whom, and the options that bound it."""

    name: str
    data: str
    rubrics: str
    judges: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


def tests() -> Iterator[Test]:
    """Every bundled example and as many products of the development data: some 40 minutes on two cores."""
    examples = files("jurybox.examples")
    products, health = str(examples / "products.jsonl"), str(examples / "health.jsonl")
    careful = {"systems": ("careful",)}
    rubrics = "faithfulness,aspect_coverage,sentiment_consistency,fluency,specificity"
    yield Test("product examples", products, rubrics, JUDGES, careful)
    yield Test("health examples", health, "contradiction,omission", JUDGES, careful)
    if DEVELOPMENT.exists():
        yield Test("SummEval-OP", str(DEVELOPMENT), "faithfulness,aspect_coverage", JUDGES, {"items": 8})
    few = careful | {"kinds": "break_grammar", "attacks": False, "reasks": 0}
    ways = {"json": {"items": 4, "max_tokens": 80}, "digit": {"items": 2}}
    for answer, bounds in ways.items():
        options = few | bounds | {"answer": answer}
        yield Test(f"product examples, answer {answer}", products, "fluency", (LANGUAGE_MODEL,), options)


def crash_tested(test: Test, folder: Path) -> Stress:
    started = time.perf_counter()
    found = jurybox.stress(
        test.data,
        rubrics=test.rubrics,
        judge=list(test.judges),
        out=folder / f"{test.name}-{test.judges[0].replace('/', '-')}.db",
        cache=False,
        **test.options,
    )
    told = f"{test.name}, {', '.join(test.judges)}: {len(found.exam.trials):,} trials, {found.unscored:,} unscored"
    print(f"{told}, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return found


def share(found: Estimate) -> str:
    """0.78 (0.61–0.89), n 90; what went unscored beside it, and a word where there is no figure."""
    lost = f" −{found.n_unscored:,}" if found.n_unscored else ""
    if found.value is None:
        return f"none, n {found.n:,}{lost}"
    ends = "" if found.low is None or found.high is None else f" ({_number(found.low)} to {_number(found.high)})"
    return f"{_number(found.value)}{ends}, n {found.n:,}{lost}"


def _number(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")


def row(test: Test, rubric: str, judge: str, found: RubricStress) -> tuple[str, ...]:
    figures = (found.detection, found.false_alarms, found.discrimination, found.attacks)
    return (test.name, rubric, judge, *map(share, figures), found.grade.word)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Data and rubric are said once for all judges of a group."""
    befores = [("", ""), *((before[0], before[1]) for before in rows)]
    told = [
        ("", "", *row[2:]) if (row[0], row[1]) == before else row for row, before in zip(rows, befores, strict=False)
    ]
    lines = [HEAD, ("---",) * len(HEAD), *told]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no further exam after so long")
    parser.add_argument("--folder", type=Path, help="keep the run files here")
    parser.add_argument("--json", type=Path, help="write every figure here too")
    options = parser.parse_args()
    rows, signatures, documents = list[Sequence[str]](), dict[str, None](), list[dict[str, Any]]()
    exams = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as passing:
        folder = options.folder or Path(passing)
        for test in tests():
            if time.perf_counter() - started > 60 * options.minutes:
                print(f"no time for {test.name}, {', '.join(test.judges)}", file=sys.stderr)
                continue
            found = crash_tested(test, folder)
            documents.append({"data": test.name, **found.as_dict()})
            exams.append(f"{test.name}: {found.exam.summaries} good summaries, exam {found.exam.digest}")
            for rubric in next(iter(found.judges.values())).rubrics:
                rows += [row(test, rubric, judge, one.rubrics[rubric]) for judge, one in found.judges.items()]
            signatures |= {judge.signature: None for judge in found.judges.values()}
    print(table(rows), "", *exams, "", *signatures, sep="\n")
    if options.json:
        options.json.write_text(json.dumps(documents, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
