"""The Jinja environment, and what a page is wrapped in: styles and script inside the file, and a policy that allows
exactly these two by their hashes.

Everything that a template is given is escaped. Should that ever fail, the policy still lets nothing run or load.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jurybox.report.html.figures import chance_text, interval_text, number_text, step_of

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = "templates"
STYLES = ("components.css", "page.css")
SCRIPT = "page.js"


@cache
def environment() -> Environment:
    """Escaping is on for every template, and a name that does not exist is an error, not an empty place."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = str(files("jurybox.report.html").joinpath(TEMPLATES))
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(number=number_text, interval=interval_text, step=step_of, chance=chance_text)
    made.filters["thousands"] = "{:,}".format
    return made


def render(template: str, **values: Any) -> str:
    return environment().get_template(template).render(**values)


def text_of(name: str) -> str:
    """A style sheet or script of the package."""
    return files("jurybox.report.html").joinpath(TEMPLATES, name).read_text("utf-8")


@cache
def page_parts(*more_styles: str) -> dict[str, str]:
    """What every page carries inside itself: `style`, `script`, and the `policy` that allows them and nothing else."""
    style, script = "\n".join(map(text_of, (*STYLES, *more_styles))), text_of(SCRIPT)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{digest(style)}'",
            f"script-src '{digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return {"style": style, "script": script, "policy": policy}


def digest(text: str) -> str:
    """A source expression of a Content-Security-Policy: the hash of what stands between the tags."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
