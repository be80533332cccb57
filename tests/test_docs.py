"""The documentation says what the program does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from jurybox.cli import cli
from jurybox.fields import FIELDS, IDENTITY_ALIASES
from jurybox.types import STATUSES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_command_line_page_is_generated_from_the_commands() -> None:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == generate.page(), "stale: run `make docs`"


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_every_command_is_named_in_the_readme(command: str) -> None:
    assert f"jurybox {command}" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_field_and_every_spelling_is_in_the_data_page() -> None:
    page = (ROOT / "docs" / "data.md").read_text("utf-8")
    names = [*FIELDS, *IDENTITY_ALIASES, *(alias for field in FIELDS.values() for alias in field.aliases)]
    names += [alias for aliases in IDENTITY_ALIASES.values() for alias in aliases]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_every_status_is_explained() -> None:
    page = (ROOT / "docs" / "judging.md").read_text("utf-8")
    assert [status for status in STATUSES if f"`{status}`" not in page] == []
