"""What a solution is worth: one function for every library, in float64, from the raw samples.

A kernel machine is a set of dual variables. Whatever solver found them, and in whatever precision,
they are judged here by the problem's definition alone:

    minimise  1/2 b'Kb - t'b + epsilon |b|_1   over  lo <= b <= hi,  sum of b fixed in each group

with b the signed dual variables and K the plain kernel matrix. `audit` returns

* the objective, lower is better;
* the largest violation: the most that one pair of variables still wants to move, the figure that
  libsvm's stopping rule compares with tol;
* the duality gap with the model's own intercept, an upper bound on how far the objective is from
  the best one (not for the nu problems, whose intercepts are scaled);
* how far box and sums are from being kept.

It costs n times the number of support vectors kernel values and is kept outside every timing.
``python bench/audit.py`` checks it against solutions that are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from problems import Problem

# Variables this close to a bound, relative to the box, count as being there.
AT_BOUND = 1e-7

# Kernel values made at a time.
CHUNK_ENTRIES = 1 << 23


@dataclass(frozen=True)
class Solution:
    """A fitted model in libsvm's layout, the first class of each pair being the positive one.

    `coef` has a row for each class but one: of a support vector of class i, row j - 1 (j > i) or
    j (j < i) is its signed coefficient against class j. Support vectors are sorted by class.
    Regression and one-class models have one row.
    """

    support: np.ndarray  # rows of X
    coef: np.ndarray  # (max(1, n_classes - 1), n_sv)
    intercept: np.ndarray  # one for each pair
    classes: np.ndarray | None = None
    n_support: np.ndarray | None = None  # by class


@dataclass(frozen=True)
class Audit:
    """The verdict; see the head of this file."""

    objective: float
    violation: float
    gap: float | None
    infeasibility: float
    n_sv: int
    n_bounded: int

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class SubProblem:
    """One dual problem: the whole of it, or one pair of classes."""

    rows: np.ndarray  # of X
    beta: np.ndarray
    t: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    epsilon: float
    intercept: float | None
    groups: list[np.ndarray]  # masks of the variables whose sum is fixed
    sums: list[float]


def kernel_block(problem: Problem, A: Any, B: Any) -> np.ndarray:
    """Return K(a, b) for the rows of A and B, in float64."""
    dots = A @ B.T
    dots = dots.toarray() if sp.issparse(dots) else np.asarray(dots)
    if problem.kernel == "linear":
        return dots
    if problem.kernel == "poly":
        return (problem.gamma * dots + problem.coef0) ** problem.degree
    if problem.kernel != "rbf":
        raise ValueError(f"no audit for the kernel {problem.kernel!r}")
    dots *= -2
    dots += squared_norms(A)[:, None]
    dots += squared_norms(B)[None, :]
    np.maximum(dots, 0, out=dots)
    dots *= -problem.gamma
    return np.exp(dots, out=dots)


def squared_norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def kernel_times(problem: Problem, X: Any, support: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return K(X, X[support]) B, some rows at a time."""
    vectors = X[support]
    out = np.empty((X.shape[0], B.shape[1]))
    step = max(1, CHUNK_ENTRIES // max(1, len(support)))
    for begin in range(0, X.shape[0], step):
        rows = slice(begin, begin + step)
        out[rows] = kernel_block(problem, X[rows], vectors) @ B
    return out


# ---- From models to problems ------------------------------------------------------------------


def sub_problems(problem: Problem, y: np.ndarray, solution: Solution) -> Iterator[SubProblem]:
    """Give the problems that the model solves, in the order of its intercepts."""
    if problem.task in ("svc", "nu_svc"):
        yield from pair_problems(problem, y, solution)
        return
    n = len(y)
    beta = np.zeros(n)
    beta[solution.support] = solution.coef[0]
    everywhere = np.ones(n, dtype=bool)
    rows = np.arange(n)
    if problem.task == "one_class":
        yield SubProblem(
            rows=rows,
            beta=beta,
            t=np.zeros(n),
            lo=np.zeros(n),
            hi=np.ones(n),
            epsilon=0.0,
            intercept=float(solution.intercept[0]),
            groups=[everywhere],
            sums=[problem.nu * n],
        )
        return
    is_nu = problem.task == "nu_svr"
    yield SubProblem(
        rows=rows,
        beta=beta,
        t=np.asarray(y, dtype=np.float64),
        lo=np.full(n, -problem.C),
        hi=np.full(n, problem.C),
        epsilon=0.0 if is_nu else problem.epsilon,
        intercept=None if is_nu else float(solution.intercept[0]),
        groups=[everywhere],
        sums=[0.0],
    )


def pair_problems(problem: Problem, y: np.ndarray, solution: Solution) -> Iterator[SubProblem]:
    assert solution.classes is not None
    assert solution.n_support is not None
    n_classes = len(solution.classes)
    members = [np.flatnonzero(y == label) for label in solution.classes]
    ends = np.cumsum(solution.n_support)
    spans = [slice(end - count, end) for end, count in zip(ends, solution.n_support, strict=True)]
    for pair, (i, j) in enumerate(combinations(range(n_classes), 2)):
        whole = np.zeros(len(y))
        whole[solution.support[spans[i]]] = solution.coef[j - 1, spans[i]]
        whole[solution.support[spans[j]]] = solution.coef[i, spans[j]]
        rows = np.concatenate([members[i], members[j]])
        beta = whole[rows]
        sign = np.concatenate([np.ones(len(members[i])), -np.ones(len(members[j]))])
        if problem.task == "nu_svc":
            yield nu_pair(problem, rows, beta, sign)
            continue
        yield SubProblem(
            rows=rows,
            beta=beta,
            t=sign,
            lo=np.minimum(problem.C * sign, 0),
            hi=np.maximum(problem.C * sign, 0),
            epsilon=0.0,
            intercept=float(solution.intercept[pair]),
            groups=[np.ones(len(rows), dtype=bool)],
            sums=[0.0],
        )


def nu_pair(problem: Problem, rows: np.ndarray, beta: np.ndarray, sign: np.ndarray) -> SubProblem:
    """Undo libsvm's division by the margin: before it, each class sums to nu n / 2."""
    half = problem.nu * len(rows) / 2
    total = float(np.abs(beta).sum())
    return SubProblem(
        rows=rows,
        beta=beta * (2 * half / total if total > 0 else 1.0),
        t=np.zeros(len(rows)),
        lo=np.minimum(sign, 0),
        hi=np.maximum(sign, 0),
        epsilon=0.0,
        intercept=None,
        groups=[sign > 0, sign < 0],
        sums=[half, -half],
    )


# ---- The verdict --------------------------------------------------------------------------


def audit(problem: Problem, X: Any, y: np.ndarray, solution: Solution) -> Audit:
    """Judge `solution` as a solution of `problem` on all samples X, y."""
    subs = list(sub_problems(problem, y, solution))
    place = np.full(X.shape[0], -1)
    place[solution.support] = np.arange(len(solution.support))
    B = np.zeros((len(solution.support), len(subs)))
    for k, sub in enumerate(subs):
        moved = sub.beta != 0
        B[place[sub.rows[moved]], k] = sub.beta[moved]
    K_beta = kernel_times(problem, X, solution.support, B)
    verdicts = [
        judge(sub, K_beta[sub.rows, k], problem.task == "nu_svr") for k, sub in enumerate(subs)
    ]
    gaps = [verdict.gap for verdict in verdicts]
    return Audit(
        objective=float(sum(verdict.objective for verdict in verdicts)),
        violation=max(verdict.violation for verdict in verdicts),
        gap=None if None in gaps else float(sum(gap for gap in gaps if gap is not None)),
        infeasibility=max(verdict.infeasibility for verdict in verdicts),
        n_sv=len(solution.support),
        n_bounded=sum(verdict.n_bounded for verdict in verdicts),
    )


def judge(sub: SubProblem, K_beta: np.ndarray, is_nu_svr: bool) -> Audit:
    beta, box = sub.beta, sub.hi - sub.lo
    grad = sub.t - K_beta
    objective = 0.5 * beta @ K_beta - sub.t @ beta + sub.epsilon * np.abs(beta).sum()
    can_rise = beta < sub.hi - AT_BOUND * box
    can_fall = beta > sub.lo + AT_BOUND * box
    if is_nu_svr:
        # Positive and negative parts are variables of their own, with a fixed sum each.
        violation = max(
            pair_violation(grad, grad, can_rise, beta > AT_BOUND * box),
            pair_violation(-grad, -grad, can_fall, beta < -AT_BOUND * box),
        )
    else:
        rise = grad - np.where(beta >= 0, sub.epsilon, -sub.epsilon)
        fall = grad - np.where(beta > 0, sub.epsilon, -sub.epsilon)
        violation = max(
            pair_violation(rise, fall, can_rise & group, can_fall & group) for group in sub.groups
        )
    at_bound = (beta != 0) & ~(can_rise & can_fall)
    return Audit(
        objective=float(objective),
        violation=violation,
        gap=duality_gap(sub, grad),
        infeasibility=infeasibility(sub),
        n_sv=int(np.count_nonzero(beta)),
        n_bounded=int(np.count_nonzero(at_bound)),
    )


def pair_violation(
    rise: np.ndarray, fall: np.ndarray, can_rise: np.ndarray, can_fall: np.ndarray
) -> float:
    """Return how much the best pair gains per unit moved from `fall` to `rise`; 0 for none."""
    if not can_rise.any() or not can_fall.any():
        return 0.0
    return max(0.0, float(rise[can_rise].max() - fall[can_fall].min()))


def duality_gap(sub: SubProblem, grad: np.ndarray) -> float | None:
    """Sum what each variable would gain if the intercept were right and it moved alone."""
    if sub.intercept is None:
        return None
    v = grad - sub.intercept

    def gain(beta: np.ndarray) -> np.ndarray:
        return beta * v - sub.epsilon * np.abs(beta)

    best = np.maximum(gain(sub.lo), gain(sub.hi))
    best = np.maximum(best, 0)  # 0 is in every box
    return float((best - gain(sub.beta)).sum())


def infeasibility(sub: SubProblem) -> float:
    """Return the larger of the excess over the box and the error of the sums, both relative."""
    beyond = np.maximum(sub.beta - sub.hi, sub.lo - sub.beta).max() / (sub.hi - sub.lo).max()
    total = np.abs(sub.beta).sum()
    off = max(
        abs(sub.beta[group].sum() - target)
        for group, target in zip(sub.groups, sub.sums, strict=True)
    )
    return float(max(0.0, beyond, off / total if total > 0 else off))


# ---- Its own test ---------------------------------------------------------------------------


def self_test() -> None:
    """Audit solutions by scikit-learn at a small tol, and spoilt copies of them."""
    import baselines

    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    labels = (X @ [1.0, 2.0, -1.0] + rng.normal(size=150) > 0).astype(int)
    three = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    values = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    tight = {"gamma": 0.3, "tol": 1e-9}
    trials = [
        (Problem(task="svc", C=3.0, **tight), labels),
        (Problem(task="svc", C=3.0, **tight), three),
        (Problem(task="svc", kernel="linear", C=0.5, tol=1e-9), labels),
        (Problem(task="svc", kernel="poly", coef0=1.0, C=0.5, **tight), three),
        (Problem(task="nu_svc", nu=0.4, **tight), three),
        (Problem(task="svr", C=2.0, epsilon=0.1, **tight), values),
        (Problem(task="nu_svr", C=2.0, nu=0.4, **tight), values),
        (Problem(task="one_class", nu=0.2, **tight), values),
    ]
    peer = baselines.load("sklearn")["sklearn"]
    for problem, y in trials:
        data = peer.prepare(X, y)
        solution = peer.solution(peer.fit(problem, data, 1), data)
        good = audit(problem, X, y, solution)
        assert good.violation < 1e-5, (problem, good)
        assert good.infeasibility < 1e-8, (problem, good)
        assert good.gap is None or 0 <= good.gap + 1e-9 < 1e-4 * abs(good.objective), good
        spoilt = Solution(
            solution.support,
            0.9 * solution.coef,
            solution.intercept,
            solution.classes,
            solution.n_support,
        )
        bad = audit(problem, X, y, spoilt)
        assert max(bad.violation, bad.infeasibility) > 1e-2 or problem.task == "nu_svc", bad
        print(f"{problem.task:10} {problem.kernel:7} {good}")


if __name__ == "__main__":
    self_test()
