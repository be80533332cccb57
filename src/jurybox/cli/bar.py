"""The progress of a run on standard error: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import IO, Any

from jurybox.cli.looking import plain
from jurybox.runner import Tally

SECONDS_BETWEEN_LINES = 10.0


def make_bar(stream: IO[str]) -> Bar:
    return RichBar() if stream.isatty() else Bar(stream)


class Bar:
    """One plain line every few seconds."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._started = self._shown = time.monotonic()
        self._tally = Tally()
        self._fetched: set[str] = set()

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tally.total:  # nothing to tell of a run that was refused
            self._line(f"jurybox: {progress_text(self._tally, time.monotonic() - self._started)}")

    def update(self, tally: Tally) -> None:
        self._tally = tally
        now = time.monotonic()
        if now - self._shown >= SECONDS_BETWEEN_LINES:
            self._shown = now
            self._line(f"jurybox: {progress_text(tally, now - self._started)}")

    def fetching(self, name: str, done: int, whole: int) -> None:
        """The weights of a model are on their way."""
        if name not in self._fetched:
            self._fetched.add(name)
            self._line(f"jurybox: fetching {name} ({whole / 1e6:.0f} MB), once; it is kept for the next time")

    def say(self, text: str) -> None:
        self._line(f"jurybox: {plain(text)}")

    def stopping(self, under_way: int) -> None:
        self._line(f"jurybox: stopping; waiting for {under_way} answers under way (Ctrl-C again to stop now)")

    def _line(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text + "\n")
            self._stream.flush()


class RichBar(Bar):
    """A live bar with rate, time left, cost and unscored count."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._progress = Progress(
            TextColumn("judging"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
            console=Console(stderr=True),
            refresh_per_second=5,
        )
        self._task = self._progress.add_task("judging", total=None, said="")

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, kind: Any, exc: Any, trace: Any) -> None:
        self._show()
        self._progress.stop()

    def update(self, tally: Tally) -> None:
        self._tally = tally
        now = time.monotonic()
        if now - self._shown >= 0.2:
            self._shown = now
            self._show()

    def _show(self) -> None:
        said = details_text(self._tally, time.monotonic() - self._started)
        self._progress.update(self._task, total=self._tally.total or None, completed=self._tally.done, said=said)

    def _line(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)


def progress_text(tally: Tally, seconds: float) -> str:
    return f"{tally.done:,} of {tally.total:,} judgments, {details_text(tally, seconds)}"


def details_text(tally: Tally, seconds: float) -> str:
    """Rate, time left, cost and losses, in words."""
    made = tally.done - tally.kept - tally.reused
    rate = made / seconds if seconds > 0 else 0.0
    parts = [f"{rate:.1f}/s"]
    if rate and tally.done < tally.total:
        parts.append(f"{_clock((tally.total - tally.done) / rate)} left")
    parts.append(f"${tally.cost:.4f}" if not tally.unpriced else "cost unknown")
    parts.append(f"{tally.unscored:,} unscored")
    if tally.kept:
        parts.append(f"{tally.kept:,} kept from before")
    if tally.reused:
        parts.append(f"{tally.reused:,} from the cache")
    return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
