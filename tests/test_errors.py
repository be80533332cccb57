"""The tree drawn at the top of errors.py is the tree of classes, and messages name the place and the nearest name."""

from __future__ import annotations

import inspect
import re

import pytest

from jurybox import errors
from jurybox.errors import DataError, JudgeFailure, JuryboxError, unknown_name


def drawn() -> dict[str, str | None]:
    """Class -> parent, read from the drawing: four columns deeper is one level down."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        branch = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)(?:  |$)", line)
        if branch:
            depth = len(branch[1]) // 4
            path[depth:] = [branch[2]]
            parents[branch[2]] = path[depth - 1] if depth else None
    return parents


def written() -> dict[str, str | None]:
    classes = [
        value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    return {
        each.__name__: None if each is JuryboxError else each.__bases__[0].__name__
        for each in classes
        if issubclass(each, Exception)
    }


def test_the_drawing_is_the_tree() -> None:
    assert drawn() == written()
    assert len(drawn()) == 9


def test_every_error_is_caught_by_the_root() -> None:
    assert all(issubclass(getattr(errors, name), JuryboxError) for name in drawn())


@pytest.mark.parametrize(
    ("line", "field", "where"),
    [
        (None, None, "d.csv: is odd"),
        (3, None, "d.csv, line 3: is odd"),
        (3, "id", "d.csv, line 3, field 'id': is odd"),
        (None, "id", "d.csv, field 'id': is odd"),
    ],
)
def test_a_data_error_names_file_line_and_field(line: int | None, field: str | None, where: str) -> None:
    error = DataError("d.csv", line, "is odd", field=field)
    assert str(error) == where
    assert (error.path, error.line, error.field) == ("d.csv", line, field)


def test_a_failure_says_whether_and_when_to_try_again() -> None:
    error = JudgeFailure("busy", retry=True, after=2.5)
    assert (str(error), error.retry, error.after) == ("busy", True, 2.5)
    assert JudgeFailure("gone", retry=False).after is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fluensy", "unknown rubric 'fluensy'. Did you mean 'fluency'? Available: coherence, fluency"),
        ("zzz", "unknown rubric 'zzz'. Available: coherence, fluency"),
    ],
)
def test_an_unknown_name_gets_the_nearest_and_all(name: str, message: str) -> None:
    assert unknown_name("rubric", name, {"fluency": 1, "coherence": 2}) == message
