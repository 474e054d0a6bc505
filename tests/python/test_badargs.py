"""Every rejected argument, its exception and its words."""

import gc
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import kcore
from kcore.kernels import (
    RBF,
    Exponential,
    Laplacian,
    Linear,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Sum,
    exp,
)

ENCODE = "Encode categories first, as with scikit-learn's OneHotEncoder"
NO_STRINGS = (
    f" holds strings; kernels of numbers do not take them. {ENCODE}, or take a kernel of strings, "
    "such as kcore.kernels.Delta"
)
FILL_IN = "Fill in missing values first, as with scikit-learn's SimpleImputer"

X = np.arange(12.0).reshape(4, 3)


def rejects(exception, words, call, *args, **kwargs):
    """The call raises this exception, with exactly these words."""
    with pytest.raises(exception, match=f"^{re.escape(words)}$") as caught:
        call(*args, **kwargs)
    assert type(caught.value) is exception


def with_entry(place, value, dtype=np.float64):
    changed = X.astype(dtype)
    changed[place] = value
    return changed


# ---- Parameters


GAMMA = "gamma must be a finite number >= 0, got "
DEGREE = "degree must be an integer in 0 .. 1000, got "


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Sigmoid, Polynomial])
@pytest.mark.parametrize(
    ("value", "exception", "shown"),
    [
        (-1, ValueError, "-1"),
        (-1e-300, ValueError, "-1e-300"),
        (np.nan, ValueError, "nan"),
        (np.inf, ValueError, "inf"),
        (10**400, ValueError, "1" + 36 * "0" + "..."),
        (None, TypeError, "None"),
        (True, TypeError, "True"),
        (1j, TypeError, "1j"),
    ],
)
def test_gamma_is_a_finite_number_not_below_0(kernel, value, exception, shown):
    rejects(exception, GAMMA + shown, kernel, gamma=value)


@pytest.mark.parametrize("kernel", [RBF, Laplacian, Sigmoid, Polynomial])
def test_gamma_by_name_is_one_that_a_fit_knows(kernel):
    text = GAMMA.replace(", got", ", a list with one for each column, 'scale' or 'auto', got")
    rejects(ValueError, text + "'1'", kernel, gamma="1")


@pytest.mark.parametrize("make", [lambda n: Polynomial(degree=n), lambda n: RBF() ** n])
@pytest.mark.parametrize(
    ("value", "exception", "shown"),
    [
        (-1, ValueError, "-1"),
        (1001, ValueError, "1001"),
        (10**30, ValueError, "1" + 30 * "0"),
        (2.0, TypeError, "2.0"),
        ("2", TypeError, "'2'"),
        (True, TypeError, "True"),
        (None, TypeError, "None"),
    ],
)
def test_degree_is_an_integer_up_to_1000(make, value, exception, shown):
    rejects(exception, DEGREE + shown, make, value)


@pytest.mark.parametrize("kernel", [Sigmoid, Polynomial])
def test_coef0_is_a_finite_number(kernel):
    rejects(ValueError, "coef0 must be a finite number, got inf", kernel, coef0=np.inf)
    rejects(TypeError, "coef0 must be a finite number, got 'x'", kernel, coef0="x")


def test_a_factor_is_a_finite_number():
    words = "factor must be a finite number, got "
    rejects(ValueError, words + "nan", lambda: RBF() * float("nan"))
    rejects(TypeError, words + "True", lambda: True * RBF())


def test_only_kernels_are_combined():
    rejects(TypeError, "kernel must be a Kernel, got 3", exp, 3)
    rejects(TypeError, "kernel must be a Kernel, got 'RBF'", Exponential, "RBF")
    rejects(TypeError, "kernel must be a Kernel, got 2", Scaled, 1, 2)
    rejects(TypeError, "k2 must be a Kernel, got 2", Sum, RBF(), 2)
    rejects(TypeError, "k1 must be a Kernel, got 2", Product, 2, RBF())
    for combine in (
        lambda: RBF() + 1,
        lambda: 1 + RBF(),
        lambda: RBF() - 1,
        lambda: RBF() * "a",
        lambda: RBF() / 2,
        lambda: np.ones(3) * RBF(),
        lambda: RBF() * np.ones(3),
        lambda: np.ones((2, 2)) + RBF(),
    ):
        with pytest.raises(TypeError):  # the words are Python's
            combine()


def test_replace_knows_its_parameters():
    rejects(ValueError, "RBF has no parameter 'gama'; it has: gamma", RBF().replace, gama=1)
    rejects(ValueError, "RBF has no parameter 'gamma__x'; it has: gamma", RBF().replace, gamma__x=1)
    rejects(ValueError, "Linear has no parameter 'x'; it has: none", Linear().replace, x=1)
    rejects(
        ValueError,
        "Scaled has no parameter 'k1'; it has: factor, kernel, kernel__gamma",
        (2 * RBF()).replace, k1=1,
    )  # fmt: skip
    rejects(ValueError, GAMMA + "-1", (2 * RBF()).replace, kernel__gamma=-1)


def test_an_expression_has_a_largest_size():
    kernel = sum(RBF() for _ in range(501))
    rejects(ValueError, "kernel has 1001 nodes, must have at most 1000", kernel, X)


# ---- Samples


@pytest.mark.parametrize("name", ["X", "Z"])
@pytest.mark.parametrize(
    ("value", "exception", "words"),
    [
        (
            [1.0, 2.0, 3.0],
            ValueError,
            " must be 2-D, got shape (3,); reshape it to (1, 3) if it is one sample, "
            "to (3, 1) if it is one feature",
        ),
        (3.0, ValueError, " must be 2-D, got shape ()"),
        (X[None], ValueError, " must be 2-D, got shape (1, 4, 3)"),
        (X[:0], ValueError, " has no rows, got shape (0, 3)"),
        (X[:, :0], ValueError, " has no columns, got shape (4, 0)"),
        ([], ValueError, " must be 2-D, got shape (0,)"),
        ([[]], ValueError, " has no columns, got shape (1, 0)"),
        (sp.csr_array((0, 3)), ValueError, " has no rows, got shape (0, 3)"),
        (sp.csr_array((4, 0)), ValueError, " has no columns, got shape (4, 0)"),
        ({"a": 1}, TypeError, " must be a 2-D array, got {'a': 1}"),
        ("abc", TypeError, NO_STRINGS),
        (b"abc", TypeError, NO_STRINGS),
        (["ab", "cd"], TypeError, NO_STRINGS),
        ([["a", "b"]], TypeError, NO_STRINGS),
        ([[b"a"]], TypeError, NO_STRINGS),
        (
            np.array([["a", 1.0]], object),
            TypeError,
            NO_STRINGS,
        ),
        (
            [[1.0, None]],
            TypeError,
            " has dtype object: row 0, column 1 is None; kernels take real numbers",
        ),
        (
            X.astype(object),
            TypeError,
            " has dtype object; convert it to a real dtype such as float64",
        ),
        (X.astype(complex), TypeError, " has dtype complex128; kernels take real numbers"),
        (
            sp.csr_array(X.astype(np.complex64)),
            TypeError,
            " has dtype complex64; kernels take real numbers",
        ),
        (X.astype("M8[s]"), TypeError, " has dtype datetime64[s]; kernels take real numbers"),
        (
            np.zeros((2, 3), [("a", "f8")]),
            TypeError,
            " has dtype [('a', '<f8')]; kernels take real numbers",
        ),
        (
            np.ma.masked_equal(X, 4.0),
            ValueError,
            ": row 1, column 1 is masked; fill masked entries first",
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else None,
)
def test_samples_are_a_table_of_real_numbers(name, value, exception, words):
    arguments = (value,) if name == "X" else (X, value)
    rejects(exception, name + words, RBF(), *arguments)


def test_none_is_no_table():
    rejects(TypeError, "X must be a 2-D array, got None", RBF(), None)
    rejects(TypeError, "X must be a 2-D array, got None", RBF().diag, None)


def test_rows_of_different_lengths_are_no_table():
    with pytest.raises(ValueError, match=r"^X is not a table of numbers: .*inhomogeneous"):
        RBF()([[1.0, 2.0], [3.0]])


def test_frames_name_the_column():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    columns = {"a": [1, 2], "b": [True, False], "c": ["x", "y"]}
    rejects(
        TypeError,
        f"X has column 'c' of dtype {pd.DataFrame(columns).dtypes['c']}; "
        f"kernels take real numbers. {ENCODE}",
        RBF(), pd.DataFrame(columns),
    )  # fmt: skip
    rejects(
        TypeError,
        f"X has column 'c' of dtype String; kernels take real numbers. {ENCODE}",
        RBF(), pl.DataFrame(columns),
    )  # fmt: skip
    words = f"X: row 1, column 0 is NaN, must be finite. {FILL_IN}"
    rejects(ValueError, words, RBF(), pd.DataFrame({"a": [1, None]}, dtype="Int64"))
    rejects(ValueError, words, RBF(), pl.DataFrame({"a": [1, None]}))
    with pytest.raises(ValueError, match=r"^X must be 2-D, got shape \(2,\)"):
        RBF()(pd.Series([1.0, 2.0]))


# ---- Values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    ("value", "shown"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "-infinity")]
)
def test_nonfinite_values_are_named_with_their_place(value, shown, convert, dtype):
    bad = convert(with_entry((2, 1), value, dtype))
    next_step = f". {FILL_IN}" if shown == "NaN" else ""
    words = f": row 2, column 1 is {shown}, must be finite{next_step}"
    rejects(ValueError, "X" + words, RBF(), bad)
    rejects(ValueError, "Z" + words, RBF(), X, bad)
    rejects(ValueError, "X" + words, RBF().diag, bad)


def test_a_longdouble_beyond_float64_is_infinity():
    bad = X.astype(np.longdouble)
    bad[3, 0] = np.longdouble("1e4000")
    rejects(ValueError, "X: row 3, column 0 is infinity, must be finite", RBF(), bad)


def test_values_whose_square_overflows_are_named():
    rejects(
        ValueError,
        "X: row 1, column 2 is 1e+200: its square overflows float64; scale the data",
        RBF(), with_entry((1, 2), 1e200),
    )  # fmt: skip
    rejects(
        ValueError,
        "X: row 1, column 2 is 1e+25: its square overflows float32; "
        "scale the data or use float64",
        RBF(), with_entry((1, 2), 1e25, np.float32),
    )  # fmt: skip


def test_kernel_values_that_overflow_are_refused():
    advice = "scale the data, or lower gamma or the degree"
    huge = np.ones((3, 2))
    huge[1] = 1e5
    words = f"kernel of X row 0 and X row 1 overflows float64; {advice}"
    rejects(ValueError, words, Polynomial(degree=70), huge)
    words = f"kernel of X row 1 and Z row 0 overflows float64; {advice}"
    rejects(ValueError, words, Polynomial(degree=70), huge, huge[:1])
    words = f"kernel of X row 1 and X row 1 overflows float64; {advice}"
    rejects(ValueError, words, Polynomial(degree=70).diag, huge)
    rejects(ValueError, words, exp(1e-9 * Linear()) ** 100, huge)
    words = f"kernel of X row 0 and X row 1 overflows float32; {advice}"
    rejects(ValueError, words, Polynomial(degree=8), huge.astype(np.float32))
    words = f"kernel of X and X: a term overflows float64; {advice}"
    rejects(ValueError, words, exp(Linear()) ** 0, huge)


# ---- Fitting together


def test_both_sides_have_the_same_columns():
    rejects(ValueError, "X has 3 columns, Z has 2", RBF(), X, X[:, :2])
    rejects(ValueError, "X has 2 columns, Z has 3", RBF(), sp.csr_array(X[:, :2]), X)


def damaged(part, place, value):
    matrix = sp.csr_array(np.ones((4, 3)))
    array = getattr(matrix, part).copy()
    array[place] = value
    setattr(matrix, part, array)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "exception", "words"),
    [
        (
            damaged("indices", 4, 7),
            ValueError,
            "X: row 1 has column index 7 at position 4, must be 0 to 2",
        ),
        (
            damaged("indices", 4, -1),
            ValueError,
            "X: row 1 has column index -1 at position 4, must be 0 to 2",
        ),
        (damaged("indptr", 0, 1), ValueError, "X: indptr[0] is 1, must be 0"),
        (damaged("indptr", 0, -1), ValueError, "X: indptr[0] is -1, must be 0"),
        (damaged("indptr", 2, 1), ValueError, "X: indptr[2] is 1, below indptr[1] = 3"),
        (damaged("indptr", 2, 99), ValueError, "X: indptr[3] is 9, below indptr[2] = 99"),
        (damaged("indptr", 4, 13), ValueError, "X: indptr ends at 13, but there are 12 values"),
    ],
)
def test_a_damaged_csr_matrix_is_refused(matrix, exception, words):
    rejects(exception, words, RBF(), matrix)
    rejects(exception, words.replace("X:", "Z:"), RBF(), X, matrix)


def test_csr_arrays_of_wrong_lengths_or_types_are_refused():
    matrix = sp.csr_array(np.ones((4, 3)))
    matrix.data = matrix.data[:-1]
    rejects(ValueError, "X.data has shape (11,), X.indices has shape (12,)", RBF(), matrix)
    matrix = sp.csr_array(np.ones((4, 3)))
    matrix.indptr = matrix.indptr[:-1]
    rejects(ValueError, "X.indptr has shape (4,), must be (5,) for 4 rows", RBF(), matrix)
    matrix = sp.csr_array(np.ones((4, 3)))
    matrix.indices = matrix.indices.astype(float)
    rejects(TypeError, "X.indices has dtype float64; it must hold integers", RBF(), matrix)


# ---- out


STRIDES = "out must have contiguous rows that do not overlap, got strides "


@pytest.mark.parametrize(
    ("out", "exception", "words"),
    [
        ([[0.0]], TypeError, "out must be a numpy.ndarray, got list"),
        (
            np.ma.zeros((4, 4)),
            TypeError,
            "out must be a numpy.ndarray, got MaskedArray",
        ),
        (np.empty((4, 3)), ValueError, "out has shape (4, 3), the result has (4, 4)"),
        (np.empty(16), ValueError, "out has shape (16,), the result has (4, 4)"),
        (
            np.empty((4, 4), np.float32),
            TypeError,
            "out has dtype float32, the result has float64",
        ),
        (np.empty((4, 4), ">f8"), TypeError, "out has dtype >f8, the result has float64"),
        (np.empty((4, 4), int), TypeError, "out has dtype int64, the result has float64"),
        (np.broadcast_to(np.empty((4, 4)), (4, 4)), ValueError, "out is read-only"),
        (np.empty((4, 4), order="F"), ValueError, STRIDES + "(8, 32)"),
        (np.empty((4, 8))[:, ::2], ValueError, STRIDES + "(64, 16)"),
        (np.empty((4, 4))[::-1], ValueError, STRIDES + "(-32, 8)"),
        (np.empty((4, 4))[:, ::-1], ValueError, STRIDES + "(32, -8)"),
        (
            np.lib.stride_tricks.as_strided(np.empty(8), (4, 4), (8, 8)),
            ValueError,
            STRIDES + "(8, 8)",
        ),
        (
            np.lib.stride_tricks.as_strided(np.empty(8), (4, 4), (0, 8)),
            ValueError,
            STRIDES + "(0, 8)",
        ),
    ],
)
def test_out_fits_the_result(out, exception, words):
    rejects(exception, words, RBF(), X, out=out)


def test_out_of_the_diagonal_fits():
    rejects(ValueError, "out has shape (4, 1), the result has (4,)", RBF().diag, X, out=X[:, :1])
    rejects(ValueError, STRIDES + "(16,)", RBF().diag, X, out=np.empty(8)[::2])


def test_an_unaligned_out_is_refused():
    out = np.zeros(8 * 16 + 1, np.uint8)[1:].view(np.float64).reshape(4, 4)
    rejects(ValueError, STRIDES + "(32, 8)", RBF(), X, out=out)


def test_out_shares_no_memory_with_the_input():
    words = "out shares memory with the input"
    square = np.zeros((4, 4))
    rejects(ValueError, words, RBF(), square, out=square)
    rejects(ValueError, words, RBF(), np.ones((4, 4)), square, out=square)
    rejects(ValueError, words, RBF(), square[:, ::-1], out=square)
    matrix = sp.csr_array(np.ones((4, 4)))
    rejects(ValueError, words, RBF(), matrix, out=matrix.data.reshape(4, 4))
    line = np.zeros(4)
    rejects(ValueError, words, RBF().diag, line[:, None], out=line)


# ---- n_jobs


@pytest.mark.parametrize(
    ("value", "exception", "shown"),
    [
        (0, ValueError, "0"),
        (1.0, TypeError, "1.0"),
        ("2", TypeError, "'2'"),
        (True, TypeError, "True"),
    ],
)
def test_n_jobs_is_a_count(value, exception, shown):
    words = " must be a positive integer, a negative one (-1: all usable CPUs), or None, got "
    rejects(exception, "n_jobs" + words + shown, RBF(), X, n_jobs=value)
    rejects(exception, "n_jobs" + words + shown, RBF().diag, X, n_jobs=value)
    rejects(exception, "n" + words + shown, kcore.set_num_threads, value)


def test_more_threads_than_there_can_be_are_as_many_as_there_can_be():
    assert (RBF()(X, n_jobs=10**30) == RBF()(X, n_jobs=1)).all()


# ---- After an error


def test_a_failed_call_leaves_everything_usable():
    kernel = RBF(0.1)
    expected = kernel(X)
    for _ in range(100):
        with pytest.raises(ValueError, match="NaN"):
            kernel(with_entry((3, 2), np.nan))
        with pytest.raises(ValueError, match="columns"):
            kernel(X, X[:, :1])
    assert (kernel(X) == expected).all()


def test_a_failed_call_lets_go_of_its_arguments():
    bad = with_entry((3, 2), np.nan)
    matrix = sp.csr_array(bad)
    out = np.empty((4, 4))
    held = [bad, X, matrix.data, matrix.indices, matrix.indptr, out]
    gc.collect()  # what other tests left behind
    before = [sys.getrefcount(array) for array in held]
    for _ in range(10):
        for samples in [(bad,), (X, bad), (matrix,), (X, matrix), (X, X[:, :1])]:
            with pytest.raises(ValueError, match=r"NaN|columns"):
                RBF()(*samples, out=out)
    del samples
    gc.collect()  # tracebacks hold their frames in cycles
    assert [sys.getrefcount(array) for array in held] == before


def test_results_too_large_for_memory_raise_memory_error():
    with pytest.raises(MemoryError):
        RBF()(np.broadcast_to(1.0, (2**22, 3)))
