"""Every source with two summaries becomes two items, one for each order; what lacks a summary is counted."""

from __future__ import annotations

from typing import Any

import pytest

from jurybox.data import Dataset, PairedDataset
from jurybox.errors import DataError, SetupError
from jurybox.rubrics import builtin
from jurybox.types import Item, rivals

FLUENCY, FAITHFULNESS = builtin()["fluency"], builtin()["faithfulness"]


def line(id_: str, system: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "system": system, "summary": f"{system} on {id_}", "reviews": [f"About {id_}."], **more}


def together(id_: str, *systems: str) -> dict[str, Any]:
    return {"id": id_, "summaries": {system: f"{system} on {id_}" for system in systems}, "reviews": [f"About {id_}."]}


def paired(records: list[Any], *systems: str, limit: int | None = None) -> PairedDataset:
    return PairedDataset(Dataset(records), systems, limit)


def told(items: list[Item]) -> list[tuple[str, str, str, str]]:
    """Id, label, and both summaries in the order of showing."""
    shown = [(item, *rivals(item)) for item in items]
    return [(item.id, item.system, first.summary, second.summary) for item, first, second in shown]


BOTH_ORDERS = [("p1", "a vs b", "a on p1", "b on p1"), ("p1", "b vs a", "b on p1", "a on p1")]


@pytest.mark.parametrize(
    "records",
    [
        [together("p1", "a", "b")],
        [together("p1", "b", "a")],
        [line("p1", "a"), line("p1", "b")],
        [line("p1", "b"), line("p2", "x"), line("p1", "x"), line("p1", "a")],
    ],
    ids=["one line", "one line, other order", "two lines", "far apart"],
)
def test_a_source_gives_both_orders_however_the_file_has_it(records: list[Any]) -> None:
    data = paired(records, "a", "b")
    census = data.check((FLUENCY,))
    assert told(list(data)) == BOTH_ORDERS
    assert told(list(data)) == BOTH_ORDERS, "it can be walked again"
    assert (census.items, census.systems) == (2, ("a vs b", "b vs a"))


def test_three_systems_meet_in_three_pairs() -> None:
    data = paired([together("p1", "a", "b", "c"), together("p2", "a", "c")], "a", "b", "c")
    assert data.check((FLUENCY,)).items == 8
    labels = [(item.id, item.system) for item in data]
    assert labels[:6] == [("p1", f"{x} vs {y}") for x, y in ("ab", "ba", "ac", "ca", "bc", "cb")]
    assert labels[6:] == [("p2", "a vs c"), ("p2", "c vs a")]
    assert data.missing == {("a", "b"): 1, ("a", "c"): 0, ("b", "c"): 1}


def test_a_source_without_a_rival_is_counted_and_not_asked() -> None:
    data = paired([together("p1", "a", "b"), together("p2", "a"), together("p3", "x"), line("p4", "b")], "a", "b")
    assert data.check((FLUENCY,)).items == 2
    assert data.missing == {("a", "b"): 2}, "p2 and p4; p3 is by neither"
    assert {item.id for item in data} == {"p1"}


def test_both_orders_share_one_source_so_that_it_is_stored_once() -> None:
    data = paired([together("p1", "a", "b")], "a", "b")
    data.check((FLUENCY,))
    first, second = data
    assert first.source is second.source
    assert first.source["reviews"][0].text == "About p1."
    assert "summaries" not in rivals(first)[0].source


def test_the_summary_of_a_pair_is_both_in_their_order() -> None:
    data = paired([together("p1", "a", "b")], "a", "b")
    data.check((FLUENCY,))
    assert [item.summary for item in data] == [
        "First summary: a on p1\n\nSecond summary: b on p1",
        "First summary: b on p1\n\nSecond summary: a on p1",
    ]


def test_systems_keep_their_names_even_odd_ones() -> None:
    data = paired([together("p1", "x vs y", "y")], "x vs y", "y")
    data.check((FLUENCY,))
    assert [tuple(single.system for single in rivals(item)) for item in data] == [("x vs y", "y"), ("y", "x vs y")]


def test_the_limit_counts_sources() -> None:
    records = [together("p0", "a"), *(together(f"p{n}", "a", "b") for n in range(1, 9))]
    data = paired(records, "a", "b", limit=3)
    assert data.check((FLUENCY,)).items == 6
    assert [item.id for item in data] == ["p1", "p1", "p2", "p2", "p3", "p3"]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(SetupError, match="--limit 0: should be 1 or more"):
        paired([together("p1", "a", "b")], "a", "b", limit=0)


def test_whoever_checks_sees_the_pairs() -> None:
    seen: list[Item] = []
    data = paired([together("p1", "a", "b")], "a", "b")
    data.check((FLUENCY,), seen.append)
    assert told(seen) == BOTH_ORDERS


def test_an_unknown_system_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        SetupError, match=r"unknown system 'revisde'\. Did you mean 'revised'\? Available: base, revised"
    ):
        paired([together("p1", "base", "revised")], "base", "revisde").check((FLUENCY,))


def test_systems_that_never_meet_are_refused() -> None:
    with pytest.raises(DataError, match="no id has summaries by two of a, b"):
        paired([line("p1", "a"), line("p2", "b")], "a", "b").check((FLUENCY,))


def test_one_id_with_two_sources_is_refused() -> None:
    records = [line("p1", "a"), line("p1", "b", reviews=["Something else."])]
    with pytest.raises(DataError, match="id 'p1': the summary by 'b' has another source"):
        paired(records, "a", "b").check((FLUENCY,))


def test_a_stranger_with_another_source_does_not_matter() -> None:
    records = [line("p1", "a"), line("p1", "b"), line("p1", "x", reviews=["Something else."])]
    assert paired(records, "a", "b").check((FLUENCY,)).items == 2


@pytest.mark.parametrize(
    ("systems", "message"), [(("a",), "two systems or more"), (("a", "b", "a"), "'a' is named twice")]
)
def test_a_duel_needs_two_different_systems(systems: tuple[str, ...], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        paired([together("p1", "a", "b")], *systems)


def test_what_a_rubric_requires_is_required_before_anything_is_asked() -> None:
    with pytest.raises(DataError, match="the rubric 'faithfulness' could judge by"):
        paired([{"id": "p1", "summaries": {"a": "x", "b": "y"}}], "a", "b").check((FAITHFULNESS,))
