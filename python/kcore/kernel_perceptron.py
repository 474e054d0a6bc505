"""The perceptron in the feature space of a kernel: from matrices of samples, or online.

A perceptron started at zero is a sum of the samples that it corrected its mistakes with, so that
its decision function is f(x) = sum of a_i (K(x_i, x) + 1): any kernel will do for the product of
two samples, and with K(x, z) = x.z it makes the mistakes of `kcore.perceptron.Perceptron`.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core, exceptions
from kcore._base import ClassifierMixin, Fitted, as_labels, as_samples, feature_names, fitted
from kcore._kernelized import (
    KernelEstimator,
    KernelLike,
    Nodes,
    as_user_sees,
    call_kernel,
    take_rows,
)
from kcore._report import Progress
from kcore._rules import RULES, RuleEstimator, check_same_labels, codes_among, first_labels
from kcore._validate import CSR, Points

__all__ = ["CacheReport", "KernelPerceptron"]

_STRATEGIES = {
    "oldest": _core.STRATEGY_OLDEST,
    "smallest": _core.STRATEGY_SMALLEST,
    "projection": _core.STRATEGY_PROJECTION,
    "merge": _core.STRATEGY_MERGE,
}
_READINGS = {
    False: _core.READING_LAST,
    True: _core.READING_MEAN,
    "voted": _core.READING_VOTES,
}
# What a learner is made for, once and for all.
_TRAITS = (
    "kernel", "degree", "gamma", "coef0", "fit_intercept", "average", "budget", "strategy",
    "multi_class", "precision",
)  # fmt: skip


class CacheReport(NamedTuple):
    """What became of the kernel rows of a fit.

    Attributes
    ----------
    rows_computed, rows_hit, rows_evicted : int
        Rows computed; found in the cache; driven out of it by others.
    bytes_allowed, bytes_used : int
        Of the cache.
    """

    rows_computed: int
    rows_hit: int
    rows_evicted: int
    bytes_allowed: int
    bytes_used: int


class Active(Fitted):
    """A learner, its labels, and what its last call reported."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        learner: _core.OnlineLearner,
        traits: tuple[Any, ...],
    ) -> None:
        super().__init__(shape, names)
        self.classes = classes
        self.learner = learner
        self.traits = traits
        self.labels = classes.tolist()
        self.code_of = {label: code for code, label in enumerate(self.labels)}
        self.seen: Any = None  # the last `classes` that were looked at
        self.n_passes = 0
        self.mistakes: Any = np.empty(0, np.int64)  # arrays, or numbers after a single sample
        self.criterion: Any = np.empty(0)
        self.is_converged = False
        self.stop: str | None = None  # what ended the last call before its time
        self.bound: float | None = None
        self.rows: CacheReport | None = None
        self.vectors: Points | None = None  # of a Python function as a kernel
        self.sparse_type: Any = None

    def __deepcopy__(self, memo: object) -> Self:
        twin = object.__new__(type(self))  # with a learner of its own, for it will learn
        twin.__dict__.update(self.__dict__, learner=copy.deepcopy(self.learner), cache={})
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seen": None}

    def note(self, report: dict[str, Any], n_passes: int) -> None:
        """Keep what a call said of itself; `n_passes` were made before it."""
        self.mistakes, self.criterion = report["mistakes"], report["criterion"]
        self.n_passes = n_passes + len(self.mistakes)
        self.is_converged = report["is_converged"]
        self.stop = report["stop"]
        self.cache.clear()

    def support_vectors(self) -> Points | None:
        """Return the points kept in the learner's type; None where it has none."""
        info = self.learner.describe()
        if info["is_given"]:
            return self.vectors
        dtype = np.float32 if info["dtype"] == 1 else np.float64
        found = self.learner.vectors()
        if isinstance(found, tuple):
            data, indices, indptr = found
            shape = (info["n_points"], info["n_cols"])
            return CSR(data.astype(dtype, copy=False), indices.astype(np.int64), indptr, shape)
        return cast("Points", found.astype(dtype, copy=False))


class KernelPerceptron(ClassifierMixin, KernelEstimator, RuleEstimator):
    r"""Perceptron in the feature space of a kernel, online or on whole data sets.

    In augmented coordinates of feature space, :math:`y = z\,(1, \phi(x))`, a mistake is a sample
    with :math:`a^T y \le` margin, and each is answered by :math:`a \leftarrow a + \eta(k)\,y`. So

    .. math:: f(x) = \sum_i a_i \, (K(x_i, x) + 1),

    where the sum runs over the samples of the mistakes. `fit` keeps the values of f at all samples:
    a mistake adds one row of the kernel matrix to them, from a cache, and a sample without one
    costs nothing. `partial_fit` keeps the samples of the mistakes alone, at most `budget` of them:
    a sample costs one row of kernel values with these.

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'precomputed'}, Kernel or callable, \
default='rbf'
        The kernel by name, an object of `kcore.kernels`, or a function of two sets of samples. The
        last and ``'precomputed'`` are for `fit` only.
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
        The batch rule ends after a step with \|eta(k) sum of y\| < theta.
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
            The new point takes the place of that with the least \|a_i\| sqrt(K(x_i, x_i)); of
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
            no more, that is done instead.
    multi_class : {'ovr', 'direct'}, default='ovr'
        More than two classes: one problem for each class against the rest, or one function for each
        class trained together: a mistake adds the sample to its own class and takes it from the
        best other one. All share one set of points.
    class_weight : dict or 'balanced', default=None
        Factors of eta by label; ``'balanced'`` is n_samples / (n_classes * count).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the order, where `shuffle` is set.
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
        Seconds after which learning ends with what it has, and a warning.
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
        The most corrections that the convergence theorem allows, max \|y\|^2 \|a\|^2 / min(a.y)^2
        with the a that was found; None where there is no such theorem: not converged, more than two
        classes, weights, a schedule, a start other than zero, kernels that may not be positive.
    cache_report_ : CacheReport or None
        Kernel rows of the last `fit`; None where there were none to keep.

    Notes
    -----
    A fit, or a call of `partial_fit`, that is interrupted or fails leaves the estimator as it was:
    with more than one sample, a copy of the points kept learns and takes their place at the end.
    One thread at a time may learn; others may predict meanwhile.

    Examples
    --------
    XOR is not linearly separable; in the feature space of a polynomial it is.

    >>> import numpy as np
    >>> from kcore.kernel_perceptron import KernelPerceptron
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> y = np.array(["no", "yes", "yes", "no"])
    >>> model = KernelPerceptron("poly", degree=2, gamma=1.0, coef0=1.0).fit(X, y)
    >>> model.converged_, model.predict(X).tolist()
    (True, ['no', 'yes', 'yes', 'no'])

    Samples that come one by one, with at most three of them kept:

    >>> online = KernelPerceptron("rbf", gamma=1.0, budget=3)
    >>> for _ in range(5):
    ...     for x, label in zip(X, y):
    ...         _ = online.partial_fit(x[None], [label], classes=["no", "yes"])
    >>> len(online.support_)
    3
    """

    _fitted: Active

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
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
        precision: str = "auto",
        cache_size: float | str = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Callable[[Progress], object] | None = None,
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
        points = as_samples(X)
        classes, codes = as_labels(y, points.shape[0])
        if len(classes) < 2:
            raise ValueError(
                f"y has 1 class only ({classes.tolist()[0]!r}); a classifier needs at least 2"
            )
        weights = self._weights(classes, codes, sample_weight)
        max_iter = self._most_passes()
        first = 0
        if self.warm_start and self.__sklearn_is_fitted__():
            state, data, first = self._go_on(points, classes)
        else:
            state, data = self._begin(X, points, classes, weights)
        is_fresh = state.n_passes == 0
        report = self._run(state, data, codes, weights, first, self._schedule(0, max_iter))
        state.note(report, 0)
        is_plain = is_fresh and sample_weight is None and self.class_weight is None
        state.bound = self._bound(state, report) if is_plain else None
        if callable(self.kernel) and state.learner.nodes is None:
            state.vectors = take_rows(points, state.learner.ids().astype(np.int32))
        self._warn(state, max_iter)
        self._fitted = state
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from samples, once each, going on from what was learnt before.

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
        state = self.__dict__.get("_fitted")
        if state is not None and sample_weight is None and self._learn_one(state, X, y, classes):
            return self
        self._refuse_balanced()
        if state is None:
            points, labels = as_samples(X), first_labels(classes)
        else:
            self._check_traits(state)
            points, labels = self._points_to_predict(X, state), state.classes
            check_same_labels(classes, labels)
        codes = codes_among(labels, y, points.shape[0])
        weights = self._weights(labels, codes, sample_weight)
        if state is None:
            state, _ = self._begin(X, points, labels, weights)
        elif points.shape[0] > 1:  # one alone is learnt from, or not; many could be cut short
            state = copy.deepcopy(state)
        self._learn(state, points, codes, weights)
        if state.stop is not None:
            self._warn(state, 1)
        state.seen = classes
        self._fitted = state
        return self

    def _learn(
        self,
        state: Active,
        points: Points,
        codes: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
    ) -> None:
        if state.learner.nodes is None:
            raise ValueError(
                "partial_fit needs a kernel that the core computes: kernel values that are given, "
                "or a function, are for fit only"
            )
        eta = self._schedule(state.n_passes, 1)
        report = self._run(state, points, codes, weights, -1, eta)
        state.note(report, state.n_passes)
        state.bound = state.rows = None

    def _learn_one(self, state: Active, X: Any, y: Any, classes: Any) -> bool:
        """Learn from one sample on the short way; say whether that could be done."""
        if (
            state.names is not None
            or self.class_weight is not None
            or (type(self.eta) is not float and type(self.eta) is not int)
            or (type(self.margin) is not float and type(self.margin) is not int)
            or self.rule != "single"
            or state.learner.nodes is None
            or not _core.same_values(self.__dict__, _TRAITS, state.traits)
        ):
            return False
        try:
            if classes is not None and classes is not state.seen and classes != state.labels:
                return False
            code = state.code_of.get(y.item() if type(y) is np.ndarray else y[0])
            if code is None or len(y) != 1:
                return False
        except (TypeError, ValueError, IndexError, KeyError):
            return False
        learner = state.learner
        n_mistakes = learner.learn_one(X, code, len(state.labels), self.margin, self.eta)
        if n_mistakes < 0:
            return False
        state.n_passes += 1
        state.mistakes = n_mistakes
        state.criterion = learner.last_criterion
        state.is_converged = n_mistakes == 0
        state.bound = state.rows = None
        if state.cache:
            state.cache.clear()
        return True

    def _run(
        self,
        state: Active,
        points: Points,
        codes: NDArray[np.int32],
        weights: NDArray[np.float64] | None,
        first: int,
        eta: NDArray[np.float64],
    ) -> dict[str, Any]:
        """Call the core."""
        rule = self._choice("rule", RULES)
        told = self.callback
        answer: Any = None

        def tell(*values: Any) -> Any:
            nonlocal answer
            assert told is not None
            answer = told(Progress(*values))
            return answer

        margin, limit = self._real("margin"), self._limit()
        common = (points, codes, len(state.classes), weights, first)
        end = time.perf_counter() + limit
        if self.budget is not None and rule == _core.RULE_BATCH:
            raise ValueError("budget takes rule='single', got rule='batch'")
        if self.budget is not None or (first < 0 and rule == _core.RULE_SINGLE):
            report = state.learner.learn(
                *common, bool(self.shuffle), margin, eta, self._n_threads(), limit,
                None if told is None else tell,
            )  # fmt: skip
        else:
            report = state.learner.fit(
                *common, rule, bool(self.shuffle), margin, self._real("theta"), eta,
                self._cache_bytes(), self._n_threads(), limit, None if told is None else tell,
            )  # fmt: skip
            state.rows = CacheReport(
                report["rows_computed"],
                report["rows_hit"],
                report["rows_evicted"],
                report["cache_bytes_allowed"],
                report["cache_bytes_used"],
            )
        report["stop"] = None
        if not report["is_converged"]:
            if isinstance(answer, bool | np.bool_) and answer:
                report["stop"] = "callback"
            elif limit > 0 and time.perf_counter() >= end:
                report["stop"] = "time_limit"
        return report

    # ---- The learner

    def _begin(
        self,
        X: Any,
        points: Points,
        classes: NDArray[Any],
        weights: NDArray[np.float64] | None,
    ) -> tuple[Active, Points]:
        """Return a learner that has seen nothing, and what it learns from."""
        nodes, _, data = self._kernel_of(points, weights)
        is_direct = self._choice("multi_class", {"ovr": False, "direct": True}) and len(classes) > 2
        budget = self._budget(nodes)
        average = self._average()
        if budget and average:
            raise ValueError(f"average={average!r} takes budget=None, got budget={budget}")
        learner = _core.OnlineLearner(
            nodes,
            self._is_f32(data),
            data.shape[1],
            isinstance(points, CSR),
            len(classes),
            is_direct,
            bool(self.fit_intercept),
            _READINGS[average],
            budget,
            self._choice("strategy", _STRATEGIES),
            self._seeds(1 if is_direct or len(classes) == 2 else len(classes)),
        )
        state = Active(points.shape, feature_names(X), classes, learner, self._traits())
        if isinstance(points, CSR):
            import scipy.sparse as sp

            state.sparse_type = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix
        return state, data

    def _go_on(self, points: Points, classes: NDArray[Any]) -> tuple[Active, Points, int]:
        """Return a copy of the learner, what it learns from, and the number of its first sample."""
        old = self._fitted
        self._check_traits(old)
        if old.shape[1] != points.shape[1] or not np.array_equal(old.classes, classes):
            raise ValueError("warm_start: the features or labels are not those of the last fit")
        if old.learner.nodes is None:
            if old.shape != points.shape:
                raise ValueError("warm_start: kernel values must be of the samples of the last fit")
            return copy.deepcopy(old), self._kernel_of(points, None)[2], 0
        return copy.deepcopy(old), points, 0 if _are_known(old, points) else -1

    def _traits(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in _TRAITS])

    def _check_traits(self, state: Active) -> None:
        for name, old in zip(_TRAITS, state.traits, strict=True):
            if getattr(self, name) != old:
                raise ValueError(
                    f"{name} was {old!r} when learning began and is {getattr(self, name)!r} now: "
                    "learn anew with fit"
                )

    def _budget(self, nodes: Nodes | None) -> int:
        if self.budget is None:
            return 0
        budget = self._integer("budget")
        if not 0 < budget < 2**31:
            raise ValueError(f"budget must be positive or None, got {budget}")
        if nodes is None:
            raise ValueError("budget needs a kernel that the core computes")
        return budget

    def _is_f32(self, points: Points) -> bool:
        values = points.data if isinstance(points, CSR) else points
        choices = {"auto": values.dtype == np.float32, "float32": True, "float64": False}
        return self._choice("precision", choices)

    def _cache_bytes(self) -> int:
        size = self.cache_size
        if isinstance(size, str):
            if size == "auto":
                return 0
        elif isinstance(size, Real) and not isinstance(size, bool) and 0 < size < 2**42:
            return max(1, int(float(size) * 2**20))
        raise ValueError(
            f"cache_size must be 'auto' or a positive number of megabytes, got {size!r}"
        )

    # ---- Reports

    def _bound(self, state: Active, report: dict[str, Any]) -> float | None:
        nodes = state.learner.nodes
        is_known = state.is_converged and len(state.classes) == 2 and report["least"] > 0
        if not is_known or nodes is None or isinstance(self.eta, str) or callable(self.eta):
            return None
        if not _core.CompiledKernel(nodes).is_positive:
            return None
        longest = report["max_diag"] + 2 * self._real("margin") / self._real("eta")
        n_terms = state.shape[0] if self.rule == "batch" else 1
        return float(longest * n_terms * report["sq_norm"] / report["least"] ** 2)

    def _warn(self, state: Active, n_asked: int) -> None:
        """Say so where a call of `n_asked` passes ended other than without a mistake."""
        last = int(state.mistakes[-1]) if len(state.mistakes) else 0
        if state.stop is not None:
            is_late = state.stop == "time_limit"
            text = f"reached time_limit={self.time_limit}" if is_late else "was ended"
            text += f" in pass {len(state.mistakes) + 1}"
            if len(state.mistakes):
                text += f"; the last whole one made {last} mistakes"
            text += ". Raise time_limit." if is_late else ". The callback returned True."
        elif not state.is_converged:
            text = (
                f"ended after max_iter={n_asked} passes without separating the classes: the last "
                f"pass made {last} mistakes."
            )
            if self.budget is None and not self.average:
                text += " The mean of all functions is often better then: average=True."
        elif last:  # the batch rule
            text = (
                f"ended after {len(state.mistakes)} passes with {last} mistakes left, since the "
                f"step was shorter than theta={self.theta}."
            )
        else:
            return
        warnings.warn(f"KernelPerceptron {text}", exceptions.ConvergenceWarning, stacklevel=3)

    # ---- Results

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        classes: NDArray[Any] = self._state("classes_").classes
        return classes

    @fitted
    def support_(self) -> NDArray[np.int64]:
        """Numbers of the samples kept; -1 for merged points."""
        return self._fitted.learner.ids()

    @fitted
    def support_vectors_(self) -> Any:
        """The points kept; an empty array where kernel values were given."""
        state = self._fitted
        vectors = state.support_vectors()
        if vectors is None:
            return np.empty((0, 0))
        if not isinstance(vectors, CSR) and state.sparse_type is not None:
            return state.sparse_type(vectors)
        if isinstance(vectors, CSR):
            parts = (vectors.data, vectors.indices, vectors.indptr)
            if state.sparse_type is not None:
                return state.sparse_type(parts, shape=vectors.shape)
            return as_user_sees(vectors)
        return vectors

    @fitted
    def _coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        average = self._fitted.traits[_TRAITS.index("average")]
        return self._fitted.learner.coef(
            _core.READING_MEAN if average is True else _core.READING_LAST
        )

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
        if nodes is None or [node[0] for node in nodes] != [_core.LINEAR]:
            raise AttributeError("coef_ is only available when using a linear kernel")
        vectors = as_user_sees(cast("Points", state.support_vectors()))
        return np.asarray(vectors.T.astype(np.float64) @ self.dual_coef_.T).T

    @property
    def converged_(self) -> bool:
        """Whether the last pass made no mistake, in all problems."""
        converged: bool = self._state("converged_").is_converged
        return converged

    @property
    def n_iter_(self) -> int:
        """Passes of the last fit and of calls of `partial_fit` after it."""
        n_passes: int = self._state("n_iter_").n_passes
        return n_passes

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
    def bound_(self) -> float | None:
        """The most corrections that the convergence theorem allows."""
        bound: float | None = self._state("bound_").bound
        return bound

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
        state: Active = self._state("decision_function")
        reading = _READINGS[state.traits[_TRAITS.index("average")]]
        values = None
        if state.names is None and state.vectors is None:
            values = state.learner.decide_plain(X, reading, self._n_threads())
        if values is None:
            values = state.learner.decide(self._points(X, state), reading, self._n_threads())
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of samples.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        chosen = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _points(self, X: Any, state: Active) -> Points:
        """Return what the learner evaluates: samples, or kernel values with those of the fit."""
        info = state.learner.describe()
        # Kernel values with the samples kept alone are enough.
        others = (info["n_points"],) if info["is_given"] and state.vectors is None else ()
        points = self._points_to_predict(X, state, others)
        if state.vectors is None:
            return points
        return call_kernel(cast("Callable[[Any, Any], Any]", self.kernel), points, state.vectors)


def _are_known(state: Active, points: Points) -> bool:
    """Say whether the points kept are the rows of these samples that they were once."""
    ids = state.learner.ids()
    own = np.flatnonzero((ids >= 0) & (ids < points.shape[0]))
    vectors = cast("Points", state.support_vectors())
    old = as_user_sees(take_rows(vectors, own.astype(np.int32)))
    new = as_user_sees(take_rows(points, ids[own].astype(np.int32))).astype(old.dtype)
    if isinstance(vectors, CSR) or isinstance(points, CSR):
        from scipy.sparse import csr_array

        return bool((csr_array(old) != csr_array(new)).nnz == 0)
    return bool(np.array_equal(old, new))
