"""A drawing of functions of a kernel's space: sums of sections K(x, .), and what a norm costs.

On the left, a function of five terms and the sections that it is a sum of. In the middle, support
vector regression: its function is the sum of sections at the support vectors, and the few that
decide at one place are drawn. On the right, functions of the same data for different C: a larger
norm buys a smaller error.

    python examples/rkhs.py --output rkhs.png

The picture needs matplotlib (pip install matplotlib); the numbers are printed in any case.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kcore.kernels import RBF
from kcore.rkhs import Function
from kcore.svm import SVR

Array = NDArray[np.float64]
KERNEL = RBF(gamma=2.0)
GRID = np.linspace(-3.5, 3.5, 401)[:, None]
WHERE = 0.6  # the place whose contributions are drawn
PENALTIES = [0.03, 0.3, 30.0]


def five_terms() -> Function:
    """Return a function of five sections."""
    return Function(
        KERNEL, np.array([[-2.4], [-1.0], [-0.4], [1.1], [2.3]]), [0.9, 1.2, -1.6, 1, -0.6]
    )


def measurements(n: int = 80, seed: int = 1) -> tuple[Array, Array]:
    """Return places on a line and noisy values there."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3, 3, n))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.4 * X[:, 0] + 0.2 * rng.standard_normal(n)


def print_laws(f: Function) -> None:
    """Show that sections reproduce values, and what the inner product says of them."""
    x = np.array([0.3])
    section = KERNEL.section(x)
    print(f)
    print(f"  f(0.3) = {f(x[None])[0]:.12f}, <K(0.3, .), f> = {section @ f:.12f}")
    twice = f + f - 2 * section
    print(f"  f + f - 2 K(0.3, .) has {len(twice)} terms, merged {len(twice.merged())}")
    print(f"  |f| = {f.norm():.4f}, |f - K(0.3, .)| = {f.distance(section):.4f}\n")


def print_model(model: SVR, X: Array, y: Array) -> None:
    """Show the function of a model, and which samples decide at one place."""
    f = model.function_
    print(f"SVR(C={model.C:g}): {f}")
    print(f"  w'w of the certificate {model.fit_report_.norm**2:.6f}, <f, f> {f @ f:.6f}")
    samples, terms = model.contributions([[WHERE]], top=4)
    print(f"  at {WHERE:g}: {model.predict([[WHERE]])[0]:+.4f}, of which")
    for sample, term in zip(samples[0], terms[0], strict=True):
        print(f"    {term:+.4f} by sample {sample} at {X[sample, 0]:+.3f}, y = {y[sample]:+.3f}")


def draw(f: Function, models: list[SVR], X: Array, y: Array, output: Path | None) -> None:
    """Draw all three."""
    import matplotlib

    if output is not None:
        matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    draw_sections(axes[0], f)
    draw_contributions(axes[1], models[1], X, y)
    draw_norms(axes[2], models, X, y)
    for axis in axes:
        axis.axhline(0, color="black", lw=0.6, zorder=0)
        axis.set(xlabel="x", xlim=(GRID[0, 0], GRID[-1, 0]))
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="upper left", fontsize="small", frameon=False)
    if output is None:
        pyplot.show()
    else:
        figure.savefig(output, dpi=150)
        print(f"\nwritten to {output}")


def draw_sections(axis: Any, f: Function) -> None:
    """Draw a function, and each of its terms."""
    points, coefficients = f.points[:, 0], f.coefficients
    for k, (x, a) in enumerate(zip(points, coefficients, strict=True)):
        term = a * KERNEL.section([x])
        axis.fill_between(GRID[:, 0], term(GRID), color=f"C{k}", alpha=0.15, lw=0)
        axis.plot(GRID[:, 0], term(GRID), color=f"C{k}", lw=1)
        axis.plot([x], [a], "o", color=f"C{k}", ms=4)
    axis.plot(GRID[:, 0], f(GRID), color="black", lw=2, label=r"$f = \sum_i a_i K(x_i, \cdot)$")
    axis.plot([], [], "o-", color="gray", lw=1, ms=4, label=r"terms $a_i K(x_i, \cdot)$")
    axis.set(title=f"A function of five sections, |f| = {f.norm():.2f}", ylim=(-2.0, 2.2))


def draw_contributions(axis: Any, model: SVR, X: Array, y: Array) -> None:
    """Draw a regression, and the terms that decide at one place."""
    samples, terms = model.contributions([[WHERE]], top=6)
    coefficients = np.zeros(len(X))
    coefficients[model.support_] = model.dual_coef_[0]
    axis.plot(X[:, 0], y, ".", color="silver", label="samples")
    for rank, sample in enumerate(samples[0]):
        term = float(coefficients[sample]) * KERNEL.section(X[sample])
        label = "largest terms there" if rank == 0 else None
        axis.plot(GRID[:, 0], term(GRID), color="C1", lw=1, label=label)
        axis.plot(X[sample, 0], y[sample], "o", color="C1", ms=5)
    axis.plot(GRID[:, 0], model.predict(GRID), color="C0", lw=2, label=r"SVR: $f(x) + b$")
    axis.axvline(WHERE, color="C1", ls=":", lw=1)
    share = abs(terms[0]).sum() / abs(model.contributions([[WHERE]])[1]).sum()
    axis.set(title=f"At x = {WHERE:g}, six samples have {share:.0%} of all terms", ylim=(-2.0, 3.0))


def draw_norms(axis: Any, models: list[SVR], X: Array, y: Array) -> None:
    """Draw one function for each C, with its norm."""
    axis.plot(X[:, 0], y, ".", color="silver")
    for k, model in enumerate(models):
        label = f"C = {model.C:g}: |f| = {model.function_.norm():.2f}"
        axis.plot(GRID[:, 0], model.predict(GRID), color=f"C{k}", lw=2, label=label)
    axis.set(title="A larger norm follows the samples", ylim=(-2.0, 3.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="file for the picture; else it is shown")
    args = parser.parse_args()
    f = five_terms()
    print_laws(f)
    X, y = measurements()
    models = [SVR(C=C, epsilon=0.1, kernel=KERNEL).fit(X, y) for C in PENALTIES]
    print_model(models[1], X, y)
    try:
        draw(f, models, X, y, args.output)
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise SystemExit("\nno picture: matplotlib is missing (pip install matplotlib)") from None


if __name__ == "__main__":
    main()
