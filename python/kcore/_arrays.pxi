# Arrays that Python code hands over, their variance, and labels: part of _core.pyx, included there.

from libc.stdint cimport int8_t
from libc.string cimport memcmp

cdef object INT32 = np.dtype(np.int32)
cdef object INT64 = np.dtype(np.int64)

cdef enum:
    MOST_LABELS = 64


# ---- Arrays of one type

cdef void *borrow(
    Py_buffer *view, object array, char code, int64_t n_entries, bint is_writable,
) except? NULL:
    """Return the memory of a contiguous array of native `code` with so many entries."""
    cdef int64_t n_found = 1
    cdef int k
    PyObject_GetBuffer(array, view, PyBUF_RECORDS if is_writable else PyBUF_RECORDS_RO)
    for k in range(view.ndim - 1, -1, -1):
        if view.shape[k] > 1 and view.strides[k] != n_found * view.itemsize:
            raise TypeError("the array is contiguous")
        n_found *= view.shape[k]
    if not has_type(view, code) or n_found != n_entries:
        raise TypeError("the array has the core's type and length")
    return view.buf


cdef bint has_type(const Py_buffer *view, char code) noexcept:
    """Say whether entries are doubles (d) or signed integers of 4 (i) or 8 bytes (q)."""
    cdef char found = type_code(view)
    if code == b"d":
        return found == b"d"
    return (found == b"i" or found == b"l" or found == b"q") and (
        view.itemsize == (4 if code == b"i" else 8))


# ---- Variance

ctypedef fused real:
    float
    double


def variance(points, weights):
    """Return the variance of all entries of the samples, each sample by its weight, in float64.

    Zeros of CSR matrices count. Not finite where an entry is not, or where it overflows; -1 where
    the structure of a CSR matrix is not right.
    """
    cdef View view
    cdef Py_buffer vweights
    cdef const double *w = NULL
    cdef double total, mean, spread
    memset(&vweights, 0, sizeof(Py_buffer))
    try:
        open_view(&view, points, b"X")
        if not is_ordered(&view.points):
            return -1.0
        if weights is not None:
            w = <const double *>borrow(&vweights, weights, b"d", view.points.n_rows, False)
        with nogil:
            total = weight_of_rows(w, view.points.n_rows) * <double>view.points.n_cols
            mean = moment(&view.points, w, False, 0.0) / total
            spread = moment(&view.points, w, True, mean) / total
        return spread
    finally:
        PyBuffer_Release(&vweights)
        close_view(&view)


cdef double weight_of_rows(const double *weights, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef double total = 0.0
    if weights == NULL:
        return <double>n
    for i in range(n):
        total += weights[i]
    return total


cdef double moment(
    const kc_points *x, const double *weights, bint is_square, double mean,
) noexcept nogil:
    """Return the sum of all entries, or of the squares of their distances from the mean."""
    cdef int64_t i, begin, end, size = 4 if x.dtype == KC_F32 else 8
    cdef int64_t step = x.col_stride // size
    cdef double total = 0.0, row, zero = mean * mean if is_square else 0.0
    cdef const char *values = <const char *>x.values
    for i in range(x.n_rows):
        if x.storage == KC_DENSE:
            row = row_moment(x.dtype, values + i * x.row_stride, step, x.n_cols, is_square, mean)
        else:
            begin = row_bound(x, i)
            end = row_bound(x, i + 1)
            row = row_moment(x.dtype, values + begin * size, 1, end - begin, is_square, mean)
            row += <double>(x.n_cols - (end - begin)) * zero
        total += row if weights == NULL else weights[i] * row
    return total


cdef double row_moment(
    kc_dtype dtype, const char *row, int64_t step, int64_t n, bint is_square, double mean,
) noexcept nogil:
    if dtype == KC_F32:
        return sum_entries(<const float *>row, step, n, is_square, mean)
    return sum_entries(<const double *>row, step, n, is_square, mean)


cdef double sum_entries(
    const real *x, int64_t step, int64_t n, bint is_square, double mean,
) noexcept nogil:
    """Sum in eight places, so that an addition need not wait for the one before it.

    The order is the same for every step: results do not depend on the layout of memory.
    """
    cdef double sums[8]
    cdef double value
    cdef int64_t i = 0
    cdef int k
    memset(sums, 0, sizeof(sums))
    if step == 1 and is_square:
        while i + 8 <= n:
            for k in range(8):
                sums[k] += (<double>x[i + k] - mean) * (<double>x[i + k] - mean)
            i += 8
    elif step == 1:
        while i + 8 <= n:
            for k in range(8):
                sums[k] += <double>x[i + k] - mean
            i += 8
    while i < n:
        value = <double>x[i * step] - mean
        sums[i % 8] += value * value if is_square else value
        i += 1
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + (
        (sums[4] + sums[5]) + (sums[6] + sums[7]))


cdef int64_t row_bound(const kc_points *x, int64_t i) noexcept nogil:
    if x.index_bytes == 4:
        return (<const int32_t *>x.indptr)[i]
    return (<const int64_t *>x.indptr)[i]


cdef bint is_ordered(const kc_points *x) noexcept nogil:
    """Say whether rows of CSR points lie within their values."""
    cdef int64_t i
    if x.storage == KC_DENSE:
        return True
    if row_bound(x, 0) < 0 or row_bound(x, x.n_rows) > x.n_values:
        return False
    for i in range(x.n_rows):
        if row_bound(x, i) > row_bound(x, i + 1):
            return False
    return True


# ---- Labels

def encode(labels):
    """Return (classes, codes): the sorted distinct labels, and the place of each label in them.

    For 1-D arrays of numbers or fixed strings with few distinct values, in one pass over their
    bytes; None where there are many, or where equal labels have different bytes (zeros).
    """
    cdef Py_buffer view, vcodes
    cdef int64_t first[MOST_LABELS]
    cdef int32_t rank[MOST_LABELS]
    cdef int32_t *out
    cdef int64_t n, k, n_found
    memset(&view, 0, sizeof(Py_buffer))
    memset(&vcodes, 0, sizeof(Py_buffer))
    try:
        PyObject_GetBuffer(labels, &view, PyBUF_RECORDS_RO)
        if view.ndim != 1:
            raise TypeError("labels are a 1-D buffer")
        n = view.shape[0]
        codes = empty(n, INT32)
        out = <int32_t *>borrow(&vcodes, codes, b"i", n, True)
        with nogil:
            n_found = find_labels(
                <const char *>view.buf, view.strides[0], <size_t>view.itemsize, n, first, out)
        if n_found > MOST_LABELS:
            return None
        found = [labels.item(first[k]) for k in range(n_found)]
        if n_found == 2:  # mostly: without the detours
            if found[0] == found[1]:
                return None
            order = (0, 1) if found[0] < found[1] else (1, 0)
        elif len(set(found)) < n_found:
            return None
        else:
            order = sorted(range(n_found), key=found.__getitem__)
        classes = empty(n_found, labels.dtype)
        for k in range(n_found):
            rank[<int64_t>order[k]] = <int32_t>k
            classes[k] = found[order[k]]
        with nogil:
            for k in range(n):
                out[k] = rank[out[k]]
        return classes, codes
    finally:
        PyBuffer_Release(&vcodes)
        PyBuffer_Release(&view)


cdef int64_t find_labels(
    const char *labels, int64_t stride, size_t n_bytes, int64_t n, int64_t *first, int32_t *codes,
) noexcept nogil:
    """Number labels in order of appearance; more than MOST_LABELS where there are too many."""
    if n_bytes == 1:
        return find_words(<const int8_t *>labels, stride, n, first, codes)
    if n_bytes == 4:
        return find_words(<const int32_t *>labels, stride, n, first, codes)
    if n_bytes == 8:
        return find_words(<const int64_t *>labels, stride, n, first, codes)
    return find_strings(labels, stride, n_bytes, n, first, codes)


ctypedef fused word_t:
    int8_t
    int32_t
    int64_t


cdef int64_t find_words(
    const word_t *labels, int64_t stride, int64_t n, int64_t *first, int32_t *codes,
) noexcept nogil:
    """Find labels of the common sizes; two of them without a branch that depends on their order."""
    cdef word_t words[MOST_LABELS]
    cdef word_t word, one, other
    cdef int64_t i = 0, n_found = 0
    cdef int32_t k
    while i < n:
        if n_found > 1:
            # In names of their own, which no store into codes can change.
            one, other = words[0], words[1]
            while i < n:
                memcpy(&word, <const char *>labels + i * stride, sizeof(word_t))
                if (word != one) & (word != other):
                    break
                codes[i] = word == other
                i += 1
            else:
                break
        memcpy(&word, <const char *>labels + i * stride, sizeof(word_t))
        for k in range(<int32_t>n_found):
            if words[k] == word:
                break
        else:
            k = <int32_t>n_found
            if n_found == MOST_LABELS:
                return MOST_LABELS + 1
            words[k] = word
            first[n_found] = i
            n_found += 1
        codes[i] = k
        i += 1
    return n_found


cdef int64_t find_strings(
    const char *labels, int64_t stride, size_t n_bytes, int64_t n, int64_t *first, int32_t *codes,
) noexcept nogil:
    """Find labels of any number of bytes."""
    cdef int64_t i, n_found = 0
    cdef int32_t k = 0
    for i in range(n):
        # Most often the same as the one before.
        if n_found == 0 or memcmp(labels + i * stride, labels + first[k] * stride, n_bytes) != 0:
            for k in range(<int32_t>n_found):
                if memcmp(labels + i * stride, labels + first[k] * stride, n_bytes) == 0:
                    break
            else:
                k = <int32_t>n_found
                if n_found == MOST_LABELS:
                    return MOST_LABELS + 1
                first[n_found] = i
                n_found += 1
        codes[i] = k
    return n_found
