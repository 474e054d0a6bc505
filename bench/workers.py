"""One process for each library, asked for one piece of work at a time.

A process of its own keeps libraries from sharing thread pools and memory, and can be killed where a
fit takes longer than its cap: most of these libraries cannot be stopped otherwise. Times are taken
inside, around the call alone.
"""

from __future__ import annotations

import gc
import multiprocessing
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from problems import Case, Problem, Samples, samples_of

LOAD_SECONDS = 300.0  # for making or reading samples, start of the process included


class CappedError(Exception):
    """The work took longer than allowed; the process was killed."""


class FailedError(Exception):
    """The library raised, or its process died."""


@dataclass(frozen=True)
class Timing:
    """One timed call."""

    seconds: float
    cpu: float


# ---- In the process of a library ------------------------------------------------------------


@dataclass
class Shop:
    """What a library's process remembers between requests."""

    variants: dict[str, Any]
    folder: Path | None
    case: Case | None = None
    samples: Samples | None = None
    data: dict[str, Any] = field(default_factory=dict)  # by variant
    models: dict[tuple[str, int], Any] = field(default_factory=dict)  # by variant and threads

    def load(self, case: Case) -> None:
        self.data.clear()
        self.models.clear()
        if case != self.case:
            self.case, self.samples = case, samples_of(case, self.folder)
        gc.collect()

    def problem(self) -> Problem:
        assert self.case is not None
        return self.case.problem

    def prepare(self, variant: str) -> str | None:
        """Make the samples ready; return why not, where the library has no such problem."""
        assert self.samples is not None
        baseline = self.variants[variant]
        reason = baseline.reason_against(self.problem(), self.samples.X)
        if reason is None and variant not in self.data:
            train = baseline.prepare(self.samples.X, self.samples.y)
            self.data[variant] = (train, baseline.prepare_test(self.samples.X_test))
        return reason

    def fit(self, variant: str, threads: int, n_calls: int) -> list[Timing]:
        baseline, problem = self.variants[variant], self.problem()
        if variant not in self.data:  # the process is a new one, after a kill
            self.prepare(variant)
        train, _ = self.data[variant]

        def call() -> None:
            self.models[variant, threads] = baseline.fit(problem, train, threads)

        return timed(call, threads, n_calls)

    def predict(self, variant: str, threads: int, n_rows: int, n_calls: int) -> list[Timing]:
        baseline = self.variants[variant]
        rows = self.data[variant][1][:n_rows]
        model = self.models[variant, threads]
        return timed(lambda: baseline.predict(model, rows), threads, n_calls)

    def predictions(self, variant: str, threads: int) -> np.ndarray:
        return self.variants[variant].predict(self.models[variant, threads], self.data[variant][1])

    def solution(self, variant: str, threads: int) -> Any:
        return self.variants[variant].solution(self.models[variant, threads], self.data[variant][0])

    def threads_used(self, variant: str, threads: int) -> int:
        return self.variants[variant].n_threads(threads)

    def peak_memory(self, variant: str, threads: int) -> dict[str, int]:
        """Fit once; return the bytes in use before, and the most in use during the fit."""
        gc.collect()
        before = status_bytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        self.fit(variant, threads, 1)
        return {"before": before, "peak": status_bytes("VmHWM")}


def timed(call: Callable[[], object], threads: int, n_calls: int) -> list[Timing]:
    """Time each of n_calls calls."""
    from threadpoolctl import threadpool_limits

    found = []
    with threadpool_limits(limits=threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.disable()
        try:
            for _ in range(n_calls):
                cpu, start = time.process_time(), time.perf_counter()
                call()
                seconds = time.perf_counter() - start
                found.append(Timing(seconds, time.process_time() - cpu))
        finally:
            gc.enable()
    return found


def status_bytes(name: str) -> int:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    match = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    assert match is not None
    return int(match[1]) * 1024


def serve(library: str, folder: Path | None, pipe: Connection) -> None:
    """Answer requests (name of a method of Shop, arguments) until the pipe is closed."""
    import baselines

    try:
        shop = Shop(baselines.load(library), folder)
    except ImportError as error:
        pipe.send((False, f"not installed ({error})"))
        return
    pipe.send((True, list(shop.variants)))
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, getattr(shop, name)(**arguments))
        except Exception as error:
            answer = (False, f"{type(error).__name__}: {error}")
        pipe.send(answer)


# ---- In the process that asks ---------------------------------------------------------------


class Worker:
    """The process of one library, started when it is first needed and again after a kill."""

    def __init__(self, library: str, folder: Path | None) -> None:
        self.library = library
        self.folder = folder
        self.case: Case | None = None
        self.process: Any = None
        self.pipe: Any = None
        self.variants: list[str] = self.start()

    def start(self) -> list[str]:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(self.library, self.folder, theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        return list(self.receive(LOAD_SECONDS))

    def receive(self, seconds: float) -> Any:
        try:
            if not self.pipe.poll(seconds):
                self.stop()
                raise CappedError(f"{self.library}: more than {seconds:g} s")
            is_ok, answer = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.stop()
            raise FailedError(f"{self.library}: its process died") from None
        if not is_ok:
            raise FailedError(f"{self.library}: {answer}")
        return answer

    def ask(self, name: str, *, cap: float = LOAD_SECONDS, **arguments: Any) -> Any:
        """Have a method of Shop called, within `cap` seconds."""
        if self.process is None:
            self.start()
            if self.case is not None:
                self.load(self.case)
        self.pipe.send((name, arguments))
        return self.receive(cap)

    def load(self, case: Case) -> None:
        self.case = None  # so that a start within ask does not come back here
        self.ask("load", case=case)
        self.case = case

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
        self.process = self.pipe = None


def open_workers(libraries: list[str], folder: Path | None) -> tuple[list[Worker], dict[str, str]]:
    """Start a process for each library that is there; return them, and why others are not."""
    found, missing = [], {}
    for library in libraries:
        try:
            found.append(Worker(library, folder))
        except FailedError as error:
            missing[library] = str(error)
    return found, missing
