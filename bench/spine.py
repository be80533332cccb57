"""How close is a run to a bare HTTP loop? CPU, wall time and memory of `jurybox run`, everything durable, as ratios.

Uses the mock server in ../shared/tools. Prints medians of several repeats; machines are noisy, so compare ratios only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
MOCK_SOURCE = HERE.parent.parent / "shared" / "tools" / "mock_openai.c"
PORT = 8231
REVIEW = "The hinge is stiff but the lid closes well and after three months nothing rattles; I would buy it again. "


@contextmanager
def mock_server(folder: Path) -> Iterator[str]:
    """The compiled mock on loopback; yields its root address."""
    if not MOCK_SOURCE.exists():
        sys.exit(f"{MOCK_SOURCE} is needed for this benchmark")
    binary = folder / "mock"
    subprocess.run(["gcc", "-O2", "-w", "-o", str(binary), str(MOCK_SOURCE)], check=True)
    server = subprocess.Popen([str(binary), str(PORT)])
    root = f"http://127.0.0.1:{PORT}"
    try:
        for _ in range(100):
            try:
                control(root, "stats")
                break
            except OSError:
                time.sleep(0.05)
        yield root
    finally:
        server.kill()
        server.wait()


def control(root: str, command: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{root}/ctl/{command}") as response:
        return dict(json.loads(response.read()))


def write_items(path: Path, count: int, characters: int) -> None:
    """Items whose prompts the mock can tell apart, of about the given size."""
    with path.open("w") as file:
        for number in range(count):
            review = REVIEW * (characters // len(REVIEW) // 4)
            reviews = [f"{review} [[S:{number // 5:04d}]] [[M:{number % 5}]]", review, review, review]
            summary = f"Sturdy, with a stiff hinge ({number})."
            file.write(json.dumps({"id": f"p{number}", "system": "s", "summary": summary, "reviews": reviews}) + "\n")


def measure(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak memory in MB of a command."""
    started = time.perf_counter()
    # An installed package keeps its bytecode; where a workplace forbids that, every start would compile our sources.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=kept)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{errors.read().decode()}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - started, usage.ru_maxrss / 1024


def jurybox(data: Path, root: str, concurrency: int, out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jurybox", "run", str(data), "--rubrics", "faithfulness", "--judge", "openai/mock"),
        *("--base-url", f"{root}/score/v1", "--concurrency", str(concurrency), "--out", str(out)),
        *("--cache", f"{out}.cache"),  # on, as by default, and empty
    ]


def bare(data: Path, root: str, concurrency: int) -> list[str]:
    return [sys.executable, str(HERE / "bare_loop.py"), str(data), f"{root}/score/v1", str(concurrency)]


def compare(data: Path, root: str, folder: Path, *, count: int, latency: int, concurrency: int, repeats: int) -> None:
    """Alternate both programs, so that a busy machine is busy for both."""
    figures: dict[str, list[tuple[float, float, float]]] = {"bare loop": [], "jurybox": []}
    for repeat in range(repeats):
        out = folder / f"{latency}-{concurrency}-{repeat}.run.db"
        commands = {"bare loop": bare(data, root, concurrency), "jurybox": jurybox(data, root, concurrency, out)}
        for name, command in commands.items():
            control(root, f"config?latency={latency}&faults=0")
            cpu, _, memory = measure(command)
            stats = control(root, "stats")
            if stats["ok200"] != count:
                sys.exit(f"{name}: the server answered {stats['ok200']} of {count} requests")
            figures[name].append((cpu, stats["span_s"], memory))
    medians = {name: [statistics.median(part) for part in zip(*rows, strict=True)] for name, rows in figures.items()}
    print(f"\n{count:,} judgments, {latency} ms latency, {concurrency} in flight, median of {repeats}")
    print(f"{'':12}{'CPU s':>8}{'first to last request s':>26}{'memory MB':>12}")
    for name, (cpu, span, memory) in medians.items():
        print(f"{name:12}{cpu:8.2f}{span:26.2f}{memory:12.0f}")
    ours, floor = medians["jurybox"], medians["bare loop"]
    print(f"{'ratio':12}{ours[0] / floor[0]:8.2f}{ours[1] / floor[1]:26.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--many", type=int, default=100_000, help="judgments of the memory measurement; 0: none")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name, mock_server(Path(name)) as root:
        folder = Path(name)
        data = folder / "items.jsonl"
        write_items(data, 2000, 10_000)
        for latency in (0, 100):
            compare(data, root, folder, count=2000, latency=latency, concurrency=64, repeats=options.repeats)
        if options.many:
            many = folder / "many.jsonl"
            write_items(many, options.many, 1_000)
            control(root, "config?latency=0&faults=0")
            cpu, wall, memory = measure(jurybox(many, root, 64, folder / "many.run.db"))
            each = cpu / options.many * 1e6
            print(f"\n{options.many:,} judgments: {wall:.0f} s, {each:.0f} µs of CPU each, {memory:.0f} MB")


if __name__ == "__main__":
    main()
