# Who is told how far a call has come: part of _core.pyx, included there.

@cython.final
cdef class Listener:
    """Who is told of the progress of a call, and the exception it raised, if it did."""

    cdef object callback
    cdef object error

    def __cinit__(self, callback):
        self.callback = callback


cdef int tell_progress(void *data, const kc_progress *p) noexcept with gil:
    """Run signal handlers, then the caller's function; an exception of either stops the call."""
    cdef Listener listener = <Listener>data
    if PyErr_Occurred() != NULL or PyErr_CheckSignals() != 0:
        return 1
    try:
        listener.callback(p.phase.decode("ascii"), p.seconds, p.n_iter, p.objective, p.violation)
    except BaseException as error:
        listener.error = error
        return 1
    return 0
