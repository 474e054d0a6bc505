"""Perceptrons on weight vectors: the single-sample and the batch rule, in augmented coordinates.

A sample x of class z = +1 or -1 is written y = z (1, x), a discriminant a = (w0, w), so that the
sample is classified correctly where a.y > 0. A *mistake* is a sample with a.y <= margin.

==========  ======================================================================================
single      go through the samples; at each mistake, a <- a + eta(k) y; end after a whole pass
            without one (the fixed-increment rule)
batch       a <- a + eta(k) sum of y over the mistakes of a, until |eta(k) sum of y| < theta
==========  ======================================================================================

If some â separates the samples with a.y >= gamma > 0, the single rule, started at 0, makes at most
max |y|^2 |â|^2 / gamma^2 corrections (`convergence_bound`). Both rules, and the proof, are in Duda,
Hart and Stork, Pattern Classification (2nd edition, 2001), section 5.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core, exceptions
from kcore._base import as_samples, fitted
from kcore._linear import FittedLinear, PassLog, bound_of, sum_ragged
from kcore._points import Points
from kcore._progress import ProgressCallback
from kcore._rules import (
    RULES,
    RuleEstimator,
    Samples,
    check_same_labels,
    codes_among,
    first_labels,
    labels_to_fit,
)
from kcore._targets import as_labels
from kcore._validate import as_flag, as_real, as_reals, brief, feature_names, refuse_non_finite
from kcore._warn import warn
from kcore.kernel_perceptron import KernelPerceptron

__all__ = ["KernelPerceptron", "Perceptron", "convergence_bound"]

_MAX_PASSES = 256  # of one call of the core: what it tells of each must be held
_MAX_UPDATES = 1 << 20  # that may have to be held for votes


class Perceptron(RuleEstimator):
    """Perceptron on weight vectors, by the single-sample or the batch rule.

    With y = z (1, x) for a sample x of class z = +1 or -1, and a mistake being a sample with
    a.y <= margin::

        a <- a + eta(k) y                                  at each mistake (single)
        a <- a + eta(k) sum of y over the mistakes of a    after each pass (batch)

    Parameters
    ----------
    rule : {'single', 'batch'}, default='single'
        Correct at each mistake, or once for all mistakes of a pass.
    eta : float, {'inverse', 'sqrt'} or callable, default=1.0
        Step of pass k = 0, 1, 2, ...: constant, 1 / (k + 1), 1 / sqrt(k + 1), or ``eta(k)``.
    margin : float, default=0.0
        Samples with a.y <= margin are mistakes.
    theta : float, default=1e-6
        The batch rule ends after a step with |eta(k) sum of y| < theta.
    fit_intercept : bool, default=True
        Whether y is z (1, x); otherwise z x.
    max_iter : int, default=1000
        Passes at the most.
    shuffle : bool, default=False
        Whether each pass takes the samples in a new order; otherwise in the order of X.
    average : {False, True, 'voted'}, default=False
        Predict by the mean of the weight vectors after every sample, or let them all vote.
        Single rule only.
    pocket : bool, default=False
        Predict by the vector with the fewest samples with a.y <= 0, by their weights, among those
        at the ends of passes and (single rule) those that were right for as many samples in a row
        as the one that is kept (Gallant's ratchet).
    multi_class : {'ovr', 'direct'}, default='ovr'
        More than two classes: one problem for each class against the rest, or one weight vector for
        each class trained together: a mistake adds the sample to its own class and takes it from
        the best other one.
    class_weight : dict or 'balanced', default=None
        Factors of eta by label; ``'balanced'`` is n_samples / (n_classes * count).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order, where `shuffle` is set.
    verbose : bool, default=False
        Whether learning prints how far it has come, a line each second, and `fit` how it ended.
    warm_start : bool, default=False
        Whether `fit` goes on from the weights of the last fit, with eta(0).
    n_jobs : int or None, default=None
        Threads of predictions; -1 for all usable CPUs. Results do not depend on it.
    time_limit : float or None, default=None
        Seconds after which `fit` or `partial_fit` ends with what it has, and a warning.
    callback : callable or None, default=None
        Called with a `Progress` about every 20 ms. Where it returns True, learning ends with what
        it has, and a warning; an exception ends the call and leaves the estimator as it was.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weight vectors that predict: the last, the mean, or the pocket's.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Their intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    converged_ : bool
        Whether the last pass made no mistake (batch: or the step fell below theta), in all
        problems.
    n_iter_ : int
        Passes of the last fit and of calls of `partial_fit` after it, the most of any problem.
    n_updates_ : int
        Corrections since the weights were zero, over all problems (batch: passes that moved a).
    mistakes_ : ndarray of int, shape (n_iter_,)
        Mistakes in each pass, over all problems.
    criterion_ : ndarray of shape (n_iter_,)
        Sum of margin - a.y over the mistakes of each pass, by their weights. For the batch rule
        with margin 0 it is the perceptron criterion J_p(a); the single rule takes a as it is at
        each mistake.
    bound_ : float or None
        The most corrections that the convergence theorem allows, from the vector that was found;
        None where there is no such theorem: not converged, more than two classes, weights, a
        schedule, a warm start, `partial_fit`, numbers too small for the digits of float64.
    pocket_mistakes_ : int
        With `pocket`: samples of the last call with a.y <= 0 for the kept vector, over all
        problems.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the samples were a data frame.

    See Also
    --------
    convergence_bound : the bound from any separating vector.
    kcore.kernel_perceptron.KernelPerceptron : the same rules in the space of a kernel.
    kcore.features.Quadratic : the map (1, x, x²), with which the perceptron solves XOR.

    Notes
    -----
    Weights are float64 whatever the samples are, and samples are read as they stand: float32 or
    float64 of any strides, CSR with 32- or 64-bit indices. A fit, or a call of `partial_fit`, that
    is interrupted or fails leaves the estimator as it was. Samples of weight zero are left out;
    other weights are factors of eta, so that a sample of weight 2 is not the same as that sample
    twice: the single rule would evaluate its second copy after the first correction.

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
        *,
        rule: str = "single",
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
        verbose: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
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
        self.verbose = verbose
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
        classes, codes = labels_to_fit(y, points.shape[0])
        start = self._fitted if self._flag("warm_start") and self.__sklearn_is_fitted__() else None
        if start is not None and start.shape[1] != points.shape[1]:
            raise ValueError(
                f"warm_start: X has {points.shape[1]} features, the last fit had {start.shape[1]}"
            )
        if start is not None and not np.array_equal(start.classes, classes):
            raise ValueError(
                f"warm_start: the labels are {classes.tolist()}, those of the last fit were "
                f"{start.classes.tolist()}"
            )
        state = self._begin(points.shape, feature_names(X), classes, start)
        weights = self._weights(classes, codes, sample_weight)
        samples = Samples(points, codes, len(classes), weights)
        self._learn(state, samples, 0, self._max_passes())
        if weights is None and start is None:
            state.bound = self._bound(state, samples)
        self._warn(state)
        self._fitted = state
        self._print_outcome(self.converged_, self.n_updates_, self.mistakes_)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one pass over samples, starting from what was learnt before.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array_like of shape (n_samples,)
            Labels.
        classes : array_like of shape (n_classes,), default=None
            All labels there will be; needed at the first call.
        sample_weight : array_like of shape (n_samples,), default=None
            Factors of eta; a sample of weight zero is left out. Where all are, nothing changes.

        Returns
        -------
        self
        """
        self._refuse_balanced()
        start: FittedLinear | None = self._fitted if self.__sklearn_is_fitted__() else None
        if start is not None:
            points = self._points_to_predict(X, start)
            names, labels = start.names, start.classes
            check_same_labels(classes, labels)
        else:
            points, names, labels = as_samples(X), feature_names(X), first_labels(classes)
        codes = codes_among(labels, y, points.shape[0])
        weights = self._weights(labels, codes, sample_weight, may_be_zero=True)
        if weights is not None and not weights.any():
            return self
        state = self._begin(points.shape, names, labels, start)
        n_done = 0
        if start is not None:
            state.resume(start)
            n_done = state.n_passes
        self._learn(state, Samples(points, codes, len(labels), weights), n_done, 1)
        if state.is_out_of_time or state.is_finished:
            self._warn(state)
        self._fitted = state
        return self

    def _begin(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        start: FittedLinear | None,
    ) -> FittedLinear:
        """Return weights at zero, or copies of those of `start`, which stay as they are."""
        is_direct, n_states = self._problems(len(classes))
        average, has_pocket = self._average(), self._flag("pocket")
        if average and has_pocket:
            raise ValueError(f"average={average!r} and pocket=True exclude each other")
        fixed_params = {
            "average": average,
            "pocket": has_pocket,
            "fit_intercept": self._flag("fit_intercept"),
            "multi_class": self.multi_class,
        }
        if start is not None:
            for name, value in fixed_params.items():
                if value != start.fixed_params[name]:
                    raise ValueError(
                        f"{name} is {value!r}, but was {start.fixed_params[name]!r} in the fit "
                        "that this one continues"
                    )
            states = start.copy_states()
            if self._flag("shuffle") and (states[0].random == 1).all():  # for the first time
                for problem, seed in zip(states, self._seeds(len(states)), strict=True):
                    problem.random[:] = seed
            return FittedLinear(shape, names, classes, states, fixed_params, start.votes)
        n_outputs = len(classes) if is_direct else 1
        # Without shuffling the generator is not used, but may not be all zeros: ones mark that.
        seeds = (
            self._seeds(n_states) if self._flag("shuffle") else np.ones((n_states, 4), np.uint64)
        )

        def zeros(are_wanted: bool) -> tuple[Any, Any]:
            return (
                (np.zeros((n_outputs, shape[1])), np.zeros(n_outputs))
                if are_wanted
                else (None, None)
            )

        states = [
            _core.LinearState(
                1 if len(classes) == 2 else k,
                *zeros(True),
                *zeros(average is True),
                *zeros(has_pocket),
                seeds[k].copy(),
            )
            for k in range(n_states)
        ]
        return FittedLinear(shape, names, classes, states, fixed_params)

    def _learn(
        self, state: FittedLinear, samples: Samples[Points], first: int, n_passes: int
    ) -> None:
        """Make passes, many in one call of the core, until the problems are solved."""
        most = _MAX_PASSES
        if state.is_voted:
            most = max(1, min(most, _MAX_UPDATES // samples.points.shape[0]))
        # Problems run one after the other. With a limit, calls are short at first, so that all have
        # had theirs when time is up.
        limit, schedule = self._limit(), self._schedule()
        at_once = 1 if limit and len(state.states) > 1 else most
        settings = _core.PerceptronSettings(
            rule=self._choice("rule", RULES),
            is_direct=state.is_direct,
            has_intercept=state.fixed_params["fit_intercept"],
            is_shuffled=self._flag("shuffle"),
            margin=self._real("margin"),
            theta=self._real("theta"),
        )
        run = _core.Run(1, limit, self._progress_callback())
        run.n_done = first
        logs: list[list[PassLog]] = [[] for _ in state.states]
        active = list(range(len(state.states)))
        done = 0
        while active and done < n_passes and not (state.is_out_of_time or run.is_finished):
            eta = schedule.steps(first + done, min(at_once, n_passes - done))
            problems = [state.states[k] for k in active]
            _core.perceptron_run(samples, problems, settings, eta, state.is_voted, run)
            for k in active:
                logs[k].append(PassLog.of(state.states[k]))
            last = logs[active[-1]][-1]
            run.count(len(last.mistakes), last.criterion[-1] if len(last.criterion) else math.nan)
            active = [k for k in active if not state.states[k].is_converged]
            state.is_out_of_time = any(state.states[k].n_done < len(eta) for k in active)
            done += len(eta)
            at_once = min(most, 2 * at_once)
        state.is_finished = run.is_finished
        state.add(logs, samples.points)

    # ---- The end

    def _bound(self, state: FittedLinear, samples: Samples[Points]) -> float | None:
        problem = state.states[0]
        has_theorem = len(state.classes) == 2 and not callable(self.eta)
        if not has_theorem or isinstance(self.eta, str) or not problem.is_converged:
            return None
        return bound_of(
            samples,
            problem.weights[0],
            float(problem.intercepts[0]),
            state.fixed_params["fit_intercept"],
            self._real("margin"),
            self._real("eta"),
            self.rule == "batch",
        )

    def _warn(self, state: FittedLinear) -> None:
        last = sum(int(m.numbers[-1]) for m in state.mistakes if len(m))
        is_converged = all(problem.is_converged for problem in state.states)
        if state.is_finished and not is_converged:
            text = f"was stopped by its callback in pass {state.n_passes + 1}."
        elif state.is_out_of_time:
            text = f"reached time_limit={self.time_limit} in pass {state.n_passes + 1}"
            if state.n_passes:
                text += f"; the last complete pass made {last} mistakes"
            text += ". Raise time_limit."
        elif not is_converged:
            text = (
                f"ended after max_iter={self.max_iter} passes without separating the classes: the "
                f"last pass made {last} mistakes. They may not be linearly separable"
            )
            # The pocket and an average exclude each other.
            is_advised = not (self.pocket or self.average)
            text += "; pocket=True keeps the best vector." if is_advised else "."
        elif last:  # the batch rule, by theta
            text = (
                f"ended after {state.n_passes} passes with {last} mistakes left, since the step "
                f"was shorter than theta={self.theta}: the classes may not be linearly separable, "
                "or theta is too large."
            )
        else:
            return
        warn(f"Perceptron {text}", exceptions.ConvergenceWarning)

    # ---- Results

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
    def n_updates_(self) -> int:
        """Corrections, over all problems."""
        return sum(state.n_updates for state in self._state("n_updates_").states)

    @fitted
    def mistakes_(self) -> NDArray[np.int64]:
        """Mistakes in each pass, over all problems."""
        return sum_ragged(self._fitted.mistakes, np.int64)

    @fitted
    def criterion_(self) -> NDArray[np.float64]:
        """Sum of margin - a.y over the mistakes of each pass."""
        return sum_ragged(self._fitted.criterion, np.float64)

    @property
    def pocket_mistakes_(self) -> int:
        """Samples of the last call with a.y <= 0 for the kept vector, over all problems."""
        states = self._state("pocket_mistakes_").states
        if not all(state.has_best for state in states):
            raise AttributeError("pocket_mistakes_ exists after a fit with pocket=True only")
        return sum(state.best_mistakes for state in states)

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
        state: FittedLinear = self._state("decision_function")
        points = self._points_to_predict(X, state)
        if state.is_voted:
            values = _core.perceptron_votes(
                points,
                [log.parts() for log in state.votes],
                state.n_outputs,
                state.fixed_params["fit_intercept"],
                self._n_threads(),
            )
        else:
            values = _core.linear_decision(points, self.coef_, self.intercept_, self._n_threads())
        return values[:, 0] if values.shape[1] == 1 else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# ---- The bound


def convergence_bound(
    X: Any,
    y: Any,
    coef: ArrayLike,
    intercept: ArrayLike = 0.0,
    *,
    rule: str = "single",
    margin: float = 0.0,
    eta: float = 1.0,
    fit_intercept: bool = True,
) -> float | None:
    """Return the most corrections that a perceptron started at zero can make.

    With a separating vector â = (intercept, coef) and gamma = min â.y > 0, this is ::

        (max |y|^2 + 2 margin / eta) |â|^2 / gamma^2

    times the number of samples for the batch rule. Any separating vector gives a bound; that of the
    hard-margin support vector machine is close to the best.

    Parameters
    ----------
    X : array_like or sparse matrix of shape (n_samples, n_features)
        Samples.
    y : array_like of shape (n_samples,)
        Labels of two classes.
    coef : array_like of shape (n_features,) or (1, n_features)
        Weights of the separating vector; its values are positive on the second class.
    intercept : float or array_like of shape (1,), default=0.0
        Its intercept.
    rule, margin, eta, fit_intercept
        As in `Perceptron`; eta is constant.

    Returns
    -------
    float or None
        The bound, rounded up by as much as the arithmetic of a learner may be off; None where the
        vector does not separate the classes, or is too small for the digits of float64.

    Examples
    --------
    >>> from kcore.perceptron import convergence_bound
    >>> round(convergence_bound([[1.0], [-1.0]], [1, 0], [1.0]), 9)
    2.0
    >>> convergence_bound([[1.0], [-1.0]], [1, 0], [-1.0]) is None
    True
    """
    points = as_samples(X)
    classes, codes = as_labels(y, points.shape[0])
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes; the bound is for 2")
    if not isinstance(rule, str) or rule not in RULES:
        raise ValueError(f"rule must be one of 'single', 'batch', got {brief(rule)}")
    margin = as_real(margin, "margin", low=0.0)
    eta = as_real(eta, "eta")
    fit_intercept = as_flag(fit_intercept, "fit_intercept")
    if not eta > 0:
        raise ValueError(f"eta must be positive, got {eta!r}")
    weights = _vector(coef, "coef", points.shape[1], " as X has columns")
    offset = _vector(intercept, "intercept", 1)[0]
    if offset != 0 and not fit_intercept:
        raise ValueError(f"intercept is {offset:g}, must be 0 where fit_intercept is False")
    samples = Samples(points, codes, 2, None)
    return bound_of(samples, weights, float(offset), fit_intercept, margin, eta, rule == "batch")


def _vector(values: Any, name: str, n_entries: int, why: str = "") -> NDArray[np.float64]:
    vector = np.ravel(as_reals(values, name))
    if len(vector) != n_entries:
        raise ValueError(f"{name} has {len(vector)} entries, must have {n_entries}{why}")
    refuse_non_finite(vector, name, ("entry",))
    return vector
