"""The parts of the SVM benchmark: each runs its cases, prints its tables, and adds its goals."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import datasets
import micro
import problems
import programs
from contest import CaseResult, tell
from report import Goal, figure, milliseconds
from svm_run import (
    ALL_ROWS,
    Run,
    fit_ratio,
    fit_table,
    geometric_mean,
    percentiles,
    predict_ratio,
    predict_table,
    thread_counts,
)
from timing import interleave
from workers import CappedError, FailedError, Worker

C_PROGRAMS = ["bench_smo_ops", "bench_store"]
LATENCY_ROWS = [1, 10, 1000]


# ---- Real data and grid -----------------------------------------------------------------------


def show_fits(run: Run, results: list[CaseResult], title: str) -> dict[str, dict[str, float]]:
    """Print the tables of a group for each number of threads; return the ratios at the most."""
    ratios: dict[str, dict[str, float]] = {}
    for threads in thread_counts(run):
        words = "one thread" if threads == 1 else f"{threads} threads"
        text, ratios = fit_table(run, results, threads)
        print(f"\n{title}, {words}: fit\n\n{text}")
    return ratios


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
    words = f"{run.max_threads} thread{'s' if run.max_threads > 1 else ''}"
    for peer, mean, least in (("sklearn", 25, 8), ("sklearnex", 8, 4)):
        add_ratio_goals(
            run, f"fit, real data, {words}, against {peer}", ratios.get(peer), mean, least
        )
    for peer, mean in (("sklearn", 15.0), ("sklearnex", 1.5)):
        add_ratio_goals(
            run,
            f"predict, real data, {words}, against {peer}",
            predict_ratios.get(peer),
            mean,
            None,
        )


def add_ratio_goals(
    run: Run, what: str, ratios: dict[str, float] | None, mean: float, least: float | None
) -> None:
    if not ratios:
        return
    found = geometric_mean(list(ratios.values()))
    assert found is not None
    run.goals.append(Goal(f"{what}, mean", found, mean, is_judged=run.is_judged()))
    if least is not None:
        name = min(ratios, key=lambda key: ratios[key])
        run.goals.append(
            Goal(f"{what}, least ({name})", ratios[name], least, is_judged=run.is_judged())
        )


def run_large(run: Run) -> None:
    """Solve problems with large boxes, where steps cost more than kernel values."""
    cases = problems.large_cases(run.mode, run.folder)
    results = run.run_group(cases, [run.max_threads], run.settings, [])
    if results:
        text, _ = fit_table(run, results, run.max_threads)
        print(f"\nLarge C, {run.max_threads} threads: fit\n\n{text}")


def run_slow(run: Run) -> None:
    """Compare to the slow libraries on real data, each fit within a third of the cap."""
    if not run.slow_workers:
        return
    usual = run.workers
    run.workers = [worker for worker in usual if worker.library == run.subject] + run.slow_workers
    settings = replace(run.settings, cap=run.settings.cap / 3)
    cases = (
        replace(case, name=f"{case.name}, slow", group="slow")
        for case in problems.real_cases(run.mode, run.folder)
    )
    results = run.run_group(cases, [run.max_threads], settings, [])
    if results:
        text, _ = fit_table(run, results, run.max_threads)
        print(f"\nReal data, slow libraries, {run.max_threads} threads: fit\n\n{text}")
    run.workers = usual


def run_grid(run: Run) -> None:
    settings = replace(run.settings, fit_seconds=run.settings.fit_seconds / 2)
    cases = problems.grid_cases(run.mode)
    results = run.run_group(cases, thread_counts(run), settings, [])
    if results:
        show_fits(run, results, "Synthetic grid")


def run_limit(run: Run) -> None:
    """Compare the grid, and larger problems that no other library is asked to solve, to the limit.

    Those are solved in float32, with as much room as their matrix takes, and often enough that the
    first fit, which finds its memory fresh, is not the only one.
    """
    settings = replace(run.settings, fit_seconds=10 * run.settings.fit_seconds)
    cases = problems.limit_cases(run.mode)
    run.run_group(cases, [run.max_threads], settings, [], only=f"{run.subject} f32")
    show_limits(run, [r for r in run.results if r.case.group in ("grid", "limit")])


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
        mean = geometric_mean([ratio for ratio, _ in far])
        assert mean is not None
        ratio, name = max(far)
        for what, found in (("mean", mean), (f"most ({name})", ratio)):
            goal = Goal(
                f"time / limit, {what}", found, 3, at_least=False, is_judged=run.is_judged()
            )
            run.goals.append(goal)


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
    """Find what a kernel value and a pair step cost, here and in libsvm; then the C programs."""
    figures = {f"kernel value, d={d}": micro.kernel_value(d) for d in (4, 20, 200, 784)}
    figures["pair step, per variable"] = micro.pair_step()
    run.micro = figures
    names = ["kcore f32", "kcore f64", "libsvm"]
    rows = [[what, *(figure(found.get(name)) for name in names)] for what, found in figures.items()]
    print("\n" + run.table(["nanoseconds, one thread", *names], rows))
    run.programs = programs.run(C_PROGRAMS, folder)
    if run.programs:
        print("\n" + programs.table(run.programs, "inner loops and steps, one thread"))
