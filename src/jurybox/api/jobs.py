"""What a run is asked to do, from the words of its options to a `Job`; everything that can be refused early is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from jurybox.data import Dataset, FileSet, PairedDataset, Ratings, is_several, read_ratings
from jurybox.errors import JudgeSpecError, SetupError, refuse_unknown_choice
from jurybox.judges import Judge, Settings, make_judge
from jurybox.prompts import Sheet, duel_sheets, sheets
from jurybox.rubrics import load
from jurybox.runner import LEAST_SAMPLES, LONGS, MOST_SAMPLES, TARGET_SE, Job, Limits, Long, Patience, Until
from jurybox.store import EarlierReplies
from jurybox.types import Answer, Item, Layout, Rubric, Sampling

Data = str | Path | Iterable[Mapping[str, Any] | Item]
DEFAULT_JUDGE = "embedded"
# With several samples, some variety is the point of taking them.
TEMPERATURE_WHEN_SAMPLING = 0.7


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
    refuse_unknown_choice("long", long, LONGS)
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
        data=_dataset(data, columns, ratings, limit),
        sheets=asked,
        judges=_paired(judges) if isinstance(data, PairedDataset) else judges,
        sampling=Sampling(temperature, max_tokens, seed),
        samples=_rule(samples, target_se, max_samples),
        limits=Limits(concurrency, rpm, tpm, max_cost),
        long=long,
        patience=Patience(retries=retries, reasks=reasks, deadline=deadline),
    )


def _dataset(data: Data, columns: Mapping[str, str] | None, ratings: Ratings | None, limit: int | None) -> Dataset:
    if isinstance(data, PairedDataset):
        return data
    if is_several(data):
        return FileSet(str(data), columns=columns, ratings=ratings, limit=limit)
    return Dataset(data, columns=columns, ratings=ratings, limit=limit)


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
    from jurybox.api.looking import path_of

    file, _, judge = path.partition("#")
    return EarlierReplies(path_of(file), judge or None)
