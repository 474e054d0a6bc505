# Who is told how far a call has come, and how long it may take: part of _core.pyx, included there.

from time import monotonic


@cython.final
cdef class Listener:
    """Who is told of the progress of a call, and the exception it raised, if it did."""

    cdef object callback
    cdef object error
    cdef bint can_finish  # whether True is an answer
    cdef bint has_finished  # and was one: what there is is being made whole
    cdef double seconds_before  # of calls before this one

    def __cinit__(self, callback, bint can_finish=False):
        self.callback = callback
        self.can_finish = can_finish


cdef int tell_progress(void *data, const kc_progress *p) noexcept with gil:
    """Run signal handlers, then the caller's function.

    An exception of either stops the call; True ends it with what there is, where that can be.
    """
    cdef Listener listener = <Listener>data
    if PyErr_Occurred() != NULL or PyErr_CheckSignals() != 0:
        return KC_CANCEL
    if listener.has_finished:
        return KC_FINISH
    try:
        answer = listener.callback(
            p.phase.decode("ascii"), listener.seconds_before + p.seconds, p.n_iter,
            p.objective, p.violation)
    except BaseException as error:
        listener.error = error
        return KC_CANCEL
    if listener.can_finish and isinstance(answer, (bool, np.bool_)) and answer:
        listener.has_finished = True
        return KC_FINISH
    return KC_GO_ON


@cython.final
cdef class Watch:
    """What holds for several calls of the core in a row: threads, a time limit, a callback.

    Parameters
    ----------
    n_threads : int
        0: the context's.
    time_limit : float
        Seconds from now; 0: none.
    callback : callable or None
        As for a `Listener` that may end the call.
    """

    cdef int32_t n_threads
    cdef double start, time_limit
    cdef Listener listener

    def __cinit__(self, int32_t n_threads, double time_limit, callback):
        self.n_threads = n_threads
        self.time_limit = time_limit
        self.start = monotonic()
        self.listener = None if callback is None else Listener(callback, True)

    cdef kc_run begin(self):
        """Return how the next call is to run: within what is left of the time."""
        cdef kc_run run = run_with(self.n_threads)
        if self.listener is not None:
            self.listener.seconds_before = monotonic() - self.start
            run.on_progress = tell_progress
            run.progress_data = <void *>self.listener
        if self.time_limit > 0:
            run.time_limit = max(self.start + self.time_limit - monotonic(), 1e-9)
        return run

    cdef bint has_ended(self, kc_status status) except -1:
        """Say whether the call gave nothing because time was over, or the callback said enough.

        An exception of the callback is raised.
        """
        if self.listener is not None and self.listener.error is not None:
            raise self.listener.error
        if PyErr_Occurred() != NULL:
            return False
        return status == KC_ERR_TIME or (
            status == KC_ERR_CANCELLED and self.listener is not None
            and self.listener.has_finished)
