"""What every judge is, and the settings a judge may need to be made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from jurybox.types import Item, Question, Reply

# (prompt digest, sample) -> the reply given then, or None
ReplyLookup = Callable[[str, int], Reply | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to reach a judge. `price` is USD for a million tokens in and out; None asks the price table.
    `replies` opens an earlier run by its path; the store is to the right of us, so it is handed in."""

    base_url: str | None = None
    price: tuple[float, float] | None = None
    replies: Callable[[str], ReplyLookup] | None = None


class Judge(ABC):
    """Whatever gives a verdict.

    `model` is what the store's key calls it. A `computed` judge reads the item instead of a prompt, costs nothing, and
    is therefore always asked anew.
    """

    spec: str
    model: str
    address: str = ""
    computed: bool = False

    def observe(self, item: Item) -> None:  # noqa: B027  a hook, empty for most judges
        """See an item while the data is checked, before the first question."""

    @abstractmethod
    async def ask(self, question: Question) -> Reply:
        """Answer one question, once."""

    def cost(self, reply: Reply) -> float | None:
        """USD for a reply, or None when the price is not known."""
        return 0.0 if self.computed else None

    async def close(self) -> None:  # noqa: B027  a hook, empty for most judges
        """Let go of connections."""
