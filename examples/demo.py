"""A demonstration on generated data: XOR, three spirals, a Gram matrix, and times of kernels.

Run by ``make demo``; needs nothing but kcore.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

import kcore
from kcore import SVC, OneClassSVM
from kcore.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Sigmoid


def best_time(call: Callable[[], object], seconds: float = 0.3) -> float:
    """Return the shortest time of one call, of as many as fit into `seconds`."""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def show_xor() -> None:
    """Print the accuracy of a linear and a Gaussian kernel on XOR, and the report of a fit."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same sign", "different")
    test = rng.uniform(-1, 1, (2000, 2))
    truth = np.where(test[:, 0] * test[:, 1] > 0, "same sign", "different")

    line = SVC(kernel="linear", C=10).fit(X, y)
    model = SVC(kernel="rbf", C=10).fit(X, y)
    print("XOR: do both coordinates have the same sign?  Accuracy on 2000 new points:\n")
    print(f"    linear kernel    {line.score(test, truth):6.1%}  (no better than a guess)")
    print(f"    Gaussian kernel  {model.score(test, truth):6.1%}, margin {model.margin_:.4f}")
    print("\nThe report of the second fit: no solution is better by more than the gap.\n")
    print_indented(repr(model.fit_report_))


def show_spirals(n: int = 600) -> None:
    """Draw the regions of three spirals, where a one-class SVM finds samples."""
    rng = np.random.default_rng(1)
    angle = np.sqrt(rng.uniform(0.02, 1, n)) * 3 * np.pi
    label = np.arange(n) % 3
    turn = angle + label * 2 * np.pi / 3
    X = angle[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    X += 0.25 * rng.normal(size=X.shape)
    model = SVC(gamma=0.5, C=10).fit(X, label)
    inside = OneClassSVM(gamma=0.5, nu=0.1).fit(X)
    x, y = np.linspace(-10, 10, 61), np.linspace(-10, 10, 29)
    grid = np.array([(a, b) for b in y[::-1] for a in x])
    letters = np.array(list("abc"))[model.predict(grid)]
    letters[inside.predict(grid) < 0] = " "
    print(
        f"\nThe classes of three spirals ({n} points), drawn where a one-class SVM finds samples:\n"
    )
    print_indented("\n".join("".join(row) for row in letters.reshape(len(y), len(x))))
    report = model.fit_report_
    print(f"\n    {report.n_support} support vectors, {report.n_iter} steps for 3 pairs of classes")
    print(f"    in {1e3 * report.seconds:.1f} ms, gap {report.relative_gap:.1e} of the objective")


def print_indented(text: str) -> None:
    for line in text.splitlines():
        print(f"    {line}")


def show_gram() -> None:
    """Print a Gram matrix of two clusters, which has two blocks."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.4, (3, 2)), rng.normal(2, 0.4, (3, 2))])
    kernel = RBF(gamma=0.5)
    print(f"\nTwo clusters of three points are two blocks of {kernel}(X):\n")
    for row in kernel(X):
        print("   ", " ".join(f"{value:6.3f}" for value in row))

    combined = 0.5 * kernel + Linear() ** 2
    print(f"\nA combined kernel: {combined}")
    print("    has the diagonal", combined.diag(X).round(3))


def show_times(n: int = 2000, d: int = 50) -> None:
    """Print the time of K(X, Z) for each kernel, dtype and storage."""
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    X_csr = sp.random_array((n, 20 * d), density=0.01, format="csr", rng=rng)
    Z_csr = sp.random_array((n, 20 * d), density=0.01, format="csr", rng=rng)
    kernels: list[Kernel] = [
        Linear(),
        RBF(gamma=1 / d),
        Polynomial(degree=3, gamma=1 / d, coef0=1.0),
        Sigmoid(gamma=1 / d, coef0=0.0),
        Laplacian(gamma=1 / d),
    ]
    print(f"\nMilliseconds for the {n} x {n} matrix K(X, Z), {kcore.get_num_threads()} threads:\n")
    print(f"    {'kernel':12} {'float32':>9} {'float64':>9} {'K(X, X)':>9} {'CSR':>9}")
    X_f32, Z_f32 = X.astype(np.float32), Z.astype(np.float32)
    out, out_f32 = np.empty((n, n)), np.empty((n, n), dtype=np.float32)
    for kernel in kernels:
        times = [
            best_time(partial(kernel, X_f32, Z_f32, out=out_f32)),
            best_time(partial(kernel, X, Z, out=out)),
            best_time(partial(kernel, X, out=out)),
            best_time(partial(kernel, X_csr, Z_csr, out=out)),
        ]
        name = type(kernel).__name__
        print(f"    {name:12}", " ".join(f"{1e3 * seconds:9.1f}" for seconds in times))
    print(f"\n    {d} columns dense, {20 * d} columns with 1 % nonzeros as CSR (float64)")


if __name__ == "__main__":
    print(f"kcore {kcore.__version__}, instruction set {kcore.isa_name()}\n")
    show_xor()
    show_spirals()
    show_gram()
    show_times()
