"""Learners with a kernel: what kernel, degree, gamma and coef0 stand for, and the points kept."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._base import Estimator, Fitted, as_samples, check_finite, fitted
from kcore._binding import Source, bind, extend, scale_gamma
from kcore._kernel import MAX_DEGREE, Kernel
from kcore._points import (
    CSR,
    Points,
    as_scipy,
    from_core,
    refuse_other_texts,
    take_rows,
    texts_of,
)
from kcore._tables import as_table
from kcore._validate import as_float, as_integer, as_objects, as_reals, brief
from kcore._warn import warn
from kcore.exceptions import IndefiniteKernelWarning
from kcore.rkhs import Reading, outputs_of

Nodes: TypeAlias = list[tuple[str, tuple[Any, ...]]]
Function: TypeAlias = Callable[[Any, Any], Any]  # of two sets of samples
KernelLike: TypeAlias = str | Kernel | Function

_KERNELS = ("linear", "poly", "rbf", "sigmoid", "laplacian")
LINEAR_NODES: Nodes = [("linear", ())]
_VOTES = "average='voted' decides by votes of many functions, not by one that has terms"


class FitKernel(NamedTuple):
    """The kernel of a fit.

    Attributes
    ----------
    nodes : list of (name, parameters) or None
        As the core is told of it; None where it is not the core's to compute.
    compiled : CompiledKernel or None
        The same, made ready.
    samples : Points or UserKernel
        What the core is given: samples, with what functions made of them; or kernel values.
    kernel : Kernel or None
        The kernel object, with gamma as a number; None where it was given by name.
    widths : tuple of int or None
        How many columns functions made of the samples; None where there are none.
    """

    nodes: Nodes | None
    compiled: _core.CompiledKernel | None
    samples: Points | UserKernel
    kernel: Kernel | None = None
    widths: tuple[int, ...] | None = None


class Expansion(Fitted):
    """What the fit of a learner with a kernel leaves behind: a function of the points kept.

    Attributes
    ----------
    function : callable or None
        The kernel, where it is a Python function and was not lost in a pickle.
    vectors : Points or None
        The points that it computes with.
    sparse_type : str or None
        SciPy's class for the points, where X was sparse: ``'csr_array'`` or ``'csr_matrix'``.
    texts : tuple of bool, or None
        Where the samples had strings: of each part of them, whether they are text.
    kept_texts : tuple of bool, or None
        The same for the parts that the core keeps.
    kernel : Kernel or None
        The kernel object that the fit used.
    widths : tuple of int or None
        As in `FitKernel`.
    """

    function: Function | None
    vectors: Points | None
    sparse_type: str | None
    texts: tuple[bool, ...] | None
    kept_texts: tuple[bool, ...] | None
    kernel: Kernel | None
    widths: tuple[int, ...] | None

    def note_kernel(self, points: Points, found: FitKernel) -> None:
        """Store what predictions need to know of the kernel, and of the samples of the fit."""
        self.texts = texts_of(points)
        is_given = isinstance(found.samples, UserKernel)
        self.kept_texts = self.texts if is_given else texts_of(cast("Points", found.samples))
        self.kernel, self.widths = found.kernel, found.widths

    @property
    def are_objects(self) -> bool:
        """Whether the points are no rows of numbers, but objects that a Python function takes."""
        return len(self.shape) == 1

    def _holder(self) -> _core.Model | _core.OnlineLearner:
        """Return what keeps the points in the core."""
        raise NotImplementedError

    def nodes_of(self) -> Nodes | None:
        """Return the kernel as the core was told of it; None where values were given."""
        raise NotImplementedError

    def ids(self) -> NDArray[Any]:
        """Return the numbers of the points kept, among the samples of the fit."""
        raise NotImplementedError

    def core_function(self) -> _core.Function:
        """Return the function that decides, in the core."""
        raise NotImplementedError

    @property
    def is_vote(self) -> bool:
        """Whether it decides by votes of many functions, so that there is no one function."""
        return False

    def function_to_pickle(self) -> Function | None:
        """Return the function; None where it has no name by which it could be found again."""
        try:
            pickle.dumps(self.function)
        except (AttributeError, TypeError, pickle.PicklingError):
            return None
        return self.function

    def support_vectors(self) -> Points | None:
        """Return the points kept in the type of the kernel values; None where there are none."""
        holder = self._holder()
        info = holder.describe()
        if info["is_given"]:
            return self.vectors
        dtype = np.float32 if info["dtype"] == _core.F32 else np.float64
        return cast("Points", from_core(holder.vectors(), dtype, self.kept_texts))

    def read(self, X: Any) -> Points:
        """Return samples to predict: with strings, where the fit had some."""
        table = None if self.texts is None else as_table(X, "X")
        if table is None:
            return as_samples(X)
        refuse_other_texts(table, self.texts, "X", "in the fit")
        return cast("Points", table)

    def given(self, X: Any, points: Points, kernel: Any) -> Points:
        """Return samples with what functions make of them; `kernel` where those were not saved."""
        if self.widths is None:
            return points
        own = self.kernel or kernel
        return cast("Points", extend(own, self.widths, X, points, "X"))


class KernelEstimator(Estimator):
    """Base of learners with a kernel."""

    kernel: KernelLike
    degree: int
    gamma: float | str
    coef0: float
    cache_size: float | str

    _takes_conditional: ClassVar[bool] = False  # its coefficients sum to zero

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = is_given
        tags.input_tags.sparse = not is_given
        return tags

    def _samples(self, X: Any) -> Points:
        """Return `X` as points; for a Python function as kernel they may be any objects."""
        if callable(self.kernel) and not isinstance(self.kernel, Kernel):
            objects = as_objects(X)
            if objects is not None:
                return cast("Points", objects)
        if isinstance(self.kernel, Kernel) and self.kernel._takes_tables():
            table = as_table(X, "X")
            if table is not None:
                return cast("Points", table)
        return as_samples(X)

    def _points_to_predict(self, X: Any, state: Fitted, n_columns: tuple[int, ...] = ()) -> Points:
        assert isinstance(state, Expansion)
        if not state.are_objects:
            return super()._points_to_predict(X, state, n_columns)
        objects = as_objects(X)
        if objects is None:
            raise ValueError(
                f"{type(self).__name__} was fitted to a sequence of objects, such as strings; X "
                "must be one, too"
            )
        return cast("Points", objects)

    def _kernel_of(
        self,
        points: Points,
        weights: NDArray[np.float64] | None,
        run: _core.Run | None = None,
        *,
        X: Any = None,
    ) -> FitKernel:
        """Return the kernel and what it is given: samples, or without a kernel, its values.

        Of a Python function, only the values that are needed are computed. `run` may end the search
        for gamma; `X` is what the user gave, whose columns may have names.
        """
        kernel = self.kernel
        if isinstance(kernel, str):
            if kernel == "precomputed":
                _check_square(points)
                return FitKernel(None, None, points)
            if kernel not in _KERNELS:
                words = ", ".join(map(repr, [*_KERNELS, "precomputed"]))
                raise ValueError(
                    f"kernel must be one of {words}, a kernel of kcore.kernels or a function, "
                    f"got {brief(kernel)}"
                )
            nodes = self._named_kernel(kernel, points, weights, run)
            compiled = _core.CompiledKernel(nodes)
            self._check_definiteness(compiled)
            return FitKernel(nodes, compiled, points)
        if isinstance(kernel, Kernel):
            found = self._bind(kernel, X, points, weights, run)
            assert found.compiled is not None
            self._check_definiteness(found.compiled)
            return found
        if callable(kernel):
            return FitKernel(None, None, UserKernel(kernel, points))
        raise TypeError(
            "kernel must be a name, a kernel of kcore.kernels or a function, "
            f"got {type(kernel).__name__}"
        )

    def _bind(
        self,
        kernel: Kernel,
        X: Any,
        points: Points,
        weights: NDArray[np.float64] | None,
        run: _core.Run | None,
    ) -> FitKernel:
        """Return a kernel object for the samples of a fit."""
        if kernel._is_bound() and not kernel._has_gamma_by_name():
            return FitKernel(kernel._nodes(), kernel._compile(None), points, kernel)
        if run is None:
            run = _core.Run(self._n_threads(), 0.0, None)
        source = Source(X, points, "X", weights=weights, run=run, is_fit=True)
        bound = bind(kernel, source)
        compiled = bound.kernel._compile(bound)
        samples = cast("Points", bound.points)
        return FitKernel(bound.nodes, compiled, samples, bound.kernel, bound.widths)

    def _check_definiteness(self, compiled: _core.CompiledKernel) -> None:
        """Warn where the kernel may make a problem of the learner's that is not convex."""
        known = compiled.definiteness
        if known == "positive" or (known == "conditional" and self._takes_conditional):
            return
        warn(
            f"{type(self).__name__}: the kernel {self.kernel!r} is {known}, not positive "
            "semi-definite: the problem may have several optima",
            IndefiniteKernelWarning,
        )

    def _named_kernel(
        self,
        name: str,
        points: Points,
        weights: NDArray[np.float64] | None,
        run: _core.Run | None,
    ) -> Nodes:
        if name == "linear":
            return LINEAR_NODES
        degree = 0
        if name == "poly":
            degree = self._integer("degree")
            if not 0 <= degree <= MAX_DEGREE:
                raise ValueError(f"degree must be in 0 .. {MAX_DEGREE}, got {degree}")
        coef0 = self._real("coef0") if name in ("poly", "sigmoid") else 0.0
        gamma = self._gamma_of(points, weights, run)
        if name == "poly":
            return [("polynomial", (degree, gamma, coef0))]
        return [(name, (gamma, coef0) if name == "sigmoid" else (gamma,))]

    def _gamma_of(
        self,
        points: Points,
        weights: NDArray[np.float64] | None,
        run: _core.Run | None,
    ) -> float:
        gamma = self.gamma
        if type(gamma) is float and 0 <= gamma < math.inf:
            return gamma
        if isinstance(gamma, str):
            if gamma == "auto":
                return 1.0 / int(points.shape[1])
            if gamma == "scale":
                if run is None:
                    run = _core.Run(self._n_threads(), 0.0, None)
                return scale_gamma(points, weights, run)
        elif (
            isinstance(gamma, Real)
            and not isinstance(gamma, bool | np.bool_)
            and 0 <= as_float(gamma) < math.inf
        ):
            return float(gamma)
        raise ValueError(
            f"gamma must be 'scale', 'auto' or a finite number >= 0, got {brief(gamma)}"
        )

    def _cache_bytes(self) -> int:
        size = self.cache_size
        if isinstance(size, str):
            if size == "auto":
                return 0
        elif isinstance(size, Real) and not isinstance(size, bool) and 0 < size < 2**42:
            return max(1, int(float(size) * 2**20))
        raise ValueError(
            f"cache_size must be 'auto' or a positive number of megabytes, got {brief(size)}"
        )

    def _evaluate(
        self, X: Any, state: Expansion, evaluate: Callable[..., NDArray[Any]], *how: Any
    ) -> NDArray[Any]:
        """Give the model samples, or kernel values with those of the fit."""
        is_matrix = state.vectors is None and state._holder().describe()["is_given"]
        # Kernel values with the points kept alone are enough.
        points = self._points_to_predict(X, state, (len(state.ids()),) if is_matrix else ())
        if state.vectors is None:
            return evaluate(state.given(X, points, self.kernel), *how)
        # That of the fit, since the parameter may be another one now.
        kernel = cast("Function", self.kernel if state.function is None else state.function)
        if not len(state.ids()):  # no values are needed: those with any sample are passed over
            return evaluate(np.broadcast_to(np.zeros(1), (points.shape[0], state.shape[0])), *how)
        vectors = _in_columns(state.vectors, state.ids(), state.shape[0])
        return np.concatenate(
            [evaluate(values, *how) for values in kernel_chunks(kernel, points, vectors)]
        )

    @property
    def kernel_(self) -> KernelLike:
        """The kernel of the fit: an object, with gamma as a number, also where it has a name."""
        state: Expansion = self._state("kernel_")
        if state.kernel is not None:
            return state.kernel
        nodes = state.nodes_of()
        if nodes is not None:
            return named_kernel(nodes)
        return "precomputed" if state.function is None else state.function

    @fitted
    def support_vectors_(self) -> Any:
        """The points kept; an empty array where kernel values were given.

        Of a kernel on functions, they are the columns that are read, and behind them what the
        functions made.
        """
        state: Expansion = self._fitted
        vectors = state.support_vectors()
        if vectors is None:
            return np.empty((0, 0))
        return as_scipy(vectors, state.sparse_type)


class KernelPredictor(KernelEstimator):
    """Base of learners that decide by an expansion: what it is, and what its terms are."""

    @fitted
    def _expansion(self) -> _core.Function:
        return cast("Expansion", self._fitted).core_function()

    @fitted
    def function_(self) -> Any:
        """The function that decides, without its intercept; of several outputs, a tuple."""
        state: Expansion = self._fitted
        nodes = state.nodes_of()
        if state.is_vote:
            raise AttributeError(_VOTES)
        if nodes is None:
            raise AttributeError(
                "function_ needs a kernel of kcore.kernels or its name: with a function or given "
                "kernel values there is no K(x, .) to compute with"
            )
        reading = Reading(
            state.names, nodes, state.shape[1], state.widths, state.texts, state.kept_texts,
            state.sparse_type,
        )  # fmt: skip
        return outputs_of(cast("Kernel", self.kernel_), self._expansion, reading)

    def contributions(
        self, X: Any, *, top: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return which training samples decided, and by how much: the terms a_i K(x_i, x).

        All terms of a sample sum, with `intercept_`, to the value of its decision function.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `predict`.
        top : int, optional
            How many terms are returned of each sample: those of largest absolute value. All of
            them where it is not given.

        Returns
        -------
        indices : ndarray of int64, shape (n_samples, k) or (n_samples, n_outputs, k)
            Numbers of training samples, as in `support_`, the largest term first. Where a model has
            several outputs, such as pairs of classes, these are in the order of `intercept_`. -1
            where a point kept is no training sample, or where an output has less than k terms:
            their values are 0.
        values : ndarray of float64, of the same shape
            The terms.
        """
        state: Expansion = self._state("contributions")
        ids = state.ids()
        n_terms = len(ids)
        if top is not None:
            n_terms = min(n_terms, as_integer(top, "top", low=1, high=2**31 - 1))
        found = []

        def evaluate(points: Points) -> NDArray[np.float64]:
            if state.is_vote:
                _core.check_points(points, b"X")
                raise ValueError(_VOTES)
            found.append(self._expansion.contributions(points, n_terms, self._n_threads()))
            return found[-1][1]

        values = self._evaluate(X, state, evaluate)
        places = found[0][0] if len(found) == 1 else np.concatenate([one[0] for one in found])
        indices = np.append(ids, -1).astype(np.int64)[places]  # -1 takes the last one
        if values.shape[1] == 1:
            return indices[:, 0], values[:, 0]
        return indices, values


def _check_square(points: Points) -> None:
    if isinstance(points, CSR):
        raise TypeError(
            "Sparse precomputed kernels are not taken: kernel='precomputed' takes a dense matrix"
        )
    if points.shape[0] != points.shape[1]:
        check_finite(points)
        raise ValueError(
            "kernel='precomputed' takes the square matrix of kernel values between all samples, "
            f"X has shape {points.shape}"
        )


def named_kernel(nodes: Nodes) -> Kernel:
    """Return the kernel object of a leaf."""
    from kcore import kernels

    (name, params), *_ = nodes
    classes: dict[str, type[Any]] = {
        "linear": kernels.Linear,
        "polynomial": kernels.Polynomial,
        "rbf": kernels.RBF,
        "sigmoid": kernels.Sigmoid,
        "laplacian": kernels.Laplacian,
    }
    made: Kernel = classes[name](
        *(int(p) if name == "polynomial" and k == 0 else p for k, p in enumerate(params))
    )
    return made


def call_kernel(kernel: Function, x: Any, z: Any) -> NDArray[np.float64]:
    """Return the values of a Python function: real numbers, in the shape that they must have."""
    values = as_reals(kernel(x, z), "what the function given as kernel returned")
    if values.shape != (x.shape[0], z.shape[0]):
        raise ValueError(
            f"the function given as kernel returned shape {values.shape} for samples of shape "
            f"{x.shape} and {z.shape}; it must return {(x.shape[0], z.shape[0])}"
        )
    return values


_MAX_VALUE = 1e300  # sums of larger ones overflow


def check_values(values: NDArray[np.float64], begin: int) -> None:
    are_good = np.abs(values) <= _MAX_VALUE
    if not are_good.all():
        i, j = np.argwhere(~are_good)[0]
        raise ValueError(
            f"the function given as kernel returned {values[i, j]} for row {begin + i} of its "
            f"first argument and row {j} of its second"
        )


_WHOLE_SAMPLES = 64  # a call costs as much as all values of so few


class UserKernel:
    """A Python function as the core calls it: for the values of some samples with some others.

    The others are mostly the same from one question to the next, so the last ones are kept. Of few
    samples the function is called once, for all values.

    Attributes
    ----------
    function : callable
        The function.
    shape, dtype
        Of the matrix of all values.
    """

    def __init__(self, kernel: Function, points: Points) -> None:
        self.shape = (points.shape[0], points.shape[0])
        self.dtype = np.dtype(np.float64)
        self.function = kernel
        self._points = points
        self._cols = np.arange(points.shape[0])
        self._others = as_scipy(points)
        self._whole: NDArray[np.float64] | None = None

    def diagonal(self) -> NDArray[np.float64]:
        """Return K(x, x) of all samples."""
        n = self.shape[0]
        places = [np.arange(k, min(k + _WHOLE_SAMPLES, n)) for k in range(0, n, _WHOLE_SAMPLES)]
        values = np.concatenate([np.diag(self(some, some)) for some in places])
        if not np.isfinite(values).all():
            k = int(np.isfinite(values).argmin())
            raise ValueError(
                f"the function given as kernel returned {values[k]} for row {k} of both arguments"
            )
        return values

    def __call__(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.float64]:
        if self.shape[0] <= _WHOLE_SAMPLES:
            if self._whole is None:
                self._whole = call_kernel(self.function, self._others, self._others)
            return self._whole[np.ix_(rows, cols)]
        samples = as_scipy(take_rows(self._points, rows))
        if len(cols) <= len(rows):  # a block beside the rows: not worth forgetting theirs
            others = as_scipy(take_rows(self._points, cols))
            return call_kernel(self.function, samples, others)
        if not np.array_equal(cols, self._cols):
            self._cols, self._others = cols, as_scipy(take_rows(self._points, cols))
        return call_kernel(self.function, samples, self._others)


_CHUNK_VALUES = 2**21  # 16 MB of doubles


def kernel_chunks(
    kernel: Function, points: Points, vectors: Points
) -> Iterator[NDArray[np.float64]]:
    """Give the values of a Python function with the support vectors, some rows at a time."""
    others = as_scipy(vectors)
    n_rows = max(1, _CHUNK_VALUES // max(1, vectors.shape[0]))
    for begin in range(0, points.shape[0], n_rows):
        some = np.arange(begin, min(begin + n_rows, points.shape[0]))
        values = call_kernel(kernel, as_scipy(take_rows(points, some)), others)
        check_values(values, begin)
        yield values


def _in_columns(vectors: Points, support: NDArray[Any], n_samples: int) -> Points:
    """Return support vectors in the order in which the core takes kernel values with them.

    That is theirs, or where all samples are support vectors, that of the samples.
    """
    if len(support) < n_samples:
        return vectors
    return take_rows(vectors, np.argsort(support).astype(np.int32))
