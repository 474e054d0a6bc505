# Support vector machines, fit and predict: part of _core.pyx, included there.

C_SVC = KC_C_SVC
NU_SVC = KC_NU_SVC
EPS_SVR = KC_EPS_SVR
NU_SVR = KC_NU_SVR
ONE_CLASS = KC_ONE_CLASS
ONE_VS_ONE = KC_ONE_VS_ONE
ONE_VS_REST = KC_ONE_VS_REST
PRECISION_AUTO = KC_PRECISION_AUTO
PRECISION_F32 = KC_PRECISION_F32
PRECISION_F64 = KC_PRECISION_F64
STOP_CONVERGED = KC_STOP_CONVERGED

cdef object ndarray = np.ndarray

cdef enum:
    SHORT_WORK = 100000  # multiply-adds
    ONE_CODE_COUNT = 64

# Indices of one sample's class: a name is found with less than half of what it costs to make one.
cdef tuple ONE_CODE = tuple(np.array([code]) for code in range(ONE_CODE_COUNT))

# What the classes of one-class are called.
cdef object OUTSIDE_INSIDE = np.array([-1, 1])


def settings():
    """Return the core's table of settings: name -> (type, default, min, max, above min, help)."""
    cdef int32_t k
    cdef const kc_setting *s
    table = {}
    for k in range(kc_setting_count()):
        s = kc_setting_at(k)
        table[s.name.decode("ascii")] = (
            s.type.decode("ascii"), s.default_value, s.min, s.max, s.is_above_min != 0,
            s.help.decode("utf-8"))
    return table


def stop_name(int stop):
    """Return the word for a reason to stop: ``'converged'``, ``'max_iter'``, ..."""
    return kc_stop_name(<kc_stop>stop).decode("ascii")


# ---- Models

@cython.final
cdef class Model:
    """Owner of one ``kc_model``: immutable, for any number of threads at once."""

    cdef kc_model *ptr
    cdef Context context
    cdef kc_model_info info
    cdef kc_function_info function

    def __dealloc__(self):
        if self.context is not None:
            kc_model_free(self.context.ptr, self.ptr)

    def __reduce__(self):
        raise TypeError("a compiled model is not pickled: it is made again from its parts")

    def describe(self):
        """Return ``kc_model_info`` and ``kc_function_info`` as one dict."""
        return {**self.function, **self.info}

    def support(self):
        """Return the indices of the support vectors among the samples of the fit."""
        cdef kc_error err
        cdef int32_t[::1] view
        out = empty(self.function.n_points, INT32)
        view = out
        if self.function.n_points > 0:
            check(kc_model_support(self.ptr, &view[0], len(out), &err), &err)
        return out

    def class_counts(self):
        """Return how many support vectors each class has."""
        cdef kc_error err
        cdef int32_t[::1] view
        out = empty(max(1, self.info.n_classes), INT32)
        view = out
        check(kc_model_class_counts(self.ptr, &view[0], len(out), &err), &err)
        return out

    def intercepts(self):
        """Return the intercept of every problem."""
        cdef kc_error err
        cdef double[::1] view
        out = empty(self.function.n_outputs, FLOAT64)
        view = out
        check(kc_function_intercepts(
            kc_model_function(self.ptr), &view[0], len(out), &err), &err)
        return out

    def coef(self):
        """Return the coefficients of the support vectors, n_coef_rows x n_support."""
        cdef kc_error err
        cdef double[:, ::1] view
        out = empty((self.info.n_coef_rows, self.function.n_points), FLOAT64)
        view = out
        if self.function.n_points > 0:
            check(kc_model_coef(self.ptr, &view[0, 0], out.size, &err), &err)
        return out

    def vectors(self):
        """Return the support vectors, part by part, as `points_of` does."""
        return points_of(kc_model_function(self.ptr))

    def linear(self):
        """Return the weights of a linear kernel, n_problems x n_cols."""
        cdef kc_error err
        cdef double[:, ::1] view
        out = empty((self.function.n_outputs, self.function.n_cols), FLOAT64)
        view = out
        check(kc_function_weights(
            kc_model_function(self.ptr), &view[0, 0], out.size, &err), &err)
        return out

    # Prediction.  `x` is what the user gave: where it is a plain array that the core can read as
    # it is, the answer comes at once; else None, and the caller makes points of it.

    def decide_plain(self, x, bint by_class, int32_t n_threads):
        """Return decision values, or None where `x` is not simply an array that fits."""
        cdef View view
        if not open_plain(&view, x, self.function.n_cols):
            return None
        try:
            return decide(self, &view.points, by_class, n_threads)
        finally:
            close_view(&view)

    def decide(self, points, bint by_class, int32_t n_threads):
        """Return decision values: one for each sample, or a row of them."""
        cdef View view
        try:
            open_view(&view, points, b"X")
            return decide(self, &view.points, by_class, n_threads)
        finally:
            close_view(&view)

    def classify_plain(self, x, classes, bint break_ties, int32_t n_threads):
        """Return classes by their names, or None where `x` is not simply an array that fits."""
        cdef View view
        if not open_plain(&view, x, self.function.n_cols):
            return None
        try:
            return classify(self, &view.points, classes, break_ties, n_threads)
        finally:
            close_view(&view)

    def classify(self, points, classes, bint break_ties, int32_t n_threads):
        """Return the class of each sample by its name; for one-class and no names, 1 or -1."""
        cdef View view
        try:
            open_view(&view, points, b"X")
            return classify(self, &view.points, classes, break_ties, n_threads)
        finally:
            close_view(&view)


cdef list points_of(const kc_function *f):
    """Return the parts of the points of a function.

    Numbers are doubles: an array, or (data, indices, indptr, number of columns) of CSR; strings are
    (bytes, indptr).
    """
    cdef kc_function_info info
    cdef kc_error err
    info.struct_size = sizeof(info)
    check(kc_function_describe(f, &info, &err), &err)
    return [part_of(f, k, info.n_points) for k in range(info.n_parts)]


cdef object part_of(const kc_function *f, int64_t number, int64_t n_points):
    cdef kc_part_info part
    cdef kc_error err
    cdef double[:, ::1] dense
    part.struct_size = sizeof(part)
    check(kc_function_part(f, number, &part, &err), &err)
    if part.storage == KC_CSR:
        return (*csr_part(f, number, n_points, part.n_values), part.n_cols)
    if part.storage == KC_STRINGS:
        return strings_part(f, number, n_points, part.n_values)
    out = empty((n_points, part.n_cols), FLOAT64)
    if n_points > 0:
        dense = out
        check(kc_function_points(f, number, &dense[0, 0], out.size, &err), &err)
    return out


# Arrays have one entry more than there are, so that there is always a first one to point at.

cdef tuple csr_part(const kc_function *f, int64_t number, int64_t n_points, int64_t n_values):
    cdef double[::1] values = np.empty(n_values + 1, FLOAT64)
    cdef int32_t[::1] indices = np.empty(n_values + 1, INT32)
    cdef int64_t[::1] indptr = np.empty(n_points + 1, INT64)
    cdef kc_error err
    check(kc_function_points_csr(
        f, number, &indptr[0], n_points + 1, &indices[0], &values[0], n_values, &err), &err)
    return np.asarray(values)[:n_values], np.asarray(indices)[:n_values], np.asarray(indptr)


cdef tuple strings_part(const kc_function *f, int64_t number, int64_t n_points, int64_t n_bytes):
    cdef uint8_t[::1] values = np.empty(n_bytes + 1, np.uint8)
    cdef int64_t[::1] indptr = np.empty(n_points + 1, INT64)
    cdef kc_error err
    check(kc_function_strings(
        f, number, &indptr[0], n_points + 1, <char *>&values[0], n_bytes, &err), &err)
    return np.asarray(values)[:n_bytes], np.asarray(indptr)


cdef bint open_plain(View *view, object x, int64_t n_cols) except -1:
    """Borrow `x` if it is an ndarray of aligned native reals with rows of the right length."""
    if type(x) is not ndarray:
        return False
    memset(view, 0, sizeof(View))
    view.points.struct_size = sizeof(kc_points)
    view.points.name = b"X"
    try:
        borrow_dense(view, x)
    except (TypeError, ValueError, BufferError):
        close_view(view)
        return False
    if view.points.n_cols != n_cols or view.points.n_rows == 0:
        close_view(view)
        return False
    return True


cdef bint is_short(Model model, const kc_points *x) noexcept:
    """Say whether the answer takes some ten microseconds at the most.

    Then the GIL is kept: handing it over and back costs as much as a small answer.
    """
    cdef double n_values = <double>x.n_rows * <double>model.function.n_points
    if x.storage == KC_STRINGS or x.next != NULL:  # strings may be of any length
        return False
    return n_values * <double>(model.function.n_cols + model.info.n_coef_rows + 16) <= SHORT_WORK


cdef void *new_memory(Py_buffer *view, object array) except NULL:
    """Return the memory of an array that was made here."""
    PyObject_GetBuffer(array, view, PyBUF_WRITABLE)
    return view.buf


cdef object decide(Model model, const kc_points *x, bint by_class, int32_t n_threads):
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer vout
    cdef kc_columns columns = KC_PER_OUTPUT
    cdef int64_t n_cols = model.function.n_outputs
    cdef double *values
    cdef const kc_function *f = kc_model_function(model.ptr)

    if by_class and model.info.n_classes > 2:
        columns = KC_PER_CLASS
        n_cols = model.info.n_classes
    if n_cols == 1:
        out = empty(x.n_rows, FLOAT64)
    else:
        out = empty((x.n_rows, n_cols), FLOAT64)
    values = <double *>new_memory(&vout, out)
    if is_short(model, x):
        status = kc_function_evaluate(ctx, &run, f, x, columns, values, n_cols, &err)
    else:
        with nogil:
            status = kc_function_evaluate(ctx, &run, f, x, columns, values, n_cols, &err)
    PyBuffer_Release(&vout)
    check(status, &err)
    return out


cdef object classify(
    Model model, const kc_points *x, object classes, bint break_ties, int32_t n_threads,
):
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef Py_buffer vout
    cdef int32_t *codes
    cdef int32_t code = 0
    cdef kc_status status
    cdef const kc_function *f = kc_model_function(model.ptr)

    if classes is None:
        classes = OUTSIDE_INSIDE
    if x.n_rows == 1 and is_short(model, x):
        check(kc_function_predict(ctx, &run, f, x, break_ties, &code, &err), &err)
        return classes[ONE_CODE[code] if code < ONE_CODE_COUNT else np.array([code])]
    out = empty(x.n_rows, INT64)
    # The core writes into the upper half, from where its numbers are widened.
    codes = <int32_t *>new_memory(&vout, out) + x.n_rows
    with nogil:
        status = kc_function_predict(ctx, &run, f, x, break_ties, codes, &err)
        if status == KC_OK:
            widen(<char *>vout.buf, x.n_rows)
    PyBuffer_Release(&vout)
    check(status, &err)
    return classes[out]


cdef void widen(char *numbers, int64_t n) noexcept nogil:
    """Make n int64 of the n int32 in the upper half of their memory."""
    cdef int64_t i, wide
    cdef int32_t narrow
    for i in range(n):
        memcpy(&narrow, numbers + (n + i) * 4, sizeof(narrow))
        wide = narrow
        memcpy(numbers + i * 8, &wide, sizeof(wide))


def make_model(
    dict info, CompiledKernel kernel, points, support, class_counts, coef, intercepts,
):
    """Return the model of these parts: what `describe` and the functions after it gave."""
    cdef kc_error err
    cdef kc_model_parts parts
    cdef View view
    cdef Py_buffer buffers[4]
    cdef Model model = Model()

    memset(&view, 0, sizeof(View))
    memset(buffers, 0, sizeof(buffers))
    memset(&parts, 0, sizeof(parts))
    parts.struct_size = sizeof(parts)
    parts.type = info["type"]
    parts.multiclass = info["multiclass"]
    parts.n_classes = info["n_classes"]
    parts.dtype = <kc_dtype><int>info["dtype"]
    parts.n_problems = info["n_outputs"]
    parts.n_coef_rows = info["n_coef_rows"]
    parts.n_support = info["n_points"]
    parts.n_cols = info["n_cols"]
    parts.kernel = NULL if kernel is None else kernel.ptr
    try:
        if points is not None:
            open_view(&view, points, b"support vectors")
            parts.x = &view.points
        parts.support = <int32_t *>borrow(&buffers[0], support, b"i", parts.n_support, False)
        parts.class_counts = <int32_t *>borrow(
            &buffers[1], class_counts, b"i", max(1, parts.n_classes), False)
        parts.coef = <double *>borrow(
            &buffers[2], coef, b"d", parts.n_coef_rows * parts.n_support, False)
        parts.intercepts = <double *>borrow(
            &buffers[3], intercepts, b"d", parts.n_problems, False)
        check(kc_model_create(the_context.ptr, &parts, &model.ptr, &err), &err)
        own_model(model)
    finally:
        for k in range(4):
            PyBuffer_Release(&buffers[k])
        close_view(&view)
    return model


cdef int own_model(Model model) except -1:
    cdef kc_error err
    model.context = the_context
    model.info.struct_size = sizeof(kc_model_info)
    model.function.struct_size = sizeof(kc_function_info)
    check(kc_model_describe(model.ptr, &model.info, &err), &err)
    return check(kc_function_describe(kc_model_function(model.ptr), &model.function, &err), &err)


# ---- Fit

@cython.final
cdef class FitInfo:
    """What the core says of a fit: the total, and each of its problems."""

    cdef kc_fit_info *rows  # the total first
    cdef int64_t n_problems

    def __cinit__(self, int64_t n_problems):
        cdef size_t n_bytes = <size_t>(1 + n_problems) * sizeof(kc_fit_info)
        self.rows = <kc_fit_info *>PyMem_Malloc(n_bytes)
        if self.rows == NULL:
            raise MemoryError
        memset(self.rows, 0, n_bytes)
        self.rows[0].struct_size = sizeof(kc_fit_info)
        self.n_problems = n_problems

    def __dealloc__(self):
        PyMem_Free(self.rows)

    def __reduce__(self):
        raise TypeError("pickle what total and problems return")

    @property
    def stop(self):
        """Why the fit ended, as a number."""
        return <int>self.rows[0].stop

    def total(self):
        """Return ``kc_fit_info`` of the whole fit as a dict."""
        return self.rows[0]

    def problems(self):
        """Return ``kc_fit_info`` of each problem, as dicts."""
        return [self.rows[1 + k] for k in range(self.n_problems)]


@cython.final
cdef class UserFunction:
    """A Python function that computes kernel values, and the exception it raised, if any."""

    cdef object callback
    cdef object error

    def __cinit__(self, callback):
        self.callback = callback


cdef int call_user_kernel(
    void *data, const int64_t *rows, int64_t n_rows, const int64_t *cols, int64_t n_cols,
    double *out,
) noexcept with gil:
    """Copy what the function returns for these samples; an exception of it ends the call."""
    cdef UserFunction function = <UserFunction>data
    cdef Py_buffer buffer
    memset(&buffer, 0, sizeof(Py_buffer))
    try:
        values = function.callback(copy_indices(rows, n_rows), copy_indices(cols, n_cols))
        memcpy(
            out, borrow(&buffer, values, b"d", n_rows * n_cols, False),
            <size_t>(n_rows * n_cols) * sizeof(double))
    except BaseException as error:
        function.error = error
        return 1
    finally:
        PyBuffer_Release(&buffer)
    return 0


cdef object copy_indices(const int64_t *indices, int64_t n):
    out = empty(n, INT64)
    cdef int64_t[::1] view = out
    memcpy(&view[0], indices, <size_t>n * sizeof(int64_t))
    return out


@cython.final
cdef class SVMSettings:
    """What a fit solves, and how exactly: ``kc_svm_settings``.

    Parameters
    ----------
    svm_type, multiclass, precision, shrinking, tol, cache_bytes, max_iter
        As there.
    C, nu, epsilon : float or None
        As there; None is the core's default.
    """

    cdef kc_svm_settings c

    def __cinit__(
        self, *, int32_t svm_type, int32_t multiclass, int32_t precision, bint shrinking,
        double tol, int64_t cache_bytes, int64_t max_iter, C, nu, epsilon,
    ):
        kc_svm_settings_init(&self.c, sizeof(self.c))
        self.c.type = svm_type
        self.c.multiclass = multiclass
        self.c.precision = precision
        self.c.shrinking = shrinking
        self.c.tol = tol
        self.c.cache_bytes = cache_bytes
        self.c.max_iter = max_iter
        if C is not None:
            self.c.C = C
        if nu is not None:
            self.c.nu = nu
        if epsilon is not None:
            self.c.epsilon = epsilon

    def __reduce__(self):
        raise TypeError("settings are made for one fit, and not pickled")

    cpdef int64_t coef_rows(self, int32_t n_classes):
        """Return how many rows of coefficients the model will have."""
        if n_classes <= 2:
            return 1
        return n_classes if self.c.multiclass == KC_ONE_VS_REST else n_classes - 1


@cython.final
cdef class SVMData:
    """What a fit learns from, and where it starts: ``kc_svm_data``, borrowed when it is used.

    Parameters
    ----------
    samples : Points or callable
        Samples; or a function of two arrays of indices that returns the kernel values of these
        samples, float64 in one piece.
    n_samples : int
        Their number.
    n_classes : int
        0 where there are no classes.
    codes : ndarray of int32 or None
        The class of each sample.
    targets, weights : ndarray of float64 or None
        An entry for each sample.
    class_weights : ndarray of float64 or None
        An entry for each class.
    start : ndarray of float64, shape (n_coef_rows, n_samples), or None
        Coefficients.
    """

    cdef kc_svm_data c
    cdef object samples, codes, targets, weights, class_weights, start
    cdef UserFunction function
    cdef View view
    cdef Py_buffer buffers[5]

    def __cinit__(
        self, *, samples, int64_t n_samples, int32_t n_classes, codes, targets, weights,
        class_weights, start,
    ):
        self.samples = samples
        self.codes = codes
        self.targets = targets
        self.weights = weights
        self.class_weights = class_weights
        self.start = start
        self.c.struct_size = sizeof(self.c)
        self.c.n_samples = n_samples
        self.c.n_classes = n_classes

    def __reduce__(self):
        raise TypeError("the data of a fit are not pickled")

    cdef int borrow(self, int64_t n_coef_rows) except -1:
        """Point at the memory of the arrays; give_back is always due."""
        cdef int64_t n = self.c.n_samples
        b = self.buffers
        if callable(self.samples):
            self.function = UserFunction(self.samples)
            self.c.kernel_fn = call_user_kernel
            self.c.kernel_data = <void *>self.function
        else:
            open_view(&self.view, self.samples, b"X")
            self.c.x = &self.view.points
            n = self.view.points.n_rows
        if self.codes is not None:
            self.c.classes = <int32_t *>borrow(&b[0], self.codes, b"i", n, False)
        if self.targets is not None:
            self.c.targets = <double *>borrow(&b[1], self.targets, b"d", n, False)
        if self.weights is not None:
            self.c.weights = <double *>borrow(&b[2], self.weights, b"d", n, False)
        if self.class_weights is not None:
            self.c.class_weights = <double *>borrow(
                &b[3], self.class_weights, b"d", self.c.n_classes, False)
        if self.start is not None:
            self.c.start = <double *>borrow(&b[4], self.start, b"d", n_coef_rows * n, False)
        return 0

    cdef void give_back(self) noexcept:
        cdef int k
        for k in range(5):
            PyBuffer_Release(&self.buffers[k])
        close_view(&self.view)


def fit_svm(
    CompiledKernel kernel, SVMSettings settings not None, SVMData data not None, Run run not None,
):
    """Fit a model; return it and a FitInfo.  Where `data` has a function, `kernel` is None."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run c_run
    cdef kc_error err
    cdef kc_status status
    cdef Model model = Model()
    cdef FitInfo info = FitInfo(kc_svm_problem_count(&settings.c, data.c.n_classes))
    cdef kc_kernel *c_kernel = NULL if kernel is None else kernel.ptr

    try:
        data.borrow(settings.coef_rows(data.c.n_classes))
        c_run = run.begin()
        with nogil:
            status = kc_svm_fit(
                ctx, &c_run, &settings.c, c_kernel, &data.c, &model.ptr, info.rows,
                info.rows + 1, &err)
        run.has_ended(status)
        if data.function is not None and data.function.error is not None:
            raise data.function.error
        check(status, &err)
        own_model(model)
    finally:
        data.give_back()
    return model, info
