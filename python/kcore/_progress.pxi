# Who is told how far a call has come: part of _core.pyx, included there.

@cython.final
cdef class Listener:
    """Who is told of the progress of a call, and the exception it raised, if it did."""

    cdef object callback
    cdef object error
    cdef bint can_finish  # whether True is an answer
    cdef bint has_finished  # and was one: what there is is being made whole

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
            p.phase.decode("ascii"), p.seconds, p.n_iter, p.objective, p.violation)
    except BaseException as error:
        listener.error = error
        return KC_CANCEL
    if listener.can_finish and isinstance(answer, (bool, np.bool_)) and answer:
        listener.has_finished = True
        return KC_FINISH
    return KC_GO_ON
