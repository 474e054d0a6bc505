# cython: language_level=3, boundscheck=False, wraparound=False
# cython: auto_pickle=False, freethreading_compatible=True
"""The door to the C core: views in, one call without the GIL, exceptions out.

Arguments come from ``_validate`` and ``_threads``, which know every rule and all the words; here is
checked only what memory safety needs. There are no defaults, and the one thing that changes is the
process's context, replaced in a forked child.
"""

import os

import numpy as np

cimport cython
from cpython.buffer cimport PyBUF_RECORDS, PyBUF_RECORDS_RO, PyBUF_STRIDED_RO, PyBUF_WRITABLE
from cpython.buffer cimport Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_INCREF
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from kcore._capi cimport *
from kcore._capi_perceptrons cimport *
from kcore._capi_stores cimport *


cdef extern from "Python.h":
    # Declared without `except`, so that its exception stays pending across the C call.
    int PyErr_CheckSignals()


# Of the tuples that samples are, where they are no arrays (_points.py).
DEF N_TABLE_FIELDS = 1
DEF N_STRINGS_FIELDS = 3

F32 = KC_F32
F64 = KC_F64

cdef object new_array = np.empty
cdef object FLOAT32 = np.dtype(np.float32)
cdef object FLOAT64 = np.dtype(np.float64)


cdef object empty(shape, dtype):
    """Return a new array; for NumPy, what no address space could hold is no matter of memory."""
    try:
        return new_array(shape, dtype)
    except ValueError:
        raise MemoryError(f"a result of shape {shape} does not fit into memory") from None


# ---- Errors and interrupts

cdef int check(kc_status status, kc_error *err) except -1:
    """Turn a status into an exception; one that the progress callback left pending comes first."""
    if PyErr_Occurred() != NULL:
        return -1
    if status == KC_OK:
        return 0
    raise_failure()
    text = err.text.decode("utf-8", "replace")
    if status == KC_ERR_NOMEM:
        raise MemoryError(text)
    if status == KC_ERR_TYPE:
        raise TypeError(text)
    if status == KC_ERR_TIME:
        raise TimeoutError(text)
    if status == KC_ERR_CANCELLED:
        raise RuntimeError(text)
    if status == KC_ERR_NOT_SEPARABLE:
        from kcore.exceptions import NotSeparableError
        raise NotSeparableError(text)
    if status == KC_ERR_NONFINITE:
        from kcore._validate import with_next_step
        text = with_next_step(text)
    raise ValueError(text)


cdef int stop_on_signal(void *data, const kc_progress *progress) noexcept with gil:
    """Run Python's signal handlers; one that raises (Ctrl-C) stops the call."""
    return PyErr_Occurred() != NULL or PyErr_CheckSignals() != 0


cdef kc_run run_with(int32_t n_threads) noexcept:
    cdef kc_run run
    memset(&run, 0, sizeof(run))
    run.struct_size = sizeof(run)
    run.n_threads = n_threads
    run.on_progress = stop_on_signal
    return run


# ---- The context of this process

@cython.final
cdef class Context:
    """Owner of one ``kc_context``; whatever was made in it keeps it alive."""

    cdef kc_context *ptr

    def __cinit__(self):
        cdef kc_error err
        check(kc_context_create(NULL, &self.ptr, &err), &err)

    def __dealloc__(self):
        kc_context_free(self.ptr)


def _first_context():
    """Return the context of this process; settings that cannot be are known at import."""
    try:
        return Context()
    except ValueError as error:
        raise ImportError(str(error)) from None


cdef Context the_context = _first_context()


def _renew_context():
    """Give a forked child a context of its own, with the parent's number of threads.

    The parent's was perhaps in use by a thread that does not exist here, so it is never freed.
    """
    global the_context
    cdef Context parents = the_context
    cdef int32_t n_threads = kc_context_threads(parents.ptr)
    Py_INCREF(parents)
    the_context = Context()
    if kc_context_threads(the_context.ptr) != n_threads:
        kc_context_set_threads(the_context.ptr, n_threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_context)


def version():
    """Return the version of the C core."""
    return kc_version().decode("ascii")


def isa_name():
    """Return the instruction set in use: ``'generic'``, ``'avx2'`` or ``'avx512'``.

    It is chosen once, at the first use; the environment variable ``KCORE_ISA`` forces one, and
    importing kcore fails where that names none that there is.

    Examples
    --------
    >>> import kcore
    >>> kcore.isa_name() in ('generic', 'avx2', 'avx512')
    True
    """
    return kc_isa_name().decode("ascii")


def usable_cpus():
    """Return how many CPUs this process may use (affinity and cgroup quota respected)."""
    return kc_usable_cpus()


def threads():
    """Return the number of threads of a call that does not say."""
    return kc_context_threads(the_context.ptr)


def set_threads(int32_t n_threads):
    """Set the number of threads of a call that does not say; 0 is back to the default."""
    kc_context_set_threads(the_context.ptr, n_threads)


def memory():
    """Return the bytes held by the core now, and the most ever held."""
    cdef kc_memory held = kc_context_memory(the_context.ptr)
    return held.current, held.peak


def trim_memory():
    """Give back to the system what the core keeps for the next call.

    Fresh memory is slow, so the core keeps large blocks that calls have freed, a quarter of the
    memory available (or 512 MiB) at the most and never more than was in use at once; beyond 256 MiB
    the system may take them by itself where it is short of memory. A process that will not fit
    again soon can return them at once.

    Examples
    --------
    >>> import kcore
    >>> kcore.trim_memory()
    """
    kc_context_trim(the_context.ptr)


# ---- Views

cdef struct View:
    kc_points points
    Py_buffer values
    Py_buffer indices
    Py_buffer indptr
    View *next  # of the further parts of a table, in memory of its own


cdef int open_view(View *view, object points, const char *name) except -1:
    """Borrow the memory of what `as_points` or `as_table` returned; close_view is always due."""
    memset(view, 0, sizeof(View))
    if isinstance(points, tuple) and len(points) == N_TABLE_FIELDS and points[0]:
        return borrow_table(view, points[0], name)
    return borrow_part(view, points, name)


cdef int borrow_part(View *view, object points, const char *name) except -1:
    view.points.struct_size = sizeof(kc_points)
    view.points.name = name
    if not isinstance(points, tuple):
        return borrow_dense(view, points)
    if len(points) == N_STRINGS_FIELDS:
        return borrow_strings(view, points)
    return borrow_csr(view, points)


cdef int borrow_table(View *view, tuple parts, const char *name) except -1:
    """Borrow the parts, one behind the other."""
    cdef int64_t first_col = 0
    cdef View *last = view
    cdef View *part
    borrow_part(view, parts[0], name)
    for points in parts[1:]:
        first_col += 1 if last.points.storage == KC_STRINGS else last.points.n_cols
        part = <View *>PyMem_Malloc(sizeof(View))
        if part == NULL:
            raise MemoryError
        memset(part, 0, sizeof(View))
        last.next = part
        last.points.next = &part.points
        borrow_part(part, points, name)
        part.points.first_col = first_col
        last = part
    return 0


cdef kc_dtype view_dtype(const View *view) noexcept:
    """Return the widest type of the parts, in which kernel values are computed."""
    cdef const kc_points *part = &view.points
    cdef kc_dtype dtype = part.dtype
    while part.next != NULL:
        part = part.next
        dtype = max(dtype, part.dtype)
    return dtype


cdef void close_view(View *view) noexcept:
    cdef View *part
    while view.next != NULL:
        part = view.next
        view.next = part.next
        release_buffers(part)
        PyMem_Free(part)
    release_buffers(view)


cdef void release_buffers(View *view) noexcept:
    PyBuffer_Release(&view.values)
    PyBuffer_Release(&view.indices)
    PyBuffer_Release(&view.indptr)


cdef int borrow_strings(View *view, object strings) except -1:
    cdef kc_points *p = &view.points
    bytes_, indptr, _ = strings
    PyObject_GetBuffer(bytes_, &view.values, PyBUF_RECORDS_RO)
    PyObject_GetBuffer(indptr, &view.indptr, PyBUF_RECORDS_RO)
    p.storage = KC_STRINGS
    p.dtype = KC_F64
    p.values = view.values.buf
    p.indptr = view.indptr.buf
    p.index_bytes = 8
    p.n_values = entries(&view.values)
    p.n_rows = entries(&view.indptr) - 1
    if not (
        view.values.itemsize == 1 and view.indptr.itemsize == 8 and is_index(&view.indptr)
        and p.n_rows >= 0
    ):
        raise TypeError("strings are bytes, and where each of them begins")
    return 0


cdef int borrow_dense(View *view, object array) except -1:
    cdef kc_points *p = &view.points
    cdef Py_buffer *b = &view.values
    PyObject_GetBuffer(array, b, PyBUF_RECORDS_RO)
    if b.ndim != 2:
        raise TypeError("dense points are a 2-D buffer")
    p.storage = KC_DENSE
    p.dtype = real_type(b)
    p.n_rows = b.shape[0]
    p.n_cols = b.shape[1]
    p.values = b.buf
    # The stride of a single row or column means nothing, and may be anything.
    p.row_stride = b.strides[0] if b.shape[0] > 1 else 0
    p.col_stride = b.strides[1] if b.shape[1] > 1 else 0
    if (<size_t>b.buf | <size_t>p.row_stride | <size_t>p.col_stride) % <size_t>b.itemsize:
        raise TypeError("dense points are aligned")
    return 0


cdef int borrow_csr(View *view, object points) except -1:
    cdef kc_points *p = &view.points
    data, indices, indptr, shape = points
    PyObject_GetBuffer(data, &view.values, PyBUF_RECORDS_RO)
    PyObject_GetBuffer(indices, &view.indices, PyBUF_RECORDS_RO)
    PyObject_GetBuffer(indptr, &view.indptr, PyBUF_RECORDS_RO)
    p.storage = KC_CSR
    p.dtype = real_type(&view.values)
    p.n_rows, p.n_cols = shape
    p.values = view.values.buf
    p.indices = view.indices.buf
    p.indptr = view.indptr.buf
    p.index_bytes = <int32_t>view.indptr.itemsize
    p.n_values = entries(&view.values)
    if not (
        is_index(&view.indices) and is_index(&view.indptr)
        and view.indices.itemsize == view.indptr.itemsize
        and entries(&view.indices) == p.n_values
        and p.n_rows >= 0 and entries(&view.indptr) == p.n_rows + 1
    ):
        raise TypeError("CSR points are data, indices and indptr that fit together")
    return 0


def check_points(points, bytes name):
    """Refuse points whose structure the core would refuse; values are not read.

    Messages call them `name`.
    """
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(1)
    cdef kc_error err
    cdef kc_status status
    cdef View view
    try:
        open_view(&view, points, name)
        with nogil:
            status = kc_check_points(ctx, &run, &view.points, &err)
        check(status, &err)
    finally:
        close_view(&view)


cdef char type_code(const Py_buffer *b) noexcept:
    """Return the letter of a native scalar type, or 0 where the format is anything else."""
    return b.format[0] if b.format != NULL and b.format[1] == 0 else 0


cdef kc_dtype real_type(const Py_buffer *b) except *:
    cdef char code = type_code(b)
    if code == b"d":
        return KC_F64
    if code == b"f":
        return KC_F32
    raise TypeError("values are native float32 or float64")


cdef bint is_index(const Py_buffer *b) noexcept:
    cdef char code = type_code(b)
    return (code == b"i" or code == b"l" or code == b"q") and (
        b.itemsize == 4 or b.itemsize == 8)


cdef int64_t entries(const Py_buffer *b) except -1:
    """Return the length of a contiguous 1-D buffer."""
    if b.ndim != 1 or (b.shape[0] > 1 and b.strides[0] != b.itemsize):
        raise TypeError("CSR arrays are contiguous 1-D buffers")
    return b.shape[0]


# ---- Kernels and their matrices

include "_kernels.pxi"
include "_function.pxi"


def gram(CompiledKernel kernel not None, x, z, out, int32_t n_threads):
    """Return K(x_i, z_j), or K(x_i, x_j) where z is None, in `out` or in a new array."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef View vx, vz
    cdef Py_buffer vout
    cdef const kc_points *pz = NULL
    cdef kc_dtype dtype
    cdef int64_t n_cols, ld

    memset(&vz, 0, sizeof(View))
    memset(&vout, 0, sizeof(Py_buffer))
    try:
        open_view(&vx, x, b"X")
        dtype = view_dtype(&vx)
        n_cols = vx.points.n_rows
        if z is not None:
            open_view(&vz, z, b"Z")
            dtype = max(dtype, view_dtype(&vz))
            n_cols = vz.points.n_rows
            pz = &vz.points
        if out is None:
            out = empty((vx.points.n_rows, n_cols), FLOAT32 if dtype == KC_F32 else FLOAT64)
        PyObject_GetBuffer(out, &vout, PyBUF_RECORDS)
        ld = leading_dimension(&vout, vx.points.n_rows, n_cols, dtype)
        with nogil:
            status = kc_gram(
                ctx, &run, kernel.ptr, &vx.points, pz, dtype, vout.buf, ld, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&vout)
        close_view(&vz)
        close_view(&vx)
    return out


def diag(CompiledKernel kernel not None, x, out, int32_t n_threads):
    """Return K(x_i, x_i), in `out` or in a new array."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef View vx
    cdef Py_buffer vout
    cdef kc_dtype dtype

    memset(&vout, 0, sizeof(Py_buffer))
    try:
        open_view(&vx, x, b"X")
        dtype = view_dtype(&vx)
        if out is None:
            out = empty(vx.points.n_rows, FLOAT32 if dtype == KC_F32 else FLOAT64)
        PyObject_GetBuffer(out, &vout, PyBUF_RECORDS)
        if entries(&vout) != vx.points.n_rows or real_type(&vout) != dtype:
            raise TypeError("out does not fit")
        with nogil:
            status = kc_diag(ctx, &run, kernel.ptr, &vx.points, dtype, vout.buf, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&vout)
        close_view(&vx)
    return out


cdef int64_t leading_dimension(
    const Py_buffer *b, int64_t n_rows, int64_t n_cols, kc_dtype dtype,
) except -1:
    """Return the distance of two rows of a writable matrix, in elements."""
    if b.ndim != 2 or b.shape[0] != n_rows or b.shape[1] != n_cols or real_type(b) != dtype:
        raise TypeError("out does not fit")
    cdef int64_t stride = b.strides[0] if n_rows > 1 else n_cols * b.itemsize
    if (
        (n_cols > 1 and b.strides[1] != b.itemsize)
        or stride % b.itemsize or stride < n_cols * b.itemsize
        or <size_t>b.buf % <size_t>b.itemsize
    ):
        raise TypeError("the rows of out are contiguous, aligned and apart")
    return stride // b.itemsize


# ---- The rest, by subject
# Parts of one module, not modules: each extension links the C core statically, and a second copy
# of it would count forks and choose its loops by itself.
include "_progress.pxi"
include "_arrays.pxi"
include "_gradient.pxi"
include "_svm.pxi"
include "_perceptron.pxi"
include "_online.pxi"
include "_store.pxi"
include "_space.pxi"
