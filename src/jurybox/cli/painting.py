"""Tables on a terminal in a few quiet colours; plain text everywhere else.

Colour says nothing that the text does not. It is left out when standard output is no terminal, when `NO_COLOR` is set
(no-color.org), and on a dumb terminal. Bars become digits where the encoding has none.
"""

from __future__ import annotations

import os
import sys

import click

# How parts of a table look, as rich names styles; later ones lie over earlier ones.
_STYLES = (
    (r"(?m)^(?:Judge|Jury).*$", "bold"),
    (r"(?m)^(?:Signatures:|  jurybox\|.*)$", "dim"),
    (r"-?\d+\.\d\d(?:-| to [-+]?)\d+\.\d\d", "dim"),
    (r"\b[\d.]+\b(?= n=)", "bold"),
    (r"(?<=\d)\*", "bold green"),
    (r"[▁▂▃▄▅▆▇█·]{5}", "cyan"),
)
_LOST = r"n=[\d,]+(?P<yellow> -[\d,]+)"
_DIGITS = str.maketrans("▁▂▃▄▅▆▇█·", "12345678.")


def say(text: str) -> None:
    """Print a result on standard output."""
    if not _wants_colour():
        click.echo(_writable(text))
        return
    from rich.console import Console
    from rich.text import Text

    painted = Text(text)
    for pattern, style in _STYLES:
        painted.highlight_regex(pattern, style)
    painted.highlight_regex(_LOST)
    Console(highlight=False).print(painted, soft_wrap=True)


def _wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _writable(text: str) -> str:
    """Text that the encoding of standard output can hold."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_DIGITS).encode(encoding, "replace").decode(encoding)
    return text
