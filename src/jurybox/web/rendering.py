"""The pages' Jinja environment: our templates before those of `report/html`, whose macros they use; and fixed files.

Style sheets and scripts are read once, under names that are known here: no path of a request reaches the file system.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jurybox import __version__
from jurybox.report.html.rendering import TEMPLATES, environment, text_of

if TYPE_CHECKING:
    from jinja2 import Environment

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
SHARED = ("components.css", "page.css", "card.css", "page.js")
OWN = ("serve.css", "live.js", "annotate.js", "icon.svg")


@cache
def pages() -> Environment:
    from jinja2 import ChoiceLoader, FileSystemLoader

    folders = (files("jurybox.web").joinpath("templates"), files("jurybox.report.html").joinpath(TEMPLATES))
    made = environment().overlay(loader=ChoiceLoader([FileSystemLoader(str(folder)) for folder in folders]))
    made.globals = {**made.globals, "static": static_address, "version": __version__}
    made.filters = {**made.filters, "duration": duration_text, "percent": percent_text}
    return made


def load_all() -> None:
    """Everything that the first visitor would otherwise wait for."""
    for name in pages().list_templates(extensions=["j2"]):
        pages().get_template(name)
    static_files()


def render(template: str, **values: Any) -> str:
    return pages().get_template(template).render(**values)


def error_html(status: int, title: str, what: str) -> str:
    """A page for people: what happened and what they can do."""
    return render("error.html.j2", status=status, title=title, what=what)


def login_html(csrf: str, wrong: bool = False) -> str:
    return render("login.html.j2", title="Token", csrf=csrf, wrong=wrong)


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Name -> bytes and media type of all that pages load."""
    texts = {name: text_of(name) for name in SHARED}
    texts |= {name: files("jurybox.web").joinpath("static", name).read_text("utf-8") for name in OWN}
    return {name: (text.encode(), _KINDS[name.rpartition(".")[2]]) for name, text in texts.items()}


@cache
def static_address(name: str) -> str:
    """Changes with the file, so that browsers may keep it for ever."""
    return f"/static/{name}?{hashlib.sha256(static_files()[name][0]).hexdigest()[:12]}"


def duration_text(seconds: float) -> str:
    """To one unit: 40 seconds, 3 minutes, 2 hours, 4 days."""
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {name}{'' if count == 1 else 's'}"
    count = round(seconds)
    return f"{count} second{'' if count == 1 else 's'}"


def percent_text(share: float) -> str:
    """To whole per cents, but never 100 before the end."""
    return f"{100 if share >= 1 else min(round(share * 100), 99)} %"
