"""Python functions as kernels of a perceptron."""

import numpy as np
import pytest

from kcore.kernels import RBF
from kcore.perceptron import KernelPerceptron

pytestmark = pytest.mark.filterwarnings("ignore::kcore.exceptions.ConvergenceWarning")

KERNEL = RBF(0.4)


def function(A, B):
    return KERNEL(A, B)


def test_a_function_predicts_where_all_samples_were_mistakes_in_another_order(rng):
    X = rng.standard_normal((20, 4))
    y = np.arange(20) % 2
    late = np.arange(20) >= 10
    models = [
        KernelPerceptron(kernel, margin=10.0, max_iter=1, warm_start=True)
        for kernel in (function, KERNEL)
    ]
    for model in models:
        model.fit(X, y, sample_weight=late.astype(float))
        model.fit(X, y)
        assert model.support_.tolist() == [*range(10, 20), *range(10)]
    called, plain = (model.decision_function(X) for model in models)
    np.testing.assert_allclose(called, plain, atol=1e-10)
