"""What the tests share: seeded data, settings of hypothesis, and a reference with error bounds."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from kcore import SVC, SVR, NuSVC, NuSVR, OneClassSVM, kernels
from kcore.exceptions import ConvergenceWarning

settings.register_profile(
    "kcore",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("kcore")

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


def quietly(model, X, y, **more):
    """Fit, whether or not it converges."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **more)


def reference(kernel, X, Z, dtype):
    """Return K(x_i, z_j) in long double, and how far a value computed in `dtype` may be from it.

    The bounds are those of rounding error analysis: u = 2^-24 or 2^-53 for each operation,
    (d + c) u for sums of d terms in any order, carried through exp, powers and combinations.
    docs/numerics.md has the table.
    """
    wide = np.longdouble
    u = wide(np.finfo(dtype).eps) / 2
    tiny = wide(np.finfo(dtype).smallest_normal)
    return _reference(kernel, np.asarray(X, wide), np.asarray(Z, wide), u, tiny)


@functools.singledispatch
def _values(kernel, X, Z, u, tiny):
    raise NotImplementedError(type(kernel))


def _reference(kernel, X, Z, u, tiny):
    """Numbers for each column stand before the formula: columns are scaled, and rounded, once."""
    gamma = getattr(kernel, "gamma", None)
    scale = getattr(kernel, "length_scale", None)
    if isinstance(gamma, tuple):
        factors = gamma if isinstance(kernel, kernels.Laplacian) else np.sqrt(gamma)
        kernel = kernel.replace(gamma=1.0)
    elif isinstance(scale, tuple) and isinstance(kernel, kernels.Matern):
        factors = [1.0 / length for length in scale]
        kernel = kernel.replace(length_scale=1.0)
    else:
        return _values(kernel, X, Z, u, tiny)
    return _values(kernel, *(_rounded(S.astype(float) * factors, u) for S in (X, Z)), u, tiny)


def _type_of(u):
    return np.float32 if u > 1e-10 else np.float64


def _rounded(X, u):
    return X.astype(_type_of(u)).astype(np.longdouble)


@_values.register
def _(kernel: kernels.Mapped, X, Z, u, tiny):
    """Of the numbers that x.z gives with the rows of the matrix: to the bit, as it is promised."""
    rows = np.array(kernel.matrix, _type_of(u))
    X, Z = (kernels.Linear()(S.astype(rows.dtype), rows).astype(np.longdouble) for S in (X, Z))
    return _reference(kernel.kernel, X, Z, u, tiny)


@_values.register
def _(kernel: kernels.Periodic, X, Z, u, tiny):
    """Points on circles: each coordinate is rounded to its type, and where it is divided again."""
    lengths, periods = (
        np.array(value if isinstance(value, tuple) else [value] * X.shape[1], np.longdouble)
        for value in (kernel.length_scale, kernel.periodicity)
    )
    angles = [2 * np.arccos(np.longdouble(-1)) * np.fmod(S, periods) / periods for S in (X, Z)]
    x, z = (np.hstack([np.cos(a) / lengths, np.sin(a) / lengths]) for a in angles)
    apart = abs(x[:, None, :] - z[None, :, :])
    distances = (apart**2).sum(axis=2)
    norms = (x**2).sum(axis=1)[:, None] + (z**2).sum(axis=1)
    off = 8 * u / np.hstack([lengths, lengths])
    rounding = ((2 * apart + off) * off).sum(axis=2)
    error = rounding + (x.shape[1] + 6) * u * (distances if x.shape[1] <= 24 else norms)
    return _exp(-distances / 2, error / 2, u, tiny)


def _dot(X, Z, u):
    return X @ Z.T, (X.shape[1] + 2) * u * (abs(X) @ abs(Z).T)


def _exp(exponent, error, u, tiny):
    value = np.exp(exponent)
    return value, value * (np.expm1(error) + 4 * u) + 2 * tiny


def _power(base, error, degree, u):
    value = base**degree
    return value, (abs(base) + error) ** degree - abs(value) + 4 * (degree + 1) * u * abs(value)


@_values.register
def _(kernel: kernels.Linear, X, Z, u, tiny):
    dot, error = _dot(X, Z, u)
    return dot, error + tiny


@_values.register
def _(kernel: kernels.RBF, X, Z, u, tiny):
    distances = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    norms = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :]
    d = X.shape[1]
    error = (d + 3) * u * kernel.gamma * (distances if d <= 24 else norms)
    return _exp(-kernel.gamma * distances, error, u, tiny)


@_values.register
def _(kernel: kernels.Laplacian, X, Z, u, tiny):
    distances = abs(X[:, None, :] - Z[None, :, :]).sum(axis=2)
    error = (X.shape[1] + 2) * u * kernel.gamma * distances
    return _exp(-kernel.gamma * distances, error, u, tiny)


@_values.register
def _(kernel: kernels.Matern, X, Z, u, tiny):
    d, scale = X.shape[1], np.sqrt(2 * kernel.nu) / kernel.length_scale
    distances = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    norms = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :]
    off = (d + 3) * u * (distances if d <= 24 else norms)
    s, low = scale * np.sqrt(distances), scale * np.sqrt(np.maximum(distances - off, 0))
    first, second = {0.5: (0, 0), 1.5: (1, 0), 2.5: (1, 1 / 3)}[kernel.nu]
    factor = 1 + first * s + second * s**2
    value, bound = _exp(-s, s - low + 4 * u * s, u, tiny)
    return factor * value, factor * bound + (10 * u * factor + factor * (s - low)) * value


def _squares(X, Z, u):
    d = X.shape[1]
    distances = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)
    norms = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :]
    return distances, (d + 3) * u * (distances if d <= 24 else norms)


@_values.register
def _(kernel: kernels.RationalQuadratic, X, Z, u, tiny):
    distances, off = _squares(X, Z, u)
    scale = np.longdouble(0.5) / kernel.alpha / np.longdouble(kernel.length_scale) ** 2
    s, error = scale * distances, scale * off + 6 * u * scale * distances
    log = np.log1p(s)
    error = error / np.maximum(1 + s - error, 1) + 6 * u * log
    return _exp(-kernel.alpha * log, kernel.alpha * error, u, tiny)


def _sizes(X, Z):
    return abs(X).sum(axis=1)[:, None] + abs(Z).sum(axis=1)[None, :]


def _chi2(X, Z, u, tiny):
    d, x, z = X.shape[1], X[:, None, :], Z[None, :, :]
    both = x + z
    terms = np.where(both > 0, (x - z) ** 2 / np.where(both > 0, both, 1), 0)
    distances = terms.sum(axis=2)
    return distances, (d + 6) * u * (distances if d <= 1024 else 2 * _sizes(X, Z)) + d * tiny


@_values.register
def _(kernel: kernels.Chi2, X, Z, u, tiny):
    distances, error = _chi2(X, Z, u, tiny)
    error = kernel.gamma * (error + 3 * u * distances)
    return _exp(-kernel.gamma * distances, error, u, tiny)


@_values.register
def _(kernel: kernels.AdditiveChi2, X, Z, u, tiny):
    distances, error = _chi2(X, Z, u, tiny)
    return -distances, error


def _intersection(X, Z, u):
    value = np.minimum(X[:, None, :], Z[None, :, :]).sum(axis=2)
    return value, (X.shape[1] + 1) * u * value


@_values.register
def _(kernel: kernels.HistogramIntersection, X, Z, u, tiny):
    return _intersection(X, Z, u)


def _ratio(part, part_error, total, total_error, u):
    divisor = np.where(total > 0, total, 1)
    value = np.where(total > 0, part / divisor, 1)
    least = np.where(total > 0, total - total_error, 1)
    return value, (part_error + abs(value) * total_error) / least + 2 * u * abs(value)


@_values.register
def _(kernel: kernels.MinMax, X, Z, u, tiny):
    part, error = _intersection(X, Z, u)
    both = _sizes(X, Z)
    return _ratio(part, error, both - part, error + (X.shape[1] + 3) * u * both, u)


@_values.register
def _(kernel: kernels.Tanimoto, X, Z, u, tiny):
    dot, error = _dot(X, Z, u)
    norms = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1)[None, :]
    value, bound = _ratio(dot, error, norms - dot, error + (X.shape[1] + 3) * u * norms, u)
    return value, bound + tiny


@_values.register
def _(kernel: kernels.Cosine, X, Z, u, tiny):
    return _reference(kernels.Linear().normalized(), X, Z, u, tiny)


@_values.register
def _(kernel: kernels.Hamming, X, Z, u, tiny):
    w = np.ones(X.shape[1]) if kernel.weights is None else np.asarray(kernel.weights)
    value = ((X[:, None, :] == Z[None, :, :]) * w.astype(X.dtype)).sum(axis=2) / w.sum()
    return value, 2 * (len(w) + 3) * u * value


@_values.register
def _(kernel: kernels.ANOVA, X, Z, u, tiny):
    squares = (X[:, None, :] - Z[None, :, :]) ** 2
    factors = 1 + np.exp(-kernel.gamma * squares)
    error = (kernel.gamma * squares * (factors - 1) * 4 * u + 4 * u) / factors + u
    value = factors.prod(axis=2)
    return value, value * np.expm1(error.sum(axis=2) + X.shape[1] * u)


@_values.register
def _(kernel: kernels.Constant, X, Z, u, tiny):
    value = np.full((len(X), len(Z)), kernel.value, dtype=X.dtype)
    return value, 2 * u * value


def _affine(kernel, X, Z, u):
    dot, error = _dot(X, Z, u)
    value = kernel.gamma * dot + kernel.coef0
    return value, kernel.gamma * error + 3 * u * (kernel.gamma * abs(dot) + abs(kernel.coef0))


@_values.register
def _(kernel: kernels.Polynomial, X, Z, u, tiny):
    value, bound = _power(*_affine(kernel, X, Z, u), kernel.degree, u)
    return value, bound + tiny


@_values.register
def _(kernel: kernels.Sigmoid, X, Z, u, tiny):
    base, error = _affine(kernel, X, Z, u)
    return np.tanh(base), error + 8 * u * abs(np.tanh(base)) + tiny


@_values.register
def _(kernel: kernels.Selected, X, Z, u, tiny):
    columns = kernel.columns
    columns = list(columns) if isinstance(columns, tuple) else columns.plain()
    return _reference(kernel.kernel, X[:, columns], Z[:, columns], u, tiny)


@_values.register
def _(kernel: kernels.Normalized, X, Z, u, tiny):
    value, error = _reference(kernel.kernel, X, Z, u, tiny)
    scales = []
    for rows in (X, Z):
        pairs = [_reference(kernel.kernel, row[None], row[None], u, tiny) for row in rows]
        own, off = (np.array([pair[k][0, 0] for pair in pairs]) for k in range(2))
        root = np.where(own > 0, 1 / np.sqrt(np.where(own > 0, own, 1)), 0)
        scales.append((root, root * (off / np.where(own > 0, own, 1) + 4 * u)))
    (x, x_off), (z, z_off) = scales
    scale = x[:, None] * z
    off = x_off[:, None] * z + x[:, None] * z_off + 2 * u * scale
    return value * scale, error * scale + (abs(value) + error) * 2 * off + tiny


@_values.register
def _(kernel: kernels.Sum, X, Z, u, tiny):
    value, error = _reference(kernel.kernels[0], X, Z, u, tiny)
    for other in kernel.kernels[1:]:
        v, e = _reference(other, X, Z, u, tiny)
        value = value + v
        error = error + e + 2 * u * abs(value)
    return value, error


@_values.register
def _(kernel: kernels.Product, X, Z, u, tiny):
    value, error = _reference(kernel.kernels[0], X, Z, u, tiny)
    for other in kernel.kernels[1:]:
        v, e = _reference(other, X, Z, u, tiny)
        error = abs(value) * e + abs(v) * error + e * error + 2 * u * abs(value * v) + tiny
        value = value * v
    return value, error


@_values.register
def _(kernel: kernels.Scaled, X, Z, u, tiny):
    value, error = _reference(kernel.kernel, X, Z, u, tiny)
    return kernel.factor * value, kernel.factor * (error + 3 * u * abs(value)) + tiny


@_values.register
def _(kernel: kernels.Power, X, Z, u, tiny):
    value, error = _reference(kernel.kernel, X, Z, u, tiny)
    value, error = _power(value, error, kernel.degree, u)
    return value, error + tiny


@_values.register
def _(kernel: kernels.PowerSeries, X, Z, u, tiny):
    base, error = _reference(kernel.kernel, X, Z, u, tiny)
    value, size = 0 * base, 0 * base  # of |base| + error with |factors|, whose sum bounds the steps
    for factor in reversed(kernel.coefficients):
        value = value * base + factor
        size = size * (abs(base) + error) + abs(factor)
    exact = sum(abs(a) * abs(base) ** i for i, a in enumerate(kernel.coefficients))
    steps = 2 * len(kernel.coefficients) + 2  # a product and its sum, a rounded factor
    return value, size - exact + steps * u * size + tiny


@_values.register
def _(kernel: kernels.Exponential, X, Z, u, tiny):
    value, error = _reference(kernel.kernel, X, Z, u, tiny)
    return _exp(value, error, u, tiny)


def assert_within_bound(kernel, X, Z, K):
    value, bound = reference(kernel, X, Z, K.dtype)
    excess = abs(K.astype(np.longdouble) - value) - bound
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    assert excess[worst] <= 0, (
        f"{kernel!r} at {worst}: {K[worst]!r}, reference {value[worst]!r}, bound {bound[worst]!r}"
    )


def assert_errors_come_out(model, kernel, X, y, n_questions):
    """Fit again with `kernel` failing at each of its first questions: the old model stays."""
    before, support = model.dual_coef_, model.support_
    error = LookupError("no such value")
    for n_answers in range(n_questions):
        n_asked = 0

        def failing(A, B, n_answers=n_answers):
            nonlocal n_asked
            n_asked += 1
            if n_asked > n_answers:
                raise error
            return kernel(A, B)

        model.set_params(kernel=failing)
        with pytest.raises(LookupError) as caught:
            model.fit(X, y)
        assert caught.value is error
        assert n_asked == n_answers + 1  # and it was not asked again
        assert model.dual_coef_ is before
        assert model.support_ is support


def assert_same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    bits = np.uint32 if a.dtype == np.float32 else np.uint64
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    differ = np.argwhere(a.view(bits) != b.view(bits))
    assert len(differ) == 0, f"{len(differ)} of {a.size} differ, the first at {differ[0]}"
