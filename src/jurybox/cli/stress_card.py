"""`stress --card`: what is asked for beside the tables, and what does not go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from jurybox.report.stress import Stress


@dataclass(frozen=True, slots=True)
class CardOptions:
    """Where the card goes (None: none is wanted), and the runs and ratings that say how far judge and people agree."""

    card: str | None
    runs: tuple[str, ...]
    human: str | None

    def refuse(self, data: bool, plan: bool, tested: tuple[str, ...], compare: tuple[str, str] | None) -> None:
        """What excludes each other, and a card that could not be written, before anything is asked."""
        if plan and (self.card or tested or compare):
            raise click.UsageError("--plan asks nothing and shows nothing that was asked: leave the other option out")
        if sum((data, bool(tested), bool(compare))) > 1:
            raise click.UsageError("DATA, --from and --compare exclude each other: judge anew, or show what is there")
        if self.runs and self.card is None:
            raise click.UsageError("--agree is for the card: give --card FILE.html, or use `jurybox agree RUN.db`")
        if self.card is not None:
            from jurybox.api import carding

            carding.refuse_card(self.card, self.runs)

    def write(self, tested: Sequence[Stress | str]) -> None:
        """The page, if one is wanted; where it is goes to standard error, which leaves --json alone."""
        if self.card is None:
            return
        from jurybox.api import carding

        page = carding.judge_card(list(tested), self.card, runs=self.runs, human=self.human)
        click.echo(f"Judge card, for a browser: {page}", err=True)
