"""kcore: kernel machines with a compiled core.

The learners follow scikit-learn's conventions: `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`,
`Perceptron` and `KernelPerceptron`. `kcore.kernels` has the kernels and their algebra,
`kcore.features` explicit feature maps, `kcore.rkhs` functions of a kernel's space.
`set_num_threads` and `get_num_threads` set and return the number of threads of calls that do not
give one; `isa_name` returns the instruction set in use; `trim_memory` gives back the memory that
the core keeps for the next call. `Progress` is what the callback of a learner is called with.

Learners are loaded when they are first used: ``import kcore`` alone imports no scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kcore import exceptions, kernels
from kcore._core import isa_name, trim_memory
from kcore._core import version as _version
from kcore._progress import Progress
from kcore._threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from kcore.perceptron import KernelPerceptron, Perceptron
    from kcore.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

__version__ = _version()

__all__ = [
    "SVC",
    "SVR",
    "KernelPerceptron",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "Progress",
    "__version__",
    "exceptions",
    "get_num_threads",
    "isa_name",
    "kernels",
    "set_num_threads",
    "trim_memory",
]

_LEARNER_MODULES = ("perceptron", "svm")  # where the learners of __all__ are
_MODULES = {*_LEARNER_MODULES, "features", "kernel_perceptron", "rkhs"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kcore.{name}")
    if name in __all__:
        for module in map(__getattr__, _LEARNER_MODULES):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
