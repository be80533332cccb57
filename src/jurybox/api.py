"""jurybox from Python: each command's function under the command's own name.

Async once: `aevaluate` does the work, `evaluate` is its synchronous door.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from jurybox import __version__
from jurybox.data import Dataset, PairedDataset, read_ratings
from jurybox.errors import JudgeSpecError, SetupError, StoreError, unknown_name
from jurybox.judges import Judge, Settings, make_judge
from jurybox.prompts import Sheet, duel_sheets, sheets
from jurybox.report import (
    JURY_COMBINES,
    Duels,
    JuryCombine,
    Summary,
    export_rows,
    export_run,
    holds_duels,
    summarise,
    summarise_duels,
)
from jurybox.rubrics import load
from jurybox.runner import (
    LEAST_SAMPLES,
    LONGS,
    MOST_SAMPLES,
    TARGET_SE,
    Job,
    Limits,
    Long,
    Patience,
    Plan,
    Progress,
    Tally,
    Until,
    execute,
    make_plan,
)
from jurybox.stats import COMBINES, Combine
from jurybox.store import EarlierReplies, ReplyCache, RunFile, RunReader, default_path
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

    def show(self, *, combine: Combine = "mean", jury: JuryCombine = "mean") -> Summary:
        return show(self.path, combine=combine, jury=jury)

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
    reasons: bool = False,
    samples: int | Literal["auto"] = 1,
    target_se: float = TARGET_SE,
    max_samples: int = MOST_SAMPLES,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    base_url: str | None = None,
    price: tuple[float, float] | None = None,
    threads: int | None = None,
    context: int | None = None,
    report: Callable[[str, int, int], None] | None = None,
    concurrency: int = 16,
    rpm: float | None = None,
    tpm: float | None = None,
    max_cost: float | None = None,
    long: Long = "refuse",
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
    numbers = {"concurrency": concurrency, "limit": limit, "threads": threads, "context": context}
    _refuse_odd_numbers({**numbers, "samples": None if samples == "auto" else samples})
    _refuse_odd_amounts({"rpm": rpm, "tpm": tpm, "max-cost": max_cost, "target-se": target_se})
    _refuse_unknown_choice("long", long, LONGS)
    if not 0 <= temperature <= 2:
        raise SetupError(f"--temperature {temperature:g}: should be between 0 and 2")
    specs = [judge] if isinstance(judge, str) else list(judge)
    if len(set(specs)) != len(specs):
        raise SetupError("a judge is named twice; --judge takes each one once")
    settings = Settings(base_url, price, _replies, threads, context, report)
    judges = tuple(_with_context(make_judge(spec, settings), context) for spec in specs)
    asked = _sheets(data, find_rubrics(rubrics), layout, answer, reasons, judges)
    ratings = None if human is None else read_ratings(Path(human))
    return Job(
        data=data if isinstance(data, PairedDataset) else Dataset(data, columns=columns, ratings=ratings, limit=limit),
        sheets=asked,
        judges=_paired(judges) if isinstance(data, PairedDataset) else judges,
        sampling=Sampling(temperature, max_tokens, seed),
        samples=_rule(samples, target_se, max_samples),
        limits=Limits(concurrency, rpm, tpm, max_cost),
        long=long,
        patience=Patience(retries=retries, reasks=reasks, deadline=deadline),
    )


def _with_context(judge: Judge, context: int | None) -> Judge:
    """What a person says of a server's context comes before what a table says."""
    if context is not None and not judge.computed and not judge.in_process:
        judge.context = context
    return judge


def _sheets(
    data: Data,
    rubrics: Sequence[Rubric],
    layout: Layout | None,
    answer: Answer | None,
    reasons: bool,
    judges: Sequence[Judge],
) -> tuple[Sheet, ...]:
    wish = _wished_layout(judges)
    if isinstance(data, PairedDataset):
        return duel_sheets(rubrics, layout, answer, otherwise=wish)
    asked = sheets(rubrics, layout, answer, otherwise=wish, reasoned=reasons)
    _refuse_unknown_answers(judges, asked)
    return asked


def _paired(judges: Sequence[Judge]) -> tuple[Judge, ...]:
    """Judges for duels: those that compute scores compare them."""
    from jurybox.judges.paired import Paired

    return tuple(Paired(judge) if judge.computed else judge for judge in judges)


def find_rubrics(wanted: str | Sequence[str | Rubric]) -> tuple[Rubric, ...]:
    """Rubrics by name, pack or path (separated by commas in one text), or as they are."""
    if isinstance(wanted, str):
        wanted = wanted.split(",")
    named = load([word for word in wanted if isinstance(word, str)]) if any(isinstance(w, str) for w in wanted) else ()
    return (*named, *(rubric for rubric in wanted if isinstance(rubric, Rubric)))


def _refuse_odd_numbers(numbers: Mapping[str, int | None]) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise SetupError(f"--{name} {number}: should be 1 or more")


def _refuse_odd_amounts(amounts: Mapping[str, float | None]) -> None:
    for name, amount in amounts.items():
        if amount is not None and not amount > 0:
            raise SetupError(f"--{name} {amount:g}: should be more than 0")


def _rule(samples: int | Literal["auto"], target_se: float, max_samples: int) -> int | Until:
    if samples != "auto":
        return samples
    if max_samples < LEAST_SAMPLES:
        raise SetupError(f"--max-samples {max_samples}: should be {LEAST_SAMPLES} or more: so many are taken at least")
    return Until(target_se, most=max_samples)


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
            if sheet.reasoned and judge.in_process:
                raise JudgeSpecError(
                    f"--judge {judge.spec} gives a digit without reasons only; use --answer tag for both"
                )


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
    cache: str | Path | bool = True,
    batch: bool = False,
    **options: Any,
) -> Run:
    """Judge every item on every rubric into one run file; what the file already has is not asked again.

    `cache` is where replies are kept across runs: True for the user's own, False for nowhere.
    """
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    fresh = not path.exists()
    store = RunFile(path)
    try:
        _refuse_mixing(path, duels=isinstance(data, PairedDataset))
        with _opened(cache, job) as replies:
            tally = await execute(
                job, store, progress=progress, stop=stop, cache=replies, batch=batch, version=__version__
            )
    except SetupError:
        store.close()
        if fresh:
            _remove_empty(path)
        raise
    finally:
        store.close()
    return Run(path, tally)


@contextmanager
def _opened(cache: str | Path | bool, job: Job) -> Iterator[ReplyCache | None]:
    """The cache of replies, for as long as it is needed; only a cache that a person named must work."""
    if cache is False or not any(judge.cached for judge in job.judges):
        yield None
        return
    try:
        replies = ReplyCache(default_path() if cache is True else Path(cache))
    except StoreError:
        if cache is not True:
            raise
        yield None
        return
    try:
        yield replies
    finally:
        replies.close()


def evaluate(
    data: Data, *, rubrics: str | Sequence[str | Rubric], judge: str | Sequence[str] = DEFAULT_JUDGE, **options: Any
) -> Run:
    """`aevaluate` for code without an event loop."""
    return asyncio.run(aevaluate(data, rubrics=rubrics, judge=judge, **options))


def default_out(data: Data, kind: str = "run") -> Path:
    """Where a run goes when nobody says: beside you, named after the data, so that the same command goes on."""
    if isinstance(data, str | Path) and data != "-":
        return Path(f"{Path(data).stem}.{kind}.db")
    return Path(f"jurybox.{kind}.db")


def _refuse_mixing(path: Path, *, duels: bool) -> None:
    """One run file holds scores or duels: the same column would mean two things."""
    with RunReader(path) as reader:
        kinds = {signature.is_duel for signature in reader.signatures().values()}
    if kinds - {duels}:
        held, now = ("scores", "duels") if duels else ("duels", "scores")
        raise StoreError(f"{path}: holds {held}, and now {now} are asked for; give another --out")


def _remove_empty(path: Path) -> None:
    """Wrong input leaves nothing behind: the file was made for a run that never began."""
    try:
        with RunReader(path) as reader:
            spent = reader.spent()
            if spent["calls"] or spent["reused"]:
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
    cache: str | Path | bool = True,
    batch: bool = False,
    **options: Any,
) -> Plan:
    """What `evaluate` with the same arguments would ask and cost; sends nothing, writes nothing."""
    job = make_job(data, rubrics, judge, **options)
    path = default_out(data) if out is None else Path(out)
    with _opened(cache, job) as replies, nullcontext() if not path.exists() else RunReader(path) as earlier:
        return make_plan(job, earlier, replies)


def show(run: str | Path | Run, *, combine: Combine = "mean", jury: JuryCombine = "mean") -> Summary:
    """Systems x rubrics of a run: mean, interval, n, unscored; `combine` is of samples, `jury` of judges."""
    _refuse_unknown_choice("combine", combine, COMBINES)
    _refuse_unknown_choice("jury", jury, JURY_COMBINES)
    with RunReader(_path(run)) as reader:
        if holds_duels(reader):
            raise StoreError(
                f"{reader.path}: holds duels, which are no scores of a system; the `jurybox duel` command that made it "
                "shows them and asks nothing twice, `jurybox export` writes every answer"
            )
        return summarise(reader, combine, jury)


def _refuse_unknown_choice(option: str, choice: str, known: Sequence[str]) -> None:
    if choice not in known:
        raise SetupError(f"--{option}: {unknown_name(option, choice, known)}")


async def aduel(
    data: Data,
    systems: Sequence[str],
    *,
    rubrics: str | Sequence[str | Rubric],
    judge: str | Sequence[str] = DEFAULT_JUDGE,
    out: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    **options: Any,
) -> Duels:
    """Which of two systems' summaries is better, for every pair of `systems`, in both orders; `limit` is of sources."""
    refuse_beside_duels(options)
    pairs = PairedDataset(Dataset(data, columns=columns), systems, limit)
    path = default_out(data, "duel") if out is None else out
    run = await aevaluate(pairs, rubrics=rubrics, judge=judge, out=path, **options)
    return show_duels(run, pairs)


def duel(data: Data, systems: Sequence[str], *, rubrics: str | Sequence[str | Rubric], **options: Any) -> Duels:
    """`aduel` for code without an event loop."""
    return asyncio.run(aduel(data, systems, rubrics=rubrics, **options))


def refuse_beside_duels(options: Mapping[str, Any]) -> None:
    """What means something for one summary alone."""
    if options.get("human") is not None:
        raise SetupError("--human: ratings are of one summary, and a duel is between two; leave it out")
    if options.get("long") == "extract":
        raise SetupError("--long extract: picks passages for one summary, which would favour it; use --long sample")


def show_duels(run: str | Path | Run, pairs: PairedDataset | None = None) -> Duels:
    """Who beat whom in a file of duels; `pairs` knows the systems asked about and what their data lacks."""
    with RunReader(_path(run)) as reader:
        if not holds_duels(reader):
            raise StoreError(f"{reader.path}: holds no duels; `jurybox show {reader.path}` shows its scores")
        return summarise_duels(reader) if pairs is None else summarise_duels(reader, pairs.systems, pairs.missing)


def export(run: str | Path | Run, to: str | Path) -> int:
    """Every judgment to a Parquet, CSV or JSONL file; returns how many."""
    with RunReader(_path(run)) as reader:
        return export_run(reader, Path(to))


def _path(run: str | Path | Run) -> Path:
    return run.path if isinstance(run, Run) else Path(run)
