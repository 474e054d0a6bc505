"""What code written for scikit-learn's machines expects beside the numbers."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm

import kcore
import kcore.perceptron
from conftest import MACHINES
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR
from kcore.perceptron import Perceptron

CLASSIFIERS = [SVC, NuSVC, Perceptron, KernelPerceptron]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 4))
    return X, (X[:, 0] + 0.3 * rng.standard_normal(80) > 0).astype(int)


# ---- Parameters


@pytest.mark.parametrize("machine", [*MACHINES, Perceptron])
def test_random_state_verbose_and_probability_are_taken_where_scikit_learn_takes_them(machine):
    module = sklearn.linear_model if machine is Perceptron else sklearn.svm
    theirs = inspect.signature(getattr(module, machine.__name__)).parameters
    ours = inspect.signature(machine).parameters
    wanted = {"random_state", "verbose", "probability"} & set(theirs)
    assert "verbose" in wanted
    assert wanted <= set(ours)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_parameter_of_scikit_learn_is_one_of_kcore(machine):
    theirs = inspect.signature(getattr(sklearn.svm, machine.__name__)).parameters
    assert set(theirs) <= set(inspect.signature(machine).parameters)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_random_state_changes_nothing(machine, data):
    first, second = (machine(random_state=state).fit(*data) for state in (None, 7))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_probability_names_the_way_to_probabilities(machine, data):
    X, y = data
    model = machine(probability=True)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(ValueError, match="CalibratedClassifierCV") as caught:
        model.fit(X, y)
    line = re.search(r"Calibrated\S+\(\w+\(\.\.\.\), .*", str(caught.value)).group()
    from sklearn.calibration import CalibratedClassifierCV

    names = {"CalibratedClassifierCV": CalibratedClassifierCV, machine.__name__: machine}
    probabilities = eval(line.replace("...", ""), {**names, "X": X, "y": y})
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    with pytest.raises(TypeError, match="probability must be False, got 'yes'"):
        machine(probability="yes").fit(X, y)


# ---- verbose


@pytest.mark.parametrize("machine", [*MACHINES, Perceptron, KernelPerceptron])
def test_verbose_prints_how_a_fit_ended_and_without_it_nothing_is_printed(machine, data, capfd):
    X, y = data
    y = (X[:, 0] > 0).astype(int)
    machine().fit(X, y)
    assert capfd.readouterr() == ("", "")
    machine(verbose=True).fit(X, y)
    out, err = capfd.readouterr()
    assert err == ""
    (line,) = out.splitlines()
    assert line.startswith(f"[{machine.__name__}] converged ")
    with pytest.raises(TypeError, match="verbose must be True or False, got 'yes'"):
        machine(verbose="yes").fit(X, y)


@pytest.mark.parametrize("machine", [SVC, Perceptron, KernelPerceptron])
def test_verbose_prints_lines_while_a_fit_runs_and_the_callback_is_told_as_before(
    machine, rng, capsys, monkeypatch
):
    monkeypatch.setattr("kcore._progress._PAUSE", 0.01)
    X = rng.standard_normal((3000, 40))
    y = rng.integers(0, 2, 3000)
    told = []

    def end(progress):
        told.append(progress)
        return len(told) == 2

    model = machine(verbose=True, callback=end)
    hard = {SVC: {"C": 1e9, "tol": 1e-9}, KernelPerceptron: {"kernel": "linear"}}
    model.set_params(max_iter=10**9, **hard.get(machine, {}))
    with pytest.warns(kcore.exceptions.ConvergenceWarning):
        model.fit(X, y)
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert 1 <= len(lines) <= 2
    for line in lines:
        assert re.match(rf"\[{machine.__name__}\] [\d.]+ s: \w+, \d+ steps", line)
    assert "converged" not in last


def test_an_output_that_cannot_be_written_to_ends_no_fit(data, monkeypatch, tmp_path):
    with (tmp_path / "out").open("w") as file:
        pass
    monkeypatch.setattr("sys.stdout", file)  # closed
    assert SVC(verbose=True).fit(*data).fit_report_.converged


# ---- Weights of classes


@pytest.mark.parametrize("machine", CLASSIFIERS)
def test_weights_may_name_classes_that_are_not_there(machine, data):
    X, y = data
    y = (X[:, 0] > 0).astype(int)
    found = machine(class_weight={0: 1, 1: 3, 2: 9}).fit(X, y)
    expected = machine(class_weight={1: 3}).fit(X, y)
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))
    machine(class_weight={2: 9}).fit(X, y)


def test_a_fold_without_a_rare_class_is_fitted():
    from sklearn.model_selection import KFold, cross_val_score

    X = np.arange(40.0).reshape(-1, 1)
    y = np.repeat(["a", "b", "a", "rare"], [16, 12, 10, 2])
    weights = {"a": 1.0, "b": 2.0, "rare": 9.0}
    scores = cross_val_score(SVC(class_weight=weights), X, y, cv=KFold(5), error_score="raise")
    assert len(scores) == 5


def test_a_weight_of_an_absent_class_is_checked_like_any_other(data):
    with pytest.raises(ValueError, match="positive and finite, got -1 for label 9"):
        SVC(class_weight={9: -1}).fit(*data)


# ---- Sparse samples


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.lil_matrix])
def test_attributes_of_a_sparse_fit_are_sparse(machine, form, data):
    X, y = data
    X = np.where(abs(X) > 1, X, 0)
    wanted = sp.csr_array if form is sp.csr_array else sp.csr_matrix
    nu = {"nu": 0.85} if machine is NuSVC else {}  # of less, the hulls of the classes overlap
    dense, sparse = (machine(kernel="linear", **nu).fit(x, y) for x in (X, form(X)))
    for name in ("dual_coef_", "coef_", "support_vectors_"):
        found = getattr(sparse, name)
        assert type(found) is wanted, name
        np.testing.assert_allclose(found.toarray(), getattr(dense, name), rtol=1e-6, atol=1e-3)
        with pytest.raises(ValueError, match="read-only"):
            found.data[0] = 1
    start = np.zeros((1, 80))
    start[:, sparse.support_] = sparse.dual_coef_.toarray()
    again = machine(kernel="linear", **nu).fit(X, y, init=sp.csr_array(start))
    assert np.sum(again.n_iter_) <= np.sum(dense.n_iter_)


def test_a_function_may_return_a_sparse_matrix(data):
    X, y = data
    X = sp.csr_array(np.where(abs(X) > 0.5, X, 0))
    model = SVC(kernel=lambda A, B: A @ B.T, tol=1e-6).fit(X, y)
    expected = SVC(kernel="linear", tol=1e-6).fit(X, y)
    assert isinstance(model.dual_coef_, np.ndarray)  # as in scikit-learn
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-4)
    with pytest.raises(ValueError, match=r"returned shape \(\d+, 80\) for"):
        SVC(kernel=lambda A, B: A @ sp.eye_array(4, 80)).fit(X[:70], y[:70])


# ---- Samples that are no numbers


def letters(A, B):
    """Count the letters that two words share."""
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], float)


WORDS = ["ab", "abc", "b", "xyz", "x", "zy", "ac", "yx"]
KINDS = [0, 0, 0, 1, 1, 1, 0, 1]


@pytest.mark.parametrize("machine", [*MACHINES, KernelPerceptron])
def test_a_function_may_be_asked_about_strings(machine, data):
    pd = pytest.importorskip("pandas")
    model = machine(kernel=letters).fit(WORDS, KINDS)
    expected = machine(kernel="precomputed").fit(letters(WORDS, WORDS), KINDS)
    wanted = expected.predict(letters(WORDS, WORDS))
    for form in (list, tuple, np.array, pd.Series):
        np.testing.assert_allclose(model.predict(form(WORDS)), wanted)
    assert not hasattr(model, "n_features_in_")
    kept = model.support_vectors_.tolist()
    assert kept == [WORDS[i] for i in model.support_]
    with pytest.raises(ValueError, match=r"fitted to a sequence of objects.*; X must be one, too"):
        model.predict(np.eye(3))
    with pytest.raises((TypeError, ValueError), match=r"2D array|2-D|strings"):
        machine(kernel="rbf").fit(WORDS, KINDS)


def test_a_function_may_be_asked_about_series_of_different_lengths():
    series = [np.ones(3), np.zeros(2), np.full(4, 2.0), np.zeros(5)]

    def sums(A, B):
        return np.outer([a.sum() for a in A], [b.sum() for b in B])

    model = SVC(kernel=sums).fit(series, [1, 0, 1, 0])
    assert model.predict([np.zeros(9), np.ones(7)]).tolist() == [0, 1]


def test_objects_come_to_a_function_as_they_are():
    things = ["one", 2.0, {"three": 3}, (4, 5)]

    def kernel(A, B):
        assert all(type(a) in (str, float, dict, tuple) for a in [*A, *B])
        return np.array([[float(a is b) for b in B] for a in A])

    assert SVC(kernel=kernel).fit(things, [0, 1, 0, 1]).predict(things).tolist() == [0, 1, 0, 1]


def test_of_few_samples_a_function_is_asked_once(data):
    X, y = data
    shapes = []

    def kernel(A, B):
        shapes.append((len(A), len(B)))
        return A @ B.T

    SVC(kernel=kernel).fit(X[:64], y[:64])
    assert shapes == [(64, 64)]


@pytest.mark.parametrize("missing", [False, True])
def test_object_columns_of_numbers_are_taken_from_frames_as_from_arrays(missing, data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = np.array([*X[:-1, 1], X[-1, 1]], dtype=object)
    model = SVC().fit(frame, y)
    np.testing.assert_array_equal(model.dual_coef_, SVC().fit(X, y).dual_coef_)
    for nothing in (None, np.nan, pd.NA):
        frame["b"] = np.array([*X[:-1, 1], nothing], dtype=object)
        with pytest.raises(ValueError, match="X: row 79, column 1 is NaN"):
            SVC().fit(frame, y)
    for text in ("7", b"7", 1j, [1, 2]):
        frame["b"] = pd.Series([*X[:-1, 1], text], dtype=object)
        with pytest.raises(TypeError, match="X has column 'b' of dtype object"):
            model.predict(frame)


# ---- Fitted attributes


def estimators_and_attributes():
    for machine in [*MACHINES, Perceptron, KernelPerceptron]:
        for name in dir(machine):
            if name.endswith("_") and not name.startswith("_"):
                yield machine, name


@pytest.mark.parametrize(("machine", "name"), list(estimators_and_attributes()))
def test_what_a_fit_computed_cannot_be_assigned(machine, name, data):
    X, y = data
    y = (X[:, 0] > 0).astype(int)
    linear = {} if machine is Perceptron else {"kernel": "linear"}
    model = machine(**linear).fit(X, y)
    before = model.predict(X)
    with pytest.raises(AttributeError):
        setattr(model, name, 5)
    with pytest.raises(AttributeError):
        delattr(model, name)
    np.testing.assert_array_equal(model.predict(X), before)


# ---- Errors that name the next step


def test_errors_name_the_next_step(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    with_city = pd.DataFrame(X).assign(city="x").rename(columns=str)
    with pytest.raises(TypeError, match=r"column 'city'.*OneHotEncoder"):
        SVC().fit(with_city, y)
    with pytest.raises(TypeError, match=r"strings.*OneHotEncoder"):
        SVC().fit(X.astype(str), y)
    with_gap = np.where(X[3, 2] == X, np.nan, X)
    for samples in (with_gap, sp.csr_array(with_gap)):
        with pytest.raises(ValueError, match=r"row 3, column 2 is NaN.*SimpleImputer"):
            SVC(gamma=0.1).fit(samples, y)
    with pytest.raises(ValueError, match=r"infinity, must be finite$"):
        SVC(gamma=0.1).fit(np.where(X[3, 2] == X, np.inf, X), y)
    with pytest.raises(ValueError, match=r"continuous.*label 0\.5.*such as SVR"):
        SVC().fit(X, np.arange(80) / 2)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_label_among_strings_is_named_by_its_row(missing, data):
    X, _ = data
    labels = np.array(["a", "b"] * 40, dtype=object)
    labels[5] = missing
    with pytest.raises(ValueError, match="y contains NaN: the label of row 5 is missing"):
        SVC().fit(X, labels)


# ---- Hard tubes


def test_infinite_c_of_a_regression_allows_no_error_beyond_epsilon(rng):
    X = np.sort(rng.uniform(0, 6, (60, 1)), axis=0)
    t = np.sin(X[:, 0]) + rng.uniform(-0.1, 0.1, 60)
    model = SVR(C=np.inf, gamma=1.0, epsilon=0.12, tol=1e-6).fit(X, t)
    report = model.fit_report_
    assert abs(model.predict(X) - t).max() <= 0.12 + 1e-6
    assert report.converged
    assert report.epsilon == pytest.approx(0.12, abs=1e-6)
    # No function is shorter: the dual objective says so, from the definition.
    b = model.dual_coef_[0]
    K = kcore.kernels.RBF(1.0)(X)[np.ix_(model.support_, model.support_)]
    dual = t[model.support_] @ b - 0.5 * b @ K @ b - 0.12 * abs(b).sum()
    assert 0.5 * b @ K @ b - dual <= 1e-4 * dual
    assert report.gap <= 1e-4 * report.primal
    soft = SVR(C=1e6, gamma=1.0, epsilon=0.12, tol=1e-6).fit(X, t)
    np.testing.assert_allclose(soft.predict(X), model.predict(X), atol=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("n", [50, 1500])
def test_targets_that_no_function_is_near_are_refused(kernel, n, rng):
    X = rng.standard_normal((n, 2))
    model = SVR(C=1.0, kernel=kernel).fit(X, X[:, 0])
    before = model.dual_coef_
    model.set_params(C=np.inf)
    with pytest.raises(ValueError, match=r"within epsilon = 0\.1 of all targets.*finite C allows"):
        model.fit(X, rng.standard_normal(n))
    assert model.dual_coef_ is before


def test_a_hard_tube_that_is_stopped_early_is_a_model_with_a_warning(rng):
    X = rng.standard_normal((2000, 3))
    t = rng.standard_normal(2000)
    with pytest.warns(kcore.exceptions.ConvergenceWarning, match="stopped"):
        model = SVR(C=np.inf, gamma=1.0, callback=lambda progress: progress.n_iter > 0).fit(X, t)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("machine", [NuSVR])
def test_other_regressions_have_no_hard_tube(machine, data):
    with pytest.raises(ValueError, match=r"only C-SVC .* and epsilon-SVR"):
        machine(C=np.inf).fit(*data)
