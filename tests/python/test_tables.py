"""Strings, and data frames of numbers and strings, as samples of kernels and of learners."""

import copy
import itertools
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from conftest import quietly
from kcore import SVC, SVR, KernelPerceptron, NuSVC, NuSVR, OneClassSVM
from kcore._tables import as_table
from kcore.kernels import RBF, Delta, Laplacian, Linear, Polynomial
from test_saving import by_pickle, by_skops

WORDS = ["ab", "", "abc", "ab\0", "é", "日本", "ab", "\0", "a", ""]
TREE = RBF(0.3).on(["x", "z"]) * Delta().on("s") + Linear().on("x")


def equal(A, B):
    """Delta from its definition."""
    return np.array([[float(a == b) for b in B] for a in A])


def table(rng, n):
    """A frame whose strings and numbers tell the classes together."""
    x, z = rng.standard_normal((2, n))
    s = rng.choice(["a", "b", "ab", ""], n)
    frame = pd.DataFrame({"x": x, "s": s, "z": z})
    return frame, (x > 0) == (s == "a"), np.where(s == "b", 1.0, -1.0) + np.sin(x)


def tree_values(A, B):
    """TREE from its definition."""
    a, b = A[["x", "z"]].to_numpy(), B[["x", "z"]].to_numpy()
    apart = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return np.exp(-0.3 * apart) * equal(A["s"], B["s"]) + a[:, :1] * b[:, 0]


# ---- What holds strings


HOLDERS = {
    "list": list,
    "tuple": tuple,
    "array of objects": lambda words: np.array(words, dtype=object),
    "array of StringDType": lambda words: np.array(words, dtype=np.dtypes.StringDType()),
    "Series of objects": lambda words: pd.Series(words, dtype=object),
    "Series of strings": lambda words: pd.Series(words, dtype="string"),
    "Series of categories": lambda words: pd.Series(words, dtype="category"),
    "Series of polars": pl.Series,
    "frame of one column": lambda words: pd.DataFrame({"s": words}),
    "frame of polars": lambda words: pl.DataFrame({"s": words}),
    "frame of categories": lambda words: pd.DataFrame({"s": pd.Categorical(words)}),
    "bytes": lambda words: [word.encode() for word in words],
    "array of bytes as objects": lambda words: np.array([w.encode() for w in words], dtype=object),
    "every other one": lambda words: np.repeat(np.array(words, dtype=object), 2)[::2],
    "backwards": lambda words: np.array(words[::-1], dtype=object)[::-1],
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS.keys())
def test_strings_are_equal_where_python_says_so_whatever_holds_them(hold):
    held = hold(WORDS)
    np.testing.assert_array_equal(Delta()(held), equal(WORDS, WORDS))
    np.testing.assert_array_equal(Delta().diag(held), np.ones(len(WORDS)))


@pytest.mark.parametrize("kind", ["U", "S"])
def test_fixed_width_strings_are_what_numpy_reads_of_them(kind):
    words = np.array(["ab", "", "abc", "ab"], dtype=kind)
    for held in (words, words[::-1][::-1], np.repeat(words, 3)[::3]):
        held.flags.writeable = False
        np.testing.assert_array_equal(Delta()(held), equal(words, words))


def test_a_long_string_among_many_short_ones_costs_its_own_length_only():
    words = ["x" * 1_000_000, *["a"] * 50_000]
    np.testing.assert_array_equal(Delta()(["a", "b"], words)[:, [0, 1]], [[0, 1], [0, 0]])


def test_strings_that_are_all_empty_are_equal():
    np.testing.assert_array_equal(Delta()(["", ""], [""]), np.ones((2, 1)))


@pytest.mark.parametrize(
    ("words", "row", "said"),
    [
        (["a", None, "b"], 1, "None"),
        (["a", float("nan")], 1, "nan"),
        ([1, "a"], 0, "1"),
        (["a", b"a"], 1, "b'a'"),
        ([b"a", "a"], 1, "'a'"),
        ([1.5, b"a"], 0, "1.5"),
        (np.array(["a", None], dtype=object), 1, "None"),
        (pd.Series(["a", pd.NA, "b"], dtype="string"), 1, "<NA>|nan"),
        (pl.Series(["a", None]), 1, "None"),
    ],
)
def test_what_is_no_string_is_refused_by_its_row(words, row, said):
    with pytest.raises(TypeError, match=rf"X: row {row} is ({said}); strings are needed, .*Fill"):
        Delta()(words)


def test_a_missing_string_of_a_frame_is_refused_by_row_and_column():
    for frame in (
        pd.DataFrame({"x": [1.0, 2.0], "name": ["a", None]}),
        pl.DataFrame({"x": [1.0, 2.0], "name": ["a", None]}),
    ):
        with pytest.raises(TypeError, match=r"X, column 'name': row 1 is (None|nan)"):
            Delta().on("name")(frame)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_missing_category_of_one_row_is_refused_as_such(dtype, missing):
    names = pd.Series(["a", "b", "a", "b", missing], dtype=dtype)
    frame = pd.DataFrame({"x": np.arange(5.0), "name": names})
    kernel = RBF().on("x") + Delta().on("name")
    model = SVC(kernel=kernel).fit(frame[:4], [0, 1, 0, 1])
    words = r"[Xx], column 'name': row 0 is (None|nan|<NA>), a missing value"
    for call in (model.predict, model.decision_function, kernel, kernel.section):
        with pytest.raises(TypeError, match=words):
            call(frame[4:])


def test_columns_that_share_a_name_are_not_chosen_between():
    frame = pd.DataFrame([["a", 1.0, "b"]] * 3, columns=["s", "x", "s"])
    with pytest.raises(ValueError, match="X has 2 columns 's'"):
        Delta().on("s")(frame)
    assert (RBF().on("x") * Delta().on([2]))(frame).all()


def test_a_missing_number_of_a_table_is_refused_by_row_and_column():
    frame = pd.DataFrame({"s": ["a", "b"], "x": [1.0, np.nan]})
    with pytest.raises(ValueError, match=r"X: row 1, column 1 is NaN"):
        (Delta().on("s") + Linear().on("x"))(frame)


def test_a_string_without_utf_8_is_refused_by_its_row():
    with pytest.raises(ValueError, match=r"X: row 70000 has no UTF-8 form"):
        Delta()(["a"] * 70_000 + ["\ud800"])


def test_strings_in_two_dimensions_are_sent_to_a_frame():
    for X in (np.array([["a"], ["b"]]), np.array([["a", 1.0]], dtype=object)):
        with pytest.raises(TypeError, match=r"array of strings of shape.*data frame"):
            Delta()(X)


def test_text_and_bytes_do_not_meet():
    with pytest.raises(TypeError, match="Z: column 0 holds bytes, in X it held str"):
        Delta()(["a"], [b"a"])
    model = SVC(kernel=Delta()).fit(["a", "b", "a"], [0, 1, 0])
    with pytest.raises(TypeError, match="X: column 0 holds bytes, in the fit it held str"):
        model.predict([b"a"])
    learner = KernelPerceptron(kernel=Delta()).partial_fit(["a", "b"], [0, 1], classes=[0, 1])
    with pytest.raises(TypeError, match="bytes"):
        learner.partial_fit([b"a", b"b"], [0, 1])
    learner.set_params(warm_start=True)
    with pytest.raises(TypeError, match="bytes"):
        learner.fit([b"a", b"b"], [0, 1])


# ---- Frames


@pytest.mark.parametrize("order", list(itertools.permutations("xsty")))
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_strings_may_stand_anywhere_in_a_frame(order, library, rng):
    columns = {
        "x": rng.standard_normal(9),
        "s": rng.choice(["a", "b"], 9).tolist(),
        "t": rng.choice(["c", ""], 9).tolist(),
        "y": rng.integers(0, 9, 9),
    }
    made = {name: columns[name] for name in order}
    frame = pd.DataFrame(made) if library == "pandas" else pl.DataFrame(made)
    kernel = Delta().on("s") + 2 * Delta().on("t") + Laplacian(0.5).on(["x", "y"])
    apart = sum(abs(np.subtract.outer(columns[name], columns[name]).astype(float)) for name in "xy")
    expected = (
        equal(columns["s"], columns["s"])
        + 2 * equal(columns["t"], columns["t"])
        + np.exp(-0.5 * apart)
    )
    np.testing.assert_allclose(kernel(frame), expected, rtol=1e-13)


def test_numbers_of_a_table_are_of_any_type(rng):
    numbers = rng.integers(0, 2, 20)
    for dtype in ("float32", "float64", "int8", "uint64", "bool", "float16", "Int64", "Float32"):
        frame = pd.DataFrame(
            {"a": pd.Series(numbers).astype(dtype), "s": ["p", "q"] * 10, "b": numbers * 1.5}
        )
        kernel = Polynomial(2).on(["b", "a"]) * Delta().on("s")
        pairs = np.column_stack([numbers * 1.5, numbers])
        expected = Polynomial(2)(pairs) * equal(frame["s"], frame["s"])
        np.testing.assert_allclose(kernel(frame), expected, rtol=1e-6)
        assert kernel(frame).dtype == np.float64


def test_columns_are_names_numbers_slices_and_masks(rng):
    frame, _, _ = table(rng, 12)
    z = frame["z"].to_numpy()
    expected = equal(frame["s"], frame["s"]) + z[:, None] * z
    for strings, numbers in [
        ("s", "z"),
        (1, 2),
        (-2, -1),
        (slice(1, 2), slice(2, None)),
        ([False, True, False], [False, False, True]),
        (["s"], np.array([2])),
    ]:
        kernel = Delta().on(strings) + Linear().on(numbers)
        np.testing.assert_allclose(kernel(frame), expected, rtol=1e-13)


def test_kernels_are_refused_by_the_column_that_they_cannot_take(rng):
    frame, _, _ = table(rng, 4)
    for kernel, said in [
        (RBF().on("s"), r"column 1 of X holds strings, the kernel rbf takes numbers: take a"),
        (Delta().on("x"), r"column 0 of X holds numbers, the kernel delta takes strings: take a"),
        (Delta(), r"delta reads all columns of X.*say on which columns"),
        (RBF().on(["x", "s"]), r"columns 0 and 1 of X together, of which one holds strings"),
        (RBF(), r"column 's' of dtype .*OneHotEncoder"),
    ]:
        with pytest.raises(TypeError, match=said):
            kernel(frame)
        with pytest.raises(TypeError, match=said):
            SVC(kernel=kernel).fit(frame, [0, 1, 0, 1])
    with pytest.raises(TypeError, match=r"X holds strings.*OneHotEncoder.*Delta"):
        RBF()(["a", "b"])
    with pytest.raises(TypeError, match=r"X holds strings.*OneHotEncoder.*Delta"):
        SVC().fit(["a", "b"], [0, 1])
    with pytest.raises(TypeError, match=r"X holds numbers, the kernel delta takes strings: take"):
        SVC(kernel=Delta()).fit([[1.0], [2.0]], [0, 1])


def test_columns_of_both_sides_have_the_same_names(rng):
    frame, _, _ = table(rng, 6)
    with pytest.raises(ValueError, match="Z must have the columns of X"):
        TREE(frame, frame[["z", "s", "x"]])
    np.testing.assert_allclose(TREE(frame, frame[:2]), tree_values(frame, frame[:2]), rtol=1e-13)


def test_results_go_where_they_are_wanted_by_any_threads(rng):
    frame, _, _ = table(rng, 300)
    out = np.empty((300, 300))
    assert TREE(frame, out=out, n_jobs=3) is out
    np.testing.assert_array_equal(out, TREE(frame, n_jobs=1))
    np.testing.assert_array_equal(TREE.diag(frame, out=np.empty(300)), np.diag(out))
    with pytest.raises(ValueError, match="shape"):
        TREE(frame, out=np.empty((300, 299)))
    with pytest.raises(TypeError, match="float32"):
        Delta()(WORDS, out=np.empty((10, 10), np.float32))


def test_a_frame_that_may_not_be_written_to_is_read(rng):
    frame, _, _ = table(rng, 20)
    backwards = frame[::-1][::-1]
    values = frame["x"].to_numpy(copy=True)
    values.flags.writeable = False
    read_only = pd.DataFrame({"x": values, "s": frame["s"], "z": frame["z"]}, copy=False)
    for other in (backwards, read_only):
        np.testing.assert_array_equal(TREE(other), TREE(frame))


# ---- Learners


MACHINES = [SVC(C=3.0), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(nu=0.3)]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
@pytest.mark.parametrize("samples", ["strings", "table"])
def test_a_machine_is_that_of_its_kernel_matrix(machine, samples, rng):
    frame, classes, targets = table(rng, 80)
    if samples == "strings" and isinstance(machine, NuSVC):
        classes = frame["s"] == "a"  # else the hulls of so few points overlap
    y = None if isinstance(machine, OneClassSVM) else classes
    y = targets if isinstance(machine, SVR | NuSVR) else y
    kernel = Delta() if samples == "strings" else TREE
    X = frame["s"].tolist() if samples == "strings" else frame
    K = equal(X, X) if samples == "strings" else tree_values(X, X)
    model = clone(machine).set_params(kernel=kernel, tol=1e-8).fit(X, y)
    other = clone(machine).set_params(kernel="precomputed", tol=1e-8).fit(K, y)
    decide = "predict" if isinstance(machine, SVR | NuSVR) else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(other, decide)(K), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X)[:7], model.predict(X[:7]))


@pytest.mark.parametrize("params", [{}, {"budget": 7, "strategy": "oldest"},
                                    {"budget": 7, "strategy": "smallest"},
                                    {"budget": 7, "strategy": "projection"}], ids=repr)  # fmt: skip
def test_a_stream_is_learnt_however_it_is_cut(params, rng):
    frame, y, _ = table(rng, 60)
    for kernel, X in ((TREE, frame), (Delta(), frame["s"].tolist())):
        whole = KernelPerceptron(kernel=kernel, **params)
        whole.partial_fit(X, y, classes=[False, True])
        cut = KernelPerceptron(kernel=kernel, **params)
        for rows in (slice(0, 1), slice(1, 2), slice(2, 30), slice(30, 60)):
            cut.partial_fit(X[rows], y[rows], classes=[False, True])
        np.testing.assert_array_equal(cut.decision_function(X), whole.decision_function(X))
        np.testing.assert_array_equal(cut.support_, whole.support_)
        assert len(cut.support_) <= params.get("budget", 60)


def test_a_kernel_perceptron_is_that_of_its_kernel_matrix(rng):
    frame, y, _ = table(rng, 60)
    model = quietly(KernelPerceptron(kernel=TREE, max_iter=7), frame, y)
    other = quietly(KernelPerceptron(kernel="precomputed", max_iter=7), TREE(frame), y)
    np.testing.assert_array_equal(model.support_, other.support_)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    again = quietly(copy.deepcopy(model).set_params(warm_start=True, max_iter=3), frame, y)
    long = quietly(KernelPerceptron(kernel=TREE, max_iter=10), frame, y)
    np.testing.assert_array_equal(again.dual_coef_, long.dual_coef_)


def test_the_points_kept_are_those_given(rng):
    frame, y, _ = table(rng, 30)
    frame.loc[3, "s"] = "ab\0"
    model = SVC(kernel=TREE).fit(frame, y)
    assert model.support_vectors_.dtype == object
    assert model.support_vectors_.tolist() == frame.iloc[model.support_].to_numpy().tolist()
    words = ["a\0", "a", "é", ""]
    model = SVC(kernel=Delta()).fit(words, [0, 1, 0, 1])
    assert model.support_vectors_.tolist() == [words[i] for i in model.support_]
    model = SVC(kernel=Delta()).fit([b"a\0", b"a"], [0, 1])
    assert sorted(model.support_vectors_.tolist()) == [b"a", b"a\0"]


@pytest.mark.parametrize("keep", [by_pickle, by_skops, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("machine", [*MACHINES, KernelPerceptron(max_iter=3)], ids=repr)
def test_what_was_kept_predicts_the_same_bits(machine, keep, rng):
    frame, classes, targets = table(rng, 50)
    for kernel, X in (
        (TREE, frame),
        (Delta(), frame["s"].tolist()),
        (Delta(), [word.encode() for word in frame["s"]]),
    ):
        y = targets if isinstance(machine, SVR | NuSVR) else classes
        if isinstance(machine, NuSVC) and X is not frame:
            y = frame["s"] == "a"
        model = quietly(clone(machine).set_params(kernel=kernel), X, y)
        other = keep(model)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.support_vectors_.tolist() == model.support_vectors_.tolist()
        assert pickle.dumps(keep(other)) == pickle.dumps(other)
        if isinstance(machine, KernelPerceptron):
            for one in (model, other):
                one.partial_fit(X[:9], y[:9])
            np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_a_model_without_support_vectors_is_kept(rng):
    frame, _, _ = table(rng, 10)
    model = SVR(kernel=TREE, epsilon=10.0).fit(frame, np.zeros(10))
    assert len(model.support_) == 0
    other = by_pickle(model)
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))
    with pytest.raises(TypeError, match="column 1 holds numbers, in the fit it held strings"):
        other.predict(frame.assign(s=1.0))


def test_samples_of_other_kinds_are_refused_by_column(rng):
    frame, y, _ = table(rng, 20)
    models = [SVC(kernel=TREE).fit(frame, y), quietly(KernelPerceptron(kernel=TREE), frame, y)]
    for model in models:
        for other, error, said in [
            (frame.assign(s=1.0), TypeError, "column 1 holds numbers, in the fit it held strings"),
            (frame.assign(x="a"), TypeError, "column 0 holds strings, in the fit it held numbers"),
            (frame.assign(z="a"), TypeError, "column 2 holds strings, in the fit it held numbers"),
            (frame.assign(s=b"a"), TypeError, "column 1 holds bytes, in the fit it held str"),
            (frame[["s", "x", "z"]], ValueError, "same order"),
            (frame[["x", "s"]], ValueError, "now missing:\n- z"),
            (frame.rename(columns={"s": "t"}), ValueError, "unseen at fit time:\n- t"),
        ]:
            with pytest.raises(error, match=said):
                model.predict(other)
    strings = SVC(kernel=Delta()).fit(frame["s"].tolist(), y)
    for X in (np.zeros((3, 1)), [[1.0]], np.zeros((3, 1), np.float32)):
        with pytest.raises(TypeError, match="column 0 holds numbers, in the fit it held strings"):
            strings.predict(X)
    with pytest.raises(TypeError, match="holds strings"):
        SVC().fit(np.eye(2), [0, 1]).predict(["a", "b"])


def test_a_warm_start_with_other_kinds_is_refused(rng):
    kernel = Polynomial(1).on(0) + Polynomial(1).on(1)
    numbers = pd.DataFrame({"a": [1.0, -1.0], "b": [0.5, 2.0]})
    model = KernelPerceptron(kernel=kernel, warm_start=True).fit(numbers, [0, 1])
    with pytest.raises(TypeError, match="strings and numbers"):
        model.fit(numbers.assign(b=["p", "q"]), [0, 1])
    model.fit(numbers, [0, 1])


# ---- scikit-learn


def test_strings_and_tables_go_through_a_search(rng):
    frame, y, _ = table(rng, 60)
    search = GridSearchCV(SVC(), {"kernel": [TREE, Delta().on("s")], "C": [1.0, 10.0]}, cv=3)
    search.fit(frame, y)
    assert search.best_params_["kernel"] == TREE
    words = frame["s"].tolist()
    scores = cross_val_score(SVC(kernel=Delta()), words, [word == "a" for word in words], cv=3)
    np.testing.assert_array_equal(scores, np.ones(3))
    assert clone(SVC(kernel=TREE)).kernel == TREE


# ---- Many


def test_many_strings_are_read_at_some_million_a_second():
    words = [f"word {i % 1000}" for i in range(200_000)]
    begin = time.perf_counter()
    read = as_table(words, "X")
    seconds = time.perf_counter() - begin
    assert read.shape == (200_000, 1)
    assert len(read.data) == sum(map(len, words))
    assert seconds < 5  # 0.05 on a quiet machine


@pytest.mark.slow
def test_a_signal_is_heard_while_strings_are_read():
    """The handler runs between pieces: how long it waits is bounded, however many there are."""
    words = ["some word"] * 5_000_000
    heard, waits = threading.Event(), []

    def handler(number, frame):
        waits.append(time.perf_counter() - waits.pop())
        heard.set()

    def kill():
        time.sleep(0.3)
        waits.append(time.perf_counter())
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        thread = threading.Thread(target=kill)
        thread.start()
        as_table(words, "X")
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard.is_set()
    assert waits[0] < 0.5  # 0.02 on a quiet machine
