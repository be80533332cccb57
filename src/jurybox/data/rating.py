"""One person's rating of one item on one rubric, as files bring it in and take it out; and what makes one good.

A file is taken whole or not at all: `Intake` checks every rating against what the run has and remembers what it did not
understand, and where.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from jurybox.errors import DataError, unknown_name
from jurybox.types import SCALE

Key = tuple[str, str]
LONGEST_RATER = 100
LONGEST_COMMENT = 10_000
# So many problems are told in full; the rest is counted.
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Rating:
    """A score, or None where the rater skipped it. `at` is ISO 8601 in UTC, empty where nobody said when."""

    id: str
    system: str
    rubric: str
    rater: str
    score: float | None
    comment: str = ""
    at: str = ""

    @property
    def key(self) -> Key:
        return (self.id, self.system)


def checked_rater(name: Any) -> str:
    """The name as it is kept: without space around it, one form of each letter. ValueError where it is none."""
    rater = unicodedata.normalize("NFC", str(name)).strip()
    if not rater:
        raise ValueError("the rater has no name; every rating is somebody's")
    if len(rater) > LONGEST_RATER:
        raise ValueError(f"the rater's name has {len(rater)} characters; at most {LONGEST_RATER} are allowed")
    if not rater.isprintable():
        raise ValueError(f"the rater's name {rater!r} has characters that cannot be printed")
    return rater


def checked_score(score: Any) -> float:
    """A number on the scale; ValueError for anything else."""
    try:
        number = math.nan if isinstance(score, bool) else float(score)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"the score should be a number {SCALE[0]}-{SCALE[-1]}, but is {score!r:.60}")
    if not SCALE[0] <= number <= SCALE[-1]:
        raise ValueError(f"score {number:g} is off the scale {SCALE[0]}-{SCALE[-1]}")
    return number


def checked_comment(comment: Any) -> str:
    text = "" if comment is None else str(comment).strip()
    if len(text) > LONGEST_COMMENT:
        raise ValueError(f"the comment has {len(text):,} characters; at most {LONGEST_COMMENT:,} are allowed")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the comment is no Unicode text") from None
    return text


def checked_time(at: Any) -> str:
    """A moment in UTC to the millisecond, so that texts sort as moments do; a time without a zone is taken as UTC."""
    if at in (None, ""):
        return ""
    try:
        moment = datetime.fromisoformat(str(at))
    except ValueError:
        raise ValueError(f"the time should be like 2026-11-16T04:30:00Z, but is {at!r:.60}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What can be rated: the run's rubrics, and its items by the blind key that tasks name them by."""

    rubrics: tuple[str, ...]
    items: Mapping[str, Key]
    keys: frozenset[Key]

    def key(self, item: str | Key) -> Key:
        """The item of a blind key, or of id and system; ValueError where the run has none."""
        if isinstance(item, str):
            if item not in self.items:
                raise ValueError(f"item '{item:.40}' is not in the run; was it exported from another one?")
            return self.items[item]
        if item not in self.keys:
            raise ValueError(f"id '{item[0]:.40}', system '{item[1]:.40}' is not in the run")
        return item


@dataclass(slots=True)
class Intake:
    """What a file holds. `only` are the rubrics to take (all where empty), `raters` other names for some.

    `drafts` were not finished and `others` are no rating of a wanted rubric; both are left out and counted.
    """

    catalogue: Catalogue
    only: frozenset[str] = frozenset()
    raters: Mapping[str, str] = field(default_factory=dict)
    drafts: int = 0
    others: int = 0
    _found: dict[tuple[Key, str, str], Rating] = field(default_factory=dict)
    _problems: list[tuple[str, str]] = field(default_factory=list)
    _seen: int = 0

    @property
    def ratings(self) -> list[Rating]:
        return list(self._found.values())

    def wants(self, rubric: str) -> bool:
        return not self.only or rubric in self.only

    def knows(self, rubric: str) -> bool:
        return rubric in self.catalogue.rubrics

    def problem(self, where: str, what: str) -> None:
        self._problems.append((where, what))

    def take(
        self, where: str, item: str | Key, rubric: str, rater: Any, score: Any, comment: Any = "", at: Any = ""
    ) -> None:
        """Check one rating and keep it; a `score` of None is a skip. What is wrong with it becomes a problem."""
        if not self.wants(rubric):
            self.others += 1
            return
        self._seen += 1
        try:
            if not self.knows(rubric):
                raise ValueError(unknown_name("rubric", rubric, self.catalogue.rubrics))
            named = "" if rater is None else str(rater)
            rating = Rating(
                *self.catalogue.key(item),
                rubric,
                checked_rater(self.raters.get(named, named)),
                None if score is None else checked_score(score),
                checked_comment(comment),
                checked_time(at),
            )
            self._keep(rating)
        except ValueError as exc:
            self.problem(where, str(exc))

    def _keep(self, rating: Rating) -> None:
        """One rating an item, rubric and rater: of two, the later one counts, if it is known which that is."""
        place = (rating.key, rating.rubric, rating.rater)
        before = self._found.get(place)
        if before is None or (rating.at and before.at and rating.at > before.at):
            self._found[place] = rating
        elif before.score != rating.score and not (rating.at and before.at and rating.at < before.at):
            raise ValueError(
                f"rater '{rating.rater}' has rated id '{rating.id}', system '{rating.system}' on '{rating.rubric}' "
                "twice, and it is not said which is later; leave one"
            )

    def checked(self, path: str) -> list[Rating]:
        """The ratings, if all is well; otherwise one message, and nothing is taken."""
        if self._problems:
            told = "; ".join(f"{where}: {what}" for where, what in self._problems[:_TOLD])
            rest = len(self._problems) - _TOLD
            more = f"; and {rest:,} more" if rest > 0 else ""
            raise DataError(path, None, f"nothing was taken, for this was not understood: {told}{more}")
        if not self._found:
            left = f" (drafts: {self.drafts:,}, other answers: {self.others:,})" if self.drafts or self.others else ""
            raise DataError(path, None, f"holds no finished rating of {', '.join(self.only or self._rubrics())}{left}")
        return self.ratings

    def _rubrics(self) -> tuple[str, ...]:
        return self.catalogue.rubrics
