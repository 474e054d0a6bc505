"""Predictions by vote: every weight vector counts for the samples that it survived.

The vectors are not stored but made again from their updates, v_k = v_(k-1) + s_k x_k: the value of
the k-th vector on a sample is a running sum of s_k (x_k.x + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._validate import CSR, Points
from kcore.kernels import Linear

_CHUNK = 1 << 22  # products that are held at once
_BLOCK = 1 << 17  # values of vectors: they stay in the cache


class Votes(NamedTuple):
    """The updates of one problem on one set of samples, for predictions by vote."""

    samples: Points  # those with an update, in float64
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
        _take(points, used, np.float64),
        place,
        log["raised"].copy(),
        log["lowered"].copy(),
        log["step"].copy(),
        np.diff(times).astype(np.float64),
        float(times[0] - n_before - 1),
    )


def _take(points: Points, rows: NDArray[np.intp], dtype: type | None = None) -> Points:
    if not isinstance(points, CSR):
        return np.ascontiguousarray(points[rows], dtype=dtype)
    from scipy.sparse import csr_array

    taken = csr_array((points.data, points.indices, points.indptr), shape=points.shape)[rows]
    data = taken.data if dtype is None else taken.data.astype(dtype, copy=False)
    return CSR(data, taken.indices, taken.indptr, taken.shape)


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
    linear = Linear()._compile()
    most = max((len(part.step) for part in parts), default=1)
    step = max(1, _CHUNK // max(1, most * n_outputs))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(n, begin + step))
        chunk = _take(points, rows)
        value = np.zeros((len(rows), n_outputs))  # of the vector at hand
        at_once = max(1, _BLOCK // (len(rows) * n_outputs))
        for part in parts:
            total[rows] += _count(value[:, None, :], np.array([part.first]))
            if len(part.step) == 0:
                continue
            gram = _core.gram(linear, chunk, part.samples, None, n_threads)
            product = gram.astype(np.float64, copy=False) + float(has_intercept)
            for k in range(0, len(part.step), at_once):
                some = slice(k, k + at_once)
                values = _values_after(value, product, part, some)
                total[rows] += _count(values, part.survived[some])
                value = values[:, -1]
    return total


def _values_after(
    value: NDArray[np.float64], product: NDArray[np.float64], part: Votes, some: slice
) -> NDArray[np.float64]:
    """Return the values (sample, update, output) of the vectors that some updates make."""
    change = product[:, part.place[some]] * part.step[some]
    n, n_updates = change.shape
    if value.shape[1] == 1:
        return (value + np.cumsum(change, axis=1))[:, :, None]
    raised, lowered = part.raised[some], part.lowered[some]
    order = np.arange(n_updates)
    changes = np.zeros((n, n_updates, value.shape[1]))
    changes[:, order, raised] = change
    changes[:, order, lowered] -= change
    values: NDArray[np.float64] = value[:, None, :] + np.cumsum(changes, axis=1)
    return values


def _count(values: NDArray[np.float64], survived: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the votes of vectors: for and against one output, or for the largest of several."""
    n_outputs = values.shape[2]
    if n_outputs == 1:
        won = (values[:, :, 0] > 0).astype(np.float64) @ survived
        votes: NDArray[np.float64] = 2 * won - survived.sum()
        return votes[:, None]
    best = values.argmax(axis=2)
    columns = [(best == k).astype(np.float64) @ survived for k in range(n_outputs)]
    return np.column_stack(columns)
