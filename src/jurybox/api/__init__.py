"""jurybox from Python: each command's function under the command's own name, one module for each family of commands.

Async once: `aevaluate` does the work, `evaluate` is its synchronous door. `jurybox` itself hands out the public names
and loads each module when it is first used.

`jurybox.report` is a room, and the name of the function that writes a page. Both are one name to Python, so the room is
made callable here, where everything that could load it comes by.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    """The room `jurybox.report`, which writes a page when it is called."""

    def __call__(self, *given: Any, **options: Any) -> Path:
        from jurybox.api.reporting import report

        return report(*given, **options)


importlib.import_module("jurybox.report").__class__ = _CallableRoom
