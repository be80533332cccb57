"""Which items a page shows: the best, the worst, and those on which judges, samples or people are furthest apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jurybox.report.html.heat import Column
from jurybox.report.html.items import ItemView, item_view
from jurybox.report.judge import JudgeSummary
from jurybox.report.jury import JurySummary
from jurybox.store import (
    Gap,
    Panels,
    Ranked,
    RunReader,
    gaps_between_judges,
    gaps_between_samples,
    gaps_to_people,
    ranked_items,
)


@dataclass(frozen=True, slots=True)
class Picked:
    """An item, in words why it is shown, and the rubric that it is about (empty: all of them)."""

    item: ItemView
    why: str
    rubric: str


@dataclass(frozen=True, slots=True)
class Group:
    """Items that are shown for one reason. Without items, `about` says why there are none."""

    name: str
    title: str
    about: str
    picked: tuple[Picked, ...]


def picked_groups(reader: RunReader, main: JudgeSummary, known: Mapping[str, Column], count: int) -> tuple[Group, ...]:
    """Best, worst and most disputed items of the run's main judge, `count` of each kind."""
    panels = panels_of(main)
    looking = _Looking(reader, known, panels)
    over = f"mean over {len(panels)} rubrics" if len(panels) != 1 else "mean"
    among = " Among the items with a score on every rubric." if len(panels) > 1 else ""
    best = ranked_items(reader, panels, highest=True, limit=count)
    worst = ranked_items(reader, panels, highest=False, limit=count)
    return (
        Group("best", "Highest scores", f"Highest {over}.{among}", looking.ranked(best, over)),
        Group("worst", "Lowest scores", f"Lowest {over}.{among}", looking.ranked(worst, over)),
        *_disputes(looking, count),
    )


def panels_of(judge: JudgeSummary) -> dict[str, tuple[str, ...]]:
    """Rubric -> the judges behind a judge's or a jury's scores; a rubric that nobody could score is left out."""
    return {
        rubric: judge.panels[rubric] if isinstance(judge, JurySummary) else (judge.judge,)
        for rubric in judge.signatures
        if judge.statuses.get(rubric, {}).get("scored")
    }


@dataclass(frozen=True, slots=True)
class _Looking:
    reader: RunReader
    known: Mapping[str, Column]
    panels: Panels

    def item(self, id_: str, system: str) -> ItemView:
        judges = dict.fromkeys(judge for panel in self.panels.values() for judge in panel)
        return item_view(self.reader, id_, system, self.known, list(judges))

    def ranked(self, found: Sequence[Ranked], over: str) -> tuple[Picked, ...]:
        return tuple(Picked(self.item(one.id, one.system), f"{one.mean:.2f}, {over}", "") for one in found)

    def disputed(self, found: Sequence[Gap], one: str, other: str) -> tuple[Picked, ...]:
        return tuple(
            Picked(self.item(gap.id, gap.system), f"{one} {gap.one:.2f}, {other} {gap.other:.2f}", gap.rubric)
            for gap in found
        )


def _disputes(looking: _Looking, count: int) -> tuple[Group, ...]:
    """One group for each kind of dispute that the run can have."""
    reader, panels = looking.reader, looking.panels
    groups = (
        Group(
            "disputed-people",
            "Most disputed: judge and people",
            "Furthest from the mean of the people who rated it, on the rubric named.",
            looking.disputed(gaps_to_people(reader, panels, count), "judge", "people"),
        ),
        Group(
            "disputed-judges",
            "Most disputed: between judges",
            "The judges of the jury are furthest apart, on the rubric named.",
            looking.disputed(gaps_between_judges(reader, panels, count), "lowest judge", "highest judge"),
        ),
        Group(
            "disputed-samples",
            "Most disputed: between samples",
            "Asked several times, the same judge gave the most different scores, on the rubric named.",
            looking.disputed(gaps_between_samples(reader, panels, count), "lowest sample", "highest sample"),
        ),
    )
    kept = tuple(group for group in groups if group.picked)
    nothing = (
        "Nothing to show: items are disputed where a run has human ratings, several judges or several samples that "
        "differ. This one has none."
    )
    return kept or (Group("disputed", "Most disputed", nothing, ()),)
