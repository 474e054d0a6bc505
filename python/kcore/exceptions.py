"""Errors and warnings of kcore.

============================  ====================================================================
`NotSeparableError`           a hard margin was asked for and no boundary separates the classes
`NotFittedError`              a method that needs `fit` was called before it
`IndefiniteKernelWarning`     a learner was given a kernel that may not be positive
`ConvergenceWarning`          a fit ended before its tolerance was reached
`DataConversionWarning`       an argument was given another shape
============================  ====================================================================

Where scikit-learn is installed, the last three are subclasses of its classes of the same name, so
that code written for it catches them. That is settled when one of them is first used: importing
this module does not import scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "ConvergenceWarning",
    "DataConversionWarning",
    "IndefiniteKernelWarning",
    "NotFittedError",
    "NotSeparableError",
]


class NotSeparableError(ValueError):
    """No boundary separates the classes, so that there is no hard margin (``C=inf``)."""


class IndefiniteKernelWarning(UserWarning):
    """A learner was given a kernel that may not be positive semi-definite.

    The fit ends, but the problem may have several optima, and what is found need not be the best.
    """


if TYPE_CHECKING:

    class NotFittedError(ValueError, AttributeError):
        """A method that needs `fit` was called before it."""

    class ConvergenceWarning(UserWarning):
        """A fit ended before its tolerance was reached; its model is usable but not optimal."""

    class DataConversionWarning(UserWarning):
        """An argument was given another shape."""


# Bases without scikit-learn, and the docstring.
_LAZY: dict[str, tuple[tuple[type, ...], str]] = {
    "NotFittedError": (
        (ValueError, AttributeError),
        "A method that needs `fit` was called before it.",
    ),
    "ConvergenceWarning": (
        (UserWarning,),
        "A fit ended before its tolerance was reached; its model is usable but not optimal.",
    ),
    "DataConversionWarning": ((UserWarning,), "An argument was given another shape."),
}


def has_sklearn() -> bool:
    """Say whether scikit-learn can be imported, without importing it."""
    from importlib.util import find_spec

    return find_spec("sklearn") is not None


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    bases, doc = _LAZY[name]
    if has_sklearn():
        from sklearn import exceptions

        bases = (getattr(exceptions, name),)
    # Two threads may both come here: the first to store its class decides.
    made = type(name, bases, {"__doc__": doc, "__module__": __name__})
    return globals().setdefault(name, made)


def __dir__() -> list[str]:
    return __all__
