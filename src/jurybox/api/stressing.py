"""`stress`: good summaries are changed on purpose; does the judge notice what matters, and nothing else?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jurybox.api.jobs import DEFAULT_JUDGE, Data, find_rubrics
from jurybox.api.judging import aevaluate, default_out
from jurybox.api.looking import Run, path_of
from jurybox.data import Dataset, read_ratings
from jurybox.errors import DataError, SetupError, StoreError, unknown_name
from jurybox.perturb.change import Kind
from jurybox.perturb.choosing import choose
from jurybox.perturb.exam import Arsenal, Exam, exam_of, is_trial, make_exam
from jurybox.report.stress import Claims, Stress, stress_report
from jurybox.report.stress_compare import StressComparison, compare_stress
from jurybox.rubrics import builtin
from jurybox.store import RunReader
from jurybox.types import Item, Rubric

ITEMS = 20
SEED = 0


@dataclass(frozen=True, slots=True)
class Stressing:
    """An exam that is ready to be judged: its items, the rubrics to ask, where the answers go."""

    exam: Exam
    rubrics: tuple[Rubric, ...]
    out: Path

    @property
    def items(self) -> list[Item]:
        return [trial.item for trial in self.exam.trials]

    @property
    def undamaged(self) -> list[str]:
        """The rubrics that no damage in it must hurt: they get no grade, whatever is paid for it."""
        damage = _claims().damage
        made = {trial.kind for trial in self.exam.trials if trial.role == "damage"}
        hurt = {name for kind in made for name in damage[kind].hurts}
        return [rubric.name for rubric in self.rubrics if rubric.name not in hurt]

    def report(self, run: str | Path | Run, judges: str | Sequence[str]) -> Stress:
        """What the judges said of it."""
        specs = [judges] if isinstance(judges, str) else list(judges)
        targets = {rubric.name: rubric.target for rubric in self.rubrics}
        with RunReader(path_of(run)) as reader:
            return stress_report(reader, self.exam, _claims(), targets, specs)


def prepare_stress(
    data: Data,
    rubrics: str | Sequence[str | Rubric],
    *,
    items: int = ITEMS,
    systems: Sequence[str] = (),
    kinds: str | Sequence[str] | None = None,
    attacks: bool = True,
    seed: int = SEED,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    human: str | Path | None = None,
    limit: int | None = None,
) -> Stressing:
    """Choose good summaries and change them; asks nobody. The arguments are those of `stress`."""
    if items < 1:
        raise SetupError(f"--items {items}: should be 1 or more")
    asked = find_rubrics(rubrics)
    targets = {rubric.name: rubric.target for rubric in asked}
    arsenal = _arsenal(targets, kinds, attacks)
    ratings = None if human is None else read_ratings(Path(human))
    dataset = Dataset(data, columns=columns, ratings=ratings, limit=limit)
    dataset.check(asked)
    every = list(dataset)
    good, chosen = choose(_by_systems(dataset.name, every, systems), items, seed, targets)
    if systems:
        chosen = f"summaries by {', '.join(systems)}"
    _refuse_few(dataset.name, every)
    path = default_out(data, "stress") if out is None else Path(out)
    _refuse_ordinary(path)
    exam = make_exam(good, every, arsenal, seed=seed, chosen=chosen)
    if not any(trial.role == "damage" for trial in exam.trials):
        raise DataError(dataset.name, None, "no kind of damage finds an honest place in any of these summaries")
    return Stressing(exam, asked, path)


async def astress(
    data: Data,
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    items: int = ITEMS,
    systems: Sequence[str] = (),
    kinds: str | Sequence[str] | None = None,
    attacks: bool = True,
    seed: int = SEED,
    judge_seed: int | None = None,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    human: str | Path | None = None,
    limit: int | None = None,
    **options: Any,
) -> Stress:
    """Damage up to `items` good summaries in controlled ways, ask the judge, and say what it notices and what not.

    `systems` are whose summaries are good enough to be damaged, `kinds` the kinds of damage (all unless named). `seed`
    decides what is changed where; `judge_seed` is what `evaluate` calls `seed`. Other options are those of `evaluate`.
    """
    if options.get("engine", "local") != "local":
        raise SetupError("stress: an exam of a few thousand calls needs no cluster; leave out engine")
    ready = prepare_stress(
        data,
        rubrics,
        items=items,
        systems=systems,
        kinds=kinds,
        attacks=attacks,
        seed=seed,
        out=out,
        columns=columns,
        human=human,
        limit=limit,
    )
    run = await aevaluate(ready.items, rubrics=ready.rubrics, judge=judge, out=ready.out, seed=judge_seed, **options)
    return ready.report(run, judge)


def stress(
    data: Data, *, rubrics: str | Sequence[str | Rubric], judge: str | Sequence[str] = DEFAULT_JUDGE, **options: Any
) -> Stress:
    """`astress` for code without an event loop: does the judge notice damage, and nothing else?"""
    return asyncio.run(astress(data, rubrics=rubrics, judge=judge, **options))


def show_stress(run: str | Path | Run) -> Stress:
    """The report of an exam that a run file holds, for every rubric and judge in it."""
    with RunReader(path_of(run)) as reader:
        signatures = reader.signatures()
        keys = {(id_, system): None for rubric, _ in signatures for _, id_, system, _ in reader.scores(rubric)}
        exam = exam_of(Item(*key, **reader.item(*key)) for key in keys)
        if not exam.trials:
            raise StoreError(f"{reader.path}: holds no exam; `jurybox stress` makes one")
        best = {**{name: rubric.target for name, rubric in builtin().items()}, **exam.targets}
        if strange := [rubric for rubric, _ in signatures if rubric not in best]:
            raise StoreError(
                f"{reader.path}: nothing here says which end of '{strange[0]}' is best; the `jurybox stress` command "
                "that made it shows it and asks nothing twice"
            )
        targets = {rubric: best[rubric] for rubric, _ in signatures}
        return stress_report(reader, exam, _claims(), targets, list(dict.fromkeys(judge for _, judge in signatures)))


def compare_stress_files(first: str | Path, second: str | Path) -> StressComparison:
    """Two documents of `stress --json` side by side."""
    return compare_stress(stress_document(first), stress_document(second), (str(first), str(second)))


def stress_document(path: str | Path) -> Any:
    """What `jurybox stress --json` printed into a file."""
    import orjson

    try:
        return orjson.loads(Path(path).read_bytes())
    except OSError as exc:
        raise SetupError(
            f"{path}: cannot be read: {exc.strerror or exc}; it should be a file of `stress --json`"
        ) from exc
    except orjson.JSONDecodeError as exc:
        raise SetupError(f"{path}: is no JSON ({exc}); it should be what `jurybox stress --json` prints") from exc


def _arsenal(targets: Mapping[str, int], kinds: str | Sequence[str] | None, attacks: bool) -> Arsenal:
    from jurybox.perturb.attacks import ATTACKS, PLACES, attack
    from jurybox.perturb.damages import DAMAGE
    from jurybox.perturb.harmless import HARMLESS

    families: dict[str, list[str]] = {}
    for entry in ATTACKS.values() if attacks else ():
        families.setdefault(entry.family, []).append(entry.name)
    damage, harmless = _telling(_named(DAMAGE, kinds), targets), _telling(HARMLESS, targets)
    # Whatever is asked, what is attacked stays the same text: other rubrics may be asked later into the same file.
    return Arsenal(targets, damage, harmless, families, tuple(PLACES), attack, ruin=DAMAGE)


def _named(known: Sequence[Kind], wanted: str | Sequence[str] | None) -> list[Kind]:
    if wanted is None:
        return list(known)
    names = [name.strip() for name in wanted.split(",")] if isinstance(wanted, str) else list(wanted)
    by_name = {kind.name: kind for kind in known}
    for name in names:
        if name not in by_name:
            raise SetupError(f"--kinds: {unknown_name('kind of damage', name, by_name)}")
    return [kind for kind in known if kind.name in names]


def _telling(kinds: Sequence[Kind], rubrics: Mapping[str, int]) -> Sequence[Kind]:
    """Kinds that claim something of a rubric that is asked; all of them where a rubric is a person's own."""
    claims = {kind.name: {*kind.hurts, *kind.spares} for kind in kinds}
    if not set(builtin()) >= set(rubrics):
        return kinds
    return [kind for kind in kinds if claims[kind.name] & set(rubrics)]


def _claims() -> Claims:
    from jurybox.perturb.damages import DAMAGE
    from jurybox.perturb.harmless import HARMLESS

    return Claims({kind.name: kind for kind in DAMAGE}, {kind.name: kind for kind in HARMLESS})


def _by_systems(name: str, items: Sequence[Item], systems: Sequence[str]) -> Sequence[Item]:
    known = dict.fromkeys(item.system for item in items)
    for system in systems:
        if system not in known:
            raise SetupError(f"{name}: {unknown_name('system', system, known)}")
    return [item for item in items if item.system in systems] if systems else items


def _refuse_few(name: str, items: Sequence[Item]) -> None:
    if len({item.id for item in items}) < 2:
        raise DataError(
            name,
            None,
            "has one source only; stress needs two or more: some damage borrows from another, and intervals are over "
            "sources",
        )


def _refuse_ordinary(path: Path) -> None:
    """A file of ordinary judgments stays one: its tables would otherwise be full of damaged summaries."""
    if not path.exists():
        return
    with RunReader(path) as reader:
        if not all(is_trial(system) for system in reader.systems()):
            raise StoreError(
                f"{path}: holds an ordinary run, and now trials of `stress` are asked for; use another --out"
            )
