"""A fit takes what its cache may, its samples, its model, and little more.

Little are the matrix of its working set, which has twice as many members as there are free
variables, and workspace. These problems have some hundred free variables.
"""

import subprocess
import sys

import numpy as np
import pytest

from kcore import SVC, SVR

N, D = 5000, 20
MIB = 2**20
ROOM = 64 * MIB  # beside all that; less than the whole kernel matrix takes in any precision


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    wave = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(N)
    return X, (wave > 0).astype(int), wave


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("cache_size", [1, 20])
@pytest.mark.parametrize("machine", [SVC, SVR])
def test_a_fit_stays_below_its_ceiling(machine, cache_size, precision, data):
    X, y, wave = data
    options = {"cache_size": cache_size, "precision": precision}
    if machine is SVC:  # noqa: SIM108
        model = SVC(**options).fit(X, y)
    else:
        model = SVR(epsilon=0.5, **options).fit(X, wave)
    report = model.fit_report_
    value_bytes = 4 if precision == "float32" else 8
    samples = N * D * value_bytes
    whole_model = report.n_support * (D * value_bytes + 16)
    assert N * N * value_bytes > ROOM
    assert report.cache_bytes_used <= cache_size * MIB
    assert report.peak_bytes <= cache_size * MIB + samples + whole_model + ROOM


def test_the_process_grows_by_no_more_than_the_report_says():
    code = f"""
import resource
import numpy as np
from kcore import SVC
rng = np.random.default_rng(0)
X = rng.standard_normal(({N}, {D}))
y = (np.sin(X[:, 0]) + 0.1 * rng.standard_normal({N}) > 0).astype(int)
SVC(n_jobs=1).fit(X[:200], y[:200]).predict(X[:200])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
report = SVC(cache_size=20, n_jobs=1).fit(X, y).fit_report_
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024, report.peak_bytes)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    grown, peak = map(int, done.stdout.split())
    assert grown <= peak + 16 * MIB  # huge pages, and what Python took meanwhile
    assert peak <= 20 * MIB + ROOM
