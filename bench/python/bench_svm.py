"""Support vector machines: kcore beside scikit-learn, scikit-learn-intelex, libsvm and ThunderSVM.

Run by ``make bench``. Every library solves the same problems on the same samples, to the same
tolerance and with the same cache, in turn; every solution is judged by one function in float64
(bench/audit.py), outside the timing. A time whose objective is worse than the best by more than
1e-5 of it is marked ``!`` and counts for nothing; one that reached the cap is marked ``>``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import baselines
import datasets
import machine
import problems
import programs
from contest import CaseResult, Entry, Settings, run_case, tell
from report import Goal, default_path, figure, markdown_table, milliseconds, text_table, write_json
from timing import interleave
from workers import CappedError, FailedError, Worker, open_workers

GROUPS = ["latency", "real", "grid", "scaling", "memory", "micro"]
C_PROGRAMS = ["bench_smo_ops", "bench_store"]
SETTINGS = {
    "quick": Settings(cap=10.0, fit_seconds=0.3, predict_seconds=0.1, max_rounds=4),
    "default": Settings(),
    "full": Settings(cap=600.0, fit_seconds=10.0, predict_seconds=1.0, max_rounds=15),
}
SECONDS = {"quick": 120.0, "default": 900.0, "full": float("inf")}

# Of the time for the whole; what a part does not use is left to those after it.
SHARES = {"latency": 0.15, "real": 0.4, "grid": 0.25, "scaling": 0.1, "memory": 0.1, "micro": 0.0}
LATENCY_ROWS = [1, 10, 1000]
ALL_ROWS = 1 << 30


@dataclass
class Run:
    """Everything that the parts of the benchmark share."""

    mode: str
    subject: str  # the library whose figures are judged: kcore
    folder: Path | None
    workers: list[Worker]
    settings: Settings
    cache_size: float | None
    max_threads: int
    seconds: float  # for the whole; no further case is begun after them
    table: Callable[..., str]
    deadline: float = float("inf")  # of the part at hand
    results: list[CaseResult] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    exponents: list[dict[str, Any]] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    programs: list[dict[str, Any]] = field(default_factory=list)
    seconds_per_value: dict[int, float] = field(default_factory=dict)  # by d

    @property
    def peers(self) -> list[str]:
        return [worker.library for worker in self.workers if worker.library != self.subject]

    def run_group(
        self,
        cases: Iterator[problems.Case],
        threads: list[int],
        settings: Settings,
        predict_rows: list[int],
    ) -> list[CaseResult]:
        """Run the cases of a group for as long as there is time."""
        found = []
        for plain in cases:
            case = problems.with_cache(plain, self.cache_size)
            if time.monotonic() > self.deadline:
                self.skipped.append(case.name)
                continue
            found.append(run_case(self.workers, case, threads, settings, predict_rows=predict_rows))
        self.results += found
        return found


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


# ---- Fits: real data and grid ---------------------------------------------------------------


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


def show_fits(run: Run, results: list[CaseResult], title: str) -> dict[str, dict[str, float]]:
    """Print the tables of a group for each number of threads; return the ratios at the most."""
    ratios: dict[str, dict[str, float]] = {}
    for threads in thread_counts(run):
        words = "one thread" if threads == 1 else f"{threads} threads"
        text, ratios = fit_table(run, results, threads)
        print(f"\n{title}, {words}: fit\n\n{text}")
    return ratios


def thread_counts(run: Run) -> list[int]:
    return list(range(1, run.max_threads + 1))


def run_real(run: Run) -> None:
    cases = list(problems.real_cases(run.mode, run.folder))
    if not cases:
        print("\nReal data: no folder given (--data or KCORE_DATA), left out")
        return
    results = run.run_group(iter(cases), thread_counts(run), run.settings, [ALL_ROWS])
    if not results:
        return
    ratios = show_fits(run, results, "Real data")
    text, predict_ratios = predict_table(run, results, run.max_threads)
    print(f"\nReal data, {run.max_threads} threads: predict\n\n{text}")
    for peer, mean, least in (("sklearn", 25, 8), ("sklearnex", 8, 4)):
        add_ratio_goals(run, f"fit, real data, against {peer}", ratios.get(peer), mean, least)
    for peer, mean in (("sklearn", 15.0), ("sklearnex", 1.5)):
        add_ratio_goals(
            run, f"predict, real data, against {peer}", predict_ratios.get(peer), mean, None
        )


def add_ratio_goals(
    run: Run, what: str, ratios: dict[str, float] | None, mean: float, least: float | None
) -> None:
    if not ratios:
        return
    found = geometric_mean(list(ratios.values()))
    assert found is not None
    run.goals.append(Goal(f"{what}, mean", found, mean))
    if least is not None:
        name = min(ratios, key=lambda key: ratios[key])
        run.goals.append(Goal(f"{what}, least ({name})", ratios[name], least))


def run_grid(run: Run) -> None:
    settings = replace(run.settings, fit_seconds=run.settings.fit_seconds / 2)
    cases = problems.grid_cases(run.mode)
    results = run.run_group(cases, thread_counts(run), settings, [])
    if results:
        show_fits(run, results, "Synthetic grid")
        show_limits(run, results)


# ---- The limit, and exponents ---------------------------------------------------------------


def value_seconds(run: Run, d: int) -> float:
    """Return what one RBF value of d features costs kcore in float32 on one thread."""
    from kcore.kernels import RBF

    if d not in run.seconds_per_value:
        X = datasets.gaussian(384, d).astype(np.float32)
        Z = datasets.gaussian(4096, d, seed=1).astype(np.float32)
        out = np.empty((384, 4096), np.float32)
        kernel = RBF(gamma=1 / d)
        times = interleave({"": lambda: kernel(X, Z, out=out, n_jobs=1)}, seconds=0.2)
        run.seconds_per_value[d] = times[""].min_cpu / out.size
    return run.seconds_per_value[d]


def limit_seconds(run: Run, result: CaseResult, n_sv: int, threads: int) -> float:
    """Return the least time of an exact method: the gradient of all samples at the solution."""
    values = n_sv * (result.n - n_sv / 2)
    return values * value_seconds(run, result.d) / threads


def show_limits(run: Run, results: list[CaseResult]) -> None:
    rows, far = [], []
    for result in results:
        ours = result.best(run.subject, run.max_threads)
        seconds = None if ours is None else ours.seconds(run.max_threads)
        if seconds is None or ours is None or ours.verdict is None:
            continue
        limit = limit_seconds(run, result, ours.verdict.n_sv, run.max_threads)
        ratio = seconds / limit
        rows.append([result.case.name, milliseconds(seconds), milliseconds(limit), figure(ratio)])
        if 10000 <= result.n <= 30000 and result.d >= 20 and result.case.problem.C <= 10:
            far.append((ratio, result.case.name))
    if rows:
        head = ["against the limit", f"{run.subject} ms", "limit ms", "ratio"]
        print("\n" + run.table(head, rows))
    if far:
        ratio, name = max(far)
        run.goals.append(Goal(f"time / limit, most ({name})", ratio, 3, at_least=False))


def run_scaling(run: Run) -> None:
    results = run.run_group(problems.scaling_cases(run.mode), [run.max_threads], run.settings, [])
    for d in {result.d for result in results}:
        value_seconds(run, d)  # for the plots
    rows = []
    for C in sorted({result.case.problem.C for result in results}):
        same = [result for result in results if result.case.problem.C == C]
        for library in [run.subject, *run.peers]:
            points = [
                (result.n, seconds)
                for result in same
                if (entry := result.best(library, run.max_threads)) is not None
                and entry.state == "ok"
                and (seconds := entry.seconds(run.max_threads)) is not None
            ]
            if len(points) < 2:
                continue
            n, seconds = np.log(np.array(points)).T
            slope = float(np.polyfit(n, seconds, 1)[0])
            run.exponents.append({"library": library, "C": C, "d": 20, "exponent": slope})
            sizes = f"{points[0][0]} .. {points[-1][0]}"
            cells = [milliseconds(points[0][1]), milliseconds(points[-1][1])]
            rows.append([f"{library} C={C:g}", sizes, *cells, figure(slope)])
    if rows:
        head = ["time ~ n^p, d = 20", "n", "first ms", "last ms", "p"]
        print("\n" + run.table(head, rows))


# ---- Latency --------------------------------------------------------------------------------


def run_latency(run: Run) -> None:
    """Time small fits and predictions, one thread; the median and the slowest in a hundred."""
    settings = replace(run.settings, fit_seconds=0.25, predict_seconds=0.1, max_rounds=10)
    if run.mode == "quick":
        settings = replace(settings, fit_seconds=0.1, predict_seconds=0.05, max_rounds=5)
    results = run.run_group(problems.latency_cases(run.mode), [1], settings, LATENCY_ROWS)
    if not results:
        return
    ratios: dict[str, float] = {}
    rows = []
    for result in results:
        ours = result.best(run.subject, 1)
        row = [result.case.name.removeprefix("latency "), *percentiles(ours, None)]
        for peer in run.peers:
            entry = result.best(peer, 1)
            ratio, cell = fit_ratio(entry, ours, 1)
            row += [*percentiles(entry, None)[:1], cell]
            if peer == "sklearn" and ratio is not None and 50 <= result.n <= 200:
                ratios[result.case.name] = ratio
        rows.append(row)
    head = ["fit, microseconds", f"{run.subject} p50", "p99"]
    for peer in run.peers:
        head += [f"{peer} p50", "ratio"]
    print("\nSmall problems, one thread: fit (ratios of the fastest)\n\n" + run.table(head, rows))
    if ratios:
        mean = geometric_mean(list(ratios.values()))
        assert mean is not None
        run.goals.append(Goal("fit at n = 50 .. 200 against sklearn, mean", mean, 15))
    show_small_predictions(run, results)


def percentiles(entry: Entry | None, n_rows: int | None) -> list[str]:
    """Return p50 and p99 in microseconds, of the fit or of the prediction of n_rows rows."""
    if entry is None:
        return ["-", "-"]
    times = entry.fit if n_rows is None else entry.predict.get(n_rows)
    if times is None or not times.seconds:
        return ["-", "-"]
    return [figure(1e6 * times.percentile(p)) for p in (50, 99)]


def show_small_predictions(run: Run, results: list[CaseResult]) -> None:
    peers = [peer for peer in run.peers if peer != "libsvm"]
    rows = []
    slowest, least = 0.0, float("inf")
    for result in results:
        ours = result.best(run.subject, 1)
        if ours is None or ours.verdict is None or result.n not in (100, 500):
            continue
        for n_rows in LATENCY_ROWS:
            name = f"{result.case.name.removeprefix('latency ')}, {n_rows} rows"
            row = [name, str(ours.verdict.n_sv), *percentiles(ours, n_rows)]
            for peer in peers:
                entry = result.best(peer, 1)
                ratio = predict_ratio(entry, ours, n_rows)
                row += [*percentiles(entry, n_rows)[:1], figure(ratio)]
                if peer == "sklearn" and n_rows == 1 and result.d <= 30 and ratio is not None:
                    least = min(least, ratio)
            if n_rows == 1 and result.d <= 30 and ours.predict.get(1):
                slowest = max(slowest, 1e6 * ours.predict[1].percentile(50))
            rows.append(row)
    head = ["predict, microseconds", "nSV", f"{run.subject} p50", "p99"]
    for peer in peers:
        head += [f"{peer} p50", "ratio"]
    print("\nSmall problems, one thread: predict\n\n" + run.table(head, rows))
    if slowest:
        run.goals.append(Goal("one-row predict, d <= 30, slowest p50", slowest, 5, "us", False))
    if least < float("inf"):
        run.goals.append(Goal("one-row predict against sklearn, least", least, 40))


def predict_ratio(peer: Entry | None, ours: Entry, n_rows: int) -> float | None:
    theirs = None if peer is None else peer.seconds(1, n_rows)
    mine = ours.seconds(1, n_rows)
    return None if theirs is None or mine is None else theirs / mine


# ---- Memory, and programs in C --------------------------------------------------------------


def run_memory(run: Run) -> None:
    """Find the most memory that one fit takes beyond its input, in a fresh process each."""
    rows = []
    worst: tuple[float, str] | None = None
    for case in problems.memory_cases(run.mode):
        for library in [run.subject, *run.peers]:
            if time.monotonic() > run.deadline:
                run.skipped.append(f"{case.name} {library}")
                continue
            for found in peak_memory(run, case, library):
                run.memory.append(found)
                rows.append(
                    [
                        f"{case.name}, {found['variant']}",
                        *(figure(found[key] / 2**20) for key in ("extra", "allowed")),
                    ]
                )
                excess = (found["extra"] / found["allowed"], case.name)
                if library == run.subject:
                    worst = max(worst or excess, excess)
    if rows:
        head = ["memory of a fit beyond its input, MiB", "most", "cache + copy + model + 64"]
        print("\n" + run.table(head, rows))
    if worst is not None:
        run.goals.append(Goal(f"memory / allowed, most ({worst[1]})", worst[0], 1, at_least=False))


def peak_memory(run: Run, case: problems.Case, library: str) -> Iterator[dict[str, Any]]:
    names = next(worker.variants for worker in run.workers if worker.library == library)
    for variant in names:
        try:
            worker = Worker(library, run.folder)
        except (CappedError, FailedError) as error:
            tell(f"  {case.name}: {error}")
            return
        try:
            worker.load(case)
            if worker.ask("prepare", variant=variant) is not None:
                continue
            used = worker.ask(
                "peak_memory", variant=variant, threads=run.max_threads, cap=run.settings.cap
            )
            solution = worker.ask("solution", variant=variant, threads=run.max_threads)
        except (CappedError, FailedError) as error:
            tell(f"  {case.name}: {variant}: {error}")
            continue
        finally:
            worker.stop()
        item = 4 if variant.endswith("f32") else 8
        n_sv = len(solution.support)
        yield {
            "case": case.name,
            "variant": variant,
            "extra": used["peak"] - used["before"],
            "allowed": int(case.problem.cache_size * 2**20)
            + (case.n + n_sv) * case.d * item
            + 64 * 2**20,
        }


def run_micro(run: Run, folder: Path) -> None:
    run.programs = programs.run(C_PROGRAMS, folder)
    if run.programs:
        print("\n" + programs.table(run.programs, "inner loops and steps, one thread"))


# ---- The whole --------------------------------------------------------------------------------


def warm_up(run: Run) -> None:
    """Let every library start its threads and import what it puts off, on a small problem."""
    case = problems.Case("warm-up", "warm-up", problems.Problem(gamma=0.1), "synthetic", 200, 10)
    settings = Settings(cap=60.0, fit_seconds=0.2, predict_seconds=0.05, max_rounds=2)
    run_case(run.workers, case, thread_counts(run), settings, predict_rows=[ALL_ROWS])


def as_json(run: Run, about: dict[str, Any], missing: dict[str, str]) -> dict[str, Any]:
    return {
        "benchmark": "svm",
        "about": about,
        "settings": {
            "mode": run.mode,
            "subject": run.subject,
            "cap": run.settings.cap,
            "cache_size": run.cache_size,
            "max_threads": run.max_threads,
        },
        "missing": missing,
        "skipped": run.skipped,
        "cases": [result.as_json() for result in run.results],
        "limit_seconds_per_value": {str(d): s for d, s in run.seconds_per_value.items()},
        "exponents": run.exponents,
        "memory": run.memory,
        "goals": [goal.as_json() for goal in run.goals],
        "programs": run.programs,
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="about two minutes")
    size.add_argument("--full", action="store_true", help="all sizes; hours")
    parser.add_argument("--data", help="folder of real data (else KCORE_DATA)")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, help="parts to run")
    parser.add_argument("--libraries", nargs="+", default=baselines.LIBRARIES)
    parser.add_argument("--subject", default="kcore", help="the library to judge (kcore)")
    parser.add_argument("--threads", type=int, default=2, help="the most threads to use (2)")
    parser.add_argument("--cache-size", type=float, help="MB, for every library (2000)")
    parser.add_argument("--cap", type=float, help="seconds that one fit may take")
    parser.add_argument("--seconds", type=float, help="after which no further case is begun")
    parser.add_argument("--output", type=Path, help="where to write the JSON result")
    parser.add_argument("--markdown", action="store_true", help="print tables as Markdown")
    parser.add_argument(
        "--programs", type=Path, default=programs.FOLDER, help="folder of the C benchmarks"
    )
    return parser.parse_args()


def start(args: argparse.Namespace) -> tuple[Run, dict[str, str]]:
    """Start the libraries' processes."""
    mode = "quick" if args.quick else "full" if args.full else "default"
    folder = datasets.data_folder(args.data)
    settings = SETTINGS[mode]
    if args.cap is not None:
        settings = replace(settings, cap=args.cap)
    workers, missing = open_workers(args.libraries, folder)
    if args.subject not in [worker.library for worker in workers]:
        raise SystemExit(f"{args.subject} is not there: {missing.get(args.subject, 'not asked')}")
    run = Run(
        mode=mode,
        subject=args.subject,
        folder=folder,
        workers=workers,
        settings=settings,
        cache_size=args.cache_size,
        max_threads=args.threads,
        seconds=SECONDS[mode] if args.seconds is None else args.seconds,
        table=markdown_table if args.markdown else text_table,
    )
    return run, missing


def main() -> None:
    args = options()
    about = machine.describe()
    print(machine.summary(about))
    run, missing = start(args)
    for text in missing.values():
        print(text)
    path = args.output or default_path("svm", about["date"])
    warm_up(run)
    parts: dict[str, Callable[[], None]] = {
        "latency": lambda: run_latency(run),
        "real": lambda: run_real(run),
        "grid": lambda: run_grid(run),
        "scaling": lambda: run_scaling(run),
        "memory": lambda: run_memory(run),
        "micro": lambda: run_micro(run, args.programs),
    }
    begin, share = time.monotonic(), 0.0
    whole = sum(SHARES[name] for name in args.only) or 1.0
    for name in args.only:
        share += SHARES[name] / whole
        run.deadline = begin + share * run.seconds
        parts[name]()
        about["load_at_end"] = machine.load()
        write_json(path, as_json(run, about, missing))  # a run that is broken off leaves its parts
    for worker in run.workers:
        worker.stop()
    if run.goals:
        print("\n" + run.table(["goal", "found", "asked", ""], [g.cells() for g in run.goals]))
        print(f"\n{sum(goal.is_met for goal in run.goals)} of {len(run.goals)} goals met")
    if run.skipped:
        print(f"\nout of time, not run: {', '.join(run.skipped)}")
    print("\nmilliseconds, fastest of interleaved repeats; ! objective worse than the best by more")
    print("than 1e-5 of it (counts for nothing), > reached the cap (a bound)")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
