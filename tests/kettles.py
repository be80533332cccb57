"""A judged run with two judges, a baseline, samples, failures, people and hostile text, and servers of its pages."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jurybox.api import judging
from jurybox.store import RunReader, history
from pages import HOSTILE, record, scoring
from server import JudgeServer
from serving import Served


def judged_run(out: Path) -> Path:
    """Two judges, a baseline, two samples, failures, people, and text that attacks in every field."""
    systems = ("careful", f"hostile {HOSTILE}", "altered", "short")
    scores: dict[str, list[int | None]] = {"a": [], "b": []}
    records: list[dict[str, Any]] = []
    for source, (place, system) in itertools.product(range(6), enumerate(systems)):
        number = len(records)
        human = {"fluency": {f"ann {HOSTILE}": 1 + (source + place) % 5, "bob": 3}} if source < 3 else {}
        made = {
            **record(number, system, human=human),
            "id": f"kettle {source} {HOSTILE}" if source == 1 else f"k/{source}",
        }
        made["product_title"] += HOSTILE if source == 2 else ""
        made["description"] = f"A description. {HOSTILE}"
        made[f"column {HOSTILE}"] = HOSTILE
        made["summary"] += f" {HOSTILE}" if number % 3 == 0 else ""
        made["reviews"].append(f'A review, 100%_sure \\ "quoted". {HOSTILE}')
        records.append(made)
        scores["a"].append(None if number % 7 == 5 else 1 + number % 5)
        scores["b"].append(1 + (number * 3) % 5)
    with JudgeServer() as server:
        server.plan = scoring(scores)
        judging.evaluate(
            records,
            rubrics="fluency,aspect_coverage",
            judge=["openai/a", "openai/b", "baseline/length"],
            base_url=server.base_url,
            out=out,
            cache=False,
            reasks=0,
            samples=2,
        )
    return out


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_run(tmp_path_factory.mktemp("web") / "kettles.run.db")


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(made, tmp_path / "run.db"))


@pytest.fixture
def served(run: Path) -> Iterator[Served]:
    with Served(run) as server:
        yield server


@pytest.fixture(scope="module")
def reading(made: Path) -> Iterator[Served]:
    """For tests that write nothing."""
    with Served(made) as server:
        yield server


def rating(served: Served, **changes: str) -> dict[str, str]:
    page = served.get("/annotate?rater=ann").page
    fields = {one.attributes["name"]: one.attributes["value"] for one in page.by_id("rate").all("input")}
    return {**fields, "act": "4", **changes}


def recorded(run: Path) -> int:
    with RunReader(run) as reader:
        return len(history(reader))


def listed(served: Served, path: str) -> list[str]:
    """The items of all pages of a list, by following its links."""
    found: list[str] = []
    while path:
        page = served.get(path).page
        found += [row.one("th").one("a").text for body in page.all("tbody") for row in body.all("tr")]
        links = [one for one in page.all("a") if one.attributes.get("rel") == "next"]
        path = links[0].attributes["href"] if links else ""
    return found
