"""Whatever holds the samples, the values are the same to the bit; no copy is made in secret."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits
from kcore._validate import CSR, as_points
from kcore.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid, exp

KERNELS = [
    Linear(),
    RBF(gamma=0.1),
    Polynomial(degree=3, gamma=0.2),
    Sigmoid(gamma=0.1),
    Laplacian(gamma=0.1),
    RBF(gamma=0.1) * Linear() + exp(0.01 * Linear()),
]
DTYPES = [np.float32, np.float64]


def wide_copy(X):
    """A copy of X inside a larger array, with other numbers all around."""
    big = np.full((2 * X.shape[0] + 3, 3 * X.shape[1] + 5), 7.0, X.dtype)
    view = big[1 : 1 + 2 * X.shape[0] : 2, 2 : 2 + 3 * X.shape[1] : 3]
    view[...] = X
    return view


def read_only(X):
    view = X.copy()
    view.flags.writeable = False
    return view


LAYOUTS = {
    "C": lambda X: X.copy(order="C"),
    "Fortran": lambda X: X.copy(order="F"),
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "Fortran backwards": lambda X: X[::-1].copy(order="F")[::-1],
    "steps in a larger array": wide_copy,
    "steps, transposed": lambda X: wide_copy(X.T.copy()).T,
    "read-only": read_only,
}


@pytest.fixture(name="X", params=DTYPES, ids=["float32", "float64"])
def samples(request, rng):
    return rng.standard_normal((43, 27)).astype(request.param)


# ---- Dense


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_strides_do_not_matter(kernel, layout, X):
    view = layout(X)
    expected = kernel(X)
    assert_same_bits(kernel(view), expected)
    assert_same_bits(kernel(view, X.copy()), expected)
    assert_same_bits(kernel(X, layout(X)), expected)
    assert_same_bits(kernel.diag(view), np.diag(expected))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_no_layout_is_copied(layout, X):
    view = layout(X)
    assert as_points(view, "X") is view


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_zero_strides_repeat_a_row_or_a_column(kernel, X):
    for view in (np.broadcast_to(X[3], (30, 27)), np.broadcast_to(X[:, 2:3], (43, 9))):
        assert 0 in view.strides
        assert as_points(view, "X") is view
        assert_same_bits(kernel(view), kernel(view.copy()))
    one = np.broadcast_to(X[3, 4], (5, 6))
    assert_same_bits(kernel(one), kernel(one.copy()))


@pytest.mark.parametrize("shape", [(1, 27), (43, 1), (1, 1)])
def test_a_single_row_or_column_of_any_stride_is_taken(shape, X):
    view = X[::7, ::5][: shape[0], : shape[1]]
    assert_same_bits(RBF(0.1)(view), RBF(0.1)(view.copy()))
    view = X[::-1, ::-1][: shape[0], : shape[1]]
    assert_same_bits(RBF(0.1)(view), RBF(0.1)(view.copy()))


def test_memory_mapped_samples_are_read_in_place(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    points = as_points(mapped, "X")
    assert np.shares_memory(points, mapped)
    assert_same_bits(RBF(0.1)(mapped), RBF(0.1)(X))


def test_unaligned_samples_are_copied(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    view = raw[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    assert not view.flags.aligned
    assert not np.shares_memory(as_points(view, "X"), view)
    assert_same_bits(RBF(0.1)(view), RBF(0.1)(X))


def test_columns_of_a_packed_record_are_unaligned_and_copied(X):
    records = np.zeros(X.shape, np.dtype([("flag", "u1"), ("value", X.dtype)]))
    records["value"] = X
    assert_same_bits(RBF(0.1)(records["value"]), RBF(0.1)(X))


def test_foreign_byte_order_is_converted(X):
    swapped = X.astype(X.dtype.newbyteorder())
    assert_same_bits(RBF(0.1)(swapped), RBF(0.1)(X))
    matrix = sp.csr_array(X)
    matrix.data = matrix.data.astype(X.dtype.newbyteorder())
    matrix.indices = matrix.indices.astype(matrix.indices.dtype.newbyteorder())
    assert_same_bits(RBF(0.1)(matrix), RBF(0.1)(X))


REAL_DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.parametrize(
    ("storage", "dtype"),
    [
        *((np.asarray, dtype) for dtype in [*REAL_DTYPES, "f2", "g"]),
        *((sp.csr_array, dtype) for dtype in [*REAL_DTYPES, "g"]),
        *((sp.csc_array, dtype) for dtype in REAL_DTYPES),
    ],
)
def test_real_dtypes_are_converted_as_documented(storage, dtype, rng):
    X = rng.integers(0, 2 if dtype == "?" else 50, (13, 6)).astype(dtype)
    result = RBF(0.01)(storage(X))
    assert result.dtype == (np.float32 if dtype in ("f2", "f4") else np.float64)
    assert_same_bits(result, RBF(0.01)(X.astype(result.dtype)))


def test_lists_and_tuples_are_taken():
    expected = Linear()(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert_same_bits(Linear()([[1, 2], [3, 4]]), expected)
    assert_same_bits(Linear()(((1.0, 2.0), (3.0, 4.0))), expected)
    assert_same_bits(Linear()([np.array([1, 2]), np.array([3, 4])]), expected)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_array_subclasses_are_read_as_plain_arrays(X):
    class Labelled(np.ndarray):
        pass

    for view in (X.view(Labelled), np.asmatrix(X), np.ma.masked_array(X, mask=False)):
        result = RBF(0.1)(view)
        assert type(result) is np.ndarray
        assert_same_bits(result, RBF(0.1)(X))


def test_pandas_frames_are_read(X):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    assert_same_bits(RBF(0.1)(frame), RBF(0.1)(X))
    assert_same_bits(RBF(0.1)(frame, X), RBF(0.1)(X))
    mixed = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
    expected = RBF(0.1)(np.array([[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]]))
    assert_same_bits(RBF(0.1)(mixed), expected)
    assert_same_bits(RBF(0.1)(mixed.convert_dtypes()), expected)


def test_polars_frames_are_read(X):
    pl = pytest.importorskip("polars")
    assert_same_bits(RBF(0.1)(pl.DataFrame(X)), RBF(0.1)(X))
    mixed = pl.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    assert_same_bits(RBF(0.1)(mixed), RBF(0.1)(np.array([[1, 0.5], [2, 1.5], [3, 2.5]])))


@given(
    st.integers(1, 12), st.integers(1, 12),
    st.integers(-3, 3).filter(bool), st.integers(-3, 3).filter(bool),
    st.sampled_from("CF"), st.sampled_from(DTYPES), st.booleans(),
)  # fmt: skip
def test_any_strides_give_the_same_bits(n, d, row_step, col_step, order, dtype, transposed):
    rng = np.random.default_rng(n * 100 + d)
    rows, cols = n * abs(row_step), d * abs(col_step)
    big = rng.standard_normal((cols, rows) if transposed else (rows, cols))
    big = np.array(big, dtype, order=order)
    view = (big.T if transposed else big)[::row_step, ::col_step]
    assert view.shape == (n, d)
    assert_same_bits(RBF(0.1)(view), RBF(0.1)(view.copy()))
    assert_same_bits(Linear()(view, view.copy()), Linear()(view.copy()))


# ---- CSR


def scrambled(X, rng, index_dtype):
    """X as CSR with rows in random order of columns, and every value split in two entries."""
    data, indices, indptr = [], [], [0]
    for row in X:
        cols = np.flatnonzero(row)
        twice = rng.permutation(np.concatenate([cols, cols]))
        data.append(row[twice] / 2)
        indices.append(twice)
        indptr.append(indptr[-1] + len(twice))
    matrix = sp.csr_array(X.shape, dtype=X.dtype)
    matrix.data = np.concatenate(data).astype(X.dtype)
    matrix.indices = np.concatenate(indices).astype(index_dtype)
    matrix.indptr = np.array(indptr, index_dtype)
    return matrix


def sparse_samples(rng, n, d, density, dtype):
    """Samples of which halves are exact, so that duplicates sum to the same bits."""
    X = rng.standard_normal((n, d)).astype(dtype)
    return np.where(rng.random((n, d)) < density, X, dtype(0))


def with_index_dtype(X, dtype):
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(dtype), matrix.indptr.astype(dtype)
    return matrix


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("d", "density"), [(5, 0.5), (90, 0.1), (90, 0.9), (3000, 0.01)])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_csr_has_the_bits_of_dense(kernel, d, density, dtype, index_dtype, rng):
    X = sparse_samples(rng, 40, d, density, dtype)
    Z = sparse_samples(rng, 23, d, density, dtype)
    X[7] = 0
    expected = kernel(X, Z)
    for A in (with_index_dtype(X, index_dtype), scrambled(X, rng, index_dtype)):
        assert_same_bits(kernel(A, with_index_dtype(Z, index_dtype)), expected)
        assert_same_bits(kernel(A, Z), expected)
        assert_same_bits(kernel(Z, A), expected.T)
        assert_same_bits(kernel(A), kernel(X))
        assert_same_bits(kernel.diag(A), kernel.diag(X))


def test_the_two_sides_may_differ_in_index_and_value_type(rng):
    X, Z = sparse_samples(rng, 9, 50, 0.2, np.float32), sparse_samples(rng, 8, 50, 0.2, np.float64)
    A, B = with_index_dtype(X, np.int32), with_index_dtype(Z, np.int64)
    assert_same_bits(RBF(0.1)(A, B), RBF(0.1)(X, Z))
    assert RBF(0.1)(A, B).dtype == np.float64


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_csr_is_taken_as_it_is(dtype, index_dtype, rng):
    matrix = with_index_dtype(sparse_samples(rng, 9, 50, 0.2, dtype), index_dtype)
    points = as_points(matrix, "X")
    assert isinstance(points, CSR)
    assert points.data is matrix.data
    assert points.indices is matrix.indices
    assert points.indptr is matrix.indptr


def test_csr_with_two_widths_of_indices_is_widened(rng):
    X = sparse_samples(rng, 9, 50, 0.2, np.float64)
    matrix = sp.csr_array(X)
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert matrix.indices.dtype != matrix.indptr.dtype
    assert_same_bits(RBF(0.1)(matrix), RBF(0.1)(X))


def test_csr_with_strided_arrays_is_made_contiguous(rng):
    X = sparse_samples(rng, 9, 50, 0.2, np.float64)
    matrix = sp.csr_array(X)
    matrix.data = np.repeat(matrix.data, 2)[::2]
    matrix.indices = np.repeat(matrix.indices, 3)[::3]
    assert_same_bits(RBF(0.1)(matrix), RBF(0.1)(X))


def test_csr_with_room_to_spare_is_read_to_its_end_only(rng):
    X = sparse_samples(rng, 9, 50, 0.2, np.float64)
    matrix = sp.csr_array(X)
    matrix.data = np.append(matrix.data, [np.nan, np.nan])
    matrix.indices = np.append(matrix.indices, np.array([-5, 10**6], matrix.indices.dtype))
    assert_same_bits(RBF(0.1)(matrix), RBF(0.1)(X))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix], ids=["array", "matrix"])
def test_other_sparse_formats_are_converted(form, kind, rng):
    X = sparse_samples(rng, 8, 12, 0.3, np.float64)
    assert_same_bits(RBF(0.1)(kind(X).asformat(form)), RBF(0.1)(X))


def test_a_matrix_without_nonzeros_is_a_table_of_zeros():
    empty = sp.csr_array((4, 30), dtype=np.float64)
    assert_same_bits(RBF(0.1)(empty), np.ones((4, 4)))
    assert_same_bits(Linear()(empty), np.zeros((4, 4)))


@given(st.data())
def test_any_csr_structure_has_the_bits_of_dense(data):
    n, d = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 60))
    dtype = data.draw(st.sampled_from(DTYPES))
    lengths = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    total = sum(lengths)
    draw_list = lambda of: data.draw(st.lists(of, min_size=total, max_size=total))  # noqa: E731
    index_dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    matrix = sp.csr_array((n, d), dtype=dtype)
    matrix.indptr = np.cumsum([0, *lengths]).astype(index_dtype)
    matrix.indices = np.array(draw_list(st.integers(0, d - 1)), index_dtype)
    matrix.data = np.array(draw_list(st.integers(-8, 8)), dtype)
    X = np.zeros((n, d), dtype)
    np.add.at(X, (np.repeat(np.arange(n), lengths), matrix.indices), matrix.data)
    for kernel in (Linear(), RBF(0.1), Laplacian(0.1)):
        assert_same_bits(kernel(matrix), kernel(X))
        assert_same_bits(kernel(matrix, X), kernel(X))


# ---- out


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_out_receives_the_result_and_nothing_beside_it(kernel, X):
    expected = kernel(X, X[:10])
    plain = np.empty((43, 10), X.dtype)
    assert kernel(X, X[:10], out=plain) is plain
    assert_same_bits(plain, expected)

    big = np.full((90, 33), 7.0, X.dtype)
    inside = big[2:88:2, 5:15]
    assert kernel(X, X[:10], out=inside) is inside
    assert_same_bits(inside, expected)
    inside[...] = 7
    assert (big == 7).all()


def test_out_of_one_row_or_column_may_have_any_stride(X):
    row = np.full((9, 43), 7.0, X.dtype)[::-3][:1]
    assert_same_bits(RBF(0.1)(X[:1], X, out=row), RBF(0.1)(X[:1], X))
    column = np.full((43, 5), 7.0, X.dtype)[:, 2:3]
    assert_same_bits(RBF(0.1)(X, X[:1], out=column), RBF(0.1)(X, X[:1]))


def test_out_beside_the_samples_in_one_array_is_taken(X):
    both = np.zeros((43, 27 + 43), X.dtype)
    both[:, :27] = X
    RBF(0.1)(both[:, :27], out=both[:, 27:])
    assert_same_bits(both[:, 27:], RBF(0.1)(X))
    assert_same_bits(both[:, :27], X)


def test_out_may_be_a_memory_map(X, tmp_path):
    out = np.lib.format.open_memmap(tmp_path / "k.npy", "w+", X.dtype, (43, 43))
    assert RBF(0.1)(X, out=out) is out
    out.flush()
    assert_same_bits(np.load(tmp_path / "k.npy"), RBF(0.1)(X))


def test_diag_writes_to_out(X):
    out = np.empty(43, X.dtype)
    assert Linear().diag(X, out=out) is out
    assert_same_bits(out, Linear().diag(X))
