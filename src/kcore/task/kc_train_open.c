/* What a fit stands on: samples checked, sorted and packed, and the store of their kernel rows. */
#include <math.h>
#include <string.h>

#include "kernel/kc_kernel.h"
#include "kernel/kc_prepare.h"
#include "task/kc_cache.h"
#include "task/kc_form.h"
#include "task/kc_precision.h"
#include "task/kc_problems.h"
#include "task/kc_train_impl.h"

/* Where there are several problems, the matrix of all samples is computed at once: up to so many
 * samples, since beyond them the pairs of classes look at a small part of it, and where a value
 * costs so many multiply-adds, since others are as soon computed as read.  Sparse samples cost less
 * in large blocks, whatever the work. */
#define MAX_WHOLE_POINTS ((size_t)16384)
#define MIN_WHOLE_WORK ((size_t)200)

/* ---- Samples ------------------------------------------------------------------------------ */

/* What the rows are made of, in the order of `order`, in the precision that is asked for or may do.
 */
static kc_status pack_samples(kc_call *call, kc_training *t, const int32_t *order, kc_packed *out)
{
    const kc_points *x = t->data->x;
    kc_error *err = call->err;

    if (t->settings->precision == KC_PRECISION_F32)
        return kc_prepare(call, t->kernel, x, order, KC_F32, out);
    t->is_f32_tried = t->settings->precision == KC_PRECISION_AUTO && !t->is_f64_needed &&
                      t->samples.n > KC_PRECISION_SMALL && isfinite(t->settings->C) &&
                      kc_precision_may_do(t->settings, &t->samples);
    if (t->is_f32_tried) {
        /* Values that f32 cannot hold are no error: f64 is tried next, and speaks.  The type may
         * depend on the values, but not on how much memory or time there is. */
        kc_error narrow = {0};
        call->err = &narrow;
        kc_status status = kc_prepare(call, t->kernel, x, order, KC_F32, out);
        call->err = err;
        if (status == KC_OK)
            return KC_OK;
        if (status == KC_ERR_NOMEM || status == KC_ERR_TIME || status == KC_ERR_CANCELLED) {
            if (err != NULL)
                *err = narrow;
            return status;
        }
    }
    t->is_f32_tried = false;
    return kc_prepare(call, t->kernel, x, order, KC_F64, out);
}

/* Packed and sorted by class.  Points in order already may borrow from the caller's arrays; where
 * samples are left out, all are checked first. */
static kc_status take_samples(kc_call *call, kc_training *t)
{
    const kc_samples *samples = &t->samples;
    kc_packed packed = {.dtype = KC_F64};
    kc_status status;

    KC_TRY(kc_kernel_check(t->kernel, t->data->x, t->data->x, call->err));
    if (samples->n == samples->n_all)
        return pack_samples(call, t, samples->is_identity ? NULL : samples->order, &t->points);
    KC_TRY(pack_samples(call, t, NULL, &packed));
    status = kc_packed_take(call, &packed, samples->order, samples->n, &t->points);
    kc_packed_free(call->ctx, &packed);
    return status;
}

static kc_status take_matrix(kc_call *call, kc_training *t)
{
    kc_dtype dtype = t->data->x->dtype;

    if (t->settings->precision != KC_PRECISION_AUTO)
        dtype = t->settings->precision == KC_PRECISION_F32 ? KC_F32 : KC_F64;
    else if (isinf(t->settings->C))
        dtype = KC_F64;
    return kc_matrix_create(call, t->data->x, &t->samples, dtype, &t->matrix);
}

static kc_status check_start(const kc_training *t, kc_error *err)
{
    const double *start = t->data->start;

    for (size_t i = 0; start != NULL && i < t->n_coef_rows * t->samples.n_all; i++)
        if (!isfinite(start[i]))
            return kc_fail(err, KC_ERR_NONFINITE, "start has %g at row %zu, sample %zu", start[i],
                           i / t->samples.n_all, i % t->samples.n_all);
    return KC_OK;
}

/* ---- Store -------------------------------------------------------------------------------- */

kc_status kc_training_create_store(kc_call *call, kc_training *t, size_t n_shares, kc_store **out)
{
    const kc_dtype user_dtype = t->settings->precision == KC_PRECISION_F32 ? KC_F32 : KC_F64;
    const size_t n = t->samples.n;
    kc_store_config config = {
        .segments = t->samples.bounds,
        .n_segments = t->samples.n_segments,
    };

    if (kc_training_has_user_kernel(t)) {
        config.user_fn = kc_user_kernel_values;
        config.user_data = &t->user_kernel;
        config.n_user_points = n;
        config.user_dtype = user_dtype;
    } else if (t->kernel != NULL) {
        config.kernel = t->kernel;
        config.points = &t->points;
    } else {
        return kc_store_make_given(call, t->matrix.dtype, t->matrix.values, n, t->matrix.ld, out);
    }
    config.cache_bytes =
        kc_cache_bytes(call, (size_t)t->settings->cache_bytes, n,
                       kc_training_has_user_kernel(t) ? user_dtype : t->points.dtype) /
        n_shares;
    return kc_store_make(call, &config, out);
}

size_t kc_training_largest(const kc_training *t)
{
    const kc_samples *samples = &t->samples;
    size_t largest = 0;

    for (size_t c = 0; c < samples->n_segments; c++)
        largest = kc_max(largest, samples->bounds[c + 1] - samples->bounds[c]);
    return kc_min(kc_is_pairwise(t->settings->multiclass, samples->n_classes) ? 2 * largest
                                                                              : samples->n,
                  samples->n);
}

static bool suits_whole(const kc_training *t)
{
    if (t->n_problems < 2 || t->samples.n > MAX_WHOLE_POINTS)
        return false;
    /* Problems with a linear kernel do without a matrix if they are not small. */
    if (kc_store_is_linear(t->store) && !kc_dual_suits_matrix(kc_training_largest(t)))
        return false;
    return t->points.storage == KC_CSR || kc_store_work(t->store) >= MIN_WHOLE_WORK;
}

static kc_status open_store(kc_call *call, kc_training *t)
{
    const size_t n = t->samples.n;

    KC_TRY(kc_training_create_store(call, t, 1, &t->store));
    if (suits_whole(t) && kc_store_apply_seconds(t->store, n, n) <= kc_call_left(call)) {
        const kc_status status = kc_store_complete(call, t->store);
        if (status != KC_ERR_TIME)
            KC_TRY(status);
    }
    for (size_t i = 0; i < n; i++) {
        const double value = kc_number_at(kc_store_diag(t->store), i, kc_store_dtype(t->store));

        if (value > t->max_diag)
            t->max_diag = value;
    }
    return KC_OK;
}

/* Order, and room for the result. */
static kc_status take_problems(kc_call *call, kc_training *t)
{
    KC_TRY(kc_samples_sort(call, t->settings, t->data, &t->samples));
    t->n_problems = kc_problem_count(t->settings->multiclass, t->samples.n_classes);
    t->n_coef_rows = kc_coef_rows(t->settings->multiclass, t->samples.n_classes);
    KC_TRY(check_start(t, call->err));
    t->user_kernel = (kc_user_kernel){
        .fn = t->data->kernel_fn, .data = t->data->kernel_data, .order = t->samples.order};
    t->coef = kc_call_take(call, t->n_coef_rows, t->samples.n * sizeof *t->coef);
    t->intercepts = kc_call_take(call, t->n_problems, sizeof *t->intercepts);
    if (t->coef == NULL || t->intercepts == NULL)
        return kc_fail_nomem(call->err);
    memset(t->coef, 0, t->n_coef_rows * t->samples.n * sizeof *t->coef);
    return KC_OK;
}

/* Whether the start has coefficients: a model of it needs their samples. */
static bool has_start(const kc_training *t)
{
    return t->start != NULL || kc_form_of(t->settings->type)->is_never_zero;
}

static kc_status take_data(kc_call *call, kc_training *t)
{
    if (kc_training_has_user_kernel(t))
        return KC_OK;
    return t->kernel != NULL ? take_samples(call, t) : take_matrix(call, t);
}

/* What no model can do without is done, whether there is time for it or not. */
static kc_status open_anyway(kc_call *call, kc_training *t)
{
    kc_status status;

    kc_call_extend(call, INFINITY);
    status = take_problems(call, t);
    if (status == KC_OK && has_start(t))
        status = take_data(call, t);
    kc_call_expire(call);
    return status;
}

/* KC_ERR_TIME is no failure: problems without a store stay at their start. */
static kc_status open_in_time(kc_call *call, kc_training *t)
{
    kc_status status = has_start(t) ? KC_OK : take_data(call, t);

    if (status == KC_OK)
        status = open_store(call, t);
    if (status == KC_ERR_TIME && !has_start(t) && t->kernel != NULL)
        KC_TRY(kc_packed_none(call, t->data->x, KC_F64, &t->points));
    return status == KC_ERR_TIME ? KC_OK : status;
}

kc_status kc_training_open(kc_call *call, kc_training *t)
{
    KC_TRY(open_anyway(call, t));
    return open_in_time(call, t);
}

kc_status kc_training_reopen(kc_call *call, kc_training *t)
{
    kc_store_free(call->ctx, t->store);
    t->store = NULL;
    kc_packed_free(call->ctx, &t->points);
    kc_call_extend(call, INFINITY); /* support vectors cannot be done without */
    kc_status status = take_samples(call, t);
    kc_call_expire(call);
    if (status == KC_OK)
        status = open_store(call, t);
    return status == KC_ERR_TIME ? KC_OK : status;
}
