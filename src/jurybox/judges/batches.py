"""What a batch API is to the runner: many questions handed over at once, fetched later, for less money.

Batches outlive the process that sent them, so the runner keeps their ids in the store. Every question has a name
(the key of its call, as 64 hexadecimal digits); answers come back by name, in any order, and some may not come at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from jurybox.errors import JudgeFailure
from jurybox.types import Question, Reply

# Far below what the vendors allow (50,000 questions and 200 MB; 100,000 and 256 MB): a batch is held in memory while it
# is sent, and small ones come back, and are safe here, one after another.
MOST_QUESTIONS = 20_000
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is.

    `over` and `cancelled` have results to fetch, perhaps not for every question; after `cancelled` somebody does not
    want more of it. `lost` has none, but asking again may help; `refused` says that it would not. A `crowded` server
    refused because too much is waiting there already: fewer questions, later.
    """

    state: Literal["working", "over", "cancelled", "lost", "refused"]
    done: int = 0
    total: int = 0
    said: str = ""
    crowded: bool = False


class Batches(ABC):
    """One batch may hold `most` questions and `most_bytes` of requests; `price` is its share of the live one."""

    most: int = MOST_QUESTIONS
    most_bytes: int = MOST_BYTES
    price: float = 0.5

    @abstractmethod
    def size(self, name: str, question: Question) -> int:
        """Bytes that a question takes in a batch. Raises `JudgeFailure` for one that cannot be sent."""

    @abstractmethod
    async def submit(self, asked: Mapping[str, Question], label: str) -> str:
        """Hand over questions by name; returns the batch's id. `label` marks it as ours, so that `find` can find it."""

    @abstractmethod
    async def find(self, label: str, names: AbstractSet[str], since: float, known: AbstractSet[str]) -> str | None:
        """The id of the batch that was submitted under this label after the time `since`, if the server has one: a kill
        may have come between the server's answer and our note of it. `known` ids belong to other batches of ours.

        Where the server keeps no labels this may be a guess, which the names of the results confirm or not.
        """

    @abstractmethod
    async def state(self, batch: str) -> BatchState: ...

    @abstractmethod
    def results(self, batch: str) -> AsyncIterator[tuple[str, Reply | JudgeFailure]]:
        """What came back, by name; a question that failed has its failure, a cancelled one is left out."""

    @abstractmethod
    async def cancel(self, batch: str) -> None: ...
