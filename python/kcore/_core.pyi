"""The door to the C core; see _core.pyx."""

from collections.abc import Sequence
from typing import Final, NoReturn, Self, final

from numpy.typing import NDArray

from kcore._validate import Float, Points

LINEAR: Final = 1
RBF: Final = 2
POLYNOMIAL: Final = 3
SIGMOID: Final = 4
LAPLACIAN: Final = 5
ADD: Final = 64
MUL: Final = 65
SCALE: Final = 66
POW: Final = 67
EXP: Final = 68

__test__: dict[str, str]

@final
class Context: ...

@final
class CompiledKernel:
    def __new__(cls, nodes: Sequence[tuple[int, int, float, float]]) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    @property
    def is_positive(self) -> bool: ...

def version() -> str: ...
def isa_name() -> str: ...
def usable_cpus() -> int: ...
def threads() -> int: ...
def set_threads(n_threads: int) -> None: ...
def memory() -> tuple[int, int]: ...
def gram(
    kernel: CompiledKernel,
    x: Points,
    z: Points | None,
    out: NDArray[Float] | None,
    n_threads: int,
) -> NDArray[Float]: ...
def diag(
    kernel: CompiledKernel, x: Points, out: NDArray[Float] | None, n_threads: int
) -> NDArray[Float]: ...
