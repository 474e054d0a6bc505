"""What a solution of an SVM problem is worth, recomputed from the definitions in float64.

Neutral: it knows kernel matrices, coefficients and intercepts, and not how they were found. Each
formulation is written down once as its primal objective and once as its dual problem,

    maximise  t'b - 1/2 b'K b - epsilon sum |b|,   lo <= b <= hi,   sums of groups fixed,

where b are signed coefficients of the decision function f(x) = sum b_i K(x_i, x) + intercept. The
coefficients of nu-SVC come divided by r, as libsvm and kcore give them; the audit finds r from the
sum that they must have. Its violations are those of the function that was divided by r.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Audit:
    """The numbers of a solution.

    ``primal``, ``dual``: objectives; ``gap`` their difference; ``violation``: of the optimality
    conditions, the largest up-value minus the least low-value over groups; ``box``: by how much
    coefficients leave their bounds; ``sums``: by how much sums of groups are off.
    """

    primal: float
    dual: float
    violation: float
    box: float
    sums: float

    @property
    def gap(self):
        return self.primal - self.dual


@dataclass(frozen=True)
class Problem:
    """One formulation with its data; `coef` is what `audit` is given, for all samples."""

    K: np.ndarray
    t: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    groups: list  # of (mask of the samples whose coefficients add up, sum)
    epsilon: float
    primal: object  # function of f(x_i) without intercept, |w|^2 and intercept
    is_halved: bool = False  # nu-SVR: positive and negative parts have a multiplier each
    scale: float = 1.0  # nu-SVC: r, by which violations are divided

    def dual(self, b):
        return self.t @ b - 0.5 * b @ self.K @ b - self.epsilon * abs(b).sum()

    def audit(self, b, intercept):
        values = self.K @ b
        norm = b @ values
        return Audit(
            primal=self.primal(values, norm, intercept),
            dual=self.dual(b),
            violation=self._violations(b, self.t - values),
            box=float(max(0, (self.lo - b).max(), (b - self.hi).max())),
            sums=max(abs(b[mask].sum() - total) for mask, total in self.groups),
        )

    def _violations(self, b, grad):
        if self.is_halved:
            upper = spread_of(grad, b < self.hi, b > 0)
            return max(upper, spread_of(grad, b < 0, b > self.lo))
        return max(self._violation(b, grad, mask) for mask, _ in self.groups) / self.scale

    def _violation(self, b, grad, mask):
        """phi' is epsilon times the side of the move."""
        up = np.where(b >= 0, grad - self.epsilon, grad + self.epsilon)
        low = np.where(b > 0, grad - self.epsilon, grad + self.epsilon)
        rises, falls = mask & (b < self.hi), mask & (b > self.lo)
        if not rises.any() or not falls.any():
            return -np.inf
        return float(up[rises].max() - low[falls].min())


def spread_of(grad, rises, falls):
    """Largest value of what can rise minus the least of what can fall."""
    return float(grad[rises].max() - grad[falls].min()) if rises.any() and falls.any() else -np.inf


def c_svc(K, y, C):
    """y is +-1; C is a bound for each sample."""
    C = np.broadcast_to(np.asarray(C, float), y.shape)

    def primal(values, norm, intercept):
        return 0.5 * norm + C @ np.maximum(0, 1 - y * (values + intercept))

    everywhere = np.ones(len(y), bool)
    return Problem(
        K, y.astype(float), np.where(y > 0, 0, -C), np.where(y > 0, C, 0), [(everywhere, 0.0)], 0.0,
        primal,
    )  # fmt: skip


def eps_svr(K, y, C, epsilon):
    C = np.broadcast_to(np.asarray(C, float), y.shape)

    def primal(values, norm, intercept):
        return 0.5 * norm + C @ np.maximum(0, abs(values + intercept - y) - epsilon)

    everywhere = np.ones(len(y), bool)
    return Problem(K, y, -C, C, [(everywhere, 0.0)], epsilon, primal)


def one_class(K, nu, weights):
    def primal(values, norm, intercept):
        rho = -intercept
        return 0.5 * norm - nu * weights.sum() * rho + weights @ np.maximum(0, rho - values)

    zero, everywhere = np.zeros(len(K)), np.ones(len(K), bool)
    return Problem(K, zero, zero, weights, [(everywhere, nu * weights.sum())], 0.0, primal)


def nu_svc(K, y, nu, weights, scale=1.0):
    """Of coefficients and intercept multiplied by r, which is `scale`: see `unscale`."""
    total = nu * weights.sum()

    def primal(values, norm, intercept):
        margins = y * (values + intercept)
        # r is free in the primal problem: the best is at a margin.
        slack = np.maximum(0, margins[:, None] - margins[None, :])  # of sample j where r = margin i
        return 0.5 * norm + (weights @ slack.T - total * margins).min()

    zero = np.zeros(len(y))
    return Problem(
        K, zero, np.where(y > 0, 0, -weights), np.where(y > 0, weights, 0),
        [(y > 0, total / 2), (y < 0, -total / 2)], 0.0, primal, scale=scale,
    )  # fmt: skip


def scale_of(b, nu, weights):
    """Return the r by which the coefficients of nu-SVC were divided."""
    return nu * weights.sum() / abs(b).sum()


def unscale(b, intercept, nu, weights):
    """Return coefficients and intercept of nu-SVC as its problem has them."""
    r = scale_of(b, nu, weights)
    unscaled = b * r
    # The product of two rounded numbers misses a bound that one of them met.
    at_bound = abs(abs(unscaled) - weights) <= 1e-13 * weights
    return np.where(at_bound, np.sign(b) * weights, unscaled), intercept * r


def nu_svr(K, y, nu, C):
    """The two halves are told apart by sign, which they are where the tube is open."""
    C = np.broadcast_to(np.asarray(C, float), y.shape)
    total = nu * C.sum()

    def primal(values, norm, intercept):
        errors = abs(values + intercept - y)
        # epsilon is free in the primal problem: the best is 0 or at an error.
        tubes = np.append(errors, 0)
        slack = np.maximum(0, errors[None, :] - tubes[:, None])
        return 0.5 * norm + (slack @ C + total * tubes).min()

    everywhere = np.ones(len(y), bool)
    return Problem(K, y, -C, C, [(everywhere, 0.0)], 0.0, primal, is_halved=True)


# ---- Kernels, from the definitions


def kernel_matrix(name, X, Z, gamma=1.0, degree=3, coef0=0.0):
    """K(x_i, z_j) in float64."""
    X, Z = np.asarray(X, np.float64), np.asarray(Z, np.float64)
    dots = X @ Z.T
    if name == "linear":
        return dots
    if name == "poly":
        return (gamma * dots + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(gamma * dots + coef0)
    if name == "rbf":
        return np.exp(-gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2))
    if name == "laplacian":
        return np.exp(-gamma * abs(X[:, None, :] - Z[None, :, :]).sum(axis=2))
    raise ValueError(name)


# ---- Coefficients of fitted models


def spread(model, n):
    """Coefficients of a model with one problem, for all samples."""
    b = np.zeros(n)
    b[model.support_] = dense(model.dual_coef_)[0]
    return b


def pairs(model, codes):
    """Of one-vs-one: (i, j, samples, coefficients with i as +1, intercept) of each pair."""
    n_classes = len(model.classes_)
    coef = dense(model.dual_coef_)
    of_class = codes[model.support_]
    number = 0
    for i in range(n_classes):
        for j in range(i + 1, n_classes):
            b = np.zeros(len(codes))
            of_i, of_j = of_class == i, of_class == j
            b[model.support_[of_i]] = coef[j - 1, of_i]
            b[model.support_[of_j]] = coef[i, of_j]
            samples = np.flatnonzero((codes == i) | (codes == j))
            sign = -1.0 if n_classes == 2 else 1.0  # of two classes, the second is +1
            yield i, j, samples, sign * b[samples], sign * model.intercept_[number]
            number += 1


def rests(model, codes):
    """Of one-vs-rest: the same, with None for j and all samples; the class is +1."""
    coef, everywhere = dense(model.dual_coef_), np.arange(len(codes))
    for i in range(len(model.classes_)):
        b = np.zeros(len(codes))
        b[model.support_] = coef[i]
        yield i, None, everywhere, b, model.intercept_[i]


def dense(coef):
    """Return coefficients as an array: those of sparse fits are sparse."""
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
