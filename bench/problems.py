"""The cases of the SVM benchmark: what is solved, and on which samples.

A case is plain data, so that the processes that run the libraries make the same samples by
themselves instead of being sent them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import datasets


@dataclass(frozen=True)
class Problem:
    """A task with its parameters, in scikit-learn's names. The cache is in megabytes."""

    task: str = "svc"  # svc, nu_svc, svr, nu_svr, one_class
    kernel: str = "rbf"  # rbf, linear, poly
    gamma: float = 1.0
    C: float = 1.0
    nu: float = 0.5
    epsilon: float = 0.1
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    cache_size: float = 2000.0


@dataclass(frozen=True)
class Case:
    """A problem on n samples of a source: a set of the data folder, or ``synthetic``."""

    name: str
    group: str  # latency, real, large, grid, limit, scaling, memory, slow
    problem: Problem
    source: str
    n: int
    d: int = 0  # synthetic only
    scale: str = "none"  # real only


@dataclass(frozen=True)
class Samples:
    """What a case is run on; `X_test` is for predictions."""

    X: Any
    y: np.ndarray
    X_test: Any


def samples_of(case: Case, folder: Path | None) -> Samples:
    if case.source == "synthetic":
        X, y = datasets.synthetic(case.n + 1000, case.d)
        return Samples(X[: case.n], y[: case.n], X[case.n :])
    assert folder is not None
    X, y, X_test = datasets.real(
        folder, case.source, n=case.n, scale=case.scale, is_target=case.problem.task.endswith("svr")
    )
    return Samples(X, y, X_test)


# ---- Latency --------------------------------------------------------------------------------

LATENCY = {
    "quick": ([50, 100, 500], [4, 30]),
    "default": ([20, 50, 100, 200, 500], [4, 30, 200]),
}


def latency_cases(mode: str) -> Iterator[Case]:
    sizes, dims = LATENCY.get(mode, LATENCY["default"])
    for d in dims:
        for n in sizes:
            problem = Problem(gamma=1 / d, C=1.0)
            yield Case(f"latency n={n} d={d}", "latency", problem, "synthetic", n, d)


# ---- Synthetic grid and scaling -------------------------------------------------------------

GRID = {
    "quick": ([1000, 2000], [4, 200], [1.0, 10.0]),
    "default": ([1000, 3000, 10000], [4, 40, 400], [1.0, 10.0, 100.0]),
    "full": ([1000, 3000, 10000, 30000, 50000], [4, 20, 100, 300, 800], [1.0, 10.0, 100.0]),
}
SCALING = {
    "quick": [500, 1000, 2000],
    "default": [1000, 2000, 4000, 8000],
    "full": [1000, 2000, 4000, 8000, 16000, 32000],
}


def grid_cases(mode: str) -> Iterator[Case]:
    """Give the grid, small before large; by default, C = 100 at the smaller n alone."""
    sizes, dims, costs = GRID[mode]
    for n in sizes:
        for d in dims:
            for C in costs:
                if mode == "default" and C == 100 and n > 3000:
                    continue
                problem = Problem(gamma=1 / d, C=C)
                yield Case(f"grid n={n} d={d} C={C:g}", "grid", problem, "synthetic", n, d)


def scaling_cases(mode: str) -> Iterator[Case]:
    for C in (1.0, 10.0):
        for n in SCALING[mode]:
            problem = Problem(gamma=1 / 20, C=C)
            yield Case(f"scaling n={n} d=20 C={C:g}", "scaling", problem, "synthetic", n, 20)


def limit_cases(mode: str) -> Iterator[Case]:
    """Give larger problems of the grid's kind, with room for their Gram matrix in float32."""
    for n in [] if mode == "quick" else [20000, 30000]:
        for d in (40, 400):
            for C in (1.0, 10.0):
                problem = Problem(gamma=1 / d, C=C, cache_size=4000.0)
                yield Case(f"limit n={n} d={d} C={C:g}", "limit", problem, "synthetic", n, d)


def memory_cases(mode: str) -> Iterator[Case]:
    """Give cases whose Gram matrix is larger than the cache they are allowed."""
    n = 2000 if mode == "quick" else 8000
    for d, cache_size in ((4, 50.0), (200, 50.0), (200, 200.0)):
        problem = Problem(gamma=1 / d, C=10.0, cache_size=cache_size)
        name = f"memory n={n} d={d} cache={cache_size:g} MB"
        yield Case(name, "memory", problem, "synthetic", n, d)


# ---- Real data ------------------------------------------------------------------------------

# Parameters are those of the literature where a set has usual ones, else a sound choice that makes
# neither everything a support vector nor nothing.  n: as run by default; the full run takes `full`.
REAL = [
    # name, source, scale, problem, n by default, n in full
    ("svmguide1", "svmguide1", "minmax", Problem(C=2, gamma=2), 3089, 3089),
    ("usps", "usps", "none", Problem(C=10, gamma=1 / 128), 5000, 7291),
    ("satimage", "satimage", "minmax", Problem(C=16, gamma=1), 4435, 4435),
    ("letter", "letter", "minmax", Problem(C=16, gamma=4), 5000, 15000),
    ("ijcnn1", "ijcnn1", "none", Problem(C=32, gamma=2), 10000, 49990),
    ("a9a", "a9a", "none", Problem(C=1, gamma=0.05), 10000, 32561),
    ("mnist", "mnist", "bytes", Problem(C=10, gamma=0.02), 4000, 10000),
    ("covtype", "covtype_15k", "minmax", Problem(C=10, gamma=1), 5000, 15000),
    ("skin", "skin_nonskin", "bytes", Problem(C=10, gamma=10), 10000, 100000),
    ("eeg_eye", "eeg_eye", "robust", Problem(C=10, gamma=0.5), 8000, 14980),
    ("news20 linear", "news20_t", "rows", Problem(kernel="linear", C=1), 2000, 3993),
    ("reuters", "lasvm_reuters", "none", Problem(C=1, gamma=1), 5000, 7770),
    ("mushrooms", "mushrooms", "none", Problem(C=1, gamma=1 / 112), 6000, 8124),
    (
        "cal_housing svr",
        "cal_housing",
        "standard",
        Problem("svr", C=1, gamma=0.25, epsilon=0.1),
        6000,
        20640,
    ),
    ("kin8nm svr", "kin8nm", "standard", Problem("svr", C=1, gamma=0.1, epsilon=0.1), 5000, 8192),
    (
        "cpusmall svr",
        "cpusmall",
        "standard",
        Problem("svr", C=10, gamma=0.1, epsilon=0.1),
        5000,
        8192,
    ),
    ("abalone svr", "abalone", "standard", Problem("svr", C=1, gamma=0.2, epsilon=0.1), 4177, 4177),
    ("svmguide1 nu", "svmguide1", "minmax", Problem("nu_svc", nu=0.1, gamma=2), 3089, 3089),
    ("satimage nu", "satimage", "minmax", Problem("nu_svc", nu=0.1, gamma=1), 3000, 4435),
    ("abalone nu-svr", "abalone", "standard", Problem("nu_svr", C=1, gamma=0.2), 3000, 4177),
    ("usps one-class", "usps", "none", Problem("one_class", nu=0.1, gamma=1 / 128), 5000, 7291),
]
QUICK_REAL = ["svmguide1", "satimage", "a9a", "abalone svr"]
QUICK_N = 2000


def real_cases(mode: str, folder: Path | None) -> Iterator[Case]:
    """Give a case for each set of the list that the folder has."""
    for name, source, scale, problem, n, n_full in REAL:
        if not datasets.has(folder, source) or (mode == "quick" and name not in QUICK_REAL):
            continue
        size = {"quick": min(n, QUICK_N), "default": n, "full": n_full}[mode]
        yield Case(name, "real", problem, source, size, scale=scale)


# Boxes at which steps are what takes the time.  Parameters are otherwise those of REAL.
LARGE = [
    # name, source, scale, problem, n, features where it is synthetic
    ("svmguide1", "svmguide1", "minmax", Problem(C=1000, gamma=2), 3089, 0),
    ("eeg_eye", "eeg_eye", "robust", Problem(C=1000, gamma=0.5), 5000, 0),
    ("covtype", "covtype_15k", "minmax", Problem(C=1000, gamma=1), 3000, 0),
    (
        "abalone svr",
        "abalone",
        "standard",
        Problem("svr", C=100, gamma=0.2, epsilon=0.1),
        4177,
        0,
    ),
    (
        "cpusmall svr",
        "cpusmall",
        "standard",
        Problem("svr", C=100, gamma=0.1, epsilon=0.1),
        3000,
        0,
    ),
    ("3000 x 4", "synthetic", "none", Problem(C=1000, gamma=1 / 4), 3000, 4),
    ("3000 x 40", "synthetic", "none", Problem(C=1000, gamma=1 / 40), 3000, 40),
]


def large_cases(mode: str, folder: Path | None) -> Iterator[Case]:
    """Give problems with large boxes, on sets that the folder has and on synthetic ones."""
    for name, source, scale, problem, n, d in [] if mode == "quick" else LARGE:
        if source == "synthetic" or datasets.has(folder, source):
            title = f"{name} C={problem.C:g}"
            yield Case(title, "large", problem, source, n, d, scale=scale)


def with_cache(case: Case, megabytes: float | None) -> Case:
    """Return the case with another cache budget, unless it has one of its own."""
    if megabytes is None or case.group in ("memory", "limit"):
        return case
    return replace(case, problem=replace(case.problem, cache_size=megabytes))
