"""Keys and addresses from the usual variables: the environment first, then a `.env` file in the current directory.

Nothing is written back to the environment. A `.env` may lie in a directory that somebody else filled, so an address
from it never gets a key from the real environment; and no message ever shows what such a file holds.
"""

from __future__ import annotations

import io
import ipaddress
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jurybox.errors import JudgeSpecError

FILE = ".env"


@dataclass(frozen=True, slots=True, repr=False)
class Setting:
    """A variable's value, empty if it is not set, and whether it comes from the `.env` file. It has no repr: it may be
    a key."""

    value: str
    from_file: bool = False


def setting(name: str) -> str:
    """The value of a variable, or an empty text."""
    return find_setting(name).value


def find_setting(name: str) -> Setting:
    """A variable with its origin. One that is set but empty in the environment is empty: that is how to turn it off."""
    if name in os.environ:
        return Setting(os.environ[name])
    value = _file_values().get(name) or ""
    return Setting(value, from_file=bool(value))


def refuse_stray_key(address_name: str, key_name: str, host: str, own_host: str) -> None:
    """A `.env` that names the server must bring the key itself, or any directory could send your key elsewhere. The
    provider's own host and this machine are no elsewhere."""
    if not find_setting(address_name).from_file or host == own_host or is_loopback(host):
        return
    key = find_setting(key_name)
    if key.value and not key.from_file:
        raise JudgeSpecError(
            f"{FILE} in this directory sets {address_name} to {host}, and {key_name} comes from your environment; it "
            f"is not sent there. Name the server with --base-url if you mean it, or put its own {key_name} into {FILE}"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _file_values() -> dict[str, str | None]:
    path = Path.cwd() / FILE
    try:
        if not path.is_file():  # a virtual environment may be a directory of that name
            return {}
        return _read(str(path), path.stat().st_mtime_ns)
    except OSError as exc:
        raise JudgeSpecError(f"{path} cannot be read: {exc.strerror}") from exc


@lru_cache(maxsize=8)
def _read(path: str, _changed: int) -> dict[str, str | None]:
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        # Without its cause: that holds the bytes.
        raise JudgeSpecError(f"{path} is not text in UTF-8") from None
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            raise JudgeSpecError(f"{path}, line {binding.original.line}: should be NAME=value")
    return dotenv_values(stream=io.StringIO(text), interpolate=False)
