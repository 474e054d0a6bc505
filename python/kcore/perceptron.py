"""Perceptrons: the single-sample and batch rules of the lectures, in augmented coordinates.

A sample x of class z = +1 or -1 is written y = z (1, x), a discriminant a = (w0, w), so that the
sample is classified rightly where a.y > 0. A *mistake* is a sample with a.y <= margin.

==========  ======================================================================================
single      cycle through the samples; at each mistake, a <- a + eta(k) y; end after a whole cycle
            without one (the fixed-increment rule)
batch       a <- a + eta(k) sum of y over the mistakes of a, until |eta(k) sum of y| < theta
==========  ======================================================================================

If some â separates the samples with a.y >= gamma > 0, the single rule, started at 0, makes at most
max |y|^2 |â|^2 / gamma^2 corrections (`convergence_bound`).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core, exceptions
from kcore._base import (
    ClassifierMixin,
    Estimator,
    as_labels,
    as_samples,
    as_weights,
    class_weights,
    feature_names,
    fitted,
)
from kcore._linear import Line, Samples, bound_of, sum_ragged
from kcore._report import Progress
from kcore._votes import vote, votes_of

__all__ = ["Perceptron", "convergence_bound"]

_RULES = {"single": _core.RULE_SINGLE, "batch": _core.RULE_BATCH}
_SCHEDULES: dict[str, Callable[[int], float]] = {
    "inverse": lambda k: 1.0 / (k + 1),
    "sqrt": lambda k: 1.0 / math.sqrt(k + 1),
}


class Perceptron(ClassifierMixin, Estimator):
    r"""Perceptron on weight vectors, by the rules of the lectures.

    With y = z (1, x) and a mistake being a sample with a.y <= margin,

    .. math:: a \leftarrow a + \eta(k)\, y \quad\text{(single)}, \qquad
              a \leftarrow a + \eta(k) \sum_{y \in \mathcal Y} y \quad\text{(batch)}.

    Parameters
    ----------
    rule : {'single', 'batch'}, default='single'
        Correct at each mistake, or once for all mistakes of a pass.
    eta : float, {'inverse', 'sqrt'} or callable, default=1.0
        Step of pass k = 0, 1, 2, ...: constant, 1 / (k + 1), 1 / sqrt(k + 1), or ``eta(k)``.
    margin : float, default=0.0
        Samples with a.y <= margin are mistakes.
    theta : float, default=1e-6
        The batch rule has converged where \|eta(k) sum of y\| < theta.
    fit_intercept : bool, default=True
        Whether y is z (1, x); otherwise z x.
    max_iter : int, default=1000
        Passes at the most.
    shuffle : bool, default=False
        Whether each pass takes the samples in a new order; otherwise it goes through them as they
        stand, k = (k + 1) mod n.
    average : {False, True, 'voted'}, default=False
        Predict by the mean of the weight vectors after every sample, or let them all vote.
        Single rule only.
    pocket : bool, default=False
        Keep the vector with the fewest mistakes among those at the ends of passes.
    multi_class : {'ovr', 'direct'}, default='ovr'
        More than two classes: one problem for each class against the rest, or one weight vector for
        each class trained together: a mistake adds the sample to its own class and takes it from
        the best other one.
    class_weight : dict or 'balanced', default=None
        Factors of eta by label; ``'balanced'`` is n_samples / (n_classes * count).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order, where `shuffle` is set.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights of the last fit.
    n_jobs : int or None, default=None
        Threads for predictions.
    time_limit : float or None, default=None
        Seconds after which `fit` ends with what it has.
    callback : callable or None, default=None
        Called with a `Progress` at least every 50 ms; an exception stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weight vectors that predict: the last, the mean, or the pocket's.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    converged_ : bool
        Whether the last pass made no mistake (batch: the step fell below theta), in all problems.
    n_iter_ : int
        Passes, the most of any problem.
    n_updates_ : int
        Corrections since the weights were zero, over all problems (batch: passes that moved a).
    mistakes_ : ndarray of int, shape (n_iter_,)
        Mistakes in each pass, over all problems.
    criterion_ : ndarray of shape (n_iter_,)
        Sum of margin - a.y over the mistakes of each pass. For the batch rule with margin 0 it is
        the perceptron criterion J_p(a); the single rule takes a as it is at each mistake.
    bound_ : float or None
        The most corrections that the convergence theorem allows, from the vector that was found;
        None where there is no such theorem: not converged, more than two classes, weights, a
        schedule, a warm start.
    pocket_mistakes_ : int
        With `pocket`: mistakes of the kept vectors on the samples, over all problems.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore.perceptron import Perceptron
    >>> X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]])
    >>> p = Perceptron().fit(X, [1, 1, 0, 0])
    >>> p.converged_, p.n_updates_, p.n_updates_ <= p.bound_
    (True, 1, True)
    >>> p.predict([[3.0, 2.0]])
    array([1])
    """

    def __init__(
        self,
        rule: str = "single",
        *,
        eta: float | str | Callable[[int], float] = 1.0,
        margin: float = 0.0,
        theta: float = 1e-6,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        shuffle: bool = False,
        average: bool | str = False,
        pocket: bool = False,
        multi_class: str = "ovr",
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
    ) -> None:
        self.rule = rule
        self.eta = eta
        self.margin = margin
        self.theta = theta
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.pocket = pocket
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    # ---- Learning

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from samples until a pass makes no mistake.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array_like of shape (n_samples,)
            Labels.
        sample_weight : array_like of shape (n_samples,), default=None
            Factors of eta; a sample of weight zero is left out.

        Returns
        -------
        self
        """
        points = as_samples(X)
        classes, codes = as_labels(y, points.shape[0])
        if len(classes) < 2:
            raise ValueError(f"y has 1 class only ({classes[0]!r}); a classifier needs at least 2")
        start = self._fitted if self.warm_start and self.__sklearn_is_fitted__() else None
        if start is not None and (
            start.shape[1] != points.shape[1] or not np.array_equal(start.classes, classes)
        ):
            raise ValueError("warm_start: the features or labels are not those of the last fit")
        line = self._line(points.shape, feature_names(X), classes, start)
        samples = Samples(points, codes, len(classes), self._weights(classes, codes, sample_weight))
        max_iter = self._integer("max_iter")
        if max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {max_iter}")
        self._learn(line, samples, self._schedule(0, max_iter))
        is_plain = sample_weight is None and self.class_weight is None and start is None
        line.bound = self._bound(line, samples) if is_plain else None
        if not all(state.is_converged for state in line.states):
            self._warn(line)
        self._fitted = line
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one pass over samples, going on from what was learnt before.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array_like of shape (n_samples,)
            Labels.
        classes : array_like of shape (n_classes,), default=None
            All labels there will be; due at the first call.
        sample_weight : array_like of shape (n_samples,), default=None
            Factors of eta.

        Returns
        -------
        self
        """
        is_first = not self.__sklearn_is_fitted__()
        if is_first:
            points, names = as_samples(X), feature_names(X)
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit")
            labels = np.unique(np.asarray(classes))
            if len(labels) < 2:
                raise ValueError(f"classes has {len(labels)} label(s); there must be at least 2")
            start = None
        else:
            start = self._fitted
            points, names, labels = self._points_to_predict(X, start), start.names, start.classes
            if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), labels):
                raise ValueError(
                    f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
                    f"{labels!r}"
                )
        found, own_codes = as_labels(y, points.shape[0])
        place = np.searchsorted(labels, found)
        unknown = ~np.isin(found, labels)
        if unknown.any():
            raise ValueError(f"y has the label {found[unknown][0]!r}, which is not in classes")
        codes = np.ascontiguousarray(place[own_codes], dtype=np.int32)
        line = self._line(points.shape, names, labels, start)
        samples = Samples(points, codes, len(labels), self._weights(labels, codes, sample_weight))
        n_done = 0 if start is None else max(map(len, start.mistakes), default=0)
        self._learn(line, samples, self._schedule(n_done, 1))
        self._fitted = line
        return self

    def _line(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        start: Line | None,
    ) -> Line:
        """Return weights at zero, or copies of those of `start`: the old ones stay as they are."""
        is_direct = self._choice("multi_class", {"ovr": False, "direct": True}) and len(classes) > 2
        n_outputs = len(classes) if is_direct else 1
        n_states = 1 if is_direct or len(classes) == 2 else len(classes)
        averaged = self._average() is True
        states = []
        for k in range(n_states):
            old = None if start is None else start.states[k]
            w = np.zeros((n_outputs, shape[1])) if old is None else old.weights.copy()
            b = np.zeros(n_outputs) if old is None else old.intercepts.copy()
            late_w, late_b = (w.copy(), b.copy()) if averaged else (None, None)
            n_steps = 0 if old is None or averaged else old.n_steps
            if averaged and old is not None and old.late_weights is not None:
                assert old.late_intercepts is not None
                late_w, late_b = old.late_weights.copy(), old.late_intercepts.copy()
                n_steps = old.n_steps
            random = self._seed(k) if old is None else old.random.copy()
            positive = 1 if len(classes) == 2 else k
            state = _core.LinearState(positive, w, b, late_w, late_b, random)
            if old is not None:
                state.n_updates = old.n_updates
                state.n_steps = n_steps
            states.append(state)
        line = Line(shape, names, classes, states, is_direct)
        if start is not None and not self.pocket:
            line.mistakes = [list(m) for m in start.mistakes]
            line.criterion = [list(c) for c in start.criterion]
            line.votes = [list(v) for v in start.votes]
        return line

    def _learn(self, line: Line, samples: Samples, eta: NDArray[np.float64]) -> None:
        """Make passes: all in one call, or one by one where something is done in between."""
        one_by_one = self.pocket or self._average() == "voted"
        limit = math.inf if self.time_limit is None else time.perf_counter() + self._limit()
        active = list(range(len(line.states)))
        for chunk in [eta[k : k + 1] for k in range(len(eta))] if one_by_one else [eta]:
            states = [line.states[k] for k in active]
            before = [state.n_steps for state in states]
            self._run(states, samples, line.is_direct, chunk, limit)
            for k, state, n_before in zip(active, states, before, strict=True):
                line.mistakes[k] += state.mistakes[: state.n_done].tolist()
                line.criterion[k] += state.criterion[: state.n_done].tolist()
                if self._average() == "voted":
                    line.votes[k].append(votes_of(samples.points, state, n_before))
                if self.pocket:
                    self._keep_best(line, k, samples)
            active = [k for k in active if not line.states[k].is_converged]
            if not active or time.perf_counter() > limit:
                break

    def _run(
        self,
        states: list[_core.LinearState],
        samples: Samples,
        is_direct: bool,
        eta: NDArray[np.float64],
        limit: float,
    ) -> None:
        callback = self.callback
        _core.perceptron_run(
            samples.points,
            samples.codes,
            samples.n_classes,
            samples.weights,
            states,
            self._choice("rule", _RULES),
            is_direct,
            bool(self.fit_intercept),
            bool(self.shuffle),
            self._real("margin"),
            self._real("theta"),
            eta,
            self._average() == "voted",
            0.0 if limit == math.inf else max(limit - time.perf_counter(), 1e-9),
            None if callback is None else lambda *told: callback(Progress(*told)),
        )

    def _keep_best(self, line: Line, k: int, samples: Samples) -> None:
        state = line.states[k]
        if line.is_direct:
            raise ValueError("pocket=True takes multi_class='ovr': it keeps one vector at a time")
        _, _, n_mistakes = _core.perceptron_measure(
            samples.points,
            samples.codes,
            samples.n_classes,
            samples.weights,
            state.positive,
            state.weights[0],
            float(state.intercepts[0]),
        )
        best = line.best[k]
        if best is None or n_mistakes < best[0]:
            line.best[k] = (n_mistakes, state.weights[0].copy(), float(state.intercepts[0]))

    # ---- Parameters

    def _average(self) -> bool | str:
        average: bool | str = self.average
        if average not in (False, True, "voted"):
            raise ValueError(f"average must be one of False, True, 'voted', got {average!r}")
        if average and self._choice("rule", _RULES) == _core.RULE_BATCH:
            raise ValueError(f"average={average!r} takes rule='single', got rule='batch'")
        if average and self.pocket:
            raise ValueError(f"average={average!r} and pocket=True exclude each other")
        return average

    def _schedule(self, first: int, n_passes: int) -> NDArray[np.float64]:
        """Return eta(k) of the passes from `first` on."""
        eta = self.eta
        if isinstance(eta, str):
            eta = self._choice("eta", _SCHEDULES)
        if not callable(eta):
            return np.full(n_passes, self._real("eta"))
        return np.array([float(eta(k)) for k in range(first, first + n_passes)])

    def _limit(self) -> float:
        limit = self._real("time_limit")
        if not limit > 0:
            raise ValueError(f"time_limit must be positive or None, got {limit!r}")
        return limit

    def _seed(self, k: int) -> NDArray[np.uint64]:
        """Return the start of the generator of problem k; never all zeros."""
        source = self.random_state
        if hasattr(source, "integers"):  # a Generator
            entropy: Any = int(source.integers(2**63))
        elif hasattr(source, "randint"):  # a RandomState
            entropy = int(source.randint(2**31))
        else:
            entropy = source
        seeds = np.random.SeedSequence(entropy, spawn_key=(k,)).generate_state(4, np.uint64)
        return seeds | np.uint64(1)

    def _weights(
        self, classes: NDArray[Any], codes: NDArray[np.int32], sample_weight: ArrayLike | None
    ) -> NDArray[np.float64] | None:
        weights = None if sample_weight is None else as_weights(sample_weight, len(codes))
        if self.class_weight is not None:
            weights = class_weights(self.class_weight, classes, codes, weights)
        return weights

    # ---- The bound

    def _bound(self, line: Line, samples: Samples) -> float | None:
        state = line.states[0]
        is_known = state.is_converged and len(line.classes) == 2 and not callable(self.eta)
        if not is_known or isinstance(self.eta, str):
            return None
        return bound_of(
            samples,
            state.weights[0],
            float(state.intercepts[0]),
            bool(self.fit_intercept),
            self._real("margin"),
            self._real("eta"),
            self.rule == "batch",
        )

    def _warn(self, line: Line) -> None:
        last = sum(m[-1] for m in line.mistakes if m)
        n_passes = max(map(len, line.mistakes))
        advice = "" if self.pocket else "; pocket=True keeps the best vector"
        warnings.warn(
            f"Perceptron ended after {n_passes} passes without separating the classes: the last "
            f"pass made {last} mistakes. The classes may not be linearly separable{advice}.",
            exceptions.ConvergenceWarning,
            stacklevel=3,
        )

    # ---- Results

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        classes: NDArray[Any] = self._state("classes_").classes
        return classes

    @fitted
    def coef_(self) -> NDArray[np.float64]:
        """Weight vectors that predict."""
        vectors: NDArray[np.float64] = self._fitted.vectors()[0]
        return vectors

    @fitted
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts that predict."""
        intercepts: NDArray[np.float64] = self._fitted.vectors()[1]
        return intercepts

    @property
    def converged_(self) -> bool:
        """Whether the last pass made no mistake, in all problems."""
        return all(state.is_converged for state in self._state("converged_").states)

    @property
    def n_iter_(self) -> int:
        """Passes, the most of any problem."""
        return max(map(len, self._state("n_iter_").mistakes))

    @property
    def n_updates_(self) -> int:
        """Corrections, over all problems."""
        return sum(state.n_updates for state in self._state("n_updates_").states)

    @fitted
    def mistakes_(self) -> NDArray[np.int64]:
        """Mistakes in each pass, over all problems."""
        return sum_ragged(self._fitted.mistakes).astype(np.int64)

    @fitted
    def criterion_(self) -> NDArray[np.float64]:
        """Sum of margin - a.y over the mistakes of each pass."""
        return sum_ragged(self._fitted.criterion)

    @property
    def bound_(self) -> float | None:
        """The most corrections that the convergence theorem allows."""
        bound: float | None = self._state("bound_").bound
        return bound

    @property
    def pocket_mistakes_(self) -> int:
        """Mistakes of the kept vectors on the samples."""
        best = self._state("pocket_mistakes_").best
        if best[0] is None:
            raise AttributeError("pocket_mistakes_ is there after a fit with pocket=True")
        return sum(kept[0] for kept in best)

    # ---- Prediction

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a.y of samples, as if of the second class, or for each class.

        With ``average='voted'``, the votes of the weight vectors: each counts for the samples that
        it survived.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        line: Line = self._state("decision_function")
        points = self._points_to_predict(X, line)
        if self.average == "voted":
            values = vote(line.votes, points, line.n_outputs, bool(self.fit_intercept))
        else:
            values = _core.linear_decision(points, self.coef_, self.intercept_, self._n_threads())
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        classes = self.classes_
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = classes[chosen]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# ---- The bound


def convergence_bound(
    X: Any,
    y: Any,
    coef: ArrayLike,
    intercept: float = 0.0,
    *,
    rule: str = "single",
    margin: float = 0.0,
    eta: float = 1.0,
    fit_intercept: bool = True,
) -> float | None:
    r"""Return the most corrections that a perceptron started at zero can make.

    With a separating vector â = (intercept, coef) and gamma = min â.y > 0,

    .. math:: k_0 = \frac{(\max_i \|y_i\|^2 + 2\,\mathrm{margin}/\eta)\,\|â\|^2}{\gamma^2},

    times the number of samples for the batch rule. Any separating vector gives a bound; that of the
    hard-margin support vector machine is close to the best.

    Parameters
    ----------
    X : array_like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array_like of shape (n_samples,)
        Labels of two classes.
    coef : array_like of shape (n_features,)
        Weights of the separating vector.
    intercept : float, default=0.0
        Its intercept.
    rule, margin, eta, fit_intercept
        As in `Perceptron`; eta is constant.

    Returns
    -------
    float or None
        The bound; None where the vector does not separate the classes.

    Examples
    --------
    >>> from kcore.perceptron import convergence_bound
    >>> convergence_bound([[1.0], [-1.0]], [1, 0], [1.0])
    2.0
    >>> convergence_bound([[1.0], [-1.0]], [1, 0], [-1.0]) is None
    True
    """
    points = as_samples(X)
    classes, codes = as_labels(y, points.shape[0])
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes; the bound is for 2")
    if rule not in _RULES:
        raise ValueError(f"rule must be one of 'single', 'batch', got {rule!r}")
    weights = np.ascontiguousarray(np.ravel(np.asarray(coef, dtype=np.float64)))
    if weights.shape != (points.shape[1],):
        raise ValueError(f"X has {points.shape[1]} columns, coef has {len(weights)} entries")
    samples = Samples(points, codes, 2, None)
    return bound_of(samples, weights, float(intercept), fit_intercept, margin, eta, rule == "batch")
