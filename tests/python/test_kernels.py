"""Kernel values against a reference with stated bounds, and kernels as values."""

import copy
import doctest
import json
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_same_bits, assert_within_bound
from kcore import (
    SVC,
    _align,
    _combinations,
    _core,
    _function,
    _kernel,
    _parse,
    _threads,
    kernels,
    rkhs,
)
from kcore.kernels import (
    RBF,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    Tanimoto,
    exp,
)

LEAVES = [
    Linear(),
    RBF(gamma=0.3),
    Polynomial(),
    Polynomial(degree=2, gamma=0.5, coef0=0.0),
    Polynomial(degree=5, gamma=0.1, coef0=-1.0),
    Sigmoid(gamma=0.1, coef0=-0.3),
    Laplacian(gamma=0.2),
    Matern(nu=0.5, length_scale=2.0),
    Matern(nu=1.5, length_scale=0.7),
    Matern(nu=2.5, length_scale=3.0),
    Periodic(length_scale=3.0, periodicity=0.7),
    RationalQuadratic(length_scale=2.0),
    RationalQuadratic(length_scale=0.8, alpha=2.5),
    Tanimoto(),
]
COMPOSED = [
    RBF(gamma=0.3) + Linear(),
    2.5 * Laplacian(gamma=0.1),
    RBF(gamma=0.1) * Polynomial(degree=2),
    Linear() ** 3,
    (RBF(gamma=0.5) + 0.5 * Sigmoid(gamma=0.2)) ** 2,
    exp(0.01 * Linear()) * Laplacian(gamma=0.05) + 3 * RBF(gamma=1.0),
    RBF(gamma=0.3).on([0]) * Linear().on(slice(None, None, -1)),
    Polynomial(degree=2).normalized(),
    kernels.power_series(Laplacian(gamma=0.1) + 0.1 * Linear(), [0.5, 0, 2, -0.25]),
    (Polynomial(degree=2).on(-1).normalized() + RBF(gamma=0.2)).normalized(),
]
DTYPES = [np.float32, np.float64]


def samples(rng, n, d, dtype, scale=1.0):
    return (scale * rng.standard_normal((n, d))).astype(dtype)


# ---- Values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES + COMPOSED, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 15, 24, 25, 33, 70])
def test_values_are_within_the_bound_of_their_precision(kernel, d, dtype, rng):
    X, Z = samples(rng, 37, d, dtype), samples(rng, 21, d, dtype)
    K = kernel(X, Z)
    assert K.dtype == dtype
    assert K.shape == (37, 21)
    assert_within_bound(kernel, X, Z, K)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_values_are_within_the_bound_for_many_features(kernel, dtype, rng):
    X, Z = samples(rng, 50, 1000, dtype, 0.05), samples(rng, 40, 1000, dtype, 0.05)
    assert_within_bound(kernel, X, Z, kernel(X, Z))


def rbf_error(gamma, X):
    """Relative error of every value but the diagonal's, and the exponents' parts."""
    wide = X.astype(np.longdouble)
    distances = ((wide[:, None] - wide[None]) ** 2).sum(axis=2)
    exact = np.exp(-np.longdouble(gamma) * distances)
    norms = (wide**2).sum(axis=1)
    error = abs(RBF(gamma)(X) - exact) / exact
    off = ~np.eye(len(X), dtype=bool)
    return error[off], gamma * distances[off], gamma * (norms[:, None] + norms[None, :])[off]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [30, 200, 1000])
@pytest.mark.parametrize("shift", [0, 3])
def test_rbf_errors_are_of_the_size_of_the_norms(shift, d, dtype, rng):
    # Rounding errors of d steps add up like a random walk: sqrt(d) times the error of one step.
    u = np.finfo(dtype).eps / 2
    error, _, norms = rbf_error(2.0**-9, samples(rng, 60, d, dtype) + dtype(shift))
    assert (error <= (2 * np.sqrt(d) * norms + 4) * u).all()
    assert error.mean() <= (0.5 * np.sqrt(d) * norms.mean() + 2) * u


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 2, 8, 24])
def test_rbf_of_few_features_is_exact_however_far_from_the_origin(d, dtype, rng):
    u = np.finfo(dtype).eps / 2
    error, distances, _ = rbf_error(0.5, samples(rng, 60, d, dtype) + dtype(1000))
    assert (error <= ((d + 3) * distances + 4) * u).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", [RBF(0.7), Laplacian(0.7), RBF(1e6), Laplacian(1e6)], ids=repr)
@pytest.mark.parametrize("d", [1, 5, 24, 25, 100])
def test_a_sample_is_exactly_1_with_itself(kernel, d, dtype, rng):
    X = samples(rng, 30, d, dtype, 100.0)
    assert (kernel.diag(X) == 1).all()
    assert (np.diag(kernel(X)) == 1).all()
    assert (np.diag(kernel(X, X.copy())) == 1).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [3, 40])
def test_rbf_and_laplacian_stay_in_the_unit_interval(d, dtype, rng):
    base = samples(rng, 1, d, dtype, 1000.0)
    X = np.nextafter(base, np.inf, dtype=dtype) + samples(rng, 50, d, dtype, 1e-4)
    for kernel in (RBF(1.0), Laplacian(1.0)):
        K = kernel(X)
        assert (K >= 0).all()
        assert (K <= 1).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_far_samples_have_value_exactly_0(dtype):
    assert RBF(1.0)(np.array([[0.0]], dtype), np.array([[1000.0]], dtype)) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES + COMPOSED, ids=repr)
def test_the_gram_matrix_is_symmetric_to_the_bit(kernel, dtype, rng):
    X, Z = samples(rng, 45, 29, dtype), samples(rng, 33, 29, dtype)
    assert_same_bits(kernel(X), kernel(X).T)
    assert_same_bits(kernel(X, Z), kernel(Z, X).T)
    assert_same_bits(kernel(X), kernel(X, X.copy()))
    assert_same_bits(kernel(X), kernel(X, X))


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES[:2] + COMPOSED[:1], ids=repr)
def test_large_gram_matrices_are_symmetric_mirrored_or_not(kernel, dtype, n_features, rng):
    X = samples(rng, 2901, n_features, dtype)  # more than 32 MiB: past the cache
    gram = kernel(X)
    assert_same_bits(gram, gram.T)
    assert_same_bits(gram, kernel(X, X.copy()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES + COMPOSED, ids=repr)
def test_the_diagonal_has_the_bits_of_the_gram_matrix(kernel, dtype, rng):
    X = samples(rng, 67, 31, dtype)
    assert_same_bits(kernel.diag(X), np.diag(kernel(X)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES + COMPOSED, ids=repr)
def test_values_do_not_depend_on_how_the_samples_are_split(kernel, dtype, rng):
    X, Z = samples(rng, 70, 26, dtype), samples(rng, 51, 26, dtype)
    whole = kernel(X, Z)
    assert_same_bits(whole, np.vstack([kernel(x[None], Z) for x in X]))
    for cut in (1, 7, 16, 40):
        assert_same_bits(whole, np.hstack([kernel(X, Z[:cut]), kernel(X, Z[cut:])]))
    order = rng.permutation(70)
    assert_same_bits(whole[order], kernel(X[order], Z))


@pytest.mark.parametrize("kernel", LEAVES + COMPOSED, ids=repr)
def test_powers_are_exact_on_whole_numbers(kernel):
    X = np.arange(6.0).reshape(3, 2)
    dot = X @ X.T
    if kernel == Polynomial():
        assert (kernel(X) == (dot + 1) ** 3).all()
    assert (Polynomial(degree=0, coef0=5)(X) == 1).all()
    assert ((kernel**0)(X) == 1).all()
    assert_same_bits((kernel**1)(X), kernel(X))


def test_high_degrees_are_within_the_bound(rng):
    X = 1 + samples(rng, 20, 1, np.float64, 1e-3)
    for kernel in (Polynomial(degree=1000, coef0=0.0), Linear() ** 1000):
        assert_within_bound(kernel, X, X, kernel(X))


@given(
    st.sampled_from(LEAVES + COMPOSED),
    st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 40)),
    st.integers(0, 2**32 - 1),
    st.floats(0.01, 3.0),
)
def test_any_shape_is_within_the_bound(kernel, dtype, shape, seed, scale):
    n, m, d = shape
    rng = np.random.default_rng(seed)
    X, Z = samples(rng, n, d, dtype, scale), samples(rng, m, d, dtype, scale)
    assert_within_bound(kernel, X, Z, kernel(X, Z))


def test_float32_and_float64_together_give_float64(rng):
    X, Z = samples(rng, 9, 5, np.float32), samples(rng, 8, 5, np.float64)
    for kernel in LEAVES:
        assert kernel(X, Z).dtype == np.float64
        assert_same_bits(kernel(X, Z), kernel(X.astype(np.float64), Z))
        assert_same_bits(kernel(Z, X), kernel(Z, X.astype(np.float64)))


def test_a_combination_has_the_values_of_its_parts(rng):
    X, Z = samples(rng, 12, 4, np.float64), samples(rng, 9, 4, np.float64)
    k1, k2 = RBF(0.4), Sigmoid(0.3)
    assert_same_bits((k1 + k2)(X, Z), k1(X, Z) + k2(X, Z))
    assert_same_bits((k1 * k2)(X, Z), k1(X, Z) * k2(X, Z))
    assert_same_bits((0.3 * k2)(X, Z), 0.3 * k2(X, Z))
    assert_same_bits((0 * k1)(X, Z), np.zeros((12, 9)))


# ---- Kernels as values


def kernel_trees():
    gammas = st.floats(0, 1e3, allow_subnormal=False)
    leaves = st.one_of(
        st.just(Linear()),
        st.builds(RBF, gammas),
        st.builds(Laplacian, gammas),
        st.builds(Sigmoid, gammas, st.floats(-5, 5)),
        st.builds(Polynomial, st.integers(0, 1000), gammas, st.floats(-5, 5)),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(lambda a, k: a * k, gammas, inner),
            st.builds(lambda k, n: k**n, inner, st.integers(0, 1000)),
            st.builds(exp, inner),
            st.builds(kernels.Normalized, inner),
            st.builds(kernels.power_series, inner, st.lists(st.floats(-9, 9), min_size=1)),
            st.builds(
                lambda k, c: k.on(c), inner, st.sampled_from([[0], ["a b'"], slice(1, None)])
            ),
            st.builds(lambda a, b: kernels.exp(kernels.Sum(seq=a, table=b)), inner, inner),
            st.builds(lambda a, b: kernels.Product(a, of_z=b) ** 2, inner, inner),
        ),
        max_leaves=8,
    )


@given(kernel_trees())
def test_repr_evaluates_back(kernel):
    assert eval(repr(kernel), dict(vars(kernels))) == kernel


@given(kernel_trees())
def test_kernels_survive_pickling_and_copying(kernel):
    if kernel._is_bound():
        kernel._compile(None)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(kernel, protocol)) == kernel
    assert copy.copy(kernel) == kernel
    assert copy.deepcopy([kernel]) == [kernel]


@given(kernel_trees())
def test_parameters_rebuild_the_kernel(kernel):
    assert type(kernel)(**kernel.get_params(deep=False)) == kernel
    assert kernel.replace() == kernel
    for name, value in kernel.get_params().items():
        assert kernel.replace(**{name: value}) == kernel


@given(kernel_trees(), kernel_trees())
def test_equal_kernels_have_equal_hashes_and_equal_reprs(a, b):
    assert (a == b) == (repr(a) == repr(b)) or 0.0 in _numbers(a)  # -0.0 == 0.0
    if a == b:
        assert hash(a) == hash(b)


def _numbers(kernel):
    return [v for v in kernel.get_params().values() if isinstance(v, float)]


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Linear(), "Linear()"),
        (RBF(gamma=0.5), "RBF(gamma=0.5)"),
        (RBF(2), "RBF(gamma=2.0)"),
        (Polynomial(degree=2), "Polynomial(degree=2, gamma=1.0, coef0=1.0)"),
        (Sigmoid(), "Sigmoid(gamma=1.0, coef0=0.0)"),
        (Laplacian(), "Laplacian(gamma=1.0)"),
        (Matern(0.5, 2), "Matern(nu=0.5, length_scale=2.0)"),
        (Linear() + Linear() + Linear(), "Linear() + Linear() + Linear()"),
        (Linear() + (Linear() + Linear()), "Linear() + Linear() + Linear()"),
        (Linear() * (Linear() * Linear()), "Linear() * Linear() * Linear()"),
        (
            kernels.Sum(a=Linear(), b=RBF(2) + RBF()),
            "Sum(a=Linear(), b=RBF(gamma=2.0) + RBF(gamma=1.0))",
        ),
        (
            Linear() + kernels.Sum(a=Linear(), b=RBF()) ** 2,
            "Linear() + Sum(a=Linear(), b=RBF(gamma=1.0)) ** 2",
        ),
        (
            Linear() + kernels.Sum(a=Linear(), b=RBF()),
            "Sum(Linear(), a=Linear(), b=RBF(gamma=1.0))",
        ),
        (
            kernels.Product(a=Linear(), b=RBF()) * Linear(),
            "Product(a=Linear(), b=RBF(gamma=1.0), k3=Linear())",
        ),
        (kernels.power_series(Linear(), [1, 2]), "power_series(Linear(), [1.0, 2.0])"),
        (2 * (3 * Linear()), "2.0 * (3.0 * Linear())"),
        ((2 * Linear()) * Linear(), "2.0 * Linear() * Linear()"),
        (2 * (Linear() * Linear()), "2.0 * (Linear() * Linear())"),
        ((Linear() + Linear()) * 3, "3.0 * (Linear() + Linear())"),
        ((2 * Linear()) ** 3, "(2.0 * Linear()) ** 3"),
        ((Linear() ** 2) ** 3, "(Linear() ** 2) ** 3"),
        (2 * Linear() ** 3, "2.0 * Linear() ** 3"),
        (exp(Linear() + Linear()) ** 2, "exp(Linear() + Linear()) ** 2"),
        (sum([Linear(), RBF()]), "Linear() + RBF(gamma=1.0)"),
        (np.float64(2) * Linear(), "2.0 * Linear()"),
        (Linear() * np.int32(2), "2.0 * Linear()"),
    ],
)
def test_repr_has_the_parentheses_it_needs(kernel, text):
    assert repr(kernel) == text


def test_kernels_are_equal_by_class_and_parameters():
    assert RBF(1) == RBF(1.0) == RBF(gamma=np.float32(1))
    assert RBF(1) != RBF(2)
    assert RBF(1) != Laplacian(1)
    assert RBF() + Linear() != Linear() + RBF()
    assert RBF() != "RBF(gamma=1.0)"
    assert len({RBF(1), RBF(1.0), Laplacian(1)}) == 2


def test_kernels_are_immutable():
    kernel = RBF(0.5)
    with pytest.raises(AttributeError):
        kernel.gamma = 2.0
    for one in (kernel, kernel + kernel, kernel * kernel, 2 * kernel):
        with pytest.raises(AttributeError):
            one.other = 2.0
    with pytest.raises(AttributeError):
        del kernel.gamma
    assert kernel == RBF(0.5)
    assert weakref.ref(kernel)() is kernel


def test_nested_parameters_have_nested_names():
    kernel = 2 * RBF(0.5) + Polynomial(degree=2) ** 3
    params = kernel.get_params()
    assert params["k1__kernel__gamma"] == 0.5
    assert params["k2__kernel__degree"] == 2
    assert params["k2__degree"] == 3
    assert set(kernel.get_params(deep=False)) == {"k1", "k2"}
    changed = kernel.replace(k1__kernel__gamma=1, k1__factor=4, k2__degree=1, k2__kernel=Linear())
    assert changed == 4 * RBF(1) + Linear() ** 1
    assert kernel == 2 * RBF(0.5) + Polynomial(degree=2) ** 3


def test_a_long_sum_is_flat(rng):
    X = samples(rng, 5, 3, np.float64)
    kernel = sum(RBF(g) for g in range(500))
    assert kernel.kernels[499] == RBF(499)
    assert kernel.get_params()["k500__gamma"] == 499
    assert eval(repr(kernel), dict(vars(kernels))) == pickle.loads(pickle.dumps(kernel)) == kernel
    assert_within_bound(kernel, X, X, kernel(X))
    assert kernel.replace(k2=Linear()).kernels[1] == Linear()
    assert (Linear() + RBF()).replace(k1=RBF(2) + RBF(3)) == RBF(2) + RBF(3) + RBF()


def test_the_compiled_form_is_made_once():
    kernel = RBF(0.5)
    assert kernel._compile(None) is kernel._compile(None)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(kernel._compile(None))


CONDITIONAL = Polynomial(degree=1, coef0=-5.0)


@pytest.mark.parametrize(
    ("kernel", "definiteness"),
    [
        (Linear(), "positive"),
        (RBF(), "positive"),
        (Laplacian(), "positive"),
        (Polynomial(coef0=0), "positive"),
        (Polynomial(coef0=-1), "indefinite"),
        (Sigmoid(), "indefinite"),
        (2 * RBF() + Linear() ** 2, "positive"),
        (RBF() * Sigmoid(), "indefinite"),
        (exp(RBF() * Linear()), "positive"),
        (exp(Sigmoid()), "indefinite"),
        (CONDITIONAL, "conditional"),
        (CONDITIONAL + RBF(), "conditional"),
        (2 * CONDITIONAL, "conditional"),
        (CONDITIONAL**1, "conditional"),
        (exp(0.5 * CONDITIONAL), "positive"),
        (CONDITIONAL * RBF(), "indefinite"),
        (CONDITIONAL**2, "indefinite"),
        (CONDITIONAL.normalized(), "indefinite"),
        (CONDITIONAL + Sigmoid(), "indefinite"),
        (0 * Sigmoid(), "positive"),
        (-RBF(), "indefinite"),
        (Linear() - RBF(), "indefinite"),
        (kernels.power_series(RBF(), [1, 0, 2]), "positive"),
        (kernels.power_series(RBF(), [1, 0, -2]), "indefinite"),
        (kernels.power_series(Sigmoid(), [2]), "positive"),
        (kernels.power_series(CONDITIONAL, [1, 2, 0]), "conditional"),
        (kernels.power_series(CONDITIONAL, [0, 0, 1]), "indefinite"),
    ],
)
def test_definiteness_is_carried_by_the_algebra(kernel, definiteness):
    assert kernel.definiteness == definiteness


@pytest.mark.parametrize("kernel", [k for k in LEAVES + COMPOSED if k.definiteness == "positive"])
def test_a_positive_kernel_has_no_negative_eigenvalue(kernel, rng):
    K = kernel(samples(rng, 60, 4, np.float64))
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-13 * values[-1]


def test_scikit_learn_clones_a_kernel_to_itself():
    clone = pytest.importorskip("sklearn.base").clone
    kernel = 2 * RBF(0.5) + Linear()
    assert clone(kernel, safe=False) == kernel


def test_every_kernel_is_public_and_documented():
    for name in kernels.__all__:
        assert getattr(kernels, name).__doc__
    classes = [c for c in vars(kernels).values() if isinstance(c, type) and issubclass(c, Kernel)]
    public = {c.__name__ for c in classes if not c.__name__.startswith("_")}
    others = {"Alignment", "align", "exp", "parse", "power_series", "rank_one"}
    assert public | others == set(kernels.__all__)


# ---- The package


@pytest.mark.parametrize(
    "module",
    [kernels, rkhs, _align, _combinations, _function, _kernel, _parse, _threads, _core],
    ids=lambda m: m.__name__,
)
def test_the_examples_in_docstrings_run(module):
    failed, tried = doctest.testmod(module)
    assert failed == 0
    assert tried >= 1


def test_import_is_quick_and_loads_nothing_but_numpy():
    code = (
        "import sys, numpy, json, time; before = set(sys.modules); start = time.process_time();"
        "import kcore; spent = time.process_time() - start;"
        "print(json.dumps([spent, sorted({m.split('.')[0] for m in set(sys.modules) - before})]))"
    )
    runs = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        runs.append(json.loads(done.stdout))
    spent, modules = min(runs)
    assert not {"scipy", "sklearn", "pandas", "polars"} & set(modules)
    assert spent < 0.1  # of the processor's time; 0.02 where nothing else runs


# ---- Columns


COLUMNS = np.array([[1.0, 2.0, 3.0, 4.0], [0.0, -1.0, 2.5, 3.0], [2.0, 2.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("columns", "numbers"),
    [
        ([2, 0], [2, 0]),
        (3, [3]),
        (-1, [3]),
        ((0, -2), [0, 2]),
        (slice(1, None), [1, 2, 3]),
        (slice(None, None, -2), [3, 1]),
        (np.array([1, 3]), [1, 3]),
        ([True, False, False, True], [0, 3]),
    ],
)
def test_columns_are_numbers_slices_or_masks(columns, numbers):
    kernel = Polynomial(degree=2).on(columns)
    assert_same_bits(kernel(COLUMNS), Polynomial(degree=2)(COLUMNS[:, numbers]))
    assert_same_bits(kernel.diag(COLUMNS), Polynomial(degree=2).diag(COLUMNS[:, numbers]))
    assert eval(repr(kernel), vars(kernels)) == kernel
    assert hash(pickle.loads(pickle.dumps(kernel))) == hash(kernel)


def test_columns_of_a_data_frame_have_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(COLUMNS, columns=list("abcd"))
    assert_same_bits(RBF().on(["d", "a"])(frame), RBF()(COLUMNS[:, [3, 0]]))
    inner = (RBF().on("a") + Linear()).on(["c", "a"])
    expected = RBF()(COLUMNS[:, [0]]) + Linear()(COLUMNS[:, [2, 0]])
    assert_same_bits(inner(frame), expected)


def test_a_slice_of_columns_is_no_list_of_its_ends():
    assert RBF().on(slice(0, 2, 1)) != RBF().on([0, 2, 1])
    assert RBF().on(slice(0, 2, 1)) == RBF().on(slice(0, 2, 1))
    assert len({RBF().on(slice(0, 2, 1)), RBF().on([0, 2, 1]), RBF().on(slice(0, 2, 1))}) == 2


def test_columns_of_columns_are_counted_among_them():
    inner = (RBF().on([1]) * Linear()).on([3, 0])
    assert_same_bits(inner(COLUMNS), RBF()(COLUMNS[:, [0]]) * Linear()(COLUMNS[:, [3, 0]]))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: RBF().on([]), ValueError, "columns must not be empty"),
        (lambda: RBF().on([0, 0]), ValueError, "columns has 0 twice"),
        (lambda: RBF().on(["a", "a"]), ValueError, "columns has 'a' twice"),
        (lambda: RBF().on(1.5), TypeError, "columns must be"),
        (lambda: RBF().on([0.5]), TypeError, "columns"),
        (lambda: RBF().on([7])(COLUMNS), ValueError, "column 7, X has 4 columns"),
        (lambda: RBF().on([-5])(COLUMNS), ValueError, "-5 is not among the 4 columns"),
        (lambda: RBF().on([0, -4])(COLUMNS), ValueError, "columns has 0 twice"),
        (lambda: RBF().on(slice(9, None))(COLUMNS), ValueError, "none of the 4 columns"),
        (lambda: RBF().on("a")(COLUMNS), ValueError, "no column names"),
        (lambda: RBF().on([2]).on([0, 1])(COLUMNS), ValueError, "column 2 of 2 columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_normalized_kernel_has_ones_and_zeros_on_its_diagonal():
    X = np.array([[3.0, 4.0], [0.0, 0.0], [1e-3, 0.0]])
    assert np.allclose(Linear().normalized().diag(X), [1, 0, 1], rtol=1e-15)
    assert Linear().normalized().definiteness == "positive"
    with pytest.raises(ValueError, match=r"K\(x, x\) of X row 1 is -8, must not be negative"):
        Polynomial(degree=3, coef0=-2.0).normalized()(X)
    kernel = Polynomial(degree=1, coef0=-2.0).normalized()  # a fit sorts its rows by class
    with pytest.raises(ValueError, match="X row 2 is -1"):
        SVC(kernel=kernel).fit(np.array([[3.0], [2.0], [1.0], [4.0]]), [1, 1, 0, 0])
