"""What does hardening the prompt cost on clean data? The mean score may not move by more than 0.05.

    python bench/hardening.py [--items 40] [--minutes M] [--model smollm2-135m-instruct] [--layout L] [--json FILE]

A real llama.cpp model judges the same unattacked items twice, answer `digit`: with the prompt as jurybox sends it (a
notice that judged text is data, fences with a mark) and with a bare one made from it (no notice, plain labels where the
fences stood). Nothing else differs. The shift is hardened minus bare, with an interval over sources.

A small model puts most of its probability on words, where jurybox rightly gives no score. The shift is therefore that
of the expected score among the five steps, whatever their share; `scored` says how many answers jurybox would take.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from jurybox.data import Dataset
from jurybox.fields import FIELDS
from jurybox.judges import Judge, Settings, make_judge
from jurybox.parsing import read
from jurybox.prompts import Sheet, render, sheets
from jurybox.prompts.fences import fenced
from jurybox.prompts.wording import DATA_NOTICE
from jurybox.rubrics import load
from jurybox.stats.clusters import clustered_mean
from jurybox.types import SCALE, Estimate, Item, Layout, Prompt, Question

PACK = "product-opinion"
DEVELOPMENT = Path(__file__).parent.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"
MOST_SHIFT = 0.05
WIDEST = float(SCALE[-1] - SCALE[0])
TITLES = {name: field.title for name, field in FIELDS.items()} | {"summary": "Summary"}

Variant = Literal["hardened", "bare"]
VARIANTS: tuple[Variant, Variant] = ("hardened", "bare")


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer: the expected score among the steps (None without any probability), and whether jurybox takes it."""

    expected: float | None
    scored: bool


# For one item and rubric its source and both answers.
Row = tuple[str, Mapping[Variant, Answered]]


def bare(prompt: Prompt, sheet: Sheet, item: Item) -> Prompt:
    """The prompt without notice and fences. The mark occurs nowhere else, so nothing but ours is taken away."""
    mark, _, _ = fenced(sheet.fields, item.source, item.summary)
    notice = f"{DATA_NOTICE.format(mark=mark)}\n\n"
    if prompt.user.count(notice) != 1:
        raise SystemExit("the notice is not where this bench looks for it: jurybox renders otherwise now")
    user = prompt.user.replace(notice, "")
    user = re.sub(rf"<(\w+)-{mark}>\n", lambda fence: f"{TITLES[fence[1]]}:\n", user)
    user = re.sub(rf"\n</\w+-{mark}>", "\n", user)
    if mark in user:
        raise SystemExit("a fence is not where this bench looks for it: jurybox renders otherwise now")
    return replace(prompt, user=user, shared=0)


def chosen(count: int) -> list[Item]:
    """So many items, spread over sources and systems: one of each source in turn, another system every time."""
    by_source: dict[str, list[Item]] = {}
    for item in Dataset(str(DEVELOPMENT)):
        by_source.setdefault(item.id, []).append(item)
    taken: list[Item] = []
    for turn in range(max(map(len, by_source.values()))):
        for number, items in enumerate(by_source.values()):
            if turn < len(items):
                taken.append(items[(number * 5 + turn) % len(items)])
    return taken[:count]


async def judged(judge: Judge, items: Sequence[Item], asked: Sequence[Sheet], minutes: float) -> dict[str, list[Row]]:
    """The rows of every rubric. Calls about one item and variant follow each other: they share what the model has read.
    When the time is over, the items that are left are left out whole."""
    rows: dict[str, list[Row]] = {sheet.rubrics[0].name: [] for sheet in asked}
    started = time.perf_counter()
    for number, item in enumerate(items, 1):
        found = {variant: [await answered(judge, item, sheet, variant) for sheet in asked] for variant in VARIANTS}
        for place, sheet in enumerate(asked):
            rows[sheet.rubrics[0].name].append((item.id, {variant: found[variant][place] for variant in VARIANTS}))
        seconds = time.perf_counter() - started
        print(f"\r{number} of {len(items)} items, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
        if seconds > 60 * minutes:
            break
    print(file=sys.stderr)
    await judge.close()
    return rows


async def answered(judge: Judge, item: Item, sheet: Sheet, variant: Variant) -> Answered:
    prompt = render(sheet, item)
    shown = prompt if variant == "hardened" else bare(prompt, sheet, item)
    reply = await judge.ask(Question(item, sheet.rubrics, shown, sheet.answer))
    (verdict,) = read(reply, sheet.rubrics, sheet.answer).values()
    scale = reply.scale or {}
    mass = sum(scale.values())
    expected = sum(step * probability for step, probability in scale.items()) / mass if mass else None
    return Answered(expected, verdict.status == "scored")


def shift(rows: Sequence[Row]) -> Estimate:
    """Mean of hardened - bare over the pairs that have both; the interval is over sources."""
    found = [
        (source, hardened - plain)
        for source, answers in rows
        if (hardened := answers["hardened"].expected) is not None and (plain := answers["bare"].expected) is not None
    ]
    _, sources = np.unique([source for source, _ in found], return_inverse=True)
    values = np.array([difference for _, difference in found], dtype=np.float64)
    lost = len(rows) - len(found)
    return clustered_mean(values, np.asarray(sources, dtype=np.intp), lost, (-WIDEST, WIDEST), "mean shift")


def line(name: str, rows: Sequence[Row], found: Estimate) -> str:
    """One rubric: the mean of either variant, the shift with its interval and n, and how many answers are scores."""
    means = []
    for variant in ("bare", "hardened"):
        values = [value for _, answers in rows if (value := answers[variant].expected) is not None]
        means.append(f"{sum(values) / len(values):.3f}" if values else "-")
    moved = "-" if found.value is None else f"{found.value:+.3f}"
    ends = "-" if found.low is None or found.high is None else f"{found.low:+.3f} to {found.high:+.3f}"
    scored = "/".join(str(sum(answers[variant].scored for _, answers in rows)) for variant in ("bare", "hardened"))
    return f"{name:<22}{means[0]:>6}{means[1]:>10}{moved:>8}{ends:>18}{found.n:>5}{scored:>9}"


def ruling(found: Estimate) -> str:
    """Kept or broken only where the whole interval says so."""
    if found.value is None or found.low is None or found.high is None:
        return "nothing can be said without an interval"
    measured = f"{found.value:+.3f} was measured"
    if max(abs(found.low), abs(found.high)) <= MOST_SHIFT:
        return f"{measured}: kept"
    if min(abs(found.low), abs(found.high)) > MOST_SHIFT and found.low * found.high > 0:
        return f"{measured}: NOT kept"
    return f"{measured}: {'within' if abs(found.value) <= MOST_SHIFT else 'above'} it, but the interval leaves it open"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the first items")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no further item after so long")
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a language model of `jurybox models list`")
    parser.add_argument("--layout", choices=("shared", "classic"), default="shared")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    if not DEVELOPMENT.exists():
        raise SystemExit(f"this bench judges {DEVELOPMENT}, which is not here")
    layout: Layout = options.layout
    items, asked = chosen(options.skip + options.items)[options.skip :], sheets(load([PACK]), layout, "digit")
    judge = make_judge(f"local/{options.model}", Settings())
    rows = asyncio.run(judged(judge, items, asked, options.minutes))
    done = len(next(iter(rows.values())))
    print(f"{options.model}, {done} clean items x {len(asked)} rubrics, layout {layout}, answer digit\n")
    print(f"{'rubric':<22}{'bare':>6}{'hardened':>10}{'shift':>8}{'95 % interval':>18}{'n':>5}{'scored':>9}")
    rows["all"] = [row for found in rows.values() for row in found]
    shifts = {name: shift(found) for name, found in rows.items()}
    print("\n".join(line(name, found, shifts[name]) for name, found in rows.items()))
    print(f"\nallowed: a mean shift of {MOST_SHIFT} at most; {ruling(shifts['all'])}")
    if options.json:
        figures = {name: found.as_dict() for name, found in shifts.items()}
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
