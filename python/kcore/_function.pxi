# Functions of the user's as leaves of kernels: part of _core.pyx, included there.
#
# A Python function is called for a block of values at a time, by whichever thread of the core needs
# them, with the GIL. An exception is kept, and the block is filled with NaN: the core ends the call
# for that, and `check` raises the exception.

from weakref import WeakValueDictionary

from cpython.ref cimport Py_DECREF
from libc.math cimport NAN
from libc.stdint cimport intptr_t

# Of a value, in multiply-adds, about: a call is shared by a block of values.
DEF PYTHON_WORK = 200.0

cdef dict DEFINITENESS = {
    "indefinite": KC_INDEFINITE, "conditional": KC_CONDITIONAL, "positive": KC_POSITIVE,
}

cdef int64_t n_checks = 0  # failed calls so far: what was kept by an earlier one is out of date
cdef KernelFunction the_failed = None

# By the function: leaves of equal ones share an address, by which the core tells kernels apart.
the_functions = WeakValueDictionary()


@cython.final
cdef class KernelFunction:
    """What a function leaf calls, kept alive by all kernels that call it."""

    cdef object __weakref__
    cdef object function  # of Python; or what a C function belongs to
    cdef object error
    cdef int64_t failed_at

    cdef object ask(self, x, z):
        from kcore._function import call
        return call(self.function, x, z)

    cdef bint has_failed(self) noexcept:
        if self.error is not None and self.failed_at != n_checks:
            self.error = None
        return self.error is not None

    cdef void fail(self, error) noexcept:
        global the_failed
        self.error = error
        self.failed_at = n_checks
        the_failed = self


cdef int raise_failure() except -1:
    """Raise what a function raised in the call that has failed, if it did."""
    global the_failed, n_checks
    cdef KernelFunction failed = the_failed
    the_failed = None
    n_checks += 1
    if failed is None or failed.error is None:
        return 0
    error, failed.error = failed.error, None
    raise error


cdef void retain(void *owner) noexcept with gil:
    Py_INCREF(<object>owner)


cdef void release(void *owner) noexcept with gil:
    Py_DECREF(<object>owner)


cdef object samples_of(const kc_sample *samples, int64_t n):
    """Return samples as a function gets them: rows of numbers, or bytes."""
    cdef double[:, ::1] rows
    cdef int64_t i, k
    if samples.values == NULL:
        strings = np.empty(n, dtype=object)
        for i in range(n):
            strings[i] = samples[i].bytes[:samples[i].n] if samples[i].n > 0 else b""
        return strings
    array = np.zeros((n, samples.n_cols))
    rows = array
    for i in range(n):
        if samples[i].columns == NULL:
            if samples[i].n > 0:
                memcpy(&rows[i, 0], samples[i].values, <size_t>samples[i].n * sizeof(double))
        else:
            for k in range(samples[i].n):
                rows[i, samples[i].columns[k]] = samples[i].values[k]
    return array


cdef void call_python(
    void *data, const kc_sample *x, int64_t n_x, const kc_sample *z, int64_t n_z, double *out,
    int64_t ld,
) noexcept with gil:
    cdef KernelFunction function = <KernelFunction>data
    cdef const double[:, ::1] values
    cdef int64_t i, j
    for i in range(n_x):
        for j in range(n_z):
            out[i * ld + j] = NAN
    if PyErr_Occurred() != NULL or function.has_failed():
        return
    try:
        values = function.ask(samples_of(x, n_x), samples_of(z, n_z))
        for i in range(n_x):
            for j in range(n_z):
                out[i * ld + j] = values[i, j]
    except BaseException as error:  # Ctrl-C too: it is raised when the call has ended
        function.fail(error)


cdef KernelFunction owner_for(function):
    """Return what a function leaf calls: one for equal functions, where they can be hashed."""
    cdef KernelFunction owner
    cdef bint is_hashable = True
    try:
        owner = the_functions.get(function)
    except TypeError:
        owner, is_hashable = None, False
    if owner is None:
        owner = KernelFunction()
        owner.function = function
        if is_hashable:
            the_functions[function] = owner
    return owner


cdef kc_kernel *make_function_leaf(kc_context *ctx, tuple params) except NULL:
    """Return the leaf of a function: `Function._nodes` says what the parameters are."""
    cdef kc_kernel *made = NULL
    cdef kc_kernel_function f
    cdef kc_error err
    cdef KernelFunction owner
    function, definiteness, form, address, user_data = params[0]._for_core()
    memset(&f, 0, sizeof(f))
    f.struct_size = sizeof(f)
    f.definiteness = DEFINITENESS[definiteness]
    owner = owner_for(function)
    if form == "python":
        f.block = call_python
        f.data = <void *>owner
        f.work = PYTHON_WORK
    else:
        f.data = <void *><intptr_t>user_data
        if form == "pair":
            f.pair = <kc_pair_fn *><intptr_t>address
        else:
            f.block = <kc_block_fn *><intptr_t>address
    f.owner = <void *>owner
    f.retain = retain
    f.release = release
    check(kc_kernel_from_function(ctx, &f, &made, &err), &err)
    return made
