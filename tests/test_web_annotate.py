"""Rating in the browser: on the disk at once, blind, refused in words."""
# ruff: noqa: F811 (fixtures come from `kettles` by name)

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from jurybox.api import agreeing
from jurybox.report.annotating import ORDERS
from jurybox.store import AnnotationLog, RunReader, current_ratings, history, item_keys
from kettles import made, rating, reading, recorded, run, served  # noqa: F401
from serving import Served

# Annotating


def test_a_rating_is_on_the_disk_when_the_page_moves_on(served: Served, run: Path) -> None:
    form = rating(served, comment="clear, and short")
    assert served.post("/annotate", form).status == 303
    with RunReader(run) as reader:
        (mine,) = [one for one in current_ratings(reader) if one.rater == "ann"]
    assert (mine.score, mine.comment, mine.rubric) == (4.0, "clear, and short", form["on"])
    assert rating(served)["on"] != form["on"], "the next rubric of the same summary"
    assert rating(served)["item"] == form["item"]


def test_skip_undo_and_the_order_survive_a_restart(run: Path) -> None:
    with Served(run) as first:
        one = rating(first, rater="zoe", act="skip")
        first.post("/annotate", one)
        two = {**rating(first), "rater": "zoe"}
        first.post("/annotate", two)
    with Served(run) as second:
        assert second.post("/annotate", {"rater": "zoe", "act": "undo", "csrf": second.csrf()}).status == 303
    with RunReader(run) as reader:
        assert [one.action for one in history(reader, "zoe")] == ["skip", "score", "undo"]
        assert list(current_ratings(reader, "zoe")) == []


def test_a_form_that_was_sent_again_counts_once(served: Served, run: Path) -> None:
    form = rating(served)
    served.post("/annotate", form)
    served.post("/annotate", {**form, "again": "1"})
    assert recorded(run) == 1


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"act": "6"}, 400),
        ({"act": ""}, 400),
        ({"act": "nan"}, 400),
        ({"item": "0" * 16}, 404),
        ({"item": "../../x"}, 404),
        ({"on": "nothing"}, 400),
        ({"rater": ""}, 400),
        ({"rater": "x" * 200}, 400),
        ({"comment": "x" * 10_001}, 400),
    ],
)
def test_what_is_no_rating_is_refused_in_words(served: Served, run: Path, changes: dict[str, str], status: int) -> None:
    answer = served.post("/annotate", rating(served, **changes))
    assert answer.status == status
    assert answer.page.one("p", "lead").text
    assert recorded(run) == 0


def test_annotating_is_blind(served: Served, made: Path) -> None:
    """Neither the system nor the id is anywhere in the page, nor a judge's score."""
    text = served.get("/annotate?rater=ann").text
    with RunReader(made) as reader:
        systems = {system for _, system in item_keys(reader)}
    assert not any(f">{system}<" in text or f'"{system}"' in text for system in systems)
    assert "k/" not in text
    assert "openai" not in text


def first_item(served: Served, **query: str) -> str:
    return served.get(f"/annotate?{urlencode({'rater': 'ann', **query})}").page.by_id("desk").attributes["data-item"]


def test_the_order_is_of_the_raters_choosing(served: Served) -> None:
    """By seed and name, the same for all, or as `estimate` advises; each the same whenever it is asked for."""
    for order in ORDERS:
        assert first_item(served, order=order) == first_item(served, order=order)
    assert len({first_item(served, seed=str(seed)) for seed in range(8)}) > 1
    assert len({first_item(served, rater=name) for name in "abcdefgh"}) > 1
    assert len({first_item(served, rater=name, order="together") for name in "abcdefgh"}) == 1


def test_a_rubric_that_the_run_lacks_is_refused_in_words(served: Served) -> None:
    answer = served.get("/annotate?rater=ann&rubric=fluensy")
    assert answer.status == 400
    assert "Did you mean" in answer.text


def test_agree_sees_ratings_at_once(served: Served, run: Path) -> None:
    for _ in range(8):
        served.post("/annotate", rating(served, rater="ann", act="3"))
    with RunReader(run) as reader:
        mine = {one.rubric for one in current_ratings(reader, "ann")}
    assert mine == {"fluency", "aspect_coverage"}
    assert set(agreeing.agree(run).rubrics) == mine


def test_ratings_go_in_beside_a_run_that_writes(served: Served, run: Path) -> None:
    """Another process holds the file for a moment; the rating waits and goes in."""
    form = rating(served)
    with AnnotationLog(run) as other:
        other.record(("k/0", "careful"), "fluency", "bob", 2)
        assert served.post("/annotate", form).status == 303
    assert recorded(run) == 2
