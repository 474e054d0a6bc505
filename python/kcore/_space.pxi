# Functions of the space of a kernel: part of _core.pyx, included there.

@cython.final
cdef class Function:
    """A ``kc_function``: its own, or one that belongs to a model; immutable.

    Functions that come from `make_function`, `output`, `combine` and `merged` have one output and
    no intercept.
    """

    cdef const kc_function *ptr
    cdef kc_function *own  # what is freed; NULL: the model's
    cdef Context context
    cdef Model model
    cdef kc_function_info info

    def __dealloc__(self):
        if self.context is not None:
            kc_function_free(self.context.ptr, self.own)

    def __reduce__(self):
        raise TypeError("a compiled function is not pickled: it is made again from its parts")

    def describe(self):
        """Return ``kc_function_info`` as a dict."""
        return self.info

    def coef(self):
        """Return the coefficients, n_outputs x n_points."""
        cdef kc_error err
        cdef double[:, ::1] view
        out = empty((self.info.n_outputs, self.info.n_points), FLOAT64)
        view = out
        if self.info.n_points > 0:
            check(kc_function_coef(self.ptr, &view[0, 0], out.size, &err), &err)
        return out

    def vectors(self):
        """Return the points, part by part, as `points_of` does."""
        return points_of(self.ptr)

    def output(self, int64_t number):
        """Return one output as a function of its own, without its intercept."""
        cdef kc_run run = run_with(0)
        cdef kc_function *made = NULL
        cdef kc_error err
        cdef kc_status status
        with nogil:
            status = kc_function_output(the_context.ptr, &run, self.ptr, number, &made, &err)
        check(status, &err)
        return own_function(made)

    def combine(self, double a, double b, Function other):
        """Return a f + b other, or without another one, a f."""
        cdef kc_run run = run_with(0)
        cdef const kc_function *g = NULL if other is None else other.ptr
        cdef kc_function *made = NULL
        cdef kc_error err
        cdef kc_status status
        with nogil:
            status = kc_function_combine(the_context.ptr, &run, a, self.ptr, b, g, &made, &err)
        check(status, &err)
        return own_function(made)

    def merged(self):
        """Return the function with equal points put together."""
        cdef kc_run run = run_with(0)
        cdef kc_function *made = NULL
        cdef kc_error err
        cdef kc_status status
        with nogil:
            status = kc_function_merge(the_context.ptr, &run, self.ptr, &made, &err)
        check(status, &err)
        return own_function(made)

    def inner(self, Function other not None):
        """Return the inner product with another function."""
        cdef kc_run run = run_with(0)
        cdef kc_error err
        cdef kc_status status
        cdef double out = 0.0
        with nogil:
            status = kc_function_inner(
                the_context.ptr, &run, self.ptr, other.ptr, &out, &err)
        check(status, &err)
        return out

    def evaluate(self, points, int32_t n_threads):
        """Return the values, (n_samples, n_outputs)."""
        cdef kc_run run = run_with(n_threads)
        cdef kc_error err
        cdef kc_status status
        cdef View view
        cdef Py_buffer vout
        cdef double *values
        memset(&vout, 0, sizeof(Py_buffer))
        try:
            open_view(&view, points, b"X")
            out = empty((view.points.n_rows, self.info.n_outputs), FLOAT64)
            values = <double *>new_memory(&vout, out)
            with nogil:
                status = kc_function_evaluate(
                    the_context.ptr, &run, self.ptr, &view.points, KC_PER_OUTPUT, values,
                    self.info.n_outputs, &err)
            check(status, &err)
        finally:
            PyBuffer_Release(&vout)
            close_view(&view)
        return out

    def contributions(self, points, int64_t top, int32_t n_threads):
        """Return points and terms, (n_samples, n_outputs, top) each, the largest terms first."""
        cdef kc_run run = run_with(n_threads)
        cdef kc_error err
        cdef kc_status status
        cdef View view
        cdef Py_buffer buffers[2]
        cdef int64_t *numbers
        cdef double *terms
        memset(buffers, 0, sizeof(buffers))
        try:
            open_view(&view, points, b"X")
            found = empty((view.points.n_rows, self.info.n_outputs, top), INT64)
            values = empty(found.shape, FLOAT64)
            numbers = <int64_t *>new_memory(&buffers[0], found)
            terms = <double *>new_memory(&buffers[1], values)
            if top > 0:
                with nogil:
                    status = kc_function_contributions(
                        the_context.ptr, &run, self.ptr, &view.points, top, numbers, terms, &err)
                check(status, &err)
        finally:
            PyBuffer_Release(&buffers[0])
            PyBuffer_Release(&buffers[1])
            close_view(&view)
        return found, values


cdef Function own_function(kc_function *made):
    """Return the owner of a function."""
    cdef Function function = Function()
    cdef kc_error err
    function.context = the_context
    function.ptr = function.own = made
    function.info.struct_size = sizeof(kc_function_info)
    check(kc_function_describe(made, &function.info, &err), &err)
    return function


def model_function(Model model not None):
    """Return the function of a model, which keeps the model alive."""
    cdef Function function = Function()
    function.model = model
    function.ptr = kc_model_function(model.ptr)
    function.info = model.function
    return function


def online_function(OnlineLearner learner not None, kc_reading reading):
    """Return what a learner has learnt so far: a copy."""
    cdef kc_run run = run_with(1)
    cdef kc_function *made = NULL
    cdef kc_error err
    with learner.own_lock():
        check(kc_online_function(
            the_context.ptr, &run, learner.ptr, reading, NULL, &made, &err), &err)
    return own_function(made)


def make_function(CompiledKernel kernel not None, points, bint is_f32, coef):
    """Return the function of a kernel with these points and coefficients; there may be none."""
    cdef kc_run run = run_with(0)
    cdef kc_function_parts parts
    cdef kc_function *made = NULL
    cdef kc_error err
    cdef kc_status status
    cdef View view
    cdef Py_buffer buffer
    memset(&parts, 0, sizeof(parts))
    memset(&buffer, 0, sizeof(buffer))
    parts.struct_size = sizeof(parts)
    parts.kernel = kernel.ptr
    parts.dtype = KC_F32 if is_f32 else KC_F64
    parts.n_points = points.shape[0]
    parts.n_cols = points.shape[1]
    parts.n_outputs = 1
    parts.decoder = KC_DECODE_VALUES
    try:
        open_view(&view, points, b"X")
        parts.x = &view.points
        parts.coef = <double *>borrow(&buffer, coef, b"d", parts.n_points, False)
        with nogil:
            status = kc_function_create(the_context.ptr, &run, &parts, &made, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&buffer)
        close_view(&view)
    return own_function(made)
