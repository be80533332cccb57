"""Records to Items: aliases, `--map`, one source with many summaries, ratings; and the check before the first call.

A `Dataset` is walked once to check it and once to judge it; of a large file only keys' hashes are kept in between, so
a million items need no more memory than a few thousand.
"""

from __future__ import annotations

import reprlib
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from jurybox.data.columns import checked_columns, sorted_columns, unused
from jurybox.data.ratings import Ratings, normalise_human
from jurybox.data.records import Record, read_json_lines, read_records
from jurybox.data.remote import RemoteFile, file_at
from jurybox.errors import DataError
from jurybox.fields import FIELDS
from jurybox.types import Item, Rubric

DEFAULT_SYSTEM = "default"
# A file up to this size is kept as items once it is checked; a larger one is read again, line by line.
SMALL_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Census:
    """What a check of the data found."""

    items: int
    systems: tuple[str, ...]
    rated: int
    unmatched_ratings: int


class Dataset:
    """Items from a file path, `-` (standard input, JSONL), or Python records or Items."""

    def __init__(
        self,
        data: str | Path | Iterable[Record | Item],
        *,
        columns: Mapping[str, str] | None = None,
        ratings: Ratings | None = None,
        limit: int | None = None,
    ) -> None:
        self.name = "standard input" if data == "-" else str(data) if isinstance(data, str | Path) else "records"
        self._columns = checked_columns(columns or {})
        self._ratings = ratings or {}
        self._limit = limit
        self._path: Path | RemoteFile | None = None
        self._spool: IO[bytes] | None = None
        self._records: list[Record | Item] = []
        self._remembered: list[tuple[int, Item]] | None = None
        if data == "-":
            self._spool = _spooled(sys.stdin.buffer)
            weakref.finalize(self, self._spool.close)
        elif isinstance(data, str | Path):
            self._path = file_at(data)
        else:
            self._records = list(data)

    @property
    def path(self) -> Path | RemoteFile | None:
        """Where the records are, if they are in one file that anybody may read."""
        return self._path

    @property
    def files(self) -> tuple[Dataset, ...]:
        """The datasets that this one is made of."""
        return (self,)

    def again(self) -> Dataset:
        """The same data, not yet read: what another process is given."""
        assert self._path is not None, "only files can be read elsewhere"
        fresh = Dataset((), columns=self._columns, ratings=self._ratings, limit=self._limit)
        fresh.name, fresh._path = self.name, self._path.absolute()
        return fresh

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self.located())

    def located(self) -> Iterator[tuple[int, Item]]:
        """Every item with its line, up to the limit."""
        if self._remembered is not None:
            yield from self._remembered
            return
        count = 0
        for line, record in self._raw():
            for item in self._items(line, record):
                yield line, item
                count += 1
                if count == self._limit:
                    return

    def check(self, rubrics: Iterable[Rubric], observe: Callable[[Item], None] | None = None) -> Census:
        """Walk everything once and refuse what could not be judged: nothing has been paid yet.

        `observe` sees every item on the way.
        """
        rubrics = tuple(rubrics)
        seen: set[int] = set()
        systems: dict[str, None] = {}
        rated = matched = count = 0
        remembered: list[tuple[int, Item]] | None = [] if self._is_small() else None
        for line, item in self.located():
            if remembered is not None:
                remembered.append((line, item))
            for rubric in rubrics:
                self._require(line, item, rubric)
            fingerprint = hash(item.key)
            if fingerprint in seen:
                self._refuse_duplicate(line, item)
            seen.add(fingerprint)
            if observe is not None:
                observe(item)
            systems[item.system] = None
            rated += bool(item.human)
            matched += item.key in self._ratings
            count += 1
        if not count:
            raise DataError(self.name, None, "is empty; at least one item is needed")
        self._refuse_unseen_columns()
        self._remembered = remembered
        return Census(count, tuple(systems), rated, len(self._ratings) - matched)

    def _is_small(self) -> bool:
        """Whether the items may stay in memory after the check, so that the file is read once and not twice."""
        path = self._path
        if not isinstance(path, Path):
            return False
        return path.is_file() and path.suffix != ".parquet" and path.stat().st_size <= SMALL_BYTES

    def _raw(self) -> Iterator[tuple[int, Record | Item]]:
        if self._path is not None:
            return read_records(self._path)
        if self._spool is not None:
            self._spool.seek(0)
            return read_json_lines(self._spool, self.name)
        return enumerate(self._records, 1)

    def _items(self, line: int, record: Record | Item) -> Iterator[Item]:
        if isinstance(record, Item):
            self._filled(line, record.summary, "summary")
            yield self._with_ratings(record)
            return
        if not isinstance(record, Mapping):
            raise DataError(self.name, line, f"should be a mapping or an Item, but is {_shown(record)}")
        known, metadata = sorted_columns(self.name, line, record, self._columns)
        source = self._source(line, known)
        identity = self._identity(line, known)
        if not known.keys() & {"summary", "summaries"} and "summary" not in self._columns:
            why = f"is missing or empty; every item needs it{unused(metadata, 'summary')}"
            raise DataError(self.name, line, why, field="summary")
        summaries = self._summaries(line, known)
        human = self._by_system(line, known, summaries)
        for system, summary in summaries.items():
            item = Item(identity, system, summary, source, self._human(line, human.get(system)), metadata)
            yield self._with_ratings(item)

    def _source(self, line: int, known: Mapping[str, Any]) -> dict[str, Any]:
        source: dict[str, Any] = {}
        for name, field in FIELDS.items():
            if name not in known:
                continue
            try:
                value = field.normalise(known[name])
            except (ValueError, KeyError, TypeError, RecursionError) as exc:
                raise DataError(
                    self.name, line, f"should be {field.allowed}, but is {_shown(known[name])}", field=name
                ) from exc
            if value != () and not (isinstance(value, str) and not value.strip()):
                source[name] = value
        return source

    def _identity(self, line: int, known: Mapping[str, Any]) -> str:
        value = known.get("id", line)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            raise DataError(self.name, line, f"should be text or a whole number, but is {_shown(value)}", field="id")
        return self._encodable(line, str(value), "id")

    def _summaries(self, line: int, known: Mapping[str, Any]) -> dict[str, str]:
        if "summaries" in known and "summary" in known:
            raise DataError(
                self.name, line, "holds both 'summary' and 'summaries'; give one of them", field="summaries"
            )
        if "summaries" not in known:
            system = known.get("system", DEFAULT_SYSTEM)
            return {self._filled(line, system, "system"): self._filled(line, known.get("summary"), "summary")}
        summaries = known["summaries"]
        if not isinstance(summaries, Mapping) or not summaries:
            raise DataError(
                self.name, line, f"should be {{system: summary, …}}, but is {_shown(summaries)}", field="summaries"
            )
        # Parquet gives every row the columns of all rows: a system without a summary here is null.
        present = {system: text for system, text in summaries.items() if text is not None}
        return {str(system): self._filled(line, text, f"summaries.{system}") for system, text in present.items()}

    def _filled(self, line: int, value: Any, field: str) -> str:
        if value is None or value == "":
            mapped = f" (--map {field}={self._columns[field]})" if field in self._columns else ""
            raise DataError(self.name, line, f"is missing or empty{mapped}; every item needs it", field=field)
        if not isinstance(value, str):
            raise DataError(self.name, line, f"should be text, but is {_shown(value)}", field=field)
        if not value.strip():
            raise DataError(self.name, line, "is blank; every item needs it", field=field)
        return self._encodable(line, value, field)

    def _encodable(self, line: int, value: str, field: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            raise DataError(self.name, line, f"is no Unicode text: {_shown(value)}", field=field) from exc
        return value

    def _by_system(self, line: int, known: Mapping[str, Any], summaries: Mapping[str, str]) -> Mapping[str, Any]:
        """Human ratings as written, system by system: beside `summaries` they must say whose they are."""
        human = known.get("human")
        if "summaries" not in known:
            return dict.fromkeys(summaries, human)
        by_system = {} if human is None else human
        if not isinstance(by_system, Mapping):
            raise DataError(
                self.name,
                line,
                f"should be {{system: {{rubric: [scores]}}}} beside 'summaries', but is {_shown(human)}",
                field="human",
            )
        strangers = [name for name, given in by_system.items() if given is not None and name not in summaries]
        if strangers:
            raise DataError(
                self.name,
                line,
                f"names '{strangers[0]}', which has no summary here; beside 'summaries' it should be "
                "{system: {rubric: [scores]}}",
                field="human",
            )
        return by_system

    def _human(self, line: int, value: Any) -> dict[str, dict[str, float]]:
        if value is None:
            return {}
        try:
            return normalise_human(value)
        except ValueError as exc:
            raise DataError(self.name, line, str(exc), field="human") from exc

    def _with_ratings(self, item: Item) -> Item:
        more = self._ratings.get(item.key)
        if not more:
            return item
        human = {rubric: dict(scores) for rubric, scores in item.human.items()}
        for rubric, scores in more.items():
            human.setdefault(rubric, {}).update(scores)
        return Item(item.id, item.system, item.summary, item.source, human, item.metadata)

    def _require(self, line: int, item: Item, rubric: Rubric) -> None:
        for field in rubric.required:
            if field != "summary" and field not in item.source and field not in item.metadata:
                why = f"is missing, and the rubric '{rubric.name}' requires it{unused(item.metadata, field)}"
                raise DataError(self.name, line, why, field=field)
        if rubric.any_of and not any(field in item.source for field in rubric.any_of):
            raise DataError(
                self.name,
                line,
                f"is missing, and so is every other field that the rubric '{rubric.name}' could judge by "
                f"({', '.join(rubric.any_of)}); at least one is needed{unused(item.metadata, rubric.any_of[0])}",
                field=rubric.any_of[0],
            )

    def _refuse_duplicate(self, line: int, item: Item) -> None:
        """A hash was seen before: look who had it. Two different keys with one hash are no duplicate."""
        for first, other in self.located():
            if other.key == item.key and (first, other.summary) != (line, item.summary):
                raise DataError(
                    self.name,
                    line,
                    f"item id '{item.id}', system '{item.system}' is there already on line {first}; "
                    "an item is one summary by one system, so this pair must be unique",
                    field="id",
                )
            if first >= line:
                return

    def _refuse_unseen_columns(self) -> None:
        for field, column in self._columns.items():
            found = any(isinstance(record, Item) or record.get(column) is not None for _, record in self._raw())
            if not found:
                raise DataError(self.name, None, f"has no column '{column}' (named by --map {field}={column})")


def _spooled(stream: IO[bytes]) -> IO[bytes]:
    """Standard input cannot be read twice; a nameless temporary file can."""
    spool = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the dataset
    shutil.copyfileobj(stream, spool)
    return spool


def _shown(value: Any) -> str:
    text = reprlib.repr(value)  # bounded in depth and length, as a value of a foreign file need not be
    return text if len(text) <= 60 else text[:57] + "…"
