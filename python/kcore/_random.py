"""What `random_state` stands for."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from kcore._validate import brief


def draw_seeds(source: Any, n: int) -> list[Any]:
    """Return `n` seeds for `numpy.random.SeedSequence`: of a generator, different ones.

    Parameters
    ----------
    source : int, Generator, RandomState or None
        As users give it.
    n : int
        How many.
    """
    if isinstance(source, np.random.Generator):
        return [int(source.integers(2**63)) for _ in range(n)]
    if isinstance(source, np.random.RandomState) or source is np.random:
        return [int(source.randint(2**31)) for _ in range(n)]
    if source is None or _is_count(source):
        return [source] * n
    raise ValueError(
        "random_state must be None, an integer >= 0, a Generator or a RandomState, got "
        f"{brief(source)}"
    )


def new_generator(source: Any) -> np.random.Generator:
    """Return a generator of its own, from what users give."""
    return np.random.default_rng(np.random.SeedSequence(draw_seeds(source, 1)[0]))


def _is_count(value: Any) -> bool:
    try:
        return operator.index(value) >= 0
    except TypeError:
        return False
