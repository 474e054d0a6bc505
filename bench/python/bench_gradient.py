"""Gradients by all parameters of a kernel, beside the Gram matrix of the same samples.

Run by ``make bench-gradient``. Both are timed in turn in this process; scikit-learn's kernels of
Gaussian processes, which make all derivatives of all entries, stand beside them where they have
the same kernel.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as gp
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
import machine
from kcore.kernels import RBF, Kernel, Laplacian, Linear, Matern, Polynomial
from report import Goal, figure, milliseconds
from session import Session, option_parser
from timing import Times, interleave

# Times of the Gram matrix K(X, X) that all derivatives may take.
MOST = 2.5


@dataclass
class Case:
    """One kernel and type, and its times by contender."""

    kernel: str
    dtype: str
    n: int
    d: int
    threads: int
    times: dict[str, Times] = field(default_factory=dict)
    is_quiet: bool = True

    @property
    def name(self) -> str:
        return f"{self.kernel}/{self.dtype}/n{self.n}/d{self.d}/t{self.threads}"

    def ratio(self, slower: str, faster: str, of: str = "best") -> float | None:
        """Return how many times as long `slower` took, by the minima or the medians."""
        if slower not in self.times or faster not in self.times:
            return None
        a, b = self.times[slower], self.times[faster]
        return (
            a.median / b.median if of == "median" else a.best(self.threads) / b.best(self.threads)
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": self.kernel,
            "dtype": self.dtype,
            "n": self.n,
            "d": self.d,
            "threads": self.threads,
            "seconds": {name: times.as_json() for name, times in self.times.items()},
            "is_quiet": self.is_quiet,
        }


def kernels_of(d: int) -> dict[str, Kernel]:
    g = 1 / (2 * d)
    return {
        "rbf": RBF(g),
        "rbf+rbf+rbf": RBF(g) + RBF(2 * g) + RBF(4 * g),
        "3 scaled": 2.0 * RBF(g) + 0.5 * RBF(2 * g) + 0.1 * Matern(1.5, d**0.5),
        "rbf*poly": RBF(g) * Polynomial(2, g, 1.0),
        "normalized": (RBF(g) + 0.1 * Linear()).normalized(),
        "laplacian": Laplacian(g),
        "ard": RBF(np.linspace(0.5 * g, 1.5 * g, d).tolist()),
        "ard laplacian": Laplacian(np.linspace(0.5 * g, 1.5 * g, d).tolist()),
    }


def peer_of(name: str, d: int) -> gp.Kernel | None:
    scale = d**0.5
    if name == "rbf":
        return gp.RBF(scale)
    if name == "rbf+rbf+rbf":
        return gp.RBF(scale) + gp.RBF(scale / 2**0.5) + gp.RBF(scale / 2)
    return None


def measure(case: Case, kernel: Kernel, X: np.ndarray, args: argparse.Namespace) -> Case:
    """Fill in the times of a case."""
    rng = np.random.default_rng(1)
    G, out = rng.standard_normal((case.n, case.n)), np.empty((case.n, case.n), X.dtype)
    n_jobs = case.threads
    contenders: dict[str, Callable[[], Any]] = {
        "gram": lambda: kernel(X, out=out, n_jobs=n_jobs),
        "full gram": lambda: kernel(X, X.copy(), out=out, n_jobs=n_jobs),
        "gradient": lambda: kernel.gradient(X, weights=G, n_jobs=n_jobs),
    }
    peer = peer_of(case.kernel, case.d)
    if peer is not None and case.dtype == "f64":
        contenders["sklearn"] = lambda: np.einsum("ij,ijk->k", G, peer(X, eval_gradient=True)[1])
        check_equal(kernel, X, G, contenders["sklearn"]())
    with threadpool_limits(limits=n_jobs):
        case.times = interleave(contenders, seconds=args.seconds, min_rounds=args.rounds)
    case.is_quiet = machine.is_quiet()
    print(f"  {case.name}", file=sys.stderr, flush=True)
    return case


def check_equal(kernel: Kernel, X: np.ndarray, G: np.ndarray, wanted: np.ndarray) -> None:
    found = -2 * np.array([*kernel.gradient(X, weights=G, log=True).values()])
    if not np.allclose(found, wanted, rtol=1e-8):
        raise SystemExit(f"{kernel!r}: {found} and {wanted} differ")


def cases_of(args: argparse.Namespace) -> Iterator[Case]:
    for d in args.dims:
        X = datasets.gaussian(args.n, d, seed=1)
        for dtype, kind in (("f64", np.float64), ("f32", np.float32)):
            for name, kernel in kernels_of(d).items():
                for threads in args.threads:
                    case = Case(name, dtype, args.n, d, threads)
                    yield measure(case, kernel, X.astype(kind), args)


def goals_of(cases: list[Case]) -> Iterator[Goal]:
    for case in cases:
        ratio = case.ratio("gradient", "gram", "median")
        assert ratio is not None
        is_judged = case.threads == 1 or case.is_quiet
        yield Goal(
            f"{case.name}: gradient / Gram", ratio, MOST, at_least=False, is_judged=is_judged
        )


HEAD = ["case", "gram ms", "full ms", "gradient ms", "/ gram", "/ gram, medians", "sklearn /"]


def rows_of(cases: list[Case]) -> list[list[str]]:
    return [
        [
            case.name,
            *(
                milliseconds(case.times[name].best(case.threads))
                for name in ("gram", "full gram", "gradient")
            ),
            figure(case.ratio("gradient", "gram")),
            figure(case.ratio("gradient", "gram", "median")),
            figure(case.ratio("sklearn", "gradient")),
        ]
        for case in cases
    ]


def options() -> argparse.Namespace:
    parser = option_parser(__doc__ or "")
    parser.add_argument("--n", type=int, default=2000, help="samples (2000)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each case (1)")
    parser.add_argument("--rounds", type=int, default=7, help="at least so many for each case (7)")
    parser.add_argument("--dims", type=int, nargs="+", default=[100], help="numbers of features")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of them")
    return parser.parse_args()


def main() -> None:
    args = options()
    session = Session("gradient", args)
    cases = list(cases_of(args))
    print("\n" + session.table(HEAD, rows_of(cases)))
    goals = list(goals_of(cases))
    session.print_goals(goals)
    session.write(
        cases=[case.as_json() for case in cases], goals=[goal.as_json() for goal in goals]
    )
    session.end()


if __name__ == "__main__":
    main()
