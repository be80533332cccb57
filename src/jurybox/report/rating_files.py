"""Ratings out, and tasks to rate: a long CSV, Label Studio's JSON with its interface, Argilla's folder.

Tasks are blind and shuffled: a file in the order of the data would show one system after the other.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from jurybox.data import argilla, label_studio
from jurybox.data.blind import BlindItem
from jurybox.data.rating import Key, Rating
from jurybox.data.rating_files import COLUMNS, RATERS, RECORDS, RatingFormat
from jurybox.errors import SetupError
from jurybox.report.annotating import blind_order, blind_view, rated_rubrics, refuse_duels
from jurybox.stats.bootstrap import SEED
from jurybox.store import RunReader, current_ratings, item_keys
from jurybox.types import Rubric

_ENDINGS: Mapping[str, RatingFormat] = {".csv": "csv", ".json": "label-studio", "": "argilla"}


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and where: `ratings` is 0 for tasks."""

    format: RatingFormat
    files: tuple[str, ...]
    items: int
    ratings: int
    raters: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "files": list(self.files),
            "items": self.items,
            "ratings": self.ratings,
            "raters": self.raters,
        }


def format_of(to: Path) -> RatingFormat:
    """By the ending: .csv, .json (Label Studio), none (Argilla's folder)."""
    found = _ENDINGS.get(to.suffix.lower())
    if found is None:
        raise SetupError(
            f"--to {to}: unknown ending '{to.suffix}'; a long table ends with .csv, Label Studio's file with .json, "
            "and Argilla's folder has none; or say --format"
        )
    return found


def export_tasks(
    reader: RunReader, to: Path, kind: RatingFormat, *, rubrics: Sequence[str] = (), seed: int = SEED
) -> Exported:
    """Every item of the run to be rated on its rubrics, or on those named."""
    refuse_duels(reader)
    asked = rated_rubrics(reader, rubrics)
    keys = blind_order(item_keys(reader), seed)
    items = (blind_view(reader, key) for key in keys)
    if kind == "csv":
        raise SetupError("--tasks: csv holds ratings and no tasks; give --format label-studio or argilla")
    if kind == "label-studio":
        files = _label_studio(to, list(label_studio.tasks(items, asked)), asked)
    else:
        files = _argilla(to, list(argilla.records(items)), asked, {})
    return Exported(kind, files, len(keys), 0, 0)


def export_ratings(reader: RunReader, to: Path, kind: RatingFormat, *, rubrics: Sequence[str] = ()) -> Exported:
    """What people say now, of those items that anybody rated."""
    refuse_duels(reader)
    asked = rated_rubrics(reader, rubrics)
    names = {rubric.name for rubric in asked}
    ratings = [rating for rating in current_ratings(reader) if rating.rubric in names]
    if not ratings:
        raise SetupError(f"{reader.path}: nobody rated {', '.join(names)}; there is nothing to export")
    by_item: dict[Key, list[Rating]] = {}
    for rating in ratings:
        by_item.setdefault(rating.key, []).append(rating)
    raters = sorted({rating.rater for rating in ratings})
    items = [(blind_view(reader, key), given) for key, given in by_item.items()]
    if kind == "csv":
        files = _long(to, ratings)
    elif kind == "label-studio":
        files = _label_studio(to, list(_annotated(items, asked)), asked)
    else:
        records = [
            argilla.with_responses(*pair)
            for pair in zip(argilla.records(i for i, _ in items), by_item.values(), strict=True)
        ]
        files = _argilla(to, records, asked, {argilla.user_id(rater): rater for rater in raters})
    return Exported(kind, files, len(by_item), len(ratings), len(raters))


def _annotated(
    items: Sequence[tuple[BlindItem, list[Rating]]], rubrics: Sequence[Rubric]
) -> Iterable[Mapping[str, Any]]:
    tasks = label_studio.tasks((item for item, _ in items), rubrics)
    return (label_studio.with_annotations(task, given) for task, (_, given) in zip(tasks, items, strict=True))


def _long(to: Path, ratings: Iterable[Rating]) -> tuple[str, ...]:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows([r.id, r.system, r.rubric, r.rater, f"{r.score:g}", r.comment, r.at] for r in ratings)

    return _written((to, write))


def _label_studio(to: Path, tasks: Sequence[Any], rubrics: Sequence[Rubric]) -> tuple[str, ...]:
    config = label_studio.labelling_config(rubrics)
    return _written((to, _json(tasks)), (to.with_suffix(".xml"), lambda path: _text(path, config)))


def _argilla(to: Path, records: Sequence[Any], rubrics: Sequence[Rubric], raters: Mapping[str, str]) -> tuple[str, ...]:
    hidden = to / ".argilla"
    try:
        hidden.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise SetupError(f"--to {to}: cannot be made: {exc.strerror}; Argilla's form is a folder") from exc
    files = [
        (hidden / "settings.json", _json(argilla.settings(rubrics))),
        (hidden / "dataset.json", _json(argilla.dataset(argilla.question_name(to.name)))),
        (to / RECORDS, _json(records)),
    ]
    return _written(*files, *([(to / RATERS, _json(raters))] if raters else []))


def _json(document: Any) -> Any:
    return lambda path: path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))


def _text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def _written(*files: tuple[Path, Any]) -> tuple[str, ...]:
    for path, write in files:
        try:
            write(path)
        except OSError as exc:
            raise SetupError(f"--to {path}: cannot be written: {exc.strerror or exc}") from exc
    return tuple(str(path) for path, _ in files)
