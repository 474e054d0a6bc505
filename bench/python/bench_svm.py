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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import baselines
import datasets
import problems
import svm_parts
from contest import Settings, run_case
from session import Session, add_programs, option_parser
from svm_run import ALL_ROWS, Run, thread_counts
from workers import open_workers

GROUPS = ["latency", "real", "large", "grid", "limit", "scaling", "memory", "slow", "micro"]
SETTINGS = {
    "quick": Settings(cap=10.0, fit_seconds=0.3, predict_seconds=0.1, max_rounds=4),
    "default": Settings(),
    "full": Settings(cap=600.0, fit_seconds=10.0, predict_seconds=1.0, max_rounds=15),
}
SECONDS = {"quick": 120.0, "default": 900.0, "full": float("inf")}

# Of the time for the whole; what a part does not use is left to those after it.
SHARES = {
    "latency": 0.1,
    "real": 0.35,
    "large": 0.1,
    "grid": 0.15,
    "limit": 0.1,
    "scaling": 0.1,
    "memory": 0.05,
    "slow": 0.05,
    "micro": 0.0,
}


def warm_up(run: Run) -> None:
    """Let every library start its threads and import what it puts off, on a small problem."""
    case = problems.Case("warm-up", "warm-up", problems.Problem(gamma=0.1), "synthetic", 200, 10)
    settings = Settings(cap=60.0, fit_seconds=0.2, predict_seconds=0.05, max_rounds=2)
    run_case(run.workers, case, thread_counts(run), settings, predict_rows=[ALL_ROWS])


def as_json(run: Run, missing: dict[str, str]) -> dict[str, Any]:
    return {
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
        "micro": run.micro,
        "programs": run.programs,
    }


def options() -> argparse.Namespace:
    parser = option_parser(__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="about two minutes")
    size.add_argument("--full", action="store_true", help="all sizes; hours")
    parser.add_argument("--data", help="folder of real data (else KCORE_DATA)")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS, help="parts to run")
    parser.add_argument("--cases", nargs="+", default=[], help="only those named so, or in part")
    parser.add_argument("--libraries", nargs="+", default=baselines.LIBRARIES)
    parser.add_argument("--subject", default="kcore", help="the library to judge (kcore)")
    parser.add_argument("--threads", type=int, default=2, help="the most threads to use (2)")
    parser.add_argument("--cache-size", type=float, help="MB, for every library (2000)")
    parser.add_argument("--cap", type=float, help="seconds that one fit may take")
    parser.add_argument("--seconds", type=float, help="after which no further case is begun")
    add_programs(parser)
    return parser.parse_args()


def start(session: Session) -> tuple[Run, dict[str, str]]:
    """Start the libraries' processes."""
    args = session.args
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
        workers=[worker for worker in workers if worker.library not in baselines.SLOW],
        slow_workers=[worker for worker in workers if worker.library in baselines.SLOW],
        settings=settings,
        cache_size=args.cache_size,
        max_threads=args.threads,
        seconds=SECONDS[mode] if args.seconds is None else args.seconds,
        table=session.table,
        names=args.cases,
    )
    return run, missing


def main() -> None:
    args = options()
    session = Session("svm", args)
    run, missing = start(session)
    for text in missing.values():
        print(text)
    warm_up(run)
    parts: dict[str, Callable[[], None]] = {
        "latency": lambda: svm_parts.run_latency(run),
        "real": lambda: svm_parts.run_real(run),
        "large": lambda: svm_parts.run_large(run),
        "grid": lambda: svm_parts.run_grid(run),
        "limit": lambda: svm_parts.run_limit(run),
        "scaling": lambda: svm_parts.run_scaling(run),
        "memory": lambda: svm_parts.run_memory(run),
        "slow": lambda: svm_parts.run_slow(run),
        "micro": lambda: svm_parts.run_micro(run, args.programs),
    }
    begin, share = time.monotonic(), 0.0
    whole = sum(SHARES[name] for name in args.only) or 1.0
    for name in args.only:
        share += SHARES[name] / whole
        run.deadline = begin + share * run.seconds
        parts[name]()
        session.write(**as_json(run, missing))
    for worker in run.workers + run.slow_workers:
        worker.stop()
    if run.goals:
        session.print_goals(run.goals)
    if run.skipped:
        print(f"\nout of time, not run: {', '.join(run.skipped)}")
    print("\nmilliseconds, fastest of interleaved repeats; ! objective worse than the best by more")
    print("than 1e-5 of it (counts for nothing), > reached the cap (a bound)")
    session.end()


if __name__ == "__main__":
    main()
