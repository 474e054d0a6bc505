# Kernels: part of _core.pyx, included there.

DEF MAX_PARAMS = 4

cdef dict OPERANDS = {
    "sum": 2, "product": 2, "scaled": 1, "power": 1, "exp": 1, "normalized": 1, "on": 1,
    "factors": 1, "period": 1, "map": 1,
}


cdef kc_kernel *make_kernel(
        kc_context *ctx, str name, tuple params, const kc_kernel **operands) except NULL:
    """Return a leaf of the core's table, or what an operator makes of its operands."""
    cdef kc_kernel *made = NULL
    cdef double numbers[MAX_PARAMS]
    cdef kc_error err
    cdef kc_status status
    cdef int32_t k, n_params = <int32_t>len(params)
    if name in ("on", "factors", "period", "map"):
        return read_through(ctx, name, params, operands[0])
    if n_params > MAX_PARAMS or (name in OPERANDS and n_params != (name in ("scaled", "power"))):
        raise ValueError(f"kernel node {name!r} has {n_params} parameters")
    for k in range(n_params):
        numbers[k] = params[k]
    if operands == NULL:
        status = kc_kernel_leaf(ctx, name.encode("utf-8"), numbers, n_params, &made, &err)
    elif name == "sum":
        status = kc_kernel_sum(ctx, operands, 2, &made, &err)
    elif name == "product":
        status = kc_kernel_product(ctx, operands, 2, &made, &err)
    elif name == "scaled":
        status = kc_kernel_scaled(ctx, operands[0], numbers[0], &made, &err)
    elif name == "power":
        status = kc_kernel_power(ctx, operands[0], <int32_t>int(params[0]), &made, &err)
    elif name == "normalized":
        status = kc_kernel_normalized(ctx, operands[0], &made, &err)
    else:
        status = kc_kernel_exp(ctx, operands[0], &made, &err)
    check(status, &err)
    return made


cdef kc_kernel *read_through(
        kc_context *ctx, str name, tuple params, const kc_kernel *kernel) except NULL:
    """Return the kernel of what a step makes of columns."""
    cdef kc_kernel *made = NULL
    cdef const int32_t[::1] columns
    cdef const double[::1] numbers
    cdef const double[:, ::1] matrix
    cdef kc_error err
    cdef kc_status status
    if not params:
        raise ValueError(f"kernel node {name!r} has no columns")
    if name == "on":
        columns = np.array(params, dtype=np.int32)
        status = kc_kernel_on(ctx, kernel, &columns[0], columns.shape[0], &made, &err)
    elif name == "map":
        matrix = params[0]
        if matrix.shape[0] == 0 or matrix.shape[1] == 0:
            raise ValueError("kernel node 'map' has no columns")
        status = kc_kernel_on_map(
            ctx, kernel, &matrix[0, 0], matrix.shape[0], matrix.shape[1], &made, &err)
    else:
        numbers = np.array(params, dtype=np.float64)
        if name == "factors":
            status = kc_kernel_on_factors(
                ctx, kernel, &numbers[0], numbers.shape[0], &made, &err)
        else:
            status = kc_kernel_on_period(
                ctx, kernel, &numbers[0], numbers.shape[0], &made, &err)
    check(status, &err)
    return made


@cython.final
cdef class KernelPart:
    """A kernel while an expression is put together."""

    cdef kc_kernel *ptr
    cdef Context context

    def __cinit__(self, str name not None, tuple params not None, list stack not None):
        cdef const kc_kernel *operands[2]
        cdef KernelPart part
        cdef Py_ssize_t k, n_operands = OPERANDS.get(name, 0)
        self.context = the_context
        if len(stack) < n_operands:
            raise ValueError(f"kernel node {name!r} needs {n_operands} operands")
        parts = stack[len(stack) - n_operands:]
        for k in range(n_operands):
            part = parts[k]
            operands[k] = part.ptr
        self.ptr = make_kernel(
            self.context.ptr, name, params, operands if n_operands > 0 else NULL)
        del stack[len(stack) - n_operands:]

    def __dealloc__(self):
        if self.context is not None:
            kc_kernel_free(self.context.ptr, self.ptr)

    def __reduce__(self):
        raise TypeError("a part of a kernel is not pickled")


def leaves():
    """Return the table of leaves: name, formula, and (name, type, default, help) of parameters."""
    cdef const kc_leaf_info *leaf
    rows = []
    for i in range(kc_leaf_count()):
        leaf = kc_leaf_at(i)
        params = [
            (leaf.params[k].name.decode(), leaf.params[k].type.decode(),
             leaf.params[k].default_value, leaf.params[k].help.decode())
            for k in range(leaf.n_params)
        ]
        rows.append((leaf.name.decode(), leaf.formula.decode(), params))
    return rows


@cython.final
cdef class CompiledKernel:
    """A kernel expression that the core has checked and made ready; immutable.

    Parameters
    ----------
    nodes : sequence of (name, parameters)
        The expression in postfix order: leaves of the core's table, and what combines them.
    """

    cdef kc_kernel *ptr
    cdef Context context

    def __cinit__(self, nodes):
        cdef list stack = []
        cdef KernelPart whole
        self.context = the_context
        for name, params in nodes:
            if len(nodes) == 1 and name not in OPERANDS:
                self.ptr = make_kernel(self.context.ptr, name, tuple(params), NULL)
                return
            stack.append(KernelPart(name, tuple(params), stack))
        if len(stack) != 1:
            raise ValueError(f"a kernel expression leaves {len(stack)} kernels, must leave 1")
        whole = stack[0]
        self.ptr, whole.ptr = whole.ptr, NULL

    def __dealloc__(self):
        if self.context is not None:
            kc_kernel_free(self.context.ptr, self.ptr)

    def __reduce__(self):
        raise TypeError("a compiled kernel is not pickled: it is made again from its expression")

    @property
    def definiteness(self):
        """What is known of every Gram matrix of the kernel."""
        return ("indefinite", "conditional", "positive")[<int>kc_kernel_definiteness(self.ptr)]
