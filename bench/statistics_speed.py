"""How long do statistics take? Bootstrap replicates at full size, and `show` of a run with a million judgments.

    python bench/statistics_speed.py [--judgments 1000000] [--replicates 10000] [--folder DIR]

Each measurement is a process of its own on one core: CPU and wall seconds and its peak memory are printed beside the
limits that we hold ourselves to. Exits with 1 when one is missed. (Not `statistics.py`: a script beside it would then
import this one for the standard library's.)
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SOURCES, SYSTEMS, RUBRICS, RATERS = 100, 14, 7, 3
SECONDS, MEGABYTES = 5.0, 1000.0
ONE_CORE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one process: seconds of CPU and of the clock, peak memory in MB."""

    what: str
    cpu: float
    wall: float
    megabytes: float

    @property
    def good(self) -> bool:
        return self.cpu <= SECONDS and self.megabytes <= MEGABYTES

    def line(self, *, limited: bool = True) -> str:
        told = f"{self.what:58} {self.cpu:6.2f} s CPU {self.wall:6.2f} s {self.megabytes:6.0f} MB"
        limit = f"  {self.cpu / SECONDS:4.0%} of {SECONDS:g} s" + ("" if self.good else "  <- missed")
        return told + (limit if limited else "")


def measured(what: str, command: list[str]) -> Cost:
    """A command in a process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **ONE_CORE})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}")
    kilobytes = used.ru_maxrss if sys.platform != "darwin" else used.ru_maxrss / 1024
    return Cost(what, used.ru_utime + used.ru_stime, time.perf_counter() - started, kilobytes / 1024)


def bootstrap(replicates: int, *, everything: bool) -> None:
    """The figures that `agree` resamples for every rubric, over sources, systems and both: three coefficients at
    summary level, or with `everything` at three levels, and the ceiling. Runs in the process that is measured."""
    import numpy as np

    from jurybox.stats import Draws, ceiling, mean_of_raters, pooled, summary_level, system_level
    from jurybox.stats.correlation import Coefficient

    coefficients: tuple[Coefficient, ...] = ("spearman", "kendall_b", "pearson")
    rng = np.random.default_rng(0)
    for _ in range(RUBRICS):
        quality = rng.normal(3, 1, (SOURCES, SYSTEMS))
        human = np.clip(np.round(quality[:, :, None] + rng.normal(0, 0.7, (SOURCES, SYSTEMS, RATERS))), 1, 5)
        judge = np.clip(np.round(quality + rng.normal(0, 0.7, quality.shape)), 1, 5)
        people, draws = mean_of_raters(human), Draws.of(SOURCES, SYSTEMS, replicates)
        for level in (summary_level, system_level, pooled) if everything else (summary_level,):
            for coefficient in coefficients:
                figure = level(judge, people, coefficient, draws)
                assert all(figure.estimate(over).low is not None for over in figure.resampled)
        if everything:
            assert ceiling(human, "spearman", draws).estimate().value is not None


def million(path: Path, judgments: int) -> int:
    """A run file with so many judgments, written with SQL: 7 rubrics, 2 judges, 3 samples, 14 systems."""
    from jurybox.rubrics import load
    from jurybox.store import RunFile
    from jurybox.store.series import Series

    judges, samples = ("openai/one", "openai/two"), 3
    items = judgments // (RUBRICS * len(judges) * samples)
    store = RunFile(path)
    for judge in judges:
        for rubric in load(["product-opinion"]):
            store.open_series(Series(rubric, judge, "classic", samples, items * samples, "0.1.0"))
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    each = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {}) "
    connection.execute("INSERT INTO sources VALUES (1, 1, '{}')")
    connection.execute(
        each.format(items) + "INSERT INTO items SELECT k, 's' || (k / 14), 'm' || (k % 14), 'words', 1, '{}' FROM n"
    )
    connection.execute(
        "INSERT INTO calls (call, key, prompt_digest, sample, attempts, text, model, tokens_in, tokens_out, seconds, "
        "cost, at, reasons, reused) "
        + each.format(items * len(judges) * samples * RUBRICS)
        + "SELECT k, randomblob(16), randomblob(16), 1, 1, 'Score: <score>4</score>', 'one', 900, 60, 1.0, 0.001, "
        "0.0, '{}', 0 FROM n"
    )
    connection.execute(
        each.format(samples) + "INSERT INTO judgments SELECT item, series, k, ((item - 1) * 14 + series - 1) * 3 + k, "
        "CASE WHEN item % 97 = 0 THEN NULL ELSE 1 + abs(random()) % 5 END, "
        "CASE WHEN item % 97 = 0 THEN 'unparsed' ELSE 'scored' END FROM items, series, n ORDER BY item, series, k"
    )
    connection.commit()
    made = int(connection.execute("SELECT COUNT(*) FROM judgments").fetchone()[0])
    connection.close()
    return made


def rated_run(folder: Path) -> Path:
    """A run of 100 sources x 14 systems x 7 rubrics with three raters, judged by word count."""
    import numpy as np

    from jurybox.api import judging
    from jurybox.rubrics import load

    rng = np.random.default_rng(0)
    names = [rubric.name for rubric in load(["product-opinion"])]
    data = folder / "rated.jsonl"
    with data.open("w", encoding="utf-8") as file:
        for source in range(SOURCES):
            reviews = [" ".join(f"w{word}" for word in rng.integers(0, 500, 80)) for _ in range(8)]
            for system in range(SYSTEMS):
                words = " ".join(f"w{word}" for word in rng.integers(0, 500, rng.integers(20, 120)))
                human = {name: rng.integers(1, 6, RATERS).tolist() for name in names}
                record = {"id": f"s{source}", "system": f"m{system}", "summary": words, "reviews": reviews}
                file.write(json.dumps({**record, "human": human}) + "\n")
    out = folder / "rated.db"
    judging.evaluate(data, rubrics="product-opinion", judge="baseline/rouge", out=out, cache=False)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--replicates", type=int, default=10_000)
    parser.add_argument(
        "--folder", help="where the run files are made and removed; the system's temporary one if unsaid"
    )
    parser.add_argument("--bootstrap-here", choices=("summary", "everything"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bootstrap_here:
        bootstrap(options.replicates, everything=options.bootstrap_here == "everything")
        return
    jurybox = [sys.executable, "-m", "jurybox"]
    again = [sys.executable, __file__, "--replicates", str(options.replicates), "--bootstrap-here"]
    size = f"{SOURCES} x {SYSTEMS} x {RUBRICS}"
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        costs = [measured(f"{options.replicates:,} replicates, {size}, summary level", [*again, "summary"])]
        print(costs[-1].line(), flush=True)
        nine = measured(f"{options.replicates:,} replicates, three levels and ceiling", [*again, "everything"])
        print(nine.line(limited=False), flush=True)
        run = rated_run(folder)
        whole = measured(f"jurybox agree, all of it, {size}, 2,000 resamples", [*jurybox, "agree", str(run)])
        print(whole.line(limited=False), flush=True)
        started = time.perf_counter()
        made = million(folder / "million.db", options.judgments)
        megabytes = (folder / "million.db").stat().st_size / 1e6
        print(f"(made {made:,} judgments in {time.perf_counter() - started:.0f} s, {megabytes:.0f} MB)", flush=True)
        for more in ([], ["--json"]):
            what = " ".join(["jurybox show", *more])
            costs.append(
                measured(f"{what} of {made:,} judgments", [*jurybox, "show", str(folder / "million.db"), *more])
            )
            print(costs[-1].line(), flush=True)
    sys.exit(0 if all(cost.good for cost in costs) else 1)


if __name__ == "__main__":
    main()
