"""Problems of one fit that are solved side by side end as if one after the other."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kcore.exceptions import ConvergenceWarning, NotSeparableError
from kcore.svm import SVC, NuSVC


def blobs(n: int, n_classes: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping classes of unequal sizes, enough samples for solving side by side."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.3, n) - 1, n_classes - 1)
    return rng.normal(size=(n, d)) + rng.normal(scale=1.5, size=(n_classes, d))[y], y


def hopeless(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels that have nothing to do with the samples: long to fit."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.integers(n_classes, size=n)


def fitted(model: SVC | NuSVC) -> tuple[np.ndarray, ...]:
    return model.dual_coef_, model.intercept_, model.support_, np.array(model.n_iter_)


@pytest.mark.parametrize(
    ("settings", "d"),
    [
        ({"C": 5.0}, 90),
        ({"C": 5.0}, 6),
        ({"C": 1.0, "kernel": "linear"}, 6),
        ({"C": 1.0, "kernel": "poly", "coef0": 1.0, "gamma": 0.1}, 90),
        ({"C": 1e6, "gamma": 0.01, "tol": 1e-5}, 6),  # float32 does not do
        ({"C": 5.0, "multi_class": "ovr"}, 6),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_cache_do_not_change_a_bit(settings, d, dtype):
    X, y = blobs(700, 5, d)
    X = X.astype(dtype)
    first = fitted(SVC(**settings, cache_size=200, n_jobs=1).fit(X, y))
    for n_jobs, cache_size in ((2, 200), (4, 200), (1, 0.05), (3, 0.05)):
        other = fitted(SVC(**settings, cache_size=cache_size, n_jobs=n_jobs).fit(X, y))
        for one, two in zip(first, other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_every_machine_is_reported_in_its_place():
    X, y = blobs(900, 6, 8)
    alone = SVC(n_jobs=1).fit(X, y).fit_report_
    together = SVC(n_jobs=3).fit(X, y).fit_report_
    assert len(together.problems) == 15
    for one, two in zip(alone.problems, together.problems, strict=True):
        assert (one.n_iter, one.dual, one.gap, one.violation) == (
            two.n_iter, two.dual, two.gap, two.violation,
        )  # fmt: skip
    assert (alone.n_iter, alone.dual, alone.gap) == (together.n_iter, together.dual, together.gap)


def test_nu_machines_are_solved_side_by_side_too():
    X, y = blobs(600, 4, 5)
    first = fitted(NuSVC(nu=0.05, n_jobs=1).fit(X, y))
    for one, two in zip(first, fitted(NuSVC(nu=0.05, n_jobs=4).fit(X, y)), strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_first_pair_that_cannot_be_separated_is_named():
    X, y = blobs(600, 4, 2)
    texts = set()
    for n_jobs in (1, 2, 4):
        with pytest.raises(NotSeparableError) as error:
            SVC(kernel="linear", C=np.inf, n_jobs=n_jobs).fit(X, y)
        texts.add(str(error.value))
    assert len(texts) == 1
    assert "classes 0 and 2: the classes cannot be separated" in texts.pop()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_time_limit_leaves_a_model_of_all_classes(n_jobs):
    X, y = hopeless(4000, 5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVC(C=1e4, gamma=0.5, tol=1e-9, time_limit=0.1, n_jobs=n_jobs).fit(X, y)
    assert any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert model.fit_report_.stop == "time_limit"
    assert set(model.predict(X)) <= set(range(5))


def test_an_exception_in_the_callback_stops_all_of_them():
    class StopHereError(Exception):
        pass

    def stop(progress):
        raise StopHereError

    X, y = hopeless(4000, 5)
    model = SVC(C=1e4, gamma=0.5, tol=1e-9, n_jobs=3, callback=stop)
    with pytest.raises(StopHereError):
        model.fit(X, y)
    assert not hasattr(model, "support_")
