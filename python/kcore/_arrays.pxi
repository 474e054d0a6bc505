# Arrays that Python code hands over, and what the core says of them: part of _core.pyx, included
# there.

cdef object INT32 = np.dtype(np.int32)
cdef object INT64 = np.dtype(np.int64)

cdef enum:
    MAX_LISTED = 64
    CODES_AT_ONCE = 1048576


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


# ---- Samples

def variance(points, weights, Run run not None):
    """Return the variance of all entries of the samples, each sample by its weight, in float64.

    Zeros of CSR matrices count. None where `run` ends the call before it is known.
    """
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run c_run = run.begin()
    cdef kc_error err
    cdef kc_status status
    cdef View view
    cdef Py_buffer vweights
    cdef const double *w = NULL
    cdef double out = 0.0
    memset(&vweights, 0, sizeof(Py_buffer))
    try:
        open_view(&view, points, b"X")
        if weights is not None:
            w = <const double *>borrow(&vweights, weights, b"d", view.points.n_rows, False)
        with nogil:
            status = kc_variance(ctx, &c_run, &view.points, w, &out, &err)
        if run.has_ended(status):
            return None
        check(status, &err)
        return out
    finally:
        PyBuffer_Release(&vweights)
        close_view(&view)


# ---- Labels

def encode(labels):
    """Return (classes, codes): the sorted distinct labels, and the place of each label in them.

    For 1-D arrays of numbers or fixed strings.
    """
    cdef Py_buffer view
    cdef kc_labels c_labels
    cdef int64_t few[MAX_LISTED]
    cdef int64_t n_found
    cdef int64_t[::1] first
    memset(&view, 0, sizeof(Py_buffer))
    try:
        PyObject_GetBuffer(labels, &view, PyBUF_STRIDED_RO)
        if view.ndim != 1:
            raise TypeError("labels are a 1-D buffer")
        codes = empty(view.shape[0], INT32)
        c_labels.values = view.buf
        c_labels.n = view.shape[0]
        c_labels.n_bytes = view.itemsize
        c_labels.stride = view.strides[0]
        n_found = number_labels(&c_labels, MAX_LISTED, few, codes)
        if n_found <= MAX_LISTED:
            distinct = [labels.item(few[k]) for k in range(n_found)]
        else:
            first = found = empty(c_labels.n, INT64)
            n_found = number_labels(&c_labels, c_labels.n, &first[0], codes)
            distinct = labels[found[:n_found]]
    finally:
        PyBuffer_Release(&view)
    return sort_classes(distinct, labels.dtype, codes)


cdef tuple sort_classes(distinct, dtype, codes):
    """Give numbers their order; zeros of both signs have two, and so have NaNs of other bits."""
    cdef Py_ssize_t k, place, n = len(distinct)
    cdef int32_t rank[MAX_LISTED]
    cdef int32_t[::1] ranks
    cdef bint is_sorted = True
    order = None
    if type(distinct) is list:
        if n == 2 and distinct[0] != distinct[1]:  # mostly: without the detours
            order = (0, 1) if distinct[0] < distinct[1] else (1, 0)
        elif len(set(distinct)) == n:
            order = sorted(range(n), key=distinct.__getitem__)
        else:
            distinct = np.array(distinct, dtype)
    if order is None:
        classes, inverse = np.unique(distinct, return_inverse=True)
        ranks = inverse.astype(INT32)
        renumber(codes, &ranks[0])
        return classes, codes
    classes = empty(n, dtype)
    for k, place in enumerate(order):
        rank[place] = k
        is_sorted &= place == k
        classes[k] = distinct[place]
    if not is_sorted:
        renumber(codes, rank)
    return classes, codes


cdef int renumber(codes, const int32_t *rank) except -1:
    """Put rank[code] in the place of each code; signals are looked at on the way."""
    cdef Py_buffer view
    cdef int64_t i = 0, end, n = len(codes)
    cdef int32_t *code
    memset(&view, 0, sizeof(Py_buffer))
    try:
        code = <int32_t *>borrow(&view, codes, b"i", n, True)
        while i < n:
            end = min(n, i + CODES_AT_ONCE)
            with nogil:
                while i < end:
                    code[i] = rank[code[i]]
                    i += 1
            if PyErr_CheckSignals() != 0:
                return -1
    finally:
        PyBuffer_Release(&view)
    return 0


cdef int64_t number_labels(
    const kc_labels *labels, int64_t most, int64_t *first, object codes,
) except -1:
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(1)
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer buffer
    cdef int64_t n_found = 0
    cdef int32_t *out = <int32_t *>borrow(&buffer, codes, b"i", labels.n, True)
    with nogil:
        status = kc_encode_labels(ctx, &run, labels, most, first, out, &n_found, &err)
    PyBuffer_Release(&buffer)
    check(status, &err)
    return n_found


def balanced_weights(codes, int32_t n_classes, weights):
    """Return the weight of each class by which all classes weigh the same."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(1)
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer buffers[3]
    cdef const int32_t *classes
    cdef const double *w = NULL
    cdef double *values
    cdef int64_t n = len(codes)
    memset(buffers, 0, sizeof(buffers))
    out = empty(n_classes, FLOAT64)
    try:
        classes = <const int32_t *>borrow(&buffers[0], codes, b"i", n, False)
        if weights is not None:
            w = <const double *>borrow(&buffers[1], weights, b"d", n, False)
        values = <double *>borrow(&buffers[2], out, b"d", n_classes, True)
        with nogil:
            status = kc_balanced_weights(ctx, &run, classes, n, n_classes, w, values, &err)
        check(status, &err)
    finally:
        for k in range(3):
            PyBuffer_Release(&buffers[k])
    return out
