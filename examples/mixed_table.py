"""A table of numbers and categories, trained in one expression.

Patients have an age and a dose, and belong to a ward and a blood group. Whether a treatment works
depends on the dose, on another curve in each ward. No column has to be encoded: a kernel of the
numbers and a kernel of the categories are multiplied.

    python examples/mixed_table.py --output table.png

It needs pandas and scikit-learn (pip install pandas scikit-learn), the picture matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kcore import SVC, kernels
from kcore.kernels import RBF, Hamming, Kernel, Product, Sum

NUMBERS = ["age", "dose"]
CATEGORIES = ["ward", "blood"]
WARDS = ["north", "south", "east", "west"]


def make_table(n: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return patients, and whether the treatment worked."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 4, n)
    table = pd.DataFrame({
        "age": rng.uniform(20, 80, n),
        "dose": rng.uniform(0, 10, n),
        "ward": pd.Categorical([WARDS[k] for k in ward], WARDS),
        "blood": rng.choice(["A", "B", "AB", "0"], n, p=[0.4, 0.15, 0.05, 0.4]),
    })  # fmt: skip
    best = np.array([2.0, 4.0, 6.0, 8.0])[ward] - 0.03 * (table["age"] - 50)
    worked = np.abs(table["dose"] - best) < 1.6
    return table, np.where(worked ^ (rng.random(n) < 0.03), "worked", "failed")


def candidates() -> dict[str, Kernel]:
    """Return kernels by what they say of the table."""
    numbers = RBF(gamma=[0.002, 0.4]).on(NUMBERS)
    return {
        "numbers alone": numbers,
        "numbers + categories": Sum(table=numbers, labels=Hamming().on(CATEGORIES)),
        "numbers x categories": Product(table=numbers, labels=Hamming().on(CATEGORIES)),
        "numbers x ward": Product(table=numbers, labels=Hamming().on(["ward"])),
    }


def encoded() -> Any:
    """Return what one would do without a kernel of categories: columns of zeros and ones."""
    columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), CATEGORIES))
    return make_pipeline(columns, SVC(C=10))


def accuracies(table: pd.DataFrame, y: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the accuracies of five folds for each kernel."""
    found = {
        name: cross_val_score(SVC(C=10, kernel=kernel), table, y)
        for name, kernel in candidates().items()
    }
    return {"one-hot columns, RBF": cross_val_score(encoded(), table, y), **found}


def search(table: pd.DataFrame, y: NDArray[Any]) -> GridSearchCV:
    """Look for the widths of the kernel of the numbers, by the name of its operand."""
    machine = SVC(C=10, kernel=candidates()["numbers x ward"])
    grid = {"kernel__table__kernel__gamma": [[0.0005, 0.1], [0.002, 0.4], [0.002, 1.6]]}
    return GridSearchCV(machine, grid).fit(table, y)


def draw(found: dict[str, NDArray[Any]], path: Path) -> None:
    """Draw the mean accuracy of each kernel, and those of its folds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(figsize=(8, 3.2), constrained_layout=True)
    place = np.arange(len(found))[::-1]
    means = [values.mean() for values in found.values()]
    axes.barh(place, means, color=["#b8b8b8"] + ["#2b6ca3"] * (len(found) - 1), height=0.6)
    for y, mean, values in zip(place, means, found.values(), strict=True):
        axes.plot(values, np.full(len(values), y), "|", color="black", ms=12)
        axes.text(1.005, y, f"{mean:.1%}", va="center")
    axes.set_yticks(place, list(found))
    axes.set_xlim(0.5, 1.0)
    axes.set_xlabel("accuracy of five folds (lines) and their mean")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    fig.savefig(path, dpi=120)
    print(f"drawn to {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where to draw the picture")
    args = parser.parse_args()
    table, y = make_table(600)
    print(table.head(4).to_string(), "\n")
    found = accuracies(table, y)
    for name, values in found.items():
        print(f"{name:<24}{values.mean():6.1%}  ({values.min():.1%} to {values.max():.1%})")
    best = search(table, y)
    print(f"\nthe best of a grid: {best.best_estimator_.kernel!r}, {best.best_score_:.1%}")
    parts = [candidates()["numbers alone"], Hamming().on(["ward"]), Hamming().on(["blood"])]
    weights = kernels.align(parts, table, y).weights
    print("weights of a sum of kernels, by alignment with the labels:")
    for kernel, weight in zip(parts, weights, strict=True):
        print(f"    {weight:.3f}  {kernel}")
    if args.output is not None:
        draw(found, args.output)


if __name__ == "__main__":
    main()
