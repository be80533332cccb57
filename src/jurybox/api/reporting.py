"""`report`: one self-contained page about a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jurybox.api.carding import Tested, tested_document
from jurybox.api.looking import Run, path_of
from jurybox.errors import JuryboxError, SetupError
from jurybox.report.html import ITEMS, report_html
from jurybox.store import RunReader


def report(
    run: str | Path | Run,
    out: str | Path | None = None,
    *,
    items: int = ITEMS,
    stress: Tested | None = None,
) -> Path:
    """Write a run as one HTML page that needs nothing else; returns where it is.

    `out` is beside the run, named after it, unless given. `items` is how many are shown of each kind (best, worst, most
    disputed). `stress` is what `stress` found about the same judge, the run file that it was judged into, or a .json
    file that `jurybox stress --json` wrote.
    """
    if items < 0:
        raise SetupError(f"--items: {items} is below zero")
    path = path_of(run)
    target = path.with_suffix(".html") if out is None else Path(out)
    if target.resolve() == path.resolve():
        raise SetupError(f"--out {target}: is the run itself; give the page another name")
    told = None if stress is None else stress_told(stress)
    with RunReader(path) as reader:
        page = report_html(reader, items=items, stress=told)
    try:
        target.write_text(page, "utf-8", "xmlcharrefreplace")
    except OSError as exc:
        raise SetupError(f"--out {target}: cannot be written: {exc.strerror or exc}") from exc
    return target


def stress_told(stress: Tested) -> Mapping[str, Any]:
    """What is given as --stress: a file that `jurybox stress --json` wrote, a run file of `stress`, or its result."""
    try:
        _, found = tested_document(stress)
    except JuryboxError as exc:
        raise SetupError(f"--stress {exc}") from exc
    if not isinstance(found, Mapping):
        raise SetupError(f"--stress {stress}: is no document of `jurybox stress --json`")
    return found
