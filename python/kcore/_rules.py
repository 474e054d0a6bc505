"""What perceptrons share whatever their space: parameters of the rules, seeds, weights, labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._base import Classifier, Estimator
from kcore._progress import print_line
from kcore._random import draw_seeds
from kcore._targets import as_labels, as_weights, class_weights
from kcore._validate import as_float, brief, refuse_masked

RULES = {"single": _core.RULE_SINGLE, "batch": _core.RULE_BATCH}
SCHEDULES: dict[str, Callable[[int], float]] = {
    "inverse": lambda k: 1.0 / (k + 1),
    "sqrt": lambda k: 1.0 / math.sqrt(k + 1),
}


_P = TypeVar("_P")


class Samples(NamedTuple, Generic[_P]):
    """What a perceptron learns from.

    Attributes
    ----------
    points : Points or callable
        Samples; or a function of two arrays of indices that returns their kernel values.
    codes : ndarray of int32
        The class of each sample.
    n_classes : int
        Number of classes.
    weights : ndarray of float64 or None
        Factors of eta.
    """

    points: _P
    codes: NDArray[np.int32]
    n_classes: int
    weights: NDArray[np.float64] | None


class RuleEstimator(Classifier, Estimator):
    """Base of learners by a perceptron rule."""

    rule: str
    eta: float | str | Callable[[int], float]
    average: bool | str
    multi_class: str
    class_weight: dict[Any, float] | str | None
    max_iter: int
    random_state: Any

    def _average(self) -> bool | str:
        choices: dict[Any, bool | str] = {False: False, True: True, "voted": "voted"}
        average = self._choice("average", choices)
        if average and self._choice("rule", RULES) == _core.RULE_BATCH:
            raise ValueError(f"average={average!r} needs rule='single', got rule='batch'")
        return average

    def _problems(self, n_classes: int) -> tuple[bool, int]:
        """Return whether one problem has all classes of many, and the number of problems."""
        choice = self._choice("multi_class", {"ovr": False, "direct": True})
        is_direct = choice and n_classes > 2
        return is_direct, 1 if is_direct or n_classes == 2 else n_classes

    def _max_passes(self) -> int:
        most = self._integer("max_iter")
        if most < 1:
            raise ValueError(f"max_iter must be at least 1, got {most}")
        return most

    def _schedule(self) -> Schedule:
        """Return the steps of the passes of one call."""
        if isinstance(self.eta, str):
            return Schedule(self._choice("eta", SCHEDULES))
        return Schedule(self.eta if callable(self.eta) else self._real("eta"))

    def _seeds(self, n_problems: int) -> NDArray[np.uint64]:
        """Return the start of the generator of each problem; never all zeros."""
        draws = draw_seeds(self.random_state, n_problems)
        seeds = [
            np.random.SeedSequence(entropy, spawn_key=(k,)).generate_state(4, np.uint64)
            for k, entropy in enumerate(draws)
        ]
        return np.array(seeds) | np.uint64(1)

    def _refuse_balanced(self) -> None:
        """Refuse weights that only all samples together could tell."""
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} cannot be used with partial_fit, which does "
                "not see all samples; pass the weights as a dict"
            )

    def _weights(
        self,
        classes: NDArray[Any],
        codes: NDArray[np.int32],
        sample_weight: ArrayLike | None,
        may_be_zero: bool = False,
    ) -> NDArray[np.float64] | None:
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, len(codes), may_be_zero)
        if self.class_weight is not None:
            weights = class_weights(self.class_weight, classes, codes, weights)
        return weights

    def _print_outcome(
        self, is_converged: bool, n_updates: int, mistakes: NDArray[np.int64]
    ) -> None:
        """Print a line on the last fit, where that is wanted."""
        if self._is_verbose():
            how = "converged" if is_converged else "ended"
            last = mistakes[-1] if len(mistakes) else 0
            text = f"{how} after {self.n_iter_} passes, the last with {last} mistakes, "
            print_line(type(self).__name__, text + f"and {n_updates} corrections in all")

    # ---- Results

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        classes: NDArray[Any] = self._state("classes_").classes
        return classes

    @property
    def n_iter_(self) -> int:
        """Passes of the last fit and of `partial_fit` after it, the most of any problem."""
        n_passes: int = self._state("n_iter_").n_passes
        return n_passes

    @property
    def bound_(self) -> float | None:
        """The most corrections that the convergence theorem allows."""
        bound: float | None = self._state("bound_").bound
        return bound

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return what `predict` reads the labels from: f of samples, or f for each class."""
        raise NotImplementedError

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


# Products of smaller numbers lose digits, or vanish: a bound made of them would not be one.
SMALLEST = 2.0**-900


def theorem_bound(longest: float, norm: float, least: float, n_terms: int) -> float | None:
    """Return max |y|^2 |a|^2 / min(a.y)^2, times the terms of a correction.

    Infinity where that is beyond float64; None where the numbers are too small for their digits, or
    too large for float64.
    """
    if not (longest > SMALLEST and norm > SMALLEST and SMALLEST < least < math.inf):
        return None
    ratio = norm / least  # squared by products: a power that overflows is an error
    bound = longest * ratio * ratio * n_terms
    return None if math.isnan(bound) else bound


def round_up(bound: float, off: float, reach: float) -> float:
    """Return the bound of the theorem, raised by what the arithmetic of a learner may be off.

    The theorem is about exact arithmetic. A computed a.y that is off by `off` of its size acts as a
    margin, and makes the least a.y as uncertain: the bound grows by off (1 + reach) of itself.
    """
    return bound * (1 + off * (1 + reach))


class Schedule:
    """eta(k) of the passes k = 0, 1, 2, ... of one call.

    Steps are computed ahead, since one call of the core makes many passes. One that cannot be made
    matters only once its pass is to be made: learning may well end before.

    Parameters
    ----------
    eta : float or callable
        The step of all passes, or what is called for that of pass k.
    """

    def __init__(self, eta: float | Callable[[int], float]) -> None:
        self._eta = eta
        self._error: Exception | None = None  # of the pass after those whose steps are known

    def steps(self, first: int, n_passes: int) -> NDArray[np.float64]:
        """Return the steps of the passes from `first` on, as many as can be made: one or more."""
        if not callable(self._eta):
            return np.full(n_passes, _checked(self._eta, first))
        if self._error is not None:
            raise self._error
        steps: list[float] = []
        for k in range(first, first + n_passes):
            try:
                steps.append(_checked(self._eta(k), k))
            except Exception as error:
                if not steps:
                    raise
                self._error = error
                break
        return np.array(steps)


def _checked(step: Any, k: int) -> float:
    """Return the step of pass k as a float, if it is one that can be made."""
    if isinstance(step, bool | np.bool_) or not isinstance(step, Real):
        raise TypeError(f"eta({k}) must be a number, got {brief(step)}")
    number = as_float(step)
    if not 0 < number < math.inf:
        raise ValueError(f"eta({k}) is {number:g}, must be finite and > 0")
    return number


# ---- Labels


def labels_to_fit(y: Any, n_samples: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct labels, at least two, and the place of each label there."""
    classes, codes = as_labels(y, n_samples)
    if len(classes) < 2:
        label = classes.tolist()[0]
        raise ValueError(f"y has 1 class only ({label!r}); a classifier needs at least 2")
    return classes, codes


def first_labels(classes: ArrayLike | None) -> NDArray[Any]:
    """Return all labels there will be, sorted, as the first call names them."""
    if classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit")
    labels = _distinct(classes)
    if len(labels) < 2:
        raise ValueError(f"classes has {len(labels)} label(s); there must be at least 2")
    return labels


def _distinct(classes: ArrayLike) -> NDArray[Any]:
    """Return the labels that a caller lists, sorted."""
    refuse_masked(classes, "classes")
    try:
        labels = np.asarray(classes)
    except ValueError as error:
        raise ValueError(f"classes is not a list of labels: {error}") from error
    if labels.ndim != 1:
        raise ValueError(f"classes must be 1-D, got shape {labels.shape}")
    if labels.dtype.kind not in "biufOSTU":
        raise ValueError(f"classes has dtype {labels.dtype}; labels are numbers or strings")
    for k, label in enumerate(labels.tolist()):
        if label is None or label != label:
            raise ValueError(f"classes: entry {k} is {label}; labels are numbers or strings")
    try:
        distinct: NDArray[Any] = np.unique(labels)
    except TypeError as error:
        raise ValueError(f"classes has labels without an order: {error}") from error
    return distinct


def check_same_labels(classes: ArrayLike | None, labels: NDArray[Any]) -> None:
    """Refuse other labels than those of the first call."""
    if classes is not None and not np.array_equal(_distinct(classes), labels):
        raise ValueError(
            f"classes={classes!r} is not the same as on the last call to partial_fit, was: "
            f"{labels!r}"
        )


def codes_among(labels: NDArray[Any], y: Any, n_samples: int) -> NDArray[np.int32]:
    """Return the place of each label of `y` in `labels`, which are sorted."""
    found, codes = as_labels(y, n_samples)
    place = {label: k for k, label in enumerate(labels.tolist())}
    for label in found.tolist():
        if label not in place:
            raise ValueError(f"y has the label {label!r}, which is not in classes")
    places = np.array([place[label] for label in found.tolist()], dtype=np.int32)
    return places[codes]
