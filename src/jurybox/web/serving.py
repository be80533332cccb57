"""From a run file to a server that listens: what must be right before, and how it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jurybox.api.looking import path_of
from jurybox.errors import JuryboxError, SetupError
from jurybox.web.security import Guard, is_loopback, refuse_open_door

if TYPE_CHECKING:
    from jurybox.api.carding import Tested

PORT = 8642
# Seconds between two looks at a folder of results, and how many times as long as the last look took at least.
LOOK_AGAIN, REST = 3.0, 10
# Of glibc's mallopt: blocks from this size on go back to the system when they are freed, and threads share two heaps.
# Else what the arrays of a growing run leave behind stays with the process, in pieces: 390 MB instead of 260.
BLOCK, _MMAP_THRESHOLD, _ARENA_MAX = 256 * 1024, -3, -8
MISSING = "jurybox serve needs the extra `web`: pip install 'jurybox[web]'"


@dataclass(frozen=True, slots=True)
class Serving:
    """Where a server can be reached, and what it serves."""

    run: str
    host: str
    port: int
    token: bool

    @property
    def url(self) -> str:
        shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"


def serve(
    run: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    stress: Tested | None = None,
    ready: Callable[[Serving], None] | None = None,
) -> None:
    """Serve a run until interrupted. `ready` is called when it can be reached; port 0 takes any that is free.

    `stress` is what `stress` found about the run's judge, its run file, or a file that `jurybox stress --json` wrote.
    """
    refuse_open_door(host, token)
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as exc:
        raise SetupError(MISSING) from exc
    from jurybox.web import overview
    from jurybox.web.app import gated
    from jurybox.web.rendering import load_all
    from jurybox.web.site import Site, read_stress

    tested = None if stress is None else read_stress(stress)
    _give_memory_back()
    listening = _listen(host, port)
    try:
        guard = Guard(host, listening.getsockname()[1], token)
        site = Site.of(path_of(run), guard, tested)
        site.watch.index()  # whatever is wrong with the file is said here, and the first page waits for nothing
        load_all()
        overview.prepare(site)
        config = uvicorn.Config(
            gated(site), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
        )

        class Server(uvicorn.Server):
            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                if ready is not None:
                    ready(Serving(str(run), host, guard.port, token is not None))

        if site.path != Path(run):
            threading.Thread(target=_follow, args=(run,), daemon=True).start()
        with suppress(KeyboardInterrupt):  # how people end it
            Server(config).run(sockets=[listening])
    finally:
        listening.close()


def _follow(run: str | Path) -> None:
    """Bring the run file of a folder of results up to date now and then, as long as somebody serves it."""
    while True:
        began = time.monotonic()
        with suppress(JuryboxError):  # being written, or gone: the pages say so
            path_of(run)
        time.sleep(max(LOOK_AGAIN, REST * (time.monotonic() - began)))


def _give_memory_back() -> None:
    """Where the C library has no such setting, nothing is lost but memory."""
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, BLOCK)
        mallopt(_ARENA_MAX, 2)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
        listening.listen(128)
    except OSError as exc:
        listening.close()
        hint = "; --port 0 takes any that is free" if is_loopback(host) else ""
        raise SetupError(f"--host {host} --port {port}: cannot listen there: {exc.strerror or exc}{hint}") from exc
    return listening
