"""People's ratings into a run and out of it: `import_ratings`, `export_ratings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jurybox.api.looking import Run, path_of
from jurybox.data.rating import Intake
from jurybox.data.rating_files import RATING_FORMATS, RatingFormat, read_rating_file
from jurybox.errors import refuse_unknown_choice
from jurybox.report import rating_files
from jurybox.report.annotating import catalogue, rated_rubrics
from jurybox.report.rating_files import Exported
from jurybox.stats.bootstrap import SEED
from jurybox.store import AnnotationLog, RunReader, Taken


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file of ratings. `drafts` were not finished, `others` are no rating of a wanted rubric: both are
    left out."""

    run: str
    file: str
    format: RatingFormat
    taken: Taken
    raters: tuple[str, ...]
    rubrics: tuple[str, ...]
    drafts: int
    others: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "file": self.file,
            "format": self.format,
            "taken": self.taken.taken,
            "new": self.taken.new,
            "replaced": self.taken.replaced,
            "skipped": self.taken.skipped,
            "already_there": self.taken.there,
            "older": self.taken.older,
            "drafts": self.drafts,
            "others": self.others,
            "raters": list(self.raters),
            "rubrics": list(self.rubrics),
        }


def import_ratings(
    run: str | Path | Run,
    file: str | Path,
    *,
    kind: RatingFormat | None = None,
    rubrics: str | Sequence[str] = (),
    raters: Mapping[str, str] | None = None,
) -> Imported:
    """Take people's ratings into a run: a long table, an export of Label Studio or of Argilla, all of it or nothing.

    `kind` is the format, guessed from the file unless given. `rubrics` takes only these; `raters` gives raters other
    names, as tools export ids. A newer rating takes the place of the same rater's older one; the log keeps both.
    """
    if kind is not None:
        refuse_unknown_choice("format", kind, RATING_FORMATS)
    path, names = Path(file), _names(rubrics)
    with RunReader(path_of(run)) as reader:
        rated_rubrics(reader, names)
        intake = Intake(catalogue(reader), frozenset(names), dict(raters or {}))
        found = read_rating_file(path, intake, kind)
    ratings = intake.checked(str(path))
    with AnnotationLog(path_of(run)) as log:
        taken = log.take(ratings)
    people, about = (dict.fromkeys(getattr(rating, name) for rating in ratings) for name in ("rater", "rubric"))
    return Imported(
        str(path_of(run)), str(path), found, taken, tuple(sorted(people)), tuple(about), intake.drafts, intake.others
    )


def export_ratings(
    run: str | Path | Run,
    to: str | Path,
    *,
    kind: RatingFormat | None = None,
    tasks: bool = False,
    rubrics: str | Sequence[str] = (),
    seed: int = SEED,
) -> Exported:
    """Write a run's ratings to a long CSV, Label Studio's JSON or Argilla's folder, by ending unless `kind` says.

    With `tasks`, all items to be rated instead: blind, shuffled by `seed`, with an interface made of the rubrics.
    """
    if kind is not None:
        refuse_unknown_choice("format", kind, RATING_FORMATS)
    path, names = Path(to), _names(rubrics)
    chosen = kind or rating_files.format_of(path)
    with RunReader(path_of(run)) as reader:
        if tasks:
            return rating_files.export_tasks(reader, path, chosen, rubrics=names, seed=seed)
        return rating_files.export_ratings(reader, path, chosen, rubrics=names)


def _names(rubrics: str | Sequence[str]) -> list[str]:
    given = rubrics.split(",") if isinstance(rubrics, str) else rubrics
    return [name.strip() for name in given if name.strip()]
