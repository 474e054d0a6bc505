/* Points that stay as they are are copied bit by bit; where functions of different points or types
 * come together, their points are packed anew from one view of all of them. */
#include "function/kc_space.h"

#include <math.h>
#include <string.h>

#include "data/kc_packed_join.h"
#include "data/kc_sort.h"

/* Points between two polls. */
#define POLL_POINTS ((size_t)1 << 10)

/* ---- Checks --------------------------------------------------------------------------------- */

kc_status kc_space_check(const kc_function *f, const char *name, kc_error *err)
{
    if (f->f.kernel == NULL)
        return kc_fail(err, KC_ERR_TYPE, "%s has no kernel, only given kernel values", name);
    if (f->f.n_outputs != 1)
        return kc_fail(err, KC_ERR_SHAPE, "%s has %zu outputs: take one of them", name,
                       f->f.n_outputs);
    if (f->f.intercepts[0] != 0)
        return kc_fail(err, KC_ERR_ARG,
                       "%s has the intercept %g, which the space of its kernel does not have: take "
                       "its output alone",
                       name, f->f.intercepts[0]);
    return KC_OK;
}

kc_status kc_space_check_pair(const kc_function *f, const kc_function *g, kc_error *err)
{
    KC_TRY(kc_space_check(f, "f", err));
    KC_TRY(kc_space_check(g, "g", err));
    if (!kc_kernel_is_equal(f->f.kernel, g->f.kernel))
        return kc_fail(err, KC_ERR_ARG, "f and g are functions of different kernels");
    if (f->f.n_cols != g->f.n_cols)
        return kc_fail(err, KC_ERR_SHAPE,
                       "the points of f and g have different columns: %zu and %zu of them",
                       f->f.n_cols, g->f.n_cols);
    if (!kc_packed_are_alike(&f->f.points, &g->f.points))
        return kc_fail(err, KC_ERR_SHAPE,
                       "the points of f and g have numbers and strings in different columns");
    return KC_OK;
}

/* ---- Making functions ----------------------------------------------------------------------- */

/* One output without an intercept; `from` has kernel, type, points (moved) and coefficients. */
static kc_status make(kc_call *call, kc_expansion *from, kc_function **out)
{
    static const int32_t first_output[] = {0};
    static const double no_intercept[] = {0};
    const kc_decoding how = {.decoder = KC_DECODE_VALUES};
    const size_t bounds[] = {0, from->n};

    from->n_outputs = from->n_rows = from->n_segments = 1;
    from->bounds = bounds;
    from->output_of = first_output;
    from->intercepts = no_intercept;
    return kc_function_make(call, from, &how, NULL, out);
}

/* The function of points `rows` of f with these coefficients. */
static kc_status make_of(kc_call *call, const kc_expansion *f, const int32_t *rows, size_t n,
                         const double *coef, kc_function **out)
{
    kc_expansion from = {
        .kernel = f->kernel, .dtype = f->dtype, .n = n, .n_cols = f->n_cols, .coef = coef};
    kc_status status;

    KC_TRY(kc_packed_take(call, &f->points, rows, n, &from.points));
    status = make(call, &from, out);
    kc_packed_free(call->ctx, &from.points); /* empty where the function has them */
    return status;
}

static double *plain_coef(kc_call *call, const kc_function *f)
{
    double *coef = kc_call_take(call, kc_max(1, f->f.n), f->f.n_outputs * sizeof *coef);

    if (coef != NULL)
        kc_function_plain_coef(f, coef);
    return coef;
}

static kc_status check_coef(const double *coef, size_t n, kc_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(coef[i]))
            return kc_fail(err, KC_ERR_RANGE, "coefficient %zu of the result overflows: %g", i,
                           coef[i]);
    return KC_OK;
}

kc_status kc_space_output(kc_call *call, const kc_function *f, size_t o, kc_function **out)
{
    const double *all = plain_coef(call, f);
    const size_t n = f->f.n;
    int32_t *rows = kc_call_take(call, kc_max(1, n), sizeof *rows);
    double *coef = kc_call_take(call, kc_max(1, n), sizeof *coef);
    size_t n_kept = 0;

    if (all == NULL || rows == NULL || coef == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < n; i++)
        if (f->f.n_outputs == 1 || all[o * n + i] != 0) {
            coef[n_kept] = all[o * n + i];
            rows[n_kept++] = (int32_t)i;
        }
    return make_of(call, &f->f, rows, n_kept, coef, out);
}

/* ---- Points in one type --------------------------------------------------------------------- */

static kc_dtype wider(const kc_function *f, const kc_function *g)
{
    return f->f.dtype == KC_F64 || g->f.dtype == KC_F64 ? KC_F64 : KC_F32;
}

/* The points of f in another type; borrows from memory of the call. */
static kc_status widen(kc_call *call, const kc_expansion *f, kc_dtype dtype, kc_packed *out)
{
    const kc_packed *sets[] = {&f->points};
    kc_points view;

    *out = (kc_packed){.dtype = dtype};
    KC_TRY(kc_packed_join(call, sets, 1, &view));
    return kc_prepare(call, f->kernel, &view, NULL, dtype, out);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static kc_status scale(kc_call *call, double a, const kc_function *f, kc_function **out)
{
    double *coef = plain_coef(call, f);
    int32_t *rows = kc_call_take(call, kc_max(1, f->f.n), sizeof *rows);

    if (coef == NULL || rows == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < f->f.n; i++) {
        coef[i] *= a;
        rows[i] = (int32_t)i;
    }
    KC_TRY(check_coef(coef, f->f.n, call->err));
    return make_of(call, &f->f, rows, f->f.n, coef, out);
}

static kc_status join_coef(kc_call *call, double a, const kc_function *f, double b,
                           const kc_function *g, const double **out)
{
    const size_t n = f->f.n + g->f.n;
    double *coef = kc_call_take(call, n, sizeof *coef);

    if (coef == NULL)
        return kc_fail_nomem(call->err);
    kc_function_plain_coef(f, coef);
    kc_function_plain_coef(g, coef + f->f.n);
    for (size_t i = 0; i < n; i++)
        coef[i] *= i < f->f.n ? a : b;
    *out = coef;
    return check_coef(coef, n, call->err);
}

kc_status kc_space_combine(kc_call *call, double a, const kc_function *f, double b,
                           const kc_function *g, kc_function **out)
{
    kc_expansion from = {.kernel = f->f.kernel, .n_cols = f->f.n_cols};
    kc_points view;
    kc_status status;

    if (g == NULL || g->f.n == 0)
        return scale(call, a, f, out);
    if (f->f.n == 0)
        return scale(call, b, g, out);
    from.dtype = wider(f, g);
    from.n = f->f.n + g->f.n;
    if (from.n > INT32_MAX)
        return kc_fail(call->err, KC_ERR_SHAPE, "the sum has %zu points, more than there may be",
                       from.n);
    KC_TRY(join_coef(call, a, f, b, g, &from.coef));
    KC_TRY(kc_packed_join(call, (const kc_packed *[]){&f->f.points, &g->f.points}, 2, &view));
    KC_TRY(kc_function_pack(call, from.kernel, &view, from.n, from.dtype, &from.points));
    status = make(call, &from, out);
    kc_packed_free(call->ctx, &from.points);
    return status;
}

/* ---- Equal points --------------------------------------------------------------------------- */

/* Within entries of one hash: each gets the place of the first point that is equal to it. */
static void find_firsts(const kc_packed *points, kc_entry *entries, size_t n, double *room,
                        size_t *first_of)
{
    size_t n_firsts = 0;

    for (size_t k = 0; k < n; k++) {
        const size_t place = entries[k].place;
        size_t l = 0;

        while (l < n_firsts && !kc_packed_is_same(points, entries[l].place, place, room))
            l++;
        if (l == n_firsts)
            entries[n_firsts++].place = place; /* l <= k: those before are done with */
        first_of[place] = entries[l].place;
    }
}

static kc_status find_equal(kc_call *call, const kc_packed *points, size_t *first_of)
{
    kc_entry *entries = kc_call_take(call, kc_max(1, points->n), sizeof *entries);
    double *room = kc_call_take(call, 2 * kc_packed_room(points), sizeof *room);

    if (entries == NULL || room == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < points->n; i++) {
        entries[i] = (kc_entry){.col = (int64_t)kc_packed_hash(points, i, room), .place = i};
        if (i % POLL_POINTS == POLL_POINTS - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    kc_entries_sort(entries, points->n);
    for (size_t begin = 0, end; begin < points->n; begin = end) {
        for (end = begin + 1; end < points->n && entries[end].col == entries[begin].col;)
            end++;
        find_firsts(points, entries + begin, end - begin, room, first_of);
        if (kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

kc_status kc_space_merge(kc_call *call, const kc_function *f, kc_function **out)
{
    const size_t n = f->f.n;
    size_t *first_of = kc_call_take(call, kc_max(1, n), sizeof *first_of);
    int32_t *rows = kc_call_take(call, kc_max(1, n), sizeof *rows);
    double *coef = plain_coef(call, f);
    size_t n_kept = 0;

    if (first_of == NULL || rows == NULL || coef == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(find_equal(call, &f->f.points, first_of));
    for (size_t i = 0; i < n; i++)
        if (first_of[i] != i)
            coef[first_of[i]] += coef[i];
    for (size_t i = 0; i < n; i++)
        if (first_of[i] == i && coef[i] != 0) {
            coef[n_kept] = coef[i];
            rows[n_kept++] = (int32_t)i;
        }
    KC_TRY(check_coef(coef, n_kept, call->err));
    return make_of(call, &f->f, rows, n_kept, coef, out);
}

/* ---- Inner products ------------------------------------------------------------------------- */

/* An order of functions: negative, 0 or positive; 0 where all their numbers are the same. */
static kc_status compare(kc_call *call, const kc_expansion *f, const kc_expansion *g, int *out)
{
    double *room;

    *out = f->n < g->n ? -1 : f->n > g->n;
    for (size_t i = 0; *out == 0 && i < f->n; i++)
        *out = f->coef[i] < g->coef[i] ? -1 : f->coef[i] > g->coef[i];
    if (*out != 0 || f == g)
        return KC_OK;
    room = kc_call_take(call, kc_max(kc_packed_room(&f->points), kc_packed_room(&g->points)),
                        sizeof *room);
    if (room == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; *out == 0 && i < f->n; i++) {
        const uint64_t a = kc_packed_hash(&f->points, i, room);
        const uint64_t b = kc_packed_hash(&g->points, i, room);

        *out = a < b ? -1 : a > b;
        if (i % POLL_POINTS == POLL_POINTS - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

static void keep_value(void *data, size_t row, const double *value)
{
    ((double *)data)[row] = *value;
}

/* sum_i a_i g(x_i), the x_i being those of the function with more points. */
static kc_status sum_values(kc_call *call, const kc_expansion *f, const kc_expansion *g,
                            double *out)
{
    double *values = kc_call_take(call, f->n, sizeof *values);
    double sum = 0;

    if (values == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_expansion_evaluate_packed(call, g, &f->points, "the points of the two functions",
                                        keep_value, values));
    for (size_t i = 0; i < f->n; i++)
        sum += f->coef[i] * values[i];
    *out = sum;
    return KC_OK;
}

/* w_f.w_g, of linear kernels. */
static double dot_weights(const kc_expansion *f, const kc_expansion *g)
{
    double sum = 0;

    for (size_t t = 0; t < f->n_cols; t++)
        sum += f->weights[t] * g->weights[t];
    return sum;
}

/* The expansion with its points in another type, and without weights: tiles are computed. */
static kc_status as_tiles(kc_call *call, const kc_expansion *f, kc_dtype dtype, kc_packed *points,
                          kc_expansion *out)
{
    *points = (kc_packed){.dtype = dtype};
    *out = *f;
    out->dtype = dtype;
    out->weights = NULL;
    out->row_work = 0;
    if (f->dtype != dtype) {
        KC_TRY(widen(call, f, dtype, points));
        out->points = *points;
    }
    return KC_OK;
}

kc_status kc_space_inner(kc_call *call, const kc_function *f, const kc_function *g, double *out)
{
    const kc_expansion *more = &f->f, *less = &g->f;
    const kc_dtype dtype = wider(f, g);
    kc_expansion rows, cols;
    kc_packed row_points, col_points = {.dtype = dtype};
    kc_status status;
    int order;

    *out = 0;
    if (f->f.n == 0 || g->f.n == 0)
        return KC_OK;
    KC_TRY(compare(call, &f->f, &g->f, &order));
    if (order < 0) {
        more = &g->f;
        less = &f->f;
    }
    if (more->weights != NULL && less->weights != NULL) {
        *out = dot_weights(more, less);
    } else {
        status = as_tiles(call, more, dtype, &row_points, &rows);
        if (status == KC_OK)
            status = as_tiles(call, less, dtype, &col_points, &cols);
        if (status == KC_OK)
            status = sum_values(call, &rows, &cols, out);
        kc_packed_free(call->ctx, &row_points);
        kc_packed_free(call->ctx, &col_points);
        KC_TRY(status);
    }
    return isfinite(*out)
               ? KC_OK
               : kc_fail(call->err, KC_ERR_RANGE, "the inner product overflows: %g", *out);
}
