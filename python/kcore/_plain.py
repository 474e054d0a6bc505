"""Kernels as pickles hold them: tuples of names, numbers and text, as models are arrays of them."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

from kcore._columns import Slice
from kcore._kernel import Kernel


def kernel_to_plain(kernel: Kernel | None) -> Any:
    """Return a kernel as tuples; None where a function in it cannot be found again by its name."""
    try:
        return None if kernel is None else _to_plain(kernel)
    except (AttributeError, TypeError, pickle.PicklingError):
        return None


def _to_plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        make, arguments = value.__reduce__()
        return ("kernel", make.__module__, make.__qualname__, _to_plain(arguments))
    if isinstance(value, Slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple):
        return ("values", *map(_to_plain, value))
    if callable(value):
        pickle.dumps(value)
    return value


def kernel_from_plain(plain: Any) -> Kernel | None:
    """Return the kernel again."""
    return None if plain is None else _from_plain(plain)


def _from_plain(plain: Any) -> Any:
    if not isinstance(plain, tuple):
        return plain
    if plain[0] == "values":
        return tuple(map(_from_plain, plain[1:]))
    if plain[0] == "slice":
        return slice(*plain[1:])
    _, module, name, arguments = plain
    if module.partition(".")[0] != "kcore":
        raise ValueError(f"a kernel of kcore is expected, got {module}.{name}")
    return getattr(importlib.import_module(module), name)(*_from_plain(arguments))
