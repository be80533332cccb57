"""What jurybox exports exists, is documented, and is what its type checker sees."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import jurybox

PACKAGES = [
    f"jurybox.{module.name}"
    for module in pkgutil.iter_modules(jurybox.__path__)
    if module.ispkg and module.name != "examples"
]


@pytest.mark.parametrize("name", jurybox.__all__)
def test_every_export_resolves(name: str) -> None:
    assert getattr(jurybox, name) is not None


@pytest.mark.parametrize("name", [name for name in jurybox.__all__ if name != "__version__"])
def test_every_export_says_what_it_is(name: str) -> None:
    """In a docstring of its own: inherited ones, and the signature that dataclasses write, do not count."""
    exported = getattr(jurybox, name)
    doc = exported.__dict__.get("__doc__") if inspect.isclass(exported) else exported.__doc__
    assert doc
    assert not doc.startswith(f"{name}(")
    assert len(doc.split()) >= 3


def test_dir_and_all_say_the_same() -> None:
    assert dir(jurybox) == sorted(jurybox.__all__)
    assert len(set(jurybox.__all__)) == len(jurybox.__all__)


def test_the_type_checker_sees_the_same_names() -> None:
    """The imports under TYPE_CHECKING, read from the source, are exactly the names that load lazily."""
    tree = ast.parse(Path(jurybox.__file__).read_text("utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(seen) == set(jurybox.__all__) - {"__version__"}
    rooms = {name: getattr(jurybox, name).__module__.split(".")[:2] for name in seen}
    assert rooms == {name: str(module).split(".")[:2] for name, module in seen.items()}


def test_other_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'jurybox' has no attribute 'evaluat'"):
        jurybox.evaluat  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_says_what_it_owns_and_exports_what_exists(package: str) -> None:
    room = importlib.import_module(package)
    assert room.__doc__
    for name in getattr(room, "__all__", []):
        assert hasattr(room, name)


@pytest.mark.parametrize("name", ["evaluate", "aevaluate", "plan", "show", "export"])
def test_each_command_has_a_function_of_its_name(name: str) -> None:
    assert inspect.isfunction(getattr(jurybox, name))
    assert inspect.iscoroutinefunction(getattr(jurybox, name)) == (name == "aevaluate")
