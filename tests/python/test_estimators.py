"""The estimators as scikit-learn's users know estimators: its checks, pipelines, searches."""

import copy
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import kcore
from conftest import MACHINES, assert_same_bits
from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from kcore.exceptions import ConvergenceWarning
from kcore.features import PolynomialMap, Quadratic
from kcore.kernels import RBF, Linear
from kcore.maps import (
    EmpiricalKernelMap,
    KernelPCA,
    Nystroem,
    PolynomialKernelMap,
    RandomFourierMap,
    TaylorMap,
)
from kcore.perceptron import KernelPerceptron, Perceptron
from processes import in_child

# ---- scikit-learn's own checks

# Checks of weights compare to 1e-7, so the solver must go that far; and their weights leave no
# solution of NuSVC for nu above 0.35.
CHECKED = [
    SVC(tol=1e-9),
    NuSVC(nu=0.35, tol=1e-9),
    SVR(tol=1e-9),
    NuSVR(tol=1e-9),
    OneClassSVM(tol=1e-9),
    SVC(kernel="linear", tol=1e-9),
    SVC(kernel="precomputed", tol=1e-9),
    SVR(kernel="precomputed", tol=1e-9),
    Perceptron(),
    Perceptron(rule="batch"),
    Perceptron(multi_class="direct", average=True),
    Perceptron(average="voted"),
    Perceptron(pocket=True, shuffle=True, random_state=0),
    KernelPerceptron(),
    KernelPerceptron(rule="batch"),
    KernelPerceptron(multi_class="direct", average=True),
    KernelPerceptron(average="voted"),
    KernelPerceptron(budget=20),
    KernelPerceptron(kernel="precomputed"),
    PolynomialMap(degree=3),
    Quadratic(),
    EmpiricalKernelMap(),
    EmpiricalKernelMap(kernel="precomputed"),
    KernelPCA(n_components=2),
    KernelPCA(kernel="rbf", n_components=2, eigen_solver="iterative", random_state=0),
    KernelPCA(kernel="precomputed"),
    Nystroem(n_components=5, random_state=0),
    Nystroem(n_components=5, selection="k-means++", random_state=0),
    Nystroem(n_components=5, selection="rpcholesky", random_state=0),
    PolynomialKernelMap(),
    TaylorMap(gamma=1e-3),
    RandomFourierMap(n_components=10, random_state=0),
]


def expected_failures(estimator):
    if isinstance(estimator, Perceptron | KernelPerceptron):
        return failures_of_perceptrons(estimator)
    return {}


def failures_of_perceptrons(estimator):
    if getattr(estimator, "kernel", None) == "precomputed":
        reason = "partial_fit keeps samples, and there are none: it says that kernels are for fit"
        return dict.fromkeys(
            [
                "check_fit_score_takes_y",
                "check_n_features_in_after_fitting",
                "check_estimators_partial_fit_n_features",
            ],
            reason,
        )
    if estimator.rule == "batch":
        return {}
    reason = "between two copies of a sample, the single rule looks again: a weight of 2 does not"
    failures = {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }
    if isinstance(estimator, Perceptron) and not estimator.shuffle:
        failures["check_class_weight_classifiers"] = (
            "the rule rests where all samples of the class of weight 1000 are right; the line it "
            "has then leaves 84 % of the test samples on that side, the check asks for 87 %"
        )
    return failures


@parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        # Most of the data of the checks cannot be separated, and labels that are noise leave NuSVC
        # a margin so small that 1e-9 of it is rounding.
        if isinstance(estimator, Perceptron | KernelPerceptron | NuSVC):
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


# ---- The protocol


@pytest.fixture
def data(rng):
    X = rng.standard_normal((60, 5))
    return X, (X[:, 0] + 0.3 * rng.standard_normal(60) > 0).astype(int)


@pytest.mark.parametrize("machine", MACHINES)
def test_parameters_are_stored_as_given_and_come_back(machine):
    params = machine().get_params()
    assert machine(**params).get_params() == params
    kernel = RBF(0.5) + Linear()
    estimator = machine(kernel=kernel, tol="not a number")  # only fit looks at it
    assert estimator.kernel is kernel
    assert clone(estimator).tol == "not a number"


@pytest.mark.parametrize("machine", MACHINES)
def test_defaults_are_those_of_the_core(machine):
    table = {name: row[1] for name, row in kcore._core.settings().items()}
    params = machine().get_params()
    for name in set(table) & set(params) - {"precision", "max_iter"}:  # words, and -1
        assert params[name] == table[name], name
    assert (table["max_iter"], table["cache_bytes"]) == (0, 0)
    assert (params["max_iter"], params["cache_size"]) == (-1, "auto")


def test_parameters_of_kernels_are_set_by_name(data):
    estimator = SVC(kernel=2 * RBF(0.5))
    assert estimator.get_params()["kernel__kernel__gamma"] == 0.5
    estimator.set_params(kernel__kernel__gamma=0.25, C=3)
    assert estimator.kernel == 2 * RBF(0.25)
    assert estimator.C == 3
    estimator.set_params(kernel=RBF(1), kernel__gamma=2)
    assert estimator.kernel == RBF(2)
    with pytest.raises(ValueError, match="no_such"):
        estimator.set_params(no_such=1)
    with pytest.raises(ValueError, match="width"):
        estimator.set_params(kernel__width=1)


def test_kinds_are_told_by_tags():
    assert is_classifier(SVC())
    assert is_classifier(NuSVC())
    assert is_regressor(SVR())
    assert is_regressor(NuSVR())
    assert is_outlier_detector(OneClassSVM())


@pytest.mark.parametrize("machine", MACHINES)
def test_before_fit_there_are_no_fitted_attributes(machine):
    estimator = machine()
    for name in ["support_", "dual_coef_", "fit_report_", "n_features_in_", "n_iter_", "coef_"]:
        assert not hasattr(estimator, name)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        check_is_fitted(estimator)
    with pytest.raises(NotFittedError, match="call fit before predict"):
        estimator.predict([[0.0]])


@pytest.mark.parametrize("machine", MACHINES)
def test_a_failed_fit_leaves_the_last_one(machine, data):
    X, y = data
    estimator = machine().fit(X, y)
    before = estimator.dual_coef_
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3, column 2 is NaN"):
        estimator.fit(bad, y)
    estimator.tol = -1.0
    with pytest.raises(ValueError, match="tol"):
        estimator.fit(X, y)
    assert estimator.dual_coef_ is before


# ---- Copies


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", RBF(0.2) * Linear()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pickles_and_copies_predict_the_same_bits(machine, kernel, dtype, data):
    X, y = data
    X = X.astype(dtype)
    if isinstance(kernel, str) and kernel == "precomputed":
        X = RBF(0.3)(X)
    model = machine(kernel=kernel).fit(X, y)
    decide = "predict" if "SVR" in machine.__name__ else "decision_function"
    for same in [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)]:
        assert_same_bits(getattr(same, decide)(X), getattr(model, decide)(X))
        assert_same_bits(same.dual_coef_, model.dual_coef_)
        assert (same.support_ == model.support_).all()
        assert same.fit_report_ == model.fit_report_
        assert same.n_features_in_ == model.n_features_in_
    assert (same.predict(X) == model.predict(X)).all()


def test_pickles_of_sparse_models_keep_their_form(data):
    X, y = data
    for form in (sp.csr_array, sp.csr_matrix):
        model = SVC().fit(form(X), y)
        same = pickle.loads(pickle.dumps(model))
        assert type(same.support_vectors_) is type(model.support_vectors_) is form
        np.testing.assert_array_equal(same.support_vectors_.toarray(), X[model.support_])
        assert_same_bits(same.decision_function(X), model.decision_function(X))


def test_a_pickle_holds_numbers_and_names_of_kcore_and_numpy_only(data):
    X, y = data
    names = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            names.add(module.partition(".")[0])
            return super().find_class(module, name)

    import io

    Reader(io.BytesIO(pickle.dumps(SVC(kernel=RBF(0.1)).fit(X, y)))).load()
    assert names <= {"kcore", "numpy"}


def test_fitted_arrays_are_read_only(data):
    X, y = data
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="read-only"):
        model.dual_coef_[0] = 0
    assert model.dual_coef_ is model.dual_coef_


# ---- With scikit-learn's tools


def test_grid_search_finds_parameters_of_estimator_and_kernel(data):
    X, y = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SVC(kernel=RBF())),
        {"svc__C": [0.01, 1, 100], "svc__kernel__gamma": [1e-4, 0.1]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.75
    assert set(search.best_params_) == {"svc__C", "svc__kernel__gamma"}
    in_processes = GridSearchCV(SVC(), {"C": [0.1, 1]}, n_jobs=2, cv=3).fit(X, y)
    assert in_processes.best_score_ > 0.7


def test_precomputed_kernels_are_cut_on_both_sides_by_cross_validation(data):
    X, y = data
    direct = cross_val_score(SVC(gamma=0.2), X, y, cv=4)
    given = cross_val_score(SVC(kernel="precomputed"), RBF(0.2)(X), y, cv=4)
    np.testing.assert_array_equal(direct, given)


def test_probabilities_come_from_calibration(data):
    X, y = data
    model = CalibratedClassifierCV(SVC(), cv=3, ensemble=False).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((p[:, 1] > 0.5) == y).mean() > 0.85


def test_one_vs_rest_of_scikit_learn_equals_ours(rng):
    X = rng.standard_normal((90, 3))
    y = np.argmax(X, axis=1)
    theirs = OneVsRestClassifier(SVC(tol=1e-8)).fit(X, y)
    ours = SVC(tol=1e-8, multi_class="ovr").fit(X, y)
    np.testing.assert_allclose(
        theirs.decision_function(X), ours.decision_function(X), rtol=0, atol=1e-6
    )
    assert (theirs.predict(X) == ours.predict(X)).all()


def test_sample_weights_are_routed(data):
    X, y = data
    weights = np.linspace(0.1, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = SVC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(inner, {"C": [1.0]}, cv=3).fit(X, y, sample_weight=weights)
    direct = SVC().fit(X, y, sample_weight=weights)
    assert_same_bits(search.best_estimator_.dual_coef_, direct.dual_coef_)


@pytest.mark.parametrize("learner", [*MACHINES, Perceptron, KernelPerceptron])
def test_parameters_of_learners_are_given_by_name(learner):
    name = next(iter(learner().get_params()))
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        learner(learner().get_params()[name])


@pytest.mark.parametrize("learner", [SVC, SVR, Perceptron, KernelPerceptron])
def test_score_refuses_labels_of_another_length(learner, data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = learner().fit(X, y)
    with pytest.raises(ValueError, match=f"X has {len(X)} rows, y has"):
        model.score(X, y[1:])


def test_warnings_name_the_line_that_called_kcore(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model, named = SVC().fit(X, y), SVC().fit(frame, y)
    for use in (
        lambda: model.predict(frame),
        lambda: model.score(frame, y),
        lambda: named.decision_function(X),
        lambda: model.fit(X, y[:, None]),
    ):
        with pytest.warns(UserWarning, match="feature names|column-vector") as caught:
            use()
        assert [one.filename for one in caught] == [__file__]


# ---- Frames


@pytest.mark.parametrize("library", [pd, pl])
def test_names_of_features_are_kept_and_checked(library, data):
    X, y = data
    names = list("abcde")
    frame = library.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    model = SVC().fit(frame, y)
    assert model.feature_names_in_.tolist() == names
    assert_same_bits(model.decision_function(frame), SVC().fit(X, y).decision_function(X))
    with pytest.warns(UserWarning, match="does not have valid feature names, but SVC was fitted"):
        model.predict(X)
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        model.predict(frame.rename({"a": "z"}, **({"axis": 1} if library is pd else {})))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[names[::-1]])
    plain = SVC().fit(X, y)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but SVC was fitted without"):
        plain.predict(frame)


def test_frames_may_have_several_types_of_columns(data):
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "b": (10 * X[:, 1]).astype(int), "c": X[:, 2] > 0})
    model = SVC().fit(frame, pd.Series(y))
    assert_same_bits(model.dual_coef_, SVC().fit(frame.to_numpy(dtype=float), y).dual_coef_)


# ---- Without scikit-learn


BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sklearn":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "sklearn" else found(name, *rest)
"""


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_kcore_does_not_import_scikit_learn():
    code = "import sys, kcore, kcore.exceptions; print('sklearn' in sys.modules, kcore.SVC)"
    assert run_python(code).startswith("False <class 'kcore.svm.SVC'>")


def test_all_works_without_scikit_learn():
    out = run_python(
        BLOCKER
        + """
import pickle, warnings
import numpy as np
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM, Perceptron
from kcore.exceptions import ConvergenceWarning, NotFittedError
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 3)); y = (X[:, 0] > 0).astype(int)
for machine in (SVC, NuSVC, SVR, NuSVR, OneClassSVM):
    model = machine(tol=1e-4)
    try:
        model.predict(X)
    except NotFittedError as error:
        assert isinstance(error, AttributeError) and isinstance(error, ValueError)
    model.fit(X, y)
    model.predict(X)
    assert repr(model) == f"{machine.__name__}(tol=0.0001)", repr(model)
    assert model.set_params(tol=0.1).get_params()["tol"] == 0.1
    try:
        model.set_params(no_such=1)
    except ValueError as error:
        assert "no_such" in str(error)
    pickle.loads(pickle.dumps(model)).predict(X)
for learner in (SVC, Perceptron, KernelPerceptron):
    model = learner(max_iter=100).fit(X, y)
    assert model.score(X, y) == (model.predict(X) == y).mean() > 0.9, learner
    assert model.score(X, y, sample_weight=(model.predict(X) == y)) == 1.0
assert SVR().fit(X, X[:, 1]).score(X, X[:, 1]) > 0.9
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    SVC(max_iter=1).fit(X, y)
assert caught[0].category is ConvergenceWarning and ConvergenceWarning.__mro__[1] is UserWarning
assert "sklearn" not in sys.modules
print("all")
"""
    )
    assert out == "all\n"


# ---- Threads and processes


def test_a_forked_child_fits_and_predicts_the_same(data):
    X, y = data
    X, y = np.tile(X, (20, 1)) + np.arange(1200)[:, None] * 1e-4, np.tile(y, 20)
    model = SVC(C=10, n_jobs=2).fit(X, y)  # uses the pool of this process
    expected = model.decision_function(X)

    def same():
        again = SVC(C=10, n_jobs=2).fit(X, y)
        return all((m.decision_function(X) == expected).all() for m in (model, again))

    for _ in range(5):
        in_child(same, seconds=30)
    assert same()


def test_eight_threads_predict_with_one_model(rng):
    X = rng.standard_normal((400, 6))
    y = rng.integers(0, 3, 400)
    model = SVC(C=10).fit(X, y)
    expected = model.decision_function(X)

    def work(seed):
        order = np.random.default_rng(seed)
        for _ in range(40):
            begin, size = int(order.integers(0, 390)), int(order.integers(1, 300))
            rows = slice(begin, begin + size)
            assert_same_bits(model.decision_function(X[rows]), expected[rows])
            assert (model.predict(X[rows]) == model.classes_[_winners(model, X[rows])]).all()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, seed) for seed in range(8)]:
            done.result()


def _winners(model, X):
    return np.searchsorted(model.classes_, model.predict(X))


def test_fits_run_at_once_in_threads(rng):
    X = rng.standard_normal((300, 6))
    y = rng.integers(0, 3, 300)
    expected = [SVC(C=C).fit(X, y).dual_coef_ for C in (0.1, 1, 10, 100)]

    def work(k):
        C = (0.1, 1, 10, 100)[k % 4]
        model = SVC(C=C, n_jobs=1 + k % 2)
        for _ in range(4):
            assert_same_bits(model.fit(X, y).dual_coef_, expected[k % 4])

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, k) for k in range(8)]:
            done.result()
