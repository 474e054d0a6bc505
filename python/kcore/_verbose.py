"""Progress as lines of text, for ``verbose=True``; printed here, never by the core."""

from __future__ import annotations

from collections.abc import Callable

from kcore._report import Progress

_PAUSE = 1.0  # seconds from one line to the next


def say(name: str, text: str) -> None:
    """Print a line; a closed or broken output must not end a fit."""
    try:
        print(f"[{name}] {text}", flush=True)
    except (OSError, ValueError):
        return


class Narrator:
    """A callback that prints how far a call has come, and tells the caller's own callback.

    Parameters
    ----------
    name : str
        What lines begin with.
    callback : callable or None
        The caller's own.
    """

    def __init__(self, name: str, callback: Callable[[Progress], object] | None) -> None:
        self.name = name
        self.callback = callback
        self._next = _PAUSE

    def __call__(self, progress: Progress) -> object:
        """Return what the caller's callback does."""
        if progress.seconds >= self._next:
            self._next = progress.seconds + _PAUSE
            say(self.name, _describe(progress))
        return None if self.callback is None else self.callback(progress)


def _describe(progress: Progress) -> str:
    text = f"{progress.seconds:.1f} s: {progress.phase}, {progress.n_iter} steps"
    for name in ("objective", "violation"):
        value = getattr(progress, name)
        if value == value:  # NaN where it is not known
            text += f", {name} {value:.6g}"
    return text
