"""`Run` has a door to each way of looking at it: the same answer as the function of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

import jurybox
from conftest import Evaluate, WriteItems, item
from jurybox.errors import SetupError


@pytest.fixture
def run(evaluate: Evaluate, write_items: WriteItems) -> jurybox.Run:
    records = [
        item(number * 2 + place, id=f"p{number}", system=system, human={"fluency": [1 + (number + place) % 5, 3, 4]})
        for number in range(9)
        for place, system in enumerate(("base", "revised"))
    ]
    return evaluate(write_items(records))


def test_agree(run: jurybox.Run) -> None:
    assert run.agree(resamples=50).as_dict() == jurybox.agree(run.path, resamples=50).as_dict()


def test_compare(run: jurybox.Run) -> None:
    found = run.compare("revised", "base", rubrics="fluency")
    assert found.as_dict() == jurybox.compare(run, "revised", "base", rubrics="fluency").as_dict()
    assert run.compare().tests == 1


def test_estimate(run: jurybox.Run, tmp_path: Path) -> None:
    assert run.estimate(next_labels=2).as_dict() == jurybox.estimate(run, next_labels=2).as_dict()
    with pytest.raises(SetupError, match="unknown judge"):
        run.estimate(judge="nobody")
