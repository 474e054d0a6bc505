"""Predictions of one sample: the way without detours gives and says what the long one does."""

import numpy as np
import pytest

from conftest import assert_same_bits
from kcore import SVC, SVR, NuSVC, OneClassSVM


def model_of(machine, rng, n=150, d=6, dtype=np.float64, **params):
    X = rng.standard_normal((n, d)).astype(dtype)
    y = X[:, 0] if machine is SVR else (X[:, 0] + X[:, 1] > 0).astype(int)
    return machine(**params).fit(X, y), X


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, OneClassSVM])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row_has_the_bits_of_many(machine, kernel, dtype, rng):
    model, X = model_of(machine, rng, kernel=kernel, dtype=dtype, gamma=0.1)
    names = ["predict"] if machine is SVR else ["predict", "decision_function"]
    for name in names:
        ask = getattr(model, name)
        whole = ask(X)
        for rows in (X[:1], X[7:8], X[3:10], X[::-1][:1], np.asfortranarray(X)[9:10]):
            first = int(np.flatnonzero((rows[0] == X).all(axis=1))[0])
            found = ask(rows)
            assert found.dtype == whole.dtype
            assert_same_bits(found, whole[first : first + len(rows)])


@pytest.mark.parametrize("n_classes", [2, 3, 70])
@pytest.mark.parametrize("kind", [np.int64, np.int8, float, str, object])
def test_one_row_has_a_label_of_its_own(n_classes, kind, rng):
    X = rng.standard_normal((3 * n_classes, 2))
    y = np.arange(3 * n_classes) % n_classes
    y = y.astype(str).astype(kind) if kind is object else y.astype(kind)
    model = SVC(gamma=10.0, C=1e3).fit(X, y)
    whole = model.predict(X)
    for i in range(len(X)):
        found = model.predict(X[i : i + 1])
        assert found.shape == (1,)
        assert found.dtype == whole.dtype == y.dtype
        assert found[0] == whole[i]
        found[0] = found[0]  # it may be written to
        assert not np.shares_memory(found, model.classes_)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200])
def test_one_row_is_refused_in_the_words_of_many(value, rng):
    model, X = model_of(SVC, rng)
    X = X[:40].copy()
    X[0, 2] = value
    for ask in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=r"row 0, column 2") as of_many:
            ask(X)
        with pytest.raises(ValueError, match=r"row 0, column 2") as of_one:
            ask(X[:1])
        assert str(of_one.value) == str(of_many.value)
