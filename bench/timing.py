"""Times of several contenders at the same work, side by side.

Rounds go over the contenders in turn, each round starting with another one, so that whatever else
the machine does meets them alike. The minimum is the figure to compare: others' work only ever
adds time. The median shows how much it added. Beside the clock's time stands the CPU time of the
process: for work on one thread they are the same on an idle machine, and on a busy one the CPU time
is what the work would have taken, but for what the others did to the caches. For one thread the
smaller of the two minima is used, for more the clock's.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass
class Times:
    """Seconds of each repeat of one contender, by the clock and of the CPUs."""

    seconds: list[float]
    cpu: list[float]

    @property
    def min(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def min_cpu(self) -> float:
        return min(self.cpu)

    def best(self, threads: int) -> float:
        """Return the figure to compare."""
        return min(self.min, self.min_cpu) if threads == 1 else self.min

    def percentile(self, p: float) -> float:
        """Return the smallest time that at least p percent of the repeats do not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))]

    def as_json(self) -> dict[str, Any]:
        return {
            "min": self.min,
            "median": self.median,
            "min_cpu": self.min_cpu,
            "repeats": len(self.seconds),
        }


def time_once(call: Callable[[], object], n_calls: int = 1) -> tuple[float, float]:
    """Return the mean seconds of `n_calls` calls in a row, by the clock and of the CPUs."""
    start, start_cpu = time.perf_counter(), time.process_time()
    for _ in range(n_calls):
        call()
    cpu = time.process_time() - start_cpu
    return (time.perf_counter() - start) / n_calls, cpu / n_calls


def interleave(
    contenders: Mapping[str, Callable[[], object]],
    *,
    seconds: float,
    min_rounds: int = 5,
    max_rounds: int = 1000,
    n_calls: int = 1,
    rest: float = 0.0,
) -> dict[str, Times]:
    """Time every contender in every round, for about `seconds` and at least `min_rounds`.

    Each is called once before the first round, which is not counted. `rest` is how long to sleep
    before each: threads of some libraries go on spinning for a while, on the CPUs of the next one.
    """
    for call in contenders.values():
        call()
    names = list(contenders)
    found = {name: Times([], []) for name in names}
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < max_rounds and (rounds < min_rounds or time.perf_counter() < end):
            turn = rounds % len(names)
            for name in names[turn:] + names[:turn]:
                time.sleep(rest)
                seconds_taken, cpu = time_once(contenders[name], n_calls)
                found[name].seconds.append(seconds_taken)
                found[name].cpu.append(cpu)
            rounds += 1
    finally:
        if was_enabled:
            gc.enable()
    return found
