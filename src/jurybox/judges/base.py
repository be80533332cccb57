"""What every judge is, and the settings a judge may need to be made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from jurybox.judges.batches import Batches
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
    one, and `most_at_once` how many calls it works on together: the runner lets the others wait. A computed one may
    wish to see so many summaries `together`.

    One that `gives_several` can answer several samples in one request. The answers of one that is `cached` serve later
    runs too: the key of a call and its address say all that could change them. `in_process` models run on this
    machine's own cores. `prices` says where its price comes from.

    What it learns while it is asked: `lacks` is what its server turned out not to have, each with the server's words
    (`temperature`, `n`, `json_schema`, …); `rest_until` is when, by `time.monotonic()`, a server whose headers say
    that nothing is left may be asked again. `context` is how many tokens it can hold, where that is known. `batches`
    is how it takes many questions at once for less, where it does.
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
    together: int = 1
    gives_several: bool = False
    cached: bool = False
    in_process: bool = False
    prices: str = ""
    context: int | None = None
    batches: Batches | None = None
    rest_until: float = 0.0
    lacks: Mapping[str, str] = MappingProxyType({})

    def observe(self, item: Item) -> None:  # noqa: B027  a hook, empty for most judges
        """See an item while the data is checked, before the first question."""

    async def prepare(self) -> None:  # noqa: B027  a hook, empty for most judges
        """Get ready: the data is checked, the first question is next. What is lacking is an error now, not later."""

    async def learn_context(self) -> int | None:
        """How many tokens it can hold; a server may be asked for it, once."""
        return self.context

    @abstractmethod
    async def ask(self, question: Question) -> Reply:
        """Answer one question, once."""

    async def ask_several(self, question: Question, count: int) -> Sequence[Reply]:
        """Up to `count` answers to one question, at least one; whoever calls asks on for those that did not come."""
        return [await self.ask(question)]

    def cost(self, reply: Reply) -> float | None:
        """USD for a reply, or None when the price is not known."""
        return 0.0 if self.computed else None

    async def close(self) -> None:  # noqa: B027  a hook, empty for most judges
        """Let go of connections."""
