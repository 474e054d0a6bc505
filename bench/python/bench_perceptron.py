"""Passes of the single rule against scikit-learn's Perceptron, at the same updates.

Run by ``make bench-perceptron``. Both go through the same samples in the same order, equally often,
side by side in this process on one thread. Samples are multiples of 1/4, so that every sum is exact
in float32 and both must end with the same weights, bit by bit: the same corrections were made.
scikit-learn corrects the intercept of sparse samples by a hundredth of what the rule says, so that
cases with CSR have none.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
from kcore.perceptron import Perceptron
from report import Goal, figure, milliseconds
from session import Session, add_programs, option_parser
from timing import Times, interleave

C_PROGRAMS = ["bench_linear_ops"]


@dataclass
class Case:
    """One set of samples and the times of both."""

    name: str
    dtype: str
    n: int
    d: int
    n_passes: int
    least: float  # how many times as long scikit-learn should take
    n_updates: int = 0
    times: dict[str, Times] = field(default_factory=dict)

    def best(self, name: str) -> float:
        return self.times[name].best(1)

    @property
    def ratio(self) -> float:
        return self.best("sklearn") / self.best("kcore")

    @property
    def samples(self) -> int:
        """Samples looked at in one fit."""
        return self.n * self.n_passes

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "dtype": self.dtype,
            "n": self.n,
            "d": self.d,
            "n_passes": self.n_passes,
            "n_updates": self.n_updates,
            "seconds": {name: times.as_json() for name, times in self.times.items()},
            "ratio": self.ratio,
        }


def measure(case: Case, X: Any, y: np.ndarray, args: argparse.Namespace) -> Case:
    """Fill in the times of a case."""
    has_intercept = not sp.issparse(X)
    ours = Perceptron(max_iter=case.n_passes, fit_intercept=has_intercept)
    theirs = linear_model.Perceptron(
        shuffle=False, tol=None, max_iter=case.n_passes, penalty=None, fit_intercept=has_intercept
    )
    contenders: dict[str, Callable[[], Any]] = {
        "kcore": lambda: ours.fit(X, y),
        "sklearn": lambda: theirs.fit(X, y),
    }
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the samples are not separable
        case.times = interleave(contenders, seconds=args.seconds, min_rounds=args.rounds)
    case.n_updates = ours.n_updates_
    if ours.n_iter_ != case.n_passes:
        raise SystemExit(f"{case.name}: ended after {ours.n_iter_} passes, {case.n_passes} asked")
    if not np.array_equal(ours.coef_, theirs.coef_):
        raise SystemExit(f"{case.name}, {case.dtype}: scikit-learn ends with other weights")
    print(f"  {case.name}/{case.dtype}", file=sys.stderr, flush=True)
    return case


def noisy_labels(X: Any, seed: int = 0) -> np.ndarray:
    """Return labels by a plane, with as much noise as makes one sample in five a mistake."""
    rng = np.random.default_rng(seed)
    values = X @ rng.normal(size=X.shape[1])
    return (values + 0.5 * values.std() * rng.normal(size=len(values)) > 0).astype(int)


def dense_cases(args: argparse.Namespace) -> Iterator[Case]:
    X = np.round(4 * datasets.gaussian(args.n, 100)) / 4
    y = noisy_labels(X)
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        A = X.astype(kind)
        case = Case(f"dense {args.n} x 100", dtype, args.n, 100, 5, 3.0)
        yield measure(case, A, y, args)
        few = np.ascontiguousarray(A[:500])
        case = Case("dense 500 x 100, in cache", dtype, 500, 100, 200, 4.0)
        yield measure(case, few, y[:500], args)


def sparse_cases(args: argparse.Namespace) -> Iterator[Case]:
    """Give cases of a9a where the data is at hand, else of rows made up to its density."""
    folder = datasets.data_folder(args.data)
    if datasets.has(folder, "a9a"):
        assert folder is not None
        X, y = datasets.read(folder, "a9a")
        name = "a9a"
    else:
        X = datasets.binary_rows(32_561)
        y, name = noisy_labels(X), "like a9a"
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        A = X.astype(kind)
        case = Case(f"CSR {name}", dtype, *A.shape, 10, 3.0)
        yield measure(case, A, y, args)
        case = Case(f"CSR {name}, 1000 rows, in cache", dtype, 1000, A.shape[1], 200, 4.0)
        yield measure(case, A[:1000], y[:1000], args)


def one_sample(seconds: float) -> dict[str, Times]:
    """Time partial_fit of one sample of 100 features, which kcore takes for a mistake."""
    X = datasets.gaussian(1, 100)
    y = np.array([1])
    ours = Perceptron(margin=1e300).partial_fit(X, y, [0, 1])
    theirs = linear_model.Perceptron(penalty=None, shuffle=False).partial_fit(X, y, [0, 1])
    with threadpool_limits(limits=1):
        return interleave(
            {
                "kcore": lambda: ours.partial_fit(X, y),
                "sklearn": lambda: theirs.partial_fit(X, y),
            },
            seconds=seconds,
            n_calls=20,
            max_rounds=100,  # the history of passes grows with every call
        )


# ---- Output ---------------------------------------------------------------------------------

CASE_HEAD = [
    "case",
    "passes",
    "updates",
    "kcore ms",
    "ns/sample",
    "sklearn ms",
    "sklearn/kcore",
]


def case_rows(cases: list[Case]) -> list[list[str]]:
    return [
        [
            f"{case.name}, {case.dtype}",
            str(case.n_passes),
            str(case.n_updates),
            milliseconds(case.best("kcore")),
            figure(1e9 * case.best("kcore") / case.samples),
            milliseconds(case.best("sklearn")),
            figure(case.ratio),
        ]
        for case in cases
    ]


def options() -> argparse.Namespace:
    parser = option_parser(__doc__)
    parser.add_argument("--n", type=int, default=100_000, help="dense samples (100000)")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each case (2)")
    parser.add_argument("--rounds", type=int, default=5, help="at least so many for each case (5)")
    parser.add_argument("--data", help="folder of real data, for a9a (else KCORE_DATA)")
    add_programs(parser)
    return parser.parse_args()


def main() -> None:
    args = options()
    session = Session("perceptron", args)
    print("\nMinima of interleaved repeats of one fit, one thread, CPU time where it is less.\n")
    cases = [*dense_cases(args), *sparse_cases(args)]
    print(session.table(CASE_HEAD, case_rows(cases)))
    times = one_sample(args.seconds)
    own, other = (figure(1e6 * times[name].best(1)) for name in ("kcore", "sklearn"))
    print(f"\npartial_fit of one sample of 100 features: {own} us, scikit-learn {other} us")
    goals = [
        Goal(f"{case.name}, {case.dtype}: sklearn / kcore", case.ratio, case.least)
        for case in cases
    ]
    session.print_goals(goals)
    lines = session.run_programs(C_PROGRAMS, "one sample (scan), one update (learn)")
    session.write(
        cases=[case.as_json() for case in cases],
        one_sample={name: one.as_json() for name, one in times.items()},
        goals=[goal.as_json() for goal in goals],
        programs=lines,
    )
    session.end()


if __name__ == "__main__":
    main()
