"""The door to the C core; see _core.pyx."""

from collections.abc import Callable
from typing import Any, Final, Literal, NoReturn, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from kcore._kernelized import UserKernel
from kcore._points import AnyPoints, Float, Points
from kcore._progress import ProgressCallback
from kcore._rules import Samples

_KernelFunction: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
_Nodes: TypeAlias = list[tuple[str, tuple[Any, ...]]]

F32: Final = 1
F64: Final = 2

__test__: dict[str, str]

@final
class Context: ...

@final
class KernelPart:
    def __new__(cls, name: str, params: tuple[Any, ...], stack: list[KernelPart]) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

def leaves() -> list[tuple[str, str, list[tuple[str, str, float, str]]]]: ...

@final
class CompiledKernel:
    def __new__(cls, nodes: _Nodes) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    @property
    def definiteness(self) -> Literal["positive", "conditional", "indefinite"]: ...

def version() -> str: ...
def isa_name() -> str: ...
def usable_cpus() -> int: ...
def threads() -> int: ...
def set_threads(n_threads: int) -> None: ...
def memory() -> tuple[int, int]: ...
def trim_memory() -> None: ...
def check_points(points: AnyPoints, name: bytes) -> None: ...
def gram(
    kernel: CompiledKernel,
    x: AnyPoints,
    z: AnyPoints | None,
    out: NDArray[Float] | None,
    n_threads: int,
) -> NDArray[Float]: ...
def diag(
    kernel: CompiledKernel, x: AnyPoints, out: NDArray[Float] | None, n_threads: int
) -> NDArray[Float]: ...
def kernel_params(kernel: CompiledKernel) -> list[tuple[int, str, str, int]]: ...
def gradient(
    kernel: CompiledKernel,
    x: AnyPoints,
    z: AnyPoints | None,
    weights: NDArray[Float],
    n_threads: int,
) -> NDArray[np.float64]: ...

@final
class Run:
    n_done: int
    @property
    def is_finished(self) -> bool: ...
    @property
    def is_late(self) -> bool: ...
    def __new__(
        cls, n_threads: int, time_limit: float, callback: ProgressCallback | None
    ) -> Self: ...
    def count(self, n_passes: int, objective: float) -> None: ...

def variance(points: Points, weights: NDArray[np.float64] | None, run: Run) -> float | None: ...
def encode(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]: ...
def balanced_weights(
    codes: NDArray[np.int32], n_classes: int, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]: ...

C_SVC: Final = 1
NU_SVC: Final = 2
EPS_SVR: Final = 3
NU_SVR: Final = 4
ONE_CLASS: Final = 5
ONE_VS_ONE: Final = 1
ONE_VS_REST: Final = 2
PRECISION_AUTO: Final = 0
PRECISION_F32: Final = 1
PRECISION_F64: Final = 2
STOP_CONVERGED: Final = 0

@final
class KernelFunction: ...

@final
class Model:
    def __reduce__(self) -> NoReturn: ...
    def describe(self) -> dict[str, int]: ...
    def support(self) -> NDArray[np.int32]: ...
    def class_counts(self) -> NDArray[np.int32]: ...
    def intercepts(self) -> NDArray[np.float64]: ...
    def coef(self) -> NDArray[np.float64]: ...
    def vectors(self) -> list[NDArray[np.float64] | tuple[NDArray[Any], ...]]: ...
    def linear(self) -> NDArray[np.float64]: ...
    def decide_plain(
        self, x: object, by_class: bool, n_threads: int
    ) -> NDArray[np.float64] | None: ...
    def decide(self, points: Points, by_class: bool, n_threads: int) -> NDArray[np.float64]: ...
    def classify_plain(
        self, x: object, classes: NDArray[Any] | None, break_ties: bool, n_threads: int
    ) -> NDArray[Any] | None: ...
    def classify(
        self, points: Points, classes: NDArray[Any] | None, break_ties: bool, n_threads: int
    ) -> NDArray[Any]: ...

@final
class Function:
    def __reduce__(self) -> NoReturn: ...
    def describe(self) -> dict[str, int]: ...
    def coef(self) -> NDArray[np.float64]: ...
    def vectors(self) -> list[NDArray[np.float64] | tuple[NDArray[Any], ...]]: ...
    def output(self, number: int) -> Function: ...
    def combine(self, a: float, b: float, other: Function | None) -> Function: ...
    def merged(self) -> Function: ...
    def inner(self, other: Function) -> float: ...
    def evaluate(self, points: AnyPoints, n_threads: int) -> NDArray[np.float64]: ...
    def contributions(
        self, points: AnyPoints, top: int, n_threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...

def model_function(model: Model) -> Function: ...
def online_function(learner: OnlineLearner, reading: int) -> Function: ...
def make_function(
    kernel: CompiledKernel, points: AnyPoints, is_f32: bool, coef: NDArray[np.float64]
) -> Function: ...

@final
class UserFunction:
    def __new__(cls, callback: Callable[..., object]) -> Self: ...

@final
class FitInfo:
    def __new__(cls, n_problems: int) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    @property
    def stop(self) -> int: ...
    def total(self) -> dict[str, Any]: ...
    def problems(self) -> list[dict[str, Any]]: ...

def settings() -> dict[str, tuple[str, float, float, float, bool, str]]: ...
def stop_name(stop: int) -> str: ...
def make_model(
    info: dict[str, int],
    kernel: CompiledKernel | None,
    points: Points | None,
    support: NDArray[np.int32],
    class_counts: NDArray[np.int32],
    coef: NDArray[np.float64],
    intercepts: NDArray[np.float64],
) -> Model: ...

@final
class SVMSettings:
    def __new__(
        cls,
        *,
        svm_type: int,
        multiclass: int,
        precision: int,
        shrinking: bool,
        tol: float,
        cache_bytes: int,
        max_iter: int,
        C: float | None,
        nu: float | None,
        epsilon: float | None,
    ) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    def coef_rows(self, n_classes: int) -> int: ...

@final
class SVMData:
    def __new__(
        cls,
        *,
        samples: Points | _KernelFunction,
        n_samples: int,
        n_classes: int,
        codes: NDArray[np.int32] | None,
        targets: NDArray[np.float64] | None,
        weights: NDArray[np.float64] | None,
        class_weights: NDArray[np.float64] | None,
        start: NDArray[np.float64] | None,
    ) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

def fit_svm(
    kernel: CompiledKernel | None, settings: SVMSettings, data: SVMData, run: Run
) -> tuple[Model, FitInfo]: ...

# ---- Perceptrons

RULE_SINGLE: int
RULE_BATCH: int
UPDATE: np.dtype[np.void]

@final
class LinearState:
    positive: int
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    time_weighted: NDArray[np.float64] | None
    time_weighted_intercepts: NDArray[np.float64] | None
    best_weights: NDArray[np.float64] | None
    best_intercepts: NDArray[np.float64] | None
    random: NDArray[np.uint64]
    mistakes: NDArray[np.int64]
    criterion: NDArray[np.float64]
    log: NDArray[np.void] | None
    n_steps: int
    n_updates: int
    n_done: int
    is_converged: bool
    has_best: bool
    best_loss: float
    best_mistakes: int
    best_run: int
    changed_at: int
    def __new__(
        cls,
        positive: int,
        weights: NDArray[np.float64],
        intercepts: NDArray[np.float64],
        time_weighted: NDArray[np.float64] | None,
        time_weighted_intercepts: NDArray[np.float64] | None,
        best_weights: NDArray[np.float64] | None,
        best_intercepts: NDArray[np.float64] | None,
        random: NDArray[np.uint64],
    ) -> Self: ...
    def __setstate__(self, counts: tuple[int, int, int, bool, bool, float, int]) -> None: ...
    def copy(self) -> LinearState: ...

@final
class PerceptronSettings:
    def __new__(
        cls,
        *,
        rule: int,
        is_direct: bool,
        has_intercept: bool,
        is_shuffled: bool,
        margin: float,
        theta: float,
    ) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

@final
class PerceptronData:
    def __new__(cls, samples: Samples[Any]) -> Self: ...
    def __reduce__(self) -> NoReturn: ...

def perceptron_run(
    samples: Samples[Points],
    states: list[LinearState],
    settings: PerceptronSettings,
    eta: NDArray[np.float64],
    is_logged: bool,
    run: Run,
) -> None: ...
def linear_decision(
    points: Points,
    weights: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    n_threads: int,
) -> NDArray[np.float64]: ...
def perceptron_votes(
    points: Points,
    logs: list[tuple[Points | None, NDArray[np.void], int]],
    n_outputs: int,
    has_intercept: bool,
    n_threads: int,
) -> NDArray[np.float64]: ...
def perceptron_measure(
    samples: Samples[Points], positive: int, vector: NDArray[np.float64], intercept: float
) -> tuple[float, float, int]: ...

STRATEGY_OLDEST: Final = 1
STRATEGY_SMALLEST: Final = 2
STRATEGY_PROJECTION: Final = 3
STRATEGY_MERGE: Final = 4
READING_LAST: Final = 1
READING_MEAN: Final = 2
READING_VOTES: Final = 3

@final
class OnlineLearner:
    nodes: _Nodes | None
    n_cols: int
    n_outputs: int
    def __new__(
        cls,
        nodes: _Nodes | None,
        *,
        is_f32: bool,
        n_cols: int,
        like: AnyPoints | None,
        n_classes: int,
        is_direct: bool,
        has_intercept: bool,
        reading: int,
        budget: int,
        strategy: int,
        random: NDArray[np.uint64] | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def describe(self) -> dict[str, int]: ...
    def save(self) -> bytes: ...
    def learn(
        self,
        samples: Samples[Points] | Samples[UserKernel],
        first: int,
        settings: PerceptronSettings,
        eta: NDArray[np.float64],
        run: Run,
        record: SingleSampleState | None,
    ) -> dict[str, Any]: ...
    def fit(
        self,
        samples: Samples[Points] | Samples[UserKernel],
        first: int,
        settings: PerceptronSettings,
        eta: NDArray[np.float64],
        cache_bytes: int,
        run: Run,
        record: SingleSampleState | None,
    ) -> dict[str, Any]: ...
    def decide(self, points: Points, reading: int, n_threads: int) -> NDArray[np.float64]: ...
    def decide_plain(
        self, x: object, reading: int, n_threads: int
    ) -> NDArray[np.float64] | None: ...
    def ids(self) -> NDArray[np.int64]: ...
    def coef(self, reading: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def vectors(self) -> list[NDArray[np.float64] | tuple[NDArray[Any], ...]]: ...

@final
class Store:
    n_rows: int
    def __new__(
        cls,
        kernel: CompiledKernel | None,
        points: Points,
        is_f32: bool,
        cache_bytes: int,
        run: Run,
    ) -> Self: ...
    def __reduce__(self) -> NoReturn: ...
    def close(self) -> None: ...
    def describe(self) -> dict[str, Any]: ...
    def diagonal(self) -> NDArray[np.float64]: ...
    def apply(
        self,
        vectors: NDArray[np.float64],
        columns: NDArray[np.int64] | None,
        rows: NDArray[np.int64] | None,
        run: Run,
    ) -> NDArray[np.float64] | None: ...
    def gradient(
        self,
        coef: NDArray[np.float64],
        columns: NDArray[np.int64] | None,
        t: NDArray[np.float64] | None,
        rows: NDArray[np.int64] | None,
        run: Run,
    ) -> NDArray[np.float64] | None: ...
    def solve(
        self,
        *,
        rows: NDArray[np.int64] | None,
        t: NDArray[np.float64] | None,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        epsilon: float,
        n_groups: int,
        group: NDArray[np.int32] | None,
        sums: NDArray[np.float64] | None,
        start: NDArray[np.float64] | None,
        tol: float,
        max_iter: int,
        seed: int,
        run: Run,
    ) -> dict[str, Any]: ...

@disjoint_base
class SingleSampleState:
    learner: OnlineLearner
    names: NDArray[np.object_] | None
    fixed_params: tuple[Any, ...]
    labels: list[Any]
    code_of: dict[Any, int]
    checked_classes: Any
    checked_params: tuple[Any, ...] | None
    n_passes: int
    is_converged: bool
    mistakes: Any
    criterion: Any
    bound: float | None
    rows: Any
    cache: dict[str, Any]
    def learn_one(
        self, params: dict[str, Any], names: tuple[str, ...], x: object, y: object, classes: object
    ) -> bool: ...

def load_online(nodes: _Nodes | None, image: bytes) -> OnlineLearner: ...
