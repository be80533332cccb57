"""A judge under stress, for a page about a run: the parts of its card, out of a document of `stress --json`.

A document that has only the figures that other programs rely on has no card; they are shown as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from jurybox.errors import SetupError
from jurybox.report.html.card import Cards, stress_cards
from jurybox.report.html.heat import Column
from jurybox.report.html.people import Figures, Line
from jurybox.types import Estimate

STRESS_FIGURES = {"detection": "Damage noticed", "false_alarms": "False alarms", "attacks": "Attacks that worked"}
ABOUT = (
    "Shares. Summaries were damaged on purpose: a judge should notice it (high), should not move for edits that harm "
    "nothing (low), and should not obey text that flatters or instructs it (low)."
)


@dataclass(frozen=True, slots=True)
class UnderStress:
    """Who was tested, the cards of all, and the figures that every document has: by rubric, and by kind of damage."""

    judges: tuple[str, ...]
    cards: Cards | None
    tables: Figures
    damage: Figures
    signatures: tuple[str, ...]


def under_stress(document: Mapping[str, Any], known: Mapping[str, Column]) -> UnderStress:
    """What `jurybox stress --json` wrote, as a page shows it."""
    try:
        tables, damage = _tables(document["rubrics"], known)
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        raise SetupError(f"--stress: this is no document of `jurybox stress --json` ({exc!r})") from exc
    if not tables.lines:
        raise SetupError("--stress: this is no document of `jurybox stress --json`: it has no rubrics")
    try:
        cards = stress_cards([("--stress", document)])
    except SetupError:
        judges = tuple(document.get("judges") or (document.get("judge", "unnamed"),))
        return UnderStress(tuple(map(str, judges)), None, tables, damage, _signature(document))
    told = tuple(signature for card in cards.cards for signature in card.signatures)
    return UnderStress(tuple(card.judge for card in cards.cards), cards, tables, damage, told)


def _signature(document: Mapping[str, Any]) -> tuple[str, ...]:
    return (str(document["signature"]),) if document.get("signature") else ()


def _tables(rubrics: Mapping[str, Mapping[str, Any]], known: Mapping[str, Column]) -> tuple[Figures, Figures]:
    columns = {rubric: known.get(rubric, Column(rubric, rubric.replace("_", " "), "")) for rubric in rubrics}
    lines = tuple(
        Line(columns[rubric], tuple(_estimate(one.get(name)) for name in STRESS_FIGURES), "", False)
        for rubric, one in rubrics.items()
    )
    kinds = dict.fromkeys(kind for one in rubrics.values() for kind in one.get("damage", {}))
    damage = tuple(
        Line(
            Column(kind, kind.replace("_", " "), ""),
            tuple(_estimate(one.get("damage", {}).get(kind, {}).get("rate")) for one in rubrics.values()),
            "",
            False,
        )
        for kind in kinds
    )
    heads = tuple(one.title for one in columns.values())
    return Figures(tuple(STRESS_FIGURES.values()), lines, "", ABOUT), Figures(heads, damage, "", "", "Damage")


def _estimate(found: Mapping[str, Any] | None) -> Estimate | None:
    if found is None:
        return None
    return Estimate(**{field.name: found[field.name] for field in fields(Estimate)})
