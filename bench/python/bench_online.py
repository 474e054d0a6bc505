"""What one sample costs an online learner: `KernelPerceptron.partial_fit`, call by call.

Run by ``make bench-online``. A learner with a full set of points is given samples one by one, each
as an array of one row, and every call is timed. Beside it stands the same step in NumPy: kernel
values with an array of points by a matrix product, the decision value, and where that is a mistake,
the sample in place of the oldest point. Both make the same mistakes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import machine
from kcore.perceptron import KernelPerceptron
from report import Goal, figure
from session import Session, option_parser

KERNELS = ["linear", "rbf", "poly"]
DTYPES = {"f32": np.float32, "f64": np.float64}
SIZES = [(100, 20), (1000, 20), (1000, 100)]  # points kept, features
STRATEGIES = ["oldest", "smallest", "merge"]
LIMIT = 15.0  # microseconds, up to 1000 points of 100 features; projection has none


@dataclass
class Case:
    """A stream of samples and the microseconds of each call, for samples right and wrong."""

    kernel: str
    dtype: str
    n_points: int
    d: int
    strategy: str
    right: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    numpy: list[float] = field(default_factory=list)
    is_quiet: bool = True

    @property
    def name(self) -> str:
        return f"{self.kernel}/{self.dtype}/{self.n_points}x{self.d}/{self.strategy}"

    def microseconds(self, percentile: float) -> float:
        """Return a percentile over all calls."""
        return float(np.percentile(self.right + self.wrong, percentile))

    def as_json(self) -> dict[str, Any]:
        parts = {"right": self.right, "wrong": self.wrong, "numpy": self.numpy}
        return {
            "name": self.name,
            "kernel": self.kernel,
            "dtype": self.dtype,
            "n_points": self.n_points,
            "d": self.d,
            "strategy": self.strategy,
            "p50": self.microseconds(50),
            "p99": self.microseconds(99),
            "microseconds": {
                name: {f"p{p}": float(np.percentile(values, p)) for p in (0, 10, 50, 90, 99)}
                for name, values in parts.items()
                if values
            },
            "is_quiet": self.is_quiet,
        }


def samples(n: int, d: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noise with labels: about every other sample is a mistake."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)).astype(DTYPES[dtype]), rng.integers(0, 2, n)


def full_learner(case: Case) -> KernelPerceptron:
    """Return a learner whose set has no room left."""
    model = KernelPerceptron(
        kernel=case.kernel, gamma=1 / case.d, degree=3, coef0=1.0, budget=case.n_points,
        strategy=case.strategy,
    )  # fmt: skip
    seed = 0
    while seed == 0 or len(model.support_) < case.n_points:
        X, y = samples(4 * case.n_points, case.d, case.dtype, seed)
        model.partial_fit(X, y, classes=[0, 1])
        seed += 1
    return model


def numpy_step(case: Case, model: KernelPerceptron) -> Callable[[np.ndarray, int], bool]:
    """Return the same step in NumPy, for the strategy 'oldest'; it tells mistakes."""
    points = model.support_vectors_.copy()
    coef = model.dual_coef_[0].copy()
    norms = np.einsum("ij,ij->i", points, points)
    age = np.argsort(np.argsort(model.support_)).tolist()
    order = [age.index(k) for k in range(len(age))]  # places, the oldest first
    gamma = points.dtype.type(1 / case.d)
    head = 0

    def step(x: np.ndarray, label: int) -> bool:
        nonlocal head
        k = points @ x[0]
        if case.kernel == "rbf":
            k = np.exp(-gamma * np.maximum(norms + x[0] @ x[0] - 2 * k, 0))
        elif case.kernel == "poly":
            k = (gamma * k + 1) ** 3
        sign = 2 * label - 1
        if sign * (coef @ k + coef.sum()) > 0:
            return False
        place = order[head]
        head = (head + 1) % len(order)
        points[place] = x[0]
        norms[place] = x[0] @ x[0]
        coef[place] = sign
        return True

    return step


def run(case: Case, n_calls: int) -> Case:
    """Time `n_calls` calls of a case."""
    model = full_learner(case)
    step = numpy_step(case, model) if case.strategy == "oldest" else None
    X, y = samples(n_calls, case.d, case.dtype, seed=99)
    rows = [X[i : i + 1] for i in range(n_calls)]
    labels = [y[i : i + 1] for i in range(n_calls)]
    clock = time.perf_counter_ns
    is_mistake = []
    gc.collect()
    gc.disable()
    for i in range(n_calls):
        n_before = model.n_updates_
        start = clock()
        model.partial_fit(rows[i], labels[i])
        taken = (clock() - start) / 1000
        is_mistake.append(model.n_updates_ > n_before)
        (case.wrong if is_mistake[-1] else case.right).append(taken)
    n_different = 0
    if step is not None:  # on its own, since two sets of points would share the cache
        for i in range(n_calls):
            start = clock()
            found = step(rows[i], int(y[i]))
            case.numpy.append((clock() - start) / 1000)
            n_different += found != is_mistake[i]
    gc.enable()
    if n_different > n_calls // 100:  # values near zero are rounded to either side
        raise SystemExit(f"{case.name}: {n_different} mistakes differ from NumPy's")
    case.is_quiet = machine.is_quiet()
    print(f"  {case.name}", file=sys.stderr, flush=True)
    return case


def cases_of(args: argparse.Namespace) -> Iterator[Case]:
    strategies = [*STRATEGIES, "projection"] if args.full else STRATEGIES
    for n_points, d in SIZES:
        for kernel in KERNELS:
            for dtype in DTYPES:
                for strategy in strategies:
                    if (kernel, strategy) == ("linear", "projection"):
                        continue  # keeps no more than d + 1 points
                    case = Case(kernel, dtype, n_points, d, strategy)
                    yield run(case, args.calls)


def goals_of(cases: list[Case]) -> Iterator[Goal]:
    """Give the goal of every case: the median over all calls."""
    for case in cases:
        if case.strategy != "projection":
            yield Goal(
                f"{case.name}: one sample", case.microseconds(50), LIMIT, "us", at_least=False,
                is_judged=case.is_quiet,
            )  # fmt: skip


CASE_HEAD = ["case", "us p50", "p99", "right p50", "mistake p50", "NumPy p50", "NumPy/kcore"]


def case_rows(cases: list[Case]) -> list[list[str]]:
    rows = []
    for case in cases:
        p50 = case.microseconds(50)
        numpy = float(np.median(case.numpy)) if case.numpy else None
        rows.append(
            [
                case.name,
                figure(p50),
                figure(case.microseconds(99)),
                figure(float(np.median(case.right)) if case.right else None),
                figure(float(np.median(case.wrong)) if case.wrong else None),
                figure(numpy),
                figure(None if numpy is None else numpy / p50),
            ]
        )
    return rows


def options() -> argparse.Namespace:
    parser = option_parser(__doc__)
    parser.add_argument("--calls", type=int, default=5000, help="timed for each case (5000)")
    parser.add_argument("--full", action="store_true", help="the strategy 'projection' too")
    return parser.parse_args()


def main() -> None:
    args = options()
    session = Session("online", args)
    print("\nMicroseconds of one call with one sample, by the clock; points kept x features.\n")
    with threadpool_limits(limits=1):
        cases = list(cases_of(args))
    print(session.table(CASE_HEAD, case_rows(cases)))
    goals = list(goals_of(cases))
    session.print_goals(goals)
    session.write(
        cases=[case.as_json() for case in cases], goals=[goal.as_json() for goal in goals]
    )
    session.end()


if __name__ == "__main__":
    main()
