"""Predictions by vote: every weight vector counts for the samples that it survived.

The vectors are not stored but made again from their updates, v_k = v_(k-1) + s_k x_k: the value of
the k-th vector on a sample is a running sum of s_k (x_k.x + 1).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._history import History
from kcore._validate import CSR, Points, as_dense, take_rows
from kcore.kernels import Linear

_CHUNK = 1 << 22  # products that are held at once
_BLOCK = 1 << 17  # values of vectors: they stay in the cache


class _Rows(NamedTuple):
    """Samples that never change, and can be followed by more."""

    n: int
    n_cols: int
    data: History  # rows, or of CSR their values
    indices: History | None = None
    ends: History | None = None  # of each row of CSR, among the values

    @classmethod
    def of(cls, points: Points) -> Self:
        """Return these samples as the first ones."""
        if not isinstance(points, CSR):
            return cls(points.shape[0], points.shape[1], History(points))
        indices = History(points.indices.astype(np.int64))
        ends = History(points.indptr[1:].astype(np.int64))
        return cls(*points.shape, History(points.data), indices, ends)

    def then(self, points: Points) -> Self:
        """Return the samples followed by others, in the same form."""
        n, data, indices, ends = self.n + points.shape[0], self.data, self.indices, self.ends
        if indices is None or ends is None:
            return type(self)(n, self.n_cols, data.then(as_dense(points)))
        more = as_csr(points)
        return type(self)(
            n,
            self.n_cols,
            data.then(more.data),
            indices.then(more.indices),
            ends.then(len(data) + more.indptr[1:]),
        )

    def points(self) -> Points:
        """Return the samples."""
        if self.indices is None or self.ends is None:
            return self.data.numbers
        indptr = np.concatenate([[0], self.ends.numbers])
        return CSR(self.data.numbers, self.indices.numbers, indptr, (self.n, self.n_cols))


class Ballot:
    """The updates of one problem, for predictions by vote. It never changes, but has successors.

    Calls of `partial_fit` add to one ballot in time that does not depend on what it holds.

    Attributes
    ----------
    samples : _Rows or None
        Those with an update, in float64, as often as calls had one with them.
    place : History of int64
        Of the sample of each update, among them.
    raised, lowered, step : History
        The outputs that each update changed, and by how much.
    at : History of int64
        The steps at which updates were made.
    n_steps : int
        Samples seen.
    """

    def __init__(self) -> None:
        self.samples: _Rows | None = None
        self.place = History(np.empty(0, np.int64))
        self.raised = self.lowered = History(np.empty(0, np.int32))
        self.step = History(np.empty(0))
        self.at = History(np.empty(0, np.int64))
        self.n_steps = 0

    def then(self, points: Points, logs: Sequence[NDArray[np.void]], n_steps: int) -> Ballot:
        """Return this ballot followed by updates with `points`, until step `n_steps`."""
        longer = copy.copy(self)
        longer.n_steps = n_steps
        log = np.concatenate(logs)
        if len(log) == 0:
            return longer
        used, place = np.unique(log["sample"], return_inverse=True)
        taken = _as_float64(take_rows(points, used))
        n_before = 0 if self.samples is None else self.samples.n
        longer.samples = _Rows.of(taken) if self.samples is None else self.samples.then(taken)
        longer.place = self.place.then(n_before + place)
        for name in ("raised", "lowered", "step", "at"):
            setattr(longer, name, getattr(self, name).then(log[name]))
        return longer

    def survived(self) -> NDArray[np.float64]:
        """Return how many samples were seen with the vector before all updates, and after each."""
        times = np.concatenate([[0], self.at.numbers, [self.n_steps + 1]])
        seen = np.diff(times).astype(np.float64)
        seen[0] -= 1  # times begin at 1
        return seen


def as_csr(points: Points) -> CSR:
    """Return samples as CSR."""
    if isinstance(points, CSR):
        return points
    from scipy.sparse import csr_array

    rows = csr_array(points)
    return CSR(rows.data, rows.indices, rows.indptr, rows.shape)


def _as_float64(points: Points) -> Points:
    if isinstance(points, CSR):
        return points._replace(data=points.data.astype(np.float64, copy=False))
    return np.ascontiguousarray(points, dtype=np.float64)


def vote(
    ballots: list[Ballot],
    points: Points,
    n_outputs: int,
    has_intercept: bool,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return for each output the votes it won less those it lost (one output), or won."""
    columns = [_vote_one(ballot, points, n_outputs, has_intercept, n_threads) for ballot in ballots]
    return np.concatenate(columns, axis=1)


def _vote_one(
    ballot: Ballot, points: Points, n_outputs: int, has_intercept: bool, n_threads: int
) -> NDArray[np.float64]:
    n, n_updates = points.shape[0], len(ballot.step)
    first, survived = np.split(ballot.survived(), [1])
    total = np.tile(_count(np.zeros((1, 1, n_outputs)), first), (n, 1))
    if ballot.samples is None:
        return total
    samples = ballot.samples.points()
    linear = Linear()._compile()
    step = max(1, _CHUNK // (n_updates * n_outputs))
    for begin in range(0, n, step):
        rows = np.arange(begin, min(n, begin + step))
        value = np.zeros((len(rows), n_outputs))  # of the vector at hand
        at_once = max(1, _BLOCK // (len(rows) * n_outputs))
        gram = _core.gram(linear, take_rows(points, rows), samples, None, n_threads)
        product = gram.astype(np.float64, copy=False) + float(has_intercept)
        for k in range(0, n_updates, at_once):
            some = slice(k, k + at_once)
            values = _values_after(value, product, ballot, some)
            total[rows] += _count(values, survived[some])
            value = values[:, -1]
    return total


def _values_after(
    value: NDArray[np.float64], product: NDArray[np.float64], ballot: Ballot, some: slice
) -> NDArray[np.float64]:
    """Return the values (sample, update, output) of the vectors that some updates make."""
    steps: NDArray[np.float64] = ballot.step.numbers[some]
    change = product[:, ballot.place.numbers[some]] * steps
    n, n_updates = change.shape
    if value.shape[1] == 1:
        return (value + np.cumsum(change, axis=1))[:, :, None]
    raised, lowered = ballot.raised.numbers[some], ballot.lowered.numbers[some]
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
