"""A family with defects of every kind, planted for the test of the framework itself."""

from __future__ import annotations

import os
import signal
import time

import numpy as np

from families import Case, pick

SECONDS = 3.0
SIMPLEST: Case = {"size": 0, "how": "well", "more": []}


def draw(rng: np.random.Generator) -> Case:
    return {
        "size": int(rng.integers(100)),
        "how": pick(rng, "well", "wrong"),
        "more": rng.integers(9, size=5).tolist(),
    }


def check(case: Case) -> str:
    if case["how"] == "wrong" and case["size"] >= 17 and 4 in case["more"]:
        raise AssertionError(f"size {case['size']}")
    if case["how"] == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case["how"] == "hangs":
        time.sleep(60)
    if case["how"] == "prints":
        os.write(1, b'{"word": "defect"}\n')
    return "fine"
