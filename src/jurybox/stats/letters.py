"""Which of several things are not told apart, as letters: the compact letter display."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def letter_groups(names: Sequence[str], told_apart: Collection[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Letters for each name, so that two share one exactly when no test told them apart.

    Insert and absorb (Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons", J.
    Comput. Graph. Stat. 13): begin with one group of all; every pair that is told apart splits the groups that hold
    both; a group inside another one is dropped. Letters follow the order of `names`, so the first name has an `a`. Not
    swept for letters that could be spared: each group here is as large as it can be.
    """
    groups: list[frozenset[str]] = [frozenset(names)]
    for first, second in told_apart:
        split = [
            part
            for group in groups
            for part in ((group - {first}, group - {second}) if {first, second} <= group else (group,))
        ]
        groups = _absorbed(split)
    place = {name: number for number, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    return {name: tuple(_letter(k) for k, group in enumerate(groups) if name in group) for name in names}


def _absorbed(groups: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    kept: list[frozenset[str]] = []
    for group in sorted(dict.fromkeys(groups), key=len, reverse=True):
        if not any(group <= other for other in kept):
            kept.append(group)
    return kept


def _letter(number: int) -> str:
    """a to z, then aa, ab, …"""
    rest, letter = divmod(number, 26)
    return (_letter(rest - 1) if rest else "") + chr(ord("a") + letter)
