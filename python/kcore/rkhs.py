r"""Functions of the space of a kernel, the reproducing kernel Hilbert space.

.. math::

    f(\cdot) = \sum_i a_i K(x_i, \cdot), \qquad
    \langle f, g \rangle = \sum_{ij} a_i b_j K(x_i, z_j), \qquad
    \langle K(x, \cdot), f \rangle = f(x)

``kernel.section(x)`` is K(x, .), and ``function_`` of a fitted model is what it learnt, without the
intercept. Functions of one kernel are added, multiplied with numbers and with each other.

Examples
--------
>>> from kcore.kernels import RBF
>>> kernel = RBF(gamma=0.5)
>>> f = 2 * kernel.section([0.0, 0.0]) - kernel.section([1.0, 0.0])
>>> f
<Function of RBF(gamma=0.5): 2 terms, norm 1.604>
>>> f([[0.0, 0.0], [1.0, 0.0]]).round(4)
array([1.3935, 0.2131])
>>> round(f @ kernel.section([1.0, 0.0]), 4)
0.2131
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._binding import extend
from kcore._kernel import Kernel, Node
from kcore._plain import kernel_from_plain, kernel_to_plain
from kcore._points import (
    AnyPoints,
    Float,
    array_type,
    as_scipy,
    from_core,
    from_plain,
    refuse_other_texts,
    texts_of,
    to_plain,
)
from kcore._threads import n_threads
from kcore._validate import as_real, as_reals, brief, feature_names, is_sparse, refuse_non_finite

__all__ = ["Function"]

_MOST_TERMS_SHOWN = 2048  # a norm of so many takes some milliseconds


class Reading(NamedTuple):
    """How the samples were read that a function was made of.

    Attributes
    ----------
    names : ndarray of object or None
        Of the columns of a data frame.
    nodes : list of (name, parameters)
        The kernel as the core was told of it.
    n_columns : int
        Of the samples.
    widths : tuple of int or None
        How many columns functions in the kernel made of them; None where there are none.
    texts, kept_texts : tuple of bool, or None
        Of their parts of strings, and of those that the core keeps: whether they are text.
    sparse_type : str or None
        SciPy's class for the points.
    """

    names: NDArray[np.object_] | None
    nodes: list[Node]
    n_columns: int
    widths: tuple[int, ...] | None
    texts: tuple[bool, ...] | None
    kept_texts: tuple[bool, ...] | None
    sparse_type: str | None

    def is_like(self, other: Reading) -> bool:
        """Say whether the same is read of samples."""
        return (self.n_columns, self.widths) == (other.n_columns, other.widths)


class Function:
    r"""The function f(.) = sum_i a_i K(x_i, .) of the space of a kernel; immutable.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : array_like or sparse matrix of shape (n, d), sequence of strings, or data frame
        The points x_i: whatever the kernel takes.
    coefficients : array_like of shape (n,)
        The numbers a_i: finite.

    Notes
    -----
    ``f + g``, ``f - g``, ``2 * f``, ``-f`` and ``f / 2`` are functions; their terms are those of f
    and g, side by side, and `merged` puts equal points together. ``f @ g`` is the inner product.
    float32 points have float32 kernel values, and sums are float64. Functions of two types are
    combined as float64.

    Examples
    --------
    >>> from kcore.kernels import Linear
    >>> from kcore.rkhs import Function
    >>> f = Function(Linear(), [[1.0, 0.0], [0.0, 1.0]], [3.0, 4.0])
    >>> f.norm()
    5.0
    >>> f([[1.0, 1.0]])
    array([7.])
    """

    __slots__ = ("_function", "_kernel", "_reading", "_square")
    __array_ufunc__ = None  # np.float64(2) * f is left to __rmul__

    _function: _core.Function
    _kernel: Kernel
    _reading: Reading
    _square: float | None  # <f, f>, once it is known

    def __init__(self, kernel: Kernel, X: ArrayLike | Any, coefficients: ArrayLike) -> None:
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a kernel of kcore.kernels, got {brief(kernel)}")
        points = kernel._read(X, "X")
        if points.shape[1] >= 2**31:
            raise ValueError(f"X has {points.shape[1]} columns, may have {2**31 - 1} at the most")
        coef = as_reals(coefficients, "coefficients")
        if coef.shape != (points.shape[0],):
            raise ValueError(
                f"coefficients must have shape ({points.shape[0]},), a number for each row of X, "
                f"got {coef.shape}"
            )
        refuse_non_finite(coef, "coefficients", ("position",))
        bound = kernel._bound_to(X, points)
        nodes = kernel._nodes() if bound is None else bound.nodes
        kept = points if bound is None else bound.points
        self._fill(
            kernel,
            _made(nodes, kept, kept.dtype == np.float32, coef),
            Reading(
                feature_names(X),
                nodes,
                points.shape[1],
                None if bound is None else bound.widths,
                texts_of(points),
                texts_of(kept),
                array_type(X) if is_sparse(X) else None,
            ),
        )

    def _fill(self, kernel: Kernel, core: _core.Function, reading: Reading) -> None:
        self._kernel = kernel
        self._function = core
        self._reading = reading
        self._square = None

    @classmethod
    def _of(cls, kernel: Kernel, core: _core.Function, reading: Reading) -> Function:
        made = object.__new__(cls)
        made._fill(kernel, core, reading)
        return made

    # ---- What it is

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self._kernel

    @property
    def points(self) -> Any:
        """The points x_i, as an array, a sparse matrix where they were one, or cells.

        Where functions in the kernel made columns of them, what the kernel reads is kept.
        """
        return as_scipy(self._points(), self._reading.sparse_type)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The numbers a_i."""
        coef: NDArray[np.float64] = self._function.coef()[0]
        return coef

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self._function.describe()["n_points"]

    def __len__(self) -> int:
        return self.n_terms

    def __bool__(self) -> bool:
        return True  # whatever its length

    def __repr__(self) -> str:
        n = self.n_terms
        text = f"<Function of {self._kernel!r}: {n} term{'' if n == 1 else 's'}"
        if self._square is None and n > _MOST_TERMS_SHOWN:
            return f"{text}>"
        try:
            return f"{text}, norm {self.norm():.4g}>"
        except ValueError:
            return f"{text}, no norm>"

    # ---- Values

    def __call__(self, X: ArrayLike | Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the values f(x).

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, d), sequence of strings, or data frame
            Samples in rows, with the columns of the points.
        n_jobs : int, optional
            Number of threads, as for a Gram matrix.

        Returns
        -------
        ndarray of shape (n,)
        """
        points = self._kernel._read(X, "X")
        refuse_other_texts(points, self._reading.texts, "X", "in the points of the function")
        _refuse_other_names(feature_names(X), self._reading.names, "X")
        n_columns, widths = self._reading.n_columns, self._reading.widths
        if points.shape[1] != n_columns:
            raise ValueError(
                f"X has {points.shape[1]} columns, the points of the function have {n_columns}"
            )
        points = extend(self._kernel, widths, X, points, "X")
        values = self._function.evaluate(points, 0 if n_jobs is None else n_threads(n_jobs))
        return values[:, 0]

    # ---- A space

    def __add__(self, other: Function) -> Function:
        return self._combine(1.0, 1.0, other)

    def __radd__(self, other: object) -> Function:
        """Return 0 + f, so that ``sum(functions)`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __sub__(self, other: Function) -> Function:
        return self._combine(1.0, -1.0, other)

    def __neg__(self) -> Function:
        return self._times(-1.0)

    def __mul__(self, factor: float) -> Function:
        if isinstance(factor, Real) and not isinstance(factor, bool):
            return self._times(as_real(factor, "factor"))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Function:
        if not isinstance(divisor, Real) or isinstance(divisor, bool):
            return NotImplemented
        number = as_real(divisor, "divisor")
        if number == 0:
            raise ZeroDivisionError("a function divided by 0")
        return self._times(1.0 / number)

    def merged(self) -> Function:
        """Return the same function with equal points put together.

        The coefficients of each point are added, and points whose sum is 0 are left out; the others
        stay in the order in which they first appear. Values change by rounding alone. Points are
        equal where all their columns are, those included that the kernel does not read.

        Examples
        --------
        >>> from kcore.kernels import RBF
        >>> f, g = RBF().section([0.0]), RBF().section([1.0])
        >>> (f + g + f - g).merged()
        <Function of RBF(gamma=1.0): 1 term, norm 2>
        """
        return Function._of(self._kernel, self._function.merged(), self._reading)

    def _times(self, factor: float) -> Function:
        core = self._function.combine(factor, 0.0, None)
        return Function._of(self._kernel, core, self._reading)

    def _combine(self, a: float, b: float, other: Function) -> Function:
        if not isinstance(other, Function):
            return NotImplemented
        self._check_space(other)
        reading = Reading(*(x if x is not None else z for x, z in self._pairs(other)))
        return Function._of(self._kernel, self._function.combine(a, b, other._function), reading)

    def _pairs(self, other: Function) -> Iterable[tuple[Any, Any]]:
        return zip(self._reading, other._reading, strict=True)

    def _check_space(self, other: Function) -> None:
        """Refuse a function of another space, or of other columns."""
        if self._kernel != other._kernel:
            raise ValueError(
                "the functions belong to the spaces of different kernels: "
                f"{self._kernel!r} and {other._kernel!r}"
            )
        mine, others = self._reading.n_columns, other._reading.n_columns
        if not self._reading.is_like(other._reading):
            raise ValueError(
                f"the points of the functions have different columns: {mine} and {others} of them"
            )
        texts, their_texts = self._reading.texts, other._reading.texts
        if texts is not None and their_texts is not None and texts != their_texts:
            raise TypeError("one of the functions has points of str, the other of bytes")
        _refuse_other_names(other._reading.names, self._reading.names, "the second function")

    # ---- An inner product

    def __matmul__(self, other: Function) -> float:
        """Return <f, g> = sum_ij a_i b_j K(x_i, z_j); <g, f> has the same bits."""
        if not isinstance(other, Function):
            return NotImplemented
        self._check_space(other)
        return self._function.inner(other._function)

    def norm(self) -> float:
        """Return the norm sqrt(<f, f>).

        <f, f> may come out negative by rounding, and is then 0. What is more negative than rounding
        explains is refused: the kernel is not positive, and f has no norm.

        Raises
        ------
        ValueError
            Where <f, f> is negative.

        Examples
        --------
        >>> from kcore.kernels import RBF
        >>> f = RBF().section([0.0])
        >>> f.norm(), (f - f).norm()
        (1.0, 0.0)
        """
        if self._square is None:
            square = self._function.inner(self._function)
            if square < 0 and square < -self._rounding():
                raise ValueError(
                    f"<f, f> is {square:.6g}, and a function has a norm only where it is not "
                    f"negative; the kernel {self._kernel!r} is {self._kernel.definiteness}"
                )
            self._square = max(square, 0.0)
        return math.sqrt(self._square)

    def distance(self, other: Function) -> float:
        """Return the norm of f - g; equal points of both are put together first.

        Examples
        --------
        >>> from kcore.kernels import Linear
        >>> Linear().section([1.0, 1.0]).distance(Linear().section([4.0, 5.0]))
        5.0
        """
        if not isinstance(other, Function):
            raise TypeError(f"other must be a Function, got {brief(other)}")
        return (self - other).merged().norm()

    def _rounding(self) -> float:
        """Return by how much <f, f> may be off: terms by units of the largest of their row."""
        info = self._function.describe()
        is_f32 = info["dtype"] == _core.F32
        points, sizes = self._points(), abs(self.coefficients)
        ones = np.ones(len(sizes))
        rows = _made(self._reading.nodes, points, is_f32, ones)
        _, largest = rows.contributions(points, 1, 0)
        terms = float(sizes @ abs(largest[:, 0, 0])) * float(sizes.sum())
        unit = 2.0**-24 if is_f32 else 2.0**-53
        return 8 * (info["n_cols"] + info["n_points"] + 8) * unit * terms

    # ---- For copies and pickles

    def _points(self) -> AnyPoints:
        info = self._function.describe()
        dtype: type[Float] = np.float32 if info["dtype"] == _core.F32 else np.float64
        return from_core(self._function.vectors(), dtype, self._reading.kept_texts)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: object) -> Function:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        is_f32 = self._function.describe()["dtype"] == _core.F32
        kernel = kernel_to_plain(self._kernel)
        if kernel is None:
            raise pickle.PicklingError(
                f"a function in the kernel {self._kernel!r} cannot be found again by its name"
            )
        return _from_numbers, (
            kernel,
            to_plain(self._points()),
            is_f32,
            self.coefficients,
            tuple(self._reading),
        )


# ---- Making them


def _made(
    nodes: list[Node], points: AnyPoints, is_f32: bool, coef: NDArray[np.float64]
) -> _core.Function:
    numbers = np.ascontiguousarray(coef, dtype=np.float64)
    return _core.make_function(_core.CompiledKernel(nodes), points, is_f32, numbers)


def _from_numbers(
    kernel: Any, plain: Any, is_f32: bool, coef: NDArray[np.float64], reading: tuple[Any, ...]
) -> Function:
    """Return the function that was taken apart for a pickle."""
    known = Reading(*reading)
    core = _made(known.nodes, cast("AnyPoints", from_plain(plain)), is_f32, coef)
    return Function._of(cast("Kernel", kernel_from_plain(kernel)), core, known)


def section(kernel: Kernel, X: Any) -> Function:
    """Return the function K(x, .) of one sample."""
    if isinstance(X, str | bytes):
        X = [X]
    elif isinstance(X, list | tuple | np.ndarray) and not isinstance(X, np.ma.MaskedArray):
        try:
            array = np.asarray(X)
        except ValueError:  # rows of different lengths, which are refused below
            array = np.empty((0, 0))
        if array.ndim == 1 and array.dtype.kind in "biuf":
            X = array[None]
    n = kernel._read(X, "X").shape[0]
    if n != 1:
        raise ValueError(f"X must be one sample, got {n} of them")
    return Function(kernel, X, [1.0])


def outputs_of(
    kernel: Kernel, core: _core.Function, reading: Reading
) -> Function | tuple[Function, ...]:
    """Return the outputs of a model's function, without intercepts: a tuple of several."""
    n_outputs = core.describe()["n_outputs"]
    outputs = tuple(Function._of(kernel, core.output(k), reading) for k in range(n_outputs))
    return outputs[0] if n_outputs == 1 else outputs


def _refuse_other_names(
    names: NDArray[np.object_] | None, known: NDArray[np.object_] | None, what: str
) -> None:
    if names is None or known is None or names.tolist() == known.tolist():
        return
    raise ValueError(
        f"{what} has the columns {brief(cast('Any', names.tolist()))}, the points of the function "
        f"have {brief(cast('Any', known.tolist()))}: they must be the same, in the same order"
    )
