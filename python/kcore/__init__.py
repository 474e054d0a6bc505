"""kcore: kernel machines with a compiled core.

`kcore.kernels` has the kernels and their algebra. `set_num_threads` and `get_num_threads` say how
many threads calls use where they are not told; `isa_name` tells which instruction set is in use.
"""

from kcore import kernels
from kcore._core import isa_name
from kcore._core import version as _version
from kcore._threads import get_num_threads, set_num_threads

__version__ = _version()

__all__ = ["__version__", "get_num_threads", "isa_name", "kernels", "set_num_threads"]
