"""What `agree` compares, as tables of sources x systems: a judge's scores, people's ratings, and trivial judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jurybox.data.ratings import Ratings
from jurybox.errors import SetupError, unknown_name
from jurybox.judges.baselines import BASELINES
from jurybox.report.summary import Summary
from jurybox.store import RunReader
from jurybox.types import SCALE, Item, Review, Rubric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Key = tuple[str, str]
JURY = "jury"


@dataclass(frozen=True, slots=True)
class Grid:
    """The items that people rated on one rubric: where each stands in a table of sources x systems."""

    sources: tuple[str, ...]
    systems: tuple[str, ...]
    keys: tuple[Key, ...]

    @classmethod
    def of(cls, keys: Iterable[Key]) -> Grid:
        kept = tuple(keys)
        return cls(tuple(dict.fromkeys(id_ for id_, _ in kept)), tuple(dict.fromkeys(name for _, name in kept)), kept)

    def table(self, values: Mapping[Key, float | None]) -> Floats:
        """Sources x systems, nan where there is no value."""
        import numpy as np

        row = {source: number for number, source in enumerate(self.sources)}
        column = {system: number for number, system in enumerate(self.systems)}
        found = np.full((len(row), len(column)), np.nan)
        for key in self.keys:
            value = values.get(key)
            if value is not None:
                found[row[key[0]], column[key[1]]] = value
        return found


@dataclass(frozen=True, slots=True)
class Rated:
    """People's ratings on one rubric: source x system x rater."""

    grid: Grid
    raters: tuple[str, ...]
    human: Floats

    @classmethod
    def of(cls, ratings: Mapping[Key, Mapping[str, float]]) -> Rated:
        import numpy as np

        grid = Grid.of(ratings)
        raters = tuple(dict.fromkeys(rater for given in ratings.values() for rater in given))
        layers = [grid.table({key: given.get(rater) for key, given in ratings.items()}) for rater in raters]
        return cls(grid, raters, np.stack(layers, axis=2))


def ratings_by_rubric(
    reader: RunReader, human: Ratings | None, where: str = ""
) -> dict[str, dict[Key, dict[str, float]]]:
    """Rubric -> item -> rater -> score: the run's own ratings, or those of a file. Off the scale is refused."""
    if human is None:
        rows = list(reader.ratings())
    else:
        rows = [
            (*key, rubric, rater, score)
            for key, rubrics in human.items()
            for rubric, given in rubrics.items()
            for rater, score in given.items()
        ]
    found: dict[str, dict[Key, dict[str, float]]] = {}
    off = [row for row in rows if not SCALE[0] <= row[4] <= SCALE[-1]]
    if off:
        id_, system, rubric, rater, score = off[0]
        raise SetupError(
            f"human ratings{where and f' of {where}'}: {len(off):,} of {len(rows):,} are off the scale "
            f"{SCALE[0]}-{SCALE[-1]}; the first is "
            f"{score:g} for id '{id_}', system '{system}', rubric '{rubric}', rater '{rater}'"
        )
    for id_, system, rubric, rater, score in rows:
        found.setdefault(rubric, {}).setdefault((id_, system), {})[rater] = score
    return found


def scores_of(reader: RunReader, summary: Summary, rubric: str) -> dict[str, dict[Key, float | None]]:
    """Every judge's scores on a rubric, and the jury's where there is one: the mean of its whole panel or nothing."""
    found: dict[str, dict[Key, float | None]] = {}
    for judge, id_, system, score in reader.scores(rubric):
        found.setdefault(judge, {})[id_, system] = score
    panel = () if summary.jury is None else summary.jury.panels.get(rubric, ())
    if summary.jury is not None and panel:
        found[summary.jury.judge] = _together([found.get(judge, {}) for judge in panel])
    return found


def _together(members: list[dict[Key, float | None]]) -> dict[Key, float | None]:
    together: dict[Key, float | None] = {}
    for key in dict.fromkeys(key for scores in members for key in scores):
        given = [scores.get(key) for scores in members]
        known = [score for score in given if score is not None]
        together[key] = sum(known) / len(known) if len(known) == len(given) else None
    return together


def chosen_judge(summary: Summary, judge: str | None) -> str:
    """The judge asked about: the named one, or whom the run is about."""
    if judge is None:
        return summary.main.judge
    if judge == JURY and summary.jury is not None:
        return summary.jury.judge
    known = [one.judge for one in summary.judges] + ([] if summary.jury is None else [JURY, summary.jury.judge])
    if judge not in known:
        raise SetupError(f"--judge: {unknown_name('judge', judge, known)}")
    return judge


@dataclass(frozen=True, slots=True)
class Facts:
    """What trivial judges know of an item: words, and the scores 1-5 of the baselines that read nothing but it."""

    words: dict[Key, float]
    length: dict[Key, float | None]
    rouge: dict[Key, float | None]
    rouge_l: dict[Key, float | None]

    @classmethod
    def of(cls, reader: RunReader, keys: Iterable[Key]) -> Facts:
        rubric, facts = Rubric("any", "any"), cls({}, {}, {}, {})
        length, rouge, rouge_l = (BASELINES[name](f"baseline/{name}") for name in ("length", "rouge", "rouge-l"))
        for key in keys:
            item = _item(reader, key)
            facts.words[key] = float(len(item.summary.split()))
            facts.length[key] = length.verdict(item, rubric).score
            facts.rouge[key] = rouge.verdict(item, rubric).score
            facts.rouge_l[key] = rouge_l.verdict(item, rubric).score
        return facts


def _item(reader: RunReader, key: Key) -> Item:
    """The item as it was judged; reviews are words again, so that ROUGE does not read the names of their fields."""
    found = reader.item(*key)
    source = dict(found["source"])
    if isinstance(source.get("reviews"), list):
        source["reviews"] = [
            Review(review["text"], review.get("rating")) if isinstance(review, Mapping) else review
            for review in source["reviews"]
        ]
    return Item(*key, found["summary"], source)


def system_identity(human: Floats) -> Floats:
    """Source x system: the mean rating of the system's summaries of the other sources; nan where it has none."""
    import numpy as np

    known = ~np.isnan(human)
    total, count = np.nansum(human, axis=0) - np.nan_to_num(human), known.sum(axis=0) - known
    return np.asarray(np.divide(total, count, out=np.full(human.shape, np.nan), where=count > 0))
