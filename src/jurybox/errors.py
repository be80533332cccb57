"""Everything jurybox raises on purpose.

    JuryboxError
    ├── SetupError            wrong use or wrong input; raised before the first paid call, never retried
    │   ├── DataError         a data file: what, in which file, line and field
    │   ├── RubricError       a rubric or prompt file
    │   ├── JudgeSpecError    a `--judge` that names no judge, or lacks its key or address
    │   ├── StoreError        a run file that is missing, foreign, or was made under other settings
    │   └── WeightsError      model weights that are not here, or not what the registry says they are
    ├── JudgeFailure          one call failed; data, not a crash: the runner may try again
    └── JudgeRejection        the server said no for every call to come (key, model, request): stop the run

The first cut is who must act: a SetupError is for the person at the keyboard, a JudgeFailure for the
runner, a JudgeRejection for both (what was paid is kept, the run stops).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class JuryboxError(Exception):
    """Root of the tree; `except JuryboxError` catches all that jurybox raises on purpose."""


class SetupError(JuryboxError):
    """Wrong use or wrong input."""


class DataError(SetupError):
    """Something is wrong in a data file; the message names file, line and field."""

    def __init__(self, path: str, line: int | None, what: str, *, field: str | None = None) -> None:
        where = path if line is None else f"{path}, line {line}"
        if field is not None:
            where += f", field '{field}'"
        super().__init__(f"{where}: {what}")
        self.path, self.line, self.field = path, line, field


class RubricError(SetupError):
    """A rubric or prompt file that cannot be used."""


class JudgeSpecError(SetupError):
    """A judge that cannot be made from its specification."""


class StoreError(SetupError):
    """A run file that cannot be used."""


class WeightsError(SetupError):
    """Model weights that are not on this machine, cannot be fetched, or have the wrong bytes."""


class JudgeFailure(JuryboxError):
    """One call failed. `retry` says whether trying again can help, `after` how long the server wants us to wait,
    `throttled` that it wants fewer calls at a time, `too_long` that the prompt is more than the model can hold."""

    def __init__(
        self,
        message: str,
        *,
        retry: bool,
        after: float | None = None,
        throttled: bool = False,
        too_long: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry, self.after, self.throttled, self.too_long = retry, after, throttled, too_long


class JudgeRejection(JuryboxError):
    """The server, or this machine, refused in a way that holds for every further call."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """`unknown rubric 'fluensy'. Did you mean 'fluency'? Available: …`"""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"unknown {kind} '{name}'.{hint} Available: {', '.join(names)}"


def refuse_unknown_choice(option: str, choice: str, known: Iterable[str]) -> None:
    if choice not in known:
        raise SetupError(f"--{option}: {unknown_name(option, choice, known)}")
