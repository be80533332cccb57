"""A prompt file's text and how its placeholders are found and filled: once, in one pass, nothing else touched.

Judged text that is filled in is never looked at again, so braces in a review stay braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Style = Literal["{}", "{{}}"]

# A placeholder's name may hold spaces: {Input spans}. {"score": 4} and {} are not placeholders.
_NAME = r"([A-Za-z_][A-Za-z0-9_ \-]*)"
_PATTERNS: Mapping[Style, re.Pattern[str]] = {
    "{}": re.compile(r"(?<!\{)\{" + _NAME + r"\}(?!\})"),
    "{{}}": re.compile(r"\{\{" + _NAME + r"\}\}"),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt file's text, to be sent byte for byte with its placeholders filled.

    `text` becomes the user message; `system` the system message when the file has one that its template does not
    include itself; `includes` are placeholders that the file fills from its own literals.
    """

    text: str
    system: str = ""
    style: Style = "{}"
    includes: Mapping[str, str] = field(default_factory=dict)

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces that items must fill, each once, in order."""
        names = dict.fromkeys(_PATTERNS[self.style].findall(self.text))
        return tuple(name for name in names if name not in self.includes)

    def fill(self, value: Callable[[str], str]) -> str:
        """The text with every placeholder replaced by `value(name)`."""
        return _PATTERNS[self.style].sub(
            lambda match: self.includes[match[1]] if match[1] in self.includes else value(match[1]), self.text
        )


def style_of(text: str) -> Style:
    """How a file writes placeholders: single braces, unless it has only double ones."""
    return "{{}}" if _PATTERNS["{{}}"].search(text) and not _PATTERNS["{}"].search(text) else "{}"
