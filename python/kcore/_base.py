"""What all learners share: parameters, the checks of samples, and fitted state.

An estimator stores its parameters as they were given and checks them in ``fit``. Everything that a
fit leaves behind is one object, ``_fitted``, set by the last statement of ``fit``: a fit that fails
or is interrupted leaves the estimator as it was. Attributes that end in an underscore are read from
it when they are needed.

Where scikit-learn is installed, estimators inherit from its base classes, which gives them tags,
metadata routing and the display in notebooks; where it is not, from small ones with the same
methods. Input is checked here in both cases, in microseconds for plain arrays.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import exceptions
from kcore._points import Points
from kcore._progress import ProgressCallback, ProgressPrinter
from kcore._targets import as_flat_labels, as_targets, as_weights
from kcore._threads import n_threads
from kcore._validate import (
    as_flag,
    as_float,
    as_points,
    brief,
    check_finite,
    feature_names,
    is_sparse,
    no_strings,
)
from kcore._warn import warn
from kcore.kernels import Kernel

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)

_T = TypeVar("_T")

__all__ = [
    "BaseEstimator",
    "Classifier",
    "Estimator",
    "Fitted",
    "OutlierMixin",
    "Regressor",
    "TransformerMixin",
    "as_samples",
    "check_finite",
    "fitted",
]


# ---- Base classes

if TYPE_CHECKING or not exceptions.has_sklearn():

    class BaseEstimator:
        """Parameters by name, as scikit-learn's class of the same name has them."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            names = inspect.signature(cls).parameters
            return sorted(names)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name, with those of kernels inside as ``kernel__gamma``."""
            params: dict[str, Any] = {}
            for name in self._get_param_names():
                value = getattr(self, name)
                params[name] = value
                if deep and hasattr(value, "get_params") and not isinstance(value, type):
                    params |= {f"{name}__{sub}": v for sub, v in value.get_params().items()}
            return params

        def set_params(self, **params: Any) -> Self:
            """Set parameters by name."""
            names = self._get_param_names()
            for name, value in params.items():
                if name not in names:
                    raise ValueError(
                        f"{type(self).__name__} has no parameter {name!r}; "
                        f"it has: {', '.join(names)}"
                    )
                setattr(self, name, value)
            return self

        def __sklearn_tags__(self) -> Any:
            raise NotImplementedError("tags are scikit-learn's, which is not installed")

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self)).parameters
            changed = (
                f"{name}={value!r}"
                for name, value in self.get_params(deep=False).items()
                if repr(value) != repr(defaults[name].default)
            )
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:
        """Marks classifiers."""

        _estimator_type = "classifier"

    class RegressorMixin:
        """Marks regressors."""

        _estimator_type = "regressor"

    class OutlierMixin:
        """Marks outlier detectors."""

        _estimator_type = "outlier_detector"

    class TransformerMixin:
        """Gives `fit_transform`."""

        def fit_transform(self, X: Any, y: Any = None) -> Any:
            """Fit, then transform."""
            return self.fit(X, y).transform(X)  # type: ignore[attr-defined]

else:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        OutlierMixin,
        RegressorMixin,
        TransformerMixin,
    )


class fitted(Generic[_T]):  # noqa: N801  # used as a decorator, like property
    """An attribute that exists after `fit`: computed from the fitted state, once for each fit.

    Arrays, and the values of sparse ones, are given out read-only: changing them could not change
    the model.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...
    @overload
    def __get__(self, estimator: Estimator, owner: type) -> _T: ...
    def __get__(self, estimator: Estimator | None, owner: type) -> Self | _T:
        if estimator is None:
            return self
        cache: dict[str, Any] = estimator._state(self.name).cache
        if self.name not in cache:
            value = self.compute(estimator)
            values = getattr(value, "data", None) if is_sparse(value) else value
            if isinstance(values, np.ndarray):
                values.flags.writeable = False
            cache[self.name] = value
        found: _T = cache[self.name]
        return found

    def __set__(self, estimator: Estimator, value: object) -> NoReturn:
        raise AttributeError(
            f"{self.name} is computed from the fit and cannot be assigned: predictions would not "
            "change with it"
        )


class Fitted:
    """What a fit leaves behind; subclasses add the model.

    Parameters
    ----------
    shape : tuple of int
        Of the samples.
    names : ndarray of str or None
        Of the features, where the samples were a data frame.
    """

    def __init__(self, shape: tuple[int, int], names: NDArray[np.object_] | None) -> None:
        self.shape = shape
        self.names = names
        self.cache: dict[str, Any] = {}

    def read(self, X: Any) -> Points:
        """Return samples to predict, as the fit read its own."""
        return as_samples(X)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # nothing in it ever changes

    def __copy__(self) -> Self:
        return self


class Estimator(BaseEstimator):
    """Base of all learners."""

    _fitted: Any  # there after fit
    time_limit: float | None  # of those that take long, as are the next two
    verbose: bool
    callback: ProgressCallback | None

    # ---- Parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params
            New values, by the names of `get_params`; ``kernel__gamma`` changes ``gamma`` of a
            kernel object.

        Returns
        -------
        self
        """
        inner: dict[str, dict[str, Any]] = {}
        for name in list(params):
            first, nested, rest = name.partition("__")
            kernel = params.get(first, getattr(self, first, None))
            if nested and isinstance(kernel, Kernel):
                inner.setdefault(first, {})[rest] = params.pop(name)
        super().set_params(**params)
        for first, changes in inner.items():
            setattr(self, first, getattr(self, first).replace(**changes))
        return self

    def _real(self, name: str) -> float:
        """Return a parameter as a float; its range is the core's to check."""
        value = getattr(self, name)
        if type(value) is float:
            return value
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise TypeError(f"{name} must be a number, got {brief(value)}")
        number = as_float(value)
        if math.isinf(number) and number != value:
            raise ValueError(f"{name} is too large for float64")
        return number

    def _integer(self, name: str) -> int:
        value = getattr(self, name)
        if type(value) is int:
            return value
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            return operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, got {brief(value)}") from None

    def _flag(self, name: str) -> bool:
        value = getattr(self, name)
        return value if value is True or value is False else as_flag(value, name)

    def _choice(self, name: str, choices: dict[str, _T]) -> _T:
        value = getattr(self, name)
        try:
            return choices[value]
        except (KeyError, TypeError, ValueError):
            words = ", ".join(map(repr, choices))
            raise ValueError(f"{name} must be one of {words}, got {brief(value)}") from None

    def _limit(self) -> float:
        """Return the time limit in seconds; 0 for none."""
        if self.time_limit is None:
            return 0.0
        limit = self._real("time_limit")
        if not limit > 0:
            raise ValueError(f"time_limit must be positive or None, got {limit!r}")
        return limit if limit < math.inf else 0.0

    def _progress_callback(self) -> ProgressCallback | None:
        """Return the callback of a call: the user's own, or with `verbose` one that prints too."""
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback must be a function or None, got {brief(self.callback)}")
        if not self._is_verbose():
            return self.callback
        return ProgressPrinter(type(self).__name__, self.callback)

    def _is_verbose(self) -> bool:
        verbose = self.verbose
        if verbose is False:
            return False
        if not isinstance(verbose, bool | np.bool_ | int):
            raise TypeError(f"verbose must be True or False, got {brief(verbose)}")
        return bool(verbose)

    # ---- Fitted state

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    def _state(self, name: str) -> Any:
        """Return the fitted state; without one, an error that hasattr understands."""
        try:
            return self._fitted
        except AttributeError:
            raise exceptions.NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit before {name}"
            ) from None

    @property
    def n_features_in_(self) -> int:
        """Number of features of the samples of the fit."""
        shape: tuple[int, ...] = self._state("n_features_in_").shape
        if len(shape) < 2:
            raise AttributeError("the samples of the fit were objects, not rows of features")
        return shape[1]

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features, where the samples of the fit were a data frame."""
        names: NDArray[np.object_] | None = self._state("feature_names_in_").names
        if names is None:
            raise AttributeError("the samples of the fit had no feature names")
        return names

    # ---- Samples

    def _points_to_predict(self, X: Any, state: Fitted, n_columns: tuple[int, ...] = ()) -> Points:
        """Return `X` ready for the core, with the features of the fit.

        `n_columns` are other numbers of columns that will do.
        """
        names = feature_names(X)
        if names is not None or state.names is not None:
            self._check_names(names, state.names)
        points = state.read(X)
        if points.shape[1] != state.shape[1] and points.shape[1] not in n_columns:
            if n_columns:  # kernel values: scikit-learn's checks expect the error about a NaN first
                check_finite(points)
            raise ValueError(
                f"X has {points.shape[1]} features, but {type(self).__name__} is expecting "
                f"{state.shape[1]} features as input"
            )
        return points

    def _check_names(
        self, names: NDArray[np.object_] | None, fitted_names: NDArray[np.object_] | None
    ) -> None:
        me = type(self).__name__
        if fitted_names is None:
            warn(f"X has feature names, but {me} was fitted without feature names")
        elif names is None:
            warn(f"X does not have valid feature names, but {me} was fitted with feature names")
        elif len(names) != len(fitted_names) or not (names == fitted_names).all():
            raise ValueError(_name_differences(names.tolist(), fitted_names.tolist()))

    # ---- Threads

    def _n_threads(self) -> int:
        n_jobs = self.n_jobs  # type: ignore[attr-defined]  # every learner has it
        return 0 if n_jobs is None else n_threads(n_jobs)


def _name_differences(names: list[str], fitted_names: list[str]) -> str:
    """Say how the features of a frame differ from those of the fit."""
    text = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(names) - set(fitted_names))
    missing = sorted(set(fitted_names) - set(names))
    for which, found in (
        ("Feature names unseen at fit time", unseen),
        ("Feature names seen at fit time, yet now missing", missing),
    ):
        if found:
            more = ["- ..."] if len(found) > 5 else []
            text += "\n".join([f"{which}:", *(f"- {name}" for name in found[:5]), *more]) + "\n"
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


# ---- Kinds of estimators


class Classifier(ClassifierMixin):
    """What classifiers share."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each sample."""
        raise NotImplementedError

    def score(
        self, X: ArrayLike | Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the fraction of samples whose class is predicted correctly.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array_like of shape (n_samples,)
            Their classes.
        sample_weight : array_like of shape (n_samples,), default=None
            Their weights in the mean.

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        labels = as_flat_labels(y)
        if labels.shape != predicted.shape:
            raise ValueError(f"X has {len(predicted)} rows, y has shape {labels.shape}")
        weights = None if sample_weight is None else as_weights(sample_weight, len(predicted))
        return _average(predicted == labels, weights)


class Regressor(RegressorMixin):
    """What regressors share."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the value of the function at each sample."""
        raise NotImplementedError

    def score(
        self, X: ArrayLike | Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the coefficient of determination R^2: 1 is best, 0 what the mean gives.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array_like of shape (n_samples,)
            Their targets.
        sample_weight : array_like of shape (n_samples,), default=None
            Their weights in the sums.

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        targets = as_targets(y, len(predicted))
        weights = None if sample_weight is None else as_weights(sample_weight, len(predicted))
        # Squares of the largest numbers there are overflow; times a power of two, nothing changes.
        power = -math.frexp(max(abs(targets).max(), abs(predicted).max()))[1]
        targets, predicted = np.ldexp(targets, power), np.ldexp(predicted, power)
        residual = _average((targets - predicted) ** 2, weights)
        mean = _average(targets, weights)
        spread = _average((targets - mean) ** 2, weights)
        if spread == 0:
            return 1.0 if residual == 0 else 0.0
        return 1.0 - residual / spread


def _average(values: NDArray[Any], weights: NDArray[np.float64] | None) -> float:
    """Return the mean; the sum of the weights may be beyond float64."""
    if weights is not None:
        weights = np.ldexp(weights, -math.frexp(weights.max())[1])
    return float(np.average(values, weights=weights))


# ---- Samples


def as_samples(X: Any) -> Points:
    """Return the samples of an estimator as points.

    As `as_points` with three differences that scikit-learn's conventions require: arrays of
    objects that are numbers are converted, and complex or misshapen data are refused in the words
    that its users know.
    """
    if type(X) is np.ndarray:  # The common case first, for microsecond fits.
        is_real = X.dtype is _FLOAT64 or X.dtype is _FLOAT32
        if is_real and X.ndim == 2 and X.size and X.flags.aligned:
            return X
    if not is_sparse(X) and not hasattr(X, "dtypes") and not isinstance(X, str | bytes):
        X = _as_numbers(X)
    shape = getattr(X, "shape", ())
    if not isinstance(shape, tuple):  # of an object that has attributes of all names
        shape = ()
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: X has dtype {X.dtype}")
    if len(shape) == 1:
        if _holds_strings(X):
            raise TypeError(no_strings("X"))
        raise ValueError(
            f"Expected 2D array, got 1D array X of shape {shape} instead. Reshape your data either "
            "using X.reshape(-1, 1) if it has a single feature or X.reshape(1, -1) if it is a "
            "single sample."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise ValueError(
            f"Found X with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    return as_points(X, "X")


def _holds_strings(X: Any) -> bool:
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    if kind == "O" and isinstance(X, np.ndarray):
        return any(isinstance(value, str | bytes) for value in X)
    return kind in ("S", "U", "T")


def _as_numbers(X: Any) -> Any:
    """Return arrays of objects as float64 unless they hold strings, other things unchanged."""
    if isinstance(X, np.ma.MaskedArray):
        return X
    try:
        array = np.asarray(X)
    except ValueError:
        return X
    if array.dtype != object or array.ndim == 0:
        return array
    if any(isinstance(value, str | bytes) for value in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"X has dtype object: {error}") from error
