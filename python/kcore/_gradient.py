"""Gradients of kernels: from the numbers of the core's parameters to the names of `get_params`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._threads import n_threads
from kcore._validate import as_points, brief

if TYPE_CHECKING:
    from kcore._kernel import Kernel

Slope: TypeAlias = float | NDArray[np.float64]


class NodeSlopes(NamedTuple):
    """What the core says of one node: slopes by its parameters, by those that are lists."""

    kind: str
    slopes: dict[str, float]
    lists: dict[str, NDArray[np.float64]]  # "column": by the weights of columns


# How the weight of a column changes with its entry of a parameter that is a list: the factors of
# columns are sqrt(gamma) or 1 / length_scale, or gamma for sums of |x - z|; the weights of the
# others are the factors' squares.
_WEIGHT_SLOPES: dict[str, Callable[[NDArray[np.float64]], Slope]] = {
    "gamma": lambda gamma: 1.0,
    "length_scale": lambda length: -2.0 / length**3,
}


class Differentiable:
    """What is differentiated by its parameters: every kernel."""

    __slots__ = ()

    def gradient(
        self,
        X: ArrayLike | Any,
        Z: ArrayLike | Any | None = None,
        *,
        weights: ArrayLike,
        log: bool = False,
        n_jobs: int | None = None,
    ) -> dict[str, Slope]:
        r"""Return the gradient of a weighted sum of kernel values by all real parameters.

        .. math:: \frac{\partial}{\partial \theta} \sum_{ij} G_{ij}\, K_\theta(x_i, z_j)

        for every real parameter :math:`\theta` of the kernel and of the kernels inside of it. Where
        a function f of the Gram matrix is to be improved, G are its derivatives by the entries,
        :math:`G_{ij} = \partial f / \partial K_{ij}`. Neither the Gram matrix nor its derivatives
        are stored.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, d)
            Samples in rows, as for the Gram matrix.
        Z : array_like or sparse matrix of shape (m, d), optional
            The other samples; X where it is not given, at half the work.
        weights : array_like of shape (n, m)
            G: finite, dense; float32 and float64 arrays of any strides are read in place.
        log : bool, default False
            Whether to differentiate by log(theta) instead: theta times the derivative by theta.
        n_jobs : int, optional
            Number of threads, as for the Gram matrix. The result does not depend on it.

        Returns
        -------
        dict of str to float or ndarray
            By the names of `get_params`; arrays for parameters with a number for each column, and
            for the coefficients of a series. Whole numbers, such as ``degree``, and ``nu`` of
            `Matern` are not differentiated; `Periodic` is refused. Values are computed in the
            precision of the Gram matrix, and summed in float64.

        Examples
        --------
        >>> import numpy as np
        >>> from kcore.kernels import RBF, Linear
        >>> X = np.array([[0.0], [1.0], [2.0]])
        >>> kernel = RBF(gamma=0.5) + 2 * Linear()
        >>> found = kernel.gradient(X, weights=np.ones((3, 3)))
        >>> {name: round(value, 2) for name, value in found.items()}
        {'k1__gamma': -3.51, 'k2__factor': 9.0}
        """
        return _gradient(cast("Kernel", self), X, Z, weights, log, n_jobs)

    def _take_slopes(self, nodes: list[NodeSlopes]) -> dict[str, Slope]:
        """Take the kernel's own nodes from the end of the list; return slopes by its parameters.

        The list has no nodes without slopes.
        """
        kernel = cast("Kernel", self)
        own, lists = kernel._params(), kernel._lists()
        if not lists and not any(isinstance(value, float) for value in own.values()):
            return {}
        node = nodes.pop()
        found: dict[str, Slope] = {}
        for name in own:
            if name in lists:
                slope = _WEIGHT_SLOPES[name](np.array(lists[name]))
                found[name] = node.lists["column"] * slope
            elif name in node.slopes:
                found[name] = node.slopes[name]
        return found


def _gradient(
    kernel: Kernel, X: Any, Z: Any | None, weights: Any, log: bool, n_jobs: int | None
) -> dict[str, Slope]:
    if not isinstance(log, bool | np.bool_):
        raise TypeError(f"log must be True or False, got {brief(log)}")
    x = kernel._read(X, "X")
    z = None if Z is None or Z is X else kernel._read(Z, "Z")
    if z is not None:
        kernel._check_alike(X, x, Z, z)
    g = _read_weights(weights, (x.shape[0], (x if z is None else z).shape[0]))
    _refuse_without_gradient(kernel)
    bound = kernel._bound_to(X, x)
    compiled = kernel._compile(bound)
    if bound is not None:
        x = bound.points
        z = None if z is None else bound.like(Z, z, "Z")
    threads = 0 if n_jobs is None else n_threads(n_jobs)
    sums = _core.gradient(compiled, x, z, g, threads)
    slopes = _take(kernel, "", _by_node(_core.kernel_params(compiled), sums))
    if not log:
        return slopes
    values = kernel.get_params()
    return {name: _times(values[name], slope) for name, slope in slopes.items()}


def _times(value: Any, slope: Slope) -> Slope:
    return np.array(value) * slope if isinstance(value, tuple) else value * slope


def _read_weights(weights: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """Return the weights as the core reads them: in place, where they are float32 or float64."""
    read = as_points(weights, "weights")
    if not isinstance(read, np.ndarray):
        raise TypeError("weights must be dense, got a sparse matrix")
    if read.shape != shape:
        raise ValueError(
            f"weights has shape {read.shape}, must be {shape}: a row for each sample of X and a "
            f"column for each of {'Z' if shape[0] != shape[1] else 'Z, or X where Z is not given'}"
        )
    return read


def _refuse_without_gradient(kernel: Kernel) -> None:
    if not kernel._has_gradient:
        raise ValueError(f"{kernel!r} has no gradient by its parameters")
    for inner in kernel._inner():
        _refuse_without_gradient(inner)


def _by_node(
    params: list[tuple[int, str, str, int]], sums: NDArray[np.float64]
) -> list[NodeSlopes]:
    """Return the sums by nodes, the last node first."""
    nodes = []
    numbers = zip(params, sums.tolist(), strict=True)
    for (_, kind), group in groupby(numbers, key=lambda number: number[0][:2]):
        slopes: dict[str, float] = {}
        lists: dict[str, list[float]] = {}
        for (_, _, name, entry), slope in group:
            if entry < 0:
                slopes[name] = slope
            else:
                lists.setdefault(name, []).append(slope)
        arrays = {name: np.array(values) for name, values in lists.items()}
        nodes.append(NodeSlopes(kind, slopes, arrays))
    return nodes[::-1]


def _take(kernel: Kernel, prefix: str, nodes: list[NodeSlopes]) -> dict[str, Slope]:
    """Take what belongs to a kernel from the end of the list; what is inside of it comes first."""
    found: dict[str, Slope] = {}
    for name, value in kernel._params().items():
        if hasattr(value, "_params"):
            found |= _take(value, f"{prefix}{name}__", nodes)
    own = kernel._take_slopes(nodes)
    return found | {prefix + name: slope for name, slope in own.items()}
