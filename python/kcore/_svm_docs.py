"""Words that the docstrings of `kcore.svm` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_DOCS = {
    "kernel": """
        kernel : str, Kernel or callable, default='rbf'
            ``'linear'``, ``'poly'``, ``'rbf'``, ``'sigmoid'`` or ``'laplacian'`` with the
            parameters below; any kernel of `kcore.kernels`, with its own parameters;
            ``'precomputed'``: X is the matrix of kernel values; or a function of two sets of
            samples that returns such a matrix, dense or sparse, whose values must depend on their
            two samples alone. A function is slow. It is called when rows are needed, as
            ``kernel(X[rows], X[others])``, and its values are kept within `cache_size`. X may then
            be a sequence of any objects, such as strings.
        degree : int, default=3
            Degree of ``'poly'``.
        gamma : {'scale', 'auto'} or float, default='scale'
            Coefficient of all named kernels but ``'linear'``. ``'scale'``: 1 / (n_features *
            variance of X), the variance weighted by `sample_weight`, or taken as 1 where
            `time_limit` passes before it is known; ``'auto'``: 1 / n_features.
        coef0 : float, default=0.0
            Constant of ``'poly'`` and ``'sigmoid'``.
        """,
    "classes": """
        class_weight : dict or 'balanced', default=None
            Factors of sample weights by label, 1 for labels that are not named; ``'balanced'``:
            inversely proportional to the total weight of the class. Labels that y does not have
            are allowed, since a part of the samples may lack a rare class.
        multi_class : {'ovo', 'ovr'}, default='ovo'
            With more than two classes: a problem for each pair of classes, or for each class
            against the rest.
        decision_function_shape : {'ovr', 'ovo'}, default='ovr'
            With more than two classes, `decision_function` returns a column for each class, or
            for each pair of classes.
        break_ties : bool, default=False
            Whether `predict` decides equal votes by the values of `decision_function`; otherwise
            it takes the first class.
        probability : bool, default=False
            Accepted for code written for scikit-learn. `fit` refuses True and names
            ``CalibratedClassifierCV``, which gives any classifier `predict_proba`.
        random_state : object, default=None
            Accepted for code written for scikit-learn, and not used: a fit has no random choices.
        """,
    "solver": """
        shrinking : bool, default=True
            Whether samples whose variables stay at a bound are left out until the others are
            solved. They are checked again at the end, so that the solution is the same. Only
            matters where steps go over all samples (problems with thousands of free variables);
            elsewhere steps are made inside working sets, which leave such samples out in any case.
        tol : float, default=1e-3
            The solver stops when the largest violation of the optimality conditions is smaller.
        cache_size : float or 'auto', default='auto'
            Megabytes for kernel rows. ``'auto'``: all rows if they fit in a quarter of the memory
            available, else that quarter.
        verbose : bool, default=False
            Whether `fit` prints how far it has come, a line each second, and how it ended.
        max_iter : int, default=-1
            Largest number of steps; -1: 10^7 or 100 n_samples, whichever is more.
        precision : {'auto', 'float32', 'float64'}, default='auto'
            Type of kernel values. ``'auto'``: float32 where its error in the decision values is
            small beside `tol`, or can be corrected with few values in float64; otherwise float64.
            Sums are always in float64.
        warm_start : bool, default=False
            Whether `fit` starts from the solution of the previous fit, if that had the same
            classes and as many samples.
        n_jobs : int or None, default=None
            Threads of `fit` and `predict`; -1 for all usable CPUs. Results do not depend on it.
        time_limit : float or None, default=None
            Seconds after which `fit` ends with the model it has, and a warning. The time includes
            that for the certificate. If no step was made in it, the model is the start:
            coefficients of zero, or for `NuSVC` and `OneClassSVM` the same for every sample.
        callback : callable or None, default=None
            Called with a `Progress` about every 20 ms while `fit` runs. Where it returns True,
            `fit` ends with the model it has, and a warning (``fit_report_.stop`` is
            ``'stopped'``). An exception of it ends the fit and leaves the estimator as it was.
        """,
    "class_attributes": """
        classes_ : ndarray of shape (n_classes,)
            The labels, sorted.
        support_ : ndarray of shape (n_SV,)
            Indices of the support vectors, sorted by class.
        support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
            The support vectors.
        n_support_ : ndarray of shape (n_classes,)
            Number of support vectors of each class.
        dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
            Coefficients of the support vectors, with the sign of their class;
            ``multi_class='ovr'``: (n_classes, n_SV).
        intercept_ : ndarray of shape (n_problems,)
            Intercepts of the decision functions.
        coef_ : ndarray or sparse matrix of shape (n_problems, n_features)
            Weights of the features, for the linear kernel. If X was sparse, so are these,
            `dual_coef_` and `support_vectors_`.
        function_ : Function or tuple of Function
            f of the decision function f(x) + intercept, in the space of the kernel: `kcore.rkhs`;
            of more than two classes one for each intercept.
        margin_ : float
            1 / |w|, for two classes.
        n_iter_ : ndarray of shape (n_problems,)
            Steps of the solver.
        """,
    "attributes": """
        support_ : ndarray of shape (n_SV,)
            Indices of the support vectors.
        support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
            The support vectors.
        n_support_ : ndarray of shape (1,)
            Number of support vectors.
        dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
            Coefficients of the support vectors.
        intercept_ : ndarray of shape (1,)
            The intercept.
        coef_ : ndarray or sparse matrix of shape (1, n_features)
            Weights of the features, for the linear kernel. If X was sparse, so are these,
            `dual_coef_` and `support_vectors_`.
        function_ : Function
            f of the decision function f(x) + intercept, in the space of the kernel: `kcore.rkhs`.
        n_iter_ : int
            Steps of the solver.
        """,
    "X": """
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel='precomputed'`` the square matrix of kernel values.
        """,
    "weight_and_init": """
        sample_weight : array_like of shape (n_samples,), default=None
            Factors of the bounds of the coefficients, and so of C where there is one; not
            negative. Weight 2 equals a repetition, weight 0 leaves the sample out.
        init : estimator or array_like of shape (n_coef_rows, n_samples), default=None
            Where to start: a fitted model of the same class whose support vectors are among the
            first samples, or coefficients as in `dual_coef_`, a column for each sample. They are
            made feasible; the solution is the same, reached in fewer steps where they are good.
        """,
    "fit_attributes": """
        fit_report_ : FitReport
            Certificate and cost of the fit.
        fit_status_ : int
            0 where the fit converged, else 1.
        shape_fit_ : tuple of int
            Shape of the samples of the fit.
        n_features_in_ : int
            Number of features.
        feature_names_in_ : ndarray of shape (n_features,)
            Names of the features, where X was a data frame.
        """,
}

_Documented = TypeVar("_Documented", bound=type | Callable[..., Any])


def documented(what: _Documented) -> _Documented:
    """Put the shared paragraphs of a docstring where their names stand, as ``<kernel>``."""
    doc = inspect.cleandoc(what.__doc__ or "")
    for name, text in _DOCS.items():
        doc = doc.replace(f"<{name}>", inspect.cleandoc(text))
    what.__doc__ = doc
    return what
