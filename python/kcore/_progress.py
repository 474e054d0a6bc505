"""How far a call has come: what callbacks are given, and lines of text for ``verbose=True``.

The lines are printed here, never by the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

_PAUSE = 1.0  # seconds from one line to the next


class Progress(NamedTuple):
    """What a callback is given while a learner is fitted.

    Attributes
    ----------
    phase : str
        What is being done, such as ``'solve'``.
    seconds : float
        Since the call began.
    n_iter : int
        Steps of the solver so far; for perceptrons, passes.
    objective : float
        Of the dual problem that is being solved, NaN where it is not known. For perceptrons, the
        criterion of the last pass.
    violation : float
        The largest violation of the optimality conditions, NaN where it is not known; of `NuSVC`
        in units of its decision function.
    """

    phase: str
    seconds: float
    n_iter: int
    objective: float
    violation: float


ProgressCallback = Callable[[Progress], object]


def print_line(name: str, text: str) -> None:
    """Print a line; a closed or broken output must not end a fit."""
    try:
        print(f"[{name}] {text}", flush=True)
    except (OSError, ValueError):
        return


class ProgressPrinter:
    """A callback that prints how far a call has come, and calls the user's own callback.

    Parameters
    ----------
    name : str
        What lines begin with.
    callback : callable or None
        The user's own.
    """

    def __init__(self, name: str, callback: ProgressCallback | None) -> None:
        self.name = name
        self.callback = callback
        self._next = _PAUSE

    def __call__(self, progress: Progress) -> object:
        """Return what the user's callback returns."""
        if progress.seconds >= self._next:
            self._next = progress.seconds + _PAUSE
            print_line(self.name, _describe(progress))
        return None if self.callback is None else self.callback(progress)


def _describe(progress: Progress) -> str:
    text = f"{progress.seconds:.1f} s: {progress.phase}, {progress.n_iter} steps"
    for name in ("objective", "violation"):
        value = getattr(progress, name)
        if value == value:  # NaN where it is not known
            text += f", {name} {value:.6g}"
    return text
