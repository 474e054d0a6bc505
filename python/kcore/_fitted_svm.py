"""What the fit of a support vector machine leaves behind, and what a later fit may start from."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kcore import _core
from kcore._kernelized import Expansion, FitKernel, Nodes, as_scipy
from kcore._plain import kernel_from_plain, kernel_to_plain
from kcore._points import Points, from_plain, to_plain
from kcore._report import FitReport, make_report
from kcore._validate import as_reals, refuse_non_finite

_Numbers: TypeAlias = tuple[dict[str, Any], list[dict[str, Any]]]


class FittedSVM(Expansion):
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
        self.sparse_type = None
        self.texts = self.kept_texts = None
        self.kernel = None
        self.widths = None
        self.is_plain = names is None and vectors is None  # prediction needs no Python

    def note_kernel(self, points: Points, found: FitKernel) -> None:
        super().note_kernel(points, found)
        self.is_plain = self.is_plain and self.widths is None

    def nodes_of(self) -> Nodes | None:
        return self.nodes

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

    def in_input_type(self, array: NDArray[np.float64]) -> Any:
        """Return an array, or where the core computed with sparse samples, a sparse one."""
        return array if self.vectors is not None else as_scipy(array, self.sparse_type)

    # Pickles, and whatever else walks through what __getstate__ returns, hold arrays and numbers.

    def __getstate__(self) -> dict[str, Any]:
        self.report()  # makes numbers of what the core filled in
        model, vectors = self.model, self.support_vectors()
        return {
            "shape": self.shape,
            "names": self.names,
            "info": model.describe(),
            "nodes": self.nodes,
            "vectors": to_plain(vectors),
            "support": model.support(),
            "class_counts": model.class_counts(),
            "coef": model.coef(),
            "intercepts": model.intercepts(),
            "classes": self.classes,
            "report": self.report_parts,
            "sparse_type": self.sparse_type,
            "texts": self.texts,
            "kept_texts": self.kept_texts,
            "kernel": kernel_to_plain(self.kernel),
            "widths": self.widths,
            "function": self.function_to_pickle(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a model again from its numbers."""
        vectors = from_plain(state["vectors"])
        nodes = state["nodes"]
        is_given = nodes is None
        model = _core.make_model(
            state["info"],
            None if is_given else _core.CompiledKernel(nodes),
            None if is_given else vectors,
            state["support"],
            state["class_counts"],
            state["coef"],
            state["intercepts"],
        )
        own = vectors if is_given else None
        self.__init__(  # type: ignore[misc]  # the only other way to fill one
            state["shape"], state["names"], model, nodes, state["classes"], state["report"], own
        )
        self.sparse_type = state["sparse_type"]
        self.texts = state["texts"]
        self.kept_texts = state["kept_texts"]
        self.kernel = kernel_from_plain(state["kernel"])
        self.widths = state["widths"]
        self.is_plain = self.is_plain and self.widths is None
        self.function = state["function"]


# ---- Where to start


def same_classes(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    """Say whether two fits had the same classes, or both none."""
    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b))


def spread(fitted: FittedSVM, n_samples: int, n_rows: int) -> NDArray[np.float64]:
    """Return the coefficients of a model with a column for each sample."""
    support, coef = fitted.model.support(), fitted.model.coef()
    if len(support) and int(support.max()) >= n_samples:
        raise ValueError(
            f"init was fitted to {fitted.shape[0]} samples, and sample {int(support.max())} is a "
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
