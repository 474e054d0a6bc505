"""Random samples, in every storage that the library takes, from choices that can be noted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

KINDS = ["normal", "duplicates", "grid", "constant", "far", "scales", "line", "outlier", "pixels"]
STORAGES = ["C", "F", "strided", "reversed", "csr", "csr64", "unsorted", "repeated", "csc", "coo"]
DTYPES = ["float64", "float32", "float16", "int64", "uint8", "longdouble", ">f8", "bool"]


def make(kind: str, n: int, d: int, seed: int) -> Array:
    """Return samples of this kind."""
    rng = np.random.default_rng([seed, 11])
    X = rng.standard_normal((n, d))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif kind == "grid":
        X = np.round(X)
    elif kind == "constant":
        X = np.broadcast_to(X[:1], X.shape).copy()
    elif kind == "far":
        X += 300.0
    elif kind == "scales":
        X *= 10.0 ** rng.integers(-3, 4, d)
    elif kind == "line":
        X = X[:, :1] * rng.standard_normal(d)
    elif kind == "outlier":
        X[rng.integers(n)] *= 1e3
    elif kind == "pixels":
        X = np.round(255 * np.clip(X - 0.5, 0, 1)) / 255
    return X


def store(X: Array, storage: str, dtype: str) -> tuple[Any, Array]:
    """Return the samples as they are stored, and the numbers that these are in float64."""
    with np.errstate(all="ignore"):
        typed = np.clip(X, 0, 255).astype(dtype) if dtype == "uint8" else X.astype(dtype)
    values = typed.astype(np.float64)
    if storage in ("C", "F", "strided", "reversed"):
        return _dense(typed, storage), values
    if typed.dtype not in (np.float32, np.float64, np.int64):
        typed = values
    return _sparse(typed, storage), values


def _dense(X: Any, storage: str) -> Any:
    if storage == "F":
        return np.asfortranarray(X)
    if storage == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, 1::3] = X
        return wide[::2, 1::3]
    if storage == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    return X


def _sparse(X: Any, storage: str) -> Any:
    matrix = sp.csr_array(X)
    if storage == "csc":
        return sp.csc_array(X)
    if storage == "coo":
        return sp.coo_array(X)
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if storage == "csr64":
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    elif storage == "unsorted":
        order = np.concatenate(
            [np.arange(a, b)[::-1] for a, b in itertools.pairwise(indptr)] or [[]]
        ).astype(int)
        data, indices = data[order], indices[order]
    elif storage == "repeated" and X.dtype.kind == "f":  # each value in two halves
        data, indices, indptr = np.repeat(data / 2, 2), np.repeat(indices, 2), 2 * indptr
    return sp.csr_array((data, indices, indptr), shape=X.shape)


LETTERS = ["", "a", "ab", "a\0", "\0", "é", "日本", "b" * 300]


def words(n: int, seed: int) -> list[str]:
    """Return strings, few of them different."""
    rng = np.random.default_rng([seed, 15])
    some = [LETTERS[i] for i in rng.permutation(len(LETTERS))[: rng.integers(1, len(LETTERS) + 1)]]
    return [some[i] for i in rng.integers(0, len(some), n)]


def names(d: int) -> list[str]:
    """Return the names of the columns of numbers of a frame."""
    return [f"x{j}" for j in range(d)]


def frame(X: Any, strings: list[str], seed: int) -> Any:
    """Return a data frame of either library with a column of strings somewhere among numbers."""
    columns = dict(zip(names(X.shape[1]), X.T, strict=True))
    order = np.random.default_rng([seed, 16]).permutation([*columns, "s"])
    columns["s"] = strings
    made = {str(name): columns[str(name)] for name in order}
    return pd.DataFrame(made) if seed % 2 else pl.DataFrame(made)


def equal(A: list[str], B: list[str]) -> Array:
    """Return 1 where strings are equal, else 0."""
    return np.array([[float(a == b) for b in B] for a in A])


def weights(kind: str, n: int, seed: int) -> Array | None:
    """Return weights of samples; the first three are not zero."""
    rng = np.random.default_rng([seed, 12])
    if kind == "none":
        return None
    if kind == "real":
        return rng.uniform(0.1, 3.0, n)
    if kind == "extreme":
        return 10.0 ** rng.uniform(-6, 6, n)
    found = rng.integers(0, 4, n).astype(float)
    found[:3] = np.maximum(found[:3], 1)
    return found


def labels(X: Array, n_classes: int, seed: int) -> NDArray[np.int64]:
    """Return classes that a line separates but for some noise; the first samples have them all."""
    rng = np.random.default_rng([seed, 13])
    score = targets(X, seed)
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.digitize(score, cuts)
    wrong = rng.random(len(y)) < rng.choice([0.0, 0.1, 0.5])
    y = np.where(wrong, rng.integers(0, n_classes, len(y)), y)
    y[:n_classes] = np.arange(n_classes)[: len(y)]
    return y


def targets(X: Array, seed: int) -> Array:
    """Return a linear function of the samples with noise."""
    rng = np.random.default_rng([seed, 14])
    spread = max(float(X.std()), 1e-6)
    noise = rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(len(X))
    return (X - X.mean(axis=0)) @ rng.standard_normal(X.shape[1]) / spread + noise
