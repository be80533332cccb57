"""A run file to look at: `Run`, `show`, `export`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jurybox.addresses import is_address
from jurybox.errors import StoreError, refuse_unknown_choice
from jurybox.report.calibrated import apply_calibration
from jurybox.report.duels import holds_duels, summarise_duels
from jurybox.report.export import export_rows, export_run
from jurybox.report.jury import JURY_COMBINES, JuryCombine
from jurybox.report.summary import Summary, summarise
from jurybox.stats import COMBINES, Combine
from jurybox.store import RunReader
from jurybox.types import Judgment

if TYPE_CHECKING:
    import pandas
    import polars

    from jurybox.report.agree import Agreement
    from jurybox.report.compare import Comparison
    from jurybox.report.estimate import Estimates
    from jurybox.runner import Tally


class Run:
    """A run file, finished or not. Reads it anew each time, so it may still be growing."""

    def __init__(self, path: str | Path, tally: Tally | None = None) -> None:
        self.place = path
        self.tally = tally

    @property
    def path(self) -> Path:
        """The file or folder; of results behind an address, the run file that was made of them here."""
        return path_of(self) if is_address(self.place) else Path(self.place)

    def __repr__(self) -> str:
        return f"Run({str(self.place)!r})"

    def _repr_html_(self) -> str | None:
        """What a notebook shows; nothing but the name where the file has nothing to show yet."""
        try:
            with RunReader(path_of(self)) as reader:
                if not reader.signatures():
                    return None
                found = summarise_duels(reader) if holds_duels(reader) else summarise(reader)
                return found._repr_html_()
        except StoreError:
            return None

    @property
    def complete(self) -> bool:
        """Whether the invocation that gave this run made all its judgments."""
        return self.tally is None or self.tally.done == self.tally.total

    def show(self, *, combine: Combine = "mean", jury: JuryCombine = "mean", calibration: str | None = None) -> Summary:
        return show(self.path, combine=combine, jury=jury, calibration=calibration)

    # These three import where they are used: their modules take a Run, so they stand to the right of this one.

    def agree(self, **options: Any) -> Agreement:
        """The judge against people: `jurybox.agree` of this run, with its options."""
        from jurybox.api.agreeing import agree

        return agree(self, **options)

    def compare(self, *systems: str, **options: Any) -> Comparison:
        """Systems in pairs: `jurybox.compare` of this run, with its options."""
        from jurybox.api.comparing import compare

        return compare(self, *systems, **options)

    def estimate(self, **options: Any) -> Estimates:
        """What people would give: `jurybox.estimate` of this run, with its options."""
        from jurybox.api.estimating import estimate

        return estimate(self, **options)

    def judgments(self) -> Iterator[Judgment]:
        with RunReader(path_of(self)) as reader:
            yield from reader.judgments()

    def export(self, to: str | Path, *, calibration: str | None = None) -> int:
        return export(self.path, to, calibration=calibration)

    def to_pandas(self, *, calibration: str | None = None) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(self._rows(calibration))

    def to_polars(self, *, calibration: str | None = None) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self._rows(calibration), infer_schema_length=None)

    def _rows(self, calibration: str | None) -> list[Mapping[str, Any]]:
        with RunReader(path_of(self)) as reader:
            return list(export_rows(reader, calibration))


def show(
    run: str | Path | Run,
    *,
    combine: Combine = "mean",
    jury: JuryCombine = "mean",
    calibration: str | None = None,
) -> Summary:
    """Systems x rubrics of a run: mean, interval, n, unscored; `combine` is of samples, `jury` of judges.

    `calibration` names one that `calibrate` kept in the run: the cells that it has a map for are of calibrated scores.
    """
    refuse_unknown_choice("combine", combine, COMBINES)
    refuse_unknown_choice("jury", jury, JURY_COMBINES)
    with RunReader(path_of(run)) as reader:
        if holds_duels(reader):
            raise StoreError(
                f"{reader.path}: holds duels, which are no scores of a system; the `jurybox duel` command that made it "
                "shows them and asks nothing twice, `jurybox export` writes every answer"
            )
        summary = summarise(reader, combine, jury)
        return summary if calibration is None else apply_calibration(reader, summary, calibration, combine)


def export(run: str | Path | Run, to: str | Path, *, calibration: str | None = None) -> int:
    """Every judgment to a Parquet, CSV or JSONL file; returns how many.

    `calibration` names one that `calibrate` kept in the run: a column `calibrated_score` stands beside the raw score.
    """
    with RunReader(path_of(run)) as reader:
        return export_run(reader, Path(to), calibration)


def path_of(run: str | Path | Run) -> Path:
    """The run file; of a folder of results, one that holds all that the folder holds now."""
    place = run.place if isinstance(run, Run) else run
    if is_address(place) or Path(place).is_dir():
        from jurybox.store.parts import is_result_folder, run_file_of

        if is_result_folder(place):
            return run_file_of(place)
    return Path(place)
