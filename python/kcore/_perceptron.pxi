# Linear perceptrons: part of _core.pyx, included there.

RULE_SINGLE = KC_RULE_SINGLE
RULE_BATCH = KC_RULE_BATCH

# The layout of kc_perceptron_update.
UPDATE = np.dtype(
    {
        "names": ["at", "sample", "raised", "lowered", "step"],
        "formats": [np.int64, np.int32, np.int32, np.int32, np.float64],
        "offsets": [0, 8, 12, 16, 24],
        "itemsize": sizeof(kc_perceptron_update),
    }
)


@cython.final
cdef class LinearState:
    """A linear perceptron while it learns: one problem, its arrays and its counts.

    Parameters
    ----------
    positive : int
        The class that is +1, all others being -1; not used by the direct rule.
    weights, intercepts : ndarray of float64, shapes (n_outputs, n_features) and (n_outputs,)
        Where learning starts; changed in place.
    time_weighted, time_weighted_intercepts : ndarray of float64 or None
        The same shapes, for the mean over all steps.
    best_weights, best_intercepts : ndarray of float64 or None
        The same shapes, for the pocket.
    random : ndarray of uint64, shape (4,)
        State of the generator of the order.
    """

    cdef readonly int32_t positive
    cdef readonly object weights, intercepts, time_weighted, time_weighted_intercepts
    cdef readonly object best_weights, best_intercepts, random
    cdef readonly object mistakes, criterion, log
    cdef readonly int64_t n_steps, n_updates, n_done, best_mistakes, best_run, changed_at
    cdef readonly bint is_converged, has_best
    cdef readonly double best_loss
    cdef Py_buffer buffers[9]

    def __cinit__(
        self, int32_t positive, weights, intercepts, time_weighted, time_weighted_intercepts,
        best_weights, best_intercepts, random,
    ):
        memset(self.buffers, 0, sizeof(self.buffers))
        if not isinstance(random, np.ndarray) or random.dtype != np.uint64 or random.shape != (4,):
            raise ValueError("random must be an array of 4 uint64: the pickle is damaged")
        self.positive = positive
        self.weights = weights
        self.intercepts = intercepts
        self.time_weighted = time_weighted
        self.time_weighted_intercepts = time_weighted_intercepts
        self.best_weights = best_weights
        self.best_intercepts = best_intercepts
        self.random = random

    cdef tuple arrays(self):
        return (self.weights, self.intercepts, self.time_weighted, self.time_weighted_intercepts,
                self.best_weights, self.best_intercepts, self.random)

    cdef tuple counts(self):
        return (self.n_steps, self.n_updates, self.n_done, self.is_converged, self.has_best,
                self.best_loss, self.best_mistakes, self.best_run, self.changed_at)

    def __reduce__(self):
        return LinearState, (self.positive, *self.arrays()), self.counts()

    def __setstate__(self, counts):
        (self.n_steps, self.n_updates, self.n_done, self.is_converged, self.has_best,
         self.best_loss, self.best_mistakes, self.best_run, self.changed_at) = counts

    def copy(self):
        """Return a state with arrays of its own, to go on from."""
        arrays = [None if array is None else array.copy() for array in self.arrays()]
        state = LinearState(self.positive, *arrays)
        state.__setstate__(self.counts())
        return state

    cdef int lend(self, kc_perceptron_state *state, int64_t n_outputs, int64_t d, int64_t n,
                  int64_t n_passes, bint is_logged) except -1:
        """Let the core write into the arrays; take_back is always due."""
        cdef uint64_t[::1] random = self.random
        cdef int k
        memset(state, 0, sizeof(kc_perceptron_state))
        state.struct_size = sizeof(kc_perceptron_state)
        state.positive = self.positive
        state.n_steps = self.n_steps
        state.n_updates = self.n_updates
        state.has_best = self.has_best
        state.best_loss = self.best_loss
        state.best_mistakes = self.best_mistakes
        state.best_run = self.best_run
        state.changed_at = self.changed_at
        for k in range(4):
            state.random[k] = random[k]
        self.mistakes = empty(n_passes, INT64)
        self.criterion = empty(n_passes, FLOAT64)
        b = self.buffers
        state.weights = <double *>borrow(&b[0], self.weights, b"d", n_outputs * d, True)
        state.intercepts = <double *>borrow(&b[1], self.intercepts, b"d", n_outputs, True)
        if self.time_weighted is not None:
            state.time_weighted = <double *>borrow(
                &b[2], self.time_weighted, b"d", n_outputs * d, True)
            state.time_weighted_intercepts = <double *>borrow(
                &b[3], self.time_weighted_intercepts, b"d", n_outputs, True)
        state.mistakes = <int64_t *>borrow(&b[4], self.mistakes, b"q", n_passes, True)
        state.criterion = <double *>borrow(&b[5], self.criterion, b"d", n_passes, True)
        if self.best_weights is not None:
            state.best_weights = <double *>borrow(
                &b[6], self.best_weights, b"d", n_outputs * d, True)
            state.best_intercepts = <double *>borrow(
                &b[7], self.best_intercepts, b"d", n_outputs, True)
        self.log = None
        if is_logged:
            self.log = empty(n * n_passes, UPDATE)
            PyObject_GetBuffer(self.log, &b[8], PyBUF_WRITABLE)
            state.log = <kc_perceptron_update *>b[8].buf
        return 0

    cdef int take_back(self, const kc_perceptron_state *state) except -1:
        cdef uint64_t[::1] random = self.random
        cdef int k
        for k in range(9):
            PyBuffer_Release(&self.buffers[k])
        for k in range(4):
            random[k] = state.random[k]
        self.n_steps = state.n_steps
        self.n_updates = state.n_updates
        self.n_done = state.n_done
        self.is_converged = state.is_converged
        self.has_best = state.has_best
        self.best_loss = state.best_loss
        self.best_mistakes = state.best_mistakes
        self.best_run = state.best_run
        self.changed_at = state.changed_at
        if self.log is not None:
            self.log = self.log[:state.n_log].copy()
        return 0


@cython.final
cdef class PerceptronSettings:
    """How a perceptron learns: ``kc_perceptron_settings`` but for the steps of a call.

    Parameters
    ----------
    rule, is_direct, has_intercept, is_shuffled, margin, theta
        As there.
    """

    cdef kc_perceptron_settings c

    def __cinit__(
        self, *, int32_t rule, bint is_direct, bint has_intercept, bint is_shuffled,
        double margin, double theta,
    ):
        self.c.struct_size = sizeof(self.c)
        self.c.rule = rule
        self.c.is_direct = is_direct
        self.c.has_intercept = has_intercept
        self.c.is_shuffled = is_shuffled
        self.c.margin = margin
        self.c.theta = theta

    def __reduce__(self):
        raise TypeError("settings are made for one call, and not pickled")


def perceptron_run(
    samples, list states, PerceptronSettings settings not None, eta, bint is_logged,
    Run run not None,
):
    """Make up to len(eta) passes over the samples for each of the states."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run c_run = run.begin()
    cdef kc_perceptron_settings s = settings.c
    cdef kc_perceptron_state *c_states
    cdef kc_error err
    cdef kc_status status
    cdef PerceptronData data = PerceptronData(samples)
    cdef Py_buffer steps
    cdef LinearState state
    cdef int32_t n_states = <int32_t>len(states)
    cdef int32_t n_lent = 0
    cdef int64_t n, d
    cdef int k

    memset(&steps, 0, sizeof(steps))
    s.n_passes = len(eta)
    c_states = <kc_perceptron_state *>PyMem_Malloc(
        <size_t>max(1, n_states) * sizeof(kc_perceptron_state))
    if c_states == NULL:
        raise MemoryError
    memset(c_states, 0, <size_t>n_states * sizeof(kc_perceptron_state))
    try:
        data.borrow()
        n = data.view.points.n_rows
        d = data.view.points.n_cols
        s.eta = <double *>borrow(&steps, eta, b"d", s.n_passes, False)
        for k in range(n_states):
            state = states[k]
            n_lent = k + 1
            state.lend(
                &c_states[k], data.c.n_classes if s.is_direct else 1, d, n, s.n_passes, is_logged)
        with nogil:
            status = kc_perceptron_run(ctx, &c_run, &s, &data.c, c_states, n_states, &err)
        run.has_ended(status)
        check(status, &err)
    finally:
        for k in range(n_lent):
            state = states[k]
            state.take_back(&c_states[k])
        PyMem_Free(c_states)
        PyBuffer_Release(&steps)
        data.give_back()


@cython.final
cdef class PerceptronData:
    """What a perceptron learns from: ``kc_perceptron_data``, borrowed while a call runs.

    Parameters
    ----------
    samples : kcore._rules.Samples
        Points, or a function of two arrays of indices that returns their kernel values; codes,
        number of classes and weights.
    """

    cdef kc_perceptron_data c
    cdef object samples, codes, weights
    cdef UserFunction function
    cdef View view
    cdef Py_buffer buffers[2]

    def __cinit__(self, samples):
        self.samples, self.codes, self.c.n_classes, self.weights = samples
        self.c.struct_size = sizeof(self.c)

    def __reduce__(self):
        raise TypeError("the data of a call are not pickled")

    cdef int borrow(self) except -1:
        """Point at the memory of the arrays; give_back is always due."""
        cdef int64_t n
        if callable(self.samples):
            self.function = UserFunction(self.samples)
            self.c.kernel_fn = call_user_kernel
            self.c.kernel_data = <void *>self.function
            self.c.n_samples = n = len(self.codes)
        else:
            open_view(&self.view, self.samples, b"X")
            self.c.x = &self.view.points
            n = self.view.points.n_rows
        self.c.classes = <int32_t *>borrow(&self.buffers[0], self.codes, b"i", n, False)
        if self.weights is not None:
            self.c.weights = <double *>borrow(&self.buffers[1], self.weights, b"d", n, False)
        return 0

    cdef void give_back(self) noexcept:
        PyBuffer_Release(&self.buffers[0])
        PyBuffer_Release(&self.buffers[1])
        close_view(&self.view)


def linear_decision(points, weights, intercepts, int32_t n_threads):
    """Return weights[k].x_i + intercepts[k] as an array (n_samples, n_outputs)."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef View view
    cdef Py_buffer buffers[3]
    cdef int32_t n_outputs = <int32_t>len(intercepts)
    cdef const double *w
    cdef const double *b
    cdef double *values

    memset(buffers, 0, sizeof(buffers))
    try:
        open_view(&view, points, b"X")
        out = empty((view.points.n_rows, n_outputs), FLOAT64)
        w = <double *>borrow(&buffers[0], weights, b"d", n_outputs * view.points.n_cols, False)
        b = <double *>borrow(&buffers[1], intercepts, b"d", n_outputs, False)
        values = <double *>borrow(&buffers[2], out, b"d", view.points.n_rows * n_outputs, True)
        with nogil:
            status = kc_linear_decision(
                ctx, &run, &view.points, w, b, n_outputs, values, &err)
        check(status, &err)
    finally:
        for k in range(3):
            PyBuffer_Release(&buffers[k])
        close_view(&view)
    return out


def perceptron_votes(points, logs, int32_t n_outputs, bint has_intercept, int32_t n_threads):
    """Return the votes of all weight vectors that problems had, (n_samples, all outputs).

    Each of `logs` is the samples of its updates or None, the updates, and the samples seen.
    """
    cdef View view
    cdef Py_buffer vout
    cdef double *values
    cdef int64_t k, n_cols = n_outputs * <int64_t>len(logs)

    memset(&vout, 0, sizeof(Py_buffer))
    try:
        open_view(&view, points, b"X")
        out = empty((view.points.n_rows, n_cols), FLOAT64)
        values = <double *>borrow(&vout, out, b"d", view.points.n_rows * n_cols, True)
        for k in range(len(logs)):
            count_votes(
                logs[k], &view.points, n_outputs, has_intercept, n_threads,
                values + k * n_outputs, n_cols)
    finally:
        PyBuffer_Release(&vout)
        close_view(&view)
    return out


cdef int count_votes(
    tuple log, const kc_points *x, int32_t n_outputs, bint has_intercept, int32_t n_threads,
    double *out, int64_t out_ld,
) except -1:
    """Count the votes of one problem into its columns."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_perceptron_history history
    cdef kc_error err
    cdef kc_status status
    cdef View view
    cdef Py_buffer vupdates

    samples, updates, n_steps = log
    memset(&view, 0, sizeof(View))
    memset(&vupdates, 0, sizeof(Py_buffer))
    memset(&history, 0, sizeof(history))
    history.struct_size = sizeof(history)
    history.n_steps = n_steps
    history.n_outputs = n_outputs
    history.has_intercept = has_intercept
    try:
        if samples is not None:
            open_view(&view, samples, b"samples of updates")
            history.x = &view.points
        if not isinstance(updates, ndarray) or updates.dtype != UPDATE:
            raise TypeError("updates are an array of UPDATE")
        PyObject_GetBuffer(updates, &vupdates, PyBUF_RECORDS_RO)
        if vupdates.ndim != 1 or (
            vupdates.shape[0] > 1 and vupdates.strides[0] != sizeof(kc_perceptron_update)
        ):
            raise TypeError("updates are contiguous")
        history.updates = <kc_perceptron_update *>vupdates.buf
        history.n_updates = vupdates.shape[0]
        with nogil:
            status = kc_perceptron_votes(ctx, &run, &history, x, out, out_ld, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&vupdates)
        close_view(&view)
    return 0


def perceptron_measure(samples, int32_t positive, vector, double intercept):
    """Return (max |x|^2, min z (a.x + b), number of mistakes) of one weight vector."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(0)
    cdef PerceptronData data = PerceptronData(samples)
    cdef kc_perceptron_margin margin
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer buffer
    cdef const double *a

    memset(&buffer, 0, sizeof(buffer))
    margin.struct_size = sizeof(margin)
    try:
        data.borrow()
        a = <double *>borrow(&buffer, vector, b"d", data.view.points.n_cols, False)
        with nogil:
            status = kc_perceptron_measure(
                ctx, &run, &data.c, positive, a, intercept, &margin, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&buffer)
        data.give_back()
    return margin.max_sq_norm, margin.min_value, margin.n_mistakes
