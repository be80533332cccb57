"""Where the embedded judge's reason says that a passage stands, a reader finds it: prompts and pages count from 1."""

from __future__ import annotations

import pytest

from jurybox.judges.embedded.reasons import reason
from jurybox.report.html.items import _material
from jurybox.types import Review


def least_supported(field: str, index: int) -> str:
    support = {"field": field, "index": index, "text": "The lid sticks.", "score": 0.4}
    return reason({"least_supported": {"text": "The lid is fine.", "support": support}}, "faithfulness")


@pytest.mark.parametrize("index", [0, 2])
def test_the_number_in_a_reason_is_the_number_on_the_page(index: int) -> None:
    reviews = [Review(f"Review {number}.", None) for number in range(3)]
    (shown,) = _material({"reviews": reviews}, [], None)
    assert f"nearest is no. {shown.entries[index].label} of reviews" in least_supported("reviews", index)


def test_what_is_no_list_has_no_number() -> None:
    assert "nearest is product title “The lid sticks.”" in least_supported("product_title", 0)
