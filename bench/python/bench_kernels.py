"""Kernel evaluations against NumPy's matrix product and scikit-learn's pairwise kernels.

Run by ``make bench-kernels``. Every case is timed side by side in this process, on the same arrays
and with the same number of threads, and the results are compared entry by entry.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import pairwise
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
import machine
from kcore.kernels import RBF, Kernel, Linear, Polynomial
from report import Goal, figure, milliseconds
from session import Session, add_programs, option_parser
from timing import Times, interleave

C_PROGRAMS = ["bench_ops", "bench_exp", "bench_kernel"]
KERNELS = ["rbf", "poly", "linear"]
DIMS = [4, 20, 200, 784]
KERNELS_OF_DIM = {20: KERNELS, 200: KERNELS}  # the others: RBF alone, unless --full
# Largest difference of two results that count as equal, relative to the largest entry.
EQUAL = {"f32": 3e-5, "f64": 1e-11}

# Seconds before each run on several threads: NumPy's go on spinning for some hundredths.
REST = 0.05


@dataclass
class Case:
    """One piece of work, its times by contender, and how far results were apart."""

    kernel: str
    storage: str
    dtype: str
    n: int
    d: int
    threads: int
    times: dict[str, Times] = field(default_factory=dict)
    difference: dict[str, float] = field(default_factory=dict)
    is_quiet: bool = True

    @property
    def is_judged(self) -> bool:
        """Whether its times can be compared: CPU time always, the clock's on a quiet machine."""
        return self.threads == 1 or self.is_quiet

    @property
    def name(self) -> str:
        return f"{self.kernel}/{self.storage}/{self.dtype}/d{self.d}/t{self.threads}"

    def ratio(self, slower: str, faster: str) -> float | None:
        """Return how many times as long `slower` took."""
        if slower not in self.times or faster not in self.times:
            return None
        return self.best(slower) / self.best(faster)

    def best(self, name: str) -> float:
        return self.times[name].best(self.threads)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": self.kernel,
            "storage": self.storage,
            "dtype": self.dtype,
            "n": self.n,
            "d": self.d,
            "threads": self.threads,
            "seconds": {name: times.as_json() for name, times in self.times.items()},
            "max_abs_difference": self.difference,
            "is_quiet": self.is_quiet,
        }


@contextmanager
def threads_of_peers(n: int) -> Iterator[None]:
    """Limit BLAS and OpenMP to n threads."""
    with threadpool_limits(limits=n):
        yield


def kernel_pair(name: str, d: int) -> tuple[Kernel, Callable[..., np.ndarray]]:
    """Return a kernel of kcore and scikit-learn's function of the same values."""
    gamma = 1 / (2 * d)
    if name == "linear":
        return Linear(), pairwise.linear_kernel
    if name == "rbf":
        return RBF(gamma=gamma), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=gamma)
    return (
        Polynomial(degree=3, gamma=gamma, coef0=1.0),
        lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=gamma, coef0=1.0),
    )


def measure(case: Case, X: Any, Z: Any, args: argparse.Namespace) -> Case:
    """Fill in the times and differences of a case.

    ``kcore`` and ``sklearn`` make their result; ``kcore out``, ``matmul out`` and ``kcore sym``
    (K(X, X)) write into an array that is there already.
    """
    kernel, peer = kernel_pair(case.kernel, case.d)
    dtype = np.float32 if case.dtype == "f32" else np.float64
    out = np.empty((X.shape[0], Z.shape[0]), dtype)
    n_jobs = case.threads
    contenders: dict[str, Callable[[], Any]] = {
        "kcore": lambda: kernel(X, Z, n_jobs=n_jobs),
        "sklearn": lambda: peer(X, Z),
        "kcore out": lambda: kernel(X, Z, out=out, n_jobs=n_jobs),
        "kcore sym": lambda: kernel(X, out=out, n_jobs=n_jobs),
    }
    if case.storage == "dense":
        contenders["matmul out"] = lambda: np.matmul(X, Z.T, out=out)
    with threads_of_peers(n_jobs):
        ours, theirs = contenders["kcore"](), contenders["sklearn"]()
        case.difference["sklearn"] = largest_difference(ours, theirs)
        if case.kernel == "linear" and case.storage == "dense":
            case.difference["matmul"] = largest_difference(ours, contenders["matmul out"]())
        scale = float(np.abs(theirs).max())
        del ours, theirs
        check_equal(case, scale)
        case.times = interleave(
            contenders,
            seconds=args.seconds,
            min_rounds=args.rounds,
            rest=REST if n_jobs > 1 else 0.0,
        )
    case.is_quiet = machine.is_quiet()
    print(f"  {case.name}", file=sys.stderr, flush=True)
    return case


def largest_difference(a: np.ndarray, b: Any) -> float:
    other = b.toarray() if hasattr(b, "toarray") else b
    return float(np.abs(a - other).max())


def check_equal(case: Case, scale: float) -> None:
    for peer, difference in case.difference.items():
        if not difference <= EQUAL[case.dtype] * scale:
            raise SystemExit(f"{case.name}: differs from {peer} by {difference:.3g}")


def dense_cases(args: argparse.Namespace) -> Iterator[Case]:
    kernels_of = dict.fromkeys(args.dims, KERNELS) if args.full else KERNELS_OF_DIM
    n = args.n
    for d in args.dims:
        X, Z = datasets.gaussian(n, d, seed=1), datasets.gaussian(n, d, seed=2)
        for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
            A, B = X.astype(kind), Z.astype(kind)
            for kernel in kernels_of.get(d, ["rbf"]):
                for threads in args.threads:
                    case = Case(kernel, "dense", dtype, n, d, threads)
                    yield measure(case, A, B, args)


def sparse_cases(args: argparse.Namespace) -> Iterator[Case]:
    """Give CSR cases: rows of a9a where the data is at hand, else rows made up to its density."""
    n, folder = args.n, datasets.data_folder(args.data)
    storage = "csr"
    if datasets.has(folder, "a9a"):
        assert folder is not None
        whole, _ = datasets.read(folder, "a9a")
        X, Z = whole[:n], whole[n : 2 * n]
        storage = "csr a9a"
    else:
        X, Z = datasets.binary_rows(n, seed=1), datasets.binary_rows(n, seed=2)
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        A, B = X.astype(kind), Z.astype(kind)
        for kernel in ("rbf", "linear"):
            for threads in args.threads:
                case = Case(kernel, storage, dtype, n, X.shape[1], threads)
                yield measure(case, A, B, args)


def latency(seconds: float) -> Case:
    """Time one call on 10 x 10 points."""
    X, Z = datasets.gaussian(10, 4, seed=1), datasets.gaussian(10, 4, seed=2)
    case = Case("rbf", "dense", "f64", 10, 4, 1)
    kernel, peer = kernel_pair("rbf", 4)
    with threads_of_peers(1):
        case.difference["sklearn"] = largest_difference(kernel(X, Z), peer(X, Z))
        check_equal(case, 1.0)
        case.times = interleave(
            {"kcore": lambda: kernel(X, Z), "sklearn": lambda: peer(X, Z)},
            seconds=seconds,
            n_calls=50,
        )
    return case


# ---- Goals ----------------------------------------------------------------------------------


def goals_of(cases: list[Case]) -> Iterator[Goal]:
    """Give every goal that the cases have figures for."""
    by_name = {case.name: case for case in cases}
    for case in cases:
        if case.n == 10:
            microseconds = 1e6 * case.best("kcore")
            yield Goal("10 x 10 points, one call", microseconds, 10, "us", at_least=False)
        elif case.kernel == "rbf":
            yield from goals_of_case(case)
            yield from goals_of_threads(case, by_name)


def goals_of_case(case: Case) -> Iterator[Goal]:
    f32 = case.dtype == "f32"
    if case.storage == "dense" and case.d == 200 and case.threads == 1:
        limit = 1.4 if f32 else 1.6
        ratio = case.ratio("kcore out", "matmul out")
        assert ratio is not None
        yield Goal(f"{case.name}: K(X, Z) / matmul", ratio, limit, at_least=False)
    if case.threads == 1:
        ratio = case.ratio("kcore sym", "kcore out")
        assert ratio is not None
        yield Goal(f"{case.name}: K(X, X) / K(X, Z)", ratio, 0.65, at_least=False)
    limits = {4: 3.0, 20: 3.0, 200: 2.0 if f32 else 1.2}
    least = limits.get(case.d) if case.storage == "dense" else 8.0
    ratio = case.ratio("sklearn", "kcore")
    if least is not None and ratio is not None:
        yield Goal(f"{case.name}: sklearn / kcore", ratio, least, is_judged=case.is_judged)


def goals_of_threads(case: Case, by_name: dict[str, Case]) -> Iterator[Goal]:
    """Give the gain of two threads where one needs 10 ms or more."""
    if case.threads != 1:
        return
    other = by_name.get(case.name.removesuffix("t1") + "t2")
    one = case.best("kcore out")
    if other is not None and one >= 0.01:
        gain = one / other.best("kcore out")
        name = f"{case.name.removesuffix('/t1')}: one thread / two"
        yield Goal(name, gain, 1.7, is_judged=other.is_judged)


# ---- Output ---------------------------------------------------------------------------------

CASE_HEAD = [
    "case",
    "kcore ms",
    "median",
    "sklearn ms",
    "sklearn/kcore",
    "kcore/matmul",
    "sym/full",
    "max diff",
]


def case_rows(cases: list[Case]) -> list[list[str]]:
    return [
        [
            case.name,
            milliseconds(case.best("kcore")),
            milliseconds(case.times["kcore"].median),
            milliseconds(case.best("sklearn")),
            figure(case.ratio("sklearn", "kcore")),
            figure(case.ratio("kcore out", "matmul out")),
            figure(case.ratio("kcore sym", "kcore out")),
            f"{case.difference['sklearn']:.1e}",
        ]
        for case in cases
    ]


def options() -> argparse.Namespace:
    parser = option_parser(__doc__)
    parser.add_argument("--n", type=int, default=4000, help="samples on each side (4000)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case (1)")
    parser.add_argument("--rounds", type=int, default=5, help="at least so many for each case (5)")
    parser.add_argument("--dims", type=int, nargs="+", default=DIMS, help="numbers of features")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of them")
    parser.add_argument("--full", action="store_true", help="all kernels with all --dims")
    parser.add_argument("--data", help="folder of real data, for a9a (else KCORE_DATA)")
    add_programs(parser)
    return parser.parse_args()


def main() -> None:
    args = options()
    session = Session("kernels", args)
    print(
        "\nMinima of interleaved repeats, milliseconds; on one thread (t1) CPU time where it is "
        "less, on two (t2) the clock's.\nWhere the machine has other work to do, the clock's "
        "times and the medians say more of that than of the code.\n"
    )
    cases = [latency(args.seconds)]
    cases += dense_cases(args)
    cases += sparse_cases(args)
    print(session.table(CASE_HEAD, case_rows(cases)))
    goals = list(goals_of(cases))
    session.print_goals(goals)
    lines = session.run_programs(C_PROGRAMS, "inner loops and blocks, one thread")
    session.write(
        cases=[case.as_json() for case in cases],
        goals=[goal.as_json() for goal in goals],
        programs=lines,
    )
    session.end()


if __name__ == "__main__":
    main()
