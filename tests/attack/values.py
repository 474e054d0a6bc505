"""Kernel values and feature maps against their formulas, in long double with error bounds.

Kernels are random expressions; both sides of a Gram matrix have a storage and a type of their own.
What must be equal to the bit is compared to the bit: a matrix and its transpose, a block of it, the
diagonal, any storage.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

import samples
from conftest import assert_same_bits, reference
from families import Case, between, pick
from kcore import kernels
from kcore.features import PolynomialMap

SIMPLEST: Case = {
    "what": "gram", "tree": ["linear"], "gamma": 1.0, "coef0": 0.0, "degree": 2, "data": "normal",
    "n": 1, "m": 1, "d": 1, "seed": 0, "storage": "C", "storage2": "C", "dtype": "float64",
    "density": 1.0, "n_jobs": 1, "bias": True, "distinct": False,
}  # fmt: skip

LEAVES = ["linear", "rbf", "poly", "sigmoid", "laplacian", "columns", "lengths", "map", "periodic"]
NODES = ["add", "mul", "scale", "pow", "exp"]


def draw(rng: np.random.Generator) -> Case:
    return {
        "what": pick(rng, "gram", "gram", "gram", "map", "table"),
        "tree": _tree(rng),
        "gamma": between(rng, 1e-5, 1e3),
        "coef0": pick(rng, 0.0, 1.0, -2.0, 0.5),
        "degree": int(rng.integers(0, 5)),
        "data": pick(rng, *samples.KINDS),
        "n": int(between(rng, 1, 90)),
        "m": int(between(rng, 1, 90)),
        "d": int(between(rng, 1, 130)),
        "seed": int(rng.integers(2**31)),
        "storage": pick(rng, *samples.STORAGES),
        "storage2": pick(rng, *samples.STORAGES),
        "dtype": pick(rng, *samples.DTYPES),
        "density": pick(rng, 1.0, 0.3, 0.03, 0.0),
        "n_jobs": pick(rng, 1, 2),
        "bias": bool(rng.random() < 0.5),
        "distinct": bool(rng.random() < 0.5),
    }


def _tree(rng: np.random.Generator) -> list[str]:
    """An expression in reverse Polish order; words that find too few operands are passed over."""
    words = [pick(rng, *LEAVES)]
    for _ in range(int(rng.integers(0, 4))):
        words += [pick(rng, *LEAVES), pick(rng, *NODES)]
    return words


def kernel_of(case: Case) -> kernels.Kernel:
    """Return the kernel of an expression; what is left over at its end is added up."""
    gamma, coef0, degree = case["gamma"], case["coef0"], case["degree"]
    by_column = [gamma * (t % 3) / 2 for t in range(case["d"])]
    matrix = np.random.default_rng(case["seed"]).standard_normal((1 + case["degree"], case["d"]))
    stack: list[Any] = []
    for word in case["tree"]:
        if word in LEAVES:
            stack.append({
                "linear": kernels.Linear(),
                "rbf": kernels.RBF(gamma),
                "poly": kernels.Polynomial(degree, gamma, coef0),
                "sigmoid": kernels.Sigmoid(gamma, coef0),
                "laplacian": kernels.Laplacian(gamma),
                "columns": kernels.RBF(by_column),
                "lengths": kernels.Matern(1.5, [1 + value for value in by_column]),
                "map": kernels.Polynomial(degree, gamma, coef0).on(matrix),
                "periodic": kernels.Periodic(5.0, [1 + value for value in by_column]),
            }[word])  # fmt: skip
        elif word in ("scale", "pow", "exp") and stack:
            top = stack.pop()
            stack.append({"scale": lambda k: 0.5 * k, "pow": lambda k: k**2,
                          "exp": lambda k: kernels.exp(1e-3 * k)}[word](top))  # fmt: skip
        elif len(stack) > 1:
            right, left = stack.pop(), stack.pop()
            stack.append(left + right if word == "add" else left * right)
    kernel = stack[0] if stack else kernels.Linear()
    for other in stack[1:]:
        kernel = kernel + other
    return kernel


def make(case: Case, n: int, storage: str, seed: int) -> tuple[Any, Any]:
    """Samples of one side, as they are stored and as numbers."""
    X = samples.make(case["data"], n, case["d"], seed)
    X *= np.random.default_rng(seed).random(X.shape) <= case["density"]
    return samples.store(X, storage, case["dtype"])


def check(case: Case) -> str:
    checks = {"map": check_map, "table": check_table}
    return checks.get(case["what"], check_gram)(case)


def check_table(case: Case) -> str:
    """A kernel of numbers and strings: from the values of its parts, and the same bits anyhow."""
    (n, m), seed = (case["n"], case["m"]), case["seed"]
    _, x = make({**case, "dtype": "float64"}, n, "C", seed)
    _, z = make({**case, "dtype": "float64"}, m, "C", seed + 1)
    a, b = samples.words(n, seed), samples.words(m, seed)
    X, Z = samples.frame(x, a, seed), samples.frame(z, b, seed)
    numbers = kernels.RBF(case["gamma"]).on(samples.names(case["d"]))
    kernel = numbers * kernels.Delta().on("s") + 2.0 * numbers
    try:
        K, near = kernel(X, Z, n_jobs=case["n_jobs"]), kernels.RBF(case["gamma"])(x, z)
    except ValueError as error:
        assert "overflows" in str(error), error
        return "refused"
    assert_same_bits(K, near * samples.equal(a, b) + 2.0 * near)
    assert_same_bits(kernel(Z, X).T, K)
    own = kernel(X)
    assert_same_bits(kernel.diag(X), np.diag(own).copy())
    assert_same_bits(kernel(X[n // 2 :], Z[m // 3 : m // 3 + 1]), K[n // 2 :, m // 3 : m // 3 + 1])
    assert_same_bits(kernels.Delta()(a, np.array(b, dtype=object)), samples.equal(a, b))
    return "table"


def check_gram(case: Case) -> str:
    X, x = make(case, case["n"], case["storage"], case["seed"])
    Z, z = make(case, case["m"], case["storage2"], case["seed"] + 1)
    kernel = kernel_of(case)
    try:
        K, transposed = kernel(X, Z, n_jobs=case["n_jobs"]), kernel(Z, X).T
        own, diagonal = kernel(X), kernel.diag(X)
    except ValueError as error:
        assert "overflows" in str(error), error
        return "refused"
    with np.errstate(all="ignore"):
        value, bound = reference(kernel, x, z, K.dtype)
    off = abs(K - value) - bound  # NaN where the reference overflows on its way
    assert not (off > 0).any(), (np.nanargmax(off), np.nanmax(off), kernel)
    plain_x, plain_z = x.astype(K.dtype), z.astype(K.dtype)
    assert_same_bits(kernel(plain_x, plain_z), K)
    assert_same_bits(transposed, K)
    assert_same_bits(diagonal, np.diag(own).copy())
    i, j = case["n"] // 2, case["m"] // 3
    assert_same_bits(kernel(plain_x[i:], plain_z[j : j + 1]), K[i:, j : j + 1])
    return "exact"


def check_map(case: Case) -> str:
    case = {**case, "d": 1 + case["d"] % 6, "degree": 1 + case["degree"] % 4}
    X, x = make(case, case["n"], case["storage"], case["seed"])
    phi = PolynomialMap(
        case["degree"], include_bias=case["bias"], interaction_only=case["distinct"]
    )
    try:
        found = phi.fit_transform(X)
    except ValueError as error:
        assert "overflow" in str(error) or "no columns" in str(error), error
        return "refused"
    assert sp.issparse(found) == sp.issparse(X)
    dense = found.toarray() if sp.issparse(found) else found
    choose = itertools.combinations if case["distinct"] else itertools.combinations_with_replacement
    columns = [
        np.prod(x[:, list(factors)], axis=1) if factors else np.ones(len(x))
        for k in range(0 if case["bias"] else 1, case["degree"] + 1)
        for factors in choose(range(case["d"]), k)
    ]
    assert dense.shape == (len(x), len(columns)), dense.shape
    eps = np.finfo(dense.dtype).eps
    tiny = np.finfo(dense.dtype).smallest_normal
    for k, column in enumerate(columns):
        np.testing.assert_allclose(dense[:, k], column, rtol=4 * eps, atol=tiny, err_msg=str(k))
    return "exact"
