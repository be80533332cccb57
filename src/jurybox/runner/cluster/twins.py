"""Items that may share a prompt: no two workers ask about the same one, so that nothing is paid twice.

Every prompt shows the summary, so items with the same prompt have the same summary. The driver notes the summaries that
occur more than once. Of such an item a worker first claims the keys; where another worker has claimed one of them, the
item comes back and is judged in the next round, when that answer is stored.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING, Any

from jurybox.types import Item

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Summaries:
    """Fingerprints of every summary that was seen, 8 bytes each."""

    def __init__(self) -> None:
        self._seen = array("Q")

    def see(self, item: Item) -> None:
        self._seen.append(_fingerprint(item))

    def repeated(self) -> NDArray[Any]:
        """Those that were seen more than once, sorted."""
        import numpy as np

        found = np.sort(np.frombuffer(self._seen, dtype=np.uint64)) if self._seen else np.zeros(0, dtype=np.uint64)
        return np.unique(found[1:][found[1:] == found[:-1]])


def is_among(repeated: NDArray[Any], item: Item) -> bool:
    if not len(repeated):
        return False
    import numpy as np

    wanted = np.uint64(_fingerprint(item))
    at = int(np.searchsorted(repeated, wanted))
    return at < len(repeated) and bool(repeated[at] == wanted)


def _fingerprint(item: Item) -> int:
    return int.from_bytes(hashlib.blake2b(item.summary.encode(), digest_size=8).digest())
