"""Kernels of histograms, of categories and of single features; `kcore.kernels` has them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kcore._columns import Columns, Slice
from kcore._combinations import written
from kcore._gradient import NodeSlopes, Slope
from kcore._kernel import ATOM, POWER, PRODUCT, Kernel, Node, set_fields
from kcore._readings import ReadLike
from kcore._validate import as_real, as_reals, brief

MAX_WEIGHTS = 256  # columns that one kernel can read one by one


def _positive(value: object, name: str) -> float:
    number = as_real(value, name, low=0)
    if number == 0:
        raise ValueError(f"{name} must be positive, got 0")
    return number


class _Gamma(Kernel):
    """A leaf whose one parameter is gamma."""

    gamma: float
    _leaf: ClassVar[str]

    def __post_init__(self) -> None:
        set_fields(self, gamma=as_real(self.gamma, "gamma", low=0))

    def _nodes(self) -> list[Node]:
        return [(self._leaf, (self.gamma,))]


@dataclass(frozen=True, repr=False)
class RationalQuadratic(Kernel):
    r"""The rational quadratic kernel; K(x, x) is exactly 1.

    .. math:: K(x, z) = \left(1 + \frac{|x - z|^2}{2 \alpha \ell^2}\right)^{-\alpha}

    A mixture of Gaussian kernels of all length scales; near `RBF` (1 / (2 length_scale^2)) where
    `alpha` is large. With alpha = 1 a value costs a division, else a logarithm and exp.

    Parameters
    ----------
    length_scale : float, default 1.0
        What distances are divided by: finite, positive.
    alpha : float, default 1.0
        The exponent: finite, positive.

    Examples
    --------
    >>> from kcore.kernels import RationalQuadratic
    >>> RationalQuadratic(length_scale=1.0, alpha=0.5)([[0.0], [1.0], [3.0]]).round(4)
    array([[1.    , 0.7071, 0.3162],
           [0.7071, 1.    , 0.4472],
           [0.3162, 0.4472, 1.    ]])
    """

    length_scale: float = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        set_fields(
            self,
            length_scale=_positive(self.length_scale, "length_scale"),
            alpha=_positive(self.alpha, "alpha"),
        )

    def _formula(self) -> tuple[str, int]:
        width = written(2 * self.alpha * self.length_scale**2)
        return f"(1 + |x-z|^2 / {width})^-{written(self.alpha)}", POWER

    def _reason(self) -> str:
        return "a mixture of exp(-s |x-z|^2) with weights s that are positive"

    def _nodes(self) -> list[Node]:
        return [("rational_quadratic", (self.length_scale, self.alpha))]


# ---- Counts and histograms


@dataclass(frozen=True, repr=False)
class Chi2(_Gamma):
    r"""The chi-squared kernel of histograms; K(x, x) is exactly 1.

    .. math:: K(x, z) = \exp\left(-\gamma \sum_t \frac{(x_t - z_t)^2}{x_t + z_t}\right)

    A feature that is 0 in both samples counts for nothing. Samples must not have negative numbers.

    Parameters
    ----------
    gamma : float, default 1.0
        Finite, not negative.

    Examples
    --------
    >>> from kcore.kernels import Chi2
    >>> Chi2(gamma=0.5)([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    gamma: float = 1.0
    _leaf: ClassVar[str] = "chi2"

    def _formula(self) -> tuple[str, int]:
        return f"exp(-{written(self.gamma)} sum_t (x_t-z_t)^2 / (x_t+z_t))", ATOM

    def _reason(self) -> str:
        return "-(x_t-z_t)^2 / (x_t+z_t) is conditional, exp of it positive (Schoenberg)"


@dataclass(frozen=True, repr=False)
class AdditiveChi2(Kernel):
    r"""The additive chi-squared kernel of histograms, with the sign that makes it conditional.

    .. math:: K(x, z) = -\sum_t \frac{(x_t - z_t)^2}{x_t + z_t}

    Positive on coefficients that sum to zero, as those of `SVC`, `NuSVC`, `SVR` and `NuSVR` do.
    A feature that is 0 in both samples counts for nothing. Samples must not have negative numbers.

    Examples
    --------
    >>> from kcore.kernels import AdditiveChi2
    >>> AdditiveChi2()([[3.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    array([[ 0., -1.],
           [-1.,  0.]])
    >>> AdditiveChi2().definiteness
    'conditional'
    """

    def _formula(self) -> tuple[str, int]:
        return "-sum_t (x_t-z_t)^2 / (x_t+z_t)", PRODUCT

    def _reason(self) -> str:
        return "(x_t - z_t)^2 / (x_t + z_t) is conditionally negative for numbers >= 0"

    def _nodes(self) -> list[Node]:
        return [("additive_chi2", ())]


@dataclass(frozen=True, repr=False)
class HistogramIntersection(Kernel):
    r"""The intersection of two histograms.

    .. math:: K(x, z) = \sum_t \min(x_t, z_t)

    Samples must not have negative numbers.

    Examples
    --------
    >>> from kcore.kernels import HistogramIntersection
    >>> HistogramIntersection()([[3.0, 1.0], [1.0, 2.0]])
    array([[4., 2.],
           [2., 3.]])
    """

    def _formula(self) -> tuple[str, int]:
        return "sum_t min(x_t, z_t)", PRODUCT

    def _reason(self) -> str:
        return "min of numbers >= 0 is the inner product of the intervals up to them"

    def _nodes(self) -> list[Node]:
        return [("histogram_intersection", ())]


@dataclass(frozen=True, repr=False)
class MinMax(Kernel):
    r"""The min-max kernel, Jaccard's index of counts; K(x, x) is exactly 1.

    .. math:: K(x, z) = \frac{\sum_t \min(x_t, z_t)}{\sum_t \max(x_t, z_t)}

    Two samples of zeros alone are equal: their value is 1. Samples must not have negative numbers.

    Examples
    --------
    >>> from kcore.kernels import MinMax
    >>> MinMax()([[3.0, 1.0], [1.0, 2.0]])
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    def _formula(self) -> tuple[str, int]:
        return "sum_t min(x_t, z_t) / sum_t max(x_t, z_t)", PRODUCT

    def _reason(self) -> str:
        return "the share that the intervals up to x_t and z_t have in common (Jaccard)"

    def _nodes(self) -> list[Node]:
        return [("minmax", ())]


# ---- What samples have in common


@dataclass(frozen=True, repr=False)
class Tanimoto(Kernel):
    r"""The Tanimoto kernel; K(x, x) is exactly 1.

    .. math:: K(x, z) = \frac{x \cdot z}{|x|^2 + |z|^2 - x \cdot z}

    Of fingerprints, samples of zeros and ones, it is the share of features that both samples have
    among those that either has. Two samples of zeros alone are equal: their value is 1.

    Examples
    --------
    >>> from kcore.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0]]).round(4)
    array([[1.    , 0.6667, 0.    ],
           [0.6667, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    """

    def _formula(self) -> tuple[str, int]:
        return "x.z / (|x|^2 + |z|^2 - x.z)", PRODUCT

    def _reason(self) -> str:
        return "the denominator is conditionally negative, so its inverse is positive"

    def _nodes(self) -> list[Node]:
        return [("tanimoto", ())]


@dataclass(frozen=True, repr=False)
class Cosine(Kernel):
    r"""The cosine of the angle between two samples: ``Linear().normalized()``.

    .. math:: K(x, z) = \frac{x \cdot z}{|x|\,|z|}

    A sample of zeros alone has the value 0 with all samples, itself included.

    Examples
    --------
    >>> from kcore.kernels import Cosine
    >>> Cosine()([[1.0, 0.0], [2.0, 2.0], [0.0, 0.0]]).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.    ],
           [0.    , 0.    , 0.    ]])
    """

    def _formula(self) -> tuple[str, int]:
        return "x.z / (|x| |z|)", PRODUCT

    def _reason(self) -> str:
        return "an inner product of samples of length 1"

    def _nodes(self) -> list[Node]:
        return [("linear", ()), ("normalized", ())]


@dataclass(frozen=True, repr=False)
class Hamming(Kernel):
    r"""The share of features that are equal, of numbers or strings that name categories.

    .. math:: K(x, z) = \frac{\sum_t w_t\, [x_t = z_t]}{\sum_t w_t}

    Values are compared, whatever numbers a data frame has for its categories: one that the fit has
    not seen is equal to itself alone. Several columns of strings are named by `on`, each of which
    has weight 1 where no weights are given.

    Parameters
    ----------
    weights : sequence of float, optional
        A weight for each column that the kernel reads, up to 256: finite, not negative, not all of
        them 0. By default all columns have the same one.

    Examples
    --------
    >>> from kcore.kernels import Hamming
    >>> Hamming()([[1, 7, 2, 2], [1, 5, 2, 4]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> Hamming(weights=[3, 1])([[1, 7], [1, 5]])
    array([[1.  , 0.75],
           [0.75, 1.  ]])
    >>> Hamming().on(["colour", "city"])
    Hamming(weights=[1.0, 1.0]).on(['colour', 'city'])
    """

    weights: Sequence[float] | None = None

    _by_column: ClassVar[tuple[str, ...]] = ("weights",)

    def __post_init__(self) -> None:
        if self.weights is None:
            return
        weights = as_reals(self.weights, "weights")
        if weights.ndim != 1 or not 1 <= len(weights) <= MAX_WEIGHTS:
            raise ValueError(
                f"weights must be 1 to {MAX_WEIGHTS} numbers, got {brief(self.weights)}"
            )
        values = tuple(as_real(w, f"weights[{t}]", low=0) for t, w in enumerate(weights.tolist()))
        if not 0 < sum(values) < float("inf"):
            raise ValueError(f"the sum of weights must be finite and positive, got {sum(values)}")
        set_fields(self, weights=values)

    def on(self, phi: ReadLike) -> Kernel:
        """Return the kernel of some columns of the samples: of numbers, or strings, or both.

        Parameters
        ----------
        phi : int, str, slice, sequence of int, str or bool, matrix or callable
            As for all kernels. Listed columns, up to 256, may be strings; a slice or a longer list
            has numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> from kcore.kernels import Hamming
        >>> frame = pd.DataFrame({"colour": ["red", "red"], "size": [1, 2], "age": [30, 40]})
        >>> Hamming().on(["colour", "size"])(frame)
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
        return super().on(phi)

    def _for_columns(self, columns: Columns) -> Kernel:
        if isinstance(columns, Slice):
            return self
        if self.weights is not None and len(columns) != len(self.weights):
            raise ValueError(
                f"columns has {len(columns)} columns, weights has {len(self.weights)} numbers"
            )
        if self.weights is None and 1 < len(columns) <= MAX_WEIGHTS:
            return Hamming((1.0,) * len(columns))
        return self

    def _reads_strings(self) -> bool:
        return True

    def _formula(self) -> tuple[str, int]:
        return repr(self), ATOM

    def _reason(self) -> str:
        return "a sum of [x_t = z_t], which are positive, with weights >= 0"

    def _nodes(self) -> list[Node]:
        if self.weights is None:
            return [("hamming", ())]
        nodes: list[Node] = []
        for column, weight in enumerate(self.weights):
            nodes += [("hamming", ()), ("on", (column,)), ("scaled", (weight,))]
            nodes += [("sum", ())] if column > 0 else []
        return [*nodes, ("scaled", (1 / sum(self.weights),))]

    def _take_slopes(self, nodes: list[NodeSlopes]) -> dict[str, Slope]:
        """By the factor of each column, and by 1 / sum(weights), which every weight changes."""
        if self.weights is None:
            return {}
        factors = [nodes.pop().slopes["factor"] for _ in self.weights]
        of_sum = nodes.pop().slopes["factor"]
        return {"weights": np.array(factors) - of_sum / sum(self.weights) ** 2}


@dataclass(frozen=True, repr=False)
class ANOVA(_Gamma):
    r"""The ANOVA kernel of Gaussian kernels of single features; K(x, x) is exactly 2^d.

    .. math:: K(x, z) = \prod_{t=1}^{d} \left(1 + e^{-\gamma (x_t - z_t)^2}\right)

    The sum over all sets of features of the Gaussian kernel of these features: functions of it are
    sums of functions of few features. Values are between 1 and 2^d: float32 has room for 127
    features, float64 for 1023. More are refused as an overflow.

    Parameters
    ----------
    gamma : float, default 1.0
        Finite, not negative.

    Examples
    --------
    >>> from kcore.kernels import ANOVA
    >>> ANOVA(gamma=0.5)([[0.0, 0.0], [0.0, 1.0]]).round(4)
    array([[4.    , 3.2131],
           [3.2131, 4.    ]])
    """

    gamma: float = 1.0
    _leaf: ClassVar[str] = "anova"

    def _formula(self) -> tuple[str, int]:
        return f"prod_t (1 + exp(-{written(self.gamma)} (x_t-z_t)^2))", PRODUCT

    def _reason(self) -> str:
        return "a product of kernels of single features (Schur)"


@dataclass(frozen=True, repr=False)
class Constant(Kernel):
    """The same value for all pairs, K(x, z) = value; of any samples.

    Parameters
    ----------
    value : float, default 1.0
        Finite, not negative.

    Examples
    --------
    >>> from kcore.kernels import Constant, Linear
    >>> (Linear() + Constant(0.5))([[1.0, 2.0]], [[3.0, 0.0]])
    array([[3.5]])
    """

    value: float = 1.0

    def __post_init__(self) -> None:
        set_fields(self, value=as_real(self.value, "value", low=0))

    def _takes_tables(self) -> bool:
        return True

    def _is_selective(self) -> bool:
        return True

    def _formula(self) -> tuple[str, int]:
        return written(self.value), ATOM

    def _reason(self) -> str:
        return "a constant that is not negative"

    def _nodes(self) -> list[Node]:
        return [("constant", (self.value,))]
