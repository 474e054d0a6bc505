# How calls of the core are run, and what callbacks are told: part of _core.pyx, included there.

from time import monotonic

from kcore._progress import Progress

cdef enum:
    REPORT_MS = 20  # from one report to the next, where calls are shorter than that


@cython.final
cdef class Run:
    """How calls of the core are run, one or several in a row: threads, time limit, callback.

    Parameters
    ----------
    n_threads : int
        0: the context's.
    time_limit : float
        Seconds from now; 0: none.
    callback : callable or None
        Called with a `Progress`. Where it returns True, the call ends with what there is; an
        exception stops the call, and is raised when that has returned.

    Attributes
    ----------
    n_done : int
        Steps or passes of the calls before; a `Progress` counts them as well.
    is_finished : bool
        Whether the callback returned True.
    """

    cdef int32_t n_threads
    cdef double start, last_report, time_limit
    cdef object callback, error
    cdef public int64_t n_done
    cdef readonly bint is_finished

    def __cinit__(self, int32_t n_threads, double time_limit, callback):
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.callback = callback
        self.start = self.last_report = monotonic()

    @property
    def is_late(self):
        """Whether the time limit has passed."""
        return self.time_limit > 0 and monotonic() >= self.start + self.time_limit

    def count(self, int64_t n_passes, double objective):
        """Count the passes of a call; report them where no report was made for 20 ms."""
        self.n_done += n_passes
        if self.callback is None or self.is_finished:
            return
        if monotonic() >= self.last_report + REPORT_MS * 1e-3:
            self.report("perceptron", 0, objective, float("nan"))

    cdef int report(self, phase, int64_t n_iter, double objective, double violation) except -1:
        self.last_report = monotonic()
        answer = self.callback(Progress(
            phase, self.last_report - self.start, self.n_done + n_iter, objective, violation))
        self.is_finished = isinstance(answer, (bool, np.bool_)) and bool(answer)
        return 0

    cdef kc_run begin(self):
        """Return how the next call is to run: within what is left of the time."""
        cdef kc_run run = run_with(self.n_threads)
        if self.callback is not None:
            run.on_progress = report_progress
            run.progress_data = <void *>self
        if self.time_limit > 0:
            run.time_limit = max(self.start + self.time_limit - monotonic(), 1e-9)
        return run

    cdef bint has_ended(self, kc_status status) except -1:
        """Say whether the call gave nothing because time was over, or the callback returned True.

        An exception of the callback is raised.
        """
        if self.error is not None:
            raise self.error
        if PyErr_Occurred() != NULL:
            return False
        return status == KC_ERR_TIME or (status == KC_ERR_CANCELLED and self.is_finished)


cdef int report_progress(void *data, const kc_progress *p) noexcept with gil:
    """Run signal handlers, then the callback."""
    cdef Run run = <Run>data
    if PyErr_Occurred() != NULL or PyErr_CheckSignals() != 0:
        return KC_CANCEL
    if run.is_finished:
        return KC_FINISH
    try:
        run.report(p.phase.decode("ascii"), p.n_iter, p.objective, p.violation)
    except BaseException as error:
        run.error = error
        return KC_CANCEL
    return KC_FINISH if run.is_finished else KC_GO_ON
