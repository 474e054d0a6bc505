"""How many threads a call uses.

``n_jobs`` of the call, else `set_num_threads`, else the environment variables KCORE_NUM_THREADS and
OMP_NUM_THREADS, else the CPUs that this process may use. Results never depend on it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kcore import _core
from kcore._validate import brief

_MAX_THREADS = 2**31 - 1  # what the core's type holds; the core itself stops at some hundreds


def n_threads(n_jobs: Any, name: str = "n_jobs") -> int:
    """Return the number of threads that `n_jobs` stands for; 0 is the context's own.

    None is the default, -1 all usable CPUs, -2 all but one, and so on down to one thread.
    """
    if n_jobs is None:
        return 0
    if type(n_jobs) is int and n_jobs > 0:  # nothing to look up
        return min(n_jobs, _MAX_THREADS)
    words = f"{name} must be a positive integer, a negative one (-1: all usable CPUs), or None"
    try:
        if isinstance(n_jobs, bool | np.bool_):
            raise TypeError
        count = operator.index(n_jobs)
    except TypeError:
        raise TypeError(f"{words}, got {brief(n_jobs)}") from None
    if count == 0:
        raise ValueError(f"{words}, got 0")
    return min(count, _MAX_THREADS) if count > 0 else max(1, _core.usable_cpus() + 1 + count)


def set_num_threads(n: int | None) -> None:
    """Set the number of threads of every call that does not give ``n_jobs``.

    Parameters
    ----------
    n : int or None
        A positive number; -1 for all CPUs that this process may use, -2 for all but one; None to
        go back to the default (``KCORE_NUM_THREADS``, else ``OMP_NUM_THREADS``, else all usable
        CPUs).

    Examples
    --------
    >>> import kcore
    >>> kcore.set_num_threads(2)
    >>> kcore.get_num_threads()
    2
    >>> kcore.set_num_threads(None)
    """
    _core.set_threads(n_threads(n, "n"))


def get_num_threads() -> int:
    """Return the number of threads of a call that does not give ``n_jobs``."""
    return _core.threads()
