"""KernelPCA and Nystroem against scikit-learn's, at equal residual.

Run by ``make bench-decomposition``. Both get the same samples, in float32 and in float64, side by
side in this process with the same number of threads. What they found is judged in float64 from the
samples: components by max |HKH v - lambda v| / lambda_1, a Nystroem map by tr(K - phi phi') over
tr(K). A time counts where the residual of kcore is at most twice scikit-learn's, or within the 1e-6
that `tol` asks for. Memory is the most that NumPy held beyond the samples.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.decomposition
import sklearn.kernel_approximation
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
import kcore
from kcore.kernels import RBF
from report import Goal, figure, milliseconds
from session import Session, option_parser
from timing import Times, interleave

LEAST = 2.0  # how many times as long scikit-learn should take
TOL = 1e-6


@dataclass
class Case:
    """One problem, and what both took for it."""

    name: str
    dtype: str
    others: str  # scikit-learn's solver
    n: int
    width: int  # of the matrix that has to be held
    is_goal: bool
    times: dict[str, Times] = field(default_factory=dict)
    residual: dict[str, float] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.times["sklearn"].median / self.times["kcore"].median

    @property
    def is_equal(self) -> bool:
        ours = self.residual["kcore"]
        return ours <= max(2 * self.residual["sklearn"], TOL)

    def memory(self, name: str) -> float:
        """Return the peak, in numbers of float32 per entry of the matrix."""
        return self.peak[name] / (4 * self.n * self.width)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "sklearn_solver": self.others,
            "n": self.n,
            "width": self.width,
            "seconds": {name: times.as_json() for name, times in self.times.items()},
            "ratio_of_medians": self.ratio,
            "residual": self.residual,
            "peak_bytes": self.peak,
        }


def measure(
    case: Case,
    contenders: dict[str, Callable[[], Any]],
    judge: Callable[[Any], float],
    args: argparse.Namespace,
) -> Case:
    """Fill in residuals, memory and times."""
    with threadpool_limits(limits=args.threads):
        for name, call in contenders.items():
            tracemalloc.start()
            model = call()
            case.peak[name] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            case.residual[name] = judge(model)
        case.times = interleave(
            contenders, seconds=args.seconds, min_rounds=args.rounds, max_rounds=50
        )
    print(f"  {case.name}/{case.dtype}", file=sys.stderr, flush=True)
    return case


def residual_of_components(K: np.ndarray) -> Callable[[Any], float]:
    """Return what judges components, by the centred matrix in float64."""

    def judge(model: Any) -> float:
        V = model.eigenvectors_.astype(float)
        values = model.eigenvalues_.astype(float)
        return float(np.linalg.norm(K @ V - V * values, axis=0).max() / values[0])

    return judge


def residual_of_map(kernel: RBF, X: np.ndarray) -> Callable[[Any], float]:
    """Return what judges a Nystroem map, by its components, on some of the samples."""
    some = X[:: max(1, len(X) // 5000)]

    def judge(model: Any) -> float:
        P = model.transform(some).astype(float)
        own = kernel.diag(some.astype(float))
        return float(abs(own - (P * P).sum(axis=1)).sum() / own.sum())

    return judge


def component_cases(args: argparse.Namespace) -> Iterator[Case]:
    for d in args.dims:
        X = datasets.gaussian(args.n, d).astype(float)
        gamma = 1.0 / d
        K = RBF(gamma)(X)
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
            A = X.astype(kind)
            ours = kcore.KernelPCA(
                10, kernel="rbf", gamma=gamma, random_state=0, n_jobs=args.threads
            )
            for solver in ("auto", "arpack"):
                theirs = sklearn.decomposition.KernelPCA(
                    10, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0
                )
                case = Case(
                    f"KernelPCA(10) {args.n} x {d}", dtype, solver, args.n, args.n, solver == "auto"
                )
                contenders = {
                    "kcore": lambda m=ours, A=A: m.fit(A),
                    "sklearn": lambda m=theirs, A=A: m.fit(A),
                }
                yield measure(case, contenders, residual_of_components(K), args)
        del K


def map_cases(args: argparse.Namespace) -> Iterator[Case]:
    X, m = datasets.gaussian(args.samples, 50).astype(float), 500
    gamma = 1.0 / 50
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        A = X.astype(kind)
        theirs = sklearn.kernel_approximation.Nystroem(gamma=gamma, n_components=m, random_state=0)
        for selection in ("uniform", "rpcholesky"):
            ours = kcore.Nystroem(
                gamma=gamma,
                n_components=m,
                selection=selection,
                random_state=0,
                n_jobs=args.threads,
            )
            name = f"Nystroem({m}, {selection!r}) {args.samples} x 50"
            case = Case(name, dtype, "uniform", len(X), m, selection == "uniform")

            def mapped(model: Any, A: np.ndarray = A) -> Any:
                model.fit_transform(A)
                return model

            contenders = {
                "kcore": lambda m=ours, mapped=mapped: mapped(m),
                "sklearn": lambda m=theirs, mapped=mapped: mapped(m),
            }
            yield measure(case, contenders, residual_of_map(RBF(gamma), A), args)


HEAD = [
    "case",
    "sklearn's",
    "kcore ms",
    "sklearn ms",
    "sklearn/kcore",
    "residual",
    "sklearn's",
    "memory",
    "sklearn's",
]


def row(case: Case) -> list[str]:
    return [
        f"{case.name}, {case.dtype}",
        case.others,
        milliseconds(case.times["kcore"].median),
        milliseconds(case.times["sklearn"].median),
        figure(case.ratio) + ("" if case.is_equal else " !"),
        f"{case.residual['kcore']:.2g}",
        f"{case.residual['sklearn']:.2g}",
        figure(case.memory("kcore")),
        figure(case.memory("sklearn")),
    ]


def options() -> argparse.Namespace:
    parser = option_parser(__doc__)
    parser.add_argument("--n", type=int, default=5000, help="samples of KernelPCA (5000)")
    parser.add_argument("--dims", type=int, nargs="+", default=[20, 100], help="their features")
    parser.add_argument("--samples", type=int, default=100_000, help="of Nystroem (100000)")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each case (5)")
    parser.add_argument("--rounds", type=int, default=3, help="at least so many for each case (3)")
    parser.add_argument("--threads", type=int, default=2, help="of both (2)")
    return parser.parse_args()


def main() -> None:
    args = options()
    session = Session("decomposition", args)
    print(
        f"\nMedians of interleaved repeats, {args.threads} threads. Memory: peak of what NumPy "
        "holds, divided by 4 n^2 (4 n m) bytes.\n"
    )
    cases = []
    for case in chain(map_cases(args), component_cases(args)):
        cases.append(case)
        session.write(cases=[c.as_json() for c in cases])
    print(session.table(HEAD, [row(case) for case in cases]))
    goals = [
        Goal(f"{case.name}, {case.dtype}: sklearn / kcore", case.ratio, LEAST)
        for case in cases
        if case.is_goal and case.is_equal
    ]
    session.print_goals(goals)
    session.write(cases=[c.as_json() for c in cases], goals=[goal.as_json() for goal in goals])
    session.end()


if __name__ == "__main__":
    main()
