# Gradients of kernels by their parameters: part of _core.pyx, included there.

def kernel_params(CompiledKernel kernel not None):
    """Return (node, kernel, name, entry) of all that it is differentiated by; -1: no list."""
    cdef kc_kernel_param param
    cdef kc_error err
    rows = []
    for k in range(kc_kernel_param_count(kernel.ptr)):
        memset(&param, 0, sizeof(kc_kernel_param))
        param.struct_size = sizeof(kc_kernel_param)
        check(kc_kernel_param_at(kernel.ptr, k, &param, &err), &err)
        rows.append((param.node, param.kernel.decode(), param.name.decode(), param.entry))
    return rows


def gradient(CompiledKernel kernel not None, x, z, weights, int32_t n_threads):
    """Return the sums of weights_ij dK(x_i, z_j) by the parameters, in their order."""
    cdef kc_context *ctx = the_context.ptr
    cdef kc_run run = run_with(n_threads)
    cdef kc_error err
    cdef kc_status status
    cdef View vx, vz, vg
    cdef Py_buffer vout
    cdef const kc_points *pz = NULL
    cdef kc_dtype dtype
    cdef double *values
    cdef int64_t n_params = kc_kernel_param_count(kernel.ptr)

    memset(&vz, 0, sizeof(View))
    memset(&vg, 0, sizeof(View))
    memset(&vout, 0, sizeof(Py_buffer))
    out = empty(n_params, FLOAT64)
    try:
        open_view(&vx, x, b"X")
        dtype = view_dtype(&vx)
        if z is not None:
            open_view(&vz, z, b"Z")
            dtype = max(dtype, view_dtype(&vz))
            pz = &vz.points
        open_view(&vg, weights, b"weights")
        values = <double *>borrow(&vout, out, b"d", n_params, True)
        with nogil:
            status = kc_kernel_gradient(
                ctx, &run, kernel.ptr, &vx.points, pz, &vg.points, dtype, values, n_params, &err)
        check(status, &err)
    finally:
        PyBuffer_Release(&vout)
        close_view(&vg)
        close_view(&vz)
        close_view(&vx)
    return out
