"""Predictions by vote: every weight vector counts for the samples that it survived.

The vectors are not stored but made again from their updates, v_k = v_(k-1) + s_k x_k: the value of
the k-th vector on a sample is a running sum of s_k (x_k.x + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._validate import CSR, Points

_CHUNK = 1 << 22  # values that are held at once


class Votes(NamedTuple):
    """The updates of one problem on one set of samples, for predictions by vote."""

    samples: Points  # those with an update
    place: NDArray[np.intp]  # of the sample of each update, among them
    raised: NDArray[np.int32]
    lowered: NDArray[np.int32]
    step: NDArray[np.float64]
    survived: NDArray[np.float64]  # samples seen with the vector after each update
    first: float  # samples seen with the vector before the first one


def votes_of(
    points: Points, logs: Sequence[NDArray[np.void]], n_before: int, n_steps: int
) -> Votes:
    """Return the votes of one problem from its updates after step `n_before`, until `n_steps`."""
    log = np.concatenate(logs)
    used, place = np.unique(log["sample"], return_inverse=True)
    times = np.concatenate([log["at"], [n_steps + 1]])
    return Votes(
        _take(points, used),
        place,
        log["raised"].copy(),
        log["lowered"].copy(),
        log["step"].copy(),
        np.diff(times).astype(np.float64),
        float(times[0] - n_before - 1),
    )


def _take(points: Points, rows: NDArray[np.intp]) -> Points:
    if not isinstance(points, CSR):
        return np.ascontiguousarray(points[rows])
    from scipy.sparse import csr_array

    taken = csr_array((points.data, points.indices, points.indptr), shape=points.shape)[rows]
    return CSR(taken.data, taken.indices, taken.indptr, taken.shape)


def vote(
    problems: list[list[Votes]],
    points: Points,
    n_outputs: int,
    has_intercept: bool,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return for each output the votes it won less those it lost (one output), or won."""
    columns = [_vote_one(parts, points, n_outputs, has_intercept, n_threads) for parts in problems]
    return np.concatenate(columns, axis=1)


def _vote_one(
    parts: list[Votes], points: Points, n_outputs: int, has_intercept: bool, n_threads: int
) -> NDArray[np.float64]:
    n = points.shape[0]
    total = np.zeros((n, n_outputs))
    most = max((len(part.step) for part in parts), default=1)
    step = max(1, _CHUNK // max(1, most * n_outputs))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(n, begin + step))
        chunk = _take(points, rows)
        value = np.zeros((len(rows), n_outputs))  # of the vector at hand
        for part in parts:
            total[rows] += part.first * _ballot(value[:, None, :])[:, 0]
            if len(part.step) == 0:
                continue
            product = _products(chunk, part.samples, n_threads)[:, part.place]
            product += float(has_intercept)
            change = np.zeros((len(rows), len(part.step), n_outputs))
            order = np.arange(len(part.step))
            change[:, order, part.raised] = product * part.step
            down = part.lowered >= 0
            change[:, order[down], part.lowered[down]] -= (product * part.step)[:, down]
            values = value[:, None, :] + np.cumsum(change, axis=1)
            total[rows] += np.einsum("iko,k->io", _ballot(values), part.survived)
            value = values[:, -1]
    return total


def _ballot(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how a vector votes: the sign of one output, a one for the largest of several."""
    if values.shape[2] == 1:
        return np.where(values > 0, 1.0, -1.0)
    ballot: NDArray[np.float64] = np.eye(values.shape[2])[values.argmax(axis=2)]
    return ballot


def _products(x: Points, z: Points, n_threads: int) -> NDArray[np.float64]:
    """Return x_i.z_j in float64; of sparse samples z, only some are written out at once."""
    n, d = z.shape
    if not isinstance(z, CSR):
        return _decide(x, z, n_threads)
    from scipy.sparse import csr_array

    matrix = csr_array((z.data, z.indices, z.indptr), shape=z.shape)
    step = max(1, _CHUNK // d)
    parts = [_decide(x, matrix[k : k + step].toarray(), n_threads) for k in range(0, n, step)]
    return np.concatenate(parts, axis=1)


def _decide(x: Points, z: NDArray[Any], n_threads: int) -> NDArray[np.float64]:
    weights = np.ascontiguousarray(z, dtype=np.float64)
    zeros = np.zeros(len(weights))
    products: NDArray[np.float64] = _core.linear_decision(x, weights, zeros, n_threads)
    return products
