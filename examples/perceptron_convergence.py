"""A drawing of how the perceptron converges: mistakes, the criterion and the theorem's bound.

A gap separates two clusters. The narrower it is, the more corrections the fixed-increment rule
makes, and the more the theorem allows. The bound is drawn for the vector that the perceptron found
(``bound_``) and for the best one, that of the hard-margin support vector machine. For comparison,
the same clusters overlap: there the rule never ends, and the pocket keeps the best vector.

    python examples/perceptron_convergence.py --output convergence.png

The picture needs matplotlib (pip install matplotlib); the numbers are printed in any case.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kcore.exceptions import ConvergenceWarning
from kcore.perceptron import Perceptron, convergence_bound
from kcore.svm import SVC

Array = NDArray[np.float64]
GAPS = [2.0, 1.0, 0.5, 0.25, 0.125, 0.0625]
SHOWN = 0.0625  # the gap whose passes are drawn
RULES = ["single", "batch"]


def two_clusters(gap: float, n: int = 200, seed: int = 0) -> tuple[Array, NDArray[np.intp]]:
    """Return points on both sides of a slanted line, no closer to it than gap / 2.

    A negative gap moves them over the line: no line separates them then.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    along = rng.normal(0.0, 2.0, n)
    away = np.abs(rng.normal(0.0, 1.0, n)) + gap / 2
    direction = np.array([0.6, 0.8])
    X = np.outer(along, [-0.8, 0.6]) + np.outer(np.where(y == 1, away, -away), direction)
    return X + 4.0 * direction, y  # away from the origin, so that the intercept must be found


@dataclass
class Run:
    """A fit of separable samples and what bounds its corrections."""

    gap: float
    rule: str
    model: Perceptron
    own: float  # the bound from the vector that the perceptron found
    best: float  # from that of the hard-margin machine


def learn(gap: float, rule: str) -> Run:
    """Fit one rule on one width of the gap."""
    X, y = two_clusters(gap)
    model = Perceptron(rule=rule, max_iter=100_000).fit(X, y)
    machine = SVC(kernel="linear", C=np.inf).fit(X, y)
    best = convergence_bound(X, y, machine.coef_, machine.intercept_, rule=rule)
    assert model.bound_ is not None
    assert best is not None
    return Run(gap, rule, model, model.bound_, best)


def learn_overlapping() -> Perceptron:
    """Fit samples that no line separates, for 200 passes."""
    X, y = two_clusters(-1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Perceptron(pocket=True, max_iter=200).fit(X, y)


def print_runs(runs: list[Run], endless: Perceptron) -> None:
    """Print a line for each fit."""
    print("gap     rule    passes  corrections  bound by own vector  by the hard margin's")
    for run in runs:
        print(
            f"{run.gap:<7g} {run.rule:<7} {run.model.n_iter_:6d}  {run.model.n_updates_:11d}  "
            f"{run.own:19.0f}  {run.best:20.0f}"
        )
    print(
        f"\noverlapping: after {endless.n_iter_} passes, the last with {endless.mistakes_[-1]} "
        f"mistakes; the pocket's vector makes {endless.pocket_mistakes_}"
    )


def draw(runs: list[Run], endless: Perceptron, output: Path | None) -> None:
    """Draw mistakes, criterion, and corrections beside their bounds."""
    import matplotlib

    if output is not None:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    narrow = [run for run in runs if run.gap == SHOWN]
    draw_passes(axes[0], [(run.rule, run.model.mistakes_) for run in narrow], endless.mistakes_)
    axes[0].set(title="Mistakes of each pass", ylabel="mistakes")
    draw_passes(axes[1], [(run.rule, run.model.criterion_) for run in narrow], endless.criterion_)
    axes[1].set(title=r"Criterion $\sum_{y \in \mathcal{Y}} (-a^T y)$", ylabel=r"$J_p$")
    draw_bounds(axes[2], runs)
    if output is None:
        pyplot.show()
    else:
        figure.savefig(output, dpi=150)
        print(f"\nwritten to {output}")


def draw_passes(axis: Any, series: list[tuple[str, NDArray[Any]]], endless: NDArray[Any]) -> None:
    for name, values in series:
        axis.plot(np.arange(1, len(values) + 1), values, marker=".", label=f"{name}, gap {SHOWN:g}")
    axis.plot(np.arange(1, len(endless) + 1), endless, color="gray", lw=0.7, label="overlapping")
    axis.set(xlabel="pass", xscale="log", yscale="symlog")
    axis.set_ylim(bottom=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3, fontsize="small")


def draw_bounds(axis: Any, runs: list[Run]) -> None:
    for rule, color in zip(RULES, ["C0", "C1"], strict=True):
        mine = [run for run in runs if run.rule == rule]
        gaps = [run.gap for run in mine]
        axis.plot(gaps, [run.model.n_updates_ for run in mine], "o-", color=color, label=rule)
        axis.plot(
            gaps, [run.best for run in mine], "--", color=color, label=f"{rule}: bound, best vector"
        )
        axis.plot(
            gaps, [run.own for run in mine], ":", color=color, label=f"{rule}: bound_ of the fit"
        )
    axis.set(title="Corrections and their bounds", xlabel="gap between the classes")
    axis.set(xscale="log", yscale="log", ylabel="corrections")
    axis.invert_xaxis()
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, fontsize="small")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="file for the picture; else it is shown")
    args = parser.parse_args()
    runs = [learn(gap, rule) for rule in RULES for gap in GAPS]
    endless = learn_overlapping()
    print_runs(runs, endless)
    try:
        draw(runs, endless, args.output)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise SystemExit("\nno picture: matplotlib is missing (pip install matplotlib)") from None


if __name__ == "__main__":
    main()
