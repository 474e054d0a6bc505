"""Labels are numbered as np.unique numbers them, whatever their type, order and layout."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore import _core

TYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "S3", "U2", "S8"]


@given(
    st.sampled_from(TYPES),
    st.integers(1, 300),  # few of them are found in another table than many
    st.integers(1, 900),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_codes_and_classes_are_those_of_unique(dtype, n_labels, n, is_strided, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0 if np.dtype(dtype).kind in "uUS?" else -9, 120, n_labels)
    y = rng.choice(values, n).astype(dtype)
    if is_strided:
        y = np.repeat(y, 3)[::3][::-1]
    classes, codes = np.unique(y, return_inverse=True)
    encoded = _core.encode(y)
    assert encoded[0].dtype == classes.dtype
    np.testing.assert_array_equal(encoded[0], classes)
    np.testing.assert_array_equal(encoded[1], codes)
    assert encoded[1].dtype == np.int32


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("n_more", [0, 100])
def test_zeros_of_both_signs_are_one_label(dtype, n_more):
    y = np.array([1.0, 0.0, -0.0, 1.0, -0.0, *range(n_more)], dtype)
    classes, codes = _core.encode(y)
    assert classes.dtype == y.dtype
    np.testing.assert_array_equal(classes, np.unique(y))
    np.testing.assert_array_equal(classes[codes], y)
