"""Several files as one dataset: a folder, or a pattern with `*`, on a disk or behind an address."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from jurybox.addresses import filesystem, is_address, reaching
from jurybox.data.dataset import Census, Dataset
from jurybox.data.ratings import Ratings
from jurybox.data.records import FORMATS
from jurybox.data.remote import RemoteFile
from jurybox.errors import DataError
from jurybox.types import Item, Rubric


class FileSet(Dataset):
    """Items of files in the order of their names. A pair of id and system must be unique over all of them."""

    def __init__(
        self,
        place: str,
        *,
        columns: Mapping[str, str] | None = None,
        ratings: Ratings | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__((), columns=columns, ratings=ratings, limit=limit)
        self.name = place
        self._found = tuple(Dataset(name, columns=columns, ratings=ratings) for name in files_at(place))

    @property
    def files(self) -> tuple[Dataset, ...]:
        return self._found

    def located(self) -> Iterator[tuple[int, Item]]:
        count = 0
        for part in self._found:
            for one in part.located():
                yield one
                count += 1
                if count == self._limit:
                    return

    def check(self, rubrics: Iterable[Rubric], observe: Callable[[Item], None] | None = None) -> Census:
        rubrics, seen, counts = tuple(rubrics), dict[int, str](), list[Census]()
        for number, part in enumerate(self._found):
            if self._limit is not None:  # each file is read by itself later, and must know its share
                part._limit = self._limit - sum(one.items for one in counts)
                if part._limit == 0:
                    self._found = self._found[:number]
                    break

            def watch(item: Item, name: str = part.name) -> None:
                other = seen.setdefault(hash(item.key), name)
                if other != name:
                    raise DataError(
                        name, None, f"item id '{item.id}', system '{item.system}' is in {other} already", field="id"
                    )
                if observe is not None:
                    observe(item)

            counts.append(part.check(rubrics, watch))
        systems = dict.fromkeys(system for one in counts for system in one.systems)
        unmatched = sum(one.unmatched_ratings for one in counts) - len(self._ratings) * (len(counts) - 1)
        return Census(sum(one.items for one in counts), tuple(systems), sum(one.rated for one in counts), unmatched)


def is_several(place: object) -> bool:
    """Whether data names more than one file."""
    if not isinstance(place, str | Path) or place == "-":
        return False
    text = str(place)
    if "*" in text or is_address(text):
        return "*" in text or text.endswith("/")
    return Path(text).is_dir() and any(path.suffix.lower() in FORMATS for path in Path(text).iterdir())


def files_at(place: str) -> Sequence[str]:
    """The data files in a folder, or those that a pattern names."""
    pattern = place if "*" in place else f"{place.rstrip('/')}/*"
    names = _remote(pattern) if is_address(pattern) else glob.glob(pattern)
    found = sorted(name for name in names if RemoteFile(name).suffix.lower() in FORMATS)
    if not found:
        raise DataError(place, None, f"holds no data file; known endings: {', '.join(FORMATS)}")
    return found


def _remote(pattern: str) -> list[str]:
    try:
        files, path = filesystem(pattern)
        with reaching():
            return [str(files.unstrip_protocol(name)) for name in files.glob(path)]
    except OSError as exc:
        raise DataError(pattern, None, f"cannot be read: {exc}") from exc
