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
