"""Centred alignment against its definition on whole matrices."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kcore import SVC, _align, kernels
from kcore.kernels import RBF, Delta, Linear, Sum, align, power_series


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def cosine(A, B):
    return (A * B).sum() / (np.linalg.norm(A) * np.linalg.norm(B))


def target(y, is_classes):
    if is_classes:
        Y = (np.asarray(y)[:, None] == np.unique(y)).astype(float)
        return centred(Y @ Y.T)
    return centred(np.outer(y, y))


OPERANDS = [RBF(0.3).on([0]), RBF(0.3).on([1, 2]), Linear() ** 2, 100 * Linear()]


@pytest.mark.parametrize("n_block_values", [1, 1000, 1 << 20])
@pytest.mark.parametrize("kind", ["classes", "two", "numbers"])
def test_weights_and_alignment_are_those_of_the_definition(kind, n_block_values, rng, monkeypatch):
    monkeypatch.setattr(_align, "_BLOCK_VALUES", n_block_values)
    X = rng.standard_normal((80, 3))
    y = {
        "classes": np.digitize(X[:, 0], [-0.5, 0.5]),
        "two": np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 > 0, "yes", "no"),
        "numbers": np.sin(X[:, 0]) + X[:, 1],
    }[kind]
    found = align(OPERANDS, X, y)
    T = target(y, kind != "numbers")
    matrices = [centred(kernel(X)) for kernel in OPERANDS]
    assert np.allclose(found.alignments, [cosine(K, T) for K in matrices], rtol=1e-9)
    weights = np.array(found.weights)
    assert (weights >= 0).all()
    assert np.linalg.norm(weights) == pytest.approx(1)
    combined = sum(w * K for w, K in zip(weights, matrices, strict=True))
    assert found.alignment == pytest.approx(cosine(combined, T), rel=1e-9)
    assert np.allclose(centred(found.kernel(X)), combined, rtol=1e-9, atol=1e-9)
    scales = np.array([np.linalg.norm(K) for K in matrices])

    def loss(v):
        return -cosine(sum(a / s * K for a, s, K in zip(v, scales, matrices, strict=True)), T)

    for start in (np.ones(4), np.eye(4)[0] + 0.1, np.eye(4)[2] + 0.1):
        best = minimize(loss, start, bounds=[(0, None)] * 4)
        assert -best.fun <= found.alignment + 1e-7
    assert found.alignment >= max(found.alignments) - 1e-12


def test_a_kernel_that_is_large_beside_its_variation_is_aligned_as_well(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0]
    plain, shifted = Linear(), power_series(Linear(), [1e8, 1])
    assert align([shifted], X, y).alignment == pytest.approx(align([plain], X, y).alignment, 1e-7)


def test_names_are_kept():
    X = np.arange(12.0).reshape(6, 2)
    y = [0, 0, 0, 1, 1, 1]
    for given in ({"a": RBF(1), "b": Linear()}, Sum(a=RBF(1), b=Linear())):
        found = align(given, X, y)
        assert found.kernel.names == ("a", "b")
        assert found.kernel.get_params()["a__factor"] == found.weights[0]
        assert isinstance(found, kernels.Alignment)


def test_kernels_that_say_nothing_get_no_weight(rng):
    X = rng.standard_normal((40, 2))
    y = X[:, 0] > 0
    found = align([RBF(0), RBF(1).on([0])], X, y)  # RBF(0) is 1 everywhere
    assert found.weights == (0.0, 1.0)
    assert found.alignments[0] == 0
    nothing = align([RBF(0), -1 * Linear().on([0])], X, y)
    assert nothing.weights == (0.0, 0.0)
    assert nothing.alignment == 0
    assert not nothing.kernel(X).any()


def test_samples_may_be_sparse_or_tables(rng):
    pd = pytest.importorskip("pandas")
    sp = pytest.importorskip("scipy.sparse")
    X = rng.standard_normal((50, 3))
    y = X[:, 0] > 0
    dense, sparse = align(OPERANDS, X, y), align(OPERANDS, sp.csr_array(X), y)
    assert np.allclose(dense.weights, sparse.weights, atol=1e-9)
    frame = pd.DataFrame({"a": X[:, 0], "word": np.where(y, "u", "v")})
    found = align({"number": RBF(1).on("a"), "word": Delta().on("word")}, frame, y)
    assert found.alignments[1] == pytest.approx(1)
    assert SVC(kernel=found.kernel).fit(frame, y).score(frame, y) == 1


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"kernels": []}, ValueError, "kernels must not be empty"),
        ({"kernels": RBF()}, TypeError, "kernels must be a list, a dict or a Sum"),
        ({"kernels": [RBF(), 3]}, TypeError, r"kernels\[1\] must be a Kernel, got 3"),
        ({"kernels": {"a__b": RBF(), "c": RBF()}}, ValueError, "'a__b' cannot name"),
        ({"y": [1, 1, 1, 1]}, ValueError, "y is the same for all samples"),
        (
            {"y": [1, 2]},
            ValueError,
            r"y must have shape \(4,\), a value for each row of X, got",
        ),
        ({"y": [0.5, 1, np.nan, 2]}, ValueError, "y: sample 2 is NaN"),
        ({"y": ["a", "b", "a", "b"], "task": "regression"}, TypeError, "y has dtype"),
        ({"task": "ranking"}, ValueError, "task must be one of 'auto'"),
    ],
)
def test_what_cannot_be_aligned_is_refused(change, error, text):
    arguments = {"kernels": [RBF(), Linear()], "X": np.eye(4), "y": [0, 1, 0, 1]} | change
    with pytest.raises(error, match=text):
        align(**arguments)


def test_kernels_of_very_different_sizes_are_all_looked_at(rng):
    X = rng.standard_normal((60, 2))
    y = X[:, 0] * X[:, 1] > 0
    near, far = RBF(1.0), Linear()
    expected = align([near, far], X, y)
    for factor in (1e-30, 1e30):
        found = align([near, factor * far], X, y)
        np.testing.assert_allclose(found.alignments, expected.alignments, rtol=1e-9)
        assert found.alignment >= max(found.alignments) * (1 - 1e-9)
    with pytest.raises(ValueError, match=r"kernels\[1\] has values of up to .*e\+201"):
        align([near, 1e200 * far], X, y)
