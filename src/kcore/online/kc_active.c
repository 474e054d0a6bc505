/* Coefficients of one output lie side by side, so that the loop of all decision functions
 * (simd/kc_weigh_ops.h) reads them as it reads those of a fitted model. */
#include "online/kc_active.h"

#include <string.h>

#include "base/kc_alloc.h"
#include "function/kc_expansion_impl.h"

/* ---- Life --------------------------------------------------------------------------------- */

kc_status kc_active_create(kc_context *ctx, const kc_active_spec *spec, kc_active *out,
                           kc_error *err)
{
    kc_status status = KC_OK;

    *out = (kc_active){
        .dtype = spec->dtype,
        .offset = spec->has_offset ? 1.0 : 0.0,
        .n_cols = spec->n_cols,
        .n_outputs = spec->n_outputs,
        .points = kc_growing_none(spec->dtype, KC_DENSE, spec->n_cols),
        .intercepts = kc_calloc(ctx, spec->n_outputs, sizeof(double)),
        .time_weighted_intercepts = kc_calloc(ctx, spec->n_outputs, sizeof(double)),
        .n_steps = kc_calloc(ctx, spec->n_outputs, sizeof(int64_t)),
    };
    if (out->intercepts == NULL || out->time_weighted_intercepts == NULL || out->n_steps == NULL)
        status = kc_fail_nomem(err);
    if (status == KC_OK && spec->has_mean) {
        /* One place, so that it is there and says that means are kept. */
        out->time_weighted = kc_alloc(ctx, spec->n_outputs, sizeof(double));
        status = out->time_weighted != NULL ? KC_OK : kc_fail_nomem(err);
    }
    if (status == KC_OK && spec->kernel != NULL)
        status = kc_kernel_copy(ctx, spec->kernel, &out->kernel, err);
    if (status == KC_OK && spec->kernel != NULL)
        status = kc_prepare_growing(ctx, spec->kernel, spec->dtype, spec->like, &out->points, err);
    if (status != KC_OK)
        kc_active_free(ctx, out);
    return status;
}

void kc_active_free(kc_context *ctx, kc_active *set)
{
    kc_kernel_free(ctx, set->kernel);
    kc_growing_free(ctx, &set->points);
    kc_free(ctx, set->coef);
    kc_free(ctx, set->time_weighted);
    kc_free(ctx, set->sq_coef);
    kc_free(ctx, set->diag);
    kc_free(ctx, set->ids);
    kc_free(ctx, set->arrived);
    kc_free(ctx, set->intercepts);
    kc_free(ctx, set->time_weighted_intercepts);
    kc_free(ctx, set->n_steps);
    *set = (kc_active){.dtype = set->dtype};
}

/* A matrix of n_rows x capacity with its first n columns from an old one. */
static double *widen(kc_context *ctx, const kc_active *set, const double *old, size_t capacity)
{
    double *wide = kc_alloc(ctx, set->n_outputs, capacity * sizeof *wide);

    for (size_t o = 0; wide != NULL && set->n > 0 && o < set->n_outputs; o++)
        memcpy(wide + o * capacity, old + o * set->capacity, set->n * sizeof *wide);
    return wide;
}

static void *lengthen(kc_context *ctx, const void *old, size_t n, size_t capacity, size_t size)
{
    void *longer = kc_alloc(ctx, capacity, size);

    if (longer != NULL && n > 0)
        memcpy(longer, old, n * size);
    return longer;
}

/* All arrays or none: they share one capacity. */
static kc_status enlarge(kc_context *ctx, kc_active *set, size_t capacity, kc_error *err)
{
    kc_active old = *set;

    if (capacity > SIZE_MAX / sizeof(double))
        return kc_fail_nomem(err);
    set->coef = widen(ctx, &old, old.coef, capacity);
    set->time_weighted =
        old.time_weighted != NULL ? widen(ctx, &old, old.time_weighted, capacity) : NULL;
    set->sq_coef = lengthen(ctx, old.sq_coef, old.n, capacity, sizeof *set->sq_coef);
    set->diag = lengthen(ctx, old.diag, old.n, capacity, sizeof *set->diag);
    set->ids = lengthen(ctx, old.ids, old.n, capacity, sizeof *set->ids);
    set->arrived = lengthen(ctx, old.arrived, old.n, capacity, sizeof *set->arrived);
    const bool is_done =
        set->coef != NULL && (set->time_weighted != NULL) == (old.time_weighted != NULL) &&
        set->sq_coef != NULL && set->diag != NULL && set->ids != NULL && set->arrived != NULL;
    const kc_active unused = is_done ? old : *set;
    kc_free(ctx, unused.coef);
    kc_free(ctx, unused.time_weighted);
    kc_free(ctx, unused.sq_coef);
    kc_free(ctx, unused.diag);
    kc_free(ctx, unused.ids);
    kc_free(ctx, unused.arrived);
    if (!is_done) {
        *set = old;
        return kc_fail_nomem(err);
    }
    set->capacity = capacity;
    return KC_OK;
}

kc_status kc_active_reserve(kc_context *ctx, kc_active *set, size_t n,
                            const kc_value_counts *counts, kc_error *err)
{
    if (set->kernel != NULL)
        KC_TRY(kc_growing_reserve(ctx, &set->points, n, counts, err));
    if (n <= set->capacity)
        return KC_OK;
    return enlarge(ctx, set, kc_round_up(kc_max(n, set->capacity + set->capacity / 2), 16), err);
}

/* ---- Changes ------------------------------------------------------------------------------ */

static void update_square(kc_active *set, size_t place)
{
    double sum = 0;

    for (size_t o = 0; o < set->n_outputs; o++) {
        const double a = set->coef[o * set->capacity + place];

        sum += a * a;
    }
    set->sq_coef[place] = sum;
}

static void set_arrival(kc_active *set, size_t place)
{
    set->arrived[place] = set->n_arrived;
    kc_count(&set->n_arrived, 1);
}

void kc_active_put(kc_active *set, size_t place, const kc_candidate *x)
{
    assert(place <= set->n && set->n < set->capacity + (place < set->n));
    if (set->kernel != NULL)
        kc_growing_put(&set->points, place, x->x, x->row);
    set->n += place == set->n;
    set->ids[place] = x->id;
    set->diag[place] = x->diag;
    set_arrival(set, place);
    for (size_t o = 0; o < set->n_outputs; o++) {
        set->coef[o * set->capacity + place] = 0;
        if (set->time_weighted != NULL)
            set->time_weighted[o * set->capacity + place] = 0;
    }
    kc_active_step(set, place, x->steps);
}

void kc_active_step(kc_active *set, size_t place, const double *steps)
{
    for (size_t o = 0; o < set->n_outputs; o++) {
        const double time_weighted = (double)set->n_steps[o] * steps[o];

        set->coef[o * set->capacity + place] += steps[o];
        set->intercepts[o] += set->offset * steps[o];
        if (set->time_weighted != NULL) {
            set->time_weighted[o * set->capacity + place] += time_weighted;
            set->time_weighted_intercepts[o] += set->offset * time_weighted;
        }
    }
    update_square(set, place);
}

void kc_active_forget(kc_active *set, size_t place)
{
    for (size_t o = 0; o < set->n_outputs; o++) {
        double *coef = &set->coef[o * set->capacity + place];

        set->intercepts[o] -= set->offset * *coef;
        *coef = 0;
    }
    set->sq_coef[place] = 0;
}

void kc_active_assign(kc_active *set, size_t place, const double *coef, const double *time_weighted,
                      size_t stride)
{
    for (size_t o = 0; o < set->n_outputs; o++) {
        set->coef[o * set->capacity + place] = coef[o * stride];
        if (set->time_weighted != NULL)
            set->time_weighted[o * set->capacity + place] = time_weighted[o * stride];
    }
    update_square(set, place);
}

void kc_active_spread(kc_active *set, const int32_t *place_of, const double *shares, size_t n,
                      const double *amounts)
{
    if (n == 0)
        return;
    for (size_t o = 0; o < set->n_outputs; o++) {
        double *coef = set->coef + o * set->capacity;
        double sum = 0;

        for (size_t r = 0; r < n; r++) {
            coef[place_of[r]] += shares[r] * amounts[o];
            sum += shares[r] * amounts[o];
        }
        set->intercepts[o] += set->offset * sum;
    }
    for (size_t r = 0; r < n; r++)
        update_square(set, (size_t)place_of[r]);
}

void kc_active_mix(kc_active *set, size_t place, double h, const kc_candidate *x,
                   const double *coef)
{
    kc_growing_mix(&set->points, place, h, x->x, x->row);
    set->ids[place] = -1;
    set_arrival(set, place);
    kc_active_step(set, place, coef);
}

size_t kc_active_find(const kc_active *set, int64_t id)
{
    size_t place = 0;

    while (place < set->n && set->ids[place] != id)
        place++;
    return place;
}

/* ---- Values ------------------------------------------------------------------------------- */

void kc_active_values(const kc_active *set, const void *k, double *sums, double *values)
{
    kc_weigh_fn *weigh = kc_weigh_of(set->dtype);
    const size_t bytes = kc_dtype_bytes(set->dtype);

    memset(values, 0, set->n_outputs * sizeof *values);
    for (size_t j = 0; j < set->n; j += KC_STRIP) {
        weigh((const char *)k + j * bytes, kc_min(KC_STRIP, set->n - j), set->coef + j,
              set->capacity, set->n_outputs, sums);
        for (size_t o = 0; o < set->n_outputs; o++)
            values[o] += sums[o];
    }
    for (size_t o = 0; o < set->n_outputs; o++)
        values[o] += set->intercepts[o];
}

void kc_active_coef(const kc_active *set, bool is_mean, double *coef, double *intercepts)
{
    for (size_t o = 0; o < set->n_outputs; o++) {
        const size_t row = o * set->capacity; /* of arrays that an empty set does not have */
        const double t = (double)set->n_steps[o];
        const bool has_mean = is_mean && set->time_weighted != NULL && t > 0;

        for (size_t i = row; i < row + set->n; i++)
            coef[o * set->n + i - row] =
                has_mean ? ((t + 1) * set->coef[i] - set->time_weighted[i]) / t : set->coef[i];
        intercepts[o] = has_mean
                            ? ((t + 1) * set->intercepts[o] - set->time_weighted_intercepts[o]) / t
                            : set->intercepts[o];
    }
}

/* Points of given kernel values are columns: those of the samples. */
static kc_status list_columns(kc_call *call, const kc_active *set, const int32_t **out)
{
    int32_t *columns = kc_call_take(call, kc_max(1, set->n), sizeof *columns);

    if (columns == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < set->n; i++)
        columns[i] = (int32_t)set->ids[i];
    *out = columns;
    return KC_OK;
}

kc_status kc_active_expansion(kc_call *call, const kc_active *set, bool is_mean, kc_expansion *out)
{
    double *coef = kc_call_take(call, set->n_outputs, kc_max(1, set->n) * sizeof *coef);
    double *intercepts = kc_call_take(call, set->n_outputs, sizeof *intercepts);
    size_t *bounds = kc_call_take(call, 2, sizeof *bounds);
    int32_t *output_of = kc_call_take(call, set->n_outputs, sizeof *output_of);

    if (coef == NULL || intercepts == NULL || bounds == NULL || output_of == NULL)
        return kc_fail_nomem(call->err);
    kc_active_coef(set, is_mean, coef, intercepts);
    bounds[0] = 0;
    bounds[1] = set->n;
    for (size_t o = 0; o < set->n_outputs; o++)
        output_of[o] = (int32_t)o;
    *out = (kc_expansion){
        .kernel = set->kernel,
        .dtype = set->dtype,
        .points = set->points.points,
        .n = set->n,
        .n_cols = set->n_cols,
        .n_outputs = set->n_outputs,
        .n_rows = set->n_outputs,
        .n_segments = 1,
        .bounds = bounds,
        .output_of = output_of,
        .coef = coef,
        .intercepts = intercepts,
    };
    return set->kernel == NULL ? list_columns(call, set, &out->columns) : KC_OK;
}
