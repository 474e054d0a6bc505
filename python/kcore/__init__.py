"""kcore: kernel machines with a compiled core.

Learners, with scikit-learn's conventions: `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`,
`Perceptron`, `KernelPerceptron`. `kcore.kernels` has the kernels and their algebra,
`kcore.features` explicit feature maps. `set_num_threads` and `get_num_threads` say how
many threads calls use where they are not told; `isa_name` tells which instruction set is in use;
`trim_memory` gives back what the core keeps for the next call.

Learners are loaded when they are first asked for: ``import kcore`` alone imports no scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kcore import exceptions, kernels
from kcore._core import isa_name, trim_memory
from kcore._core import version as _version
from kcore._threads import get_num_threads, set_num_threads

if TYPE_CHECKING:
    from kcore.perceptron import KernelPerceptron, Perceptron
    from kcore.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

__version__ = _version()

# The module that each name is loaded from.
_LAZY = {
    **dict.fromkeys(("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"), "kcore.svm"),
    **dict.fromkeys(("KernelPerceptron", "Perceptron"), "kcore.perceptron"),
}
_MODULES = {"features", "kernel_perceptron", "perceptron", "svm"}

__all__ = [
    "SVC",
    "SVR",
    "KernelPerceptron",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
    "__version__",
    "exceptions",
    "get_num_threads",
    "isa_name",
    "kernels",
    "set_num_threads",
    "trim_memory",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kcore.{name}")
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
