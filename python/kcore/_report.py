"""What a fit says of itself: the certificate of its result, and what it cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from kcore import _core


@dataclass(frozen=True, repr=False)
class FitReport:
    """The certificate of a fit and its cost; one for each problem, and one for the whole.

    In the whole, ``stop`` is that of the first problem that did not converge, objectives, gap and
    counts are sums, and ``violation`` is the largest.

    Attributes
    ----------
    stop : str
        Why the solver ended: ``'converged'``, ``'max_iter'``, ``'time_limit'``, ``'stopped'`` (by
        the callback), ``'stalled'`` or, of `NuSVC`, ``'no_margin'``.
    tol : float
        The largest violation that counts as converged.
    primal, dual, gap : float
        The objectives, recomputed in float64 after the last step, and their difference: no
        solution is better than this one by more than ``gap``. NaN, as are the next two, where a
        time limit left no time to compute them.
    violation : float
        The largest violation of the optimality conditions over all variables, in units of the
        decision function.
    norm : float
        Norm of the decision function in feature space, 1 / margin.
    epsilon : float
        Half width of the tube of a regression: given, found, or with an infinite C, kept.
    precision : str
        Type of the kernel values: ``'float32'`` or ``'float64'``; ``'mixed'`` where a solution
        found with the former was refined with the latter.
    n_samples, n_support, n_bounded : int
        Samples; those with a coefficient; coefficients at their bound.
    path : str
        The methods that ran, one after the other: ``'pairs'`` (over all samples), ``'blocks 3'``
        (working sets, and how many), ``'greedy 412 rounds'``; ``'mixed'`` where problems differ.
    n_iter, n_sets, n_rounds : int
        Steps; working sets and greedy rounds in which they were made.
    rows_computed, rows_hit, rows_evicted : int
        Kernel rows that were computed, found in the cache, dropped from it.
    values_computed : int
        Kernel values.
    cache_bytes_allowed, cache_bytes_used : int
        The cache of kernel rows.
    peak_bytes : int
        The most that the core held at once for this fit, and for others that ran at the same time.
    seconds, seconds_pack, seconds_solve, seconds_model : float
        Of the whole call, and of its parts.
    seconds_rows : float
        Of packing and solving: computing kernel values and adding rows to the gradient, summed
        over problems that are solved side by side.
    n_zero_samples : int
        Samples that a normalized kernel makes 0 against every other, since their K(x, x) is 0;
        of the whole.
    problems : tuple of FitReport
        The problems, where there is more than one.
    """

    stop: str
    tol: float
    primal: float
    dual: float
    gap: float
    violation: float
    norm: float
    epsilon: float
    precision: str
    n_samples: int
    n_support: int
    n_bounded: int
    n_iter: int
    path: str
    n_sets: int
    n_rounds: int
    rows_computed: int
    rows_hit: int
    rows_evicted: int
    values_computed: int
    cache_bytes_allowed: int
    cache_bytes_used: int
    peak_bytes: int
    seconds: float
    seconds_rows: float
    seconds_pack: float
    seconds_solve: float
    seconds_model: float
    n_zero_samples: int = 0
    problems: tuple[FitReport, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether every problem reached its tolerance."""
        return self.stop == "converged"

    @property
    def relative_gap(self) -> float:
        """The gap as a part of the objective."""
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if scale != 0 else 0.0

    @property
    def hit_rate(self) -> float:
        """The part of the wanted kernel rows that was in the cache."""
        wanted = self.rows_computed + self.rows_hit
        return self.rows_hit / wanted if wanted else 0.0

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), *_table(self.problems)])

    @property
    def is_certified(self) -> bool:
        """Whether objectives, gap and violation were computed."""
        return not math.isnan(self.violation)

    def summary(self) -> str:
        """Return how the fit ended, in a line."""
        return (
            f"{self.stop} in {_seconds(self.seconds)}: {self._violation()}, "
            f"{self.n_support} support vectors of {self.n_samples} samples"
        )

    def _lines(self) -> list[str]:
        norm = f", |w| = {self.norm:.6g}" if self.is_certified else ""
        n_zeros = self.n_zero_samples
        zeros = f"  kernel     {n_zeros} samples are normalized to 0: their K(x, x) is 0"
        return [
            f"{self.stop} in {_seconds(self.seconds)}: {self._violation()}",
            f"  objective  {self._objective()}",
            f"  model      {self.n_support} support vectors of {self.n_samples} samples, "
            f"{self.n_bounded} coefficients at the bound{norm}",
            *([zeros] if n_zeros else []),
            f"  work       {self._work()}, {self.values_computed} kernel values ({self.precision})",
            f"  rows       {self._rows()}",
            f"  memory     {_bytes(self.peak_bytes)} at the peak",
            f"  time       pack {_seconds(self.seconds_pack)}, "
            f"solve {_seconds(self.seconds_solve)}, model {_seconds(self.seconds_model)}; "
            f"of these, kernel rows {_seconds(self.seconds_rows)}",
        ]

    def _violation(self) -> str:
        if not self.is_certified:
            return "largest violation not computed, there was no time left"
        sign = "<" if self.violation < self.tol else ">="
        return f"largest violation {self.violation:.3g} {sign} tol {self.tol:g}"

    def _objective(self) -> str:
        if not self.is_certified:
            return "not computed"
        return (
            f"primal {self.primal:.10g}, dual {self.dual:.10g}, "
            f"gap {self.gap:.3g} ({self.relative_gap:.1e} relative)"
        )

    def _work(self) -> str:
        if not self.n_iter and not self.converged:
            return "no step was made: the model is the start"
        return f"{self.n_iter} steps ({self.path})"

    def _rows(self) -> str:
        if not self.rows_computed and not self.rows_hit:
            return "none: the whole kernel matrix was in memory" if self.values_computed else "none"
        return (
            f"{self.rows_computed} computed, {self.rows_hit} found ({self.hit_rate:.1%}), "
            f"{self.rows_evicted} evicted; "
            f"cache {_bytes(self.cache_bytes_used)} of {_bytes(self.cache_bytes_allowed)}"
        )


def make_report(
    total: dict[str, Any], problems: list[dict[str, Any]], tol: float, n_samples: int
) -> FitReport:
    """Return the report on a fit, from what the core filled in."""
    parts = tuple(_make(one, tol, n_samples) for one in problems) if len(problems) > 1 else ()
    return _make(total, tol, n_samples, parts)


_DTYPES = {_core.F32: "float32", _core.F64: "float64"}
_NAMES = {field.name for field in fields(FitReport)}


def _make(
    info: dict[str, Any], tol: float, n_samples: int, problems: tuple[FitReport, ...] = ()
) -> FitReport:
    values = {name: value for name, value in info.items() if name in _NAMES}
    values["stop"] = _core.stop_name(info["stop"])
    values["path"] = info["path"].decode()
    is_mixed = info["n_refined"] > 0
    values["precision"] = "mixed" if is_mixed else _DTYPES[info["dtype"]]
    return FitReport(tol=tol, n_samples=n_samples, problems=problems, **values)


_MAX_PROBLEMS = 12


def _table(problems: tuple[FitReport, ...]) -> list[str]:
    if not problems:
        return []
    lines = [f"  {'problem':>7} {'stop':>10} {'steps':>9} {'SV':>7} {'dual':>15} {'gap':>9}"]
    for k, one in enumerate(problems[:_MAX_PROBLEMS]):
        lines.append(
            f"  {k:>7} {one.stop:>10} {one.n_iter:>9} {one.n_support:>7} {one.dual:>15.8g} "
            f"{one.gap:>9.2g}"
        )
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"  ... {len(problems) - _MAX_PROBLEMS} more in .problems")
    return lines


def _seconds(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{1e6 * seconds:.0f} us"
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _bytes(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "B" else f"{n_bytes} B"
        size /= 1024
    return f"{size:.3g} GiB"
