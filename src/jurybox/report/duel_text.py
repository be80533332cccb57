"""Duels in words, for a terminal or a log. Returns text, prints nothing. Fits 80 columns, but for signatures."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from jurybox.report.duels import EVEN, NO_ORDER, Duels, PairResult, RubricDuels
from jurybox.types import Estimate

_HOW = (
    "Every pair was asked in both orders. A summary wins when it is preferred in both; an answer that changes with the "
    "order is a tie and is counted as inconsistent."
)


def duels_text(duels: Duels, width: int = 80) -> str:
    """One block a judge, one paragraph a rubric, and the signatures."""
    parts = [textwrap.fill(_HOW, width)]
    parts += [_judge_text(judge, rubrics, width) for judge, rubrics in duels.judges.items()]
    if duels.unfinished:
        told = (
            f"Unfinished: {duels.unfinished:,} answers are still to be given; the same `jurybox duel` command goes on."
        )
        parts.append(textwrap.fill(told, width))
    return "\n\n".join(parts)


def _judge_text(judge: str, rubrics: Mapping[str, RubricDuels], width: int) -> str:
    signatures = "\n".join(f"  {duels.signature}" for duels in rubrics.values())
    told = [_rubric_text(name, duels, width) for name, duels in rubrics.items()]
    return "\n\n".join((f"Judge {judge}", *told, f"Signatures:\n{signatures}"))


def _rubric_text(name: str, duels: RubricDuels, width: int) -> str:
    told = [sentence for pair in duels.pairs for sentence in _pair_sentences(name, pair)]
    told.append(_bias_sentence(duels.position_bias))
    lines = [textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ") for line in told]
    return "\n".join((name, *lines, *_ranking_lines(duels)))


def _pair_sentences(rubric: str, pair: PairResult) -> list[str]:
    told = []
    if pair.win_rate.value is None:
        told.append(f"{pair.first} and {pair.second}: no duel was scored on {rubric}.")
    else:
        counts = f"{_count(pair.wins, 'win')}, {_count(pair.losses, 'loss', 'losses')}, {_count(pair.ties, 'tie')}"
        ties = f" ({pair.inconsistent:,} of them inconsistent)" if pair.inconsistent else ""
        told.append(f"{_verdict(rubric, pair)}: {counts}{ties}.")
        told.append(f"Win rate of {pair.first} {_shown(pair.win_rate)}, n={pair.win_rate.n:,}.")
    if pair.unscored:
        told.append(f"Unscored in one order or both: {_count(pair.unscored, 'source')}.")
    if pair.missing:
        told.append(f"Not asked, because a summary by one of the two is missing: {_count(pair.missing, 'source')}.")
    return told


def _verdict(rubric: str, pair: PairResult) -> str:
    """A winner is named only where the interval leaves out an even match."""
    rate = pair.win_rate
    if rate.low is not None and rate.low > EVEN:
        return f"{pair.first} beats {pair.second} on {rubric}"
    if rate.high is not None and rate.high < EVEN:
        return f"{pair.first} loses to {pair.second} on {rubric}"
    return f"{pair.first} and {pair.second} cannot be told apart on {rubric}"


def _bias_sentence(bias: Estimate) -> str:
    if bias.value is None:
        return "Position bias: unknown."
    if bias.method == NO_ORDER:
        return "Position bias: none, because this judge scores each summary by itself."
    return f"Position bias: the summary shown first is preferred in {_shown(bias)} of answers (0.50 is none)."


def _ranking_lines(duels: RubricDuels) -> list[str]:
    if not duels.ranking:
        return []
    if duels.ranking[0][1].value is None:
        return [f"  No ranking: {duels.ranking[0][1].method}."]
    name_width = max(len(system) for system, _ in duels.ranking)
    return [
        "  Ranking by Bradley-Terry log strength (a lead of 0.69 is odds of 2 to 1):",
        *(
            f"    {place}. {system:<{name_width}}  {_shown(strength, signed=True)}"
            for place, (system, strength) in enumerate(duels.ranking, 1)
        ),
        *_reason(duels.ranking[0][1]),
    ]


def _reason(strength: Estimate) -> list[str]:
    """Why a ranking has no intervals, where it has none."""
    if strength.low is not None:
        return []
    told = f"There is {strength.method.partition('; ')[2]}."
    return textwrap.wrap(told, 76, initial_indent="    ", subsequent_indent="    ")


def _shown(estimate: Estimate, *, signed: bool = False) -> str:
    def number(value: float | None) -> str:
        return "none" if value is None else f"{value:+.2f}" if signed else f"{value:.2f}"

    if estimate.low is None:
        return number(estimate.value)
    return f"{number(estimate.value)} ({number(estimate.low)}{' to ' if signed else '-'}{number(estimate.high)})"


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"
