"""Gradients by parameters that have a number for each column."""

import numpy as np
import pytest
import scipy.sparse as sp

from kcore.kernels import RBF, Laplacian, Matern, Polynomial, Sigmoid
from test_gradient import DTYPES, bits, moved, reals

COLUMNS = [
    RBF([0.3, 0.0, 1.2]),
    Laplacian([0.3, 0.1, 1.2]),
    Polynomial(3, [0.3, 0.0, 0.2], 0.7),
    Sigmoid([0.3, 0.1, 0.2], 0.1),
    Matern(0.5, [1.0, 2.0, 0.7]),
    Matern(2.5, [1.0, 2.0, 0.7]),
    (2.0 * RBF([0.3, 0.1, 1.2]) + 0.5 * Polynomial(2, [0.3, 0.1, 0.2])).normalized(),
    RBF([0.3, 0.8]).on([2, 0]) * Matern(1.5, [0.7]).on(1) + RBF([0.3, 0.1, 1.2]),
    RBF([0.3, 0.8]).on(np.array([[1.0, 0.5, 0.0], [0.2, 0.0, -1.0]])),
    RBF([0.5, 0.1]).on(lambda X: X[:, 1:] ** 2) + RBF([0.5, 0.1, 0.2]),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", COLUMNS, ids=repr)
def test_parameters_of_columns_have_arrays(kernel, dtype, rng):
    X = (0.7 * rng.standard_normal((57, 3)) + 0.5).astype(dtype)
    Z = (0.7 * rng.standard_normal((271, 3)) + 0.5).astype(dtype)
    for other in (Z, None):
        G = rng.standard_normal((57, 271 if other is not None else 57))
        found = kernel.gradient(X, other, weights=G)
        lists = {
            k: v for k, v in kernel.get_params().items() if isinstance(v, tuple) and "col" not in k
        }
        lists.pop("matrix", None)
        assert found.keys() == reals(kernel).keys() | lists.keys()
        wide, others = X.astype(float), None if other is None else other.astype(float)
        for name, values in lists.items():
            assert found[name].shape == (len(values),)
            for entry, value in enumerate(values):
                step = 1e-4
                kernels_of = [
                    moved(kernel, name, entry, value + k * step)
                    for k in ((1, -1) if value > 0 else (0, 1, 2))
                ]
                K = [k(wide, others) for k in kernels_of]
                slope = (
                    (K[0] - K[1]) / (2 * step)
                    if value > 0
                    else (-1.5 * K[0] + 2 * K[1] - 0.5 * K[2]) / step
                )
                size = abs(G * slope).sum()
                off = (2e-4 if dtype == np.float32 else 1e-6) * size + 1e-7
                assert abs(found[name][entry] - (G * slope).sum()) <= off, (name, entry)


def test_many_columns_are_those_of_the_formula(rng):
    X, Z = rng.standard_normal((101, 300)) + 3, rng.standard_normal((130, 300)) + 3
    G, gamma = rng.standard_normal((101, 130)), rng.random(300) / 300
    difference = X[:, None] - Z[None]
    W = -G * np.exp(-(difference**2 @ gamma))
    found = RBF(gamma.tolist()).gradient(X, Z, weights=G)["gamma"]
    wanted = np.einsum("ij,ijt->t", W, difference**2)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * abs(W).sum())


def test_it_agrees_with_scikit_learn_by_columns(rng):
    gp = pytest.importorskip("sklearn.gaussian_process.kernels")
    X, G = rng.standard_normal((30, 3)), rng.standard_normal((30, 30))
    length = [0.5, 1.0, 2.0]
    for nu in (0.5, 1.5, 2.5):
        _, slopes = gp.Matern(length, nu=nu)(X, eval_gradient=True)
        found = Matern(nu, length).gradient(X, weights=G, log=True)["length_scale"]
        np.testing.assert_allclose(found, np.einsum("ij,ijk->k", G, slopes), rtol=1e-8)
    _, slopes = gp.RBF(length)(X, eval_gradient=True)
    gamma = (0.5 / np.square(length)).tolist()
    found = -2 * RBF(gamma).gradient(X, weights=G, log=True)["gamma"]
    np.testing.assert_allclose(found, np.einsum("ij,ijk->k", G, slopes), rtol=1e-8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", COLUMNS[:7], ids=repr)
def test_bits_of_columns_do_not_depend_on_threads_or_storage(kernel, dtype, rng):
    X = (rng.standard_normal((151, 3)) * (rng.random((151, 3)) < 0.5)).astype(dtype)
    G = rng.standard_normal((151, 151))
    wanted = bits(kernel.gradient(X, weights=G, n_jobs=1))
    assert bits(kernel.gradient(X, weights=G, n_jobs=2)) == wanted
    assert bits(kernel.gradient(sp.csr_matrix(X), weights=G)) == wanted
