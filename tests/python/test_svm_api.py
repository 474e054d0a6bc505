"""Parameters, attributes and words of SVC, NuSVC, SVR, NuSVR and OneClassSVM."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as reference
from sklearn.metrics import accuracy_score, r2_score

from conftest import MACHINES, assert_same_bits
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from kcore.kernels import RBF, Linear, Polynomial, Sigmoid
from kcore.svm import FitReport


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 4))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(int), X[:, 1] ** 2


def target_of(machine, y, t):
    return y if "SVC" in machine.__name__ else t


# ---- Attributes


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "sigmoid", "precomputed"])
def test_attributes_have_scikit_learns_shapes_and_values(machine, kernel, data):
    X, y, t = data
    if kernel == "precomputed":
        X = RBF(0.3)(X)
    params = {"kernel": kernel, "tol": 1e-3 if kernel == "linear" else 1e-6}
    ours = machine(**params).fit(X, target_of(machine, y, t))
    theirs = getattr(reference, machine.__name__)(**params).fit(X, target_of(machine, y, t))
    for name in ["support_", "n_support_", "dual_coef_", "intercept_", "support_vectors_"]:
        mine, other = getattr(ours, name), np.asarray(getattr(theirs, name))
        assert mine.ndim == other.ndim, name
        if kernel not in ("sigmoid", "linear"):  # which have many solutions
            assert mine.shape == other.shape, name
            if name != "support_vectors_":
                atol = 2e-3 * max(1, abs(other).max())
                np.testing.assert_allclose(mine, other, rtol=0, atol=atol)
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.n_features_in_ == theirs.n_features_in_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert hasattr(ours, "coef_") == hasattr(theirs, "coef_")
    if kernel == "linear":
        assert ours.coef_.shape == theirs.coef_.shape
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=5e-3)


def test_several_classes_have_scikit_learns_attributes(rng):
    X = rng.standard_normal((120, 3))
    y = np.array(["d", "a", "c", "b"])[rng.integers(0, 4, 120)]
    ours = SVC(tol=1e-7).fit(X, y)
    theirs = reference.SVC(tol=1e-7).fit(X, y)
    assert (ours.classes_ == theirs.classes_).all()
    assert (ours.support_ == theirs.support_).all()
    assert (ours.n_support_ == theirs.n_support_).all()
    for name in ("dual_coef_", "intercept_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, atol=1e-4)
    linear = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        linear.coef_, reference.SVC(kernel="linear").fit(X, y).coef_, atol=5e-3
    )
    pairs = linear.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(X @ linear.coef_.T + linear.intercept_, pairs, atol=1e-10)
    for shape in ("ovr", "ovo"):
        f = ours.set_params(decision_function_shape=shape).decision_function(X)
        g = theirs.set_params(decision_function_shape=shape).decision_function(X)
        np.testing.assert_allclose(f, g, atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99
    assert ours.predict(X).dtype == y.dtype
    assert len(ours.n_iter_) == 6


def test_support_vectors_are_those_samples(data):
    X, y, _ = data
    for dtype in (np.float32, np.float64):
        for form in (np.asarray, sp.csr_array, sp.csr_matrix):
            samples = np.where(abs(X) < 1, 0, X).astype(dtype)
            model = SVC(precision="float64").fit(form(samples), y)
            vectors = model.support_vectors_
            if sp.issparse(vectors):
                assert type(vectors) is form
                vectors = vectors.toarray()
            np.testing.assert_array_equal(vectors, samples[model.support_])


def test_of_one_versus_rest_each_class_has_a_problem(rng):
    X = rng.standard_normal((90, 3))
    y = np.argmax(X, axis=1)
    model = SVC(multi_class="ovr").fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.intercept_.shape == (3,)
    assert model.decision_function(X).shape == (90, 3)
    assert (model.predict(X) == model.decision_function(X).argmax(axis=1)).all()
    assert len(model.fit_report_.problems) == 3
    for k in range(3):
        alone = SVC(gamma=1 / (3 * X.var())).fit(X, y == k)
        np.testing.assert_allclose(
            alone.decision_function(X), model.decision_function(X)[:, k], atol=1e-2
        )


def test_margin_is_the_distance_of_the_support_vectors(data):
    X, y, _ = data
    model = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    K = RBF(0.3)(X)
    model = SVC(gamma=0.3).fit(X, y)
    b = np.zeros(80)
    b[model.support_] = model.dual_coef_[0]
    assert model.margin_ == pytest.approx(1 / np.sqrt(b @ K @ b))
    with pytest.raises(AttributeError, match="two classes"):
        SVC().fit(X, np.arange(80) % 3).margin_  # noqa: B018


def test_one_class_has_offset_scores_and_fit_predict(data):
    X, _, _ = data
    model = OneClassSVM(nu=0.3, gamma=0.3)
    sides = model.fit_predict(X)
    assert set(sides) == {-1, 1}
    f = model.decision_function(X)
    np.testing.assert_allclose(f, model.score_samples(X) - model.offset_)
    assert model.offset_ == -model.intercept_[0]
    np.testing.assert_array_equal(sides, np.where(f > 0, 1, -1))
    theirs = reference.OneClassSVM(nu=0.3, gamma=0.3, tol=1e-6).fit(X)
    np.testing.assert_allclose(model.score_samples(X), theirs.score_samples(X), atol=1e-2)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_at_most_the_part_nu_lies_outside(precision, rng):
    for n in (50, 400, 1500):
        X = rng.standard_normal((n, 3))
        for nu in (0.02, 0.1, 0.37, 0.8):
            for kernel in ("rbf", "laplacian"):
                model = OneClassSVM(nu=nu, kernel=kernel, precision=precision).fit(X)
                is_outside = model.predict(X) < 0
                assert is_outside.mean() <= nu
                assert len(model.support_) >= nu * n
                # Those outside are at their bound: samples on the boundary count as inside.
                b = np.zeros(n)
                b[model.support_] = model.dual_coef_[0]
                assert (b[is_outside] == 1).all()


def test_nu_svr_finds_its_tube(data):
    X, _, t = data
    model = NuSVR(nu=0.4, tol=1e-8).fit(X, t)
    same = SVR(epsilon=model.epsilon_, tol=1e-8).fit(X, t)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-4)


def test_scores_are_accuracy_and_r2(data, rng):
    X, y, t = data
    weights = rng.uniform(0, 2, 80)
    model = SVC().fit(X, y)
    assert model.score(X, y) == accuracy_score(y, model.predict(X))
    assert model.score(X, y, weights) == pytest.approx(
        accuracy_score(y, model.predict(X), sample_weight=weights)
    )
    model = SVR().fit(X, t)
    assert model.score(X, t) == pytest.approx(r2_score(t, model.predict(X)))
    assert model.score(X, t, weights) == pytest.approx(
        r2_score(t, model.predict(X), sample_weight=weights)
    )
    with pytest.raises(ValueError, match="rows"):
        SVC().fit(X, y).score(X, y[:-1])


# ---- Kernels


def test_names_stand_for_kernels_of_kcore(data):
    X, y, _ = data
    gamma = 1 / (4 * X.var())
    for name, kernel in [
        ("linear", Linear()),
        ("rbf", RBF(gamma)),
        ("poly", Polynomial(3, gamma, 0.0)),
        ("sigmoid", Sigmoid(gamma, 0.0)),
    ]:
        by_name = SVC(kernel=name).fit(X, y)
        by_kernel = SVC(kernel=kernel).fit(X, y)
        np.testing.assert_allclose(
            by_name.decision_function(X), by_kernel.decision_function(X), atol=1e-8
        )
    assert_same_bits(
        SVC(gamma="auto").fit(X, y).dual_coef_, SVC(kernel=RBF(0.25)).fit(X, y).dual_coef_
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_values_may_be_given(machine, data):
    X, y, t = data
    K = RBF(0.4)(X)
    target = target_of(machine, y, t)
    direct = machine(gamma=0.4, tol=1e-6).fit(X, target)
    given = machine(kernel="precomputed", tol=1e-6).fit(K, target)
    Z = X[:30] + 0.1
    rows = RBF(0.4)(Z, X)
    np.testing.assert_allclose(direct.predict(Z), given.predict(rows), atol=1e-4)
    # Values with the support vectors are enough.
    np.testing.assert_array_equal(given.predict(rows), given.predict(rows[:, given.support_]))
    assert given.support_vectors_.shape == (0, 0)
    with pytest.raises(ValueError, match="square"):
        machine(kernel="precomputed").fit(K[:, :20], target)
    with pytest.raises(ValueError, match=r"X has 79 features, but \w+ is expecting 80"):
        given.predict(rows[:, :79])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        machine(kernel="precomputed").fit(sp.csr_array(K), target)


def test_gamma_is_scaled_by_the_weighted_variance(data, rng):
    X, y, _ = data
    weights = rng.integers(1, 4, 80)
    gamma = 1 / (4 * X.repeat(weights, axis=0).var())
    for form in (np.asarray, sp.csr_array):
        scaled = SVC(tol=1e-8).fit(form(X), y, sample_weight=weights)
        fixed = SVC(tol=1e-8, gamma=gamma).fit(form(X), y, sample_weight=weights)
        np.testing.assert_allclose(
            scaled.decision_function(X), fixed.decision_function(X), atol=1e-6
        )
    constant = SVC().fit(np.ones((6, 2)), [0, 1] * 3)
    assert_same_bits(
        constant.dual_coef_, SVC(gamma=1.0).fit(np.ones((6, 2)), [0, 1] * 3).dual_coef_
    )
    with pytest.raises(ValueError, match="variance of X overflows"):
        SVC().fit(np.array([[1e200], [-1e200]]), [0, 1])


# ---- Labels


@pytest.mark.parametrize(
    "labels",
    [
        [3, -1],
        ["no", "yes"],
        [False, True],
        [1.0, 2.0],
        [np.int8(5), np.int8(7)],
        [b"a", b"bb"],
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        np.array(["x", "y"], dtype=object),
        np.array([1, 2], dtype=object),
    ],
    ids=str,
)
def test_labels_may_be_of_any_type(labels, data):
    X, y, _ = data
    labels = np.asarray(labels)
    model = SVC().fit(X, labels[y])
    expected = SVC().fit(X, (labels[y] == np.sort(labels)[1]).astype(int))
    assert_same_bits(model.dual_coef_, expected.dual_coef_)
    assert (model.classes_ == np.sort(labels)).all()
    predicted = model.predict(X)
    assert predicted.dtype == labels.dtype
    assert (predicted == np.sort(labels)[expected.predict(X)]).all()
    as_list = SVC().fit(X, labels[y].tolist())
    assert_same_bits(model.dual_coef_, as_list.dual_coef_)


def test_many_labels_are_sorted(rng):
    X = rng.standard_normal((300, 2))
    y = rng.permutation(np.repeat(np.arange(100), 3)) - 50
    model = SVC().fit(X, y)
    assert (model.classes_ == np.unique(y)).all()
    assert len(model.intercept_) == 100 * 99 // 2
    assert model.decision_function(X[:5]).shape == (5, 100)


def test_zeros_of_both_signs_are_one_label(data):
    X, y, _ = data
    labels = np.where(y == 1, 1.0, np.where(X[:, 0] > -1, 0.0, -0.0))
    assert_same_bits(SVC().fit(X, labels).dual_coef_, SVC().fit(X, y).dual_coef_)


# ---- Weights


def test_class_weights_of_nu_svc_are_factors_of_the_c_that_nu_stands_for(data):
    X, y, _ = data
    tight = {"gamma": 0.3, "tol": 1e-7}
    for nu in (0.3, 0.5, 0.8):
        plain = NuSVC(nu=nu, **tight).fit(X, y)
        C = abs(plain.dual_coef_).max()
        for by_class in ({0: 1000, 1: 1e-4}, {0: 0.2, 1: 3}, {1: 2}):
            model = NuSVC(nu=nu, class_weight=by_class, **tight).fit(X, y)
            same = SVC(C=C, class_weight=by_class, **tight).fit(X, y)
            np.testing.assert_allclose(
                model.decision_function(X), same.decision_function(X), atol=1e-4 * (1 + C)
            )
            assert model.fit_report_.dual == pytest.approx(same.fit_report_.dual, rel=1e-4)
        even = NuSVC(nu=nu, class_weight={0: 1, 1: 1}, **tight).fit(X, y)
        np.testing.assert_allclose(
            even.decision_function(X), plain.decision_function(X), atol=1e-5 * (1 + C)
        )
    # What the samples leave no room for is refused with the range, whatever the weights.
    with pytest.raises(ValueError, match="nu is 1, must be at most"):
        NuSVC(nu=1.0, class_weight={1: 5}).fit(X, y)


def test_class_weights_are_factors_of_sample_weights(data, rng):
    X, y, _ = data
    weights = rng.uniform(0.5, 2, 80)
    # Weights of classes do not change what gamma='scale' is.
    both = SVC(class_weight={1: 3.0}, tol=1e-6).fit(X, y, sample_weight=weights)
    mean = np.average(X.mean(axis=1), weights=weights)
    gamma = 1 / (4 * np.average(((X - mean) ** 2).mean(axis=1), weights=weights))
    factors = np.where(y == 1, 3.0, 1.0)
    direct = SVC(gamma=gamma, tol=1e-6).fit(X, y, sample_weight=weights * factors)
    np.testing.assert_allclose(both.decision_function(X), direct.decision_function(X), atol=1e-4)
    balanced = SVC(class_weight="balanced", gamma=0.3).fit(X, y)
    counts = np.bincount(y)
    same = SVC(class_weight=dict(enumerate(80 / (2 * counts))), gamma=0.3).fit(X, y)
    assert_same_bits(balanced.dual_coef_, same.dual_coef_)


def test_a_class_without_weight_is_not_there(rng):
    X = rng.standard_normal((60, 2))
    y = np.arange(60) % 3
    model = SVC(gamma=0.5).fit(X, y, sample_weight=(y != 1).astype(float))
    fewer = SVC(gamma=0.5).fit(X[y != 1], y[y != 1])
    assert (model.classes_ == [0, 2]).all()
    np.testing.assert_allclose(model.decision_function(X), fewer.decision_function(X), atol=1e-12)
    with pytest.raises(ValueError, match="only 1 class has samples of positive weight: 2"):
        SVC().fit(X, y, sample_weight=(y == 2).astype(float))


# ---- Refusals


@pytest.mark.parametrize(
    ("machine", "params", "words"),
    [
        (SVC, {"C": 0}, "C"),
        (SVC, {"C": -1.0}, "C"),
        (SVC, {"C": np.nan}, "C"),
        (SVC, {"C": "1"}, "C must be a number, got '1'"),
        (SVC, {"C": True}, "C must be a number, got True"),
        (NuSVR, {"C": np.inf}, "C is infinite: only C-SVC"),
        (NuSVC, {"nu": 0.0}, "nu"),
        (NuSVR, {"nu": 1.5}, "nu"),
        (OneClassSVM, {"nu": -0.1}, "nu"),
        (SVR, {"epsilon": -0.1}, "epsilon"),
        (SVC, {"tol": 0}, "tol"),
        (SVC, {"tol": np.inf}, "tol"),
        (SVC, {"kernel": "gaussian"}, "kernel must be one of 'linear'.*got 'gaussian'"),
        (SVC, {"kernel": 3}, "kernel must be a name.*got int"),
        (SVC, {"gamma": "large"}, "gamma must be 'scale'.*got 'large'"),
        (SVC, {"gamma": -1.0}, "gamma must be 'scale'.*got -1.0"),
        (SVC, {"gamma": np.nan}, "gamma"),
        (SVC, {"kernel": "poly", "degree": -1}, "degree"),
        (SVC, {"kernel": "poly", "degree": 2.5}, "degree must be an integer"),
        (SVC, {"kernel": "poly", "coef0": np.inf}, "coef0"),
        (SVC, {"cache_size": 0}, "cache_size"),
        (SVC, {"cache_size": "all"}, "cache_size"),
        (SVC, {"max_iter": 0}, "max_iter must be positive"),
        (SVC, {"max_iter": 2.0}, "max_iter must be an integer"),
        (SVC, {"multi_class": "all"}, "multi_class must be one of 'ovo', 'ovr'"),
        (SVC, {"precision": "half"}, "precision must be one of"),
        (SVC, {"n_jobs": 0}, "n_jobs"),
        (SVC, {"time_limit": 0}, "time_limit"),
        (SVC, {"class_weight": {"7": 1.0}}, "class_weight has the label '7', of type str"),
        (SVC, {"class_weight": {1: 0.0}}, "class_weight must be positive"),
        (SVC, {"class_weight": "even"}, "class_weight must be a dict"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(machine, params, words, data):
    X, y, _ = data
    with pytest.raises((ValueError, TypeError), match=words):
        machine(**params).fit(X, y)


def test_settings_of_prediction_are_checked_when_used(data):
    X, y, _ = data
    model = SVC(decision_function_shape="pairs").fit(X, y)
    with pytest.raises(ValueError, match="decision_function_shape must be one of 'ovr', 'ovo'"):
        model.decision_function(X)
    model.set_params(decision_function_shape="ovo", break_ties=True)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


def test_an_infeasible_nu_is_refused_with_what_is_feasible(data):
    X, _, _ = data
    y = np.zeros(80, int)
    y[:8] = 1
    with pytest.raises(ValueError, match=r"nu is 0.5, must be at most 0.2"):
        NuSVC(nu=0.5).fit(X, y)
    NuSVC(nu=0.2).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_bad_samples_are_refused_in_words(machine, data):
    X, y, t = data
    target = target_of(machine, y, t)
    for bad, error, words in [
        (X[0], ValueError, "Reshape your data"),
        (X[:0], ValueError, "no rows"),
        (X[:, :0], ValueError, r"0 feature\(s\)"),
        (X * 1j, ValueError, "Complex data not supported"),
        (X.astype(str), TypeError, "strings"),
        (X[:-1], ValueError, "X has 79 rows, y has 80 entries"),
        (np.ma.masked_array(X, X > 0), ValueError, "masked"),
        (np.full(X.shape, np.inf), ValueError, "row 0, column 0 is infinity"),
        (sp.csr_array(np.full(X.shape, np.nan)), ValueError, "NaN"),
    ]:
        if machine is OneClassSVM and bad.shape[0] == 79:
            continue
        with pytest.raises(error, match=words):
            machine().fit(bad, target)
    model = machine().fit(X, target)
    with pytest.raises(ValueError, match=r"X has 3 features, but \w+ is expecting 4 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="row 1, column 2 is NaN"):
        model.predict([[0, 0, 0, 0], [0, 0, np.nan, 0]])


def test_bad_targets_are_refused_in_words(data):
    X, y, t = data
    for bad, words in [
        (y[:, None] * [1, 2], "1d array"),
        (y + 0.5, "Unknown label type: continuous"),
        (np.zeros(80), "1 class"),
        (np.where(y == 0, np.nan, 1), "NaN"),
        (None, "requires y"),
        ([None] * 40 + [3] * 40, "the label of row 0 is missing"),
        (np.array([3, "a"] * 40, dtype=object), "Unknown label type"),
    ]:
        with pytest.raises(ValueError, match=words):
            SVC().fit(X, bad)
    for bad, words in [
        (np.where(y == 0, np.nan, t), "Input y contains NaN"),
        (np.where(y == 0, np.inf, t), "Input y contains infinity"),
        (["a"] * 80, "y must hold numbers"),
        (None, "requires y"),
    ]:
        with pytest.raises(ValueError, match=words):
            SVR().fit(X, bad)
    large = np.full(80, 1e153)  # whose square is close to what float64 can hold
    assert SVR().fit(X, large).predict(X[:2]).shape == (2,)


@pytest.mark.parametrize("machine", MACHINES)
def test_bad_weights_are_refused_in_words(machine, data):
    X, y, t = data
    target = target_of(machine, y, t)
    for bad, words in [
        (np.ones(79), "sample_weight has 79 entries"),
        (np.ones((80, 2)), "sample_weight must be 1-D"),
        (np.where(y == 0, -1.0, 1.0), "sample_weight must not be negative"),
        (np.where(y == 0, np.nan, 1.0), "sample_weight contains NaN"),
        (np.zeros(80), "sample_weight is zero for all samples"),
        (["a"] * 80, "sample_weight must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=words):
            machine().fit(X, target, sample_weight=bad)
    one = machine(gamma=0.3).fit(X, target, sample_weight=1)
    assert_same_bits(one.dual_coef_, machine(gamma=0.3).fit(X, target).dual_coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_bad_starts_are_refused_in_words(machine, data):
    X, y, t = data
    target = target_of(machine, y, t)
    model = machine().fit(X, target)
    for bad, words in [
        (np.zeros(79), r"shape \(1, 80\), got shape \(79,\)"),
        (np.full(80, np.nan), "init: row 0, sample 0 is NaN, must be finite"),
        (machine(), "not fitted yet"),
        (SVC() if machine is not SVC else SVR(), "not fitted yet"),
    ]:
        with pytest.raises(ValueError, match=words):
            machine().fit(X, target, init=bad)
    last = int(model.support_.max())
    with pytest.raises(ValueError, match=f"sample {last} is a support vector; X has {last} rows"):
        machine().fit(X[:last], target[:last], init=model)
    other = SVR if machine is not SVR else NuSVR
    with pytest.raises(ValueError, match=f"init must be a {other.__name__}"):
        other().fit(X, t, init=model)


def test_a_start_may_be_of_fewer_samples(data):
    X, y, _ = data
    first = SVC(tol=1e-8, gamma=0.3).fit(X[:60], y[:60])
    more = SVC(tol=1e-8, gamma=0.3).fit(X, y, init=first)
    cold = SVC(tol=1e-8, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(more.decision_function(X), cold.decision_function(X), atol=1e-5)


# ---- Report


def test_the_report_is_readable_and_complete(rng):
    X = rng.standard_normal((300, 3))
    y = rng.integers(0, 3, 300)
    report = SVC(C=10).fit(X, y).fit_report_
    assert isinstance(report, FitReport)
    text = repr(report)
    for words in [
        "converged in", "largest violation", "< tol 0.001", "primal", "dual", "gap",
        "support vectors of 300 samples", "whole kernel matrix", "memory", "time", "kernel rows",
        "problem",
    ]:  # fmt: skip
        assert words in text
    assert text.count("\n") >= 9
    assert len(report.problems) == 3
    assert report.dual == pytest.approx(sum(one.dual for one in report.problems))
    assert report.n_iter == sum(one.n_iter for one in report.problems)
    assert report.violation == max(one.violation for one in report.problems)
    assert 0 < report.relative_gap < 1e-2
    assert report.seconds >= report.seconds_solve > 0
    assert 0 < SVC(C=10, n_jobs=1).fit(X, y).fit_report_.seconds_rows < 10
    assert report.n_bounded > 0


def test_the_peak_is_that_of_the_fit_alone(rng):
    X = rng.standard_normal((2000, 3))
    y = rng.integers(0, 2, 2000)
    alone = SVC(C=10).fit(X[:100], y[:100]).fit_report_.peak_bytes
    large = SVC(C=10).fit(X, y).fit_report_.peak_bytes
    after = SVC(C=10).fit(X[:100], y[:100]).fit_report_.peak_bytes
    assert 100 * 100 * 8 < after < 2 * alone < large


def test_the_report_tells_of_the_cache(rng):
    X = rng.standard_normal((1500, 3))
    y = (X[:, 0] + 0.5 * rng.standard_normal(1500) > 0).astype(int)
    all_rows = SVC(C=10).fit(X, y).fit_report_
    few_rows = SVC(C=10, cache_size=0.5).fit(X, y).fit_report_
    assert "found" in repr(few_rows)
    assert " of 512 KiB" in repr(few_rows)
    assert few_rows.cache_bytes_allowed <= 0.5 * 2**20
    assert few_rows.cache_bytes_used <= few_rows.cache_bytes_allowed
    assert few_rows.rows_computed >= all_rows.rows_computed
    assert few_rows.dual == all_rows.dual
    assert 0 <= all_rows.hit_rate <= 1


@pytest.mark.parametrize("machine", MACHINES)
def test_a_fit_keeps_no_memory_of_its_samples(machine, data):
    import gc
    import weakref

    X, y, t = data

    class Samples(np.ndarray):
        pass

    samples = X.copy().view(Samples)
    watch = weakref.ref(samples)
    model = machine().fit(samples, target_of(machine, y, t))
    del samples
    gc.collect()
    assert watch() is None
    model.predict(X)


def test_many_fits_leave_no_memory_behind(data):
    from kcore import _core

    X, y, _ = data
    model = SVC()
    for _ in range(20):
        model.fit(X, y).predict(X)
    before, _ = _core.memory()
    for _ in range(300):
        model.fit(X, y).predict(X)
    after, _ = _core.memory()
    assert after == before
