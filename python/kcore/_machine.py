"""What the fit of a support vector machine leaves behind, and what a later fit may start from."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._kernelized import Expansion, Function, Nodes
from kcore._report import FitReport, make_report
from kcore._validate import Points, as_reals, refuse_non_finite

_Numbers: TypeAlias = tuple[dict[str, Any], list[dict[str, Any]]]


class Machine(Expansion):
    """A compiled model with what it takes to use, describe and pickle it."""

    def __init__(
        self,
        shape: tuple[int, int],
        names: NDArray[np.object_] | None,
        model: _core.Model,
        nodes: Nodes | None,
        classes: NDArray[Any] | None,
        report: tuple[_core.FitInfo | _Numbers, float],
        vectors: Points | None = None,
    ) -> None:
        super().__init__(shape, names)
        self.model = model
        self.nodes = nodes  # of the kernel; None where kernel values were given
        self.classes = classes
        self.report_parts = report  # what the core filled in, and the tolerance
        self.vectors = vectors
        self.function = None
        self.is_plain = names is None and vectors is None  # prediction needs no Python
        self.sparse_type = None

    def report(self) -> FitReport:
        """Return the report on the fit."""
        info, tol = self.report_parts
        numbers = (info.total(), info.problems()) if isinstance(info, _core.FitInfo) else info
        self.report_parts = (numbers, tol)
        return make_report(*numbers, tol, self.shape[0])

    def _holder(self) -> _core.Model:
        return self.model

    def ids(self) -> NDArray[np.int32]:
        return self.model.support()

    def __reduce__(self) -> tuple[Any, ...]:
        self.report()  # makes numbers of what the core filled in
        model = self.model
        parts = (
            model.describe(),
            self.nodes,
            self.support_vectors(),
            model.support(),
            model.class_counts(),
            model.coef(),
            model.intercepts(),
        )
        return _restore, (
            self.shape, self.names, parts, self.classes, self.report_parts, self.sparse_type,
            self.function_to_pickle(),
        )  # fmt: skip


def _restore(
    shape: tuple[int, int],
    names: NDArray[np.object_] | None,
    parts: tuple[Any, ...],
    classes: NDArray[Any] | None,
    report: tuple[_Numbers, float],
    sparse_type: Any,
    function: Function | None,
) -> Machine:
    """Make a model again from its numbers."""
    info, nodes, vectors, *arrays = parts
    if nodes is None:
        model = _core.make_model(info, None, None, *arrays)
        machine = Machine(shape, names, model, None, classes, report, vectors)
    else:
        model = _core.make_model(info, _core.CompiledKernel(nodes), vectors, *arrays)
        machine = Machine(shape, names, model, nodes, classes, report)
    machine.sparse_type = sparse_type
    machine.function = function
    return machine


# ---- Where to start


def same_classes(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Say whether two fits had the same classes, or both none."""
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b))


def spread(machine: Machine, n_samples: int, n_rows: int) -> NDArray[np.float64]:
    """Return the coefficients of a model with a column for each sample."""
    support, coef = machine.model.support(), machine.model.coef()
    if len(support) and int(support.max()) >= n_samples:
        raise ValueError(
            f"init was fitted to {machine.shape[0]} samples, and sample {int(support.max())} is a "
            f"support vector; X has {n_samples} rows"
        )
    if len(coef) != n_rows:
        raise ValueError(f"init has {len(coef)} rows of coefficients, this fit has {n_rows}")
    start = np.zeros((n_rows, n_samples))
    start[:, support] = coef
    return start


def as_start(init: Any, n_samples: int, n_rows: int) -> NDArray[np.float64]:
    """Return coefficients of the caller's, checked: a row for each of a model's."""
    given = as_reals(init, "init")
    start = np.array(given, ndmin=2)
    if start.shape != (n_rows, n_samples):
        raise ValueError(
            f"init must be a fitted model or coefficients of shape ({n_rows}, {n_samples}), "
            f"got shape {given.shape}"
        )
    refuse_non_finite(start, "init", ("row", "sample"))
    return start
