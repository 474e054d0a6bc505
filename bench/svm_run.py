"""A run of the SVM benchmark: what its parts share, and the tables they print."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import problems
from contest import CaseResult, Entry, Settings, run_case, tell
from machine import is_quiet
from report import Goal, figure, milliseconds
from workers import Worker

ALL_ROWS = 1 << 30


@dataclass
class Run:
    """Everything that the parts of the benchmark share."""

    mode: str
    subject: str  # the library whose figures are judged: kcore
    folder: Path | None
    workers: list[Worker]
    slow_workers: list[Worker]
    settings: Settings
    cache_size: float | None
    max_threads: int
    seconds: float  # for the whole; no further case is begun after them
    table: Callable[..., str]
    names: list[str] = field(default_factory=list)  # cases with these in their name; none: all
    deadline: float = float("inf")  # of the part at hand
    results: list[CaseResult] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    exponents: list[dict[str, Any]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    micro: dict[str, dict[str, float]] = field(default_factory=dict)  # nanoseconds
    programs: list[dict[str, Any]] = field(default_factory=list)
    seconds_per_value: dict[int, float] = field(default_factory=dict)  # by d

    @property
    def peers(self) -> list[str]:
        return [worker.library for worker in self.workers if worker.library != self.subject]

    def is_judged(self) -> bool:
        """Whether times at the most threads mean something: CPU time of one thread always does."""
        return self.max_threads == 1 or is_quiet()

    def run_group(
        self,
        cases: Iterator[problems.Case],
        threads: list[int],
        settings: Settings,
        predict_rows: list[int],
        only: str = "",
    ) -> list[CaseResult]:
        """Run the cases of a group for as long as there is time; only: variants named so."""
        workers = [w for w in self.workers if any(only in name for name in w.variants)]
        found = []
        for plain in cases:
            case = problems.with_cache(plain, self.cache_size)
            if self.names and not any(name in case.name for name in self.names):
                continue
            if time.monotonic() > self.deadline:
                self.skipped.append(case.name)
                continue
            try:
                result = run_case(
                    workers, case, threads, settings, predict_rows=predict_rows, only=only
                )
            except Exception as error:  # one case that cannot be run must not lose the others
                tell(f"  {case.name}: left out: {error!r}")
                self.skipped.append(case.name)
                continue
            found.append(result)
        self.results += found
        return found


def thread_counts(run: Run) -> list[int]:
    return list(range(1, run.max_threads + 1))


# ---- Cells ------------------------------------------------------------------------------------


def time_cell(entry: Entry | None, threads: int) -> str:
    """Return milliseconds with the marks of what they are worth."""
    if entry is None or entry.state == "failed":
        return "-" if entry is None else "failed"
    if entry.state == "capped":
        return f">{figure(1e3 * cap_of(entry))}"
    mark = "!" if entry.is_valid is False else ""
    return milliseconds(entry.seconds(threads)) + mark


def cap_of(entry: Entry) -> float:
    """Return the cap in seconds, from the note that came with it."""
    return float(entry.note.rpartition("more than ")[2].split()[0])


def fit_ratio(peer: Entry | None, ours: Entry | None, threads: int) -> tuple[float | None, str]:
    """Return how many times as long the peer's fit took (None: does not count), and its cell."""
    mine = None if ours is None or ours.is_valid is False else ours.seconds(threads)
    if peer is None or mine is None:
        return None, "-"
    if peer.state == "capped":
        bound = cap_of(peer) / mine
        return bound, f">{figure(bound)}"
    theirs = peer.seconds(threads)
    if peer.state == "failed" or theirs is None:
        return None, "failed"
    ratio = theirs / mine
    return (None, f"{figure(ratio)}!") if peer.is_valid is False else (ratio, figure(ratio))


def geometric_mean(values: list[float]) -> float | None:
    return float(np.exp(np.mean(np.log(values)))) if values else None


def predict_ratio(peer: Entry | None, ours: Entry, n_rows: int) -> float | None:
    theirs = None if peer is None else peer.seconds(1, n_rows)
    mine = ours.seconds(1, n_rows)
    return None if theirs is None or mine is None else theirs / mine


def percentiles(entry: Entry | None, n_rows: int | None) -> list[str]:
    """Return p50 and p99 in microseconds, of the fit or of the prediction of n_rows rows."""
    if entry is None:
        return ["-", "-"]
    times = entry.fit if n_rows is None else entry.predict.get(n_rows)
    if times is None or not times.seconds:
        return ["-", "-"]
    return [figure(1e6 * times.percentile(p)) for p in (50, 99)]


# ---- Tables -----------------------------------------------------------------------------------


def fit_table(run: Run, results: list[CaseResult], threads: int) -> tuple[str, dict[str, Any]]:
    """Return a table of the fits, and the ratios of each peer that count."""
    ratios: dict[str, dict[str, float]] = {peer: {} for peer in run.peers}
    rows = []
    for result in results:
        ours = result.best(run.subject, threads)
        n_sv = ours.verdict.n_sv if ours is not None and ours.verdict is not None else None
        row = [result.case.name, f"{result.n} x {result.d}", str(n_sv or "-")]
        for variant in variants_of(run, run.subject, results):
            row.append(time_cell(result.find(variant, threads), threads))
        for peer in run.peers:
            entry = result.best(peer, threads)
            ratio, cell = fit_ratio(entry, ours, threads)
            if ratio is not None:
                ratios[peer][result.case.name] = ratio
            row += [time_cell(entry, threads), cell]
        rows.append(row)
    subject = variants_of(run, run.subject, results)
    means = ["geometric mean", "", "", *[""] * len(subject)]
    for peer in run.peers:
        means += ["", figure(geometric_mean(list(ratios[peer].values())))]
    head = ["case", "n x d", "nSV", *(f"{name} ms" for name in subject)]
    for peer in run.peers:
        head += [f"{peer} ms", "ratio"]
    return run.table(head, [*rows, means]), ratios


def variants_of(run: Run, library: str, results: list[CaseResult]) -> list[str]:
    """Return the variants of a library that took part, in their order."""
    names = next((w.variants for w in run.workers if w.library == library), [])
    return [n for n in names if any(result.find(n, 1) is not None for result in results)]


def predict_table(
    run: Run, results: list[CaseResult], threads: int
) -> tuple[str, dict[str, dict[str, float]]]:
    peers = [peer for peer in run.peers if peer != "libsvm"]
    ratios: dict[str, dict[str, float]] = {peer: {} for peer in peers}
    rows = []
    for result in results:
        ours = fastest_predict(result, run.subject, threads)
        row = [result.case.name, milliseconds(ours)]
        for peer in peers:
            theirs = fastest_predict(result, peer, threads)
            ratio = theirs / ours if theirs is not None and ours is not None else None
            if ratio is not None:
                ratios[peer][result.case.name] = ratio
            row += [milliseconds(theirs), figure(ratio)]
        rows.append(row)
    means = ["geometric mean", ""]
    head = ["predict", f"{run.subject} ms"]
    for peer in peers:
        means += ["", figure(geometric_mean(list(ratios[peer].values())))]
        head += [f"{peer} ms", "ratio"]
    return run.table(head, [*rows, means]), ratios


def fastest_predict(result: CaseResult, library: str, threads: int) -> float | None:
    """Return the seconds of the fastest valid variant's prediction of all test rows."""
    names = {entry.variant for entry in result.entries if entry.library == library}
    found = [result.find(name, threads) for name in names]
    times = [
        seconds
        for entry in found
        if entry is not None
        and entry.is_valid is not False
        and (seconds := entry.seconds(threads, ALL_ROWS)) is not None
    ]
    return min(times, default=None)
