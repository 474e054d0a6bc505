"""Every public callable of the package, found by introspection, and how to call it well.

A new class, method, function or parameter is found by itself; an argument of a new name without a
default needs a line in `GOOD`.
"""

from __future__ import annotations

import functools
import inspect
import operator
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import hostile
import kcore
from kcore import kernels

# What an argument is given where it has no default.
GOOD: dict[str, Callable[[], Any]] = {
    "X": hostile.good_samples,
    "Z": lambda: hostile.good_samples()[:5],
    "y": hostile.good_labels,
    "coef": lambda: [1.0, 0.0, 0.0],
    "n": lambda: 2,
    "kernel": lambda: kernels.RBF(),
    "k1": lambda: kernels.RBF(),
    "k2": lambda: kernels.Linear(),
    "factor": lambda: 2.0,
    "degree": lambda: 2,
    "columns": lambda: [0, 1],
    "phi": lambda: lambda X: np.ones((X.shape[0], 2)),
    "matrix": lambda: np.eye(hostile.good_samples().shape[1]),
    "f": lambda: lambda X: np.ones(X.shape[0]),
    "classes": lambda: [0, 1],
    "other": lambda: kernels.Laplacian(),
    "K_or_kernel": lambda: np.eye(hostile.N),
    "coefficients": lambda: [1.0, 0.5],
    "function": lambda: lambda A, B: np.ones((A.shape[0], B.shape[0])),
    "kernels": lambda: [kernels.RBF(), kernels.Linear()],
    "text": lambda: "RBF(gamma=0.5) + 2 * Linear()",
    "weights": lambda: np.ones((hostile.N, hostile.N)),
}

CHAINS = (kernels.Sum, kernels.Product)  # they take any number of operands, of any names
MAPPED = (kernels.Linear, kernels.Polynomial, kernels.RBF)  # they have an explicit map

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "kernel + other": operator.add,
    "other + kernel": lambda a, b: b + a,
    "kernel * other": operator.mul,
    "other * kernel": lambda a, b: b * a,
    "kernel ** other": operator.pow,
    "kernel == other": operator.eq,
}


@dataclass(frozen=True)
class Entry:
    """A public callable.

    `owner` is the class of a method, made and fitted anew for each call; `parameters` are those of
    its constructor, `arguments` those of the call itself.
    """

    name: str
    call: Callable[..., Any]
    owner: Any
    arguments: tuple[str, ...]
    parameters: tuple[str, ...] = ()

    @property
    def is_learner(self) -> bool:
        return self.owner is not None and hasattr(self.owner, "fit")

    @property
    def names(self) -> tuple[str, ...]:
        """All that can be given a hostile value."""
        return (*self.arguments, *self.parameters)


# ---- Finding


def public_modules() -> list[Any]:
    """Return the modules whose names do not begin with an underscore."""
    found = [name for _, name, _ in pkgutil.iter_modules(kcore.__path__) if name[0] != "_"]
    return [kcore, *(import_module(f"kcore.{name}") for name in sorted(found))]


def public_objects() -> dict[str, Any]:
    """Return what the modules show, each once."""
    found: dict[str, Any] = {}
    for module in public_modules():
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if callable(value) and not _is_record(value):
                found.setdefault(name, value)
    return found


def _is_record(value: Any) -> bool:
    """Whether it is an exception, or a plain record that only the package makes."""
    if not inspect.isclass(value):
        return False
    is_tuple = issubclass(value, tuple)
    is_result = value.__name__ in ("Alignment", "CauchySchwarzCheck", "FitReport", "PSDCheck")
    return issubclass(value, BaseException) or is_tuple or is_result


@functools.cache
def entries() -> dict[str, Entry]:
    """Return every public callable by name."""
    found: list[Entry] = []
    for name, value in public_objects().items():
        if not inspect.isclass(value):
            found.append(Entry(name, value, None, _names(value)))
            continue
        if value is not kernels.Kernel:
            found.append(Entry(name, value, None, _names(value)))
            found += _methods(name, value)
    for name, call in OPERATORS.items():
        found.append(Entry(name, call, None, ("kernel", "degree" if "**" in name else "other")))
    return {entry.name: entry for entry in found}


def _methods(name: str, owner: Any) -> list[Entry]:
    """The methods that the package itself defines, and the call of a kernel."""
    found = []
    for method in dir(owner):
        value = getattr(owner, method)
        is_own = str(getattr(value, "__module__", "")).startswith("kcore")
        is_public = not method.startswith("_") or method == "__call__"
        if method == "feature_map" and owner not in MAPPED:
            continue
        if method == "gradient" and owner is kernels.Periodic:  # has none
            continue
        if is_own and is_public and inspect.isfunction(value):
            parameters = _names(owner) if hasattr(owner, "fit") else ()
            arguments = _names(value)[1:]
            if method == "gradient":  # its weights must have the shape of what else it gets
                arguments = ("weights", "log", "n_jobs")
            found.append(Entry(f"{name}.{method}", value, owner, arguments, parameters))
    return found


def _names(function: Any) -> tuple[str, ...]:
    if function in CHAINS:
        return ("k1", "k2")
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # of compiled functions without arguments
        return ()
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(one.name for one in found if one.kind not in kinds)


# ---- Calling


def learner(owner: Any, is_fitted: bool = True) -> Any:
    """Return an estimator, fitted to good samples unless told otherwise."""
    made = owner()
    if hasattr(made, "time_limit"):
        made.time_limit = 2.0  # whatever it is given to learn
    if isinstance(made, kcore.Nystroem):
        made.n_components = 5  # of the few good samples
    if hasattr(made, "fit_inverse_transform"):
        made.fit_inverse_transform = True
    if not is_fitted:
        return made
    y = hostile.good_labels() if not hasattr(made, "epsilon") else np.linspace(0, 1, hostile.N)
    return made.fit(hostile.good_samples(), y)


def receiver(entry: Entry, is_fitted: bool = True) -> Any:
    """Return what the method is called on; None for functions and classes."""
    if entry.owner is None:
        return None
    if entry.is_learner:
        return learner(entry.owner, is_fitted)
    good = _good(entry.owner, _names(entry.owner))
    return entry.owner(*good.values()) if entry.owner in CHAINS else entry.owner(**good)


def _good(function: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return good values for the arguments that have no default."""
    found = {}
    for name in names:
        one = inspect.signature(function).parameters.get(name)
        if one is None or one.default is inspect.Parameter.empty:
            found[name] = GOOD[name]()
    return found


# They take no negative numbers.
HISTOGRAM_KERNELS = (
    kernels.Chi2,
    kernels.AdditiveChi2,
    kernels.HistogramIntersection,
    kernels.MinMax,
)


def run(entry: Entry, me: Any, values: dict[str, Any]) -> Any:
    """Call with these values, the rest being good ones; parameters are set before."""
    for name in entry.parameters:
        if name in values:
            setattr(me, name, values[name])
    given = _good(entry.call, entry.arguments)
    if entry.name.endswith(".gradient"):
        given["X"] = hostile.good_samples()
    if isinstance(me, kernels.Delta):
        given |= {name: hostile.good_strings() for name in ("X", "Z") if name in given}
    if isinstance(me, HISTOGRAM_KERNELS):
        given |= {name: abs(hostile.good_samples()) for name in ("X", "Z") if name in given}
    if entry.name.endswith(".inverse_transform"):
        given["X"] = np.ones((3, getattr(me.__dict__.get("_fitted"), "n_columns", 1)))
    if entry.name.endswith(".section"):
        given["X"] = given["X"][:1]
    if entry.name.endswith(".feature_map") and "n_components" not in values:
        given["degree"] = getattr(me, "degree", 1)
    given |= {name: values[name] for name in entry.arguments if name in values}
    if entry.name in OPERATORS:
        return entry.call(*(given[name] for name in entry.arguments))
    if entry.name.split(".")[-1] == "partial_fit" and not me.__sklearn_is_fitted__():
        given.setdefault("classes", [0, 1])
    first = ("K_or_kernel", "kernels", "X", "Z", "y", "k1", "k2")
    positional = [given.pop(name) for name in first if name in given]
    if me is None:
        return entry.call(*positional, **given)
    return entry.call(me, *positional, **given)
