# Kernel perceptrons: part of _core.pyx, included there.

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

from os import register_at_fork
from threading import RLock

STRATEGY_OLDEST = KC_STRATEGY_OLDEST
STRATEGY_SMALLEST = KC_STRATEGY_SMALLEST
STRATEGY_PROJECTION = KC_STRATEGY_PROJECTION
STRATEGY_MERGE = KC_STRATEGY_MERGE
READING_LAST = KC_READING_LAST
READING_MEAN = KC_READING_MEAN
READING_VOTES = KC_READING_VOTES


cdef bint same_values(dict now, tuple names, tuple before) except -1:
    """Say whether the values by these names are those there were; arrays do not say."""
    cdef Py_ssize_t k
    for k in range(len(names)):
        value = now.get(names[k])
        if value is not before[k]:
            try:
                if value != before[k]:
                    return False
            except Exception:
                return False
    return True


cdef bint is_number(value) noexcept:
    return type(value) is float or type(value) is int


cdef int64_t n_forks = 0  # between the first process and this one


def _note_fork():
    global n_forks
    n_forks += 1


register_at_fork(after_in_child=_note_fork)


@cython.final
cdef class OnlineLearner:
    """Owner of one ``kc_online``, which changes as it learns: one thread at a time uses it.

    A child of a fork has one of its parent's threads. What another one held is locked there for
    ever, and what it was changing stays half changed: the lock is made anew, and such a learner is
    refused.

    Statuses are looked at before the lock is given back: a signal handler may have raised already,
    and no Python code can run on that.

    Parameters
    ----------
    nodes : sequence of (name, parameters) or None
        The kernel; None where kernel matrices are given.
    is_f32 : bool
        Whether kernel values are float32.
    like : Points or None
        Samples like those that it will learn from; None without a kernel.
    n_cols, n_classes, is_direct, has_intercept, budget, strategy
        As in ``kc_online_config``.
    reading : int
        What decision values are read from.
    random : ndarray of uint64, shape (n_problems, 4)
        State of the generators of the orders.
    """

    cdef kc_online *ptr
    cdef Context context
    cdef object lock
    cdef int64_t lock_forks, change_forks  # n_forks when the lock was made, when a change began
    cdef bint is_changing
    cdef readonly object nodes
    cdef readonly int64_t n_cols, n_outputs
    cdef int64_t mistakes  # of the last sample on its own
    cdef double criterion

    def __cinit__(
        self, nodes, *, bint is_f32, int64_t n_cols, like, int32_t n_classes,
        bint is_direct, bint has_intercept, kc_reading reading, int64_t budget, int32_t strategy,
        const uint64_t[:, ::1] random,
    ):
        cdef CompiledKernel kernel = None if nodes is None else CompiledKernel(nodes)
        cdef kc_online_config config
        cdef kc_error err
        cdef View view
        self.context = the_context
        self.lock = RLock()
        self.lock_forks = n_forks
        self.nodes = nodes
        if random is None:  # made again from bytes
            return
        memset(&config, 0, sizeof(config))
        config.struct_size = sizeof(config)
        config.kernel = NULL if kernel is None else kernel.ptr
        config.dtype = KC_F32 if is_f32 else KC_F64
        config.n_cols = n_cols
        config.n_classes = n_classes
        config.is_direct = is_direct
        config.has_intercept = has_intercept
        config.is_averaged = reading == KC_READING_MEAN
        config.is_voted = reading == KC_READING_VOTES
        config.strategy = strategy
        config.budget = budget
        if random.shape[1] != 4 or random.shape[0] < (1 if n_classes == 2 or is_direct
                                                      else n_classes):
            raise TypeError("random has four numbers for each problem")
        config.random = &random[0, 0]
        memset(&view, 0, sizeof(View))
        try:
            if like is not None:
                open_view(&view, like, b"X")
                config.like = &view.points
            check(kc_online_create(self.context.ptr, &config, &self.ptr, &err), &err)
        finally:
            close_view(&view)
        self.note_sizes()

    def __dealloc__(self):
        if self.context is not None and not self.is_torn():
            kc_online_free(self.context.ptr, self.ptr)

    def __reduce__(self):
        return load_online, (self.nodes, self.save())

    cdef bint is_torn(self) noexcept:
        return self.is_changing and self.change_forks != n_forks

    cdef void begin_change(self) noexcept nogil:
        self.change_forks = n_forks
        self.is_changing = True

    cdef void end_change(self) noexcept nogil:
        self.is_changing = False

    cdef object own_lock(self):
        """Return the lock, whose holder is a thread of this process."""
        if self.lock_forks != n_forks:
            lock = RLock()
            with cython.critical_section(self):
                if self.lock_forks != n_forks:
                    self.lock = lock
                    self.lock_forks = n_forks
        if self.is_torn():
            raise RuntimeError(
                "a thread of the parent process was learning when this process was forked, and "
                "left the samples kept half changed: fit again")
        return self.lock

    cdef kc_online_info info(self) except *:
        cdef kc_online_info info
        cdef kc_error err
        info.struct_size = sizeof(info)
        check(kc_online_describe(self.ptr, &info, &err), &err)
        return info

    cdef int note_sizes(self) except -1:
        cdef kc_online_info info = self.info()
        self.n_cols = info.n_cols
        self.n_outputs = info.n_outputs
        return 0

    def describe(self):
        """Return ``kc_online_info`` as a dict."""
        with self.own_lock():
            return self.info()

    def save(self):
        """Return the learner as bytes, without its kernel."""
        cdef bytes image
        cdef kc_error err
        with self.own_lock():
            image = PyBytes_FromStringAndSize(NULL, self.info().n_bytes)
            check(kc_online_save(self.ptr, PyBytes_AS_STRING(image), len(image), &err), &err)
        return image

    # Learning.  Each returns the report of the call.

    def learn(
        self, samples, int64_t first, PerceptronSettings settings not None, eta,
        Run run not None, SingleSampleState record,
    ):
        """Learn sample by sample, by the single rule, in up to len(eta) passes.

        `first` is the number of the first sample, -1 for the next one to be seen. `record` is
        None, or keeps what the call did.
        """
        return run_online(self, False, samples, first, settings, eta, 0, run, record)

    def fit(
        self, samples, int64_t first, PerceptronSettings settings not None, eta,
        int64_t cache_bytes, Run run not None, SingleSampleState record,
    ):
        """Learn in dual form, in up to len(eta) passes; `first` and `record` as for `learn`."""
        return run_online(self, True, samples, first, settings, eta, cache_bytes, run, record)

    cdef bint learn_alone(self, x, int32_t code, double margin, double eta) except -1:
        """Learn from a sample, unless `x` is not simply an array of one row."""
        cdef kc_run run
        cdef kc_perceptron_settings settings
        cdef kc_perceptron_data data
        cdef kc_online_report report
        cdef kc_error err
        cdef kc_status status
        cdef View view
        if not open_plain(&view, x, self.n_cols):
            return False
        try:
            if view.points.n_rows != 1:
                return False
            run = run_with(1)
            memset(&settings, 0, sizeof(settings))
            settings.struct_size = sizeof(settings)
            settings.rule = KC_RULE_SINGLE
            settings.margin = margin
            settings.n_passes = 1
            settings.eta = &eta
            memset(&data, 0, sizeof(data))
            data.struct_size = sizeof(data)
            data.x = &view.points
            data.n_classes = max(2, <int32_t>self.n_outputs)
            data.classes = &code
            report.struct_size = sizeof(report)
            report.mistakes = &self.mistakes
            report.criterion = &self.criterion
            with self.own_lock():
                with nogil:
                    self.begin_change()
                    status = kc_online_learn(
                        self.context.ptr, &run, self.ptr, &settings, &data, -1, &report, &err)
                    self.end_change()
                check(status, &err)
            return True
        finally:
            close_view(&view)

    # Reading.

    def decide(self, points, kc_reading reading, int32_t n_threads):
        """Return decision values, (n_samples, n_outputs)."""
        cdef View view
        try:
            open_view(&view, points, b"X")
            return decide_online(self, &view.points, reading, n_threads)
        finally:
            close_view(&view)

    def decide_plain(self, x, kc_reading reading, int32_t n_threads):
        """Return decision values, or None where `x` is not simply an array that fits."""
        cdef View view
        if not open_plain(&view, x, self.n_cols):
            return None
        try:
            return decide_online(self, &view.points, reading, n_threads)
        finally:
            close_view(&view)

    def ids(self):
        """Return the numbers of the samples kept; -1 for merged points."""
        cdef int64_t[::1] view
        cdef kc_error err
        with self.own_lock():
            out = empty(self.info().n_points, INT64)
            view = out
            if len(out) > 0:
                check(kc_online_ids(self.ptr, &view[0], len(out), &err), &err)
        return out

    def coef(self, kc_reading reading):
        """Return the coefficients (n_outputs, n_points), and the intercepts."""
        cdef double[:, ::1] coef
        cdef double[::1] intercepts
        cdef double unused
        cdef kc_error err
        cdef kc_online_info info
        with self.own_lock():
            info = self.info()
            coef = found = empty((info.n_outputs, info.n_points), FLOAT64)
            intercepts = offsets = empty(info.n_outputs, FLOAT64)
            check(kc_online_coef(
                self.ptr, reading, &coef[0, 0] if info.n_points > 0 else &unused, found.size,
                &intercepts[0], len(offsets), &err), &err)
        return found, offsets

    def vectors(self):
        """Return the points kept, part by part, as `points_of` does."""
        cdef kc_context *ctx = self.context.ptr
        cdef kc_run run = run_with(1)
        cdef kc_function *f = NULL
        cdef kc_error err
        with self.own_lock():
            check(kc_online_function(ctx, &run, self.ptr, KC_READING_LAST, NULL, &f, &err), &err)
        try:
            return points_of(f)
        finally:
            kc_function_free(ctx, f)


cdef class SingleSampleState:
    """What learning from one sample reads and changes of a ``FittedOnline``, side by side.

    With 1000 points of 100 features, what Python looked up for a sample took 2.0 us; with a few,
    1.2: points leave little else in the cache. So it is one function over the fields of one object.

    Attributes
    ----------
    learner : OnlineLearner
    names : ndarray of str or None
        Of the features, where the samples were a data frame.
    fixed_params : tuple
        Parameters of the estimator when learning began, which must not change.
    labels : list
        Of the classes.
    code_of : dict
        Their numbers.
    checked_classes : object
        The last `classes` that were checked.
    checked_params : tuple or None
        Parameters of the estimator when they were last checked.
    n_passes, mistakes, criterion, is_converged, bound, rows, cache
        What calls reported.
    """

    cdef public OnlineLearner learner
    cdef public object names, fixed_params, labels, code_of, checked_classes, checked_params
    cdef public int64_t n_passes
    cdef public bint is_converged
    cdef public object mistakes, criterion, bound, rows, cache

    cdef int code_in(self, y, classes) except -2:
        """Return the code of the one label in `y`, -1 where that takes a closer look."""
        try:
            if (
                classes is not None and classes is not self.checked_classes
                and classes != self.labels
            ):
                return -1
            code = (<dict?>self.code_of).get(y.item() if type(y) is ndarray else y[0])
            return -1 if code is None or len(y) != 1 else code
        except (TypeError, ValueError, IndexError, KeyError):
            return -1

    def learn_one(self, dict params, tuple names, x, y, classes):
        """Learn from one sample on the short way; say whether that could be done.

        Parameters
        ----------
        params : dict
            Parameters of the estimator.
        names : tuple of str
            Those that must be what they were when they were last checked.
        x, y, classes : object
            As given by the caller.
        """
        cdef OnlineLearner learner = self.learner
        cdef int code
        eta, margin = params["eta"], params["margin"]
        if (
            self.names is not None
            or self.checked_params is None
            or learner.nodes is None
            or params["class_weight"] is not None
            or params["rule"] != "single"
            or not is_number(eta)
            or not is_number(margin)
            or not same_values(params, names, <tuple?>self.checked_params)
        ):
            return False
        code = self.code_in(y, classes)
        if code < 0 or not learner.learn_alone(x, code, margin, eta):
            return False
        self.take(1, learner.mistakes, learner.criterion, learner.mistakes == 0)
        return True

    cdef int take(
        self, int64_t n_passes, mistakes, criterion, bint is_converged,
    ) except -1:
        """Keep what a call did that learnt in place.

        No Python code runs between learning and this, and so no Ctrl-C is heard: what is kept
        agrees with the learner.
        """
        with cython.critical_section(self):
            self.n_passes += n_passes
            self.mistakes = mistakes
            self.criterion = criterion
            self.is_converged = is_converged
            self.bound = self.rows = None
            if self.cache:
                self.cache.clear()
        return 0


def load_online(nodes, bytes image):
    """Return the learner that `save` made bytes of."""
    cdef CompiledKernel kernel = None if nodes is None else CompiledKernel(nodes)
    cdef OnlineLearner learner = OnlineLearner(
        nodes, is_f32=False, n_cols=1, like=None, n_classes=2, is_direct=False,
        has_intercept=False, reading=KC_READING_LAST, budget=0, strategy=0, random=None)
    cdef kc_error err
    check(kc_online_load(
        learner.context.ptr, NULL if kernel is None else kernel.ptr, PyBytes_AS_STRING(image),
        len(image), &learner.ptr, &err), &err)
    learner.note_sizes()
    return learner


cdef object decide_online(
    OnlineLearner learner, const kc_points *x, kc_reading reading, int32_t n_threads,
):
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer vout
    cdef double *values

    memset(&vout, 0, sizeof(Py_buffer))
    out = empty((x.n_rows, learner.n_outputs), FLOAT64)
    try:
        values = <double *>borrow(&vout, out, b"d", x.n_rows * learner.n_outputs, True)
        with learner.own_lock():
            with nogil:
                status = kc_online_decision(
                    learner.context.ptr, &run, learner.ptr, x, reading, values, &err)
            check(status, &err)
    finally:
        PyBuffer_Release(&vout)
    return out


cdef object run_online(
    OnlineLearner learner, bint is_fit, samples, int64_t first, PerceptronSettings settings, eta,
    int64_t cache_bytes, Run run, SingleSampleState record,
):
    cdef kc_run c_run = run.begin()
    cdef kc_perceptron_settings s = settings.c
    cdef PerceptronData data = PerceptronData(samples)
    cdef kc_online_report report
    cdef kc_error err
    cdef kc_status status
    cdef Py_buffer buffers[3]
    cdef int k

    memset(buffers, 0, sizeof(buffers))
    memset(&report, 0, sizeof(report))
    s.n_passes = len(eta)
    mistakes = empty(s.n_passes, INT64)
    criterion = empty(s.n_passes, FLOAT64)
    try:
        data.borrow()
        s.eta = <double *>borrow(&buffers[0], eta, b"d", s.n_passes, False)
        report.struct_size = sizeof(report)
        report.mistakes = <int64_t *>borrow(&buffers[1], mistakes, b"q", s.n_passes, True)
        report.criterion = <double *>borrow(&buffers[2], criterion, b"d", s.n_passes, True)
        with learner.own_lock():
            with nogil:
                learner.begin_change()
                if is_fit:
                    status = kc_online_fit(
                        learner.context.ptr, &c_run, learner.ptr, &s, &data.c, first, cache_bytes,
                        &report, &err)
                else:
                    status = kc_online_learn(
                        learner.context.ptr, &c_run, learner.ptr, &s, &data.c, first, &report,
                        &err)
                learner.end_change()
            run.has_ended(status)
            if data.function is not None and data.function.error is not None:
                raise data.function.error
            check(status, &err)
            if record is not None:
                record.take(
                    report.n_done, mistakes[:report.n_done], criterion[:report.n_done],
                    report.is_converged != 0)
    finally:
        for k in range(3):
            PyBuffer_Release(&buffers[k])
        data.give_back()
    return {
        "mistakes": mistakes[:report.n_done],
        "criterion": criterion[:report.n_done],
        "n_updates": report.n_updates,
        "is_converged": report.is_converged != 0,
        "min_value": report.min_value,
        "sq_norm": report.sq_norm,
        "max_diag": report.max_diag,
        "rows_computed": report.rows_computed,
        "rows_hit": report.rows_hit,
        "rows_evicted": report.rows_evicted,
        "cache_bytes_allowed": report.cache_bytes_allowed,
        "cache_bytes_used": report.cache_bytes_used,
    }
