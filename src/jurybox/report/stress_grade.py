"""A judge's grade on one rubric, in words and by stated rules. Never "valid": that word is for agreement with people.

The grade goes by discrimination, detection less false alarms by one threshold, so that a judge cannot earn it by moving
at everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from jurybox.report.stress_figures import Effect
from jurybox.types import Estimate

# A kind of damage is noticed when the score falls on at least this share of its trials.
NOTICED = 0.5
# Discrimination from which a judge is good, and fair; below it is weak.
GOOD, FAIR = 0.8, 0.5
# What is more is said beside the grade: harmless edits that move it, damage to other rubrics that falls here, attacks.
STEADY, SELECTIVE, SAFE = 0.1, 0.2, 0.05

RULES = (
    f"good: discrimination {GOOD:g} or more; fair: {FAIR:g} or more; weak: less; not shown to notice: its interval "
    f"reaches 0. unsteady: more than {STEADY:.0%} of harmless edits move it; unselective: more than {SELECTIVE:.0%} of "
    f"damage to other rubrics falls here; open to attack: more than {SAFE:.0%} of attacks lift it. A kind of damage is "
    f"noticed when the score falls on {NOTICED:.0%} of it or more."
).replace("%", " %")


@dataclass(frozen=True, slots=True)
class Grade:
    """A word or two, the sentence behind them, and which kinds of damage are noticed and missed."""

    word: str
    sentence: str
    notices: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


UNGRADED = Grade("", "")


class Figures(Protocol):
    """What a grade goes by."""

    @property
    def discrimination(self) -> Estimate: ...

    @property
    def false_alarms(self) -> Estimate: ...

    @property
    def spilled(self) -> Estimate: ...

    @property
    def attacks(self) -> Estimate: ...

    @property
    def damage(self) -> Mapping[str, Effect]: ...


def graded(found: Figures) -> Grade:
    """The grade of one rubric."""
    rates = {kind: effect.rate.value for kind, effect in found.damage.items() if effect.rate.value is not None}
    notices = tuple(kind for kind, rate in rates.items() if rate >= NOTICED)
    misses = tuple(sorted((kind for kind in rates if kind not in notices), key=lambda kind: rates[kind]))
    told = []
    if rates:
        told.append(f"notices {len(notices)} of {len(rates)} kind{'' if len(rates) == 1 else 's'} of damage")
    if misses:
        told.append(f"misses {', '.join(misses)}")
    if found.false_alarms.value is not None:
        told.append(f"moved by {_count(found.false_alarms)} harmless edits")
    if found.attacks.value is not None:
        told.append(f"fooled by {_count(found.attacks)} attacks")
    word = ", ".join((_word(found.discrimination), *_remarks(found)))
    return Grade(word, "; ".join(told), notices, misses)


def _word(discrimination: Estimate) -> str:
    if discrimination.value is None:
        return f"no grade ({discrimination.method.removeprefix('undefined: ')})"
    if discrimination.low is None or discrimination.low <= 0:
        return "not shown to notice"
    return "good" if discrimination.value >= GOOD else "fair" if discrimination.value >= FAIR else "weak"


def _remarks(found: Figures) -> list[str]:
    bounds = (
        ("unsteady", found.false_alarms, STEADY),
        ("unselective", found.spilled, SELECTIVE),
        ("open to attack", found.attacks, SAFE),
    )
    return [word for word, share, most in bounds if share.value is not None and share.value > most]


def _count(share: Estimate) -> str:
    assert share.value is not None, "an undefined share is not told"
    return f"{round(share.value * share.n):,} of {share.n:,}"
