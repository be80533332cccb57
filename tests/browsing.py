"""The real command in a process of its own, to be opened in a browser, and ways to wait for what its pages show."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import command_line
from kettles import judged_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Serving:
    """The real command in a process of its own, which can be killed and started again at the same address."""

    def __init__(self, run: Path, stress: Path | None = None) -> None:
        self.run, self.port, self.stress = run, free_port(), stress
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Serving:
        tested = () if self.stress is None else ("--stress", self.stress)
        words = command_line("serve", self.run, "--port", self.port, "--json", *tested)
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = self._process.stdout.readline()
            assert line, "the server ended before it could be reached"
            told += line
        assert json.loads(told)["url"] == f"{self.url}/"
        return self

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(20)
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # In a thread of its own: Playwright keeps an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(judged_run, tmp_path_factory.mktemp("serve") / "kettles.run.db").result()


def opened(browser: Browser, url: str, width: int = 1024, **options: Any) -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.goto(url)
    return page


def until(page: Page, holds: str) -> None:
    """Asked from here: Playwright's own way to wait is `eval`, which the policy of the pages forbids."""
    deadline = time.monotonic() + 20
    while not page.evaluate(holds):
        assert time.monotonic() < deadline, holds
        page.wait_for_timeout(30)


def settled(page: Page) -> None:
    """Until what is computed beside the page has come, and axe can judge it."""
    until(page, "!/[Bb]eing computed/.test(document.body.textContent)")
