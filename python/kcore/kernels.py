"""Kernels: immutable values that make Gram matrices and combine to new kernels.

====================================  =================================================
`Linear` ()                           x.z
`RBF` (gamma)                         exp(-gamma |x - z|^2)
`Polynomial` (degree, gamma, coef0)   (gamma x.z + coef0)^degree
`Sigmoid` (gamma, coef0)              tanh(gamma x.z + coef0)
`Laplacian` (gamma)                   exp(-gamma sum_t |x_t - z_t|)
`Matern` (nu, length_scale)           (1 + s + ...) exp(-s), s = sqrt(2 nu) |x - z| / length_scale
`Periodic` (length_scale,             exp(-2 sum_t sin^2(pi (x_t - z_t) / periodicity) /
periodicity)                          length_scale^2)
`RationalQuadratic` (length_scale,    (1 + |x - z|^2 / (2 alpha length_scale^2))^-alpha
alpha)
`Chi2` (gamma)                        exp(-gamma sum_t (x_t - z_t)^2 / (x_t + z_t)); of histograms
`AdditiveChi2` ()                     -sum_t (x_t - z_t)^2 / (x_t + z_t); of histograms
`HistogramIntersection` ()            sum_t min(x_t, z_t); of histograms
`MinMax` ()                           sum_t min(x_t, z_t) / sum_t max(x_t, z_t); of histograms
`Tanimoto` ()                         x.z / (|x|^2 + |z|^2 - x.z)
`Cosine` ()                           x.z / (|x| |z|)
`Hamming` (weights)                   share of the features with x_t = z_t; numbers or strings
`ANOVA` (gamma)                       product over t of 1 + exp(-gamma (x_t - z_t)^2)
`Constant` (value)                    value, of any samples
`Delta` ()                            1 where x = z, else 0; of strings
``K1 + K2``, ``K1 * K2``              sum and product of the values
``a * K``                             a K(x, z); indefinite where a < 0, as is ``K1 - K2``
``K ** n``                            K(x, z)^n, n a whole number
``exp(K)``                            exp(K(x, z))
``power_series(K, a)``                a[0] + a[1] K(x, z) + a[2] K(x, z)^2 + ...
``K.normalized()``                    K(x, z) / sqrt(K(x, x) K(z, z))
``K.on(phi)``                         K of columns of x and z, of A x and A z, or phi(x), phi(z)
``rank_one(f)``                       f(x) f(z)
`Function` (k)                        a Python or C function of the user's
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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from numpy.typing import NDArray

from kcore import _readings
from kcore._align import Alignment, align
from kcore._binding import Map, Scope, name_of
from kcore._combinations import (
    Exponential,
    Normalized,
    Power,
    PowerSeries,
    Product,
    Scaled,
    Sum,
    written,
)
from kcore._function import Function
from kcore._kernel import ATOM, MAX_DEGREE, POWER, PRODUCT, Kernel, Node, set_fields
from kcore._leaves_numbers import (
    ANOVA,
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Hamming,
    HistogramIntersection,
    MinMax,
    RationalQuadratic,
    Tanimoto,
)
from kcore._parse import parse
from kcore._readings import Applied, Mapped, Selected, as_gamma, as_list
from kcore._validate import as_integer, as_real, brief

__all__ = [
    "ANOVA",
    "RBF",
    "AdditiveChi2",
    "Alignment",
    "Applied",
    "Chi2",
    "Constant",
    "Cosine",
    "Delta",
    "Exponential",
    "Function",
    "Hamming",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Mapped",
    "Matern",
    "MinMax",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Product",
    "RankOne",
    "RationalQuadratic",
    "Scaled",
    "Selected",
    "Sigmoid",
    "Sum",
    "Tanimoto",
    "align",
    "exp",
    "parse",
    "power_series",
    "rank_one",
]

Numbers: TypeAlias = float | Sequence[float] | NDArray[Any]  # for all columns, or for each


# ---- Leaves

_SCHOENBERG = "{} is conditionally negative, exp(-gamma ...) of it positive (Schoenberg)"


def _factor(value: object) -> str:
    return "" if value == 1 else f"{written(value)} "


def _affine(gamma: object, coef0: float) -> str:
    dot = f"{_factor(gamma)}x.z"
    if coef0 == 0:
        return dot
    return f"{dot} {'-' if coef0 < 0 else '+'} {written(abs(coef0))}"


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

    def _formula(self) -> tuple[str, int]:
        return "x.z", POWER

    def _reason(self) -> str:
        return "x.z is an inner product"

    def _nodes(self) -> list[Node]:
        return [("linear", ())]


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """The Gaussian kernel, K(x, z) = exp(-gamma |x - z|^2); K(x, x) is exactly 1.

    Parameters
    ----------
    gamma : float, list of float, 'scale' or 'auto', default 1.0
        Finite, not negative. 1 / (2 sigma^2) for a Gaussian of width sigma. A list has a number for
        each column: exp(-sum_t gamma_t (x_t - z_t)^2). ``'scale'`` is 1 / (n_columns * variance) of
        what this leaf reads of the samples of a fit, ``'auto'`` 1 / n_columns: see `kernel_` of the
        fitted model.

    Examples
    --------
    >>> from kcore.kernels import RBF
    >>> RBF(gamma=0.25)([[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> RBF(gamma=[0.25, 4.0])([[0.0, 0.0], [2.0, 0.5]]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """

    gamma: Numbers | str = 1.0

    _by_column: ClassVar[tuple[str, ...]] = ("gamma",)

    def __post_init__(self) -> None:
        set_fields(self, gamma=as_gamma(self.gamma))

    def _formula(self) -> tuple[str, int]:
        return f"exp(-{_factor(self.gamma)}|x-z|^2)", ATOM

    def _reason(self) -> str:
        return _SCHOENBERG.format("|x-z|^2")

    def _nodes(self) -> list[Node]:
        return _by_factors("rbf", self.gamma, math.sqrt)


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The polynomial kernel, K(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    degree : int, default 3
        0 .. 1000.
    gamma : float, list of float, 'scale' or 'auto', default 1.0
        Finite, not negative; as for `RBF`. A list: (sum_t gamma_t x_t z_t + coef0)^degree.
    coef0 : float, default 1.0
        Finite. With a negative one the kernel may be indefinite.

    Examples
    --------
    >>> from kcore.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=0)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[25.]])
    """

    degree: int = 3
    gamma: Numbers | str = 1.0
    coef0: float = 1.0

    _by_column: ClassVar[tuple[str, ...]] = ("gamma",)

    def __post_init__(self) -> None:
        set_fields(
            self,
            degree=as_integer(self.degree, "degree", low=0, high=MAX_DEGREE),
            gamma=as_gamma(self.gamma),
            coef0=as_real(self.coef0, "coef0"),
        )

    def _formula(self) -> tuple[str, int]:
        base = _affine(self.gamma, self.coef0)
        return f"({base})^{self.degree}", POWER

    def _reason(self) -> str:
        if self.degree == 0:
            return "the constant 1"
        if self.coef0 >= 0:
            return "a power (Schur) of an inner product and a constant that is not negative"
        if self.degree == 1:
            return "the constant coef0 < 0 cancels where coefficients sum to zero"
        return f"a power of x.z and a negative constant, coef0 = {written(self.coef0)}"

    def _nodes(self) -> list[Node]:
        return _by_factors("polynomial", self.gamma, math.sqrt, (self.degree,), (self.coef0,))


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """The sigmoid kernel, K(x, z) = tanh(gamma x.z + coef0); indefinite.

    Parameters
    ----------
    gamma : float, list of float, 'scale' or 'auto', default 1.0
        Finite, not negative; as for `RBF`. A list: tanh(sum_t gamma_t x_t z_t + coef0).
    coef0 : float, default 0.0
        Finite.

    Examples
    --------
    >>> from kcore.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5)([[1.0, 1.0]], [[1.0, 0.0]]).round(4)
    array([[0.4621]])
    """

    gamma: Numbers | str = 1.0
    coef0: float = 0.0

    _by_column: ClassVar[tuple[str, ...]] = ("gamma",)

    def __post_init__(self) -> None:
        set_fields(
            self,
            gamma=as_gamma(self.gamma),
            coef0=as_real(self.coef0, "coef0"),
        )

    def _formula(self) -> tuple[str, int]:
        return f"tanh({_affine(self.gamma, self.coef0)})", ATOM

    def _reason(self) -> str:
        return "tanh of an inner product is not positive in general"

    def _nodes(self) -> list[Node]:
        return _by_factors("sigmoid", self.gamma, math.sqrt, (), (self.coef0,))


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """The Laplacian kernel, K(x, z) = exp(-gamma sum_t |x_t - z_t|); K(x, x) is exactly 1.

    Parameters
    ----------
    gamma : float, list of float, 'scale' or 'auto', default 1.0
        Finite, not negative; as for `RBF`. A list: exp(-sum_t gamma_t |x_t - z_t|).

    Examples
    --------
    >>> from kcore.kernels import Laplacian
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    gamma: Numbers | str = 1.0

    _by_column: ClassVar[tuple[str, ...]] = ("gamma",)

    def __post_init__(self) -> None:
        set_fields(self, gamma=as_gamma(self.gamma))

    def _formula(self) -> tuple[str, int]:
        return f"exp(-{_factor(self.gamma)}|x-z|_1)", ATOM

    def _reason(self) -> str:
        return _SCHOENBERG.format("sum_t |x_t - z_t|")

    def _nodes(self) -> list[Node]:
        return _by_factors("laplacian", self.gamma, float)


@dataclass(frozen=True, repr=False)
class Matern(Kernel):
    r"""The Matérn kernel of order nu = 1/2, 3/2 or 5/2; K(x, x) is exactly 1.

    With :math:`s = \sqrt{2 \nu}\, |x - z| / \ell`,

    .. math:: K(x, z) = e^{-s},\quad (1 + s)\, e^{-s},\quad (1 + s + s^2 / 3)\, e^{-s}.

    Parameters
    ----------
    nu : float, default 1.5
        0.5, 1.5 or 2.5: functions of the kernel are nu - 1/2 times differentiable.
    length_scale : float or list of float, default 1.0
        What distances are divided by: finite, positive. A list divides each column by its own.

    Examples
    --------
    >>> from kcore.kernels import Matern
    >>> Matern(nu=0.5, length_scale=2.0)([[0.0, 0.0], [0.0, 2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    nu: float = 1.5
    length_scale: Numbers = 1.0

    _by_column: ClassVar[tuple[str, ...]] = ("length_scale",)

    def __post_init__(self) -> None:
        nu = as_real(self.nu, "nu")
        if nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {brief(self.nu)}")
        scale = as_list(self.length_scale, "length_scale", is_positive=True)
        set_fields(self, nu=nu, length_scale=scale)

    def _formula(self) -> tuple[str, int]:
        return f"matern_{written(self.nu)}(|x-z| / {written(self.length_scale)})", ATOM

    def _reason(self) -> str:
        return "a mixture of Gaussians: its spectral density is positive"

    def _nodes(self) -> list[Node]:
        return _by_factors("matern", self.length_scale, _inverse, (self.nu,))


@dataclass(frozen=True, repr=False)
class Periodic(Kernel):
    r"""The periodic kernel, a Gaussian of points on circles; K(x, x) is exactly 1.

    .. math:: K(x, z) = \exp\Bigl(-\frac{2}{\ell^2} \sum_t \sin^2 \frac{\pi (x_t - z_t)}{p}\Bigr)

    Each column goes round by itself, so that the kernel is positive for any number of columns. Of
    one column it is scikit-learn's ``ExpSineSquared``; of several, that one takes the sine of their
    distance.

    Parameters
    ----------
    length_scale : float or list of float, default 1.0
        Finite, positive; a list has one for each column, which divides its term by its square.
    periodicity : float or list of float, default 1.0
        The period p, finite, positive; or one for each column.

    Examples
    --------
    >>> from kcore.kernels import Periodic
    >>> Periodic(length_scale=1.0, periodicity=24.0)([[1.0], [13.0], [25.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    length_scale: Numbers = 1.0
    periodicity: Numbers = 1.0

    _by_column: ClassVar[tuple[str, ...]] = ("length_scale", "periodicity")
    _has_gradient: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_fields(
            self,
            length_scale=as_list(self.length_scale, "length_scale", is_positive=True),
            periodicity=as_list(self.periodicity, "periodicity", is_positive=True),
        )

    def _formula(self) -> tuple[str, int]:
        scale, period = written(self.length_scale), written(self.periodicity)
        return f"periodic(|x-z| / {scale}, period {period})", ATOM

    def _reason(self) -> str:
        return "a Gaussian of points on circles, one for each column"

    def _nodes(self) -> list[Node]:
        # |cos, sin of x - those of z|^2 = 4 sin^2: RBF of the points on the circles.
        scale, period = self.length_scale, self.periodicity
        periods = ("period", period if isinstance(period, tuple) else (period,))
        if not isinstance(scale, tuple):
            return [("rbf", (0.5 / float(scale) / float(scale),)), periods]  # type: ignore[arg-type]
        factors = tuple(1.0 / length for length in scale for _ in ("cosine", "sine"))
        return [("rbf", (0.5,)), ("factors", factors), periods]


def _inverse(length: float) -> float:
    return 1.0 / length


def _by_factors(
    name: str,
    values: Any,
    factor: Callable[[float], float],
    before: tuple[float, ...] = (),
    behind: tuple[float, ...] = (),
) -> list[Node]:
    """Return a leaf with a number, or with numbers for each column, which are applied to those."""
    if not isinstance(values, tuple):
        return [(name, (*before, values, *behind))]
    return [(name, (*before, 1.0, *behind)), ("factors", tuple(map(factor, values)))]


@dataclass(frozen=True, repr=False)
class Delta(Kernel):
    r"""The delta kernel of strings: 1 where two samples are the same string, else 0.

    .. math:: K(x, z) = [x = z]

    Samples are str, compared by their UTF-8 bytes, or bytes: a list or an array of them, or with
    `on` a column of a data frame.

    Examples
    --------
    >>> from kcore.kernels import Delta
    >>> Delta()(["red", "blue", "red"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def _reads_strings(self) -> bool:
        return True

    def _formula(self) -> tuple[str, int]:
        return "[x = z]", ATOM

    def _reason(self) -> str:
        return "an inner product: a dimension for each string"

    def _nodes(self) -> list[Node]:
        return [("delta", ())]


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


def power_series(kernel: Kernel, coefficients: Sequence[float]) -> PowerSeries:
    """Return the kernel sum_i coefficients[i] K(x, z)^i; K is computed once.

    Parameters
    ----------
    kernel : Kernel
        K.
    coefficients : sequence of float
        The factors of K ** 0, which is the constant 1, of K, K ** 2 and so on, finite: up to 1001.
        With a negative one the kernel is indefinite.

    Examples
    --------
    >>> from kcore.kernels import Linear, power_series
    >>> kernel = power_series(Linear(), [1, 0, 0.5])
    >>> kernel([[1.0, 1.0]])
    array([[3.]])
    >>> print(kernel)
    (1 + 0.5 k^2 with k = x.z)
    """
    return PowerSeries(kernel, coefficients)  # type: ignore[arg-type]  # made a tuple there


# ---- Functions of a sample


@dataclass(frozen=True, repr=False)
class RankOne(_readings.Reading):
    """K(x, z) = f(x) f(z), made by ``rank_one(f)``."""

    f: Map

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"f must be a function of samples, got {brief(self.f)}")

    def __repr__(self) -> str:
        return f"rank_one({name_of(self.f)})"

    def _formula(self) -> tuple[str, int]:
        return f"{name_of(self.f)}(x) {name_of(self.f)}(z)", PRODUCT

    def _reason(self) -> str:
        return "f(x) f(z) is an inner product of one dimension"

    def _is_bound(self) -> bool:
        return False

    def _resolve(self, scope: Scope) -> Kernel:
        return self

    def _bind(self, scope: Scope) -> Kernel:
        made = scope.on_function(self.f)
        if made.n_columns != 1:
            raise ValueError(
                f"rank_one: f ({name_of(self.f)}) gave {made.n_columns} numbers for each sample, "
                "must give one"
            )
        return Linear()._bind(made)

    def _without_columns(self) -> Kernel:
        return Linear()


def rank_one(f: Map) -> RankOne:
    """Return the kernel f(x) f(z), positive for any f.

    Parameters
    ----------
    f : callable
        Gives one number for each sample; called once for each set of samples, as a function that
        `Kernel.on` takes.

    Examples
    --------
    >>> import numpy as np
    >>> from kcore.kernels import rank_one
    >>> def total(X):
    ...     return X.sum(axis=1)
    >>> rank_one(total)
    rank_one(total)
    >>> rank_one(total)([[1.0, 2.0], [3.0, -1.0]])
    array([[9., 6.],
           [6., 4.]])
    """
    return RankOne(f)
