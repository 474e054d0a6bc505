"""Kernels: immutable values that make Gram matrices and combine to new kernels.

====================================  =================================================
`Linear` ()                           x.z
`RBF` (gamma)                         exp(-gamma |x - z|^2)
`Polynomial` (degree, gamma, coef0)   (gamma x.z + coef0)^degree
`Sigmoid` (gamma, coef0)              tanh(gamma x.z + coef0)
`Laplacian` (gamma)                   exp(-gamma sum_t |x_t - z_t|)
`Matern` (nu, length_scale)           (1 + s + ...) exp(-s), s = sqrt(2 nu) |x - z| / length_scale
``K1 + K2``, ``K1 * K2``              sum and product of the values
``a * K``                             a K(x, z), a >= 0
``K ** n``                            K(x, z)^n, n a whole number
``exp(K)``                            exp(K(x, z))
====================================  =================================================

A kernel, simple or combined, is one expression that the C core evaluates tile by tile. A value
K(x, z) depends on x, z, the parameters and the precision alone: not on the other samples, their
storage, the number of threads or how the work is split; and K(x, z) = K(z, x) to the bit.

Examples
--------
>>> import numpy as np
>>> from kcore.kernels import RBF, Linear
>>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
>>> RBF(gamma=0.5)(X).round(4)
array([[1.    , 0.6065, 0.1353],
       [0.6065, 1.    , 0.0821],
       [0.1353, 0.0821, 1.    ]])
>>> 2 * RBF(gamma=0.5) + Linear() ** 2
2.0 * RBF(gamma=0.5) + Linear() ** 2
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._threads import n_threads
from kcore._validate import Float, as_integer, as_points, as_real, brief, check_out

__all__ = [
    "RBF",
    "Exponential",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Power",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
    "exp",
]

MAX_DEGREE = 1000

_Node: TypeAlias = tuple[str, tuple[float, ...]]
_K = TypeVar("_K", bound="Kernel")

# How tightly the operators of repr bind.
_SUM, _PRODUCT, _POWER, _ATOM = range(4)


class Kernel:
    """Base of all kernels: what they share is here, what they are is in their fields.

    Kernels are values: immutable, hashable, equal where class and parameters are equal, and
    picklable. A parameter is changed by making a new kernel with `replace`.
    """

    __slots__ = ("_compiled",)  # the parameters are in __dict__, what is made from them is not
    __array_ufunc__ = None  # np.float64(2) * kernel is left to __rmul__

    _binding: ClassVar[int] = _ATOM
    _compiled: _core.CompiledKernel  # made at the first use, never pickled

    def __call__(
        self,
        X: ArrayLike | Any,
        Z: ArrayLike | Any | None = None,
        *,
        out: NDArray[Float] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Float]:
        """Return the Gram matrix K(x_i, z_j).

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, d)
            Samples in rows. float32 and float64 arrays of any strides and CSR matrices are read
            in place; integers, booleans and longdouble are converted to float64, float16 to
            float32, other sparse formats to CSR.
        Z : array_like or sparse matrix of shape (m, d), optional
            The other samples; X where it is not given, at half the work.
        out : ndarray of shape (n, m), optional
            Where to write the result: of the result's dtype, with contiguous rows, sharing no
            memory with X or Z. Its content means nothing after an error.
        n_jobs : int, optional
            Number of threads: -1 for all usable CPUs, -2 for all but one; by default what
            `kcore.set_num_threads` says. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n, m)
            float32 where X and Z are, else float64.

        Examples
        --------
        >>> from kcore.kernels import Linear
        >>> Linear()([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0]])
        array([[1.],
               [3.]])
        """
        x = as_points(X, "X")
        z = None if Z is None or Z is X else as_points(Z, "Z")
        if out is not None:
            check_out(out, (x.shape[0], x.shape[0] if z is None else z.shape[0]), x, z)
        return _core.gram(self._compile(), x, z, out, 0 if n_jobs is None else n_threads(n_jobs))

    def diag(
        self,
        X: ArrayLike | Any,
        *,
        out: NDArray[Float] | None = None,
        n_jobs: int | None = None,
    ) -> NDArray[Float]:
        """Return K(x_i, x_i), the same bits as the diagonal of the Gram matrix.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, d)
            Samples in rows, as for the Gram matrix.
        out : ndarray of shape (n,), optional
            Where to write the result: contiguous, of the result's dtype.
        n_jobs : int, optional
            Number of threads, as for the Gram matrix.

        Examples
        --------
        >>> from kcore.kernels import Polynomial
        >>> Polynomial(degree=2).diag([[1.0, 2.0], [3.0, 4.0]])
        array([ 36., 676.])
        """
        x = as_points(X, "X")
        if out is not None:
            check_out(out, (x.shape[0],), x)
        return _core.diag(self._compile(), x, out, 0 if n_jobs is None else n_threads(n_jobs))

    @property
    def definiteness(self) -> Literal["positive", "indefinite"]:
        """What is known of every Gram matrix of this kernel.

        ``'positive'``: positive semi-definite, whatever the samples (up to rounding);
        ``'indefinite'``: it may have negative eigenvalues.

        Examples
        --------
        >>> from kcore.kernels import RBF, Sigmoid
        >>> RBF().definiteness, (RBF() * Sigmoid()).definiteness
        ('positive', 'indefinite')
        """
        return "positive" if self._compile().is_positive else "indefinite"

    # ---- Parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool
            Whether the parameters of the kernels inside are listed too, as ``k1__gamma``.

        Examples
        --------
        >>> from kcore.kernels import RBF
        >>> (2 * RBF(gamma=0.5)).get_params()
        {'factor': 2.0, 'kernel': RBF(gamma=0.5), 'kernel__gamma': 0.5}
        """
        params = self._params()
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params |= {f"{name}__{sub}": v for sub, v in value.get_params().items()}
        return params

    def replace(self: _K, **params: Any) -> _K:
        """Return a kernel with some parameters changed; this one stays as it is.

        Parameters
        ----------
        **params
            New values, by the names of `get_params`.

        Examples
        --------
        >>> from kcore.kernels import RBF, Linear
        >>> (RBF() + Linear()).replace(k1__gamma=3)
        RBF(gamma=3.0) + Linear()
        """
        own = self._params()
        inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            first, nested, rest = name.partition("__")
            if first not in own or (nested and not isinstance(own[first], Kernel)):
                names = ", ".join(self.get_params()) or "none"
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has: {names}"
                )
            if nested:
                inner.setdefault(first, {})[rest] = value
            else:
                own[first] = value
        for name, changes in inner.items():
            own[name] = own[name].replace(**changes)
        return type(self)(*own.values())

    # ---- Algebra

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: object) -> Kernel:
        """Return 0 + K, so that ``sum(kernels)`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: float) -> Scaled:
        if isinstance(other, Real):
            return Scaled(other, self)
        return NotImplemented

    def __pow__(self, degree: int) -> Power:
        return Power(self, degree)

    # ---- Values: printed, copied, pickled

    def __repr__(self) -> str:
        params = (f"{name}={value!r}" for name, value in self._params().items())
        return f"{type(self).__name__}({', '.join(params)})"

    def __reduce__(self) -> tuple[type[Kernel], tuple[Any, ...]]:
        return type(self), tuple(self._params().values())

    def __copy__(self: _K) -> _K:
        return self

    def __deepcopy__(self: _K, memo: object) -> _K:
        return self

    def __sklearn_clone__(self: _K) -> _K:
        return self

    # ---- For the core

    def _params(self) -> dict[str, Any]:
        """Return the parameters, in the order in which the class takes them."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}

    def _compile(self) -> _core.CompiledKernel:
        try:
            return self._compiled
        except AttributeError:
            compiled = _core.CompiledKernel(self._nodes())
            # Two threads may both come here: either's result will do.
            object.__setattr__(self, "_compiled", compiled)
            return compiled

    def _nodes(self) -> list[_Node]:
        """Return the expression in postfix order."""
        raise NotImplementedError

    def _inside(self, binding: int) -> str:
        """Return the repr, in parentheses unless it binds at least so tightly."""
        return repr(self) if self._binding >= binding else f"({self!r})"


def _fields(kernel: Kernel) -> tuple[Any, ...]:
    return fields(kernel)  # type: ignore[arg-type]  # every kernel that exists is a dataclass


def _set(kernel: Kernel, **values: object) -> None:
    """Store checked parameters; only for use while a kernel is being made."""
    for name, value in values.items():
        object.__setattr__(kernel, name, value)


def _check_kernel(value: object, name: str) -> None:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be a Kernel, got {brief(value)}")


# ---- Leaves


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """The linear kernel, K(x, z) = x.z.

    Examples
    --------
    >>> from kcore.kernels import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    def _nodes(self) -> list[_Node]:
        return [("linear", ())]


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """The Gaussian kernel, K(x, z) = exp(-gamma |x - z|^2); K(x, x) is exactly 1.

    Parameters
    ----------
    gamma : float, default 1.0
        Finite, not negative. 1 / (2 sigma^2) for a Gaussian of width sigma.

    Examples
    --------
    >>> from kcore.kernels import RBF
    >>> RBF(gamma=0.25)([[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, gamma=as_real(self.gamma, "gamma", low=0))

    def _nodes(self) -> list[_Node]:
        return [("rbf", (self.gamma,))]


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The polynomial kernel, K(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    degree : int, default 3
        0 .. 1000.
    gamma : float, default 1.0
        Finite, not negative.
    coef0 : float, default 1.0
        Finite. With a negative one the kernel may be indefinite.

    Examples
    --------
    >>> from kcore.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=0)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[25.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        _set(
            self,
            degree=as_integer(self.degree, "degree", low=0, high=MAX_DEGREE),
            gamma=as_real(self.gamma, "gamma", low=0),
            coef0=as_real(self.coef0, "coef0"),
        )

    def _nodes(self) -> list[_Node]:
        return [("polynomial", (self.degree, self.gamma, self.coef0))]


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """The sigmoid kernel, K(x, z) = tanh(gamma x.z + coef0); indefinite.

    Parameters
    ----------
    gamma : float, default 1.0
        Finite, not negative.
    coef0 : float, default 0.0
        Finite.

    Examples
    --------
    >>> from kcore.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5)([[1.0, 1.0]], [[1.0, 0.0]]).round(4)
    array([[0.4621]])
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        _set(
            self,
            gamma=as_real(self.gamma, "gamma", low=0),
            coef0=as_real(self.coef0, "coef0"),
        )

    def _nodes(self) -> list[_Node]:
        return [("sigmoid", (self.gamma, self.coef0))]


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """The Laplacian kernel, K(x, z) = exp(-gamma sum_t |x_t - z_t|); K(x, x) is exactly 1.

    Parameters
    ----------
    gamma : float, default 1.0
        Finite, not negative.

    Examples
    --------
    >>> from kcore.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, gamma=as_real(self.gamma, "gamma", low=0))

    def _nodes(self) -> list[_Node]:
        return [("laplacian", (self.gamma,))]


@dataclass(frozen=True, repr=False)
class Matern(Kernel):
    r"""The Matérn kernel of order nu = 1/2, 3/2 or 5/2; K(x, x) is exactly 1.

    With :math:`s = \sqrt{2 \nu}\, |x - z| / \ell`,

    .. math:: K(x, z) = e^{-s},\quad (1 + s)\, e^{-s},\quad (1 + s + s^2 / 3)\, e^{-s}.

    Parameters
    ----------
    nu : float, default 1.5
        0.5, 1.5 or 2.5: functions of the kernel are nu - 1/2 times differentiable.
    length_scale : float, default 1.0
        What distances are divided by: finite, positive.

    Examples
    --------
    >>> from kcore.kernels import Matern
    >>> Matern(nu=0.5, length_scale=2.0)([[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    nu: float = 1.5
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        nu = as_real(self.nu, "nu")
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {brief(self.nu)}")
        scale = as_real(self.length_scale, "length_scale", low=0)
        if scale == 0:
            raise ValueError("length_scale must be positive, got 0")
        _set(self, nu=nu, length_scale=scale)

    def _nodes(self) -> list[_Node]:
        return [("matern", (self.nu, self.length_scale))]


# ---- Combinations


@dataclass(frozen=True, repr=False, init=False)
class _Chain(Kernel):
    """Two kernels or more, joined from the left; a first one of the same kind is taken apart."""

    kernels: tuple[Kernel, ...]

    _op: ClassVar[str]

    def __init__(self, k1: Kernel, k2: Kernel, *more: Kernel) -> None:
        for k, kernel in enumerate((k1, k2, *more), 1):
            _check_kernel(kernel, f"k{k}")
        first = k1.kernels if isinstance(k1, type(self)) else (k1,)
        _set(self, kernels=(*first, k2, *more))

    def _params(self) -> dict[str, Any]:
        return {f"k{i}": kernel for i, kernel in enumerate(self.kernels, 1)}

    def _nodes(self) -> list[_Node]:
        nodes = self.kernels[0]._nodes()
        for kernel in self.kernels[1:]:
            nodes += [*kernel._nodes(), (self._op, ())]
        return nodes


@dataclass(frozen=True, repr=False, init=False)
class Sum(_Chain):
    """K(x, z) = k1(x, z) + k2(x, z) + ..., made by ``k1 + k2 + ...``."""

    _binding: ClassVar[int] = _SUM
    _op: ClassVar[str] = "sum"

    def __repr__(self) -> str:
        return " + ".join(kernel._inside(_PRODUCT) for kernel in self.kernels)


@dataclass(frozen=True, repr=False, init=False)
class Product(_Chain):
    """K(x, z) = k1(x, z) k2(x, z) ..., made by ``k1 * k2 * ...``."""

    _binding: ClassVar[int] = _PRODUCT
    _op: ClassVar[str] = "product"

    def __repr__(self) -> str:
        first, *others = self.kernels  # first may be scaled: 2.0 * k1 * k2 reads as it was made
        return " * ".join([first._inside(_PRODUCT), *(k._inside(_POWER) for k in others)])


@dataclass(frozen=True, repr=False)
class Scaled(Kernel):
    """K(x, z) = factor kernel(x, z) with factor >= 0, made by ``factor * kernel``."""

    factor: float
    kernel: Kernel

    _binding: ClassVar[int] = _PRODUCT

    def __post_init__(self) -> None:
        _set(self, factor=as_real(self.factor, "factor", low=0))
        _check_kernel(self.kernel, "kernel")

    def __repr__(self) -> str:
        return f"{self.factor!r} * {self.kernel._inside(_POWER)}"

    def _nodes(self) -> list[_Node]:
        return [*self.kernel._nodes(), ("scaled", (self.factor,))]


@dataclass(frozen=True, repr=False)
class Power(Kernel):
    """K(x, z) = kernel(x, z)^degree with degree in 0 .. 1000, made by ``kernel ** degree``."""

    kernel: Kernel
    degree: int

    _binding: ClassVar[int] = _POWER

    def __post_init__(self) -> None:
        _check_kernel(self.kernel, "kernel")
        _set(self, degree=as_integer(self.degree, "degree", low=0, high=MAX_DEGREE))

    def __repr__(self) -> str:
        return f"{self.kernel._inside(_ATOM)} ** {self.degree}"

    def _nodes(self) -> list[_Node]:
        return [*self.kernel._nodes(), ("power", (self.degree,))]


@dataclass(frozen=True, repr=False)
class Exponential(Kernel):
    """K(x, z) = exp(kernel(x, z)), made by ``exp(kernel)``."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _check_kernel(self.kernel, "kernel")

    def __repr__(self) -> str:
        return f"exp({self.kernel!r})"

    def _nodes(self) -> list[_Node]:
        return [*self.kernel._nodes(), ("exp", ())]


def exp(kernel: Kernel) -> Exponential:
    """Return the kernel exp(K(x, z)), positive where K is.

    Examples
    --------
    >>> from kcore.kernels import Linear, exp
    >>> exp(0.5 * Linear())
    exp(0.5 * Linear())
    >>> exp(0.5 * Linear())([[1.0, 1.0]]).round(4)
    array([[2.7183]])
    """
    return Exponential(kernel)
