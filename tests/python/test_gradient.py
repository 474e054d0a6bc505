"""Gradients by contraction: against differences of the definition, formulas and scikit-learn."""

import itertools
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from conftest import reference
from kcore import kernels
from kcore.kernels import (
    ANOVA,
    RBF,
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Delta,
    Function,
    Hamming,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Sigmoid,
    Sum,
    Tanimoto,
    exp,
    power_series,
    rank_one,
)

KERNELS = [
    RBF(0.3),
    Polynomial(3, 0.4, 0.7),
    Polynomial(1, 0.4, -0.7),
    Polynomial(0, 0.4, 0.7),
    Sigmoid(0.2, 0.3),
    Laplacian(0.4),
    Matern(0.5, 1.3),
    Matern(1.5, 0.8),
    Matern(2.5, 1.7),
    2.5 * RBF(0.2),
    -1.5 * Laplacian(0.2) + Linear(),
    RBF(0.1) + RBF(0.3) + 0.5 * RBF(0.9),
    RBF(0.3) * Polynomial(2, 0.2, 1.0) * Matern(1.5, 2.0),
    (RBF(0.5) + 0.5 * Sigmoid(0.2, 0.1)) ** 3,
    (RBF(0.5) + 0.5 * Laplacian(0.2)) ** 0,
    exp(0.2 * Linear()) * Laplacian(0.5),
    Polynomial(2, 0.5, 1.0).normalized(),
    (2.0 * RBF(0.3) + 0.7 * Linear()).normalized() * RBF(0.1),
    (Polynomial(2, 0.3, 0.5).normalized() + 0.4 * Linear()).normalized(),
    (RBF(0.3) + (RBF(0.2) + (Linear() * (0.4 * RBF(0.9) + 0.3 * Laplacian(0.6))))),
    RBF(0.3).on([0]) * Polynomial(2, 0.3, 1.0).on(slice(None, None, -1)) + 0.3 * Linear(),
    RationalQuadratic(1.3, 1.0),
    RationalQuadratic(0.9, 0.6) * RBF(0.1),
    RationalQuadratic(2.0, 30.0) + 0.5 * RationalQuadratic(1.5, 0.3).normalized(),
    ANOVA(0.4),
    2.0 * ANOVA(0.4).normalized() + ANOVA(0.7).on([1, 0]) * RBF(0.2),
    Constant(1.7) * RBF(0.4),
    0.3 * Tanimoto() + Constant(0.4) * Cosine(),
    0.7 * Hamming() + RBF(0.2),
    power_series(RBF(0.3), [0.5, -1.0, 2.0, 0.25]),
    power_series(0.3 * Linear(), [2.0]) + power_series(0.2 * Linear(), [1.0, 0.5]) * RBF(0.2),
    power_series(power_series(RBF(0.3), [0.1, 1.0, 0.5]), [0.0, 0.0, 1.0]).normalized(),
    Sum(near=RBF(0.9), far=0.5 * RBF(0.1)) + Linear(),
    Sum(seq=Product(near=RBF(0.9), k=Constant(0.4)), table=2.0 * Laplacian(0.3)) * Matern(1.5, 2),
    Chi2(0.4),
    0.3 * AdditiveChi2() + Chi2(0.2) * (1.5 * MinMax()),
    Sum(bins=0.7 * HistogramIntersection(), rest=Chi2(0.9)).normalized(),
]
COUNTS = re.compile("Chi2|Histogram|MinMax")
DTYPES = [np.float32, np.float64]


def samples(kernel, X):
    """Return samples that the kernel takes: of counts, where it takes no others."""
    return abs(X) if COUNTS.search(repr(kernel)) else X


def reals(kernel):
    """Return the parameters that have a derivative, by their names in `get_params`."""
    found = {}
    for name, value in kernel.get_params().items():
        own = name.rpartition("__")[2]
        is_list = isinstance(value, tuple) and own in ("coefficients", "weights")
        if is_list or (isinstance(value, float) and own != "nu"):
            found[name] = value
    return found


def moved(kernel, name, entry, value):
    """Return the kernel with another value of a parameter, or of one of its entries."""
    if entry == ():
        return kernel.replace(**{name: value})
    values = list(kernel.get_params()[name])
    values[entry] = value
    return kernel.replace(**{name: values})


def slope_of(kernel, name, entry, value, step, X, Z):
    """Return the central difference of the definition, and its values at one end."""
    above, below = (
        reference(moved(kernel, name, entry, value + sign * step), X, Z, np.float64)[0]
        for sign in (1, -1)
    )
    return (above - below) / (np.longdouble(value + step) - np.longdouble(value - step)), above


def by_differences(kernel, X, Z, G):
    """Return the gradient by differences of the definition, and how large its terms are."""
    found = {}
    for name, whole in reals(kernel).items():
        found[name] = {}
        for entry, value in enumerate(whole) if isinstance(whole, tuple) else [((), whole)]:
            step = 4e-6 * max(0.5, abs(value))
            wide, values = slope_of(kernel, name, entry, value, step, X, Z)
            narrow, _ = slope_of(kernel, name, entry, value, step / 2, X, Z)
            slope = (4 * narrow - wide) / 3  # without the error of second order
            size = np.abs(G * slope).sum() + 1e-3 * np.abs(G * values).sum()
            found[name][entry] = (G * slope).sum(), size
    return found


def assert_is_gradient(found, kernel, X, Z, G, dtype=np.float64):
    wanted = by_differences(kernel, X, Z, G)
    assert found.keys() == wanted.keys()
    for name, entries in wanted.items():
        assert np.shape(found[name]) == (() if () in entries else (len(entries),))
        for entry, (expected, size) in entries.items():
            value = np.asarray(found[name])[entry]
            off = (2e-4 if dtype == np.float32 else 1e-8) * size + 1e-12
            assert abs(value - expected) <= off, (kernel, name, entry, value, float(expected))


# ---- Values


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_it_is_what_differences_of_the_definition_say(kernel, dtype, rng):
    X = samples(kernel, 0.7 * rng.standard_normal((13, 4))).astype(dtype)
    Z = samples(kernel, 0.7 * rng.standard_normal((9, 4))).astype(dtype)
    G = rng.standard_normal((13, 9))
    assert_is_gradient(kernel.gradient(X, Z, weights=G), kernel, X, Z, G, dtype)
    G = rng.standard_normal((13, 13))
    assert_is_gradient(kernel.gradient(X, weights=G), kernel, X, X, G, dtype)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sizes_around_the_edges_of_tiles(kernel, rng):
    for n, m in [(1, 1), (1, 300), (48, 256), (49, 257), (100, 65)]:
        X = samples(kernel, 0.7 * rng.standard_normal((n, 3)))
        Z = samples(kernel, 0.7 * rng.standard_normal((m, 3)))
        G = rng.standard_normal((n, m))
        assert_is_gradient(kernel.gradient(X, Z, weights=G), kernel, X, Z, G)
        G = rng.standard_normal((m, m))
        if m < 270:
            assert_is_gradient(kernel.gradient(Z, weights=G), kernel, Z, Z, G)


def distances(X, Z):
    return ((X[:, None] - Z[None]) ** 2).sum(axis=2)


def test_formulas_of_every_leaf(rng):
    X, Z, G = rng.standard_normal((70, 6)), rng.standard_normal((310, 6)), rng.random((70, 310))
    dot, square, city = X @ Z.T, distances(X, Z), abs(X[:, None] - Z[None]).sum(axis=2)
    r = np.sqrt(square)
    s = np.sqrt(3) * r / 1.4
    t = np.sqrt(5) * r / 1.4
    base = 0.3 * dot + 0.5
    tanh = np.tanh(base)
    q = square / (2 * 0.6 * 1.4**2)
    rational = (1 + q) ** -0.6
    apart = (X[:, None] - Z[None]) ** 2
    bell = np.exp(-0.3 * apart)
    anova = (1 + bell).prod(axis=2)
    for kernel, slopes in [
        (Linear(), {}),
        (RBF(0.3), {"gamma": -square * np.exp(-0.3 * square)}),
        (Laplacian(0.3), {"gamma": -city * np.exp(-0.3 * city)}),
        (
            Polynomial(4, 0.3, 0.5),
            {"gamma": 4 * dot * base**3, "coef0": 4 * base**3},
        ),
        (Sigmoid(0.3, 0.5), {"gamma": dot * (1 - tanh**2), "coef0": 1 - tanh**2}),
        (Matern(0.5, 1.4), {"length_scale": r / 1.4**2 * np.exp(-r / 1.4)}),
        (Matern(1.5, 1.4), {"length_scale": s**2 / 1.4 * np.exp(-s)}),
        (Matern(2.5, 1.4), {"length_scale": t**2 * (1 + t) / (3 * 1.4) * np.exp(-t)}),
        (
            RationalQuadratic(1.4, 0.6),
            {
                "length_scale": rational * 2 * 0.6 / 1.4 * q / (1 + q),
                "alpha": rational * (q / (1 + q) - np.log1p(q)),
            },
        ),
        (ANOVA(0.3), {"gamma": -anova * (apart * bell / (1 + bell)).sum(axis=2)}),
        (Constant(0.3), {"value": np.ones_like(dot)}),
        (Tanimoto(), {}),
        (Cosine(), {}),
        (Hamming(), {}),
    ]:
        found = kernel.gradient(X, Z, weights=G)
        assert found.keys() == slopes.keys()
        for name, slope in slopes.items():
            np.testing.assert_allclose(found[name], (G * slope).sum(), rtol=1e-11, atol=1e-9)


def test_formulas_of_counts(rng):
    X, Z, G = rng.random((70, 6)), rng.random((310, 6)), rng.random((70, 310))
    apart = ((X[:, None] - Z) ** 2 / (X[:, None] + Z)).sum(axis=2)
    found = Chi2(0.3).gradient(X, Z, weights=G)["gamma"]
    np.testing.assert_allclose(found, (G * -apart * np.exp(-0.3 * apart)).sum(), rtol=1e-12)
    for kernel in (AdditiveChi2(), HistogramIntersection(), MinMax()):
        assert kernel.gradient(X, Z, weights=G) == {}
        K = kernel(X, Z)
        np.testing.assert_allclose((2 * kernel).gradient(X, Z, weights=G)["factor"], (G * K).sum())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length_scale", [1e-30, 0.01, 1.0, 10.0, 1000.0, 1e30])
def test_alpha_of_a_rational_quadratic_keeps_its_digits(length_scale, dtype, rng):
    X = rng.standard_normal((40, 3)).astype(dtype)
    kernel = RationalQuadratic(length_scale, 30.0)
    s = distances(X.astype(np.longdouble), X.astype(np.longdouble)) / (60 * length_scale**2)
    v = s / (1 + s)
    series = -sum(v**i / i for i in range(2, 60))
    slope = (1 + s) ** -30.0 * np.where(v < 0.3, series, v - np.log1p(s))
    found = kernel.gradient(X, weights=np.ones((40, 40)))["alpha"]
    tiny = 1600 * np.finfo(dtype).smallest_normal
    wanted = float(slope.sum())
    np.testing.assert_allclose(
        found, wanted, rtol=2e-4 if dtype == np.float32 else 1e-12, atol=tiny
    )


def test_weights_of_columns_that_are_compared(rng):
    kernel = 1.5 * Hamming([0.5, 2.0, 1.0]) + RBF(0.3) * Hamming([1.0, 0.25]).on([2, 0])
    X, G = rng.integers(0, 3, (40, 3)).astype(float), rng.standard_normal((40, 40))
    found = kernel.gradient(X, weights=G)
    assert_is_gradient(found, kernel, X, X, G)
    log = kernel.gradient(X, weights=G, log=True)
    np.testing.assert_array_equal(
        log["k1__kernel__weights"], found["k1__kernel__weights"] * [0.5, 2, 1]
    )


def test_operands_have_their_names(rng):
    X, G = rng.standard_normal((20, 3)), rng.standard_normal((20, 20))
    kernel = Sum(seq=RBF(0.5), table=2.0 * RBF(0.1)) + Constant(0.3)
    found = kernel.gradient(X, weights=G)
    assert list(found) == ["seq__gamma", "table__kernel__gamma", "table__factor", "k3__value"]
    plain = (RBF(0.5) + 2.0 * RBF(0.1) + Constant(0.3)).gradient(X, weights=G)
    assert list(found.values()) == list(plain.values())


def test_a_series_has_a_slope_by_each_coefficient(rng):
    X, G = rng.standard_normal((20, 3)), rng.standard_normal((20, 20))
    kernel = power_series(RBF(0.5), [1.0, 0.0, -2.0])
    found = kernel.gradient(X, weights=G)
    K = RBF(0.5)(X)
    assert list(found) == ["kernel__gamma", "coefficients"]
    wanted = [(G * K**i).sum() for i in range(3)]
    np.testing.assert_allclose(found["coefficients"], wanted, rtol=1e-12)
    wanted = (G * -4 * K * -distances(X, X) * K).sum()
    np.testing.assert_allclose(found["kernel__gamma"], wanted, rtol=1e-11)
    log = kernel.gradient(X, weights=G, log=True)
    np.testing.assert_array_equal(log["coefficients"], found["coefficients"] * [1.0, 0.0, -2.0])


def test_a_long_series(rng):
    coefficients = rng.random(1001)
    X, G = rng.random((10, 2)), rng.random((10, 10))
    kernel = power_series(0.3 * Linear(), coefficients)
    K = 0.3 * X @ X.T
    found = kernel.gradient(X, weights=G)
    powers = K[..., None] ** np.arange(1001)
    wanted = np.einsum("ij,ijk->k", G, powers)
    np.testing.assert_allclose(found["coefficients"], wanted, rtol=1e-10, atol=1e-300)
    wanted = (G * K / 0.3 * (powers[..., :-1] @ (np.arange(1, 1001) * coefficients[1:]))).sum()
    np.testing.assert_allclose(found["kernel__factor"], wanted, rtol=1e-11)


def test_functions_have_no_parameters_but_take_part(rng):
    def overlap(A, B):
        return np.minimum(A[:, None], B[None]).sum(axis=2)

    X, Z, G = rng.random((60, 3)), rng.random((290, 3)), rng.standard_normal((60, 290))
    kernel = 1.5 * Function(overlap) * RBF(0.3) + 0.5 * rank_one(lambda X: X[:, 0] ** 2)
    found = kernel.gradient(X, Z, weights=G)
    square, f = distances(X, Z), np.outer(X[:, 0] ** 2, Z[:, 0] ** 2)
    K = overlap(X, Z) * np.exp(-0.3 * square)
    wanted = {
        "k1__k1__factor": (G * K).sum(),
        "k1__k2__gamma": (G * 1.5 * K * -square).sum(),
        "k2__factor": (G * f).sum(),
    }
    assert found == pytest.approx(wanted, rel=1e-11)

    def failing(A, B):
        raise LookupError("no such value")

    with pytest.raises(LookupError, match="no such value"):
        (2.0 * Function(failing)).gradient(X, weights=np.ones((60, 60)))


def test_a_sum_of_many_kernels_and_a_deep_one(rng):
    X, G = rng.standard_normal((60, 3)), rng.standard_normal((60, 60))
    gammas = np.linspace(0.1, 1.0, 40)
    square = distances(X, X)
    found = sum(RBF(gamma) for gamma in gammas).gradient(X, weights=G)
    assert list(found) == [f"k{i}__gamma" for i in range(1, 41)]
    wanted = [-(G * square * np.exp(-gamma * square)).sum() for gamma in gammas]
    np.testing.assert_allclose(list(found.values()), wanted, rtol=1e-10, atol=1e-9)
    deep = RBF(0.5)
    for _ in range(12):
        deep = RBF(0.1) + 0.5 * deep
    assert_is_gradient(deep.gradient(X, weights=G), deep, X, X, G)


def test_log_multiplies_by_the_parameters(rng):
    kernel = 3.0 * RBF(0.4) + Matern(1.5, 0.7) * Polynomial(2, 0.5, -0.1)
    X, G = rng.standard_normal((20, 3)), rng.standard_normal((20, 20))
    plain, log = (kernel.gradient(X, weights=G, log=log) for log in (False, True))
    params = kernel.get_params()
    assert log == {name: value * params[name] for name, value in plain.items()}


def test_a_row_of_zeros_adds_nothing_where_it_is_normalized():
    kernel = (0.5 * Linear()).normalized()
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, -1.0]])
    assert kernel.gradient(X, weights=np.ones((3, 3))) == {"kernel__factor": 0.0}


def test_strings_and_tables():
    X = np.array(["red", "blue", "red"], dtype=object)
    G = np.arange(9.0).reshape(3, 3)
    assert Delta().gradient(X, weights=G) == {}
    assert (2 * Delta()).gradient(X, weights=G) == {"factor": 0.0 + 2 + 4 + 6 + 8}


def test_data_frames_by_name(rng):
    pd = pytest.importorskip("pandas")
    numbers = rng.standard_normal((8, 2))
    frame = pd.DataFrame(numbers, columns=["age", "dose"]).assign(kind=list("abcabcab"))
    kernel = RBF(0.5).on(["dose"]) * (1.5 * Delta()).on("kind")
    G = rng.standard_normal((8, 8))
    same = np.equal.outer(frame["kind"].to_numpy(), frame["kind"].to_numpy())
    square = np.subtract.outer(numbers[:, 1], numbers[:, 1]) ** 2
    K = same * np.exp(-0.5 * square)
    found = kernel.gradient(frame, weights=G)
    wanted = {
        "k1__kernel__gamma": (G * -square * 1.5 * K).sum(),
        "k2__kernel__factor": (G * K).sum(),
    }
    assert found == pytest.approx(wanted, rel=1e-12)


# ---- Scikit-learn


def test_it_agrees_with_scikit_learn(rng):
    gp = pytest.importorskip("sklearn.gaussian_process.kernels")
    X, G = rng.standard_normal((30, 3)), rng.standard_normal((30, 30))
    peer = gp.ConstantKernel(1.7) * gp.RBF(0.9) + gp.ConstantKernel(0.6) * gp.Matern(1.3, nu=2.5)
    kernel = 1.7 * RBF(1 / (2 * 0.9**2)) + 0.6 * Matern(2.5, 1.3)
    _, slopes = peer(X, eval_gradient=True)
    wanted = np.einsum("ij,ijk->k", G, slopes)  # by the logarithms of the hyperparameters
    found = kernel.gradient(X, weights=G, log=True)
    np.testing.assert_allclose(found["k1__factor"], wanted[0], rtol=1e-9)
    np.testing.assert_allclose(-2 * found["k1__kernel__gamma"], wanted[1], rtol=1e-9)
    np.testing.assert_allclose(found["k2__factor"], wanted[2], rtol=1e-9)
    np.testing.assert_allclose(found["k2__kernel__length_scale"], wanted[3], rtol=1e-9)


def test_it_is_the_gradient_of_the_evidence(rng):
    gp = pytest.importorskip("sklearn.gaussian_process")
    X, y = rng.standard_normal((25, 2)), rng.standard_normal(25)
    peer = gp.kernels.ConstantKernel(1.7) * gp.kernels.Matern(1.3, nu=1.5)
    model = gp.GaussianProcessRegressor(peer, alpha=0.1, optimizer=None).fit(X, y)
    _, wanted = model.log_marginal_likelihood(peer.theta, eval_gradient=True)
    kernel = 1.7 * Matern(1.5, 1.3)
    inverse = np.linalg.inv(kernel(X) + 0.1 * np.eye(25))
    a = inverse @ y
    found = kernel.gradient(X, weights=0.5 * (np.outer(a, a) - inverse), log=True)
    np.testing.assert_allclose([found["factor"], found["kernel__length_scale"]], wanted, rtol=1e-8)


# ---- Bits


def bits(found):
    return {name: np.asarray(value, np.float64).tobytes() for name, value in found.items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [5, 90])
def test_bits_do_not_depend_on_threads_or_storage(kernel, d, dtype, rng):
    X = (rng.standard_normal((151, d)) * (rng.random((151, d)) < 0.2) / 2).astype(dtype)
    Z = (rng.standard_normal((330, d)) * (rng.random((330, d)) < 0.2) / 2).astype(dtype)
    X, Z = samples(kernel, X), samples(kernel, Z)
    for other, n_columns in ((Z, 330), (None, 151)):
        G = rng.standard_normal((151, n_columns))
        wanted = bits(kernel.gradient(X, other, weights=G, n_jobs=1))
        sparse = None if other is None else sp.csr_matrix(other)
        strided = np.repeat(X, 2, axis=1)[:, ::2]
        assert bits(kernel.gradient(X, other, weights=G, n_jobs=2)) == wanted
        assert bits(kernel.gradient(strided, other, weights=np.asfortranarray(G))) == wanted
        if "Selected" not in repr(kernel) and "slice" not in repr(kernel):
            assert bits(kernel.gradient(sp.csr_matrix(X), sparse, weights=G)) == wanted
            assert bits(kernel.gradient(sp.csr_matrix(X), other, weights=G)) == wanted


def test_weights_are_read_in_place_in_any_form(rng):
    kernel = 2.0 * RBF(0.3)
    X, G = rng.standard_normal((100, 3)), rng.integers(-5, 5, (100, 100))
    wanted = bits(kernel.gradient(X, weights=G.astype(np.float64)))
    wide = np.zeros((100, 300))
    wide[:, ::3] = G
    for same in (
        G,
        G.astype(np.float32),
        wide[:, ::3],
        np.asfortranarray(G, np.float32),
        G.tolist(),
    ):
        assert bits(kernel.gradient(X, weights=same)) == wanted


# ---- Random expressions


def leaves():
    positive = st.floats(0.05, 1.5)
    return st.one_of(
        st.just(Linear()),
        st.builds(RBF, positive),
        st.builds(Laplacian, positive),
        st.builds(Polynomial, st.integers(1, 3), positive, st.floats(-1, 1)),
        st.builds(Sigmoid, positive, st.floats(-1, 1)),
        st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), st.floats(0.5, 2)),
        st.builds(RationalQuadratic, st.floats(0.5, 2), st.floats(0.1, 20)),
        st.builds(ANOVA, positive),
        st.builds(Constant, positive),
        st.just(Tanimoto()),
    )


def combined(inner):
    return st.one_of(
        st.builds(kernels.Sum, inner, inner),
        st.builds(kernels.Product, inner, inner),
        st.builds(lambda k, a: a * k, inner, st.floats(-2, 2)),
        st.builds(lambda k, degree: k**degree, inner, st.integers(0, 3)),
        st.builds(lambda k: exp(0.05 * k), inner),
        st.builds(power_series, inner, st.lists(st.floats(-1, 1), min_size=1, max_size=4)),
        st.builds(lambda k: (k * k).normalized(), st.builds(RBF, st.floats(0.05, 1.5))),
        st.builds(lambda k, c: k.on(c), inner, st.sampled_from([[0, 1], [1, 0]])),
    )


@given(kernel=st.recursive(leaves(), combined, max_leaves=6), seed=st.integers(0, 2**32 - 1))
def test_random_expressions(kernel, seed):
    rng = np.random.default_rng(seed)
    X, Z = 0.5 * rng.standard_normal((7, 2)), 0.5 * rng.standard_normal((5, 2))
    G = rng.standard_normal((7, 5))
    assert_is_gradient(kernel.gradient(X, Z, weights=G), kernel, X, Z, G)
    G = rng.standard_normal((7, 7))
    assert_is_gradient(kernel.gradient(X, weights=G), kernel, X, X, G)


# ---- Refused


X = np.arange(6.0).reshape(3, 2)


def rejects(exception, words, *args, **kwargs):
    with pytest.raises(exception, match=f"^{re.escape(words)}"):
        RBF().gradient(*args, **kwargs)


def test_bad_weights_are_refused():
    words = "weights has shape (3, 2), must be (3, 3): a row for each sample of X and a column for"
    rejects(ValueError, words, X, weights=np.ones((3, 2)))
    rejects(
        ValueError, "weights has shape (2, 3), must be (3, 2)", X, X[:2], weights=np.ones((2, 3))
    )
    rejects(TypeError, "weights must be dense, got a sparse matrix", X, weights=sp.eye(3).tocsr())
    for dtype, value in itertools.product(DTYPES, [np.nan, np.inf, -np.inf]):
        G = np.ones((3, 3), dtype)
        G[2, 1] = value
        rejects(ValueError, "weights: row 2, column 1 is ", X, weights=G)
    with pytest.raises(TypeError):
        RBF().gradient(X)
    for log, words in (("yes", "got 'yes'"), (np.ones(2), "got ")):
        said = f"log must be True or False, {words}"
        rejects(TypeError, said, X, weights=np.ones((3, 3)), log=log)


def test_bad_samples_are_refused_as_in_a_gram_matrix():
    bad = X.copy()
    bad[1, 0] = np.nan
    rejects(ValueError, "X: row 1, column 0 is NaN", bad, weights=np.ones((3, 3)))
    rejects(ValueError, "Z: row 1, column 0 is NaN", X, bad, weights=np.ones((3, 3)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_overflow_is_an_error_as_in_a_gram_matrix(dtype):
    kernel = 2.0 * Polynomial(2)
    huge = np.array([[1.0], [1e15 if dtype == np.float32 else 1e120]], dtype)
    for other in (None, huge.copy()):
        with pytest.raises(ValueError, match="overflows") as gram:
            kernel(huge, other)
        with pytest.raises(ValueError, match="overflows") as gradient:
            kernel.gradient(huge, other, weights=np.ones((2, 2)))
        assert str(gradient.value) == str(gram.value)


def test_a_gradient_that_overflows_is_an_error():
    kernel = 2.0 * Linear()
    with pytest.raises(ValueError, match="the gradient by parameter 0 of the kernel overflows"):
        kernel.gradient(1e150 * np.ones((1, 1)), weights=np.full((1, 1), 1e300))


def test_periodic_kernels_are_refused():
    kernel = 2.0 * Periodic()
    words = "Periodic(length_scale=1.0, periodicity=1.0) has no gradient by its parameters"
    with pytest.raises(ValueError, match=re.escape(words)):
        kernel.gradient([[1.0]], weights=[[1.0]])
