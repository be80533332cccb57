"""`ollama/MODEL`: a model that Ollama serves, at its usual address or where `OLLAMA_HOST` says. Speaks `openai`'s API.

No key is needed and none is sent. It costs nothing, unless a price is given or known for another host.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit, urlunsplit

import orjson

from jurybox.errors import JuryboxError
from jurybox.judges.base import Judge, Settings
from jurybox.judges.completions import UNREADABLE
from jurybox.judges.environment import setting
from jurybox.judges.http import Server, checked_address, count
from jurybox.judges.openai import SECONDS_FOR_MODELS, OpenAIJudge, authorization, given_price
from jurybox.judges.prices import FREE, price_of

ADDRESS = "OLLAMA_HOST"
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 11434
EXAMPLE = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}/v1"


def make(spec: str, model: str, settings: Settings) -> Judge:
    name = "--base-url" if settings.base_url else ADDRESS
    parts = checked_address(settings.base_url or address_of(setting(ADDRESS)), EXAMPLE, name)
    headers, secrets = authorization(parts, "")
    advice = f"; is Ollama running there? Start it with 'ollama serve', or set {ADDRESS}"
    server = Server(parts, headers, secrets, unreachable=advice)
    price = given_price(settings) or price_of("ollama", parts.hostname or "", model) or FREE
    return OllamaJudge(spec, model, server, price)


def address_of(host: str) -> str:
    """The base address that `OLLAMA_HOST` means: `host`, `host:port`, `:port` or a whole address, as Ollama reads it.
    An address to listen on everywhere is asked on this machine."""
    host = host.strip().strip("\"'")
    given = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(given)
        name, port = parts.hostname or DEFAULT_HOST, parts.port
    except ValueError:
        return given  # refused by whoever checks it
    if name in ("0.0.0.0", "::"):  # noqa: S104  nothing is bound here
        name = DEFAULT_HOST
    if port is None and "://" not in host:
        port = DEFAULT_PORT
    login = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    shown = f"[{name}]" if ":" in name else name
    path = parts.path.rstrip("/").removesuffix("/v1") + "/v1"
    return urlunsplit((parts.scheme, f"{login}{shown}" + (f":{port}" if port else ""), path, parts.query, ""))


class OllamaJudge(OpenAIJudge):
    """The same judge, with Ollama's own advice, and its own way of telling how much a model holds. Longer prompts are
    cut by Ollama without a word, so that figure matters."""

    async def learn_context(self) -> int | None:
        """As the running model was loaded; None while it is not loaded, because then Ollama has not decided yet."""
        if self.context is None:
            try:
                async with asyncio.timeout(SECONDS_FOR_MODELS):
                    answer = await self._server.send("GET", f"{self._server.url('').removesuffix('/v1')}/api/ps")
                running = {
                    model["name"].removesuffix(":latest"): model for model in orjson.loads(answer.body)["models"]
                }
                self.context = count(running[self.model.removesuffix(":latest")].get("context_length")) or None
            except (JuryboxError, TimeoutError, *UNREADABLE):
                return None
        return self.context

    async def _unknown_model(self) -> str:
        return f"{await super()._unknown_model()}; get it with 'ollama pull {self.model}'"
