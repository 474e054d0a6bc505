"""The perceptron in the feature space of a kernel, on whole data sets or online.

The weight vector of a perceptron started at zero is a sum of the samples that it made mistakes on,
so that its decision function is f(x) = sum_i a_i (K(x_i, x) + 1). Any kernel can take the place of
the product of two samples; with K(x, z) = x.z it makes the mistakes of
`kcore.perceptron.Perceptron`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._base import fitted
from kcore._kernelized import LINEAR_NODES, KernelLike, UserKernel, as_scipy
from kcore._online import CHECKED_PARAMS, CacheReport, FittedOnline, OnlineEstimator, OnlineSamples
from kcore._points import Points, take_rows
from kcore._progress import ProgressCallback
from kcore._rules import Samples, check_same_labels, codes_among, first_labels, labels_to_fit

__all__ = ["CacheReport", "KernelPerceptron"]


class KernelPerceptron(OnlineEstimator):
    """Perceptron in the feature space of a kernel, online or on whole data sets.

    With y = z (1, phi(x)) for a sample x of class z = +1 or -1, a mistake is a sample with
    a.y <= margin, and a <- a + eta(k) y corrects it. The decision function is ::

        f(x) = sum_i a_i (K(x_i, x) + 1)

    where the sum runs over the samples of the mistakes. `fit` keeps the values of f at all samples:
    a mistake adds one row of the kernel matrix to them, from a cache, and a sample without one
    costs next to nothing. `partial_fit` keeps only the samples of mistakes, at most `budget` of
    them: each sample costs its kernel values with these.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'precomputed'}, Kernel or callable, \
default='rbf'
        The kernel by name, an object of `kcore.kernels`, or a function of two sets of samples that
        returns the matrix of their values. A function and ``'precomputed'`` are for `fit` only. A
        function is called when a mistake needs rows of the matrix, as
        ``kernel(X[rows], X[others])``, on the thread that called `fit`; a value must depend on its
        two samples alone, and be the same for both orders of them.
    degree : int, default=3
        Degree of ``'poly'``.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of the named kernels; ``'scale'`` is 1 / (n_features * X.var()), of the first
        samples seen.
    coef0 : float, default=0.0
        Constant of ``'poly'`` and ``'sigmoid'``.
    rule : {'single', 'batch'}, default='single'
        Correct at each mistake, or once for all mistakes of a pass.
    eta : float, {'inverse', 'sqrt'} or callable, default=1.0
        Step of pass k = 0, 1, 2, ...: constant, 1 / (k + 1), 1 / sqrt(k + 1), or ``eta(k)``. Each
        call of `partial_fit` is a pass.
    margin : float, default=0.0
        Samples with a.y <= margin are mistakes.
    theta : float, default=1e-6
        The batch rule ends after a step with |eta(k) sum of y| < theta.
    fit_intercept : bool, default=True
        Whether the kernel is K + 1; otherwise K.
    max_iter : int, default=100
        Passes of `fit` at the most.
    shuffle : bool, default=False
        Whether each pass takes the samples in a new order.
    average : {False, True, 'voted'}, default=False
        Predict by the mean of the functions after every sample, or let them all vote. Single rule,
        without a budget.
    budget : int or None, default=None
        Points kept at the most.
    strategy : {'oldest', 'smallest', 'projection', 'merge'}, default='merge'
        What happens when a mistake would make one point too many; K is K + 1 where there is an
        intercept, and a_i has an entry for each class.

        'oldest'
            The new point takes the place of the oldest one.
        'smallest'
            The new point takes the place of that with the least |a_i| sqrt(K(x_i, x_i)); of
            equals, the oldest.
        'projection'
            The new point and the smallest one are looked at: the one whose projection onto the
            span of all others loses less is replaced by it. Points in the span of the others never
            take a place. Costs O(budget^2) for each mistake, the others O(budget).
        'merge'
            The new point is merged with one of its sign (a_i.a_j > 0): the one that loses least if
            one of the two takes on the other's part, a_i += a_j K(x_i, x_j) / K(x_i, x_i). For the
            RBF kernel the pair becomes the best point on the line between them, found by golden
            section; for others, one of the two is kept. Where replacing the smallest point loses
            no more, that is done instead. Sparse points become one with the nonzeros of both.

        The last two are meant for positive kernels. Where a kernel is not positive on the points
        (K(x, x) <= 0, or K(x, z)^2 > K(x, x) K(z, z)), the new one takes the place of the smallest.
    multi_class : {'ovr', 'direct'}, default='ovr'
        More than two classes: one problem for each class against the rest, or one function for each
        class trained together: a mistake adds the sample to its own class and takes it from the
        best other one. All share one set of points.
    class_weight : dict or 'balanced', default=None
        Factors of eta by label; ``'balanced'`` is n_samples / (n_classes * count).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order, where `shuffle` is set.
    verbose : bool, default=False
        Whether learning prints how far it has come, a line each second, and `fit` how it ended.
    precision : {'auto', 'float32', 'float64'}, default='auto'
        Type of kernel values and of the points kept; ``'auto'``: that of the first samples.
    cache_size : float or 'auto', default='auto'
        Megabytes for kernel rows in `fit`; ``'auto'``: the whole matrix, if it fits in a quarter of
        the memory available, else that quarter.
    warm_start : bool, default=False
        Whether `fit` goes on from what was learnt before.
    n_jobs : int or None, default=None
        Threads; -1 for all usable CPUs. Results do not depend on it.
    time_limit : float or None, default=None
        Seconds after which learning ends with what it has, and a warning. In `fit`, classes that
        are learnt one against the rest take turns.
    callback : callable or None, default=None
        Called with a `Progress` about every 20 ms. Where it returns True, learning ends with what
        it has, and a warning; an exception ends the call and leaves the estimator as it was. It may
        predict, but not learn.

    Attributes
    ----------
    support_ : ndarray of int64, shape (n_support,)
        Numbers of the samples kept: rows of X after `fit`, then counting on over `partial_fit`; -1
        for merged points.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The points kept.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their coefficients a_i that predict: the last, or the mean.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts that predict.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    converged_ : bool
        Whether the last pass made no mistake (batch: the last step was below theta), in all
        problems.
    n_iter_ : int
        Passes of the last fit and of calls of `partial_fit` after it, the most of any problem.
    n_updates_ : int
        Corrections since learning began, over all problems (batch: passes that moved a).
    mistakes_, criterion_ : ndarrays of shape (n_passes,)
        Mistakes in each pass of the last call, over all problems, and the sum of weight (margin -
        a.y) over them, a being that of the moment.
    bound_ : float or None
        The most corrections that the convergence theorem allows, max |y|^2 |a|^2 / min(a.y)^2
        with the a that was found; None where there is no such theorem: not converged, more than two
        classes, weights, a schedule, a start other than zero, kernels that may not be positive; or
        where it took more than 65536 passes, or the numbers are too small for float64's digits.
    cache_report_ : CacheReport or None
        Kernel rows of the last `fit`; None where there were none to keep.

    Notes
    -----
    A fit, or a call of `partial_fit`, that is interrupted or fails leaves the estimator as it was:
    with more than one sample, a copy of the points kept learns and takes their place at the end.
    A single sample is learnt in place; a Ctrl-C that comes too late for it finds it learnt.
    One thread at a time may learn; others may predict meanwhile.

    Examples
    --------
    XOR is not linearly separable; in the feature space of a polynomial it is.

    >>> import numpy as np
    >>> from kcore.kernel_perceptron import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> y = np.array(["no", "yes", "yes", "no"])
    >>> model = KernelPerceptron(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    >>> model.converged_, model.predict(X).tolist()
    (True, ['no', 'yes', 'yes', 'no'])

    Samples that come one by one, with at most three of them kept:

    >>> online = KernelPerceptron(kernel="rbf", gamma=1.0, budget=3)
    >>> for _ in range(5):
    ...     for x, label in zip(X, y):
    ...         _ = online.partial_fit(x[None], [label], classes=["no", "yes"])
    >>> len(online.support_)
    3
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        rule: str = "single",
        eta: float | str | Callable[[int], float] = 1.0,
        margin: float = 0.0,
        theta: float = 1e-6,
        fit_intercept: bool = True,
        max_iter: int = 100,
        shuffle: bool = False,
        average: bool | str = False,
        budget: int | None = None,
        strategy: str = "merge",
        multi_class: str = "ovr",
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
        verbose: bool = False,
        precision: str = "auto",
        cache_size: float | str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.rule = rule
        self.eta = eta
        self.margin = margin
        self.theta = theta
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.average = average
        self.budget = budget
        self.strategy = strategy
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.precision = precision
        self.cache_size = cache_size
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
            Samples; with ``kernel='precomputed'`` the matrix of kernel values between them.
        y : array_like of shape (n_samples,)
            Labels.
        sample_weight : array_like of shape (n_samples,), default=None
            Factors of eta; a sample of weight zero is left out.

        Returns
        -------
        self
        """
        points = self._samples(X)
        classes, codes = labels_to_fit(y, points.shape[0])
        weights = self._weights(classes, codes, sample_weight)
        max_iter = self._max_passes()
        first = 0
        if self._flag("warm_start") and self.__sklearn_is_fitted__():
            state, data, first = self._resume(X, points, classes)
        else:
            state, data = self._begin(X, points, classes, weights)
        is_fresh = state.n_passes == 0
        samples = cast("OnlineSamples", Samples(data, codes, len(classes), weights))
        report = self._make_passes(state, samples, first, max_iter)
        state.store_report(report)
        is_plain = is_fresh and sample_weight is None and self.class_weight is None
        state.bound = self._bound(state, report) if is_plain else None
        if isinstance(data, UserKernel):
            state.function = data.function
            state.vectors = take_rows(points, state.learner.ids().astype(np.int32))
        self._warn(state, max_iter)
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
        """Learn from samples, once each, starting from what was learnt before.

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
        params = self.__dict__
        state = params.get("_fitted")
        if (
            state is not None
            and sample_weight is None
            and state.learn_one(params, CHECKED_PARAMS, X, y, classes)
        ):
            return self
        self._refuse_balanced()
        if state is None:
            points, labels = self._samples(X), first_labels(classes)
        else:
            self._check_fixed_params(state)
            points, labels = self._points_to_predict(X, state), state.classes
            check_same_labels(classes, labels)
        codes = codes_among(labels, y, points.shape[0])
        weights = self._weights(labels, codes, sample_weight, may_be_zero=True)
        if weights is not None and not weights.any():
            return self
        if state is None:
            state, data = self._begin(X, points, labels, weights)
        else:
            data = state.given(X, points, self.kernel)
            if points.shape[0] > 1:  # one alone is learnt from, or not; many could be cut short
                state = copy.deepcopy(state)
        self._learn(state, cast("OnlineSamples", Samples(data, codes, len(labels), weights)))
        if state.stop is not None:
            self._warn(state, 1)
        if state.widths is None:  # else samples do not go to the core as they are
            state.checked_classes, state.checked_params = classes, self._values_of(CHECKED_PARAMS)
        self._fitted = state
        return self

    def _learn(self, state: FittedOnline, samples: OnlineSamples) -> None:
        if state.learner.nodes is None:
            raise ValueError(
                "partial_fit needs a kernel of kcore.kernels or its name; functions and "
                "kernel='precomputed' can be used with fit only"
            )
        eta = self._schedule().steps(state.n_passes, 1)
        state.stop = self._learn_passes(state, samples, -1, eta, self._new_run(), state)["stop"]

    # ---- Results

    @fitted
    def support_(self) -> NDArray[np.int64]:
        """Numbers of the samples kept; -1 for merged points."""
        return self._fitted.learner.ids()

    @fitted
    def _coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        is_mean = self._fitted.reading == _core.READING_MEAN
        return self._fitted.learner.coef(_core.READING_MEAN if is_mean else _core.READING_LAST)

    @fitted
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the points kept that predict."""
        return self._coefficients[0]

    @fitted
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts that predict."""
        return self._coefficients[1]

    @fitted
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the features, for the linear kernel."""
        state = self._fitted
        nodes = state.learner.nodes
        if nodes != LINEAR_NODES:
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors = as_scipy(cast("Points", state.support_vectors()))
        return np.asarray(vectors.T.astype(np.float64) @ self.dual_coef_.T).T

    @property
    def converged_(self) -> bool:
        """Whether the last pass made no mistake, in all problems."""
        converged: bool = self._state("converged_").is_converged
        return converged

    @property
    def n_updates_(self) -> int:
        """Corrections since learning began, over all problems."""
        n_updates: int = self._state("n_updates_").learner.describe()["n_updates"]
        return n_updates

    @fitted
    def mistakes_(self) -> NDArray[np.int64]:
        """Mistakes in each pass of the last call, over all problems."""
        return np.array(self._fitted.mistakes, np.int64, ndmin=1)

    @fitted
    def criterion_(self) -> NDArray[np.float64]:
        """Sum of weight (margin - a.y) over the mistakes of each pass of the last call."""
        return np.array(self._fitted.criterion, np.float64, ndmin=1)

    @property
    def cache_report_(self) -> CacheReport | None:
        """What became of the kernel rows of the last fit."""
        rows: CacheReport | None = self._state("cache_report_").rows
        return rows

    # ---- Prediction

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return f of samples: positive values say the second class; or f for each class.

        With ``average='voted'``, the votes of all functions: each counts for the samples that it
        survived.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit, or
            with those kept alone.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        state: FittedOnline = self._state("decision_function")
        reading = state.reading
        values = None
        if state.names is None and state.vectors is None and state.widths is None:
            values = state.learner.decide_plain(X, reading, self._n_threads())
        if values is None:
            values = self._evaluate(X, state, state.learner.decide, reading, self._n_threads())
        return values[:, 0] if values.shape[1] == 1 else values
