"""A real server of pages on loopback, asked with plain HTTP, so that any header can be sent."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

import uvicorn

from jurybox.report.html.under_stress import UnderStress
from jurybox.web.app import gated
from jurybox.web.security import Guard
from jurybox.web.site import Site
from pages import Element, parsed


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    cookies: tuple[str, ...]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def page(self) -> Element:
        return parsed(self.text)


class Served:
    """A run behind its guard. Keeps cookies as a browser does."""

    def __init__(
        self,
        run: str | Path,
        host: str = "127.0.0.1",
        token: str | None = None,
        stress: UnderStress | None = None,
    ) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(64)
        self.port = int(self._socket.getsockname()[1])
        self.host = f"127.0.0.1:{self.port}"
        self.guard = Guard(host, self.port, token)
        self.site = Site.of(Path(run), self.guard, stress)
        config = uvicorn.Config(gated(self.site), log_level="critical", access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self.jar: dict[str, str] = {}

    def __enter__(self) -> Served:
        self._thread.start()
        until = time.monotonic() + 20
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.01)
        assert self._server.started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._socket.close()

    def ask(self, method: str, path: str, body: str | None = None, **headers: str | None) -> Answer:
        """Header names have _ for -; None leaves a header out."""
        told = {"host": self.host, "cookie": "; ".join(f"{name}={value}" for name, value in self.jar.items())}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}  # type: ignore[misc]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in told.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("content-length", str(len(body.encode())))
            connection.endheaders(None if body is None else body.encode())
            answer = connection.getresponse()
            found = Answer(
                answer.status,
                {name.lower(): value for name, value in answer.getheaders()},
                tuple(value for name, value in answer.getheaders() if name.lower() == "set-cookie"),
                answer.read(),
            )
        finally:
            connection.close()
        for cookie in found.cookies:
            name, _, rest = cookie.partition("=")
            self.jar[name] = rest.partition(";")[0]
        return found

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, **headers)

    def csrf(self, path: str = "/annotate?rater=ann") -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None
        return found[1]

    def post(self, path: str, fields: Mapping[str, str], **headers: str | None) -> Answer:
        told: dict[str, str | None] = {
            "origin": f"http://{self.host}",
            "content_type": "application/x-www-form-urlencoded",
            **headers,
        }
        return self.ask("POST", path, urlencode(fields), **told)
