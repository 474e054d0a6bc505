"""Kernels of histograms, categories and single features: values, refusals, learners, tables."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

import kcore
from conftest import MACHINES, assert_same_bits, assert_within_bound, quietly
from kcore.kernels import (
    ANOVA,
    RBF,
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Delta,
    Hamming,
    HistogramIntersection,
    Linear,
    MinMax,
    RationalQuadratic,
    Tanimoto,
)

HISTOGRAM_LEAVES = [Chi2(gamma=0.4), AdditiveChi2(), HistogramIntersection(), MinMax()]
LEAVES = [
    *HISTOGRAM_LEAVES,
    RationalQuadratic(length_scale=1.5),
    RationalQuadratic(length_scale=0.6, alpha=0.3),
    RationalQuadratic(length_scale=3.0, alpha=40.0),
    Tanimoto(),
    Cosine(),
    Hamming(),
    ANOVA(gamma=0.7),
    Constant(0.3),
    MinMax() * RBF(0.1) + 0.5 * HistogramIntersection().normalized(),
]
DTYPES = [np.float32, np.float64]
ONES = (RationalQuadratic, Chi2, MinMax, Tanimoto, Hamming)  # K(x, x) = 1, to the bit


def histograms(rng, n, d, dtype, density=0.4):
    """Samples without a negative number, with zeros, equal numbers and a sample of zeros alone."""
    X = rng.gamma(1.0, 1.0, (n, d)) * (rng.random((n, d)) < density)
    X = np.where(rng.random((n, d)) < 0.3, np.round(X), X)
    X[n // 2] = 0
    return X.astype(dtype)


# ---- Values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 8, 33, 70])
def test_values_are_within_the_bound_of_their_precision(kernel, d, dtype, rng):
    X, Z = histograms(rng, 37, d, dtype), histograms(rng, 21, d, dtype)
    K = kernel(X, Z)
    assert K.dtype == dtype
    assert_within_bound(kernel, X, Z, K)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1024, 1025, 1400])
@pytest.mark.parametrize("kernel", [*HISTOGRAM_LEAVES, Tanimoto(), Hamming()], ids=repr)
def test_values_are_within_the_bound_for_many_features(kernel, d, dtype, rng):
    X, Z = histograms(rng, 19, d, dtype, 0.05), histograms(rng, 13, d, dtype, 0.05)
    assert_within_bound(kernel, X, Z, kernel(X, Z))


@given(
    st.sampled_from(LEAVES),
    st.sampled_from(DTYPES),
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 90)),
    st.floats(0.02, 1),
    st.integers(0, 2**32 - 1),
)
def test_bits_depend_on_the_pair_alone(kernel, dtype, shape, density, seed):
    n, m, d = shape
    rng = np.random.default_rng(seed)
    X, Z = histograms(rng, n, d, dtype, density), histograms(rng, m, d, dtype, density)
    K = kernel(X, Z)
    assert_within_bound(kernel, X, Z, K)
    assert_same_bits(K, kernel(Z, X).T)
    assert_same_bits(K, kernel(sp.csr_array(X), sp.csr_array(Z)))
    assert_same_bits(K, kernel(sp.csr_array(X), np.asfortranarray(Z)))
    i, j = n // 2, m // 3
    assert_same_bits(K[i:, j : j + 1], kernel(X[i:], Z[j : j + 1]))
    assert_same_bits(kernel.diag(X), np.diag(kernel(X)))
    if isinstance(kernel, ONES):
        assert (kernel.diag(X) == 1).all()


@pytest.mark.parametrize("kernel", LEAVES[:-1], ids=repr)
def test_sparse_samples_of_many_features_have_the_bits_of_dense_ones(kernel, rng):
    X, Z = (histograms(rng, n, 3000, np.float32, 0.01) for n in (70, 45))
    if isinstance(kernel, ANOVA):
        X, Z = X.astype(np.float64)[:, :1000], Z.astype(np.float64)[:, :1000]
    K = kernel(X, Z)
    assert_same_bits(K, kernel(sp.csr_array(X), sp.csr_array(Z)))
    assert_same_bits(kernel.diag(sp.csr_array(X)), np.diag(kernel(X)))


def test_avx2_and_avx512_give_the_same_bits():
    program = """
import hashlib, numpy as np, scipy.sparse as sp, kcore
from kcore.kernels import *
rng = np.random.default_rng(0)
hashes = [hashlib.sha256()]
for d in (5, 70, 1100):
    for dtype in (np.float32, np.float64):
        X = (rng.gamma(1.0, 1.0, (60, d)) * (rng.random((60, d)) < 0.3)).astype(dtype)
        for kernel in (Chi2(0.1), AdditiveChi2(), HistogramIntersection(), MinMax(), Tanimoto(),
                       Hamming(), Laplacian(0.1), RationalQuadratic(2.0, 0.7),
                       RationalQuadratic(), ANOVA(0.2).on(slice(None, 60))):
            for Z in (X[:41], X[:1], sp.csr_array(X[3:30])):
                hashes[0].update(kernel(Z, X).tobytes())
print(kcore.isa_name(), hashes[0].hexdigest())
"""
    said = []
    for isa in ("avx2", "avx512"):
        run = subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"KCORE_ISA": isa},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if run.returncode != 0 or run.stdout.split()[0] != isa:
            pytest.skip(f"no {isa} here")
        said.append(run.stdout.split()[1])
    assert said[0] == said[1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_those_of_scikit_learn(dtype, rng):
    X, Z = histograms(rng, 40, 12, dtype, 0.7), histograms(rng, 25, 12, dtype, 0.7)
    near = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-13}
    np.testing.assert_allclose(Chi2(0.4)(X, Z), pairwise.chi2_kernel(X, Z, 0.4), **near)
    np.testing.assert_allclose(AdditiveChi2()(X, Z), pairwise.additive_chi2_kernel(X, Z), **near)
    np.testing.assert_allclose(Cosine()(X, Z), pairwise.cosine_similarity(X, Z), **near)
    for scale, alpha in [(1.0, 1.0), (0.5, 0.2), (2.0, 7.0)]:
        peer = gp.RationalQuadratic(scale, alpha)(X, Z)
        np.testing.assert_allclose(RationalQuadratic(scale, alpha)(X, Z), peer, **near)


def test_sets_are_compared_as_jaccard_did(rng):
    X = (rng.random((30, 50)) < 0.2).astype(float)
    shared, sizes = X @ X.T, X.sum(axis=1)
    jaccard = shared / (sizes[:, None] + sizes[None, :] - shared)
    assert_same_bits(Tanimoto()(X), jaccard)
    assert_same_bits(MinMax()(X), jaccard)
    assert_same_bits(Tanimoto()(X > 0), jaccard)
    assert_same_bits(Tanimoto()(sp.csr_array(X.astype(np.float32))), jaccard.astype(np.float32))


def test_samples_of_zeros_have_the_values_that_are_documented():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    for kernel in (MinMax(), Tanimoto()):
        assert (kernel(X) == np.eye(2)).all()
    assert (Cosine()(X) == [[0, 0], [0, Cosine()(X)[1, 1]]]).all()
    assert (Chi2()(X)[0] == [1, np.exp(-3.0)]).all()
    assert (AdditiveChi2()(X) == [[0, -3], [-3, 0]]).all()
    assert not np.signbit(np.diag(AdditiveChi2()(X))).any()


def test_large_alpha_is_near_the_gaussian_kernel(rng):
    X = rng.standard_normal((20, 5))
    np.testing.assert_allclose(RationalQuadratic(2.0, 1e9)(X), RBF(1 / 8)(X), rtol=1e-7)


def test_a_rational_quadratic_value_of_far_samples_is_no_zero():
    K = RationalQuadratic(1.0, 0.5)(np.array([[0.0]]), np.array([[1e100]]))
    np.testing.assert_allclose(K, 1e-100, rtol=1e-12)
    far = np.array([[1e18]], np.float32)
    np.testing.assert_allclose(RationalQuadratic()(far, -far), [[2 / 4e36]], rtol=1e-6)


# ---- Definiteness


@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_eigenvalues_are_as_the_kernel_declares(kernel, rng):
    X = histograms(rng, 60, 9, np.float64, 0.8)
    K = kernel(X)
    if kernel.definiteness == "conditional":
        center = np.eye(60) - 1 / 60
        assert np.linalg.eigvalsh(K)[0] < -1  # it is not positive
        K = center @ K @ center
    else:
        assert kernel.definiteness == "positive"
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-12 * values[-1]


def test_only_the_additive_kernel_is_not_positive():
    assert [k.definiteness for k in LEAVES].count("conditional") == 1
    assert AdditiveChi2().definiteness == "conditional"


# ---- Refusals


NEGATIVE = "row 7, column 2 is -0.25: the kernel {} takes no negative numbers"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("kernel", HISTOGRAM_LEAVES, ids=repr)
def test_negative_numbers_are_refused_by_row_and_column(kernel, make, dtype, rng):
    good = histograms(rng, 20, 5, dtype)
    bad = good.copy()
    bad[7, 2] = -0.25
    bad[9, 0] = -3
    name = kernel._nodes()[0][0]
    with pytest.raises(ValueError, match="X: " + NEGATIVE.format(name)):
        kernel(make(bad))
    with pytest.raises(ValueError, match="Z: " + NEGATIVE.format(name)):
        kernel(make(good), make(bad))
    with pytest.raises(ValueError, match="X: " + NEGATIVE.format(name)):
        kernel.diag(make(bad))
    with pytest.raises(ValueError, match="X: " + NEGATIVE.format(name)):
        (RBF() + kernel.on([4, 2])).diag(make(bad))
    assert np.isfinite(kernel.on([1, 3])(make(bad))).all()  # not among what it reads
    wide = sp.csr_array(np.hstack([bad, np.zeros((20, 300), dtype)]))
    with pytest.raises(ValueError, match="X: " + NEGATIVE.format(name)):
        kernel(wide)


@pytest.mark.parametrize("n_rows", [1, 20])
def test_a_model_refuses_negative_numbers_before_anything_changes(n_rows, rng):
    X, y = histograms(rng, 40, 4, np.float64), np.arange(40) % 2
    bad = np.abs(X[:n_rows])
    bad[-1, 3] = -1
    text = f"row {n_rows - 1}, column 3 is -1: the kernel minmax takes no negative numbers"
    for learner in (kcore.SVC, kcore.KernelPerceptron):
        model = quietly(learner(kernel=MinMax()), X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match=text):
            model.predict(bad)
        if n_rows > 1:
            with pytest.raises(ValueError, match=text):
                model.fit(bad, y[:n_rows])
        assert (model.predict(X) == before).all()
    with pytest.raises(ValueError, match=text):
        model.partial_fit(bad, y[:n_rows])
    assert (model.predict(X) == before).all()


def test_minus_zero_is_no_negative_number():
    X = np.array([[-0.0, 1.0], [0.0, 1.0]])
    for kernel in HISTOGRAM_LEAVES:
        assert_same_bits(kernel(X), kernel(abs(X)))


def test_an_anova_kernel_of_many_features_is_an_overflow(rng):
    for dtype, most in [(np.float32, 127), (np.float64, 1023)]:
        X = np.zeros((3, most + 1), dtype)
        for make in (np.asarray, sp.csr_array):
            assert (ANOVA()(make(X[:, 1:])) == 2.0**most).all()
            assert (ANOVA().diag(make(X[:, 1:])) == 2.0**most).all()
            with pytest.raises(ValueError, match="overflows"):
                ANOVA()(make(X))
            with pytest.raises(ValueError, match="overflows"):
                ANOVA().diag(make(X))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: RationalQuadratic(0), "length_scale must be positive, got 0"),
        (lambda: RationalQuadratic(1, 0), "alpha must be positive, got 0"),
        (lambda: RationalQuadratic(np.nan), "length_scale must be a finite number >= 0, got nan"),
        (lambda: Chi2(-1), "gamma must be a finite number >= 0, got -1"),
        (lambda: ANOVA(np.inf), "gamma must be a finite number >= 0, got inf"),
        (lambda: Constant(-1), "value must be a finite number >= 0, got -1"),
        (lambda: Hamming([]), "weights must be 1 to 256 numbers"),
        (lambda: Hamming([1, -1]), r"weights\[1\] must be a finite number >= 0, got -1"),
        (lambda: Hamming([0, 0]), "the sum of weights must be finite and positive, got 0"),
        (lambda: Hamming([1, 2]).on([0, 1, 2]), "columns has 3 columns, weights has 2 numbers"),
        (
            lambda: Hamming([1, 2])(np.ones((2, 3))),
            "weights of Hamming has 2 entries, and it reads 3 columns of X",
        ),
        (
            lambda: Hamming([1, 2, 3])(np.ones((2, 2))),
            "weights of Hamming has 3 entries, and it reads 2 columns of X",
        ),
    ],
)
def test_bad_parameters_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()


# ---- As values


@pytest.mark.parametrize("kernel", [*LEAVES, Hamming([1, 2.5]), Hamming().on([0, 3])], ids=repr)
def test_kernels_are_values(kernel):
    assert eval(repr(kernel), vars(kcore.kernels).copy()) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel == copy.deepcopy(kernel)
    assert hash(kernel.replace()) == hash(kernel)
    for name, value in kernel.get_params().items():
        assert kernel.replace(**{name: value}) == kernel


# ---- Learners


TAKE_CONDITIONAL = ("SVC", "NuSVC", "SVR", "NuSVR")
FITS = [
    (learner, kernel)
    for learner in [*MACHINES, kcore.KernelPerceptron]
    for kernel in [*LEAVES, Constant(0.3) + Tanimoto()]
    if not isinstance(kernel, Constant)  # NuSVC finds no margin
    and (kernel.definiteness == "positive" or learner.__name__ in TAKE_CONDITIONAL)
]


@pytest.mark.parametrize(("learner", "kernel"), FITS, ids=str)
def test_learners_have_the_functions_of_the_matrix(kernel, learner, rng):
    X = histograms(rng, 50, 6, np.float64, 0.8)
    y = np.where(X[:, 0] + 0.2 * X[:, 1] > X[:, 2], 1, -1)
    more = {"nu": 0.2} if learner.__name__ in ("NuSVC", "NuSVR") else {}
    more |= {"random_state": 0} if learner is kcore.KernelPerceptron else {}
    model = quietly(learner(kernel=kernel, **more), X, y)
    given = quietly(learner(kernel="precomputed", **more), kernel(X), y)
    decide = "decision_function" if hasattr(model, "decision_function") else "predict"
    Z = histograms(rng, 9, 6, np.float64, 0.8)
    values = getattr(model, decide)(Z)
    expected = getattr(given, decide)(kernel(Z, X))
    np.testing.assert_allclose(values, expected, rtol=1e-2, atol=5e-3 * (1 + abs(expected).max()))
    one = np.concatenate([getattr(model, decide)(z[None]) for z in Z])
    assert_same_bits(one, values)
    np.testing.assert_allclose(
        getattr(quietly(learner(kernel=kernel, **more), sp.csr_array(X), y), decide)(Z), values
    )


# ---- Categories and tables


def frame():
    return pd.DataFrame({
        "colour": ["red", "blue", "red", "green", "blue"],
        "city": pd.Categorical(["a", "b", "b", "a", "c"]),
        "size": [1, 2, 2, 1, 3],
        "paid": [True, False, True, True, False],
        "age": [30.5, 20.0, 41.0, 20.0, 30.5],
    })  # fmt: skip


def share(table, columns, weights):
    equal = [(table[c].to_numpy()[:, None] == table[c].to_numpy()[None, :]) for c in columns]
    return sum(w * e for w, e in zip(weights, equal, strict=True)) / sum(weights)


@pytest.mark.parametrize(
    "columns",
    [["colour"], ["colour", "city"], ["city", "size", "paid"], ["size", "paid"], ["age"]],
)
def test_columns_of_any_kind_are_compared_by_value(columns):
    table = frame()
    expected = share(table.astype({"city": str}), columns, [1] * len(columns))
    np.testing.assert_allclose(Hamming().on(columns)(table), expected, rtol=1e-15)


def test_listed_columns_of_strings_are_the_mean_of_delta_kernels():
    mean = 0.5 * (Delta().on("colour") + Delta().on("city"))
    assert_same_bits(Hamming().on(["colour", "city"])(frame()), mean(frame()))
    weighted = Hamming([3, 1]).on(["colour", "size"])
    np.testing.assert_allclose(weighted(frame()), share(frame(), ["colour", "size"], [3, 1]))


def test_the_order_of_categories_is_the_frames_own_business():
    table, other = frame(), frame()
    other["city"] = other["city"].cat.reorder_categories(["c", "b", "a"])
    wider = frame()
    wider["city"] = wider["city"].cat.set_categories(["x", "c", "a", "b"])
    kernel = Hamming().on(["city", "colour"])
    assert list(table["city"].cat.codes) != list(other["city"].cat.codes)
    assert_same_bits(kernel(table), kernel(other))
    assert_same_bits(kernel(table), kernel(table, other))
    assert_same_bits(kernel(table), kernel(table, wider))
    numbers = frame().assign(city=pd.Categorical([5, 7, 7, 5, 9], categories=[9, 7, 5]))
    assert_same_bits(kernel(numbers), kernel(table))


def test_a_value_that_the_fit_has_not_seen_is_equal_to_itself_alone():
    table, y = frame(), [0, 1, 0, 1, 1]
    kernel = Hamming().on(["colour", "city", "size"])
    model = kcore.SVC(kernel=kernel, C=5).fit(table, y)
    new = pd.DataFrame({
        "colour": ["violet"], "city": ["z"], "size": [99], "paid": [True], "age": [1.0],
    })  # fmt: skip
    assert (kernel(new, table) == 0).all()
    assert (kernel(new) == 1).all()
    np.testing.assert_allclose(model.decision_function(new), model.intercept_)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_values_are_refused_by_column_and_row(missing):
    table = frame().astype({"colour": object})
    table.loc[3, "colour"] = missing
    with pytest.raises(TypeError, match="column 'colour': row 3 is"):
        Hamming().on(["colour", "city"])(table)
    table = frame()
    table.loc[2, "age"] = np.nan
    with pytest.raises(ValueError, match="row 2, column 4 is NaN, must be finite"):
        Hamming().on(["colour", "age"])(table)


def test_several_columns_of_strings_must_be_named():
    with pytest.raises(TypeError, match="say on which columns it is"):
        Hamming()(frame())


def test_strings_alone_have_the_delta_kernel():
    words = ["a", "b", "a", "c"]
    assert_same_bits(Hamming()(words), Delta()(words))
    assert_same_bits(Hamming([2.0])(words), Delta()(words))


def test_a_constant_is_added_to_a_kernel_of_any_samples():
    kernel = Hamming().on(["colour", "city"]) + Constant(2)
    assert_same_bits(kernel(frame()), Hamming().on(["colour", "city"])(frame()) + 2)
    assert_same_bits((Delta() + Constant(0.5))(["a", "b"]), np.array([[1.5, 0.5], [0.5, 1.5]]))
    assert (Constant(3)(["a", "b"]) == 3).all()
    assert (Constant(3)(frame()) == 3).all()
    assert (Constant(3).diag(np.ones((2, 2), np.float32)) == 3).all()


def test_a_table_of_numbers_and_categories_trains_in_one_expression(rng):
    n = 200
    table = pd.DataFrame({
        "group": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        "town": rng.choice(["x", "y"], n),
        "dose": rng.uniform(0, 1, n),
        "count": rng.poisson(3.0, n).astype(float),
    })  # fmt: skip
    y = (table["group"] == "b") ^ (table["dose"] > 0.5)
    kernel = Hamming().on(["group", "town"]) * RBF(8.0).on("dose") + MinMax().on(["count", "dose"])
    model = kcore.SVC(kernel=kernel, C=10).fit(table, y)
    assert model.score(table, y) > 0.95
    assert_same_bits(model.decision_function(table), model.decision_function(table[::-1])[::-1])


def test_linear_plus_a_constant_is_the_affine_kernel(rng):
    X = rng.standard_normal((6, 3))
    assert_same_bits((Linear() + Constant(1.0))(X), Linear()(X) + 1.0)


def test_weights_of_hamming_are_found_for_columns_that_are_set_later():
    frame = pd.DataFrame({"s": ["a", "a", "b"], "t": ["x", "y", "y"]})
    kernel = Hamming([3, 1]).on(["s", "t"])
    equal = kernel.replace(kernel__weights=None)
    assert equal == Hamming().on(["s", "t"])
    np.testing.assert_array_equal(equal(frame), [[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    with pytest.raises(ValueError, match="columns has 1 columns, weights has 2 numbers"):
        kernel.replace(columns=["s"])
    assert kernel.replace(columns=["s"], kernel=Hamming())(frame)[0, 1] == 1
