"""What a linear learner learns from and what it leaves behind."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import Fitted
from kcore._history import History
from kcore._points import CSR, Points, as_dense, take_rows
from kcore._rules import Samples, round_up, theorem_bound


class PassLog(NamedTuple):
    """What one call of the core says of one problem: of its passes, and of each update."""

    mistakes: NDArray[np.int64]
    criterion: NDArray[np.float64]
    updates: NDArray[np.void] | None  # where votes are wanted

    @classmethod
    def of(cls, state: _core.LinearState) -> Self:
        """Return what the last call left in a state."""
        n_done = state.n_done
        return cls(state.mistakes[:n_done], state.criterion[:n_done], state.log)


# ---- Votes


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
        more = _as_csr(points)
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


class VoteLog:
    """The updates of one problem, for predictions by vote. It never changes, but has successors.

    Calls of `partial_fit` add to one log in time that does not depend on what it holds.

    Attributes
    ----------
    samples : _Rows or None
        Those with an update, in float64, as often as calls had one with them.
    updates : History of _core.UPDATE
        The updates, their samples by their places among those.
    n_steps : int
        Samples seen.
    """

    def __init__(self) -> None:
        self.samples: _Rows | None = None
        self.updates = History(np.empty(0, _core.UPDATE))
        self.n_steps = 0

    def then(self, points: Points, logs: Sequence[NDArray[np.void]], n_steps: int) -> VoteLog:
        """Return this log followed by updates with `points`, until step `n_steps`."""
        longer = copy.copy(self)
        longer.n_steps = n_steps
        updates = np.concatenate(logs)
        if len(updates) == 0:
            return longer
        used, place = np.unique(updates["sample"], return_inverse=True)
        taken = _as_float64(take_rows(points, used))
        updates["sample"] = place + (0 if self.samples is None else self.samples.n)
        longer.samples = _Rows.of(taken) if self.samples is None else self.samples.then(taken)
        longer.updates = self.updates.then(updates)
        return longer

    def parts(self) -> tuple[Points | None, NDArray[np.void], int]:
        """Return what the core reads: the samples, the updates, the number of samples seen."""
        samples = None if self.samples is None else self.samples.points()
        return samples, self.updates.numbers, self.n_steps


def _as_csr(points: Points) -> CSR:
    if isinstance(points, CSR):
        return points
    from scipy.sparse import csr_array

    rows = csr_array(points)
    return CSR(rows.data, rows.indices, rows.indptr, rows.shape)


def _as_float64(points: Points) -> Points:
    if isinstance(points, CSR):
        return points._replace(data=points.data.astype(np.float64, copy=False))
    return np.ascontiguousarray(points, dtype=np.float64)


# ---- A fit


class FittedLinear(Fitted):
    """Weight vectors and the history of how they were learnt.

    Parameters
    ----------
    shape, names
        Of the samples.
    classes : ndarray
        The labels.
    states : list of LinearState
        One for each problem.
    fixed_params : dict
        Parameters that must not change while weights are learnt.
    votes : list of VoteLog, default=None
        Those so far, of each problem.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        states: list[_core.LinearState],
        fixed_params: dict[str, Any],
        votes: list[VoteLog] | None = None,
    ) -> None:
        super().__init__(shape, names)
        self.classes = classes
        self.states = states
        self.fixed_params = fixed_params
        self.mistakes = [History(np.empty(0, np.int64)) for _ in states]
        self.criterion = [History(np.empty(0)) for _ in states]
        self.votes = [VoteLog() for _ in states] if votes is None else list(votes)
        self.bound: float | None = None
        self.is_out_of_time = False
        self.is_finished = False  # the callback returned True

    # Pickles, and whatever else walks through what __getstate__ returns, hold arrays and numbers.

    def __getstate__(self) -> dict[str, Any]:
        parts = [state.__reduce__()[1:] for state in self.states]  # arrays, counts
        return {**self.__dict__, "states": parts, "cache": {}}

    def __setstate__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self.states = []
        for arrays, counts in values["states"]:
            state = _core.LinearState(*arrays)
            state.__setstate__(counts)
            self.states.append(state)

    @property
    def is_direct(self) -> bool:
        """Whether one problem has a weight vector for each class."""
        return self.fixed_params["multi_class"] == "direct" and len(self.classes) > 2

    @property
    def is_voted(self) -> bool:
        """Whether predictions are votes."""
        return bool(self.fixed_params["average"] == "voted")

    @property
    def n_outputs(self) -> int:
        """Weight vectors of one problem."""
        return len(self.classes) if self.is_direct else 1

    @property
    def n_passes(self) -> int:
        """Passes, the most of any problem."""
        return max(map(len, self.mistakes))

    def resume(self, start: FittedLinear) -> None:
        """Take over the history of `start`; problems that ended before others made no mistakes."""
        n = start.n_passes
        self.mistakes = [m.then(np.zeros(n - len(m), np.int64)) for m in start.mistakes]
        self.criterion = [c.then(np.zeros(n - len(c))) for c in start.criterion]

    def add(self, logs: list[list[PassLog]], points: Points) -> None:
        """Add to the history of each problem what its passes over `points` logged."""
        for k, of_one in enumerate(logs):
            mistakes, criterion, updates = zip(*of_one, strict=True)
            self.mistakes[k] = self.mistakes[k].then(*mistakes)
            self.criterion[k] = self.criterion[k].then(*criterion)
            if self.is_voted:
                self.votes[k] = self.votes[k].then(points, updates, self.states[k].n_steps)

    def copy_states(self) -> list[_core.LinearState]:
        """Return states to go on from."""
        return [state.copy() for state in self.states]

    def vectors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights (n_outputs, n_features) and intercepts that predict."""
        weights, intercepts = [], []
        for state in self.states:
            w, b, t = state.weights, state.intercepts, state.n_steps
            if state.has_best:
                assert state.best_weights is not None
                assert state.best_intercepts is not None
                w, b = state.best_weights, state.best_intercepts
            elif state.time_weighted is not None and t > 0:
                assert state.time_weighted_intercepts is not None
                w = ((t + 1) * w - state.time_weighted) / t
                b = ((t + 1) * b - state.time_weighted_intercepts) / t
            weights.append(w)
            intercepts.append(b)
        return np.concatenate(weights), np.concatenate(intercepts)


def sum_ragged(rows: list[History], dtype: type) -> NDArray[Any]:
    """Return the sum of histories of different lengths, entry by entry."""
    total: NDArray[Any] = np.zeros(max(map(len, rows)), dtype)
    for row in rows:
        total[: len(row)] += row.numbers
    return total


def bound_of(
    samples: Samples[Points],
    weights: NDArray[np.float64],
    intercept: float,
    fit_intercept: bool,
    margin: float,
    eta: float,
    is_batch: bool,
) -> float | None:
    """Return the most corrections by the theorem; None where the vector does not separate.

    None, too, where it is too small for the digits of float64.
    A computed a.y is off by no more than c = 4 (d + 4) 2^-53 |a| |y|, and |a| <= sqrt(k) max |y|
    after k corrections.
    """
    sq_norm, least, _ = _core.perceptron_measure(
        samples._replace(weights=None), 1, weights, intercept
    )
    n, d = samples.points.shape
    longest = sq_norm + float(fit_intercept) + 2 * margin / eta
    norm = math.hypot(_norm(weights), intercept)
    bound = theorem_bound(longest, norm, least, n if is_batch else 1)
    return None if bound is None else round_up(bound, 4 * (d + 4) * 2.0**-53, math.sqrt(bound))


def _norm(vector: NDArray[np.float64]) -> float:
    """Return the length of a vector whose squares may be beyond float64."""
    largest = float(np.abs(vector).max())
    return largest * float(np.linalg.norm(vector / largest)) if largest > 0 else 0.0
