"""Support vector machines: SVC, NuSVC, SVR, NuSVR and OneClassSVM.

Parameters and attributes have scikit-learn's names and meanings, and `tol` is the same tolerance.
In addition, every fit has a certificate of its result (`fit_report_`). A fit can be interrupted,
limited in time and watched (`time_limit`, `callback`), it can start from an earlier solution
(`warm_start`, ``fit(init=...)``), and it takes any kernel of `kcore.kernels`.

Any number of threads may predict with a fitted estimator at once. Pickles hold numbers only: the
arrays of the model, and the parameters.

Examples
--------
>>> import numpy as np
>>> from kcore import SVC
>>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
>>> y = ["same", "same", "different", "different"]
>>> model = SVC(C=10, gamma=2.0).fit(X, y)
>>> model.predict(X).tolist()
['same', 'same', 'different', 'different']
>>> model.fit_report_.converged
True
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kcore import _core
from kcore._kernelized import KernelLike
from kcore._progress import Progress, ProgressCallback
from kcore._report import FitReport
from kcore._svm import SVMClassifier, SVMDetector, SVMRegressor
from kcore._svm_docs import documented

__all__ = ["SVC", "SVR", "FitReport", "NuSVC", "NuSVR", "OneClassSVM", "Progress"]


@documented
class SVC(SVMClassifier):
    """Support vector classification with soft margin, or hard margin where C is infinite.

    Solves, for each pair of classes, to the tolerance of the optimality conditions::

        min 1/2 |w|^2 + sum_i C_i max(0, 1 - y_i f(x_i)),    f(x) = w.phi(x) + intercept

    in the feature space of the kernel, with C_i = C times the weights of sample and class.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors, positive. ``inf`` asks for a hard margin: `NotSeparableError` is
        raised where no boundary separates the classes.
    <kernel>
    <solver>
    <classes>

    Attributes
    ----------
    <class_attributes>
    <fit_attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> model = SVC(kernel="linear", C=10).fit(X, [1, 1, 2, 2])
    >>> model.predict([[-0.8, -1.0]])
    array([1])
    >>> round(model.margin_, 4)
    1.4142
    """

    _type = _core.C_SVC
    _takes_conditional = True
    _penalties = ("C",)

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float | Literal["auto"] = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        precision: Literal["auto", "float32", "float64"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback


@documented
class NuSVC(SVMClassifier):
    """Support vector classification with nu in place of C.

    The solution is that of an `SVC` whose C is found from nu. With `class_weight`, this C is then
    multiplied by the weight of the class, as it is there: nu itself, and which values of it are
    feasible, is a matter of the samples alone.

    Where the classes overlap so much that nu leaves no margin, `fit` raises an error; where it does
    not find whether there is one, it warns.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this part of the samples are errors of the margin, at least this part
        are support vectors. Not every nu is feasible: the error says which are.
    <kernel>
    <solver>
    <classes>

    Attributes
    ----------
    <class_attributes>
    <fit_attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> NuSVC(nu=0.5).fit(X, [1, 1, 2, 2]).predict([[-0.8, -1.0]])
    array([1])
    """

    _type = _core.NU_SVC
    _takes_conditional = True
    _penalties = ("nu",)

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: bool = False,
        tol: float = 1e-3,
        cache_size: float | Literal["auto"] = "auto",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        verbose: bool = False,
        max_iter: int = -1,
        multi_class: Literal["ovo", "ovr"] = "ovo",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        precision: Literal["auto", "float32", "float64"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback


@documented
class SVR(SVMRegressor):
    """Support vector regression: errors below epsilon are free.

    Solves, to the tolerance of the optimality conditions::

        min 1/2 |w|^2 + sum_i C_i max(0, |f(x_i) - y_i| - epsilon),    f(x) = w.phi(x) + intercept

    in the feature space of the kernel, with C_i = C times the weight of the sample.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors, positive. ``inf`` asks for a hard tube: all targets within `epsilon`,
        to `tol`; a ValueError says where no function has them there.
    epsilon : float, default=0.1
        Errors up to this are free.
    <kernel>
    <solver>

    Attributes
    ----------
    <attributes>
    <fit_attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import SVR
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> model = SVR(C=10, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    _type = _core.EPS_SVR
    _takes_conditional = True
    _penalties = ("C", "epsilon")

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool = False,
        max_iter: int = -1,
        precision: Literal["auto", "float32", "float64"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback


@documented
class NuSVR(SVMRegressor):
    """Support vector regression with nu in place of epsilon.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this part of the samples lie outside the tube, at least this part are
        support vectors; epsilon is found accordingly.
    C : float, default=1.0
        Weight of the errors, positive.
    <kernel>
    <solver>

    Attributes
    ----------
    epsilon_ : float
        Half width of the tube that was found.
    <attributes>
    <fit_attributes>

    Examples
    --------
    >>> import numpy as np
    >>> from kcore import NuSVR
    >>> X = np.linspace(0, 6, 40).reshape(-1, 1)
    >>> model = NuSVR(C=10, nu=0.3).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.1)
    True
    """

    _type = _core.NU_SVR
    _takes_conditional = True
    _penalties = ("C", "nu")

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool = False,
        max_iter: int = -1,
        precision: Literal["auto", "float32", "float64"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    @property
    def epsilon_(self) -> float:
        """Half width of the tube that was found."""
        self._state("epsilon_")
        return self.fit_report_.epsilon


@documented
class OneClassSVM(SVMDetector):
    """Where samples are dense: a boundary around all but a part nu of them.

    Parameters
    ----------
    nu : float, default=0.5
        In (0, 1]: at most this part of the samples lie outside, at least this part are support
        vectors. Samples on the boundary count as inside.
    <kernel>
    <solver>

    Attributes
    ----------
    offset_ : float
        ``decision_function = score_samples - offset_``; the negative of `intercept_`.
    <attributes>
    <fit_attributes>

    Examples
    --------
    >>> from kcore import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict([[0.45], [1.5]]).tolist()
    [1, -1]
    """

    _type = _core.ONE_CLASS
    _penalties = ("nu",)

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool = False,
        max_iter: int = -1,
        precision: Literal["auto", "float32", "float64"] = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: ProgressCallback | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.precision = precision
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback

    def fit_predict(
        self, X: ArrayLike | Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Fit the model and return 1 for samples inside the boundary, -1 for those outside.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n_samples, n_features)
            Samples, as for `fit`.
        y : object, default=None
            Ignored; there for scikit-learn's conventions.
        sample_weight : array_like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        before = self.__dict__.get("_fitted")
        try:
            return self.fit(X, sample_weight=sample_weight).predict(X)
        except BaseException:  # of predict, too: a call that fails changes nothing
            self.__dict__.pop("_fitted", None)
            if before is not None:
                self._fitted = before
            raise
