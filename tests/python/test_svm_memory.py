"""A fit takes what its cache may, its samples, its model, and little more.

Little is workspace, and what the matrix of its working set takes beyond the cache, where that is
small. The first problems have some hundred free variables, the last one thousands.
"""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kcore
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
    check_the_ceiling(model.fit_report_, cache_size, precision)


def check_the_ceiling(report, cache_size, precision):
    value_bytes = 4 if precision == "float32" else 8
    samples = N * D * value_bytes
    whole_model = report.n_support * (D * value_bytes + 16)
    assert N * N * value_bytes > ROOM
    assert report.cache_bytes_used <= cache_size * MIB
    assert report.peak_bytes <= cache_size * MIB + samples + whole_model + ROOM


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_fit_with_thousands_of_free_variables_stays_below_it_too(precision, data):
    X, _, wave = data
    model = SVR(C=100, epsilon=0.001, gamma=0.2, cache_size=30, precision=precision).fit(X, wave)
    is_free = np.abs(model.dual_coef_) < 100
    assert is_free.sum() > 3000
    check_the_ceiling(model.fit_report_, 30, precision)


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


def resident_bytes():
    n_pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(n_pages) * resource.getpagesize()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_that_was_kept_for_the_next_call_can_be_given_back(data):
    X, y, _ = data
    SVC(C=10, gamma=0.2, precision="float64").fit(X, y)
    before = resident_bytes()
    kcore.trim_memory()
    assert before - resident_bytes() > 20 * MIB
    kcore.trim_memory()
    SVC().fit(X[:100], y[:100])
