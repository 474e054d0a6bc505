"""How many threads a call uses.

``n_jobs`` of the call, else `set_num_threads`, else the environment variables KCORE_NUM_THREADS and
OMP_NUM_THREADS, else the CPUs that this process may use. Results never depend on it.
"""

from __future__ import annotations

from typing import Any

from kcore import _core
from kcore._validate import as_integer

_MOST = 2**31 - 1


def n_threads(n_jobs: Any, name: str = "n_jobs") -> int:
    """Return the number of threads that `n_jobs` stands for; 0 is the context's own.

    None is the default, -1 all usable CPUs, -2 all but one, and so on down to one thread.
    """
    if n_jobs is None:
        return 0
    count = as_integer(n_jobs, name, low=-_MOST, high=_MOST)
    if count == 0:
        raise ValueError(f"{name} must not be 0: use None for the default, -1 for all usable CPUs")
    return count if count > 0 else max(1, _core.usable_cpus() + 1 + count)


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
