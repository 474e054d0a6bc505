"""Functions of a kernel's space: f = sum_i a_i K(x_i, .), <f, g> = sum_ij a_i b_j K(x_i, z_j)."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kcore
from conftest import assert_same_bits
from kcore.kernels import RBF, Delta, Linear, Polynomial, Sigmoid
from kcore.rkhs import Function
from test_kernels import COMPOSED, LEAVES

ALL = LEAVES + COMPOSED
POSITIVE = [kernel for kernel in ALL if kernel.definiteness == "positive"]
D = 3


def rounding(f, g):
    """A bound on the rounding of <f, g>: unit times the sum of the sizes of all terms."""
    dtype = np.float32 if np.float32 in (points_of(f).dtype, points_of(g).dtype) else np.float64
    own = [abs(h.kernel.diag(points_of(h)).astype(np.float64)) for h in (f, g)]
    sizes = [
        float(abs(h.coefficients) @ np.sqrt(k)) + 1e-300 for h, k in zip((f, g), own, strict=True)
    ]
    return 200 * (len(f) + len(g) + D) * float(np.finfo(dtype).eps) * sizes[0] * sizes[1]


def points_of(f):
    return np.asarray(f.points)


def drawn(seed, kernel, dtype=np.float64, most=12):
    """A function whose points lie on a small grid, so that some are equal."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most))
    X = rng.integers(-2, 3, (n, D)).astype(dtype) / 2
    return Function(kernel, X, rng.standard_normal(n))


seeds = st.integers(0, 2**32 - 1)
positive = st.sampled_from(POSITIVE)


# ---- Values


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_values_are_the_sum_that_defines_them(kernel, dtype, rng):
    X = rng.standard_normal((300, D)).astype(dtype)
    Z = rng.standard_normal((57, D)).astype(dtype)
    a = rng.standard_normal(300)
    wide = np.float64 if kernel == Linear() else dtype  # w.x is summed in float64
    K = kernel(Z.astype(wide), X.astype(wide)).astype(np.float64)
    np.testing.assert_allclose(
        Function(kernel, X, a)(Z), K @ a, rtol=0, atol=2e-13 * (abs(K) @ abs(a)).max()
    )


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_inner_products_are_the_sum_that_defines_them(kernel, rng):
    X, Z = rng.standard_normal((300, D)), rng.standard_normal((101, D))
    a, b = rng.standard_normal(300), rng.standard_normal(101)
    K = kernel(X, Z)
    f, g = Function(kernel, X, a), Function(kernel, Z, b)
    assert f @ g == pytest.approx(a @ K @ b, rel=0, abs=1e-12 * (abs(a) @ abs(K) @ abs(b)))
    assert f @ g == g @ f


def test_an_inner_product_has_the_same_bits_on_any_number_of_threads(rng):
    f = Function(RBF(0.3), rng.standard_normal((3000, 5)), rng.standard_normal(3000))
    g = Function(RBF(0.3), rng.standard_normal((3000, 5)), rng.standard_normal(3000))
    before = kcore.get_num_threads()
    found = set()
    try:
        for n in (1, 2, 3):
            kcore.set_num_threads(n)
            found |= {f @ g, g @ f}
    finally:
        kcore.set_num_threads(before)
    assert len(found) == 1


def test_an_inner_product_takes_the_memory_of_tiles(rng):
    n = 20000
    f = Function(RBF(0.3), rng.standard_normal((n, 2)), np.ones(n))
    g = f + 0 * f  # as large, in memory of its own
    code = (
        "import numpy as np; from kcore import _core; from kcore.kernels import RBF;"
        "from kcore.rkhs import Function; rng = np.random.default_rng(0);"
        f"f = Function(RBF(0.3), rng.standard_normal(({n}, 2)), np.ones({n}));"
        "held = _core.memory()[0]; f @ (2 * f); print(_core.memory()[1] - held)"
    )
    used = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert used < 16 * 2**20  # the matrix would take 3 GB
    assert f @ g == pytest.approx(f @ f, rel=1e-12)


# ---- Laws


@given(seeds, st.sampled_from(ALL), st.sampled_from([np.float32, np.float64]))
def test_sections_reproduce(seed, kernel, dtype):
    f = drawn(seed, kernel, dtype)
    x = (np.random.default_rng(seed + 1).integers(-2, 3, D) / 2).astype(dtype)
    section = kernel.section(x)
    assert section @ f == pytest.approx(f(x[None])[0], rel=0, abs=rounding(section, f))
    assert section @ section == pytest.approx(kernel.diag(x[None])[0], rel=1e-6, abs=1e-300)


@given(seeds, st.sampled_from(ALL), st.floats(-3, 3), st.floats(-3, 3))
def test_inner_products_are_bilinear_and_symmetric(seed, kernel, a, b):
    f, g, h = (drawn(seed + k, kernel) for k in range(3))
    combined = a * f - b * g
    bound = abs(a) * rounding(f, h) + abs(b) * rounding(g, h) + rounding(combined, h)
    assert combined @ h == pytest.approx(a * (f @ h) - b * (g @ h), rel=0, abs=bound)
    assert f @ g == g @ f
    x = np.random.default_rng(seed).standard_normal((5, D))
    size = abs(a * f(x)) + abs(b * g(x)) + 1
    np.testing.assert_allclose(combined(x) / size, (a * f(x) - b * g(x)) / size, atol=1e-10)


@given(seeds, st.sampled_from(ALL), st.integers(1, 4))
def test_split_terms_are_the_same_function(seed, kernel, n_copies):
    rng = np.random.default_rng(seed)
    f, g = drawn(seed, kernel), drawn(seed + 1, kernel)
    shares = rng.dirichlet(np.ones(n_copies), len(f)).T
    X, a = f.points, f.coefficients
    order = rng.permutation(n_copies * len(f))
    split = Function(kernel, np.tile(X, (n_copies, 1))[order], (shares * a).ravel()[order])
    x = rng.standard_normal((4, D))
    for same in (split, split.merged(), f.merged()):
        terms = abs(kernel(x, X)) @ abs(a)
        assert (abs(same(x) - f(x)) <= 1e-11 * (terms + 1e-300)).all()
        assert same @ g == pytest.approx(f @ g, rel=0, abs=rounding(split, g))
        assert same @ same == pytest.approx(f @ f, rel=0, abs=rounding(split, split))
    assert len(split.merged()) == len(np.unique(X, axis=0))


@given(seeds, positive)
def test_cauchy_schwarz_and_the_parallelogram_law_hold(seed, kernel):
    f, g = drawn(seed, kernel), drawn(seed + 1, kernel)
    bound = rounding(f, f) + rounding(g, g) + 2 * rounding(f, g)
    assert (f @ g) ** 2 <= (f @ f) * (g @ g) + bound * (abs(f @ f) + abs(g @ g) + bound)
    both = (f + g) @ (f + g) + (f - g) @ (f - g)
    assert both == pytest.approx(2 * (f @ f) + 2 * (g @ g), rel=0, abs=4 * bound)
    assert f.distance(g) <= f.norm() + g.norm() + math.sqrt(bound)


@given(seeds, positive)
def test_values_are_bounded_by_the_norm(seed, kernel):
    f = drawn(seed, kernel)
    x = np.random.default_rng(seed).standard_normal((6, D))
    own = kernel.diag(x)
    sections = [kernel.section(row) for row in x]
    slack = np.array([rounding(section, f) for section in sections])
    limit = np.sqrt(own * (max(f @ f, 0) + rounding(f, f)))
    assert (abs(f(x)) <= limit + slack).all()


# ---- Equal points


def merged_by_hand(rows, a):
    sums = {}
    for row, coefficient in zip(rows, a, strict=True):
        sums[row] = sums.get(row, 0.0) + coefficient
    return [(row, total) for row, total in sums.items() if total != 0]


@pytest.mark.parametrize("form", ["float32", "float64", "csr", "strings", "table"])
def test_merging_adds_the_coefficients_of_equal_points_in_their_order(form, rng):
    n = 2000
    numbers = rng.integers(0, 4, (n, 4)).astype(np.float64)
    words = [f"w{k}" for k in rng.integers(0, 50, n)]
    a = rng.integers(-2, 3, n).astype(np.float64)
    kernel = RBF(0.5)
    X = numbers
    rows = list(map(tuple, numbers.tolist()))
    if form == "float32":
        X = numbers.astype(np.float32)
    elif form == "csr":  # with many columns, which stay sparse
        dense = np.zeros((n, 500))
        dense[:, ::150] = numbers
        X = sp.csr_matrix(dense)
    elif form == "strings":
        kernel, X, rows = Delta(), words, [(word,) for word in words]
    elif form == "table":
        kernel = RBF(0.5).on([0, 1]) * Delta().on(2)
        X = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": words})
        rows = list(X.itertuples(index=False, name=None))
    f = Function(kernel, X, a)
    merged = f.merged()
    wanted = merged_by_hand(rows, a)
    assert 0 < len(wanted) < n
    assert merged.coefficients.tolist() == [total for _, total in wanted]
    points = merged.points
    if form == "csr":
        assert sp.issparse(points)
        points = points.toarray()[:, ::150]
    if form == "strings":
        assert list(points) == [word for (word,), _ in wanted]
    else:
        assert [tuple(row) for row in points.tolist()] == [row for row, _ in wanted]
    some = X[:40] if form != "table" else X.iloc[:40]
    np.testing.assert_allclose(merged(some), f(some), atol=1e-9)


def test_zeros_of_either_sign_are_equal_points():
    f = Function(Linear(), [[0.0, 1.0], [-0.0, 1.0]], [1.0, 2.0]).merged()
    assert len(f) == 1
    assert f.coefficients.tolist() == [3.0]


def test_sparse_points_are_equal_whatever_zeros_they_store():
    data, indices = np.array([1.0, 0.0, 1.0]), np.array([3, 7, 3])
    X = sp.csr_matrix((data, indices, [0, 2, 3]), shape=(2, 400))
    assert len(Function(RBF(), X, [1.0, 1.0]).merged()) == 1


def test_what_cancels_is_the_zero_function(rng):
    X = rng.standard_normal((9, D))
    f = Function(RBF(), X, rng.standard_normal(9))
    zero = (f - f).merged()
    assert len(zero) == zero.n_terms == 0
    assert zero.norm() == 0.0
    assert f.distance(f) == 0.0
    assert zero(X).tolist() == [0.0] * 9
    assert zero @ f == 0.0
    assert_same_bits((zero + f)(X), f(X))
    assert_same_bits((f + zero)(X), f(X))
    assert len(zero + zero) == len(2 * zero) == 0
    assert zero.points.shape == (0, D)
    assert pickle.loads(pickle.dumps(zero))(X).tolist() == [0.0] * 9


# ---- Storages and types


def test_points_may_be_sparse_or_dense_in_one_sum(rng):
    dense = rng.standard_normal((40, 300)) * (rng.random((40, 300)) < 0.05)
    sparse = sp.csr_array(dense)
    a, b = rng.standard_normal(40), rng.standard_normal(40)
    f, g = Function(RBF(0.1), dense, a), Function(RBF(0.1), sparse, b)
    whole = Function(RBF(0.1), np.vstack([dense, dense]), np.append(a, b))
    assert_same_bits((f + g)(dense), whole(dense))
    assert_same_bits((f + g)(sparse), whole(dense))
    assert f @ g == f @ Function(RBF(0.1), dense, b)
    assert isinstance(g.points, sp.csr_array)
    assert len((f - Function(RBF(0.1), sparse, a)).merged()) == 0


def test_float32_functions_join_float64_ones_in_float64(rng):
    X, Z = rng.standard_normal((30, D)).astype(np.float32), rng.standard_normal((20, D))
    a, b = rng.standard_normal(30), rng.standard_normal(20)
    f, g = Function(RBF(0.2), X, a), Function(RBF(0.2), Z, b)
    assert f.points.dtype == np.float32
    assert (f + g).points.dtype == np.float64
    wide = X.astype(np.float64)
    assert f @ g == pytest.approx(a @ RBF(0.2)(wide, Z) @ b, rel=1e-12)
    assert f @ g == g @ f
    np.testing.assert_allclose((f + g)(Z), RBF(0.2)(Z, wide) @ a + RBF(0.2)(Z) @ b, rtol=1e-12)


def test_sections_take_what_the_kernel_takes():
    frame = pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    kernel = RBF(0.5).on("size") + Delta().on("colour")
    section = kernel.section(frame.iloc[[1]])
    np.testing.assert_array_equal(section(frame), kernel(frame)[1])
    assert section.kernel == kernel
    assert Delta().section("red")(["red", "blue"]).tolist() == [1.0, 0.0]
    assert Delta().section(b"red")([b"red"]).tolist() == [1.0]
    assert Linear().section([1, 2])([[3, 4]]).tolist() == [11.0]
    row = sp.csr_matrix([[0.0, 2.0]])
    assert Linear().section(row)(np.array([[1.0, 3.0]])).tolist() == [6.0]


def test_functions_add_up_from_a_list():
    sections = [RBF().section([float(k)]) for k in range(4)]
    total = sum(sections)
    assert total.coefficients.tolist() == [1.0] * 4
    assert (np.float64(2) * total / 4).coefficients.tolist() == [0.5] * 4
    assert (-total).coefficients.tolist() == [-1.0] * 4


# ---- Values that do not change


def test_functions_are_immutable_and_copied_and_pickled_by_value(rng):
    f = Function(2 * RBF(0.5) + Linear(), rng.standard_normal((8, D)), rng.standard_normal(8))
    Z = rng.standard_normal((5, D))
    for name in ("kernel", "points", "coefficients"):
        with pytest.raises(AttributeError):
            setattr(f, name, None)
    assert copy.copy(f) is f
    assert copy.deepcopy(f) is f
    again = pickle.loads(pickle.dumps(f))
    assert_same_bits(again(Z), f(Z))
    assert again.kernel == f.kernel
    assert again @ f == f @ f
    before = f(Z)
    f.points[:] = 0  # a copy
    f.coefficients[:] = 0
    assert_same_bits(f(Z), before)


def test_repr_says_kernel_terms_and_norm(rng):
    assert repr(RBF(0.5).section([0.0])) == "<Function of RBF(gamma=0.5): 1 term, norm 1>"
    many = Function(RBF(0.5), rng.standard_normal((3000, 1)), np.ones(3000))
    assert repr(many) == "<Function of RBF(gamma=0.5): 3000 terms>"  # a norm would take long
    many.norm()
    assert "3000 terms, norm" in repr(many)


def test_rkhs_is_loaded_when_it_is_used_and_needs_no_learner():
    code = (
        "import sys, kcore; assert 'kcore.rkhs' not in sys.modules;"
        "f = kcore.kernels.RBF().section([0.0]); assert kcore.rkhs.Function is type(f);"
        "assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- What is refused


def test_functions_of_different_kernels_are_refused_by_name():
    f, g = RBF(0.5).section([1.0]), RBF(0.25).section([1.0])
    for use in (lambda: f + g, lambda: f - g, lambda: f @ g, lambda: f.distance(g)):
        with pytest.raises(ValueError, match=r"RBF\(gamma=0.5\) and RBF\(gamma=0.25\)"):
            use()


def test_functions_of_other_columns_are_refused():
    f = RBF().section([1.0, 2.0])
    with pytest.raises(ValueError, match="2 and 1 of them"):
        f @ RBF().section([1.0])
    with pytest.raises(ValueError, match="X has 3 columns, the points of the function have 2"):
        f([[1.0, 2.0, 3.0]])
    kernel = RBF().on([0])
    numbers = Function(kernel, [[1.0, 2.0]], [1.0])
    table = Function(kernel, pd.DataFrame({"a": [1.0], "b": ["x"]}), [1.0])
    with pytest.raises(ValueError, match="numbers and strings"):
        numbers + table
    with pytest.raises(TypeError, match="str, the other of bytes"):
        Delta().section("a") + Delta().section(b"a")
    with pytest.raises(TypeError, match="holds bytes"):
        Delta().section("a")([b"a"])
    x = pd.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match="same order"):
        Linear().section(x)(x[["b", "a"]])
    with pytest.raises(ValueError, match="same order"):
        Linear().section(x) @ Linear().section(x[["b", "a"]])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Function("rbf", [[1.0]], [1.0]), TypeError, "kernel"),
        (lambda: Function(RBF(), [[1.0]], [1.0, 2.0]), ValueError, "coefficients"),
        (lambda: Function(RBF(), [[1.0]], [math.nan]), ValueError, "coefficients"),
        (lambda: Function(RBF(), [[math.inf]], [1.0]), ValueError, "X"),
        (lambda: RBF().section([[1.0], [2.0]]), ValueError, "one sample, got 2"),
        (lambda: RBF().section([1.0]) * math.nan, ValueError, "factor"),
        (lambda: RBF().section([1.0]) / 0, ZeroDivisionError, "by 0"),
        (lambda: 1e200 * (1e200 * RBF().section([1.0])), ValueError, "overflows"),
        (lambda: RBF().section([1.0]) + 1, TypeError, "unsupported"),
        (lambda: RBF().section([1.0]) * "x", TypeError, "multiply"),
        (lambda: RBF().section([1.0]).distance(3), TypeError, "other"),
        (lambda: (1e200 * RBF().section([1.0])).norm(), ValueError, "overflows"),
    ],
)
def test_bad_input_is_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_negative_square_is_no_norm():
    f = Sigmoid(gamma=1.0, coef0=-2.0).section([1.0, 0.0])
    with pytest.raises(ValueError, match=r"<f, f> is -0\.761594.*indefinite"):
        f.norm()
    assert repr(f).endswith("1 term, no norm>")


def test_a_conditional_kernel_has_norms_of_functions_whose_coefficients_sum_to_zero(rng):
    kernel = Polynomial(degree=1, gamma=1.0, coef0=-9.0)
    assert kernel.definiteness == "conditional"
    X, a = rng.standard_normal((7, D)), rng.standard_normal(7)
    a -= a.mean()
    norm = Function(kernel, X, a).norm()
    assert norm == pytest.approx(float(np.linalg.norm(a @ X)), rel=1e-9)
    with pytest.raises(ValueError, match="is conditional"):
        kernel.section(X[0]).norm()


def test_rounding_below_zero_is_a_norm_of_zero(rng):
    # On a line, sums of x.z cancel to rounding: whatever its sign, it is no negative square.
    for _ in range(200):
        X = rng.standard_normal((6, 1))
        weights = rng.standard_normal(6)
        weights -= X[:, 0] * (X[:, 0] @ weights) / (X[:, 0] @ X[:, 0])
        kernel = Polynomial(degree=1, gamma=1.0, coef0=0.0)
        norm = Function(kernel, X, weights).norm()
        assert 0 <= norm < 1e-7
