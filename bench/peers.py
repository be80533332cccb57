"""The same judgments through jurybox, a bare aiohttp loop and six other libraries, side by side.

    python bench/peers.py [--only NAME …] [--judgments 2000] [--concurrency 64 256 512] [--latency 100] [--json FILE]

Each peer has a small script in bench/peers and an environment of its own under build/peers, made here. CPU (user and
system) and peak memory are the kernel's word on the child; the time is the server's, from the first request to the last
answer. Then once with faults: what was lost, what was wrong; and once killed at half the work and started again: what
was answered twice. Machines are noisy: compare ratios. No network but loopback while measuring.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import spine
from spine import control, mock_server, write_items

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / "build" / "peers"
FLOOR = "bare loop"
# Whatever reports home, traces or fetches tables does not, and configuration of the machine's user is not read.
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_OUT": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "ERROR_REPORTING": "0",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
    "OPENAI_API_KEY": "mock",
}


class Unusable(Exception):
    """A peer that cannot be installed or run here, with the reason."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`mode` is the form of answer that the mock gives it. Without packages it runs in this very environment."""

    name: str
    script: str
    mode: str
    packages: tuple[str, ...] = ()


PEERS = (
    Peer(FLOOR, "bare.py", "score"),
    Peer("jurybox", "", "score"),
    Peer("openai SDK", "openai_sdk.py", "score", ("openai==3.49.0",)),
    Peer("Inspect AI", "inspect_.py", "grade", ("inspect-ai==0.3.285", "openai==3.49.0")),
    Peer("DeepEval", "deepeval_.py", "geval", ("deepeval==4.3.1",)),
    Peer("OpenEvals", "openevals_.py", "openevals", ("openevals==0.2.2",)),
    Peer("autoevals", "autoevals_.py", "autoevals", ("autoevals==0.4.1", "openai==3.49.0")),
    Peer("prometheus-eval", "prometheus_.py", "prom", ("prometheus-eval==0.1.20", "litellm==1.106.2")),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """One run: CPU and wall seconds of the process, seconds between first request and last answer, peak MB."""

    cpu: float
    wall: float
    span: float
    memory: float


@dataclass(slots=True)
class Row:
    """What is known of a peer; None where it was not measured."""

    peer: Peer
    costs: dict[int, list[Cost]] = field(default_factory=dict)
    lost: int | None = None
    wrong: int | None = None
    again: int | None = None
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how much."""

    root: str
    folder: Path
    data: Path
    count: int
    latency: int
    timeout: float

    def command(self, peer: Peer, concurrency: int, out: Path) -> list[str]:
        address = f"{self.root}/{peer.mode}/v1"
        if peer.name == "jurybox":
            words = ["run", str(self.data), "--rubrics", "faithfulness", "--judge", "openai/gpt-4o-mini"]
            bounds = ["--base-url", address, "--concurrency", str(concurrency), "--out", str(out)]
            return [sys.executable, "-m", "jurybox", *words, *bounds]
        return [
            interpreter(peer),
            str(HERE / "peers" / peer.script),
            str(self.data),
            address,
            str(concurrency),
            str(out),
        ]

    def start(self, peer: Peer, concurrency: int, out: Path, output: Any) -> subprocess.Popen[bytes]:
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
        caches = {"HOME": str(home), "XDG_CACHE_HOME": f"{out}.cache", "JURYBOX_CACHE": f"{out}.cache"}
        command = self.command(peer, concurrency, out)
        return subprocess.Popen(
            command, env={**kept, **QUIET, **caches}, cwd=home, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def interpreter(peer: Peer) -> str:
    """A peer's Python, with its packages; made when it is not there."""
    if not peer.packages:
        return sys.executable
    folder = ENVIRONMENTS / Path(peer.script).stem.rstrip("_")
    python, stamp = folder / "bin" / "python", folder / "packages.txt"
    wanted = "\n".join(peer.packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {', '.join(peer.packages)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", *peer.packages], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise Unusable("not installed: " + last_line(done.stderr))
        stamp.write_text(wanted)
    return str(python)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r"\w+://\S+|\(from versions:.*?\)", "…", lines[-1])[:200] if lines else "no message"


def run(bench: Bench, peer: Peer, concurrency: int, out: Path) -> Cost:
    """One run to its end; a peer that fails or takes too long is unusable, and its last words say why."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = bench.start(peer, concurrency, out, output)
        late = threading.Timer(bench.timeout, process.kill)
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if wall >= bench.timeout:
            raise Unusable(f"did not end within {bench.timeout:g} s")
        if process.returncode:
            output.seek(0)
            raise Unusable(last_line(output.read().decode("utf-8", "replace")))
    span = control(bench.root, "stats")["span_s"]
    return Cost(usage.ru_utime + usage.ru_stime, wall, span, usage.ru_maxrss / 1024)


def scores(peer: Peer, out: Path) -> dict[int, float]:
    """The scores that a run left behind, by the judgment's number."""
    if peer.name == "jurybox":
        rows = out.with_suffix(".jsonl")
        exporting = [sys.executable, "-m", "jurybox", "export", str(out), "--to", str(rows)]
        subprocess.run(exporting, check=True, capture_output=True)
        judged = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
        return {int(row["id"][1:]): row["score"] for row in judged if row["status"] == "scored"}
    if not out.exists():
        return {}
    lines = [line.split() for line in out.read_text().splitlines()]
    return {int(name[1:]): float(score) for name, score in lines}


def gold(number: int) -> int:
    """What the mock holds for right."""
    return 1 + (number // 5 * 7 + number % 5 * 3) % 5


def lost_and_wrong(found: Mapping[int, float], count: int) -> tuple[int, int]:
    return count - len(found), sum(abs(score - gold(number)) > 0.01 for number, score in found.items())


def measure(bench: Bench, row: Row, concurrency: int, repeat: int) -> None:
    """One run without faults, which must be complete and right: else its cost means nothing."""
    out = bench.folder / f"{Path(row.peer.script).stem or 'jurybox'}-{concurrency}-{repeat}.run.db"
    control(bench.root, f"config?latency={bench.latency}&faults=0")
    cost = run(bench, row.peer, concurrency, out)
    lost, wrong = lost_and_wrong(scores(row.peer, out), bench.count)
    if lost or wrong:
        raise Unusable(f"without any fault {lost} of {bench.count} judgments were lost and {wrong} wrong")
    row.costs.setdefault(concurrency, []).append(cost)


def under_faults(bench: Bench, row: Row, concurrency: int) -> None:
    """5 % 429, 2 % 500, 1 % nonsense, 1 % reset. A library that gives up has lost what it did not write."""
    out = bench.folder / f"{Path(row.peer.script).stem or 'jurybox'}-faults.run.db"
    control(bench.root, f"config?latency={bench.latency}&faults=1&seed=1")
    try:
        run(bench, row.peer, concurrency, out)
    except Unusable as exc:
        print(f"{row.peer.name}, with faults: {exc}", file=sys.stderr)
    row.lost, row.wrong = lost_and_wrong(scores(row.peer, out), bench.count)


def killed(bench: Bench, row: Row, concurrency: int) -> None:
    """SIGKILL when half the judgments were answered, then the same command again: what was answered twice?"""
    out = bench.folder / f"{Path(row.peer.script).stem or 'jurybox'}-killed.run.db"
    control(bench.root, f"config?latency={bench.latency}&faults=0")
    with tempfile.TemporaryFile() as output:
        process = bench.start(row.peer, concurrency, out, output)
        while process.poll() is None and control(bench.root, "stats")["distinct_ok"] < bench.count / 2:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
    run(bench, row.peer, concurrency, out)
    row.again = int(control(bench.root, "stats")["repeat_ok"])
    lost, wrong = lost_and_wrong(scores(row.peer, out), bench.count)
    if lost or wrong:
        print(f"{row.peer.name}, killed and started again: {lost} lost, {wrong} wrong", file=sys.stderr)


def attempt(row: Row, step: Callable[[], None]) -> None:
    """A peer that fails once is left out from then on; its row says why."""
    if not row.unusable:
        try:
            step()
        except Unusable as exc:
            row.unusable = str(exc)
            print(f"{row.peer.name}: {exc}", file=sys.stderr)


def compare(bench: Bench, rows: Sequence[Row], levels: Sequence[int], repeats: int, *, skip_faults: bool) -> None:
    """Peers take turns, so that a busy machine is busy for all."""
    for concurrency in levels:
        for repeat in range(repeats):
            for row in rows:
                attempt(row, lambda: measure(bench, row, concurrency, repeat))  # noqa: B023  called at once
    for row in rows if not skip_faults else ():
        attempt(row, lambda: under_faults(bench, row, levels[0]))  # noqa: B023
        attempt(row, lambda: killed(bench, row, levels[0]))  # noqa: B023


def medians(costs: Sequence[Cost]) -> Cost:
    return Cost(
        *(statistics.median(part) for part in zip(*(tuple(asdict(cost).values()) for cost in costs), strict=True))
    )


def table(rows: Sequence[Row], concurrency: int, bench: Bench, repeats: int) -> str:
    """80 columns; ratios are to the bare loop."""
    title = f"{bench.count:,} judgments, {bench.latency} ms latency, {concurrency} in flight, median of {repeats}"
    heading = f"{'':<16}{'CPU ms':>8}{'ratio':>8}{'time s':>8}{'ratio':>7}{'MB':>6}{'lost':>7}{'wrong':>7}{'again':>7}"
    floor = next((medians(row.costs[concurrency]) for row in rows if row.peer.name == FLOOR), None)
    return "\n".join(["", title, heading, *(line(row, concurrency, bench.count, floor) for row in rows)])


def line(row: Row, concurrency: int, count: int, floor: Cost | None) -> str:
    if concurrency not in row.costs:
        return f"{row.peer.name:<16}  {row.unusable}"[:80]
    cost = medians(row.costs[concurrency])
    cpu, span = (cost.cpu / floor.cpu, cost.span / floor.span) if floor else (float("nan"), float("nan"))
    counts = "".join(f"{'-' if number is None else number:>7}" for number in (row.lost, row.wrong, row.again))
    each = f"{1000 * cost.cpu / count:>8.2f}{cpu:>8.2f}"
    return f"{row.peer.name:<16}{each}{cost.span:>8.2f}{span:>7.2f}{cost.memory:>6.0f}{counts}"


def as_json(rows: Sequence[Row], bench: Bench, repeats: int) -> dict[str, Any]:
    conditions = {"judgments": bench.count, "latency_ms": bench.latency, "repeats": repeats, "cores": os.cpu_count()}
    return {**conditions, "python": sys.version.split()[0], "peers": [asdict(row) for row in rows]}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def chosen(only: Sequence[str]) -> list[Row]:
    """The bare loop is always there: all ratios are to it."""
    wanted = {name.lower() for name in only}
    unknown = wanted - {peer.name.lower() for peer in PEERS}
    if unknown:
        sys.exit(f"no such peer: {', '.join(sorted(unknown))}. Available: {', '.join(peer.name for peer in PEERS)}")
    return [Row(peer) for peer in PEERS if not wanted or peer.name == FLOOR or peer.name.lower() in wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="peers by the names of the table")
    parser.add_argument("--judgments", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--latency", type=int, default=100, help="of each answer, in ms")
    parser.add_argument(
        "--concurrency", type=int, nargs="+", default=[64], help="in flight at a time; several: a table each"
    )
    parser.add_argument("--skip-faults", action="store_true", help="cost only: no faults, no kill")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds that one run may take")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    spine.PORT = free_port()
    rows = chosen(options.only)
    for row in rows:
        attempt(row, lambda: print(row.peer.name, interpreter(row.peer), file=sys.stderr))  # noqa: B023
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name, mock_server(Path(name)) as root:
        folder = Path(name)
        write_items(folder / "items.jsonl", options.judgments, 10_000)
        bench = Bench(root, folder, folder / "items.jsonl", options.judgments, options.latency, options.timeout)
        compare(bench, rows, options.concurrency, options.repeats, skip_faults=options.skip_faults)
    for concurrency in options.concurrency:
        print(table(rows, concurrency, bench, options.repeats))
    if options.json:
        options.json.write_text(json.dumps(as_json(rows, bench, options.repeats), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
