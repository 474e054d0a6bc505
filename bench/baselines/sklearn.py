"""scikit-learn: its own copy of libsvm; float64, one thread."""

from typing import Any

import numpy as np
from sklearn import svm

from baselines import Estimators

CLASSES = {
    "svc": svm.SVC,
    "nu_svc": svm.NuSVC,
    "svr": svm.SVR,
    "nu_svr": svm.NuSVR,
    "one_class": svm.OneClassSVM,
}


class ScikitLearn(Estimators):
    def n_threads(self, wanted: int) -> int:
        return 1

    def threads_parameter(self, n_threads: int) -> dict[str, Any]:
        return {}


VARIANTS = [ScikitLearn("sklearn", CLASSES, np.float64)]
