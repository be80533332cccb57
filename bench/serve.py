"""How fast are the pages of a run with a million judgments, and how much memory do they take?

    python bench/serve.py [--judgments 1000000] [--folder DIR] [--repeats 5]

Makes a run file, starts `jurybox serve` on it, and asks for every page and filter, each over HTTP: first while nobody
writes, then while another process adds some 700 judgments a second. Printed are the CPU time of the request, which the
server says itself, that of the whole process meanwhile (figures and searches beside the request too), and the clock;
and the process's peak memory. The limits that we hold ourselves to are 300 ms of the request's CPU and 300 MB; the
clock has the same limit where the machine is quiet. Exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from big_run import keep_writing, write_run

MILLISECONDS, MEGABYTES = 300.0, 300.0
PAGES = {
    "overview": "/",
    "items, first page": "/items",
    "items by id": "/items?sort=id",
    "lowest first": "/items?sort=low",
    "highest first": "/items?sort=high",
    "most disputed first": "/items?sort=disputed",
    "system": "/items?system=model-3",
    "rubric, lowest first": "/items?rubric=fluency&sort=low",
    "judge": "/items?judge=openai/two",
    "score 1 to 2": "/items?low=1&high=2",
    "status": "/items?status=unparsed",
    "text, common": "/items?text=kettle&where=texts",
    "text, rare": "/items?text=politely+delivery+late&where=texts",
    "text, absent": "/items?text=nowhere+at+all&where=texts",
    "reason, in all of them": "/items?text=lid&where=reasons",
    "reason, rare": "/items?text=porcelain&where=reasons",
    "text or reason": "/items?text=porcelain+body",
    "everything at once": "/items?system=model-3&rubric=fluency&judge=openai/one&low=1&high=3&text=lid&sort=low",
    "one item": "/items/4711",
    "compare": "/versus?a=model-1&b=model-2",
    "compare, one rubric": "/versus?a=model-1&b=model-2&rubric=fluency&sort=first",
    "side by side": "/versus/4705/4706",
    "failures": "/failures",
    "failures of a judge": "/failures?judge=openai/two&status=failed",
    "judge card": "/judge",
    "how far the run is": "/live/pace",
    "annotate, a new rater": "/annotate?rater=ann",
    "annotate, the next": "/annotate?rater=ann",
}


@dataclass(frozen=True, slots=True)
class Took:
    """Milliseconds of one request: its own CPU as the server says it, the whole process's meanwhile, and the clock."""

    own: float
    cpu: float
    wall: float


class Server:
    """`jurybox serve` in a process of its own."""

    def __init__(self, run: Path) -> None:
        started = time.perf_counter()
        command = [sys.executable, "-m", "jurybox", "serve", str(run), "--port", "0", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += self.process.stdout.readline()
        self.started = time.perf_counter() - started
        self.host = json.loads(told)["url"].removeprefix("http://").strip("/")

    def ask(self, path: str) -> tuple[Took, str]:
        connection = http.client.HTTPConnection(self.host, timeout=120)
        before, began = self._cpu(), time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        said = re.search(r"cpu;dur=([\d.]+)", answer.getheader("server-timing") or "")
        assert said is not None
        took = Took(float(said[1]), self._cpu() - before, (time.perf_counter() - began) * 1000)
        connection.close()
        if answer.status != 200:
            sys.exit(f"{path}: status {answer.status}")
        return took, body

    def _cpu(self) -> float:
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def peak(self) -> float:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else float("nan")

    def settle(self) -> None:
        """Until nothing is computed beside the requests any more."""
        for path in ("/live/overview", "/live/judge"):
            while "omputed" in self.ask(path)[1]:
                time.sleep(0.5)


def measure(server: Server, repeats: int) -> bool:
    good = True
    print(f"{'':28} {'first request':>23}   {'median of the next':>23}")
    print(f"{'page':28} {'own':>7} {'process':>7} {'clock':>7}   {'own':>7} {'process':>7} {'clock':>7}   ms")
    for name, path in {**PAGES, "a late page, lowest first": _last_page(server)}.items():
        found = [server.ask(path)[0] for _ in range(repeats + 1)]
        medians = [statistics.median(getattr(one, what) for one in found[1:]) for what in ("own", "cpu", "wall")]
        missed = max(one.own for one in found) > MILLISECONDS
        good &= not missed
        figures = (found[0].own, found[0].cpu, found[0].wall, *medians)
        told = "   ".join(" ".join(f"{one:7.0f}" for one in figures[at : at + 3]) for at in (0, 3))
        print(f"{name:28} {told}" + ("   <- missed" if missed else ""))
    return good


def measure_growing(server: Server, run: Path, rounds: int) -> bool:
    """Every page while the run goes on, and the moving parts that open pages ask for in between."""
    writer = multiprocessing.get_context("spawn").Process(target=keep_writing, args=(run,), daemon=True)
    writer.start()
    found: dict[str, list[Took]] = {}
    try:
        time.sleep(3)
        for _ in range(rounds):
            for name, path in PAGES.items():
                found.setdefault(name, []).append(server.ask(path)[0])
                server.ask("/live/overview")
    finally:
        writer.terminate()
        writer.join(20)
        run.with_name(run.name + "-lock").unlink()
    print(f"while the run grows, {rounds} rounds{'':8} {'most':>7} {'median':>7}   {'most':>7} {'median':>7}")
    print(f"{'page':34} {'own':>7} {'own':>7}   {'clock':>7} {'clock':>7}   ms")
    good = True
    for name, took in found.items():
        own, wall = [one.own for one in took], [one.wall for one in took]
        missed = max(own) > MILLISECONDS
        good &= not missed
        line = (
            f"{name:34} {max(own):7.0f} {statistics.median(own):7.0f}   {max(wall):7.0f} {statistics.median(wall):7.0f}"
        )
        print(line + ("   <- missed" if missed else ""))
    return good


def _last_page(server: Server) -> str:
    """A page after the first, by its link: no page is slower than another for being far down."""
    found = re.search(r'rel="next" href="([^"]+)"', server.ask("/items?sort=low")[1])
    assert found is not None
    cursor = {"sort": "low", "after": "3.5:1"}
    return f"/items?{urlencode(cursor)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", help="where the run file is made and removed; the system's temporary one if unsaid")
    parser.add_argument("--rounds", type=int, default=6, help="over all pages while the run grows; 0 leaves that out")
    parser.add_argument("--run", help="measure a copy of this run file instead of making one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Path(folder) / "big.run.db"
        if options.run:
            shutil.copy(options.run, run)
        else:
            print(f"{write_run(run, options.judgments):,} judgments, {run.stat().st_size / 1e6:.0f} MB")
        server = Server(run)
        try:
            first = server.ask("/")[0]
            print(
                f"started in {server.started:.1f} s; the very first page: {first.own:.0f} ms CPU, {first.wall:.0f} ms"
            )
            print(f"memory so far {server.peak():.0f} MB")
            server.settle()
            good = measure(server, options.repeats)
            print(f"memory so far {server.peak():.0f} MB")
            good &= not options.rounds or measure_growing(server, run, options.rounds)
            peak = server.peak()
            print(f"peak memory {peak:.0f} MB of {MEGABYTES:.0f}" + ("" if peak <= MEGABYTES else "   <- missed"))
        finally:
            server.process.terminate()
            server.process.wait(20)
    sys.exit(not (good and peak <= MEGABYTES))


if __name__ == "__main__":
    main()
