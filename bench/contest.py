"""One case, every library: timed in turn, capped, and audited.

Each round asks every entry for one repeat, so that other work on the machine meets them alike.
Slow ones are asked fewer times: an entry is left out of further rounds once it has used its share
of time. Audits come after all timing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from audit import Audit, Solution, audit
from problems import Case, Samples, samples_of
from timing import Times
from workers import CappedError, FailedError, Timing, Worker

# A result is invalid if its objective is worse than the best by more than this part of it ...
WORSE = 1e-5
# ... or if its variables leave the box or the sum by more than this part of them.
INFEASIBLE = 1e-4


@dataclass(frozen=True)
class Settings:
    """How long things may take."""

    cap: float = 30.0  # seconds of one fit
    fit_seconds: float = 0.6  # for the repeats of one entry
    predict_seconds: float = 0.15
    max_rounds: int = 7


@dataclass
class Entry:
    """One library in one precision with one number of threads, at one case."""

    worker: Worker
    variant: str
    threads: int
    state: str = "ok"  # ok, capped, failed
    note: str = ""
    fit: Times = field(default_factory=lambda: Times([], []))
    predict: dict[int, Times] = field(default_factory=dict)  # by rows
    verdict: Audit | None = None
    is_valid: bool | None = None  # None where there is no verdict
    disagreement: float | None = None

    @property
    def library(self) -> str:
        return self.worker.library

    def seconds(self, threads: int, n_rows: int | None = None) -> float | None:
        """Return the fastest fit, or prediction of n_rows rows, for a table of so many threads.

        A library that has one thread only stands in every table: beside two threads of others it
        is the clock that counts, for all.
        """
        times = self.fit if n_rows is None else self.predict.get(n_rows)
        return times.best(threads) if times is not None and times.seconds else None

    def as_json(self) -> dict[str, Any]:
        return {
            "library": self.library,
            "variant": self.variant,
            "threads": self.threads,
            "state": self.state,
            "note": self.note,
            "fit": summary(self.fit),
            "predict": {str(rows): summary(times) for rows, times in self.predict.items()},
            "audit": None if self.verdict is None else self.verdict.as_json(),
            "is_valid": self.is_valid,
            "disagreement": self.disagreement,
        }


@dataclass
class CaseResult:
    """What came of one case."""

    case: Case
    n: int
    d: int
    entries: list[Entry]

    def find(self, variant: str, threads: int) -> Entry | None:
        """Return the entry with that many threads; a library that has only one, with one."""
        same = [entry for entry in self.entries if entry.variant == variant]
        for entry in same:
            if entry.threads == threads:
                return entry
        return same[0] if same else None

    def best(self, library: str, threads: int) -> Entry | None:
        """Return the fastest valid entry of a library; failing that, any that says why."""
        names = {entry.variant for entry in self.entries if entry.library == library}
        found = [entry for name in names if (entry := self.find(name, threads)) is not None]
        order = {"ok": 0, "capped": 1, "failed": 2}
        found.sort(key=lambda e: (order[e.state], e.is_valid is False, e.seconds(threads) or 0.0))
        return found[0] if found else None

    def as_json(self) -> dict[str, Any]:
        problem = vars(self.case.problem)
        return {
            "name": self.case.name,
            "group": self.case.group,
            "source": self.case.source,
            "scale": self.case.scale,
            "problem": dict(problem),
            "n": self.n,
            "d": self.d,
            "entries": [entry.as_json() for entry in self.entries],
        }


def summary(times: Times) -> dict[str, Any] | None:
    if not times.seconds:
        return None
    return {**times.as_json(), "p50": times.percentile(50), "p99": times.percentile(99)}


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- Timing -----------------------------------------------------------------------------------


def enter(workers: list[Worker], case: Case, threads: list[int], only: str) -> list[Entry]:
    """Load the case everywhere; return an entry for each variant named so that can solve it."""
    entries = []
    for worker in workers:
        try:
            worker.load(case)
            for variant in worker.variants:
                if only not in variant or worker.ask("prepare", variant=variant) is not None:
                    continue
                used = {worker.ask("threads_used", variant=variant, threads=t) for t in threads}
                entries += [Entry(worker, variant, t) for t in sorted(used)]
        except (CappedError, FailedError) as error:
            tell(f"  {case.name}: {error}")
    return entries


def attempt(entry: Entry, times: Times, ask: Callable[[], list[Timing]]) -> None:
    """Add what `ask` returns to `times`; mark the entry where it is capped or fails."""
    try:
        for timing in ask():
            times.seconds.append(timing.seconds)
            times.cpu.append(timing.cpu)
    except CappedError as error:
        entry.state, entry.note = "capped", str(error)
    except FailedError as error:
        entry.state, entry.note = "failed", str(error)


def rounds(
    entries: list[Entry],
    times_of: Callable[[Entry], Times],
    ask: Callable[[Entry, int], list[Timing]],
    *,
    seconds: float,
    max_rounds: int,
) -> None:
    """Repeat in turn; calls too short for a round of their own are made many at a time."""
    slice_seconds = seconds / max_rounds
    for turn in range(max_rounds):
        at_it = [entry for entry in entries if entry.state == "ok"]
        for entry in at_it[turn % len(at_it) :] + at_it[: turn % len(at_it)] if at_it else []:
            times = times_of(entry)
            n_calls = 1
            if times.seconds:
                if sum(times.seconds) + times.min > seconds:
                    continue
                n_calls = max(1, min(500, int(slice_seconds / max(times.min, 1e-7))))
            attempt(entry, times, lambda e=entry, n=n_calls: ask(e, n))


def time_fits(entries: list[Entry], settings: Settings) -> None:
    def ask(entry: Entry, n_calls: int) -> list[Timing]:
        return entry.worker.ask(
            "fit", variant=entry.variant, threads=entry.threads, n_calls=n_calls, cap=settings.cap
        )

    rounds(
        entries,
        lambda entry: entry.fit,
        ask,
        seconds=settings.fit_seconds,
        max_rounds=settings.max_rounds,
    )


def time_predictions(entries: list[Entry], n_rows: int, settings: Settings) -> None:
    """Time predictions of n_rows rows, where a library has predict and its model is still there."""

    def ask(entry: Entry, n_calls: int) -> list[Timing]:
        return entry.worker.ask(
            "predict",
            variant=entry.variant,
            threads=entry.threads,
            n_rows=n_rows,
            n_calls=n_calls,
            cap=settings.cap,
        )

    able = [entry for entry in entries if entry.state == "ok" and entry.library != "libsvm"]
    for entry in able:
        entry.predict[n_rows] = Times([], [])
    rounds(
        able,
        lambda entry: entry.predict[n_rows],
        ask,
        seconds=settings.predict_seconds,
        max_rounds=settings.max_rounds,
    )
    for entry in able:
        if entry.state != "ok":  # the fit stands, the prediction does not
            entry.state = "ok"
            del entry.predict[n_rows]


# ---- Judging ----------------------------------------------------------------------------------


def judge(entries: list[Entry], case: Case, samples: Samples) -> None:
    """Audit every solution, then say which are valid."""
    known: list[tuple[Solution, Audit]] = []
    for entry in entries:
        if entry.state != "ok":
            continue
        try:
            solution = entry.worker.ask("solution", variant=entry.variant, threads=entry.threads)
            entry.verdict = next(
                (verdict for other, verdict in known if is_same(solution, other)), None
            ) or audit(case.problem, samples.X, samples.y, solution)
            known.append((solution, entry.verdict))
        except (CappedError, FailedError) as error:
            entry.note = str(error)
        except (IndexError, ValueError, AssertionError) as error:
            entry.note = f"its solution makes no sense: {error}"
            entry.is_valid = False
    sound = [v.objective for _, v in known if v.infeasibility <= INFEASIBLE]
    best = min(sound, default=float("nan"))
    for entry in entries:
        if entry.verdict is not None:
            entry.is_valid = (
                entry.verdict.infeasibility <= INFEASIBLE
                and entry.verdict.objective <= best + WORSE * abs(best)
            )


def is_same(a: Solution, b: Solution) -> bool:
    return np.array_equal(a.support, b.support) and np.array_equal(a.coef, b.coef)


def compare_predictions(entries: list[Entry], reference: str) -> None:
    """Find the part of labels, or the largest value, that differs from the reference's."""
    found = {}
    for entry in entries:
        if entry.predict:
            try:
                found[id(entry)] = np.asarray(
                    entry.worker.ask("predictions", variant=entry.variant, threads=entry.threads)
                )
            except (CappedError, FailedError):
                continue
    truth = next((found[id(e)] for e in entries if e.variant == reference and id(e) in found), None)
    for entry in entries:
        if truth is None or id(entry) not in found:
            continue
        mine = found[id(entry)]
        if np.issubdtype(truth.dtype, np.floating):
            entry.disagreement = float(np.abs(mine - truth).max())
        else:
            entry.disagreement = float(np.mean(mine != truth))


def run_case(
    workers: list[Worker],
    case: Case,
    threads: list[int],
    settings: Settings,
    *,
    predict_rows: list[int],
    reference: str = "sklearn",
    only: str = "",
) -> CaseResult:
    """Time and judge one case, by variants with `only` in their names."""
    start = time.perf_counter()
    entries = enter(workers, case, threads, only)
    time_fits(entries, settings)
    for n_rows in predict_rows:
        time_predictions(entries, n_rows, settings)
    samples = samples_of(case, workers[0].folder)
    judge(entries, case, samples)
    compare_predictions(entries, reference)
    n, d = samples.X.shape
    tell(f"  {case.name}: {time.perf_counter() - start:.1f} s")
    return CaseResult(case, n, d, entries)
