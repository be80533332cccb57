"""What a worker is given, and what it gives back: plain values that go through Ray."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import orjson

from jurybox.judges import Judge
from jurybox.runner.job import Job
from jurybox.runner.progress import Tally

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Order:
    """How a worker makes its job and where its judgments go. Keys of servers are not in it: a worker finds them where
    the local engine does, in its own environment. `computed` judges come as they are, for they may have seen the data;
    `contexts` is what the driver learned of the others. `repeated` are summaries of several items (`twins`)."""

    make_job: Callable[[], Job]
    series: Mapping[tuple[str, str], int]
    folder: str
    start: int
    repeated: NDArray[Any]
    computed: Mapping[str, Judge] = field(default_factory=dict)
    contexts: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one batch. `error` is why the run must end, of the kind of jurybox's own error."""

    tally: Tally
    error: str = ""
    kind: str = ""
    said: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        return orjson.dumps(asdict(self))

    @staticmethod
    def from_bytes(body: bytes) -> Report:
        read: dict[str, Any] = orjson.loads(body)
        return Report(Tally(**read["tally"]), read["error"], read["kind"], tuple(read["said"]))


def add(whole: Tally, part: Tally) -> None:
    """Count a batch. Its `total` is what `--samples auto` wants beyond what the driver set out for."""
    for name in (one.name for one in fields(Tally) if one.name != "stopped"):
        setattr(whole, name, getattr(whole, name) + getattr(part, name))
    whole.stopped = whole.stopped or part.stopped
