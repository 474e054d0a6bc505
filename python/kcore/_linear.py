"""What a linear learner learns from and what it leaves behind."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import Fitted
from kcore._validate import Points
from kcore._votes import Votes


class Samples(NamedTuple):
    """What a fit learns from."""

    points: Points
    codes: NDArray[np.int32]
    n_classes: int
    weights: NDArray[np.float64] | None


class Line(Fitted):
    """Weight vectors and the history of how they were learnt."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        states: list[_core.LinearState],
        is_direct: bool,
    ) -> None:
        super().__init__(shape, names)
        self.classes = classes
        self.states = states
        self.is_direct = is_direct
        self.mistakes: list[list[int]] = [[] for _ in states]
        self.criterion: list[list[float]] = [[] for _ in states]
        self.votes: list[list[Votes]] = [[] for _ in states]
        self.best: list[tuple[int, NDArray[np.float64], float] | None] = [None] * len(states)
        self.bound: float | None = None

    @property
    def n_outputs(self) -> int:
        """Weight vectors of one problem."""
        return len(self.classes) if self.is_direct else 1

    def vectors(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights (n_outputs, n_features) and intercepts that predict."""
        weights, intercepts = [], []
        for state, best in zip(self.states, self.best, strict=True):
            if best is not None:
                w, b = best[1][None, :], np.array([best[2]])
            elif state.late_weights is not None and state.late_intercepts is not None:
                t = state.n_steps  # at least one: a fit looks at every sample
                w = ((t + 1) * state.weights - state.late_weights) / t
                b = ((t + 1) * state.intercepts - state.late_intercepts) / t
            else:
                w, b = state.weights, state.intercepts
            weights.append(w)
            intercepts.append(b)
        return np.ascontiguousarray(np.concatenate(weights)), np.concatenate(intercepts)


def sum_ragged(rows: list[list[float]]) -> NDArray[np.float64]:
    total = np.zeros(max(map(len, rows), default=0))
    for row in rows:
        total[: len(row)] += row
    return total


def bound_of(
    samples: Samples,
    weights: NDArray[np.float64],
    intercept: float,
    fit_intercept: bool,
    margin: float,
    eta: float,
    is_batch: bool,
) -> float | None:
    """Return the most corrections by the theorem; None where the vector does not separate."""
    sq_norm, least, _ = _core.perceptron_measure(
        samples.points, samples.codes, samples.n_classes, None, 1, weights, intercept
    )
    if not least > 0:
        return None
    longest = sq_norm + float(fit_intercept)
    vector = float(weights @ weights) + intercept * intercept
    n_terms = samples.points.shape[0] if is_batch else 1
    return (longest + 2 * margin / eta) * n_terms * vector / least**2
