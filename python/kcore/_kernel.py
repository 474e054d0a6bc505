"""What all kernels are, and the kernel of some columns; `kcore.kernels` has them all.

What makes kernels of kernels is in `kcore._combinations`, which is built on this: the operators
below import it when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._binding import Bound, Scope, Source, bind
from kcore._gradient import Differentiable
from kcore._points import AnyPoints, Float, refuse_other_texts, texts_of
from kcore._tables import as_table
from kcore._threads import n_threads
from kcore._validate import (
    as_points,
    brief,
    check_out,
    feature_names,
)

if TYPE_CHECKING:
    from kcore._columns import Columns
    from kcore._combinations import Normalized, Power, Product, Scaled, Sum
    from kcore._readings import ReadLike
    from kcore.rkhs import Function

MAX_DEGREE = 1000

Definiteness: TypeAlias = Literal["positive", "conditional", "indefinite"]
Node: TypeAlias = tuple[str, tuple[Any, ...]]
_K = TypeVar("_K", bound="Kernel")

# How tightly the operators of repr, and those of formulas, bind.
SUM, PRODUCT, POWER, ATOM = range(4)


class Kernel(Differentiable):
    """Base of all kernels: what they share is here, what they are is in their fields.

    Kernels are values: immutable, hashable, equal where class and parameters are equal, and
    picklable. A parameter is changed by making a new kernel with `replace`.
    """

    __slots__ = ("_compiled",)  # the parameters are in __dict__, what is made from them is not
    __array_ufunc__ = None  # np.float64(2) * kernel is left to __rmul__

    _binding: ClassVar[int] = ATOM
    _by_column: ClassVar[tuple[str, ...]] = ()  # parameters that may be a number for each column
    _has_gradient: ClassVar[bool] = True  # by all its real parameters
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
        x = self._read(X, "X")
        z = None if Z is None or Z is X else self._read(Z, "Z")
        if z is not None:
            self._check_alike(X, x, Z, z)
        bound = self._bound_to(X, x)
        compiled, x = self._compile(bound), x if bound is None else bound.points
        if z is not None and bound is not None:
            z = bound.like(Z, z, "Z")
        if out is not None:
            check_out(out, (x.shape[0], x.shape[0] if z is None else z.shape[0]), x, z)
        return _core.gram(compiled, x, z, out, 0 if n_jobs is None else n_threads(n_jobs))

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
        x = self._read(X, "X")
        bound = self._bound_to(X, x)
        compiled, x = self._compile(bound), x if bound is None else bound.points
        if out is not None:
            check_out(out, (x.shape[0],), x)
        return _core.diag(compiled, x, out, 0 if n_jobs is None else n_threads(n_jobs))

    def section(self, X: ArrayLike | Any) -> Function:
        """Return the function K(x, .) of the kernel's space: `kcore.rkhs`.

        Parameters
        ----------
        X : array_like of shape (d,) or (1, d), str, or data frame of one row
            The sample x.

        Examples
        --------
        >>> from kcore.kernels import Polynomial
        >>> f = Polynomial(degree=2).section([1.0, 2.0])
        >>> f([[0.0, 1.0], [1.0, 1.0]])
        array([ 9., 16.])
        """
        from kcore.rkhs import section  # which knows of kernels

        return section(self, X)

    @property
    def definiteness(self) -> Definiteness:
        """What is known of every Gram matrix of this kernel.

        ``'positive'``: positive semi-definite, whatever the samples (up to rounding);
        ``'conditional'``: c'Kc >= 0 for all coefficients c that sum to zero, which is enough for
        `SVC`, `NuSVC`, `SVR`, `NuSVR` and `KernelPCA`;
        ``'indefinite'``: it may have negative eigenvalues.

        Examples
        --------
        >>> from kcore.kernels import RBF, Sigmoid
        >>> RBF().definiteness, (RBF() * Sigmoid()).definiteness
        ('positive', 'indefinite')
        """
        return _core.CompiledKernel(self._without_columns()._nodes()).definiteness

    def why(self) -> str:
        """Return why the kernel is as definite as `definiteness` says: a line for each operand.

        Examples
        --------
        >>> from kcore.kernels import RBF, Sigmoid
        >>> print((RBF(0.5) * Sigmoid()).why())
        indefinite: a product needs positive kernels (Schur), k2 is indefinite
          k1 = RBF(gamma=0.5): positive: |x-z|^2 is conditionally negative, exp(-gamma ...) of it \
positive (Schoenberg)
          k2 = Sigmoid(gamma=1.0, coef0=0.0): indefinite: tanh of an inner product is not positive \
in general
        """
        return "\n".join(self._derivation())

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

    def replace(self: _K, /, **params: Any) -> _K:
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
        return self._remade(own)

    # ---- Algebra

    def __add__(self, other: Kernel) -> Sum:
        from kcore._combinations import Sum

        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: object) -> Kernel:
        """Return 0 + K, so that ``sum(kernels)`` works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def __sub__(self, other: Kernel) -> Sum:
        from kcore._combinations import Scaled, Sum

        return Sum(self, Scaled(-1, other)) if isinstance(other, Kernel) else NotImplemented

    def __neg__(self) -> Scaled:
        from kcore._combinations import Scaled

        return Scaled(-1, self)

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        from kcore._combinations import Product

        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: float) -> Scaled:
        from kcore._combinations import Scaled

        if isinstance(other, Real):
            return Scaled(other, self)
        return NotImplemented

    def __pow__(self, degree: int) -> Power:
        from kcore._combinations import Power

        return Power(self, degree)

    def normalized(self) -> Normalized:
        """Return the kernel K(x, z) / sqrt(K(x, x) K(z, z)), and 0 where K(x, x) or K(z, z) is 0.

        Examples
        --------
        >>> from kcore.kernels import Linear
        >>> Linear().normalized()([[1.0, 0.0], [2.0, 2.0]]).round(4)
        array([[1.    , 0.7071],
               [0.7071, 1.    ]])
        """
        from kcore._combinations import Normalized

        return Normalized(self)

    def on(self, phi: ReadLike) -> Kernel:
        r"""Return the kernel of phi(x) and phi(z): columns, a linear map, or a function.

        .. math:: (x, z) \mapsto K(\phi(x), \phi(z))

        phi is applied once to each sample, never to pairs. What the kernel itself reads is counted
        among what phi gives: ``K.on(A).on([2, 3])`` reads A times columns 2 and 3.

        Parameters
        ----------
        phi : int, str, slice, sequence of int, str or bool, 2-D array, or callable
            Columns: numbers (negative ones count from the last), names of the columns of a data
            frame, or a mask.

            A matrix of shape (m, d) is the linear map x -> A x, computed by the core: the same
            bits for any storage of the samples and any number of threads.

            A function is called once with all samples: an array, a sparse matrix where they are
            sparse, of a data frame a data frame (of the columns that it is applied to), of strings
            an array of str or bytes. It returns finite numbers, a row for each sample (or a number
            for each), as many columns for all samples. Each row must depend on its own sample
            alone, which a fit tries on one of them. A model keeps what it made of the points kept,
            and calls it once with the samples to predict.

        Examples
        --------
        >>> import numpy as np
        >>> from kcore.kernels import RBF, Linear
        >>> kernel = RBF(0.5).on([0, 2]) * Linear().on(slice(1, None))
        >>> kernel([[1.0, 2.0, 0.0], [1.0, 3.0, 1.0]]).round(4)
        array([[ 4.    ,  3.6392],
               [ 3.6392, 10.    ]])
        >>> Linear().on([[1.0, 1.0]])([[1.0, 2.0], [0.5, 0.5]])
        array([[9., 3.],
               [3., 1.]])
        >>> Linear().on(np.abs)([[1.0, -2.0]])
        array([[5.]])
        """
        from kcore._readings import read_through

        return read_through(self, phi)

    def feature_map(
        self,
        *,
        degree: int | None = None,
        n_components: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Return a transformer phi with phi(x).phi(z) = K(x, z), to be fitted to samples.

        Exact for `Linear` and `Polynomial`. Of `RBF` with `degree` the Taylor map, which knows a
        bound of its error; of `RBF`, `Laplacian` and `Matern` with `n_components` random Fourier
        features. `kcore.maps` has the classes, and `kcore.Nystroem` for all other kernels.

        Parameters
        ----------
        degree : int, optional
            Of the Taylor map.
        n_components : int, optional
            Columns of random Fourier features.
        random_state : int, Generator, RandomState or None, optional
            Of their frequencies.
        n_jobs : int, optional
            Threads of theirs.

        Examples
        --------
        >>> from kcore.kernels import Polynomial
        >>> Polynomial(degree=2, coef0=1).feature_map().fit_transform([[2.0]]).round(4)
        array([[1.    , 2.8284, 4.    ]])
        """
        from kcore._feature_maps import feature_map  # learners know kernels, not kernels them

        return feature_map(self, degree, n_components, random_state, n_jobs)

    # ---- Values: printed, copied, pickled

    def __repr__(self) -> str:
        params = (f"{name}={shown(value)}" for name, value in self._params().items())
        return f"{type(self).__name__}({', '.join(params)})"

    def __str__(self) -> str:
        """Return the formula with its parameters, to be read by people; `repr` evaluates."""
        return self._formula()[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._params().values())

    def __copy__(self: _K) -> _K:
        return self

    def __deepcopy__(self: _K, memo: object) -> _K:
        return self

    def __sklearn_clone__(self: _K) -> _K:
        return self

    # ---- For the core

    def _read(self, X: Any, name: str) -> AnyPoints:
        """Return samples as the core reads them."""
        table = as_table(X, name) if self._takes_tables() else None
        return as_points(X, name) if table is None else table

    def _check_alike(self, X: Any, x: AnyPoints, Z: Any, z: AnyPoints) -> None:
        """Refuse columns of Z that are not those of X, where that shows by names or kinds."""
        refuse_other_texts(z, texts_of(x), "Z", "in X")
        if self._is_bound():
            return
        names, others = feature_names(X), feature_names(Z)
        if names is not None and others is not None and names.tolist() != others.tolist():
            raise ValueError("Z must have the columns of X, by the same names in the same order")

    def _takes_tables(self) -> bool:
        """Whether samples may have strings: a leaf reads them, or each says what it reads."""
        return self._reads_strings() or self._is_selective()

    def _reads_strings(self) -> bool:
        return any(kernel._reads_strings() for kernel in self._inner())

    def _is_selective(self) -> bool:
        """Whether all leaves read selections of columns."""
        inner = self._inner()
        return bool(inner) and all(kernel._is_selective() for kernel in inner)

    def _params(self) -> dict[str, Any]:
        """Return the parameters, in the order in which the class takes them."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}

    def _compile(self, bound: Bound | None) -> _core.CompiledKernel:
        """Return the kernel as the core has it, bound to samples; None: as it is."""
        if bound is not None:
            return _core.CompiledKernel(bound.nodes)
        try:
            return self._compiled
        except AttributeError:
            pass
        compiled = _core.CompiledKernel(self._nodes())
        # Two threads may both come here: either's result will do.
        object.__setattr__(self, "_compiled", compiled)
        return compiled

    def _inner(self) -> list[Kernel]:
        return [value for value in self._params().values() if isinstance(value, Kernel)]

    def _for_columns(self: _K, columns: Columns) -> Kernel:
        """Return the kernel that stands for this one where it reads these columns."""
        return self

    def _is_bound(self) -> bool:
        """Whether the core can be told all without samples: names, slices, functions need them."""
        return not self._lists() and all(kernel._is_bound() for kernel in self._inner())

    def _lists(self) -> dict[str, tuple[float, ...]]:
        """Return the parameters that are given for each column."""
        values = {name: getattr(self, name) for name in self._by_column}
        return {name: value for name, value in values.items() if isinstance(value, tuple)}

    def _has_gamma_by_name(self) -> bool:
        """Whether a leaf has gamma='scale' or 'auto', which a fit finds."""
        if inner := self._inner():
            return any(kernel._has_gamma_by_name() for kernel in inner)
        return isinstance(getattr(self, "gamma", None), str)

    def _bound_to(self, X: Any, points: AnyPoints) -> Bound | None:
        """Return the kernel for these samples, `X` as it was given; None where it needs none."""
        if self._has_gamma_by_name():
            raise ValueError(
                f"{self!r}: gamma by name is found by a fit, of the samples that it gets; give a "
                "number here, or take kernel_ of a fitted model"
            )
        return None if self._is_bound() else bind(self, Source(X, points, "X"))

    def _resolve(self, scope: Scope) -> Kernel:
        """Return the kernel with gamma as a number, where it is 'scale' or 'auto'."""
        if self._inner():
            return self._with_inner(lambda kernel: kernel._resolve(scope))
        gamma = getattr(self, "gamma", None)
        return self.replace(gamma=scope.gamma(gamma)) if isinstance(gamma, str) else self

    def _bind(self, scope: Scope) -> Kernel:
        """Return the kernel of samples with numbers for columns, and no functions."""
        if self._inner():
            return self._with_inner(lambda kernel: kernel._bind(scope))
        for name, values in self._lists().items():
            if len(values) != scope.n_columns:
                raise ValueError(
                    f"{name} of {type(self).__name__} has {len(values)} entries, and it reads "
                    f"{scope.n_columns} columns of {scope.source.name}"
                )
        return Read(self, tuple(scope.nodes()))

    def _with_inner(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        """Return the kernel with other ones inside."""
        params = self._params().values()
        return type(self)(*[change(v) if isinstance(v, Kernel) else v for v in params])

    def _without_columns(self) -> Kernel:
        """Return the kernel that reads all columns everywhere: it is as definite."""
        if self._inner():
            return self._with_inner(lambda kernel: kernel._without_columns())
        return self.replace(gamma=1.0) if self._has_gamma_by_name() else self

    def _nodes(self) -> list[Node]:
        """Return the expression in postfix order."""
        raise NotImplementedError

    def _remade(self: _K, params: dict[str, Any]) -> _K:
        """Return a kernel of this class with these parameters, which are all."""
        return type(self)(*params.values())

    def _inside(self, binding: int) -> str:
        """Return the repr, in parentheses unless it binds at least so tightly."""
        return repr(self) if self._binding >= binding else f"({self!r})"

    # ---- In words

    def _formula(self) -> tuple[str, int]:
        """Return the formula, and how tightly its operators bind."""
        return repr(self), self._binding

    def _formula_inside(self, binding: int) -> str:
        text, own = self._formula()
        return text if own >= binding else f"({text})"

    def _reason(self) -> str:
        """Return why the kernel is as definite as it is, given how definite its operands are."""
        raise NotImplementedError

    def _derivation(self) -> list[str]:
        lines = [f"{self.definiteness}: {self._reason()}"]
        for name, kernel in self._params().items():
            if isinstance(kernel, Kernel):
                first, *rest = kernel._derivation()
                lines += [f"  {name} = {kernel!r}: {first}", *(f"  {line}" for line in rest)]
        return lines


def _fields(kernel: Kernel) -> tuple[Any, ...]:
    return fields(kernel)  # type: ignore[arg-type]  # every kernel that exists is a dataclass


def set_fields(kernel: Kernel, /, **values: object) -> None:
    """Store checked parameters; only for use while a kernel is being made."""
    for name, value in values.items():
        object.__setattr__(kernel, name, value)


def shown(value: object) -> str:
    """Return what repr shows of a parameter: numbers for each column are a list."""
    return repr([*value]) if isinstance(value, tuple) else repr(value)


def check_kernel(value: object, name: str) -> None:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be a Kernel, got {brief(value)}")


@dataclass(frozen=True, repr=False)
class Read(Kernel):
    """A leaf with the steps that lead to what it reads, as the core is told of them."""

    leaf: Kernel
    steps: tuple[Node, ...]

    def _nodes(self) -> list[Node]:
        return [*self.leaf._nodes(), *self.steps]
