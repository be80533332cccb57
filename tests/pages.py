"""Runs to make pages of, and a page read back with a real HTML parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from server import Answer, Plan, Request, completion, mark

VOID = {"meta", "br", "hr", "img", "input", "link", "path", "rect", "circle"}
# Breaks out of text, of an attribute, of a comment, of a script and of a style, if anything does.
HOSTILE = "</title></style></script><script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1><!--{{7*7}}"


@dataclass
class Element:
    """One element of a page, with what is inside."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", css: str = "") -> list[Element]:
        """Every element below with this tag and this class, in the order of the page."""
        return [one for one in self._below() if (not tag or one.tag == tag) and (not css or css in one.classes)]

    def one(self, tag: str = "", css: str = "") -> Element:
        (found,) = self.all(tag, css)
        return found

    def by_id(self, name: str) -> Element:
        (found,) = [one for one in self._below() if one.attributes.get("id") == name]
        return found

    def _below(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child._below()


class _Reader(HTMLParser):
    """Insists on what browsers forgive: every element is closed, in order, and has each attribute once."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(html: str) -> Element:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert [one.tag for one in reader.open] == ["page"], "every element is closed"
    return reader.open[0]


def record(number: int, system: str, **more: Any) -> dict[str, Any]:
    """An item that the test server knows; its reviews can be quoted."""
    return {
        "id": f"p{number}",
        "system": system,
        "summary": f"Buyers of kettle {number} like how fast it boils. {mark(number)}",
        "product_title": f"Kettle {number}",
        "reviews": [
            {"text": f"Kettle {number} boils very fast in the morning.", "rating": 5},
            f"The lid of kettle {number} sticks every second day.",
        ],
        **more,
    }


def scoring(scores: dict[str, list[int | None]]) -> Plan:
    """A server whose model gives scores[model][item], with a quote that is there and one that is not."""

    def plan(request: Request) -> Answer:
        score = scores[request.body["model"]][request.item]
        if score is None:
            return completion("I would rather not say.")
        number = request.item
        reason = (
            f'The reviews say "boils very fast in the morning", but no one says "the kettle {number} is made of gold".'
        )
        return completion(f"{reason}\nScore- <score>{score}</score>")

    return plan


def as_jsonl(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)
