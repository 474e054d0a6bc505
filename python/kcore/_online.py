"""The learner of a kernel perceptron: how it is made, how it runs, what it tells of itself."""

from __future__ import annotations

import copy
import copyreg
import inspect
import math
from typing import Any, NamedTuple, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kcore import _core, exceptions
from kcore._kernelized import Expansion, KernelPredictor, Nodes, UserKernel
from kcore._plain import kernel_from_plain, kernel_to_plain
from kcore._points import (
    CSR,
    Points,
    array_type,
    as_scipy,
    from_plain,
    refuse_other_texts,
    take_rows,
    texts_of,
    to_plain,
)
from kcore._progress import ProgressCallback
from kcore._rules import RULES, SMALLEST, RuleEstimator, Samples, round_up, theorem_bound
from kcore._validate import brief, feature_names, is_same, is_sparse
from kcore._warn import warn

STRATEGIES = {
    "oldest": _core.STRATEGY_OLDEST,
    "smallest": _core.STRATEGY_SMALLEST,
    "projection": _core.STRATEGY_PROJECTION,
    "merge": _core.STRATEGY_MERGE,
}
READINGS = {
    False: _core.READING_LAST,
    True: _core.READING_MEAN,
    "voted": _core.READING_VOTES,
}
# Parameters that must not change while a learner goes on learning.
FIXED_PARAMS = (
    "kernel", "degree", "gamma", "coef0", "fit_intercept", "average", "budget", "strategy",
    "multi_class", "precision",
)  # fmt: skip
# Parameters that a call with one sample does not check again while they stay the same.
CHECKED_PARAMS = (*FIXED_PARAMS, "shuffle", "n_jobs", "time_limit")


# Attributes of an FittedOnline that are not in its dictionary.
_SIDE_BY_SIDE = tuple(
    name for name, kind in vars(_core.SingleSampleState).items() if inspect.isgetsetdescriptor(kind)
)
_MAX_PASSES = 1 << 16  # of one call of the core: the step and the report of each must be held


OnlineSamples: TypeAlias = Samples[Points] | Samples[UserKernel]


class CacheReport(NamedTuple):
    """What became of the kernel rows of a fit.

    Attributes
    ----------
    rows_computed, rows_hit, rows_evicted : int
        Rows computed; found in the cache; driven out of it by others.
    bytes_allowed, bytes_used : int
        Of the cache.
    """

    rows_computed: int
    rows_hit: int
    rows_evicted: int
    bytes_allowed: int
    bytes_used: int

    @classmethod
    def sum(cls, reports: list[CacheReport | None]) -> CacheReport | None:
        """Return what became of the rows of several calls, one after the other."""
        known = [report for report in reports if report is not None]
        if not known:
            return None
        computed, hit, evicted, _, used = zip(*known, strict=True)
        return cls(sum(computed), sum(hit), sum(evicted), known[-1].bytes_allowed, max(used))


class FittedOnline(_core.SingleSampleState, Expansion):
    """A learner, its labels, and what its last call reported."""

    rows: CacheReport | None

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        classes: NDArray[Any],
        learner: _core.OnlineLearner,
        reading: int,
        fixed_params: tuple[Any, ...],
    ) -> None:
        super().__init__(shape, names)
        self.classes = classes
        self.learner = learner
        self.reading = reading  # what predictions are read from
        self.fixed_params = fixed_params
        self._name_labels()
        self.n_passes = 0
        self.mistakes = np.empty(0, np.int64)  # arrays, or numbers after a single sample
        self.criterion = np.empty(0)
        self.is_converged = False
        self.stop: str | None = None  # what ended the last call before its time
        self.bound = None
        self.rows = None
        self.function = None
        self.vectors = None
        self.sparse_type = None
        self.texts = self.kept_texts = None
        self.kernel = None
        self.widths = None

    def __deepcopy__(self, memo: object) -> Self:
        twin = type(self).__new__(type(self))  # with a learner of its own, for it will learn
        twin._take({**self._values(), "learner": copy.deepcopy(self.learner), "cache": {}})
        return twin

    # Pickles, and whatever else walks through what __getstate__ returns, hold arrays and numbers.

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        values = self._values()
        for name in ("labels", "code_of", "checked_classes", "checked_params", "cache"):
            del values[name]
        return {
            **values,
            "learner": (self.learner.nodes, np.frombuffer(self.learner.save(), np.uint8)),
            "rows": None if self.rows is None else tuple(self.rows),
            "vectors": to_plain(self.vectors),
            "kernel": kernel_to_plain(self.kernel),
            "function": self.function_to_pickle(),
        }

    def __setstate__(self, values: dict[str, Any]) -> None:
        (nodes, image), rows, vectors = values["learner"], values["rows"], values["vectors"]
        own: dict[str, Any] = {
            "learner": _core.load_online(nodes, image.tobytes()),
            "rows": None if rows is None else CacheReport(*rows),
            "vectors": from_plain(vectors),
            "kernel": kernel_from_plain(values["kernel"]),
            "cache": {},
        }
        self._take({**values, **own})
        self._name_labels()

    def _take(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    def _name_labels(self) -> None:
        self.labels = self.classes.tolist()
        self.code_of = {label: code for code, label in enumerate(self.labels)}
        self.checked_classes = self.checked_params = None

    def _values(self) -> dict[str, Any]:
        return {**self.__dict__, **{name: getattr(self, name) for name in _SIDE_BY_SIDE}}

    def store_report(self, report: dict[str, Any]) -> None:
        """Store what the passes of a fit reported."""
        self.mistakes, self.criterion = report["mistakes"], report["criterion"]
        self.n_passes = len(self.mistakes)
        self.is_converged = report["is_converged"]
        self.stop = report["stop"]
        self.cache.clear()

    def _holder(self) -> _core.OnlineLearner:
        return self.learner

    def nodes_of(self) -> Nodes | None:
        nodes: Nodes | None = self.learner.nodes
        return nodes

    def ids(self) -> NDArray[np.int64]:
        return self.learner.ids()

    def core_function(self) -> _core.Function:
        return _core.online_function(self.learner, self.reading)

    @property
    def is_vote(self) -> bool:
        return self.reading == _core.READING_VOTES


class OnlineEstimator(KernelPredictor, RuleEstimator):
    """Base of estimators that hold an online learner."""

    _fitted: FittedOnline
    margin: float
    theta: float
    fit_intercept: bool
    shuffle: bool
    budget: int | None
    strategy: str
    precision: str
    callback: ProgressCallback | None

    def __copy__(self) -> Self:
        # One sample changes a learner in place: two estimators must not share it.
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        if self.__sklearn_is_fitted__():
            twin._fitted = copy.deepcopy(self._fitted)
        return twin

    def _begin(
        self,
        X: Any,
        points: Points,
        classes: NDArray[Any],
        weights: NDArray[np.float64] | None,
    ) -> tuple[FittedOnline, Points | UserKernel]:
        """Return a learner that has seen nothing, and what it learns from."""
        found = self._kernel_of(points, weights, X=X)
        nodes, data = found.nodes, found.samples
        is_direct, n_problems = self._problems(len(classes))
        budget = self._budget(nodes)
        average = self._average()
        if budget and average:
            raise ValueError(f"average={average!r} needs budget=None, got budget={budget}")
        reading = READINGS[average]
        learner = _core.OnlineLearner(
            nodes,
            is_f32=self._is_f32(data),
            n_cols=data.shape[1],
            like=None if nodes is None else cast("Points", data),
            n_classes=len(classes),
            is_direct=is_direct,
            has_intercept=self._flag("fit_intercept"),
            reading=reading,
            budget=budget,
            strategy=self._choice("strategy", STRATEGIES),
            random=self._seeds(n_problems),
        )
        fixed_params = self._values_of(FIXED_PARAMS)
        state = FittedOnline(
            points.shape, feature_names(X), classes, learner, reading, fixed_params
        )
        if isinstance(points, CSR):
            state.sparse_type = array_type(X)
        state.note_kernel(points, found)
        return state, data

    def _resume(
        self, X: Any, points: Points, classes: NDArray[Any]
    ) -> tuple[FittedOnline, Points | UserKernel, int]:
        """Return a copy of the learner, what it learns from, and the number of its first sample."""
        old = self._fitted
        self._check_fixed_params(old)
        if old.shape[1:] != points.shape[1:] or not np.array_equal(old.classes, classes):
            raise ValueError("warm_start: the features or labels are not those of the last fit")
        if (texts_of(points) is None) != (old.texts is None):
            raise TypeError("warm_start: strings and numbers are not those of the last fit")
        refuse_other_texts(points, old.texts, "X", "in the last fit")
        if old.learner.nodes is None:
            if old.shape != points.shape:
                raise ValueError("warm_start: kernel values must be of the samples of the last fit")
            return copy.deepcopy(old), self._kernel_of(points, None).samples, 0
        points = old.given(X, points, self.kernel)
        return copy.deepcopy(old), points, 0 if _are_known(old, points) else -1

    def _values_of(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in names])

    def _check_fixed_params(self, state: FittedOnline) -> None:
        for name, old in zip(FIXED_PARAMS, state.fixed_params, strict=True):
            now = getattr(self, name)
            if not is_same(now, old):
                raise ValueError(
                    f"{name} was {brief(old)} in the first call and is {brief(now)} now; it cannot "
                    "change while learning goes on. To learn anew, call fit with warm_start=False"
                )

    def _budget(self, nodes: Nodes | None) -> int:
        if self.budget is None:
            return 0
        budget = self._integer("budget")
        if not 0 < budget < 2**31:
            raise ValueError(f"budget must be positive or None, got {budget}")
        if nodes is None:
            raise ValueError(
                "budget needs a kernel of kcore.kernels or its name; functions and "
                "kernel='precomputed' can be used without it only"
            )
        return budget

    def _is_f32(self, points: Points | UserKernel) -> bool:
        choices = {"auto": points.dtype == np.float32, "float32": True, "float64": False}
        return self._choice("precision", choices)

    def _settings(self) -> _core.PerceptronSettings:
        return _core.PerceptronSettings(
            rule=self._choice("rule", RULES),
            is_direct=False,  # this and the next are the learner's
            has_intercept=False,
            is_shuffled=self._flag("shuffle"),
            margin=self._real("margin"),
            theta=self._real("theta"),
        )

    def _new_run(self) -> _core.Run:
        return _core.Run(self._n_threads(), self._limit(), self._progress_callback())

    def _make_passes(
        self, state: FittedOnline, samples: OnlineSamples, first: int, most: int
    ) -> dict[str, Any]:
        """Make up to `most` passes, 65536 in a call of the core; the next call goes on.

        Problems of classes that are solved then make one pass more, without a mistake.
        """
        number = state.learner.describe()["n_seen"] if first < 0 else first
        run, schedule = self._new_run(), self._schedule()
        mistakes, criterion, rows = [], [], []
        while True:
            eta = schedule.steps(run.n_done, min(_MAX_PASSES, most - run.n_done))
            report = self._learn_passes(state, samples, first, eta, run)
            mistakes.append(report["mistakes"])
            criterion.append(report["criterion"])
            rows.append(report["rows"])
            run.n_done += len(eta)
            if run.n_done >= most or report["is_converged"] or report["stop"] is not None:
                break
            first = number  # samples that it has seen
        report["mistakes"], report["criterion"] = (
            np.concatenate(mistakes),
            np.concatenate(criterion),
        )
        state.rows = CacheReport.sum(rows)
        return report

    def _learn_passes(
        self,
        state: FittedOnline,
        samples: OnlineSamples,
        first: int,
        eta: NDArray[np.float64],
        run: _core.Run,
        record: FittedOnline | None = None,
    ) -> dict[str, Any]:
        """Call the core.

        `first` is the number of the first sample, -1 for the next one to be seen. `record` keeps
        what the call did: where learning changes what is kept, as a part of it.
        """
        settings = self._settings()
        is_single = self.rule == "single"
        if self.budget is not None and not is_single:
            raise ValueError("budget needs rule='single', got rule='batch'")
        is_given = isinstance(samples.points, UserKernel)
        is_online = self.budget is not None or (first < 0 and is_single)
        report: dict[str, Any]
        if is_online and not is_given:
            report = state.learner.learn(samples, first, settings, eta, run, record)
            report["rows"] = None
        else:
            cache_bytes = self._cache_bytes()
            report = state.learner.fit(samples, first, settings, eta, cache_bytes, run, record)
            report["rows"] = CacheReport(
                report["rows_computed"],
                report["rows_hit"],
                report["rows_evicted"],
                report["cache_bytes_allowed"],
                report["cache_bytes_used"],
            )
        report["stop"] = None
        if not report["is_converged"]:
            if run.is_finished:
                report["stop"] = "callback"
            elif run.is_late:
                report["stop"] = "time_limit"
        return report

    def _bound(self, state: FittedOnline, report: dict[str, Any]) -> float | None:
        nodes = state.learner.nodes
        is_known = state.is_converged and len(state.classes) == 2
        if not is_known or nodes is None or isinstance(self.eta, str) or callable(self.eta):
            return None
        if _core.CompiledKernel(nodes).definiteness != "positive":
            return None
        sq_norm = report["sq_norm"]
        if not sq_norm > SMALLEST:
            return None
        longest = report["max_diag"] + 2 * self._real("margin") / self._real("eta")
        n_terms = state.shape[0] if self.rule == "batch" else 1
        bound = theorem_bound(longest, math.sqrt(sq_norm), report["min_value"], n_terms)
        if bound is None:
            return None
        degrees = sum(int(params[0]) for name, params in nodes if name in ("polynomial", "power"))
        return round_up(bound, _off(state, degrees, int(report["mistakes"].sum())), bound)

    def _warn(self, state: FittedOnline, n_asked: int) -> None:
        """Say so where a call of `n_asked` passes ended other than without a mistake."""
        last = int(state.mistakes[-1]) if len(state.mistakes) else 0
        if state.stop is not None:
            is_late = state.stop == "time_limit"
            text = f"reached time_limit={self.time_limit}" if is_late else "was stopped"
            text += f" in pass {len(state.mistakes) + 1}"
            if len(state.mistakes):
                text += f"; the last complete pass made {last} mistakes"
            text += ". Raise time_limit." if is_late else ". The callback returned True."
        elif not state.is_converged:
            text = (
                f"ended after max_iter={n_asked} passes without separating the classes: the last "
                f"pass made {last} mistakes."
            )
            # An average takes the single rule, and no budget.
            if self.budget is None and self.rule == "single" and not self.average:
                text += " For classes that overlap, average=True is often more accurate."
        elif last:  # the batch rule
            text = (
                f"ended after {len(state.mistakes)} passes with {last} mistakes left, since the "
                f"step was shorter than theta={self.theta}."
            )
        else:
            return
        warn(f"KernelPerceptron {text}", exceptions.ConvergenceWarning)


def _off(state: FittedOnline, degrees: int, n_mistakes: int) -> float:
    """Return by how much the sum of so many steps may be off, relative to all its terms.

    A kernel value is off by its product and its power, a sum of them by its additions, in float64.
    The terms are k eta max |y|^2 together, which is at most sqrt(bound) |a| max |y|.
    """
    info = state.learner.describe()
    unit = 2.0**-24 if info["dtype"] == _core.F32 else 2.0**-53
    return 8 * ((info["n_cols"] + 4 + degrees) * unit + n_mistakes * 2.0**-53)


def _are_known(state: FittedOnline, points: Points) -> bool:
    """Say whether the points kept are the rows of these samples that they were once."""
    ids = state.learner.ids()
    own = np.flatnonzero((ids >= 0) & (ids < points.shape[0]))
    vectors = cast("Points", state.support_vectors())
    old = as_scipy(take_rows(vectors, own.astype(np.int32)))
    new = as_scipy(take_rows(points, ids[own].astype(np.int32))).astype(old.dtype, copy=False)
    if is_sparse(old) or is_sparse(new):
        from scipy.sparse import csr_array

        return bool((csr_array(old) != csr_array(new)).nnz == 0)
    return bool(np.array_equal(old, new))
