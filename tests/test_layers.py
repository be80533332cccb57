"""Layers point one way: a room imports only from rooms to its left. See docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import jurybox

ROOT = Path(jurybox.__file__).parent
# Left to right; rooms between the same bars are siblings and do not know each other.
TIERS = (
    "addresses errors places templates | types | fields language weights "
    "| rubrics prompts material parsing evidence judges data stats perturb "
    "| store | runner | report | api | web | cli pytest_plugin"
)
TIER = {room: number for number, rooms in enumerate(TIERS.split("|")) for room in rooms.split()}
FRONT_DOOR = ("__init__", "__main__")  # names of the package itself: they hand out what api, errors and types hold
MODULES = sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of everything imported, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(tree: ast.AST) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_a_module_keeps_to_its_room(path: Path) -> None:
    room, tree = room_of(path), ast.parse(path.read_text("utf-8"))
    names = list(imported(tree))
    if room not in FRONT_DOOR and room != "examples":
        theirs = {name.split(".")[1] for name in names if name.startswith("jurybox.")} - {room, "__version__"}
        assert {other for other in theirs if TIER[other] >= TIER[room]} == set(), f"{room} looks to its right"
    foreign = {name.split(".")[0] for name in names}
    assert room == "store" or "sqlite3" not in foreign, "SQL lives in the store"
    assert room == "judges" or not foreign & {"aiohttp", "openai", "anthropic", "httpx", "requests"}, "vendors: judges"
    assert room == "web" or not foreign & {"starlette", "uvicorn"}, "servers of pages: web"
    assert room == "cli" or not called(tree) & {"print", "click.echo", "click.secho"}, "only the command line prints"
    assert room == "cli" or "click" not in foreign, "only the command line knows click"
    assert not called(tree) & {"eval", "exec", "compile", "builtins.eval", "builtins.exec"}, "nothing is executed"


def test_every_room_has_its_place() -> None:
    rooms = {room_of(path) for path in MODULES} - {*FRONT_DOOR, "examples"}
    assert rooms <= set(TIER)
    assert len(rooms) >= 14
