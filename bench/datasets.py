"""Samples for the benchmarks: made up with a fixed seed, or read from a folder of the reader's.

The folder is given by ``--data`` or the environment variable KCORE_DATA and holds one ``.npz`` file
per set: ``X_train`` and ``y_train`` (dense), or ``X_train_data``, ``X_train_indices``,
``X_train_indptr``, ``X_train_shape`` and ``y_train`` (CSR); the same with ``test`` where there is
a test part.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import linalg


def data_folder(argument: str | None = None) -> Path | None:
    """Return the folder of real data, or None where none was named."""
    name = argument or os.environ.get("KCORE_DATA")
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        raise SystemExit(f"no such folder of data: {name}")
    return folder


def has(folder: Path | None, name: str) -> bool:
    return folder is not None and (folder / f"{name}.npz").is_file()


def read(folder: Path, name: str, part: str = "train") -> tuple[Any, np.ndarray]:
    """Return X (float64, dense or CSR) and y of one part of the set `name`."""
    with np.load(folder / f"{name}.npz") as arrays:
        y = arrays[f"y_{part}"]
        key = f"X_{part}"
        if key in arrays:
            return np.ascontiguousarray(arrays[key], dtype=np.float64), y
        X = sp.csr_matrix(
            (
                arrays[f"{key}_data"].astype(np.float64),
                arrays[f"{key}_indices"].astype(np.int32),
                arrays[f"{key}_indptr"].astype(np.int32),
            ),
            shape=tuple(arrays[f"{key}_shape"]),
        )
        X.sort_indices()
        return X, y


def gaussian(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return n samples of d independent standard normal features."""
    return np.random.default_rng(seed).normal(size=(n, d))


def binary_rows(n: int, n_cols: int = 123, row_nnz: int = 14, seed: int = 0) -> sp.csr_matrix:
    """Return CSR rows with `row_nnz` ones each: the shape and density of the set a9a."""
    rng = np.random.default_rng(seed)
    indices = np.stack([np.sort(rng.permutation(n_cols)[:row_nnz]) for _ in range(n)])
    return sp.csr_matrix(
        (
            np.ones(n * row_nnz),
            indices.ravel().astype(np.int32),
            np.arange(0, n * row_nnz + 1, row_nnz, dtype=np.int32),
        ),
        shape=(n, n_cols),
    )


def synthetic(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of two classes with a curved border between them and some labels wrong.

    Features are standard normal; the label is the sign of a sine and a product of projections,
    after noise of a tenth of its spread, and one in fifty is turned over.
    """
    rng = np.random.default_rng([seed, d])
    directions = rng.normal(size=(d, 3)) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    u, v, w = (X @ directions).T
    value = np.sin(2 * u) + v * w + 0.3 * v
    value += 0.1 * rng.normal(size=n)
    y = np.where(value > 0.1, 1, -1)
    return X, np.where(rng.random(n) < 0.02, -y, y)


def real(
    folder: Path, name: str, *, n: int, scale: str, is_target: bool
) -> tuple[Any, np.ndarray, Any]:
    """Return n training samples, scaled, their labels, and samples for predictions.

    Where there are more than n, a random choice with a fixed seed is taken. Predictions are made
    for the test part where there is one, else for what was left over, else for the samples
    themselves; at most 5000. Targets of regression are brought to mean 0 and variance 1.
    """
    X, y = read(folder, name)
    with np.load(folder / f"{name}.npz") as arrays:
        has_test = "y_test" in arrays
    order = np.random.default_rng(0).permutation(X.shape[0])
    train, rest = np.sort(order[:n]), order[n : n + 5000]
    other = read(folder, name, "test")[0][:5000] if has_test else X[rest if len(rest) else train]
    X, y = X[train], y[train]
    if is_target:
        y = (y - y.mean()) / y.std()
    change = scaling(X, scale)
    return change(X), y, change(other)


def scaling(X: Any, scale: str) -> Any:
    """Return the function that scales samples as `scale` says, by the figures of X."""
    if scale == "none":
        return lambda A: A
    if scale == "bytes":
        return lambda A: A / 255
    if scale == "rows":  # of length 1
        return lambda A: sp.diags_array(1 / linalg.norm(A, axis=1)).tocsr() @ A
    if scale == "minmax":
        low, high = X.min(axis=0), X.max(axis=0)
        return lambda A: 2 * (A - low) / np.where(high > low, high - low, 1) - 1
    if scale == "standard":
        mean, spread = X.mean(axis=0), X.std(axis=0)
        return lambda A: (A - mean) / np.where(spread > 0, spread, 1)
    if scale == "robust":  # by quartiles, far outliers cut off
        low, middle, high = np.percentile(X, [25, 50, 75], axis=0)
        return lambda A: np.clip((A - middle) / np.where(high > low, high - low, 1), -5, 5)
    raise ValueError(f"no such scale: {scale!r}")
