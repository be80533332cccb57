"""How many prompt tokens does layout `shared` spare? The seven product rubrics on one item, a real llama.cpp model.

    python bench/layouts.py [--model smollm2-135m-instruct] [--json FILE]

Answers are one digit, so prompt tokens are all there is to count. Each layout judges each item with a model that was
loaded for it, so nothing is left in its cache from before. `evaluated` is what llama.cpp says it computed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import jurybox
from jurybox.data import Dataset
from jurybox.judges.embedded.gguf import GGUFFile
from jurybox.judges.embedded.weights import read_tokenizer
from jurybox.prompts import render, sheets
from jurybox.rubrics import load
from jurybox.types import Item, Layout, Review
from jurybox.weights import get

PACK = "product-opinion"
DEVELOPMENT = Path(__file__).parent.parent.parent / "shared" / "data" / "summeval_op_dev.jsonl"
COMPARED: tuple[Layout, Layout] = ("classic", "shared")
# The most reviews are about what the model's 8,192 tokens hold.
COUNTS = (40, 100, 175)
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Figures:
    """One layout on one item: prompt tokens sent in all calls, those evaluated, and the size of the rubric's part."""

    sent: int
    evaluated: int
    scored: int
    rubric_part: float


def items(counts: Sequence[int] = COUNTS) -> Iterator[tuple[str, Item]]:
    """Items of growing size, each with the words that name it."""
    bundled = list(Dataset(str(files("jurybox.examples") / "products.jsonl")))
    if DEVELOPMENT.exists():
        first = next(iter(Dataset(str(DEVELOPMENT))))
        yield f"SummEval-OP, {len(first.source['reviews'])} reviews", first
    yield f"bundled example, {len(bundled[0].source['reviews'])} reviews", bundled[0]
    pool = list(dict.fromkeys(review.text for item in bundled for review in item.source["reviews"]))
    for count in counts:
        yield f"{count} reviews", Item("many", "s", bundled[0].summary, {"reviews": _reviews(pool, count)})


def _reviews(pool: Sequence[str], count: int) -> tuple[Review, ...]:
    return tuple(Review(text) for text in islice(cycle(pool), count))


def measure(item: Item, layout: Layout, judge: str, context: int, tokens: Count) -> Figures:
    """Judge the item in this layout with a fresh model and a fresh run file."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        run = jurybox.evaluate(
            [item],
            rubrics=PACK,
            judge=judge,
            layout=layout,
            answer="digit",
            context=context,
            concurrency=1,
            deadline=3600.0,  # a small machine reads a hundred reviews slowly
            cache=False,
            out=Path(folder) / "layouts.run.db",
        )
        found = list(run.judgments())
    replies = [judgment.reply for judgment in found if judgment.reply is not None]
    if len(replies) != len(found):
        raise SystemExit("\n".join(judgment.verdict.reason for judgment in found))
    sent = sum(reply.tokens_in or 0 for reply in replies)
    cached = sum(reply.tokens_cached or 0 for reply in replies)
    parts = [tokens(text) for text in rubric_parts(item, layout)]
    scored = sum(judgment.verdict.status == "scored" for judgment in found)
    return Figures(sent, sent - cached, scored, sum(parts) / len(parts))


def rubric_parts(item: Item, layout: Layout) -> Iterator[str]:
    """Of every prompt, what must be read for this rubric even when the material is known: in `shared` what follows it,
    in `classic` the words on both sides."""
    for sheet in sheets(load([PACK]), layout, "digit"):
        prompt = render(sheet, item)
        if prompt.shared:
            yield prompt.user[prompt.shared :]
            continue
        begin = prompt.user.index("The text to be judged stands between marker lines")
        yield prompt.user[:begin] + prompt.user[prompt.user.rindex("</summary-") :].partition("\n")[2]


def compare(name: str, item: Item, judge: str, context: int, tokens: Count) -> Mapping[str, Any]:
    classic, shared = (measure(item, layout, judge, context, tokens) for layout in COMPARED)
    ratio = classic.evaluated / shared.evaluated
    print(f"{name:<30}{classic.evaluated:>9,}{shared.evaluated:>9,}{ratio:>7.2f}", end="")
    print(f"{classic.rubric_part:>12.0f}{shared.rubric_part:>9.0f}", flush=True)
    return {"item": name, "classic": asdict(classic), "shared": asdict(shared), "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a language model of `jurybox models list`")
    parser.add_argument("--reviews", type=int, nargs="+", help="only items with so many reviews")
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    tokenizer = read_tokenizer(GGUFFile(get(options.model)))

    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    print(f"{options.model}, 7 rubrics, answer digit\n")
    print(f"{'':<30}{'tokens evaluated':>18}{'ratio':>7}{'rubric part':>21}")
    print(f"{'item':<30}{'classic':>9}{'shared':>9}{'':>7}{'classic':>12}{'shared':>9}")
    chosen = list(items(options.reviews or COUNTS))
    if options.reviews:
        chosen = [pair for pair in chosen if len(pair[1].source["reviews"]) in options.reviews]
    rows = [compare(name, item, f"local/{options.model}", options.context, tokens) for name, item in chosen]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
