"""The pytest plugin in a real pytest run of its own, with a judge that needs no model."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

ROOT = Path(__file__).parent.parent
# In a checkout that was installed before there was a plugin, pytest must be told of it.
INSTALLED = any(entry.value == "jurybox.pytest_plugin" for entry in entry_points(group="pytest11"))
PLUGIN = () if INSTALLED else ("-p", "jurybox.pytest_plugin")

Tested = Callable[..., pytest.RunResult]


@pytest.fixture
def tested(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Tested:
    """tested(code, words…) runs a test file that has `data` in a process of its own."""
    data = pytester.path / "data.jsonl"
    data.write_text(files("jurybox.examples").joinpath("products.jsonl").read_text("utf-8"), "utf-8")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n')

    def run(code: str, *words: str) -> pytest.RunResult:
        pytester.makepyfile(f"import pytest\ndata = {str(data)!r}\n\n{code}")
        return pytester.runpytest_subprocess("--strict-markers", *PLUGIN, *words)

    return run


CHECK = """
def test_summaries(jurybox):
    found = jurybox.check(data, rubrics="fluency", judge="baseline/length", at_least={"fluency": %s})
    assert found.main.systems["careful"]["fluency"].n == 8
"""


def test_summaries_that_are_good_enough_pass(tested: Tested) -> None:
    tested(CHECK % 1.5).assert_outcomes(passed=1)


def test_summaries_that_fall_short_fail_with_a_table(tested: Tested) -> None:
    result = tested(CHECK % 4.5)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*the summaries fall short:*",
            "*fluency of careful is ?.?? (?.??-?.??), n=8, 0 unscored; at least 4.5 was asked for*",
            "*mean score 1-5*",
            "*fluency *n=8*",
        ]
    )
    assert "pytest_plugin.py" not in result.stdout.str(), "the failure points into the test, not into us"


def test_an_unknown_rubric_in_a_bound_is_told(tested: Tested) -> None:
    result = tested(CHECK.replace('{"fluency"', '{"fluensy"') % 3)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*at_least: unknown rubric 'fluensy'. Did you mean 'fluency'?*"])


def test_strict_fails_on_what_is_unscored(tested: Tested) -> None:
    """`baseline/system` has no ratings to go by."""
    asked = "data, rubrics='fluency', judge='baseline/system', at_least={}, strict=True"
    result = tested(f"def test_all(jurybox):\n    jurybox.check({asked})\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*32 judgments ended unscored*"])


STRESS = """
@pytest.mark.jurybox_stress
def test_judge(jurybox):
    jurybox.stress(
        data, rubrics="faithfulness", judge="baseline/length", systems=["careful"], items=2, attacks=False,
        kinds="swap_number,generic", at_least={"detection": %s}, at_most={"faithfulness.false_alarms": 1},
    )

def test_other():
    pass
"""


def test_a_judge_that_notices_too_little_fails_its_gate(tested: Tested) -> None:
    tested(STRESS % 0).assert_outcomes(passed=2)
    result = tested(STRESS % 0.8)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*the judge falls short:*",
            "*detection of faithfulness is 0.000*at least 0.8 was asked for*",
            "*misses swap_number*",
        ]
    )


def test_stress_gates_can_be_left_out(tested: Tested) -> None:
    tested(STRESS % 0.8, "-m", "not jurybox_stress").assert_outcomes(passed=1, deselected=1)


def test_the_marker_is_documented(tested: Tested) -> None:
    tested("def test_nothing(): pass", "--markers").stdout.fnmatch_lines(["@pytest.mark.jurybox_stress: damages*"])


def test_the_plugin_is_registered() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    assert declared == {"jurybox": "jurybox.pytest_plugin"}


def test_loading_the_plugin_loads_no_room_of_jurybox() -> None:
    code = "import jurybox.pytest_plugin, sys; print(*(name for name in sys.modules if name.startswith('jurybox')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["jurybox", "jurybox.pytest_plugin"]
