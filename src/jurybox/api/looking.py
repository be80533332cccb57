"""A run file to look at: `Run`, `show`, `export`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jurybox.api.jobs import refuse_unknown_choice
from jurybox.errors import StoreError
from jurybox.report import JURY_COMBINES, JuryCombine, Summary, export_rows, export_run, holds_duels, summarise
from jurybox.runner import Tally
from jurybox.stats import COMBINES, Combine
from jurybox.store import RunReader
from jurybox.types import Judgment

if TYPE_CHECKING:
    import pandas
    import polars


class Run:
    """A run file, finished or not. Reads it anew each time, so it may still be growing."""

    def __init__(self, path: str | Path, tally: Tally | None = None) -> None:
        self.path = Path(path)
        self.tally = tally

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def complete(self) -> bool:
        """Whether the invocation that gave this run made all its judgments."""
        return self.tally is None or self.tally.done == self.tally.total

    def show(self, *, combine: Combine = "mean", jury: JuryCombine = "mean") -> Summary:
        return show(self.path, combine=combine, jury=jury)

    def judgments(self) -> Iterator[Judgment]:
        with RunReader(self.path) as reader:
            yield from reader.judgments()

    def export(self, to: str | Path) -> int:
        return export(self.path, to)

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(self._rows())

    def to_polars(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self._rows(), infer_schema_length=None)

    def _rows(self) -> list[Mapping[str, Any]]:
        with RunReader(self.path) as reader:
            return list(export_rows(reader))


def show(run: str | Path | Run, *, combine: Combine = "mean", jury: JuryCombine = "mean") -> Summary:
    """Systems x rubrics of a run: mean, interval, n, unscored; `combine` is of samples, `jury` of judges."""
    refuse_unknown_choice("combine", combine, COMBINES)
    refuse_unknown_choice("jury", jury, JURY_COMBINES)
    with RunReader(path_of(run)) as reader:
        if holds_duels(reader):
            raise StoreError(
                f"{reader.path}: holds duels, which are no scores of a system; the `jurybox duel` command that made it "
                "shows them and asks nothing twice, `jurybox export` writes every answer"
            )
        return summarise(reader, combine, jury)


def export(run: str | Path | Run, to: str | Path) -> int:
    """Every judgment to a Parquet, CSV or JSONL file; returns how many."""
    with RunReader(path_of(run)) as reader:
        return export_run(reader, Path(to))


def path_of(run: str | Path | Run) -> Path:
    return run.path if isinstance(run, Run) else Path(run)
