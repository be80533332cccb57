"""jurybox from Python: each command's function under the command's own name.

Async once: `aevaluate` does the work, `evaluate` is its synchronous door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jurybox import __version__
from jurybox.data import Dataset, read_ratings
from jurybox.errors import JudgeSpecError, SetupError, StoreError
from jurybox.judges import Judge, Settings, make_judge
from jurybox.prompts import Sheet, sheets
from jurybox.report import Summary, export_rows, export_run, summarise
from jurybox.rubrics import load
from jurybox.runner import Job, Patience, Plan, Progress, Tally, execute, make_plan
from jurybox.store import EarlierReplies, RunFile, RunReader
from jurybox.types import Answer, Item, Judgment, Layout, Rubric, Sampling

if TYPE_CHECKING:
    import pandas
    import polars

Data = str | Path | Iterable[Mapping[str, Any] | Item]
DEFAULT_JUDGE = "embedded"
# With several samples, some variety is the point of taking them.
TEMPERATURE_WHEN_SAMPLING = 0.7


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

    def show(self) -> Summary:
        return show(self.path)

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


def make_job(
    data: Data,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    *,
    layout: Layout | None = None,
    answer: Answer | None = None,
    samples: int = 1,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    base_url: str | None = None,
    price: tuple[float, float] | None = None,
    threads: int | None = None,
    context: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
    concurrency: int = 16,
    retries: int = 6,
    reasks: int = 2,
    deadline: float = 300.0,
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    human: str | Path | None = None,
) -> Job:
    """Everything a run is asked to do, checked as far as it can be without reading the data."""
    if temperature is None:
        temperature = 0.0 if samples == 1 else TEMPERATURE_WHEN_SAMPLING
    _refuse_odd_numbers(samples=samples, concurrency=concurrency, limit=limit, threads=threads, context=context)
    if not 0 <= temperature <= 2:
        raise SetupError(f"--temperature {temperature:g}: should be between 0 and 2")
    specs = [judge] if isinstance(judge, str) else list(judge)
    if len(set(specs)) != len(specs):
        raise SetupError("a judge is named twice; --judge takes each one once")
    settings = Settings(base_url, price, _replies, threads, context, report)
    judges = tuple(make_judge(spec, settings) for spec in specs)
    asked = sheets(find_rubrics(rubrics), layout, answer, otherwise=_wished_layout(judges))
    _refuse_unknown_answers(judges, asked)
    ratings = None if human is None else read_ratings(Path(human))
    return Job(
        data=Dataset(data, columns=columns, ratings=ratings, limit=limit),
        sheets=asked,
        judges=judges,
        sampling=Sampling(temperature, max_tokens, seed),
        samples=samples,
        concurrency=concurrency,
        patience=Patience(retries=retries, reasks=reasks, deadline=deadline),
    )


def find_rubrics(wanted: str | Sequence[str | Rubric]) -> tuple[Rubric, ...]:
    """Rubrics by name, pack or path (separated by commas in one text), or as they are."""
    if isinstance(wanted, str):
        wanted = wanted.split(",")
    named = load([word for word in wanted if isinstance(word, str)]) if any(isinstance(w, str) for w in wanted) else ()
    return (*named, *(rubric for rubric in wanted if isinstance(rubric, Rubric)))


def _refuse_odd_numbers(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise SetupError(f"--{name} {number}: should be 1 or more")


def _wished_layout(judges: Sequence[Judge]) -> Layout:
    """What the prompted judges agree on. They are all asked the same sheets, so where they differ it is `classic`."""
    wishes = {judge.preferred_layout for judge in judges if not judge.computed}
    return (wishes.pop() if len(wishes) == 1 else None) or "classic"


def _refuse_unknown_answers(judges: Sequence[Judge], asked: Sequence[Sheet]) -> None:
    for judge in judges:
        for sheet in asked:
            if not judge.computed and sheet.answer not in judge.answers:
                known = "|".join(sorted(judge.answers))
                raise JudgeSpecError(f"--judge {judge.spec} cannot answer by {sheet.answer}; use --answer {known}")


def _replies(path: str) -> EarlierReplies:
    """The replies of an earlier run, for `replay/RUN.db` or `replay/RUN.db#JUDGE`."""
    file, _, judge = path.partition("#")
    return EarlierReplies(file, judge or None)


async def aevaluate(
    data: Data,
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    progress: Progress | None = None,
    stop: asyncio.Event | None = None,
    **options: Any,
) -> Run:
    """Judge every item on every rubric into one run file; what the file already has is not asked again."""
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    fresh = not path.exists()
    store = RunFile(path)
    try:
        tally = await execute(job, store, progress=progress, stop=stop, version=__version__)
    except SetupError:
        store.close()
        if fresh:
            _remove_empty(path)
        raise
    finally:
        store.close()
    return Run(path, tally)


def evaluate(
    data: Data, *, rubrics: str | Sequence[str | Rubric], judge: str | Sequence[str] = DEFAULT_JUDGE, **options: Any
) -> Run:
    """`aevaluate` for code without an event loop."""
    return asyncio.run(aevaluate(data, rubrics=rubrics, judge=judge, **options))


def default_out(data: Data) -> Path:
    """Where a run goes when nobody says: beside you, named after the data, so that the same command goes on."""
    if isinstance(data, str | Path) and data != "-":
        return Path(Path(data).stem + ".run.db")
    return Path("jurybox.run.db")


def _remove_empty(path: Path) -> None:
    """Wrong input leaves nothing behind: the file was made for a run that never began."""
    try:
        with RunReader(path) as reader:
            if reader.spent()["calls"]:
                return
    except StoreError:
        return
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def plan(
    data: Data,
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    **options: Any,
) -> Plan:
    """What `evaluate` with the same arguments would ask and cost; sends nothing, writes nothing."""
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    if not path.exists():
        return make_plan(job)
    with RunReader(path) as earlier:
        return make_plan(job, earlier)


def show(run: str | Path | Run) -> Summary:
    """Systems x rubrics of a run: mean, interval, n, unscored."""
    with RunReader(_path(run)) as reader:
        return summarise(reader)


def export(run: str | Path | Run, to: str | Path) -> int:
    """Every judgment to a Parquet, CSV or JSONL file; returns how many."""
    with RunReader(_path(run)) as reader:
        return export_run(reader, Path(to))


def _path(run: str | Path | Run) -> Path:
    return run.path if isinstance(run, Run) else Path(run)
