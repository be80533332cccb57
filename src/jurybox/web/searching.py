"""Looking for a text: in ids, summaries and sources while a page waits, in the reasons of all judgments beside it.

A million reasons take a second or two, which is too long for a page: it shows what it has, says that it is still
looking, and asks again. The last few searches are kept, so that their next pages cost nothing; when a run has gone on,
only the items that were judged since are looked through.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jurybox.errors import JuryboxError
from jurybox.report.browsing import RunIndex
from jurybox.store.browsing import Newest
from jurybox.store.finding import find_reasons, find_text
from jurybox.web.watching import Watch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Numbers = NDArray[Any]

KEPT = 8
# Items whose reasons are looked through in one query.
SLICE = 1_000


@dataclass(slots=True)
class Looking:
    """One text in all reasons. `hits` are numbers of item and series; `judged` says how many judgments each item of
    the run had when it was looked through, `newest` of which state that was (None: it is the first time)."""

    hits: Numbers
    numbers: Numbers
    judged: Numbers
    newest: Newest | None = None
    share: float = 0.0
    mask: tuple[Newest, Mask] | None = None


class Searches:
    """What was looked for in one run, by any number of requests at once."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._turn = threading.Lock()
        self._texts: OrderedDict[tuple[int, int, str], Mask] = OrderedDict()
        self._reasons: OrderedDict[str, Looking] = OrderedDict()
        self._waiting: OrderedDict[str, RunIndex] = OrderedDict()
        self._busy = False

    def in_texts(self, index: RunIndex, text: str) -> Mask:
        """Which items have this text in their id, summary or source."""
        import numpy as np

        wanted = (index.newest.item, len(index.numbers), text)
        known = self._texts.get(wanted)
        if known is not None:
            return known
        with self._watch.reader() as reader:
            numbers = np.fromiter(find_text(reader, text), dtype=np.int64)
        found = np.isin(index.numbers, numbers)
        with self._turn:
            self._texts[wanted] = found
            while len(self._texts) > KEPT:
                self._texts.popitem(last=False)
        return found

    def in_reasons(self, index: RunIndex, text: str, wait: float = 0.1) -> tuple[Mask, float]:
        """Which cells have this text in a reason, as far as that is known, and which share was looked through."""
        with self._turn:
            looking = self._looking(text)
            if looking.newest != index.newest:
                self._waiting.setdefault(text, index)
                self._start()
        until = time.monotonic() + wait
        while looking.newest != index.newest and time.monotonic() < until:
            time.sleep(0.01)
        known = looking.mask
        if known is not None and known[0] == index.newest:  # not kept by index: that would keep the index
            return known[1], 1.0
        done = looking.newest == index.newest
        mask = index.cells_at(looking.hits[:, 0], looking.hits[:, 1])
        if done:
            looking.mask = (index.newest, mask)
        return mask, 1.0 if done else min(looking.share, 0.99)

    def _looking(self, text: str) -> Looking:
        import numpy as np

        if text not in self._reasons:
            self._reasons[text] = Looking(np.zeros((0, 2), "i4"), np.zeros(0, "i4"), np.zeros(0, "i4"))
        self._reasons.move_to_end(text)
        while len(self._reasons) > KEPT:
            self._reasons.popitem(last=False)
        return self._reasons[text]

    def _start(self) -> None:
        if not self._busy:
            self._busy = True
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._turn:
                if not self._waiting:
                    self._busy = False
                    return
                text, index = self._waiting.popitem(last=False)
                looking = self._reasons.get(text)
            if looking is None:
                continue  # nobody asked for it lately
            try:
                self._look(text, index, looking)
            except JuryboxError:
                pass  # the file is gone or being replaced; the page says so, and asks again if it is back
            except BaseException:
                with self._turn:
                    self._busy = False
                raise

    def _look(self, text: str, index: RunIndex, looking: Looking) -> None:
        import numpy as np

        changed = _changed(index, looking)
        found = [looking.hits[~np.isin(looking.hits[:, 0], changed)]]
        with self._watch.reader() as reader:
            for start in range(0, len(changed), SLICE):
                rows = find_reasons(reader, text, changed[start : start + SLICE].tolist())
                found.append(np.array(rows, dtype="i4").reshape(-1, 2))
                looking.share = (start + SLICE) / len(changed)
        looking.hits = np.concatenate(found)
        looking.numbers, looking.judged = index.numbers, index.judged
        looking.mask, looking.newest = None, index.newest


def _changed(index: RunIndex, looking: Looking) -> Numbers:
    """The items that were judged since the text was looked for; all where a call was tried again, or for the first
    time."""
    import numpy as np

    if looking.newest is None or looking.newest.tries != index.newest.tries:
        return index.numbers
    before = np.zeros(len(index.numbers), dtype=index.judged.dtype)
    places = np.searchsorted(index.numbers, looking.numbers)
    before[places] = looking.judged
    changed: Numbers = index.numbers[before != index.judged]
    return changed
