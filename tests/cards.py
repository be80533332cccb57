"""Judge cards to look at: a judge that was crash-tested and compared with people, and two side by side."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jurybox
from pages import HOSTILE

RUBRICS = "faithfulness,fluency,aspect_coverage"
ROUGE, LENGTH = "baseline/rouge", "baseline/length"
EXAMPLES = files("jurybox.examples").joinpath("products.jsonl")


def crash_tested(folder: Path, judge: str | list[str] = ROUGE, rubrics: str = RUBRICS, **options: Any) -> Any:
    """A judge crash-tested on four of the bundled examples."""
    name = (judge if isinstance(judge, str) else judge[0]).replace("/", "-")
    wanted: dict[str, Any] = {"systems": ("careful",), "items": 4, "cache": False, **options}
    return jurybox.stress(str(EXAMPLES), rubrics=rubrics, judge=judge, out=folder / f"{name}.stress.db", **wanted)


def rated_run(folder: Path, judge: str = ROUGE, samples: int = 1) -> jurybox.Run:
    """The same judge on the bundled examples, as rated by two people whose views are made up."""
    records = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    items = []
    for number, record in enumerate(records):
        for place, (system, summary) in enumerate(record.pop("summaries").items()):
            rated = {"ann": 5 - place, "bob": max(1, min(5, 4 - place + number % 2))}
            human = dict.fromkeys(RUBRICS.split(","), rated)
            items.append({**record, "system": system, "summary": summary, "human": human})
    return jurybox.evaluate(
        items, rubrics=RUBRICS, judge=judge, out=folder / "rated.run.db", samples=samples, cache=False
    )


def agreed_and_tested(folder: Path) -> Path:
    return jurybox.judge_card(crash_tested(folder), folder / "card.html", runs=[rated_run(folder)])


def with_hostile_names(folder: Path) -> Path:
    """Two judges whose documents say what no honest one would."""
    document = crash_tested(folder, [ROUGE, LENGTH]).as_dict()
    document["exam"]["chosen"] = HOSTILE
    document["exam"]["refused"] = {HOSTILE: 3}
    judges = document["judges"]
    hostile = f"openai/{HOSTILE}"
    judges[hostile] = json.loads(json.dumps(judges.pop(LENGTH)).replace("baseline/length", "openai/x"))
    judges[hostile]["rubrics"]["fluency"]["grade"]["sentence"] = HOSTILE
    judges[hostile]["rubrics"][f"own {HOSTILE}"] = judges[hostile]["rubrics"]["fluency"]
    path = folder / "hostile.json"
    path.write_text(json.dumps(document), "utf-8")
    return jurybox.judge_card(path, folder / "cards.html")
