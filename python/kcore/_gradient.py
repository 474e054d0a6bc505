"""Gradients of kernels: from the numbers of the core's parameters to the names of `get_params`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._threads import n_threads
from kcore._validate import as_points

if TYPE_CHECKING:
    from kcore._kernel import Kernel


def gradient(
    kernel: Kernel, X: Any, Z: Any | None, weights: Any, log: bool, n_jobs: int | None
) -> dict[str, float]:
    """Return what `Kernel.gradient` returns."""
    if not isinstance(log, bool):
        raise TypeError(f"log must be True or False, got {log!r}")
    x = kernel._read(X, "X")
    z = None if Z is None or Z is X else kernel._read(Z, "Z")
    if z is not None:
        kernel._check_alike(X, x, Z, z)
    g = _read_weights(weights, (x.shape[0], (x if z is None else z).shape[0]))
    compiled = kernel._compile(X, x)
    threads = 0 if n_jobs is None else n_threads(n_jobs)
    sums = _core.gradient(compiled, x, z, g, threads)
    params = _core.kernel_params(compiled)
    if log:
        sums *= [value for _, _, _, value in params]
    names = _names(kernel._bound_to(X, x), params)
    return dict(zip(names, sums.tolist(), strict=True))


def _read_weights(weights: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the weights as the core reads them: in place, where they are float32 or float64."""
    read = as_points(weights, "weights")
    if not isinstance(read, np.ndarray):
        raise TypeError("weights must be dense, got a sparse matrix")
    if read.shape != shape:
        raise ValueError(
            f"weights has shape {read.shape}, must be {shape}: a row for each sample of X and a "
            f"column for each of {'Z' if shape[0] != shape[1] else 'Z, or X where Z is not given'}"
        )
    return read


def _names(kernel: Kernel, params: list[tuple[int, str, str, float]]) -> list[str]:
    """Return the names of parameters that the core lists in the order of the expression."""
    groups = [
        (kind, [name for _, _, name, _ in rows])
        for (_, kind), rows in groupby(params, key=lambda row: row[:2])
    ]
    names = _take_names(kernel, "", groups)
    if groups:
        raise RuntimeError(f"{kernel!r} has no names for parameters of {groups[0][0]!r}")
    return names


def _take_names(kernel: Kernel, prefix: str, groups: list[tuple[str, list[str]]]) -> list[str]:
    """Take what belongs to a kernel from the front of the list, what is inside of it first."""
    own = kernel._params()
    names: list[str] = []
    for name, value in own.items():
        if hasattr(value, "_nodes"):
            names += _take_names(value, f"{prefix}{name}__", groups)
    kind = kernel._nodes()[-1][0]
    if groups and groups[0][0] == kind and all(name in own for name in groups[0][1]):
        names += [prefix + name for name in groups.pop(0)[1]]
    return names
