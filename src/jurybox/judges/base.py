"""What every judge is, and the settings a judge may need to be made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from jurybox.types import Answer, Item, Layout, Question, Reply


class ReplyLookup(Protocol):
    """(prompt digest, sample) -> the reply given then, or None."""

    def __call__(self, prompt_digest: str, sample: int) -> Reply | None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach a judge. `price` is USD for a million tokens in and out; None asks the price table.
    `replies` opens an earlier run by its path; the store is to the right of us, so it is handed in.
    `threads` and `context` (in tokens) are for models that run in this process; `report` hears of their weights being
    fetched: name, bytes so far, bytes in all."""

    base_url: str | None = None
    price: tuple[float, float] | None = None
    replies: Callable[[str], ReplyLookup] | None = None
    threads: int | None = None
    context: int | None = None
    report: Callable[[str, int, int], None] | None = None


class Judge(ABC):
    """Whatever gives a verdict.

    `model` is what the store's key calls it. A `computed` judge reads the item itself instead of a prompt, and
    hands over verdicts instead of words. One that is not `kept` is so cheap that it is asked anew at every start.

    `fingerprint` goes into the keys of its calls where the specification alone does not say which model answers.
    `answers` are the ways of answering it has, `preferred_layout` its wish where neither the user nor the rubric has
    one, and `most_at_once` how many calls it works on together: the runner lets the others wait.
    """

    spec: str
    model: str
    address: str = ""
    computed: bool = False
    kept: bool = True
    fingerprint: str = ""
    answers: frozenset[Answer] = frozenset({"tag", "form", "json"})
    preferred_layout: Layout | None = None
    most_at_once: int | None = None

    def observe(self, item: Item) -> None:  # noqa: B027  a hook, empty for most judges
        """See an item while the data is checked, before the first question."""

    async def prepare(self) -> None:  # noqa: B027  a hook, empty for most judges
        """Get ready: the data is checked, the first question is next. What is lacking is an error now, not later."""

    @abstractmethod
    async def ask(self, question: Question) -> Reply:
        """Answer one question, once."""

    def cost(self, reply: Reply) -> float | None:
        """USD for a reply, or None when the price is not known."""
        return 0.0 if self.computed else None

    async def close(self) -> None:  # noqa: B027  a hook, empty for most judges
        """Let go of connections."""
