"""A table of hashes of what kcore computes: the net under a change that must not move a bit.

Each line is a case and the hash of all its numbers: kernel values, coefficients, intercepts, steps,
decision values, predictions. The cases go through every learner, solver method, storage, type,
kernel, kind of weights, multi-class form, perceptron rule and budget.

    python tests/bits/table.py > before.txt             # on the commit before
    python tests/bits/table.py --against before.txt     # on the commit after: what differs

Every instruction set of the machine has its own lines (``--isa generic`` for one of them); the
hashes are those of one machine's C library, compiler and NumPy, so the two runs belong together.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import kcore
from kcore import kernels
from kcore.features import PolynomialMap, Quadratic

ISAS = ["generic", "avx2", "avx512"]
Case = tuple[str, list[Any]]


# ---- Data


def blobs(n: int, d: int, k: int = 2, seed: int = 0, spread: float = 1.0) -> tuple[Any, Any]:
    """Classes around centres, overlapping the more the larger the spread."""
    rng = np.random.default_rng([seed, n, d, k])
    centres = 2 * rng.standard_normal((k, d)) / np.sqrt(d)
    y = rng.integers(0, k, n)
    return centres[y] + spread * rng.standard_normal((n, d)) / np.sqrt(d), y


def noise(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Labels that nothing in the samples tells: nearly all become support vectors."""
    rng = np.random.default_rng([seed, n, d])
    return rng.standard_normal((n, d)), rng.integers(0, 2, n)


def waves(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """A regression."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.uniform(-1, 1, (n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.1 * rng.standard_normal(n)


def counts(n: int, d: int, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Sparse counts with some words per class."""
    rng = np.random.default_rng([seed, n, d, k])
    y = rng.integers(0, k, n)
    X = sp.random_array((n, d), density=0.02, rng=rng, data_sampler=lambda size: np.ones(size))
    marks = sp.csr_array((np.ones(n), (np.arange(n), rng.integers(0, 5, n) + 5 * y)), shape=(n, d))
    return sp.csr_array(X + marks), y


# ---- Hashes


def digest(values: list[Any]) -> str:
    """Every number of every array, with shape and type."""
    text = hashlib.sha256()
    for value in values:
        array = np.ascontiguousarray(value.toarray() if sp.issparse(value) else value)
        text.update(f"{array.dtype.str}{array.shape}".encode())
        text.update(array.tobytes() if array.dtype != object else repr(array.tolist()).encode())
    return text.hexdigest()[:16]


def fitted(model: Any, X: Any, y: Any = None, Z: Any = None, **fit: Any) -> list[Any]:
    """What a fit leaves behind, and what it says of other samples."""
    Z = X[:50] if Z is None else Z
    model.fit(X, y, **fit)
    names = ["support_", "dual_coef_", "coef_", "intercept_", "n_iter_", "n_updates_", "epsilon_"]
    left = [np.asarray(getattr(model, name)) if not sp.issparse(getattr(model, name))
            else getattr(model, name) for name in names if hasattr(model, name)]  # fmt: skip
    said = [model.predict(Z)]
    if hasattr(model, "decision_function"):
        said.append(model.decision_function(Z))
        said.append(model.decision_function(Z[:1]))  # one row goes another way
    return left + said


# ---- Cases


def largest(X: Any) -> Any:
    """A number for each sample, for kernels of functions."""
    return (X.toarray() if sp.issparse(X) else X).max(axis=1)


def gram_cases() -> Iterator[Case]:
    """Every kernel on dense and sparse samples of both types, few features and many."""
    rng = np.random.default_rng(1)
    leaves = {
        "linear": kernels.Linear(),
        "rbf": kernels.RBF(0.1),
        "poly": kernels.Polynomial(3, 0.2, 1.0),
        "sigmoid": kernels.Sigmoid(0.1, 0.2),
        "laplacian": kernels.Laplacian(0.1),
        "tree": kernels.exp(0.5 * kernels.RBF(0.2))
        + kernels.Linear() ** 2 * kernels.Laplacian(0.3),
    }
    for d in (3, 70, 900):
        by_column = rng.random(d)
        leaves |= {
            "gamma by column": kernels.RBF(by_column) + kernels.Laplacian(by_column),
            "map": kernels.RBF(0.1).on(rng.standard_normal((5, d))),
            "periodic": kernels.Periodic(3.0, 0.7),
            "function": kernels.rank_one(largest) + kernels.Linear(),
        }
        dense = rng.standard_normal((150, d)) / np.sqrt(d)
        sparse = dense * (rng.random(dense.shape) < 0.05)
        for name, kernel in leaves.items():
            for dtype in (np.float32, np.float64):
                X, S = dense.astype(dtype), sp.csr_array(sparse.astype(dtype))
                yield (
                    f"gram {name} d={d} {np.dtype(dtype).name}",
                    [kernel(X), kernel(X[:7], X), kernel.diag(X), kernel(S), kernel(S[:9], X)],
                )


def method_cases() -> Iterator[Case]:
    """SVC in every regime of the solver."""
    regimes: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "pairs": (*blobs(300, 5), {"C": 1.0}),
        "pairs large C": (*blobs(400, 4, spread=2.0), {"C": 1e3}),
        "blocks": (*blobs(3000, 30), {"C": 1.0}),
        "blocks cheap values": (*blobs(6000, 4), {"C": 1.0}),
        "crowded": (*noise(3000, 10), {"C": 10.0}),
        "settled, shrinking": (*noise(4000, 10), {"C": 10.0, "gamma": 0.3}),
        "settled, whole": (*noise(4000, 10), {"C": 10.0, "gamma": 0.3, "shrinking": False}),
        "greedy": (*noise(5000, 120), {"C": 1.0}),
        "newton": (*blobs(3000, 4, spread=2.0), {"C": 1e3}),
        "hard margin": (*blobs(500, 40, spread=0.2), {"C": np.inf}),
        "stopped": (*blobs(2000, 30, spread=2.0), {"C": 10.0, "max_iter": 300}),
        "tight": (*blobs(700, 8), {"C": 1.0, "tol": 1e-8}),
    }
    for name, (X, y, params) in regimes.items():
        for precision in ("float32", "float64"):
            if name == "hard margin" and precision == "float32":
                continue
            model = kcore.SVC(precision=precision, **{"gamma": 1.0, **params})
            yield f"svc {name} {precision}", fitted(model, X, y)
    X, y = blobs(900, 20)
    for kernel in ("linear", "poly", "sigmoid", kernels.Laplacian(0.1), kernels.RBF(0.1) ** 2):
        yield f"svc kernel {kernel}", fitted(kcore.SVC(kernel=kernel, gamma=0.2), X, y)
    K = kernels.RBF(0.5)(X)
    yield "svc precomputed", fitted(kcore.SVC(kernel="precomputed"), K, y, K[:50])
    small, labels = X[:200], y[:200]
    yield "svc callable", fitted(kcore.SVC(kernel=lambda A, B: A @ B.T), small, labels)
    model = kcore.SVC(gamma=0.5, warm_start=True).fit(X[:800], y[:800])
    yield "svc warm start", fitted(model.set_params(C=2.0), X, y, init=model)


def machine_cases() -> Iterator[Case]:
    """Every machine on every storage and type, small and large."""
    for n, d in ((60, 3), (700, 12), (2500, 80)):
        X, y = blobs(n, d)
        R, t = waves(n, d)
        machines: dict[str, tuple[Any, Any, Any]] = {
            "svc": (kcore.SVC(), X, y),
            "nusvc": (kcore.NuSVC(nu=0.3), X, y),
            "svr": (kcore.SVR(C=2.0), R, t),
            "nusvr": (kcore.NuSVR(nu=0.4), R, t),
            "oneclass": (kcore.OneClassSVM(nu=0.2), X, None),
        }
        for name, (model, samples, targets) in machines.items():
            for dtype in (np.float32, np.float64):
                model.set_params(precision=np.dtype(dtype).name)
                yield (
                    f"{name} n={n} d={d} {np.dtype(dtype).name}",
                    fitted(model, samples.astype(dtype), targets),
                )
    S, y = counts(1500, 3000)
    weights = np.random.default_rng(3).integers(0, 4, 1500).astype(float)
    weights[:4] = 1
    for name, machine in (
        ("svc linear", kcore.SVC(kernel="linear")),
        ("svc rbf", kcore.SVC(gamma=0.01)),
        ("nusvc", kcore.NuSVC(nu=0.2)),
        ("oneclass", kcore.OneClassSVM(nu=0.2)),
    ):
        yield f"{name} csr", fitted(machine, S, y)
        yield f"{name} csr weights", fitted(machine, S, y, sample_weight=weights)
    X, y = blobs(1000, 10, k=5)
    weights = np.random.default_rng(4).uniform(0.1, 2, 1000)
    for form in ("ovo", "ovr"):
        model = kcore.SVC(multi_class=form, class_weight="balanced")
        yield f"svc 5 classes {form}", fitted(model, X, y)
        yield f"svc 5 classes {form} weights", fitted(model, X, y, sample_weight=weights)
    yield "nusvc 5 classes", fitted(kcore.NuSVC(nu=0.2), X, y)
    yield "svc break ties", fitted(kcore.SVC(break_ties=True), X, y)
    yield "svc strings", fitted(kcore.SVC(), X, np.array(list("vwxyz"))[y])


def perceptron_cases() -> Iterator[Case]:
    """Rules, averages and multi-class forms of the linear perceptron; feature maps."""
    data = {"dense": blobs(800, 10, k=3, spread=2.0), "csr": counts(800, 2000, k=3)}
    for storage, (X, y) in data.items():
        y = np.where(np.arange(800) % 9, y, (y + 1) % 3)  # not separable
        weights = np.random.default_rng(5).uniform(0.5, 2, len(y))
        for rule in ("single", "batch"):
            params: dict[str, Any] = {"rule": rule, "max_iter": 12}
            variants: dict[str, dict[str, Any]] = {
                "plain": {},
                "margin": {"margin": 0.5},
                "shuffled": {"shuffle": True, "random_state": 3},
                "averaged": {"average": True},
                "pocket": {"pocket": True},
                "direct": {"multi_class": "direct"},
                "inverse eta": {"eta": "inverse"},
            }
            if rule == "batch":
                del variants["direct"], variants["shuffled"], variants["averaged"]
            for name, more in variants.items():
                model = kcore.Perceptron(**params, **more)
                yield f"perceptron {rule} {name} {storage}", fitted(model, X, y)
            model = kcore.Perceptron(**params)
            yield (
                f"perceptron {rule} weights {storage}",
                fitted(model, X, y, sample_weight=weights),
            )
        model = kcore.Perceptron(average="voted", max_iter=5)
        yield f"perceptron voted {storage}", fitted(model, X, (y > 0).astype(int))
        model = kcore.Perceptron()
        for k in range(4):
            model.partial_fit(X[k * 200 : (k + 1) * 200], y[k * 200 : (k + 1) * 200], [0, 1, 2])
        yield f"perceptron partial_fit {storage}", [model.coef_, model.intercept_]
        for name, feature_map in {"quadratic": Quadratic(), "cubic": PolynomialMap(3)}.items():
            columns = X[:40, :9]
            yield f"map {name} {storage}", [feature_map.fit_transform(columns)]


def kernel_perceptron_cases() -> Iterator[Case]:
    """Rules, averages, budgets, streams of the kernel perceptron."""
    data = {"dense": blobs(600, 10, k=3, spread=2.0), "csr": counts(600, 2000, k=3)}
    for storage, (X, y) in data.items():
        y = np.where(np.arange(600) % 9, y, (y + 1) % 3)
        two = (y > 0).astype(int)
        for kernel in ("rbf", "poly", "linear"):
            params: dict[str, Any] = {"kernel": kernel, "gamma": 0.3, "max_iter": 5}
            variants: dict[str, dict[str, Any]] = {
                "plain": {},
                "batch": {"rule": "batch"},
                "averaged": {"average": True},
                "margin": {"margin": 0.2},
                "direct": {"multi_class": "direct"},
                "no offset": {"fit_intercept": False},
            }
            for name, more in variants.items():
                model = kcore.KernelPerceptron(**params, **more)
                yield f"kernel perceptron {kernel} {name} {storage}", fitted(model, X, y)
            for strategy in ("merge", "projection", "oldest", "smallest"):
                if strategy == "merge" and kernel != "rbf":
                    continue
                model = kcore.KernelPerceptron(
                    **{**params, "max_iter": 2}, budget=30, strategy=strategy
                )
                yield f"budget {kernel} {strategy} {storage}", streamed(model, X, y)
        voted = kcore.KernelPerceptron(gamma=0.3, average="voted", max_iter=3)
        yield f"kernel perceptron voted {storage}", fitted(voted, X, two)
        for precision in ("float32", "float64"):
            model = kcore.KernelPerceptron(gamma=0.3, precision=precision)
            yield f"kernel perceptron online {precision} {storage}", streamed(model, X, y)


def streamed(model: Any, X: Any, y: Any) -> list[Any]:
    """A stream of batches, and single samples at its end."""
    model.partial_fit(X[:200], y[:200], [0, 1, 2])
    model.partial_fit(X[200:400], y[200:400])
    for i in range(400, 420):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return [model.dual_coef_, model.intercept_, model.decision_function(X[-50:])]


def table_cases() -> Iterator[Case]:
    """Strings, and frames of numbers and strings."""
    rng = np.random.default_rng(6)
    X, y = blobs(500, 4, k=2, spread=2.0)
    words = np.array(["", "a", "ab", "é"])[(y + rng.integers(0, 3, 500)) % 4]
    frame = pd.DataFrame({"a": X[:, 0].astype(np.float32), "s": words, "b": X[:, 1], "c": X[:, 2]})
    near = kernels.RBF(0.5).on(["a", "b", "c"])
    kernel = near * kernels.Delta().on("s") + 0.1 * kernels.Linear().on(["b", "c"])
    yield "gram strings", [kernels.Delta()(words[:90])]
    yield "gram table", [kernel(frame), kernel(frame[:7], frame), kernel.diag(frame)]
    for name, learner in (
        ("svc", kcore.SVC(C=3.0)),
        ("oneclass", kcore.OneClassSVM(nu=0.3)),
        ("kernel perceptron", kcore.KernelPerceptron(max_iter=3)),
        ("budget", kcore.KernelPerceptron(max_iter=2, budget=30, strategy="projection")),
    ):
        yield f"{name} table", fitted(learner.set_params(kernel=kernel), frame, y)
    yield "svc strings as samples", fitted(kcore.SVC(kernel=kernels.Delta()), list(words), y)


def cases() -> Iterator[Case]:
    """Every case, in its order."""
    for make in (gram_cases, method_cases, machine_cases, perceptron_cases,
                 kernel_perceptron_cases, table_cases):  # fmt: skip
        yield from make()


# ---- The table


def print_table() -> None:
    """The lines of this process's instruction set."""
    warnings.simplefilter("ignore")
    for name, values in cases():
        print(f"{digest(values)}  {kcore.isa_name():8}{name}", flush=True)


def lines_of(isa: str) -> list[str]:
    """The lines of an instruction set, from a process of its own; none where the CPU lacks it."""
    run = subprocess.run(
        [sys.executable, __file__, "--here"],
        env={**os.environ, "KCORE_ISA": isa},
        capture_output=True,
        text=True,
    )
    if run.returncode != 0 and "does not have" not in run.stderr:
        raise SystemExit(f"{isa}: {run.stderr}")
    return run.stdout.splitlines()


def differences(lines: list[str], path: str) -> list[str]:
    """The cases of both tables whose hashes differ, and those of one table alone."""
    text = Path(path).read_text(encoding="utf-8")
    before = {line[18:]: line[:16] for line in text.splitlines()}
    after = {line[18:]: line[:16] for line in lines}
    isas = {name[:8] for name in after}
    before = {name: value for name, value in before.items() if name[:8] in isas}
    return [
        f"{before.get(name, 'none'):18}{after.get(name, 'none'):18}{name}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def main() -> None:
    """Print the table, or what differs from another one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", nargs="+", default=ISAS, choices=ISAS)
    parser.add_argument("--against", metavar="FILE", help="a table of another build")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print_table()
        return
    lines = [line for isa in args.isa for line in lines_of(isa)]
    if args.against is None:
        print("\n".join(lines))
        return
    changed = differences(lines, args.against)
    print("\n".join(changed))
    raise SystemExit(f"{len(changed)} of {len(lines)} differ" if changed else 0)


if __name__ == "__main__":
    main()
