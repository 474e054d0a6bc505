"""The families of attacks, and what a family is.

A family is a module with

SIMPLEST : dict
    The simplest value of every choice of a case.
draw(rng) : dict
    A case: numbers, strings, booleans and lists of them only, so that it can be written down.
check(case) : str
    Does what the case says. Returns in a word or two what became of it, which is counted; raises
    where a promise of the library was broken.

and, where they are needed, SECONDS, after which a case hangs, and ``lines(case)``, the body of the
program that shows the case, where ``check`` itself is not the clearest way to show it.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

Case: TypeAlias = dict[str, Any]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# What a family is about, and its part of the time.
FAMILIES: dict[str, tuple[str, float]] = {
    "fits": ("machines against the definition of their problem, and against libsvm", 3.0),
    "perceptrons": ("perceptrons against their rules in a few lines of NumPy", 1.0),
    "values": ("kernels and feature maps against their formulas", 1.0),
    "calls": ("hostile values for every argument of every public callable", 2.0),
    "csr": ("CSR arrays that are no matrix, sent everywhere; and changed during calls", 1.0),
    "images": ("pickles of models whose numbers were tampered with", 1.5),
    "stops": ("signals, callbacks that raise, and limits, at random moments", 1.5),
    "memory": ("allocations refused one after the other, in every regime of a fit", 1.5),
    "together": ("threads that share models, and forks in the middle of their work", 1.0),
    "bits": ("the same bits by any threads, cache, batches, storage, instruction set", 1.5),
}

SECONDS = 30.0  # of a family that does not say


def family(name: str) -> ModuleType:
    """Return the module of a family; the helpers of the ordinary tests are importable there."""
    for folder in (HERE.parent / "python", HERE):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return importlib.import_module(name)


def draw(name: str, seed: int, number: int) -> Case:
    """Return the case of this number; nothing but its three arguments decides it."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    case: Case = family(name).draw(rng)
    return case


def seconds_of(name: str) -> float:
    """Return after how many seconds a case of this family hangs."""
    return float(getattr(family(name), "SECONDS", SECONDS))


def program(name: str, case: Case) -> str:
    """Return the program that shows a case, to be run in the root of the repository."""
    module = family(name)
    if hasattr(module, "lines"):
        return "\n".join(module.lines(case))
    return "\n".join([
        "import sys",
        'sys.path[:0] = ["tests/attack", "tests/python"]',
        f"import {name}",
        "from math import inf, nan",
        f"{name}.check({case!r})",
    ])  # fmt: skip


def pick(rng: np.random.Generator, *values: Any) -> Any:
    """Return one of the values, as it is: NumPy would make strings or floats of them all."""
    return values[int(rng.integers(len(values)))]


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Return a number whose logarithm is uniform, with digits that can be read."""
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")
