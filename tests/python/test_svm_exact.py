"""Results do not depend on threads, on the cache or on how predictions are cut into calls."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from audit import dense
from conftest import assert_same_bits, quietly
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from kcore.kernels import RBF, Laplacian, Linear, Polynomial

SMALL, LARGE = 240, 1150  # steps over all samples; working sets


def make_data(n, rng, dtype=np.float64, n_classes=2):
    X = rng.standard_normal((n, 8)).astype(dtype)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, y, score


def machine_and_target(name, y, score):
    return {
        "SVC": (SVC(C=5), y),
        "NuSVC": (NuSVC(nu=0.3), y),
        "SVR": (SVR(C=5), score),
        "NuSVR": (NuSVR(C=5, nu=0.3), score),
        "OneClassSVM": (OneClassSVM(nu=0.2), None),
    }[name]


def bits(model):
    return dense(model.dual_coef_), model.intercept_, model.support_.astype(np.float64)


def min_cache(model, X, y):
    """Megabytes of the smallest cache that will do: the error says how many bytes."""
    model.set_params(cache_size=1e-6)
    with pytest.raises(ValueError, match="cache") as caught:
        model.fit(X, y)
    n_bytes = max(int(number) for number in re.findall(r"\d+", str(caught.value)))
    return n_bytes / 2**20


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("n", [SMALL, LARGE])
@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
def test_threads_and_cache_do_not_change_a_bit(name, n, form, rng):
    X, y, score = make_data(n, rng, np.float32 if form == "float32" else np.float64)
    if form == "csr":
        X = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0))
    model, target = machine_and_target(name, y, score)
    expected = bits(model.fit(X, target))
    least = min_cache(model, X, target)
    row = n * 8 / 2**20
    for n_jobs, cache in [
        (1, least),
        (2, least + 2 * row),
        (3, least + 0.2 * n * row),
        (4, "auto"),
        (2, 200),
    ]:
        model.set_params(n_jobs=n_jobs, cache_size=cache).fit(X, target)
        for found, wanted in zip(bits(model), expected, strict=True):
            assert_same_bits(found, wanted)
        report = model.fit_report_
        assert report.cache_bytes_used <= report.cache_bytes_allowed


def test_classes_share_rows_without_changing_a_bit(rng):
    X, y, _ = make_data(900, rng, n_classes=4)
    for multi_class in ("ovo", "ovr"):
        model = SVC(C=3, multi_class=multi_class)
        expected = bits(model.fit(X, y))
        least = min_cache(model, X, y)
        for n_jobs, cache in [(1, least), (2, 0.3), (3, 2), (4, "auto")]:
            model.set_params(n_jobs=n_jobs, cache_size=cache).fit(X, y)
            for found, wanted in zip(bits(model), expected, strict=True):
                assert_same_bits(found, wanted)


@pytest.mark.parametrize(
    "kernel",
    ["rbf", "linear", "poly", "sigmoid", "laplacian", RBF(0.1) * Linear() + Polynomial(2),
     Laplacian(0.2) ** 2],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
def test_a_sample_alone_has_the_value_it_has_in_a_batch(kernel, form, rng):
    X, y, _ = make_data(150, rng, np.float32 if form == "float32" else np.float64, 3)
    model = SVC(kernel=kernel, decision_function_shape="ovo").fit(X, y)
    Z = rng.standard_normal((131, 8)).astype(X.dtype)
    if form == "csr":
        Z = sp.csr_array(np.where(rng.random(Z.shape) < 0.4, Z, 0))
    batch = model.decision_function(Z)
    for n_jobs in (1, 2, 3, 4):
        assert_same_bits(model.set_params(n_jobs=n_jobs).decision_function(Z), batch)
    for k in range(0, 131, 7):
        assert_same_bits(model.decision_function(Z[k : k + 1]), batch[k : k + 1])
    for cut in (1, 16, 64, 100):
        assert_same_bits(model.decision_function(Z[:cut]), batch[:cut])
        assert_same_bits(model.decision_function(Z[cut:]), batch[cut:])


def test_order_of_memory_does_not_matter(rng):
    X, y, _ = make_data(200, rng)
    expected = bits(SVC(C=4).fit(X, y))
    wide = rng.standard_normal((200, 24))
    wide[:, ::3] = X
    backwards = np.ascontiguousarray(X[::-1])[::-1]
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in [np.asfortranarray(X), wide[:, ::3], backwards, frozen]:
        model = SVC(C=4).fit(same, y)
        for found, wanted in zip(bits(model), expected, strict=True):
            assert_same_bits(found, wanted)
        assert_same_bits(model.decision_function(same), model.decision_function(X))


def test_a_fit_repeats_itself(rng):
    X, y, _ = make_data(LARGE, rng)
    model = SVC(C=20)
    first = bits(model.fit(X, y))
    for again in (bits(model.fit(X, y)), bits(SVC(C=20).fit(X, y))):
        for found, wanted in zip(again, first, strict=True):
            assert_same_bits(found, wanted)


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_samples_give_the_bits_of_dense_ones(name, kernel, dtype, rng):
    X = np.where(rng.random((200, 90)) < 0.2, rng.standard_normal((200, 90)), 0).astype(dtype)
    score = X[:, :9].sum(axis=1) + 0.3 * rng.standard_normal(200)
    model, target = machine_and_target(name, (score > 0).astype(int), score)
    model.set_params(kernel=kernel, gamma=0.02)
    expected = bits(model.fit(X, target))
    for form in (sp.csr_array, sp.csc_array, sp.coo_array):
        for found, wanted in zip(bits(model.fit(form(X), target)), expected, strict=True):
            assert_same_bits(found, wanted)


@pytest.mark.parametrize("seed", [29, 38, 39])
def test_large_coefficients_leave_no_trace_of_the_cache(seed):
    # Values are 1e10 times the tolerance: what steps rest on is close to their rounding.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((110, 4)) + 0.5
    weights = 10.0 ** rng.uniform(-6, 6, 110)
    model = OneClassSVM(kernel="linear", nu=0.5, tol=1e-4, precision="float32")
    results = []
    for cache in ("auto", 0.00105, 0.01):
        quietly(model.set_params(cache_size=cache), X, None, sample_weight=weights)
        results.append(bits(model))
        b = np.zeros(110)
        b[model.support_] = model.dual_coef_[0]
        dual = -0.5 * ((X.T @ b) ** 2).sum()
        assert model.fit_report_.dual == pytest.approx(dual, rel=1e-5)
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            assert_same_bits(found, wanted)
