"""Systems of a run compared in pairs: `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jurybox.api.looking import Run, path_of
from jurybox.errors import StoreError, refuse_unknown_choice
from jurybox.report.compare import Comparison, compare_systems
from jurybox.report.duels import holds_duels
from jurybox.report.jury import JURY_COMBINES, JuryCombine
from jurybox.stats import COMBINES, Combine
from jurybox.store import RunReader


def compare(
    run: str | Path | Run,
    *systems: str,
    judge: str | None = None,
    rubrics: str | Sequence[str] = (),
    combine: Combine = "mean",
    jury: JuryCombine = "mean",
    difference: float | None = None,
) -> Comparison:
    """Every pair of the systems (of all, without names) on the same sources: difference, p after Holm, what n can show.

    `judge` is the run's main one unless named, `rubrics` all of them; `difference` is what `n_needed` should show
    instead of the difference seen.
    """
    refuse_unknown_choice("combine", combine, COMBINES)
    refuse_unknown_choice("jury", jury, JURY_COMBINES)
    names = [name.strip() for name in rubrics.split(",")] if isinstance(rubrics, str) else list(rubrics)
    wanted = [name for name in names if name]
    with RunReader(path_of(run)) as reader:
        if holds_duels(reader):
            raise StoreError(f"{reader.path}: holds duels, which compare two systems already; it has no scores")
        return compare_systems(
            reader, systems, judge=judge, rubrics=wanted, combine=combine, jury=jury, difference=difference
        )
