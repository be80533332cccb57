"""How fast are the pages of a run with a million judgments, and how much memory do they take?

    python bench/serve.py [--judgments 1000000] [--folder DIR] [--repeats 5]

Makes a run file, starts `jurybox serve` on it, and asks for every page and filter, each over HTTP. Printed are the
server's CPU time and the clock's for the first and the median request, and the process's peak memory, beside the limits
that we hold ourselves to (300 ms, 300 MB). Exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from big_run import write_run

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
    "text, common": "/items?text=kettle",
    "text, rare": "/items?text=politely+delivery+late",
    "text, absent": "/items?text=nowhere+at+all",
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
    """Milliseconds of one request: the server's CPU (all threads) and the clock."""

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
        took = Took(self._cpu() - before, (time.perf_counter() - began) * 1000)
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
    last = _last_page(server)
    print(f"{'page':28} {'first: CPU':>12} {'clock':>9} {'median: CPU':>13} {'clock':>9}   ms")
    for name, path in {**PAGES, "a late page, lowest first": last}.items():
        found = [server.ask(path)[0] for _ in range(repeats + 1)]
        cpu, wall = (statistics.median(getattr(one, what) for one in found[1:]) for what in ("cpu", "wall"))
        missed = max(found[0].cpu, cpu) > MILLISECONDS
        good &= not missed
        line = f"{name:28} {found[0].cpu:12.0f} {found[0].wall:9.0f} {cpu:13.0f} {wall:9.0f}"
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
    parser.add_argument("--run", help="measure this run file instead of making one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Path(options.run) if options.run else Path(folder) / "big.run.db"
        if not options.run:
            print(f"{write_run(run, options.judgments):,} judgments, {run.stat().st_size / 1e6:.0f} MB")
        server = Server(run)
        try:
            first = server.ask("/")[0]
            print(
                f"started in {server.started:.1f} s; the very first page: {first.cpu:.0f} ms CPU, {first.wall:.0f} ms"
            )
            print(f"memory so far {server.peak():.0f} MB")
            server.settle()
            good = measure(server, options.repeats)
            peak = server.peak()
            print(f"peak memory {peak:.0f} MB of {MEGABYTES:.0f}" + ("" if peak <= MEGABYTES else "   <- missed"))
        finally:
            server.process.terminate()
            server.process.wait(20)
    sys.exit(not (good and peak <= MEGABYTES))


if __name__ == "__main__":
    main()
