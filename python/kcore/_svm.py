"""The machinery behind `kcore.svm`: the call of the core, and what the machines share."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core, exceptions
from kcore._base import (
    Classifier,
    OutlierMixin,
    Regressor,
    fitted,
)
from kcore._fitted_svm import FittedSVM, as_start, same_classes, spread
from kcore._kernelized import KernelPredictor, UserKernel
from kcore._points import CSR, Points, array_type, take_rows
from kcore._progress import ProgressCallback, print_line
from kcore._report import FitReport
from kcore._svm_docs import documented
from kcore._targets import as_labels, as_targets, as_weights, weights_by_class
from kcore._validate import brief, feature_names
from kcore._warn import warn

_PRECISIONS = {
    "auto": _core.PRECISION_AUTO,
    "float32": _core.PRECISION_F32,
    "float64": _core.PRECISION_F64,
}
_MULTI_CLASS = {"ovo": _core.ONE_VS_ONE, "ovr": _core.ONE_VS_REST}
_SHAPES = {"ovr": True, "ovo": False}


# ---- All five


class SVM(KernelPredictor):
    """What the five machines share: kernels, the call of the core, and attributes."""

    _type: ClassVar[int]
    _penalties: ClassVar[tuple[str, ...]]  # which of C, nu and epsilon it has
    _fitted: FittedSVM

    shrinking: bool
    tol: float
    max_iter: int
    precision: str
    warm_start: bool
    n_jobs: int | None
    callback: ProgressCallback | None

    # ---- Fit

    def _solve(
        self,
        X: Any,
        points: Points,
        *,
        codes: NDArray[np.int32] | None = None,
        classes: NDArray[Any] | None = None,
        targets: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        class_weights: NDArray[np.float64] | None = None,
        init: Any,
    ) -> Self:
        """Call the core and keep what it gives; the last step of every fit."""
        names = feature_names(X)
        n_samples = points.shape[0]
        n_classes = 0 if classes is None else len(classes)
        settings = self._settings(n_classes)
        run = _core.Run(self._n_threads(), self._limit(), self._progress_callback())
        found = self._kernel_of(points, weights, run, X=X)
        samples = found.samples
        data = _core.SVMData(
            samples=samples,
            n_samples=n_samples,
            n_classes=n_classes,
            codes=codes,
            targets=targets,
            weights=weights,
            class_weights=class_weights,
            start=self._start(init, n_samples, settings.coef_rows(n_classes), classes),
        )
        model, info = _core.fit_svm(found.compiled, settings, data, run)
        state = FittedSVM(
            points.shape,
            names,
            model,
            found.nodes,
            classes,
            (info, self._real("tol")),
            take_rows(points, model.support()) if isinstance(samples, UserKernel) else None,
        )
        if isinstance(samples, UserKernel):
            state.function = samples.function
        if isinstance(points, CSR):
            state.sparse_type = array_type(X)
        state.note_kernel(points, found)
        if info.stop != _core.STOP_CONVERGED:
            self._warn(state.report())
        self._fitted = state
        if self.verbose:
            print_line(type(self).__name__, state.report().summary())
        return self

    def _settings(self, n_classes: int) -> _core.SVMSettings:
        has = self._penalties
        return _core.SVMSettings(
            svm_type=self._type,
            multiclass=self._multiclass() if n_classes else _core.ONE_VS_ONE,
            precision=self._choice("precision", _PRECISIONS),
            shrinking=self._flag("shrinking"),
            tol=self._real("tol"),
            cache_bytes=self._cache_bytes(),
            max_iter=self._max_steps(),
            C=self._real("C") if "C" in has else None,
            nu=self._real("nu") if "nu" in has else None,
            epsilon=self._real("epsilon") if "epsilon" in has else None,
        )

    def _multiclass(self) -> int:
        raise NotImplementedError

    def _warn(self, report: FitReport) -> None:
        advice = {
            "max_iter": "Raise max_iter, scale the features, or take a smaller C.",
            "time_limit": "Raise time_limit.",
            "stopped": "The callback returned True.",
            "stalled": "Rounding allows no further step: scale the features, take a smaller C, "
            "or precision='float64'.",
            "no_margin": "The classes, reduced by nu, may overlap, and no number above means much: "
            "take a larger nu or another kernel. max_iter sets a number of steps to go on for.",
        }
        distance = (
            f"largest violation {report.violation:.3g}, tol {report.tol:g}, duality gap "
            f"{report.gap:.3g} at the objective {report.primal:.6g}"
            if report.is_certified
            else "no time was left to compute how far it is from the solution"
        )
        warn(
            f"{type(self).__name__} stopped before its tolerance was reached ({report.stop}): "
            f"{distance}. The model can be used, but is not optimal. "
            f"{advice.get(report.stop, '')}",
            exceptions.ConvergenceWarning,
        )

    # ---- Parameters of the core

    def _max_steps(self) -> int:
        most = self._integer("max_iter")
        if most == -1:
            return 0
        if not 0 < most < 2**63:
            raise ValueError(f"max_iter must be positive, or -1 for the default, got {most}")
        return most

    # ---- Start

    def _start(
        self, init: Any, n_samples: int, n_rows: int, classes: NDArray[Any] | None
    ) -> NDArray[np.float64] | None:
        """Return coefficients to start from, a column for each sample."""
        if init is None:
            if not self._flag("warm_start") or "_fitted" not in self.__dict__:
                return None
            state = self._fitted
            if state.shape[0] != n_samples or not same_classes(state.classes, classes):
                return None
        elif isinstance(init, SVM):
            state = init._state("init")
            if type(init)._type != self._type or not same_classes(state.classes, classes):
                raise ValueError(f"init must be a {type(self).__name__} fitted to the same classes")
        else:
            return as_start(init, n_samples, n_rows)
        return spread(state, n_samples, n_rows)

    # ---- Prediction, of one sample within a microsecond: a call of _state would be felt

    def _decide(self, X: Any, by_class: bool, method: str) -> NDArray[np.float64]:
        try:
            state = self._fitted
        except AttributeError:
            state = self._state(method)
        n_jobs = 0 if self.n_jobs is None else self._n_threads()
        if state.is_plain:
            values = state.model.decide_plain(X, by_class, n_jobs)
            if values is not None:
                return values
        return self._evaluate(X, state, state.model.decide, by_class, n_jobs)

    def _classify(self, X: Any, break_ties: bool) -> NDArray[Any]:
        try:
            state = self._fitted
        except AttributeError:
            state = self._state("predict")
        n_jobs = 0 if self.n_jobs is None else self._n_threads()
        if state.is_plain:
            found = state.model.classify_plain(X, state.classes, break_ties, n_jobs)
            if found is not None:
                return found
        return self._evaluate(X, state, state.model.classify, state.classes, break_ties, n_jobs)

    # ---- Attributes

    @fitted
    def support_(self) -> NDArray[np.int32]:
        """Indices of the support vectors, sorted by class."""
        return self._fitted.model.support()

    @fitted
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors of each class; of all where there are no classes."""
        return self._fitted.model.class_counts()

    @fitted
    def dual_coef_(self) -> Any:
        """Coefficients of the support vectors, with the sign of their class; sparse as X was."""
        return self._fitted.in_input_type(self._fitted.model.coef())

    @fitted
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the decision functions."""
        return self._fitted.model.intercepts()

    @fitted
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel; sparse as X was."""
        state = self._fitted
        if not state.model.describe()["is_linear"]:
            raise AttributeError("coef_ is only available when using a linear kernel")
        return state.in_input_type(state.model.linear())

    @fitted
    def fit_report_(self) -> FitReport:
        """Certificate and cost of the fit."""
        return self._fitted.report()

    @property
    def fit_status_(self) -> int:
        """0 where the fit converged, else 1."""
        self._state("fit_status_")
        return 0 if self.fit_report_.converged else 1

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """Shape of the samples of the fit."""
        shape: tuple[int, int] = self._state("shape_fit_").shape
        return shape

    @property
    def n_iter_(self) -> Any:
        """Pair steps of the solver."""
        self._state("n_iter_")
        return self.fit_report_.n_iter


# ---- Classifiers


class SVMClassifier(Classifier, SVM):
    """What SVC and NuSVC share."""

    class_weight: dict[Any, float] | str | None
    probability: bool
    multi_class: str
    decision_function_shape: str
    break_ties: bool

    def _multiclass(self) -> int:
        return self._choice("multi_class", _MULTI_CLASS)

    @documented
    def fit(
        self,
        X: ArrayLike | Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        init: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        <X>
        y : array_like of shape (n_samples,)
            Labels: integers, strings or whole floats.
        <weight_and_init>

        Returns
        -------
        self
        """
        if self.probability is not False:
            self._refuse_probability()
        points = self._samples(X)
        n_samples = points.shape[0]
        classes, codes = as_labels(y, n_samples)
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, n_samples)
            classes, codes = _without_weightless(classes, codes, weights)
        if len(classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: "
                f"{classes.tolist()[0]!r}"
            )
        class_weights = None
        if self.class_weight is not None:
            class_weights = weights_by_class(self.class_weight, classes, codes, weights)
        return self._solve(
            X,
            points,
            codes=codes,
            classes=classes,
            weights=weights,
            class_weights=class_weights,
            init=init,
        )

    def _refuse_probability(self) -> None:
        """Refuse to compute probabilities, and say what does."""
        if not isinstance(self.probability, bool | np.bool_):
            raise TypeError(f"probability must be False, got {brief(self.probability)}")
        if self.probability:
            name = type(self).__name__
            raise ValueError(
                f"probability=True: {name} computes no probabilities. scikit-learn's calibration "
                f"does, from any {name}: "
                f"CalibratedClassifierCV({name}(...), ensemble=False).fit(X, y).predict_proba(X)"
            )

    def decision_function(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        """Return how far samples are on which side.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit, or
            with the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: positive values say ``classes_[1]``. More: a column for each class, or
            with ``decision_function_shape='ovo'`` for each pair of classes.
        """
        return self._decide(X, self._by_class(), "decision_function")

    def predict(self, X: ArrayLike | Any) -> NDArray[Any]:
        """Return the class of each sample.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        break_ties = self.break_ties is not False and self._flag("break_ties")
        if break_ties and not self._by_class():
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self._classify(X, break_ties)

    def _by_class(self) -> bool:
        shape = self.decision_function_shape
        return (
            True
            if type(shape) is str and shape == "ovr"
            else self._choice("decision_function_shape", _SHAPES)
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the classes, sorted."""
        return cast("NDArray[Any]", self._state("classes_").classes)

    @property
    def margin_(self) -> float:
        """Half the width of the margin in feature space, 1 / |w|; for two classes."""
        self._state("margin_")
        if len(self.classes_) != 2:
            raise AttributeError("margin_ exists for two classes only; see fit_report_.problems")
        norm = self.fit_report_.norm
        return 1.0 / norm if norm > 0 else math.inf

    @fitted
    def n_iter_(self) -> NDArray[np.int32]:
        """Pair steps of the solver, for each problem."""
        report = self.fit_report_
        problems = report.problems or (report,)
        return np.array([one.n_iter for one in problems], dtype=np.int64)


def _without_weightless(
    classes: NDArray[Any], codes: NDArray[np.int32], weights: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Drop classes of which no sample has a weight, as if those samples were not there."""
    is_there = np.bincount(codes, weights, len(classes)) > 0
    if is_there.all():
        return classes, codes
    if not is_there.sum() > 1:
        raise ValueError(
            "The number of classes has to be greater than one; only 1 class has samples of "
            f"positive weight: {classes[is_there].tolist()[0]!r}"
        )
    places = np.cumsum(is_there) - 1
    places[~is_there] = 0  # whatever: the core leaves out samples without a weight
    return classes[is_there], places[codes].astype(np.int32)


# ---- Regressors


class SVMRegressor(Regressor, SVM):
    """What SVR and NuSVR share."""

    @documented
    def fit(
        self,
        X: ArrayLike | Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        init: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        <X>
        y : array_like of shape (n_samples,)
            Targets.
        <weight_and_init>

        Returns
        -------
        self
        """
        points = self._samples(X)
        n_samples = points.shape[0]
        targets = as_targets(y, n_samples)
        weights = None if sample_weight is None else as_weights(sample_weight, n_samples)
        return self._solve(X, points, targets=targets, weights=weights, init=init)

    def predict(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        """Return the value of the function at each sample.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit, or
            with the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X, False, "predict")


# ---- Detectors


class SVMDetector(OutlierMixin, SVM):
    """What OneClassSVM adds to the machines: a boundary around samples without labels."""

    @documented
    def fit(
        self,
        X: ArrayLike | Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        init: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        <X>
        y : object, default=None
            Ignored; there for scikit-learn's conventions.
        <weight_and_init>

        Returns
        -------
        self
        """
        points = self._samples(X)
        weights = None if sample_weight is None else as_weights(sample_weight, points.shape[0])
        return self._solve(X, points, weights=weights, init=init)

    def decision_function(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        """Return how far inside the boundary samples are; negative values are outside.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` kernel values with all samples of the fit, or
            with the support vectors alone.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X, False, "decision_function")

    def score_samples(self, X: ArrayLike | Any) -> NDArray[np.float64]:
        """Return the decision function without its offset.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X, False, "score_samples") + self.offset_

    def predict(self, X: ArrayLike | Any) -> NDArray[np.int64]:
        """Return 1 for samples inside the boundary, -1 for those outside.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._classify(X, False)

    @fitted
    def offset_(self) -> float:
        """The negative of the intercept."""
        return -float(self.intercept_[0])
