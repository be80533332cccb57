"""A run on a cluster as discrete events: when workers, latencies, rate limits and faults are what they are, how long?

Virtual time, no network: a worker has so many calls in flight; a call takes its place in the line of requests and
tokens a minute (the same even line as `runner/turns.py`), then a latency from a log-normal distribution; it may fail
and be tried again after a pause, be throttled, or its worker may be lost with what it had not flushed. It backs the
arithmetic of docs/scale.md: simulate a part of the data, compare with the formula, print both.

    python bench/scale_simulation.py --calls 200000 --workers 50 --concurrency 64 --latency 8 --rpm 30000
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
from dataclasses import dataclass, field

from jurybox.runner.cluster.writer import JUDGMENTS_A_PART, PARTS_A_PACK, SECONDS_A_PART
from jurybox.runner.patience import Patience
from jurybox.runner.turns import MINUTE, Line


@dataclass(frozen=True, slots=True)
class World:
    """Seconds, rates a minute, and shares of calls. `spread` is the standard deviation of the logarithm of a latency:
    0.5 makes the slowest of a hundred calls take about three times the median."""

    calls: int
    workers: int
    concurrency: int
    latency: float
    spread: float = 0.5
    tokens: int = 2600
    rpm: float | None = None
    tpm: float | None = None
    failing: float = 0.01
    losses_a_worker_hour: float = 0.01
    seed: int = 1


@dataclass(slots=True)
class Seen:
    seconds: float = 0.0
    requests: int = 0
    failed: int = 0
    lost_workers: int = 0
    repeated: int = 0
    parts: int = 0
    most_in_flight: int = 0
    waited: float = 0.0


@dataclass(slots=True)
class Worker:
    in_flight: set[int] = field(default_factory=set)
    unflushed: int = 0
    oldest: float = 0.0
    generation: int = 0


class Simulation:
    """Events are (time, number, kind, worker, generation, call, tries)."""

    def __init__(self, world: World) -> None:
        self.world, self.seen = world, Seen()
        self._random = random.Random(world.seed)
        self._events: list[tuple[float, int, str, int, int, int, int]] = []
        self._number = 0
        self._workers = [Worker() for _ in range(world.workers)]
        self._requests = None if world.rpm is None else Line(MINUTE / world.rpm)
        self._tokens = None if world.tpm is None else Line(MINUTE / world.tpm)
        self._left, self._done, self._under_way = world.calls, 0, 0
        self._patience = Patience()

    def run(self) -> Seen:
        for number in range(self.world.workers):
            self._fill(number, 0.0)
            self._plan_loss(number, 0.0)
        while self._done < self.world.calls and self._events:
            now, _, kind, number, generation, call, tries = heapq.heappop(self._events)
            worker = self._workers[number]
            if generation != worker.generation:
                continue  # of a worker that was lost since
            self.seen.seconds = now
            if kind == "lost":
                self._lose(number, now)
            elif kind == "answer":
                self._answer(number, now, call, tries)
            else:
                self._send(number, now, call, tries)
        self.seen.parts += sum(worker.unflushed > 0 for worker in self._workers)
        return self.seen

    def _push(self, when: float, kind: str, number: int, call: int, tries: int) -> None:
        self._number += 1
        generation = self._workers[number].generation
        heapq.heappush(self._events, (when, self._number, kind, number, generation, call, tries))

    def _fill(self, number: int, now: float) -> None:
        worker = self._workers[number]
        while self._left and len(worker.in_flight) < self.world.concurrency:
            self._left -= 1
            call = self._number
            worker.in_flight.add(call)
            self._under_way += 1
            self.seen.most_in_flight = max(self.seen.most_in_flight, self._under_way)
            self._send(number, now, call, 1)

    def _send(self, number: int, now: float, call: int, tries: int) -> None:
        start = now
        if self._requests is not None:
            start = max(start, self._requests.place(1, now))
        if self._tokens is not None:
            start = max(start, self._tokens.place(self.world.tokens, now))
        self.seen.requests += 1
        self.seen.waited += start - now
        latency = self._random.lognormvariate(math.log(self.world.latency), self.world.spread)
        self._push(start + latency, "answer", number, call, tries)

    def _answer(self, number: int, now: float, call: int, tries: int) -> None:
        if self._random.random() < self.world.failing and tries <= self._patience.retries:
            self.seen.failed += 1
            pause = min(self._patience.first_pause * 2 ** (tries - 1), self._patience.longest_pause)
            self._push(now + pause * self._random.uniform(0.5, 1), "again", number, call, tries + 1)
            return
        worker = self._workers[number]
        worker.in_flight.discard(call)
        self._under_way -= 1
        self._done += 1
        self._keep(worker, now)
        self._fill(number, now)

    def _keep(self, worker: Worker, now: float) -> None:
        if worker.unflushed and now - worker.oldest >= SECONDS_A_PART:
            self.seen.parts += 1
            worker.unflushed = 0
        worker.oldest = worker.oldest if worker.unflushed else now
        worker.unflushed += 1
        if worker.unflushed >= JUDGMENTS_A_PART:
            self.seen.parts += 1
            worker.unflushed = 0

    def _plan_loss(self, number: int, now: float) -> None:
        if self.world.losses_a_worker_hour > 0:
            when = now + self._random.expovariate(self.world.losses_a_worker_hour / 3600)
            self._push(when, "lost", number, -1, 0)

    def _lose(self, number: int, now: float) -> None:
        """Calls in flight and judgments that were not flushed are asked again, by whoever is free."""
        worker = self._workers[number]
        lost = len(worker.in_flight) + worker.unflushed
        self.seen.lost_workers += 1
        self.seen.repeated += lost
        self._left += lost
        self._done -= worker.unflushed
        self._under_way -= len(worker.in_flight)
        self._workers[number] = Worker(generation=worker.generation + 1)
        self._plan_loss(number, now)
        self._fill(number, now)


def formula(world: World) -> tuple[float, str]:
    """Seconds by arithmetic alone, and what bounds them."""
    mean = world.latency * math.exp(world.spread**2 / 2)
    tries = 1 / (1 - world.failing)
    bounds = {"calls in flight": world.calls * tries * mean / (world.workers * world.concurrency)}
    if world.rpm is not None:
        bounds["requests a minute"] = world.calls * tries * MINUTE / world.rpm
    if world.tpm is not None:
        bounds["tokens a minute"] = world.calls * tries * world.tokens * MINUTE / world.tpm
    bound = max(bounds, key=lambda name: bounds[name])
    return bounds[bound], bound


def report(world: World) -> None:
    seen = Simulation(world).run()
    seconds, bound = formula(world)
    print(
        f"{world.calls:>10,} calls, {world.workers:>4} x {world.concurrency}, {world.latency:g} s median latency: "
        f"simulated {seen.seconds / 3600:.2f} h, formula {seconds / 3600:.2f} h (bound by {bound}), "
        f"{seconds / seen.seconds:.1%} of it"
    )
    print(
        f"{'':11}{seen.requests:,} requests, {seen.failed:,} failed, {seen.most_in_flight:,} in flight at most, "
        f"{seen.waited / max(seen.requests, 1):.1f} s a request waiting for its turn"
    )
    print(
        f"{'':11}{seen.lost_workers} workers lost, {seen.repeated} calls repeated; {seen.parts:,} parts, "
        f"about {seen.parts // PARTS_A_PACK + world.workers} files after packing"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=0, help="one world of your own instead of the ones of the page")
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--latency", type=float, default=8.0)
    parser.add_argument("--rpm", type=float)
    parser.add_argument("--tpm", type=float)
    parser.add_argument("--failing", type=float, default=0.01)
    parser.add_argument("--losses", type=float, default=0.01, help="workers lost, a worker and hour")
    given = parser.parse_args()
    if given.calls:
        worlds = [
            World(
                given.calls,
                given.workers,
                given.concurrency,
                given.latency,
                rpm=given.rpm,
                tpm=given.tpm,
                failing=given.failing,
                losses_a_worker_hour=given.losses,
            )
        ]
    else:
        worlds = [
            World(200_000, 2, 64, 8.0),
            World(400_000, 50, 64, 8.0),
            World(400_000, 50, 64, 8.0, rpm=10_000),
            World(400_000, 50, 64, 8.0, tpm=30_000_000),
            World(400_000, 50, 64, 8.0, failing=0.1, losses_a_worker_hour=1.0),
        ]
    for world in worlds:
        report(world)


if __name__ == "__main__":
    main()
