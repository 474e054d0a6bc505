"""A function of the user's as an operand of kernels: Python's, or one that was compiled."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kcore._kernel import ATOM, Definiteness, Kernel, Node
from kcore._validate import as_reals, brief

_DEFINITENESS = ("indefinite", "conditional", "positive")
_FORMS = ("pair", "block")


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """A function of the user's as a kernel, to be combined with others.

    A kernel that is given to a learner as a plain Python function is called with rows as they are
    needed; this one is a kernel like any other: it is added, multiplied and normalized, reads
    columns with `on`, is trained with by every learner, and a model keeps it alive.

    Parameters
    ----------
    function : callable, LowLevelCallable, ctypes function, capsule or int
        A Python function k(A, B) is called with some samples each, up to 16, and returns the
        matrix of their values: finite, of shape (len(A), len(B)). Samples are rows of numbers in
        float64 arrays, also where X is sparse; strings come in arrays of bytes, str as UTF-8. An
        exception ends the call and is raised.

        A compiled function has the form of `kc_pair_fn` or `kc_block_fn` in ``kcore/kernels.h``,
        and is called by several threads at once, without Python: as a `scipy.LowLevelCallable`
        (whose user_data it gets), a function of ctypes, a capsule, Numba's ``cfunc``, or an
        address. It must live as long as the process.
    definiteness : {'indefinite', 'conditional', 'positive'}, default='indefinite'
        What is known of it; it is believed.
    form : {'pair', 'block'}, optional
        Of a compiled function: K(x, z) of two samples, or the values of many. By default what its
        signature says, where it returns nothing ``'block'``, else ``'pair'``.

    Notes
    -----
    A value must depend on its two samples alone, and K(x, z) = K(z, x); equal bits are promised as
    far as the function keeps to that. Compiled functions are not pickled.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore.kernels import RBF, Function
    >>> def overlap(A, B):
    ...     return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)
    >>> kernel = Function(overlap, definiteness="positive") * RBF(0.5)
    >>> kernel([[1.0, 2.0], [2.0, 1.0]]).round(4)
    array([[3.    , 0.7358],
           [0.7358, 3.    ]])
    """

    function: Any
    definiteness: Definiteness = "indefinite"
    form: str | None = None

    def __post_init__(self) -> None:
        known = self.definiteness
        if not (isinstance(known, str) and known in _DEFINITENESS):
            words = ", ".join(map(repr, _DEFINITENESS))
            raise ValueError(f"definiteness must be one of {words}, got {brief(self.definiteness)}")
        if self.form is not None and not (isinstance(self.form, str) and self.form in _FORMS):
            raise ValueError(f"form must be 'pair', 'block' or None, got {brief(self.form)}")
        if isinstance(self.function, Kernel):
            raise TypeError(f"function must not be a kernel, got {brief(self.function)}")
        target = _resolve(self.function)
        if target is None and not callable(self.function):
            raise TypeError(f"function must be a function, got {brief(self.function)}")
        if target is None and self.form is not None:
            raise ValueError(f"form is that of a compiled function, got {brief(self.form)}")

    def __repr__(self) -> str:
        shown = [self._name()]
        if self.definiteness != "indefinite":
            shown.append(f"definiteness={self.definiteness!r}")
        if self.form is not None:
            shown.append(f"form={self.form!r}")
        return f"Function({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        if _resolve(self.function) is not None:
            raise TypeError(f"{self!r} is not pickled: its function is compiled")
        return super().__reduce__()

    def _name(self) -> str:
        name = getattr(self.function, "__name__", None)
        return name if isinstance(name, str) else brief(self.function)

    def _formula(self) -> tuple[str, int]:
        return f"{self._name()}(x, z)", ATOM

    def _reason(self) -> str:
        return "a function of the user's, who says so"

    def _reads_strings(self) -> bool:
        return True

    def _nodes(self) -> list[Node]:
        return [("function", (self,))]

    def _for_core(self) -> tuple[Any, str, str, int, int]:
        """Return what lives as long as the kernel, and what is called: how, where, with what."""
        target = _resolve(self.function)
        if target is None:
            return self.function, self.definiteness, "python", 0, 0
        address, user_data, form = target
        return self.function, self.definiteness, self.form or form, address, user_data


def call(function: Any, x: Any, z: Any) -> NDArray[np.float64]:
    """Return the values of a Python function, checked."""
    values = as_reals(function(x, z), "what the function given as kernel returned")
    if values.shape != (len(x), len(z)):
        raise ValueError(
            f"the function given as kernel returned shape {values.shape} for {len(x)} and "
            f"{len(z)} samples; it must return {(len(x), len(z))}"
        )
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(
            f"the function given as kernel returned {values[i, j]} for row {i} of its first "
            f"argument and row {j} of its second: {brief(x[i])} and {brief(z[j])}"
        )
    return values


# ---- Compiled functions


def _resolve(function: Any) -> tuple[int, int, str] | None:
    """Return address, user_data and form of a compiled function; None of any other thing."""
    if isinstance(function, int) and not isinstance(function, bool):
        return _checked(function), 0, "pair"
    if type(function).__name__ == "LowLevelCallable" and isinstance(function, tuple):
        signature = str(getattr(function, "signature", "") or "")
        target = _resolve(function.function)  # type: ignore[attr-defined]
        if target is None:
            raise TypeError(f"function must hold a compiled function, got {brief(function)}")
        data = _pointer(function.user_data)  # type: ignore[attr-defined]
        return target[0], data, _form_of(signature, target[2])
    if type(function).__name__ == "PyCapsule":
        address, name = _capsule(function)
        return address, 0, _form_of(name, "pair")
    ctypes = sys.modules.get("ctypes")  # not loaded: then it cannot be of its types
    if ctypes is not None and isinstance(function, ctypes._CFuncPtr):
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        return _checked(address), 0, "block" if function.restype is None else "pair"
    compiled = getattr(function, "address", None)  # of Numba's cfunc
    if isinstance(compiled, int) and hasattr(function, "native_name"):
        return _checked(compiled), 0, "pair"
    return None


def _checked(address: int) -> int:
    if not 0 < address < 2 ** (8 * np.dtype(np.intp).itemsize - 1):
        raise ValueError(f"function must be the address of a function, got {brief(address)}")
    return address


def _form_of(signature: str, default: str) -> str:
    """Return the form that a signature in C has, where there is one."""
    words = signature.replace("(", " ").split()
    return ("block" if words[0] == "void" else "pair") if words else default


def _pointer(data: Any) -> int:
    """Return user_data of a `LowLevelCallable` as an address."""
    if data is None:
        return 0
    if isinstance(data, int):
        return data
    if type(data).__name__ == "PyCapsule":
        return _capsule(data)[0]
    import ctypes

    return ctypes.cast(data, ctypes.c_void_p).value or 0


def _capsule(capsule: Any) -> tuple[int, str]:
    """Return the pointer in a capsule, and its name, which is the signature."""
    import ctypes

    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = name_of(capsule)
    return pointer_of(capsule, name) or 0, (name or b"").decode(errors="replace")
