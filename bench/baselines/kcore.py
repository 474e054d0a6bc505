"""kcore itself, behind the interface of the others."""

import numpy as np

import kcore.svm
from baselines import Estimators

CLASSES = {
    "svc": kcore.svm.SVC,
    "nu_svc": kcore.svm.NuSVC,
    "svr": kcore.svm.SVR,
    "nu_svr": kcore.svm.NuSVR,
    "one_class": kcore.svm.OneClassSVM,
}

# float32 samples with the precision kcore chooses, and float64 throughout.
VARIANTS = [
    Estimators("kcore f32", CLASSES, np.float32),
    Estimators("kcore f64", CLASSES, np.float64, {"precision": "float64"}),
]
