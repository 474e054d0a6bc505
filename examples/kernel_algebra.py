"""Kernels made of kernels: what the seven rules do to eigenvalues, and what is no kernel.

A kernel is positive if no Gram matrix has a negative eigenvalue. Sums, products, powers and
exponentials of kernels are; a difference, or tanh, is not. The program builds such expressions,
prints what is known of each of them and why, and draws their eigenvalues on the same samples.

    python examples/kernel_algebra.py --output algebra.png

The picture needs matplotlib (pip install matplotlib); the numbers are printed in any case.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kcore
from kcore import kernels
from kcore.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid

Array = NDArray[np.float64]


def expressions() -> dict[str, Kernel]:
    """Return kernels by the rule that makes them."""
    smooth, line = RBF(gamma=0.5), Linear()
    return {
        "a leaf": smooth,
        "sum": smooth + 0.1 * line,
        "product": smooth * Polynomial(degree=2, gamma=0.2),
        "of some columns": smooth.on([0]) * RBF(gamma=2.0).on([1]),
        "of a linear map": smooth.on([[1.0, 1.0], [1.0, -1.0]]),
        "f(x) f(z) K": kernels.rank_one(lambda X: np.exp(-0.1 * (X**2).sum(axis=1))) * smooth,
        "power series": kernels.power_series(0.1 * line, [1.0, 1.0, 0.5]),
        "exp": kernels.exp(0.2 * line),
        "normalized": Polynomial(degree=3).normalized(),
        "difference": smooth - RBF(gamma=0.1),
        "tanh": Sigmoid(gamma=0.3, coef0=-1.0),
    }


def eigenvalues(kernel: Kernel, X: Array) -> Array:
    """Return the eigenvalues of the Gram matrix, largest first, in units of the largest size."""
    values = np.linalg.eigvalsh(kernel(X))[::-1]
    return np.asarray(values / np.abs(values).max())


def show(found: dict[str, Kernel], X: Array) -> None:
    """Print a table of what is said and what is found."""
    print(f"{'rule':<16}{'definiteness':<14}{'least eigenvalue':>18}   expression")
    for rule, kernel in found.items():
        check = kcore.check_psd(kernel, X)
        print(f"{rule:<16}{kernel.definiteness:<14}{check.least_eigenvalue:>18.2e}   {kernel}")
    print("\nWhy the product is positive, and the difference is not known to be:\n")
    for rule in ("product", "difference"):
        print("    " + found[rule].why().replace("\n", "\n    ") + "\n")


def draw(found: dict[str, Kernel], X: Array, path: Path) -> None:
    """Draw eigenvalues, those below zero in another colour."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(3, 4, figsize=(11, 7), sharex=True, constrained_layout=True)
    panels: Any = axes.ravel()
    for panel, (rule, kernel) in zip(panels, found.items(), strict=False):
        values = eigenvalues(kernel, X)
        place = np.arange(1, len(values) + 1)
        is_shown, is_below = values > 1e-14, values < -1e-14
        panel.semilogy(place[is_shown], values[is_shown], "o", ms=3.5, color="#2b6ca3")
        panel.semilogy(place[is_below], -values[is_below], "x", ms=5, color="#c0392b")
        panel.set_title(f"{rule}: {kernel.definiteness}", fontsize=10)
        panel.set_ylim(1e-14, 3)
        panel.grid(alpha=0.3)
    legend = panels[len(found)]
    legend.axis("off")
    legend.plot([], [], "o", color="#2b6ca3", label="positive eigenvalue")
    legend.plot([], [], "x", color="#c0392b", label="negative one, its size")
    legend.legend(loc="center", frameon=False)
    for panel in axes[-1]:
        panel.set_xlabel("number of the eigenvalue")
    fig.suptitle(f"Eigenvalues of Gram matrices of {len(X)} samples, in units of the largest")
    fig.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where to draw the picture")
    args = parser.parse_args()
    X = np.random.default_rng(0).standard_normal((60, 2))
    found = expressions()
    show(found, X)
    if args.output is not None:
        draw(found, X, args.output)


if __name__ == "__main__":
    main()
