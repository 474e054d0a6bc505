"""Cases made simpler for as long as they fail in the same way.

A case is a dictionary of choices, and a family knows the simplest value of each: nothing else is
needed to shrink the cases of any family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from families import Case


def simpler(case: Case, simplest: Case) -> Iterator[Case]:
    """Give cases that differ from this one in one choice, the simplest first."""
    for name, value in case.items():
        aim = simplest[name]
        for choice in _between(value, aim):
            yield {**case, name: choice}


def _between(value: object, aim: object) -> Iterator[object]:
    """Give values on the way from `value` to `aim`, beginning with `aim`."""
    if value == aim:
        return
    yield aim
    if isinstance(value, bool) or type(value) is not type(aim):
        return
    if isinstance(value, int) and isinstance(aim, int):
        for part in (2, 4, 8):
            step = (value - aim) // part
            if step != 0 and value - step not in (value, aim):
                yield aim + step
        yield value - (1 if value > aim else -1)
    elif isinstance(value, float) and math.isfinite(value):
        rounded = float(f"{value:.0e}")
        if rounded != value:
            yield rounded
    elif isinstance(value, list):
        for k in range(len(value)):
            yield value[:k] + value[k + 1 :]


def shrink(case: Case, simplest: Case, fails: Callable[[Case], bool], most: int = 300) -> Case:
    """Return the simplest case found that fails; `fails` is asked at most so many times."""
    n_asked = 0
    is_shrinking = True
    while is_shrinking:
        is_shrinking = False
        for candidate in simpler(case, simplest):
            if n_asked == most:
                return case
            n_asked += 1
            if fails(candidate):
                case, is_shrinking = candidate, True
                break
    return case
