"""Write the samples that a person reads: `python tests/perturb_samples/collect.py [KIND …]`. Then read every line.

The items are those of the shipped examples and, where these give too few places, small ones of our own.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

from jurybox.data import Dataset
from jurybox.perturb import DAMAGE, Kind, apply
from jurybox.types import Item

HERE = Path(__file__).parent
WANTED = 10
# Summaries that were in order before: the others of the examples are wrong on purpose.
IN_ORDER = ("careful", "lead", "own")


def items() -> list[Item]:
    shipped = [str(files("jurybox.examples") / name) for name in ("products.jsonl", "health.jsonl")]
    return [item for path in (*shipped, str(HERE / "own_items.jsonl")) for item in Dataset(path)]


def mixed(pool: list[Item]) -> list[Item]:
    """The summaries that were in order, a product and a health question in turn."""
    fine = [item for item in pool if item.system in IN_ORDER]
    health = [item for item in fine if "answers" in item.source]
    products = [item for item in fine if "answers" not in item.source]
    both = max(len(health), len(products))
    return [item for pair in zip(*([*row, *row][:both] for row in (products, health)), strict=True) for item in pair]


def samples(kind: Kind, pool: list[Item]) -> list[dict[str, object]]:
    """Ten changes: one an item first, with the doses in turn, then the same items with other seeds."""
    found: dict[str, dict[str, object]] = {}
    for seed in range(40):
        for number, item in enumerate(mixed(pool)):
            dose = kind.doses[(number // 2 + seed) % len(kind.doses)]
            change = apply(kind, item, dose=dose, seed=seed, others=pool)
            if change is None or change.item.summary in found:
                continue
            found[change.item.summary] = {
                "id": item.id, "system": item.system, "dose": dose, "seed": seed,
                "before": item.summary, "after": change.item.summary,
            }  # fmt: skip
            if len(found) == WANTED:
                return list(found.values())
    return list(found.values())


if __name__ == "__main__":
    pool = items()
    for kind in DAMAGE:
        if not sys.argv[1:] or kind.name in sys.argv[1:]:
            lines = [json.dumps(sample, ensure_ascii=False) for sample in samples(kind, pool)]
            (HERE / f"{kind.name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            print(f"{kind.name}: {len(lines)}")
