# Stores and the problems solved on them: part of _core.pyx, included there.


cdef int64_t length(const int64_t[::1] rows, int64_t n_all) noexcept:
    """Return how many samples a list names, where None names all."""
    return n_all if rows is None else rows.shape[0]


cdef const int64_t *at_rows(const int64_t[::1] rows) noexcept:
    return NULL if rows is None or rows.shape[0] == 0 else &rows[0]


cdef const double *at_numbers(const double[::1] values, int64_t n) except? NULL:
    """Return the memory of `n` numbers, NULL for None."""
    if values is None:
        return NULL
    if values.shape[0] != n:
        raise TypeError(f"an array of a problem has {values.shape[0]} entries, must have {n}")
    return &values[0]


@cython.final
cdef class Store:
    """Owner of one ``kc_store``: samples, kernel, and the rows kept of their Gram matrix K.

    One thread at a time uses it, others wait. A child of a fork can use the store of its parent,
    unless a thread was using it at that moment.

    Statuses are looked at before the lock is given back: a signal handler may have raised already,
    and no Python code can run on that.

    Parameters
    ----------
    kernel : CompiledKernel or None
        None: `points` are the matrix of kernel values.
    points : array or CSR triple
        As ``_validate.as_points`` returns them; copied.
    is_f32 : bool
        Whether kernel values are float32.
    cache_bytes : int
        Of kernel rows; 0: chosen from the memory available.
    run : Run

    Attributes
    ----------
    n_rows : int
        Samples.
    """

    cdef kc_store *ptr
    cdef Context context
    cdef object lock
    cdef int64_t lock_forks, use_forks  # n_forks when the lock was made, when a call began
    cdef bint is_used
    cdef readonly int64_t n_rows

    def __cinit__(self, CompiledKernel kernel, points, bint is_f32, int64_t cache_bytes,
                  Run run not None):
        cdef kc_run c_run = run.begin()
        cdef kc_store_settings settings
        cdef kc_error err
        cdef kc_status status
        cdef View view
        cdef const kc_kernel *c_kernel = NULL if kernel is None else kernel.ptr
        self.context = the_context
        self.lock = RLock()
        self.lock_forks = n_forks
        memset(&settings, 0, sizeof(settings))
        settings.struct_size = sizeof(settings)
        settings.dtype = KC_F32 if is_f32 else KC_F64
        settings.cache_bytes = cache_bytes
        try:
            open_view(&view, points, b"X")
            with nogil:
                status = kc_store_create(
                    self.context.ptr, &c_run, c_kernel, &view.points, &settings, &self.ptr, &err)
            run.has_ended(status)
            check(status, &err)
            self.n_rows = view.points.n_rows
        finally:
            close_view(&view)

    def __dealloc__(self):
        if self.context is not None and not self.is_torn():
            kc_store_free(self.context.ptr, self.ptr)

    def __reduce__(self):
        raise TypeError("a store is not pickled: it is made again from its samples")

    cdef bint is_torn(self) noexcept:
        return self.is_used and self.use_forks != n_forks

    cdef void begin_use(self) noexcept nogil:
        self.use_forks = n_forks
        self.is_used = True

    cdef void end_use(self) noexcept nogil:
        self.is_used = False

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
                "a thread of the parent process was using the store when this process was forked: "
                "make it anew")
        return self.lock

    cdef int check_usable(self) except -1:
        """Refuse a store that is closed, or whose own call asks for it; the lock is held."""
        if self.is_used:
            raise RuntimeError("a callback cannot use the store that its call is using")
        if self.ptr == NULL:
            raise ValueError("the store is closed")
        return 0

    def close(self):
        """Give back the store's memory; what is asked of it from then on is refused."""
        with self.own_lock():
            if self.is_used:
                raise RuntimeError("a callback cannot close the store that its call is using")
            kc_store_free(self.context.ptr, self.ptr)
            self.ptr = NULL

    def describe(self):
        """Return ``kc_store_info`` as a dict."""
        cdef kc_store_info info
        cdef kc_error err
        info.struct_size = sizeof(info)
        with self.own_lock():
            self.check_usable()
            check(kc_store_describe(self.ptr, &info, &err), &err)
        return info

    def diagonal(self):
        """Return K(x, x) of every sample."""
        cdef double[::1] view
        cdef kc_error err
        out = empty(self.n_rows, FLOAT64)
        view = out
        with self.own_lock():
            self.check_usable()
            check(kc_store_diagonal(self.ptr, &view[0], self.n_rows, &err), &err)
        return out

    def apply(
        self, const double[:, ::1] vectors not None, const int64_t[::1] columns,
        const int64_t[::1] rows, Run run not None,
    ):
        """Return K times vectors: sums over `columns` of K, at `rows`, in a row for each vector.

        Parameters
        ----------
        vectors : ndarray of float64, shape (n_vectors, n_columns)
        columns : ndarray of int64 or None
            Samples that are summed over, distinct; None: all.
        rows : ndarray of int64 or None
            Samples at which; None: all.
        run : Run

        Returns
        -------
        ndarray of float64, shape (n_vectors, n_rows), or None
            None where `run` ended the call.
        """
        cdef kc_run c_run = run.begin()
        cdef kc_product product
        cdef double[:, ::1] view
        cdef double nothing = 0.0
        cdef double *to = &nothing
        cdef kc_error err
        cdef kc_status status
        memset(&product, 0, sizeof(product))
        product.struct_size = sizeof(product)
        product.n_columns = length(columns, self.n_rows)
        product.n_rows = length(rows, self.n_rows)
        product.n_vectors = vectors.shape[0]
        if vectors.shape[1] != product.n_columns:
            raise TypeError(
                f"vectors have {vectors.shape[1]} columns, must have {product.n_columns}")
        out = empty((product.n_vectors, product.n_rows), FLOAT64)
        if out.size == 0 or product.n_columns == 0:
            out.fill(0.0)
            return out
        view = out
        to = &view[0, 0]
        product.vectors = &vectors[0, 0]
        product.columns = at_rows(columns)
        product.rows = at_rows(rows)
        with self.own_lock():
            self.check_usable()
            with nogil:
                self.begin_use()
                status = kc_store_multiply(
                    self.context.ptr, &c_run, self.ptr, &product, to, &err)
                self.end_use()
            if run.has_ended(status):
                return None
            check(status, &err)
        return out

    def gradient(
        self, const double[::1] coef not None, const int64_t[::1] columns,
        const double[::1] t, const int64_t[::1] rows, Run run not None,
    ):
        """Return t - K coef at `rows`: the gradient of these samples.

        Parameters
        ----------
        coef : ndarray of float64
            Of `columns`.
        columns, rows : ndarray of int64 or None
            As for `apply`.
        t : ndarray of float64 or None
            Of `rows`; None: zeros.
        run : Run

        Returns
        -------
        ndarray of float64 or None
            None where `run` ended the call.
        """
        at_numbers(t, length(rows, self.n_rows))
        sums = self.apply(np.asarray(coef)[np.newaxis], columns, rows, run)
        if sums is None:
            return None
        return -sums[0] if t is None else np.asarray(t) - sums[0]

    def solve(
        self, *, const int64_t[::1] rows, const double[::1] t, const double[::1] lower not None,
        const double[::1] upper not None, double epsilon, int32_t n_groups,
        const int32_t[::1] group, const double[::1] sums, const double[::1] start, double tol,
        int64_t max_iter, int64_t seed, Run run not None,
    ):
        """Return the solution of a ``kc_dual_problem``: ``kc_dual_result`` as a dict."""
        cdef kc_run c_run = run.begin()
        cdef kc_dual_problem problem
        cdef kc_dual_result result
        cdef double[::1] beta, gradient
        cdef kc_error err
        cdef kc_status status
        cdef int64_t n = length(rows, self.n_rows)
        if n == 0:
            raise ValueError("a problem has no samples")
        memset(&problem, 0, sizeof(problem))
        memset(&result, 0, sizeof(result))
        problem.struct_size = sizeof(problem)
        problem.rows = at_rows(rows)
        problem.n = n
        problem.t = at_numbers(t, n)
        problem.lower = at_numbers(lower, n)
        problem.upper = at_numbers(upper, n)
        problem.start = at_numbers(start, n)
        problem.epsilon = epsilon
        problem.n_groups = n_groups
        if group is not None:
            if group.shape[0] != n:
                raise TypeError(f"group has {group.shape[0]} entries, must have {n}")
            problem.group = &group[0]
        if sums is not None:
            problem.sums = at_numbers(sums, max(n_groups, 1))
        problem.tol = tol
        problem.max_iter = max_iter
        problem.seed = seed
        beta = out_beta = empty(n, FLOAT64)
        gradient = out_gradient = empty(n, FLOAT64)
        result.struct_size = sizeof(result)
        result.beta = &beta[0]
        result.gradient = &gradient[0]
        with self.own_lock():
            self.check_usable()
            with nogil:
                self.begin_use()
                status = kc_store_solve(
                    self.context.ptr, &c_run, self.ptr, &problem, &result, &err)
                self.end_use()
            run.has_ended(status)
            check(status, &err)
        run.n_done += result.n_iter
        return {
            "beta": out_beta,
            "gradient": out_gradient,
            "stop": kc_stop_name(result.stop).decode("ascii"),
            "multipliers": (result.multipliers[0], result.multipliers[1]),
            "primal": result.primal,
            "dual": result.dual,
            "gap": result.gap,
            "violation": result.violation,
            "n_iter": result.n_iter,
            "n_sets": result.n_sets,
            "n_rounds": result.n_rounds,
            "path": result.path.decode("ascii"),
            "rows_computed": result.rows_computed,
            "rows_hit": result.rows_hit,
            "rows_evicted": result.rows_evicted,
            "values_computed": result.values_computed,
            "seconds": result.seconds,
        }
