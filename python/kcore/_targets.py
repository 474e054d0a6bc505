"""What users hand over beside samples: targets, labels, and weights of samples and classes."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from kcore import _core, exceptions
from kcore._validate import brief, is_sparse, refuse_masked
from kcore._warn import warn

_FLOAT64 = np.dtype(np.float64)


_PIECE = 2**20  # entries: a millisecond or so


def _pieces(n: int) -> Iterator[slice]:
    """Cut long arrays: between the pieces Python looks at signals."""
    return (slice(begin, begin + _PIECE) for begin in range(0, n, _PIECE))


def _are_finite(array: NDArray[np.float64]) -> bool:
    if len(array) <= _PIECE:
        return bool(np.isfinite(array).all())
    return all(np.isfinite(array[part]).all() for part in _pieces(len(array)))


def as_targets(y: Any, n_samples: int) -> NDArray[np.float64]:
    """Return regression targets as contiguous float64; they are finite."""
    if type(y) is np.ndarray and y.dtype is _FLOAT64 and y.ndim == 1 and y.flags.c_contiguous:
        targets = y
    else:
        targets = _as_floats(as_column(y), "y")
    _check_length(targets, "y", n_samples)
    if not _are_finite(targets):
        _refuse_non_finite(targets, "y")
    return targets


def as_weights(
    sample_weight: Any, n_samples: int, may_be_zero: bool = False
) -> NDArray[np.float64]:
    """Return sample weights as contiguous float64: finite, none negative, not all zero."""
    if isinstance(sample_weight, Real):
        weights = np.full(n_samples, float(sample_weight))
    else:
        weights = _as_floats(sample_weight, "sample_weight")
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must be 1-D, got shape {weights.shape}")
    _check_length(weights, "sample_weight", n_samples)
    low = min([weights[part].min() for part in _pieces(n_samples)])
    if not _are_finite(weights):
        _refuse_non_finite(weights, "sample_weight")
    if low < 0:
        place = int(weights.argmin())
        raise ValueError(f"sample_weight must not be negative: entry {place} is {low:g}")
    if not (may_be_zero or weights.any()):
        raise ValueError("sample_weight is zero for all samples")
    return weights


def as_labels(y: Any, n_samples: int) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return (classes, codes): the distinct labels, sorted, and the place of each label there."""
    labels = y if type(y) is np.ndarray and y.ndim == 1 else as_column(y)
    _check_length(labels, "y", n_samples)
    kind = labels.dtype.kind
    if kind in "biufUS":
        classes, codes = _core.encode(labels)
    else:
        classes, codes = _encode_objects(labels) if kind in "OT" else _encode_sorted(labels)
    if kind == "f":
        _check_whole(classes)
    elif kind == "c":
        raise ValueError(f"Complex data not supported: y has dtype {labels.dtype}")
    return classes, codes


def _encode_sorted(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.int32)


def _encode_objects(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Encode by hashing: strings as objects are slow to sort."""
    distinct: set[Any] = set()
    try:
        for part in _pieces(len(labels)):
            distinct.update(labels[part].tolist())
        if any(map(_is_missing, distinct)):
            row = next(k for k, label in enumerate(labels.tolist()) if _is_missing(label))
            raise ValueError(f"Input y contains NaN: the label of row {row} is missing.")
        ordered = sorted(distinct)
    except TypeError as error:
        raise ValueError(f"Unknown label type: y has labels without an order ({error})") from error
    place = {label: k for k, label in enumerate(ordered)}
    codes = np.empty(len(labels), np.int32)
    for part in _pieces(len(labels)):
        codes[part] = [place[label] for label in labels[part].tolist()]
    classes = np.empty(len(ordered), dtype=labels.dtype)
    classes[:] = ordered
    return classes, codes


def _is_missing(label: Any) -> bool:
    """Say whether a label is None, NaN, or what pandas has for them."""
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _check_whole(classes: NDArray[Any]) -> None:
    """Refuse labels that are floats with a fraction: they are targets of a regression."""
    for label in classes:
        if label != label:
            raise ValueError("Input y contains NaN.")
        if label in (np.inf, -np.inf):
            raise ValueError("Input y contains infinity.")
        if label != np.trunc(label):
            raise ValueError(
                f"Unknown label type: continuous. y has the label {label.item()!r}; a classifier "
                "takes integers, strings or whole floats. For continuous targets take a regressor, "
                "such as SVR."
            )


def as_flat_labels(y: Any) -> NDArray[Any]:
    """Return labels that need only be compared, as an array of one axis."""
    labels = _as_array(y, "y").reshape(-1)
    if labels.dtype.kind == "V":
        raise TypeError(f"y has dtype {labels.dtype}; labels are numbers or strings")
    return labels


def as_column(y: Any) -> NDArray[Any]:
    """Return `y` as a 1-D array; one column of a table is taken with a warning."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    if is_sparse(y):
        raise TypeError("y is sparse; make it a dense 1-D array, as by y.toarray().ravel()")
    array = _as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of "
            "y to (n_samples, ), for example using ravel().",
            exceptions.DataConversionWarning,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    return array


def _as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Return numbers as a contiguous array of float64, whatever holds them."""
    array = _as_array(values, name)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {array.dtype}")
    if array.dtype.kind in "mM":
        raise TypeError(f"{name} has dtype {array.dtype}, must hold numbers")
    try:
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error


def _as_array(values: Any, name: str) -> NDArray[Any]:
    refuse_masked(values, name)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be made an array: {error}") from error


def _check_length(array: NDArray[Any], name: str, n_samples: int) -> None:
    if len(array) != n_samples:
        raise ValueError(f"X has {n_samples} rows, {name} has {len(array)} entries")


def _refuse_non_finite(array: NDArray[np.float64], name: str) -> NoReturn:
    place = int(np.argmin(np.isfinite(array)))
    what = "NaN" if np.isnan(array[place]) else "infinity"
    raise ValueError(f"Input {name} contains {what}. The first is entry {place}.")


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the weight of each sample: that of its class times its own."""
    own: NDArray[np.float64] = weights_by_class(class_weight, classes, codes, weights)[codes]
    return own if weights is None else own * weights


def weights_by_class(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the weight of each class.

    ``'balanced'`` counts samples by their weights, so that weights equal repetitions.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return _core.balanced_weights(codes, len(classes), weights)
    if isinstance(class_weight, dict):
        return _weights_by_label(class_weight, classes)
    raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {brief(class_weight)}")


def _weights_by_label(class_weight: dict[Any, Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Return the weights by name; names of classes that are not here, as in a fold, are allowed.

    Names of another kind than those of the classes, as '1' where they are numbers, are a mistake.
    """
    labels = classes.tolist()
    place = {label: k for k, label in enumerate(labels)}
    by_class = np.ones(len(classes))
    for label, weight in class_weight.items():
        if label not in place and not any(_is_text(label) == _is_text(other) for other in labels):
            raise ValueError(
                f"class_weight has the label {label!r}, of type {type(label).__name__}; the "
                f"labels of y are {labels}"
            )
        if not isinstance(weight, Real) or not 0 < float(weight) < np.inf:
            raise ValueError(
                f"class_weight must be positive and finite, got {brief(weight)} for label {label!r}"
            )
        if label in place:
            by_class[place[label]] = float(weight)
    return by_class


def _is_text(label: object) -> bool:
    return isinstance(label, str | bytes)
