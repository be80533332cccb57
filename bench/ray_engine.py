"""Two workers of 32 calls each on a local Ray: how near to the ideal rate, and what a kill costs.

Uses the mock server in ../shared/tools, which counts requests per judgment. The ideal is judgments x latency / calls in
flight, between the first and the last request. The kills: SIGKILL of one worker, and of the driver, which is then
started again. A repeated request is one for a judgment that was answered before. Not called `ray.py`: Python looks for
modules beside the script first, and would find it in place of Ray.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import spine

WORKERS, CONCURRENCY, LATENCY_MS = 2, 32, 100
spine.PORT = 8257  # others may be measuring on the usual one


def command(data: Path, root: str, out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jurybox", "run", str(data), "--rubrics", "faithfulness", "--judge", "openai/mock"),
        *("--base-url", f"{root}/score/v1", "--concurrency", str(CONCURRENCY), "--out", str(out)),
        *("--engine", "ray", "--workers", str(WORKERS), "--json"),
    ]


def descendants(process: int) -> Iterator[tuple[int, str]]:
    """Every process below one, with its command: only what this benchmark has started is ever touched."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    waiting = [process]
    while waiting:
        for child in parents.get(waiting.pop(), []):
            waiting.append(child)
            try:
                yield child, Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue


def workers_of(driver: int) -> list[int]:
    return [process for process, name in descendants(driver) if "MapWorker" in name]


def wait_for_requests(root: str, count: int, seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while spine.control(root, "stats")["ok200"] < count:
        if time.monotonic() > until:
            sys.exit(f"the server did not see {count} requests within {seconds:g} s")
        time.sleep(0.05)


def repeated(root: str) -> tuple[int, int]:
    """Judgments that were asked, and requests beyond one each."""
    with urllib.request.urlopen(f"{root}/ctl/counts") as response:
        tries = [int(line.split()[2]) for line in response.read().decode().splitlines()]
    return len(tries), sum(tries) - len(tries)


def finish(process: subprocess.Popen[bytes]) -> None:
    if process.wait(300) != 0:
        sys.exit(f"the run ended with status {process.returncode}")


def start(data: Path, root: str, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(data, root, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def bare_span(data: Path, root: str) -> float:
    """The same requests from one process that does nothing else: what this machine allows just now."""
    spine.control(root, f"config?latency={LATENCY_MS}&faults=0")
    spine.measure(spine.bare(data, root, WORKERS * CONCURRENCY))
    return spine.control(root, "stats")["span_s"]


def throughput(data: Path, root: str, out: Path, count: int) -> None:
    bare = bare_span(data, root)
    spine.control(root, f"config?latency={LATENCY_MS}&faults=0")
    began = time.perf_counter()
    finish(start(data, root, out))
    wall, stats = time.perf_counter() - began, spine.control(root, "stats")
    ideal = count * LATENCY_MS / 1000 / (WORKERS * CONCURRENCY)
    print(
        f"{count:,} judgments, {LATENCY_MS} ms, {WORKERS} x {CONCURRENCY} in flight: first to last request "
        f"{stats['span_s']:.2f} s, ideal {ideal:.2f} s, {ideal / stats['span_s']:.1%} of the ideal rate; "
        f"{stats['max_inflight']:.0f} in flight at most; the whole command took {wall:.0f} s"
    )
    print(
        f"a bare loop, just before: {bare:.2f} s, {ideal / bare:.1%} of the ideal; ours {stats['span_s'] / bare:.2f} x"
    )
    print(f"judgments asked: {repeated(root)[0]:,}, repeated requests: {repeated(root)[1]}")


def kill_worker(data: Path, root: str, out: Path, count: int) -> None:
    spine.control(root, f"config?latency={LATENCY_MS}&faults=0")
    process = start(data, root, out)
    wait_for_requests(root, count // 2)
    os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    finish(process)
    print(f"one worker killed half way: {repeated(root)[0]:,} judgments, {repeated(root)[1]} repeated requests")


def kill_driver(data: Path, root: str, out: Path, count: int) -> None:
    spine.control(root, f"config?latency={LATENCY_MS}&faults=0")
    process = start(data, root, out)
    wait_for_requests(root, count // 2)
    process.kill()
    process.wait()
    time.sleep(3)  # Ray ends with its driver
    finish(start(data, root, out))
    print(
        f"driver killed half way, started again: {repeated(root)[0]:,} judgments, {repeated(root)[1]} repeated requests"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--only", choices=["throughput", "kill_worker", "kill_driver"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, spine.mock_server(Path(name)) as root:
        folder = Path(name)
        data = folder / "items.jsonl"
        spine.write_items(data, options.count, 2_000)
        for part in (throughput, kill_worker, kill_driver):
            if options.only in (None, part.__name__):
                part(data, root, folder / f"{part.__name__}.run", options.count)


if __name__ == "__main__":
    main()
