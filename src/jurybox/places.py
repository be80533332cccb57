"""Where jurybox keeps what is the user's and not a run's."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """$JURYBOX_CACHE, or $XDG_CACHE_HOME/jurybox, or ~/.cache/jurybox; whether it is there or not."""
    own = os.environ.get("JURYBOX_CACHE")
    return Path(own).expanduser().absolute() if own else _xdg("XDG_CACHE_HOME", "~/.cache")


def config_folder() -> Path:
    """$XDG_CONFIG_HOME/jurybox, or ~/.config/jurybox."""
    return _xdg("XDG_CONFIG_HOME", "~/.config")


def _xdg(name: str, usual: str) -> Path:
    """A relative one is to be ignored (XDG Base Directory 0.8)."""
    given = os.environ.get(name)
    base = Path(given) if given and Path(given).is_absolute() else Path(usual).expanduser()
    return base.absolute() / "jurybox"
