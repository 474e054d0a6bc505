"""Values that nobody should hand over, by name, each made anew for every call.

They are made for no argument in particular: what is good for one is hostile for another.
"""

from __future__ import annotations

import array
import decimal
import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import kcore
from kcore import kernels

N, D = 12, 3  # of the good samples


class HostileError(Exception):
    """What hostile objects raise; it may come through."""


def good_samples() -> Any:
    """Samples whose first column says where they belong."""
    X = np.random.default_rng(7).standard_normal((N, D))
    X[:, 0] += np.where(np.arange(N) % 2, 4.0, -4.0)
    return X


def good_strings() -> Any:
    return ["ab", "", "abc"] * (N // 3)


def good_labels() -> Any:
    return np.arange(N) % 2


def with_value(value: Any, dtype: Any = np.float64) -> Any:
    X = good_samples().astype(dtype)
    X[5, 1] = value
    return X


# ---- Objects


def raiser(*methods: str) -> Any:
    """An object whose methods of these names raise."""

    def raise_it(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise HostileError(methods)

    return type("Raiser", (), dict.fromkeys(methods, raise_it))()


def giver(**results: Any) -> Any:
    """An object whose methods return what they should not."""
    methods = {name: (lambda self, *a, value=value, **k: value) for name, value in results.items()}
    return type("Giver", (), methods)()


class Everything:
    """Has every attribute there is."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Everything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Everything()


class Array(np.ndarray):  # type: ignore[type-arg]
    """A subclass that raises when it is indexed."""

    def __getitem__(self, key: Any) -> Any:
        raise HostileError("__getitem__")


def recursive() -> Any:
    found: list[Any] = [1.0]
    found.append(found)
    return found


def deep() -> Any:
    found: Any = 1.0
    for _ in range(200):
        found = [found]
    return found


def misaligned() -> Any:
    X = good_samples()
    raw = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(X.shape)
    raw[:] = X
    return raw


def broken_csr(**parts: Any) -> Any:
    matrix = sp.csr_array(good_samples())
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


def fitted(name: str, n: int = N) -> Any:
    X = np.vstack([good_samples()] * (1 + n // N))[:n]
    return getattr(kcore, name)().fit(X, np.arange(n) % 2)


def kernel_of(result: Any) -> Callable[[Any, Any], Any]:
    """A kernel that returns this, or a function of its arguments."""
    return lambda A, B: result(A, B) if callable(result) else result


def full(A: Any, B: Any, value: Any = 1.0, dtype: Any = np.float64) -> Any:
    return np.full((A.shape[0], B.shape[0]), value, dtype)


def masked(shape: Any) -> Any:
    found = np.ma.ones(shape)
    found[0] = np.ma.masked
    return found


def wide_view(n_rows: int, n_columns: int) -> Any:
    return np.broadcast_to(np.array(1.0), (n_rows, n_columns))


# ---- The values

_SCALARS: dict[str, Any] = {
    "None": None, "True": True, "False": False, "0": 0, "1": 1, "2": 2, "-1": -1, "-2": -2,
    "7": 7, "10**30": 10**30, "-10**30": -(10**30), "2**31": 2**31, "2**31-1": 2**31 - 1,
    "2**62": 2**62, "2**63": 2**63, "2**64": 2**64, "0.0": 0.0, "-0.0": -0.0, "0.5": 0.5,
    "-0.5": -0.5, "1.5": 1.5, "5e-324": 5e-324, "1e-300": 1e-300, "1e-20": 1e-20, "1e20": 1e20,
    "1e308": 1e308, "inf": math.inf, "-inf": -math.inf, "nan": math.nan, "1j": 1j,
    "decimal": decimal.Decimal("0.5"), "decimal NaN": decimal.Decimal("nan"),
    "fraction": fractions.Fraction(1, 3), "float32": np.float32(0.5), "int8": np.int8(-1),
    "float16 inf": np.float16(np.inf), "longdouble": np.longdouble("1e4000"),
    "uint64": np.uint64(2**64 - 1), "np.bool": np.True_, "datetime64": np.datetime64("2020"),
    "NaT": np.datetime64("NaT"), "NA": pd.NA, "void": np.void(b"abcd"),
    "empty string": "", "string": "no such thing", "rbf": "rbf", "linear": "linear",
    "poly": "poly", "sigmoid": "sigmoid", "precomputed": "precomputed", "scale": "scale",
    "auto": "auto", "balanced": "balanced", "ovr": "ovr", "direct": "direct", "voted": "voted",
    "batch": "batch", "inverse": "inverse", "long string": "x" * 10_000, "surrogate": "\ud800",
    "bytes": b"rbf", "np.str": np.str_("linear"), "ellipsis": ..., "NotImplemented": NotImplemented,
    "type": int, "kernel class": kernels.RBF, "estimator class": kcore.SVC, "module": math,
    "builtin": len, "slice": slice(3), "object": object(),
}  # fmt: skip

_OBJECTS: dict[str, Callable[[], Any]] = {
    "raises in __array__": lambda: raiser("__array__", "__len__"),
    "raises in __len__": lambda: raiser("__len__"),
    "raises in __index__": lambda: raiser("__index__"),
    "raises in __float__": lambda: raiser("__float__"),
    "raises in __bool__": lambda: raiser("__bool__"),
    "raises in __eq__": lambda: raiser("__eq__", "__hash__"),
    "raises in __iter__": lambda: raiser("__iter__"),
    "raises in __call__": lambda: raiser("__call__"),
    "raises in __repr__": lambda: raiser("__repr__"),
    "negative length": lambda: giver(__len__=-1, __getitem__=1.0),
    "array of strings inside": lambda: giver(__array__=np.array(["a"])),
    "no array inside": lambda: giver(__array__=3),
    "shape without data": lambda: type("Shape", (), {"shape": (N, D), "dtype": np.dtype(float)})(),
    "odd shape": lambda: type("Shape", (), {"shape": "x", "dtype": 3, "ndim": None})(),
    "everything": Everything,
    "array subclass": lambda: good_samples().view(Array),
    "empty list": list, "empty tuple": tuple, "empty dict": dict, "empty set": set,
    "list of empty lists": lambda: [[], []], "ragged": lambda: [[1.0], [1.0, 2.0]],
    "recursive list": recursive, "deep list": deep, "generator": lambda: (i for i in range(N)),
    "iterator": lambda: iter([1.0, 2.0]), "range": lambda: range(N), "set": lambda: {1, 2, 3},
    "list of strings": lambda: ["a", "b"] * 6, "list of None": lambda: [None] * N,
    "[None]": lambda: [None], "[nan]": lambda: [math.nan], "[0, 0]": lambda: [0, 0],
    "[0, 1]": lambda: [0, 1], "[1, 0]": lambda: [1, 0], "[0, 1, 2]": lambda: [0, 1, 2],
    "['a', 1]": lambda: ["a", 1], "list of lists": lambda: good_samples().tolist(),
    "{0: 1}": lambda: {0: 1.0}, "{0: 2, 1: 3}": lambda: {0: 2.0, 1: 3.0},
    "{5: 1}": lambda: {5: 1.0}, "{0: nan}": lambda: {0: math.nan, 1: 1.0},
    "{0: -1}": lambda: {0: -1.0, 1: 1.0}, "{0: 'x'}": lambda: {0: "x", 1: 1.0},
    "{None: 1}": lambda: {None: 1.0}, "{0: 0}": lambda: {0: 0.0, 1: 0.0},
    "{0: inf}": lambda: {0: math.inf, 1: 1.0}, "{0: [1]}": lambda: {0: [1.0], 1: 1.0},
    "bytearray": lambda: bytearray(24), "memoryview": lambda: memoryview(good_samples()),
    "array.array": lambda: array.array("d", range(N)),
    "strings and None": lambda: ["a", None] * (N // 2),
    "strings and bytes": lambda: ["a", b"a"] * (N // 2),
    "strings with zeros": lambda: ["a", "a\0", ""] * (N // 3),
    "a long string": lambda: ["x" * 1_000_000, *["a"] * (N - 1)],
    "surrogates": lambda: ["\ud800"] * N, "bytes in a list": lambda: [b"a", b""] * (N // 2),
    "Delta": kernels.Delta, "table kernel": lambda: kernels.Delta().on(0) + kernels.RBF().on([1]),
    "RBF": kernels.RBF, "kernel tree": lambda: kernels.RBF() + kernels.Linear() ** 2,
    "SVC": kcore.SVC, "fitted SVC": lambda: fitted("SVC"), "fitted SVR": lambda: fitted("SVR"),
    "fitted on more": lambda: fitted("SVC", 30), "fitted perceptron": lambda: fitted("Perceptron"),
    "generator of numbers": lambda: np.random.default_rng(1),
    "RandomState": lambda: np.random.RandomState(1),
}  # fmt: skip

_FUNCTIONS: dict[str, Callable[[], Any]] = {
    "function of two": lambda: kernel_of(lambda A, B: np.asarray(A @ B.T)),
    "function that raises": lambda: raiser("__call__"),
    "function: None": lambda: kernel_of(None),
    "function: True": lambda: lambda *a: True,
    "function: array": lambda: lambda *a: np.zeros(3),
    "function: nan": lambda: lambda *a: math.nan,
    "function: string": lambda: lambda *a: "x",
    "function: zero": lambda: lambda *a: 0.0,
    "function: negative": lambda: lambda *a: -1.0,
    "function: all nan": lambda: kernel_of(lambda A, B: full(A, B, math.nan)),
    "function: inf": lambda: kernel_of(lambda A, B: full(A, B, math.inf)),
    "function: huge": lambda: kernel_of(lambda A, B: full(A, B, 1e308)),
    "function: complex": lambda: kernel_of(lambda A, B: full(A, B, 1j, complex)),
    "function: strings": lambda: kernel_of(lambda A, B: full(A, B, "1", "U1")),
    "function: objects": lambda: kernel_of(lambda A, B: full(A, B, None, object)),
    "function: masked": lambda: kernel_of(lambda A, B: masked((A.shape[0], B.shape[0]))),
    "function: sparse": lambda: kernel_of(lambda A, B: sp.csr_array(full(A, B))),
    "function: wrong shape": lambda: kernel_of(lambda A, B: np.ones((A.shape[0] + 1, 2))),
    "function: 3-D": lambda: kernel_of(lambda A, B: np.ones((A.shape[0], B.shape[0], 1))),
    "function: changes its input": lambda: kernel_of(_spoil),
}


def _spoil(A: Any, B: Any) -> Any:
    values = np.asarray(A @ B.T)
    if isinstance(A, np.ndarray) and A.flags.writeable:
        A[:] = math.nan
    return values


_ARRAYS: dict[str, Callable[[], Any]] = {
    "good X": good_samples, "good y": good_labels,
    "float32": lambda: good_samples().astype(np.float32),
    "Fortran": lambda: np.asfortranarray(good_samples()),
    "negative strides": lambda: good_samples()[::-1, ::-1],
    "read-only": lambda: np.broadcast_to(good_samples(), (N, D)),
    "misaligned": misaligned, "big-endian": lambda: good_samples().astype(">f8"),
    "integers": lambda: good_samples().astype(int), "booleans": lambda: good_samples() > 0,
    "complex": lambda: good_samples() + 1j, "objects": lambda: good_samples().astype(object),
    "objects with None": lambda: with_value(None, object),
    "objects with text": lambda: with_value("x", object),
    "objects with lists": lambda: with_value([1.0], object),
    "strings": lambda: good_samples().astype(str),
    "array of bytes": lambda: good_samples().astype("S8"),
    "dates": lambda: good_samples().astype("M8[s]"),
    "durations": lambda: good_samples().astype("m8[s]"),
    "records": lambda: np.zeros(N, [("a", float), ("b", int)]),
    "2-D records": lambda: np.zeros((N, D), [("a", float)]),
    "with NaN": lambda: with_value(math.nan), "with inf": lambda: with_value(math.inf),
    "with -inf": lambda: with_value(-math.inf), "with 1e200": lambda: with_value(1e200),
    "with 1e308": lambda: with_value(1e308), "with 5e-324": lambda: with_value(5e-324),
    "float32 with 1e30": lambda: with_value(1e30, np.float32),
    "float16 with inf": lambda: with_value(np.inf, np.float16),
    "longdouble beyond": lambda: with_value(np.longdouble("1e4000"), np.longdouble),
    "all 1e155": lambda: np.full((N, D), 1e155), "all 1e-160": lambda: np.full((N, D), 1e-160),
    "all equal": lambda: np.ones((N, D)), "masked": lambda: masked((N, D)),
    "np.matrix": lambda: np.asmatrix(good_samples()),
    "0-D": lambda: np.array(1.0), "1-D": lambda: good_samples()[0],
    "3-D": lambda: np.ones((2, 2, 2)),
    "no rows": lambda: np.ones((0, D)), "no columns": lambda: np.ones((N, 0)),
    "nothing": lambda: np.ones((0, 0)), "empty 1-D": lambda: np.ones(0),
    "one row": lambda: np.ones((1, D)), "fewer rows": lambda: good_samples()[:7],
    "more rows": lambda: np.vstack([good_samples()] * 2),
    "fewer columns": lambda: good_samples()[:, :2],
    "more columns": lambda: np.ones((N, D + 2)), "square": lambda: np.eye(N),
    "square with NaN": lambda: np.full((N, N), math.nan),
    "2**58 rows": lambda: wide_view(2**58, 1), "2**40 rows": lambda: wide_view(2**40, D),
    "2**31 rows": lambda: wide_view(2**31, D), "2**40 columns": lambda: wide_view(N, 2**40),
    "2**58 entries": lambda: np.broadcast_to(np.array(1.0), (2**58,)),
    "one label": lambda: np.zeros(N, int), "labels as floats": lambda: good_labels() + 0.0,
    "labels as text": lambda: np.array(["a", "b"])[good_labels()],
    "labels as objects": lambda: good_labels().astype(object),
    "labels of both kinds": lambda: np.array([0, "a"] * 6, dtype=object),
    "labels with None": lambda: np.array([0, None] * 6, dtype=object),
    "labels with NaN": lambda: np.array([0.0, math.nan] * 6),
    "three labels": lambda: np.arange(N) % 3, "all labels differ": lambda: np.arange(N),
    "large labels": lambda: np.array([0, 2**64 - 1] * 6, np.uint64),
    "continuous": lambda: np.linspace(0.1, 0.9, N), "column": lambda: good_labels()[:, None],
    "two columns": lambda: np.ones((N, 2)), "fewer labels": lambda: good_labels()[:7],
    "more labels": lambda: np.arange(2 * N) % 2, "complex labels": lambda: good_labels() * 1j,
    "date labels": lambda: good_labels().astype("M8[D]"), "zeros": lambda: np.zeros(N),
    "ones": lambda: np.ones(N), "negative": lambda: -np.ones(N),
    "one negative": lambda: np.r_[-1e-9, np.ones(N - 1)],
    "one NaN": lambda: np.r_[math.nan, np.ones(N - 1)],
    "one inf": lambda: np.r_[math.inf, np.ones(N - 1)],
    "huge": lambda: np.full(N, 1e308), "tiny": lambda: np.full(N, 5e-324),
    "far apart": lambda: np.logspace(-300, 300, N), "one positive": lambda: np.eye(N)[0],
    "(1, n)": lambda: np.zeros((1, N)), "(1, n) of NaN": lambda: np.full((1, N), math.nan),
    "(1, n) huge": lambda: np.full((1, N), 1e308), "out": lambda: np.empty((N, N)),
}  # fmt: skip

_SPARSE: dict[str, Callable[[], Any]] = {
    **{
        form: (lambda form=form: sp.csr_array(good_samples()).asformat(form))
        for form in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")
    },
    "csr_matrix": lambda: sp.csr_matrix(good_samples()),
    "csr of integers": lambda: sp.csr_array(good_samples().astype(int)),
    "csr of booleans": lambda: sp.csr_array(good_samples() > 0),
    "csr of complex": lambda: sp.csr_array(good_samples() + 1j),
    "csr with NaN": lambda: sp.csr_array(with_value(math.nan)),
    "csr with inf": lambda: sp.csr_array(with_value(math.inf)),
    "csr without rows": lambda: sp.csr_array((0, D)),
    "csr without columns": lambda: sp.csr_array((N, 0)),
    "csr of zeros": lambda: sp.csr_array((N, D)),
    "csr of 2**40 columns": lambda: sp.csr_array(
        (np.ones(N), np.arange(N, dtype=np.int64) * 2**36, np.arange(N + 1, dtype=np.int64)),
        shape=(N, 2**40),
    ),
    "1-D sparse": lambda: sp.coo_array(np.ones(N)),
    "sparse labels": lambda: sp.csr_array(good_labels()[:, None]),
    "csr without indices": lambda: broken_csr(indices=None),
    "csr without data": lambda: broken_csr(data=None),
    "csr without indptr": lambda: broken_csr(indptr=None),
    "csr of lists": lambda: broken_csr(indices=[0] * N * D),
    "csr of float indices": lambda: broken_csr(indices=np.zeros(N * D)),
    "csr of strings": lambda: broken_csr(data=np.full(N * D, "x")),
}

_FRAMES: dict[str, Callable[[], Any]] = {
    "frame": lambda: pd.DataFrame(good_samples(), columns=list("abc")),
    "frame with other names": lambda: pd.DataFrame(good_samples(), columns=list("xyz")),
    "frame with equal names": lambda: pd.DataFrame(good_samples(), columns=list("aaa")),
    "frame with mixed names": lambda: pd.DataFrame(good_samples(), columns=["a", 1, 2.0]),
    "frame with numbers as names": lambda: pd.DataFrame(good_samples()),
    "frame with text": lambda: pd.DataFrame({"a": ["x"] * N, "b": range(N)}),
    "frame with NA": lambda: pd.DataFrame(good_samples()).astype("Float64").mask(lambda f: f > 4),
    "frame of categories": lambda: pd.DataFrame(good_samples()).astype("category"),
    "frame of dates": lambda: pd.DataFrame({"a": pd.date_range("2020", periods=N)}),
    "frame of sparse": lambda: pd.DataFrame(good_samples()).astype(pd.SparseDtype("float")),
    "empty frame": pd.DataFrame, "series": lambda: pd.Series(good_labels()),
    "series of text": lambda: pd.Series(["a", "b"] * 6),
    "series of categories": lambda: pd.Series(["a", "b"] * 6, dtype="category"),
    "series with NA": lambda: pd.Series([0, None] * 6, dtype="Int64"),
    "series with an index": lambda: pd.Series(good_labels(), index=range(100, 100 + N)),
    "polars": lambda: pl.DataFrame(good_samples()),
    "polars with null": lambda: pl.DataFrame({"a": [1.0, None] * 6}),
    "table": lambda: pd.DataFrame({"a": ["x", ""] * (N // 2), "b": range(N), "c": 1.5}),
    "table with None": lambda: pd.DataFrame({"a": ["x", None] * (N // 2), "b": range(N)}),
    "polars table": lambda: pl.DataFrame({"a": ["x", "y"] * (N // 2), "b": [1.0] * N}),
    "polars text": lambda: pl.DataFrame({"a": ["x"] * N}),
    "polars series": lambda: pl.Series("y", good_labels()),
}  # fmt: skip


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


VALUES: dict[str, Callable[[], Any]] = {
    **{f"scalar {name}": _constant(value) for name, value in _SCALARS.items()},
    **_OBJECTS,
    **_FUNCTIONS,
    **_ARRAYS,
    **_SPARSE,
    **_FRAMES,
}
