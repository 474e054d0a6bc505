"""Arrays that grow while others still read what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class _Buffer:
    """Room for the numbers of histories that share their beginning."""

    def __init__(self, numbers: NDArray[Any], n_used: int) -> None:
        self.numbers = numbers
        self.n_used = n_used


class History:
    """Numbers, or rows of them, that never change and can be followed by more.

    A longer history is written behind the shorter one, in the same memory, unless another one was
    before it: a history that grows one by one takes constant time for each.

    Parameters
    ----------
    numbers : ndarray
        The first ones.
    """

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._buffer = _Buffer(numbers, len(numbers))
        self._n = len(numbers)

    def __len__(self) -> int:
        return self._n

    def __reduce__(self) -> tuple[type[History], tuple[NDArray[Any]]]:
        return History, (self.numbers.copy(),)

    @property
    def numbers(self) -> NDArray[Any]:
        """All of them, to be read only."""
        return self._buffer.numbers[: self._n]

    def then(self, *parts: NDArray[Any]) -> History:
        """Return this history followed by `parts`."""
        n = self._n + sum(map(len, parts))
        longer = History(self.numbers)
        longer._buffer = self._buffer
        if self._buffer.n_used > self._n or n > len(self._buffer.numbers):
            room = np.empty((2 * n, *self.numbers.shape[1:]), self.numbers.dtype)
            longer._buffer = _Buffer(room, self._n)
            longer._buffer.numbers[: self._n] = self.numbers
        begin = self._n
        for part in parts:
            longer._buffer.numbers[begin : begin + len(part)] = part
            begin += len(part)
        longer._buffer.n_used = longer._n = n
        return longer
