"""Write docs/cli.md from the commands' own help texts. `make docs` runs it; a test fails when the page is stale."""

from __future__ import annotations

from pathlib import Path

import click

from jurybox.cli import cli

PAGE = Path(__file__).with_name("cli.md")
HEAD = """# Command line

Generated from the commands themselves by `make docs`; do not edit by hand.

Results go to standard output, progress and messages to standard error. With `--json`, standard output holds one JSON
document and nothing else.

| exit status | meaning |
|---|---|
| 0 | done |
| 1 | a gate failed (`--fail-under`), or `--max-cost` ended the run |
| 2 | wrong use or wrong input, or a judge that refuses every call |
| 3 | finished with unscored judgments where `--strict` asked for none |
| 130 | interrupted; the same command goes on |
"""


def page() -> str:
    return HEAD + "".join(_sections(cli, "jurybox", None))


def _sections(command: click.Command, path: str, parent: click.Context | None) -> list[str]:
    name = path.rpartition(" ")[2]
    settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}  # as the command has them
    context = click.Context(command, info_name=name, parent=parent, **settings)
    sections = [f"\n## `{path}`\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            sections += _sections(child, f"{path} {name}", context)
    return sections


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
