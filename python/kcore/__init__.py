"""kcore: kernel machines with a compiled core.

The learners follow scikit-learn's conventions: `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`,
`Perceptron` and `KernelPerceptron`. `kcore.kernels` has the kernels and their algebra, `kcore.rkhs`
functions of a kernel's space, `kcore.maps` what makes columns of a kernel (`KernelPCA`,
`EmpiricalKernelMap`, `Nystroem`), `kcore.features` products of features. `check_psd` and
`check_cauchy_schwarz` tell of a matrix or of a kernel on samples whether it can be one.
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
    from kcore.definiteness import check_cauchy_schwarz, check_psd
    from kcore.maps import EmpiricalKernelMap, KernelPCA, Nystroem
    from kcore.perceptron import KernelPerceptron, Perceptron
    from kcore.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

__version__ = _version()

__all__ = [
    "SVC",
    "SVR",
    "EmpiricalKernelMap",
    "KernelPCA",
    "KernelPerceptron",
    "NuSVC",
    "NuSVR",
    "Nystroem",
    "OneClassSVM",
    "Perceptron",
    "Progress",
    "__version__",
    "check_cauchy_schwarz",
    "check_psd",
    "exceptions",
    "get_num_threads",
    "isa_name",
    "kernels",
    "set_num_threads",
    "trim_memory",
]

# Of names in __all__; one is loaded after those before it: the last two need SciPy.
_LAZY_MODULES = ("svm", "perceptron", "maps", "definiteness")
_MODULES = {*_LAZY_MODULES, "features", "kernel_perceptron", "rkhs"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"kcore.{name}")
    if name in __all__:
        for module in map(__getattr__, _LAZY_MODULES):
            if name in module.__all__:
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
