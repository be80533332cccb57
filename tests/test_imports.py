"""Importing jurybox and asking for help are cheap: what is heavy is imported where it is used. Counted, not timed."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    *("aiohttp", "pydantic", "pyarrow", "numpy", "scipy", "rich", "orjson", "pandas", "polars", "asyncio", "sqlite3"),
    *("ssl", "multiprocessing", "concurrent", "tomllib", "csv", "statistics", "hashlib", "email", "http", "unittest"),
    *("ray", "fsspec"),
}
START = {
    "import": "import jurybox",
    "help": "import sys; sys.argv = ['jurybox', '--help']\nfrom jurybox.cli import main\nmain()",
    "run help": "import sys; sys.argv = ['jurybox', 'run', '--help']\nfrom jurybox.cli import main\nmain()",
    "version": "import sys; sys.argv = ['jurybox', '--version']\nfrom jurybox.cli import main\nmain()",
}
# Modules beyond those of a bare interpreter, measured with Python 3.11 and click 8.5, and a tenth more.
MOST = {"import": 33, "help": 112, "run help": 112, "version": 112}


def modules(code: str) -> set[str]:
    program = f"try:\n    {code.replace(chr(10), chr(10) + '    ')}\nexcept SystemExit:\n    pass\n"
    program += "import sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("start", START)
def test_nothing_heavy_is_imported(start: str) -> None:
    found = modules(START[start])
    assert "jurybox" in found
    assert {name.split(".")[0] for name in found} & HEAVY == set()


@pytest.mark.parametrize("start", START)
def test_few_modules_are_imported(start: str) -> None:
    extra = modules(START[start]) - modules("pass")
    assert len(extra) <= MOST[start], sorted(extra)


def test_importing_jurybox_reads_no_room() -> None:
    assert {name for name in modules("import jurybox") if name.startswith("jurybox")} == {"jurybox"}
