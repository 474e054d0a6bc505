"""Weights of a sum of kernels by centred alignment (Cortes, Mohri and Rostamizadeh, 2012).

With H = I - 1 1'/n, the centred matrix of a kernel is H K H. Nothing of it is kept: inner products
of centred matrices are those of the matrices themselves, less what their row sums say. That
difference would cancel where a kernel is large beside its variation, so a matrix u 1' + 1 u' is
taken off each one first, which centring takes off anyway: u has the means of the first rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._combinations import Scaled, Sum
from kcore._kernel import Kernel, check_kernel
from kcore._points import take_rows
from kcore._targets import as_column
from kcore._validate import as_reals, brief, refuse_non_finite

_BLOCK_VALUES = 1 << 18  # of all kernels together
_TASKS = ("auto", "classification", "regression")

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Alignment:
    """What `align` found.

    Attributes
    ----------
    kernel : Kernel
        The sum of the kernels with their weights; names of operands are kept.
    weights : tuple of float
        Not negative, of norm 1; all 0 where no kernel aligns with y.
    alignment : float
        Of the sum with y: the cosine of the angle between the centred matrices, at most 1.
    alignments : tuple of float
        Of each kernel by itself; 0 where it is constant on X.
    """

    kernel: Kernel
    weights: tuple[float, ...]
    alignment: float
    alignments: tuple[float, ...]


def align(
    kernels: Sequence[Kernel] | Mapping[str, Kernel] | Sum,
    X: ArrayLike | Any,
    y: ArrayLike,
    *,
    task: str = "auto",
    n_jobs: int | None = None,
) -> Alignment:
    r"""Return weights of a sum of kernels, by its centred alignment with `y`.

    .. math:: \max_{w \ge 0} \frac{\langle H K_w H, T \rangle}{|H K_w H| |T|},\quad
       K_w = \sum_a w_a K_a,\quad T = \tilde y \tilde y^\top

    where :math:`\tilde y` is `y` less its mean, or with classes the matrix of their indicators less
    its column means. Kernel matrices are computed once, some rows at a time, and none is kept.

    Parameters
    ----------
    kernels : sequence of Kernel, dict of str to Kernel, or Sum
        The operands; names in a dict, or in a `Sum`, become names in the result.
    X : array_like, sparse matrix or data frame of shape (n_samples, n_features)
        Samples.
    y : array_like of shape (n_samples,)
        Labels or targets.
    task : {'auto', 'classification', 'regression'}, default='auto'
        What `y` is; ``'auto'``: targets where it has a number that is not whole, else labels.
    n_jobs : int, optional
        Number of threads of kernel values, as for a Gram matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore.kernels import RBF, align
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = X[:, 0] > 0
    >>> found = align({"first": RBF(1).on([0]), "second": RBF(1).on([1])}, X, y)
    >>> found.weights[0] > found.weights[1]
    True
    >>> found.alignment >= max(found.alignments)
    True
    """
    from kcore._threads import n_threads

    names, operands = _operands_of(kernels)
    samples = operands[0]  # or what all of them read
    if len(operands) > 1:
        samples = Sum(**{f"x{a}": kernel for a, kernel in enumerate(operands)})
    points = samples._read(X, "X")
    compiled = [_compile(kernel, X, points) for kernel in operands]
    targets = _targets_of(y, points.shape[0], task)
    threads = 0 if n_jobs is None else n_threads(n_jobs)
    products, with_y, sizes = _inner_products(compiled, targets, threads)
    for i, size in enumerate(sizes.tolist()):
        if not np.isfinite(products[i, i]):
            raise ValueError(
                f"kernels[{i}] has values of up to {size:.6g}, whose squares overflow in sums: "
                "scale it, or the data"
            )
    weights = _best_weights(products, with_y, 1e-14 * len(targets) * sizes)
    norm_y = float(np.linalg.norm(targets.T @ targets))
    parts = [Scaled(w, kernel) for w, kernel in zip(weights.tolist(), operands, strict=True)]
    kernel = parts[0] if len(parts) == 1 else Sum(**dict(zip(names, parts, strict=True)))
    return Alignment(
        kernel,
        tuple(weights.tolist()),
        _cosine(weights @ with_y, weights @ products @ weights, norm_y),
        tuple(_cosine(with_y[a], products[a, a], norm_y) for a in range(len(operands))),
    )


def _operands_of(kernels: Any) -> tuple[list[str], list[Kernel]]:
    if isinstance(kernels, Sum):
        kernels = kernels.get_params(deep=False)
    if isinstance(kernels, Mapping):
        names, operands = list(kernels), list(kernels.values())
    elif isinstance(kernels, list | tuple):
        operands = list(kernels)
        names = [f"k{i}" for i in range(1, len(operands) + 1)]
    else:
        raise TypeError(f"kernels must be a list, a dict or a Sum of kernels, got {brief(kernels)}")
    if not operands:
        raise ValueError("kernels must not be empty")
    for i, kernel in enumerate(operands):
        check_kernel(kernel, f"kernels[{i}]")
    return names, operands


def _compile(kernel: Kernel, X: Any, points: Any) -> tuple[_core.CompiledKernel, Any]:
    """Return the kernel as the core has it, and the samples that it reads."""
    bound = kernel._bound_to(X, points)
    return kernel._compile(bound), points if bound is None else bound.points


def _targets_of(y: Any, n_samples: int, task: str) -> _Array:
    """Return what is to be aligned with, centred: a column for each class, or one of targets."""
    if not (isinstance(task, str) and task in _TASKS):
        raise ValueError(f"task must be one of {', '.join(map(repr, _TASKS))}, got {brief(task)}")
    values = as_column(y)
    if values.shape != (n_samples,):
        raise ValueError(
            f"y must have shape ({n_samples},), a value for each row of X, got shape {values.shape}"
        )
    is_real = values.dtype.kind == "f"
    if is_real:
        refuse_non_finite(np.asarray(values, dtype=np.float64), "y", ("sample",))
    if task == "regression" or (task == "auto" and is_real and (values != np.floor(values)).any()):
        columns = as_reals(values, "y")[:, None]
        refuse_non_finite(columns[:, 0], "y", ("sample",))
    else:
        classes, codes = np.unique(values, return_inverse=True)
        columns = (codes.reshape(-1, 1) == np.arange(len(classes))).astype(np.float64)
    centred: _Array = columns - columns.mean(axis=0)
    if not centred.any():
        raise ValueError("y is the same for all samples: nothing can be aligned with it")
    scaled: _Array = centred / np.abs(centred).max()
    return scaled  # of a size whose squares do not overflow


def _inner_products(
    kernels: list[tuple[_core.CompiledKernel, Any]], targets: _Array, threads: int
) -> tuple[_Array, _Array, _Array]:
    """Return <K_a, K_b> and <K_a, T> of centred matrices, and the largest |K_a|.

    Sums are einsum's: threads of a BLAS, waiting for their next call, would take the CPUs of those
    that compute kernel values.
    """
    n, n_kernels = len(targets), len(kernels)
    size = max(1, min(n, _BLOCK_VALUES // (n * n_kernels)))
    products = np.zeros((n_kernels, n_kernels))
    with_y = np.zeros(n_kernels)
    sums = np.zeros((n_kernels, n))
    sizes = np.zeros(n_kernels)
    columns = np.ascontiguousarray(targets.T)
    shifts: _Array | None = None
    room = np.empty((n_kernels, size, n))
    for begin in range(0, n, size):
        rows = np.arange(begin, min(begin + size, n))
        block = room[:, : len(rows)]
        for a, (kernel, points) in enumerate(kernels):
            block[a] = _core.gram(kernel, take_rows(points, rows), points, None, threads)
            sizes[a] = max(sizes[a], block[a].max(), -block[a].min())
        if shifts is None:
            means = block.mean(axis=1)
            shifts = means - means.mean(axis=1, keepdims=True) / 2
        for a in range(n_kernels):
            block[a] -= shifts[a]
            block[a] -= shifts[a, rows, None]
            for b in range(a + 1):
                products[a, b] += np.einsum("ij,ij->", block[a], block[b])
            sums[a, rows] = block[a].sum(axis=1)
            for column in columns:
                with_y[a] += np.einsum(
                    "i,i->", np.einsum("ij,j->i", block[a], column), column[rows]
                )
    products += np.tril(products, -1).T
    totals = sums.sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        centred: _Array = products - 2.0 / n * (sums @ sums.T) + np.outer(totals, totals) / n**2
    return centred, with_y, sizes


def _best_weights(products: _Array, with_y: _Array, rounding: _Array) -> _Array:
    """Return w >= 0 of norm 1 with the best cosine: the direction of min w'Mw - 2 w'a.

    A centred kernel no larger than the `rounding` of its own values was constant.
    """
    from scipy.optimize import nnls

    scale = np.sqrt(np.maximum(np.diag(products), 0))
    is_constant = scale <= rounding
    scale = np.where(is_constant, 1.0, scale)
    scaled = np.where(is_constant | is_constant[:, None], 0.0, products / np.outer(scale, scale))
    wanted = np.where(is_constant, 0.0, with_y / scale)
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-13 * values[-1]
    if not kept.any() or values[-1] <= 0:
        return np.zeros(len(with_y))
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    weights, _ = nnls(root, (vectors[:, kept].T @ wanted) / np.sqrt(values[kept]))
    weights = weights / scale
    norm = float(np.linalg.norm(weights))
    found: _Array = weights / norm if norm > 0 else weights
    return found


def _cosine(product: Any, square: Any, norm_y: float) -> float:
    return float(product / (np.sqrt(square) * norm_y)) if square > 0 else 0.0
