"""Pages of a list that go on after the last row that was shown (keyset): a run that grows repeats and skips nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[Any]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row to go on from: its value in the order, and its number, which settles ties."""

    value: float
    number: int

    @classmethod
    def read(cls, text: str) -> Cursor | None:
        """From a link; None where it is none of ours."""
        value, _, number = text.partition(":")
        try:
            found = cls(float(value), int(number))
        except ValueError:
            return None
        return found if found.value == found.value and abs(found.number) < 1 << 62 else None

    def __str__(self) -> str:
        return f"{self.value!r}:{self.number}"


@dataclass(frozen=True, slots=True)
class Slice:
    """One page of rows. `places` are into the arrays; `first` counts rows from 1; a cursor is None at the end."""

    places: tuple[int, ...]
    total: int
    first: int
    before: Cursor | None
    after: Cursor | None


def cut(
    values: Floats,
    numbers: Numbers,
    places: Numbers,
    size: int,
    after: Cursor | None = None,
    before: Cursor | None = None,
) -> Slice:
    """A page of rows that stand in the order of their numbers, by value and number: the first, or the next after a
    cursor, or the last before one."""
    import numpy as np

    kept = np.arange(len(places))
    if after is not None:
        kept = kept[(values > after.value) | ((values == after.value) & (numbers > after.number))]
    elif before is not None:
        kept = kept[(values < before.value) | ((values == before.value) & (numbers < before.number))]
    ahead = 0 if before is not None else len(places) - len(kept)
    order = np.lexsort((numbers[kept], values[kept]))
    if before is not None:
        ahead = max(len(kept) - size, 0)
        order = order[ahead:]
    shown = kept[order[:size]]
    ends = [Cursor(float(values[at]), int(numbers[at])) for at in (shown[[0, -1]] if len(shown) else ())]
    more = ahead + len(shown) < len(places)
    return Slice(
        tuple(places[shown].tolist()),
        len(places),
        ahead + 1 if len(shown) else 0,
        ends[0] if ends and ahead else None,
        ends[1] if ends and more else None,
    )
