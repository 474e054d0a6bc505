"""Warnings that point at the user's line, however many functions of kcore lie between."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn, on the line from which kcore was called.

    ``skip_file_prefixes`` of `warnings.warn` does the same, from Python 3.12 on.

    Parameters
    ----------
    text : str
        What the warning says.
    category : type, default=UserWarning
        Its class.
    """
    depth, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text, category, stacklevel=depth)


def _is_own(module: str) -> bool:
    return module == "kcore" or module.startswith("kcore.")
