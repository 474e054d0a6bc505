/* Readings of packed samples: each becomes a part of them.  Steps go from panels to panels, or from
 * CSR rows to either; what is made of numbers is looked at once, by the norms of the last step. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "data/kc_packed.h"

/* Numbers made by one chunk of parallel work, in multiply-adds. */
#define CHUNK_WORK ((size_t)1 << 16)

typedef struct stepping {
    const kc_packed *from;
    const kc_step *step;
    kc_packed *to;
    const void *matrix; /* of a map: row tiles for panels, lanes for CSR */
    size_t per_chunk;   /* panels, or CSR values */
} stepping;

/* ---- Angles --------------------------------------------------------------------------------- */

/* Taylor's series, on |u| <= pi / 4 as exact as doubles are: libraries differ in the last bit. */
static double sum_series(const double *terms, size_t n, double q)
{
    double sum = terms[n - 1];

    for (size_t k = n - 1; k-- > 0;)
        sum = sum * q + terms[k];
    return sum;
}

static double sine_of(double u)
{
    static const double terms[] = {
        -1 / 6.0,        1 / 120.0,        -1 / 5040.0,          1 / 362880.0,
        -1 / 39916800.0, 1 / 6227020800.0, -1 / 1307674368000.0, 1 / 355687428096000.0};
    const double q = u * u;

    return u + u * (q * sum_series(terms, sizeof terms / sizeof *terms, q));
}

static double cosine_of(double u)
{
    static const double terms[] = {-1 / 2.0,
                                   1 / 24.0,
                                   -1 / 720.0,
                                   1 / 40320.0,
                                   -1 / 3628800.0,
                                   1 / 479001600.0,
                                   -1 / 87178291200.0,
                                   1 / 20922789888000.0,
                                   -1 / 6402373705728000.0};
    const double q = u * u;

    return 1 + q * sum_series(terms, sizeof terms / sizeof *terms, q);
}

/* Both of 2 pi x / period: what is left of x after whole periods, and of that after whole quarters,
 * has no rounding but that of one division. */
static void go_round(double x, double period, double *cosine, double *sine)
{
    static const double two_pi = 6.283185307179586;
    const double turns = remainder(x, period) / period, quarters = rint(4 * turns);
    const double u = two_pi * (turns - quarters / 4), c = cosine_of(u), s = sine_of(u);

    if (!(fabs(quarters) <= 2)) { /* of an infinite x, which has no angle */
        *cosine = *sine = NAN;
    } else if (quarters == 0) {
        *cosine = c;
        *sine = s;
    } else if (fabs(quarters) == 2) {
        *cosine = -c;
        *sine = -s;
    } else {
        *cosine = quarters > 0 ? -s : s;
        *sine = quarters > 0 ? c : -c;
    }
}

#define KC_T float
#define KC_SUFFIX f32
#include "data/kc_reading_body.inc"
#undef KC_T
#undef KC_SUFFIX
#define KC_T double
#define KC_SUFFIX f64
#include "data/kc_reading_body.inc"
#undef KC_T
#undef KC_SUFFIX

/* ---- One step ------------------------------------------------------------------------------- */

static void make_panels(void *data, size_t chunk, int32_t worker)
{
    const stepping *job = data;
    const size_t n_panels = kc_ceil_div(job->to->n, kc_panel_width(job->to->dtype));
    const size_t begin = chunk * job->per_chunk, end = kc_min(begin + job->per_chunk, n_panels);

    (void)worker;
    for (size_t p = begin; p < end; p++) {
        if (job->to->dtype == KC_F64)
            make_panel_f64(job, p);
        else
            make_panel_f32(job, p);
        kc_ops_of(job->to->dtype)
            ->panel_norms((char *)job->to->panels + p * job->to->d * KC_PANEL_BYTES, job->to->d,
                          (char *)job->to->sq_norms + p * KC_PANEL_BYTES);
    }
}

static void scale_values(void *data, size_t chunk, int32_t worker)
{
    const stepping *job = data;
    const size_t begin = chunk * job->per_chunk;
    const size_t end = kc_min(begin + job->per_chunk, kc_packed_n_values(job->from));

    (void)worker;
    if (job->to->dtype == KC_F64)
        scale_values_f64(job, begin, end);
    else
        scale_values_f32(job, begin, end);
}

/* Factors leave CSR rows where they are. */
static kc_status scale_rows(kc_call *call, stepping *job)
{
    const kc_packed *from = job->from;
    const size_t n_values = kc_packed_n_values(from);
    kc_packed *to = job->to;
    int64_t *indptr = to->owned[0] = kc_alloc(call->ctx, from->n + 1, sizeof *indptr);
    int32_t *cols = to->owned[1] = kc_alloc(call->ctx, kc_max(1, n_values), sizeof *cols);

    to->storage = KC_CSR;
    to->max_row_nnz = from->max_row_nnz;
    to->vals = to->owned[2] = kc_alloc(call->ctx, kc_max(1, n_values), kc_dtype_bytes(to->dtype));
    if (indptr == NULL || cols == NULL || to->vals == NULL)
        return kc_fail_nomem(call->err);
    memcpy(indptr, from->indptr, (from->n + 1) * sizeof *indptr);
    if (n_values > 0)
        memcpy(cols, from->cols, n_values * sizeof *cols);
    to->indptr = indptr;
    to->cols = cols;
    job->per_chunk = CHUNK_WORK;
    KC_TRY(kc_parallel_for(call, kc_ceil_div(n_values, CHUNK_WORK), scale_values, job));
    kc_ops_of(to->dtype)->csr_norms(indptr, to->vals, to->n, to->sq_norms);
    return KC_OK;
}

/* A matrix as the loops take it, in memory of the call. */
static kc_status lay_out(kc_call *call, stepping *job)
{
    const bool is_dense = kc_packed_is_dense(job->from);
    const size_t rows = is_dense ? KC_TILE_ROWS : KC_LANE_BYTES / kc_dtype_bytes(job->to->dtype);
    const size_t n_rows = kc_round_up(job->step->n_out, rows);
    size_t row_bytes;
    void *matrix;

    if (!kc_mul_size(job->step->n_in, kc_dtype_bytes(job->to->dtype), &row_bytes))
        return kc_fail_nomem(call->err);
    job->matrix = matrix = kc_call_take(call, n_rows, row_bytes);
    if (matrix == NULL)
        return kc_fail_nomem(call->err);
    if (job->to->dtype == KC_F64)
        lay_out_f64(job->step, rows, matrix);
    else
        lay_out_f32(job->step, rows, matrix);
    return KC_OK;
}

/* One step from some packed points to others; norms are not looked at yet. */
static kc_status take_step(kc_call *call, const kc_packed *from, const kc_step *step, kc_packed *to)
{
    stepping job = {.from = from, .step = step, .to = to};
    const size_t n_panels = kc_ceil_div(from->n, kc_panel_width(from->dtype));
    const size_t d = kc_step_width(step, from->d);
    size_t work = d, panel_bytes;

    *to = (kc_packed){
        .name = from->name, .dtype = from->dtype, .storage = KC_DENSE, .n = from->n, .d = d};
    to->sq_norms = to->owned[3] = kc_calloc(call->ctx, kc_max(1, n_panels), KC_PANEL_BYTES);
    if (to->sq_norms == NULL)
        return kc_fail_nomem(call->err);
    if (step->kind == KC_STEP_SCALE && !kc_packed_is_dense(from))
        return scale_rows(call, &job);
    if (!kc_mul_size(d, KC_PANEL_BYTES, &panel_bytes))
        return kc_fail_nomem(call->err);
    to->panels = to->owned[0] = kc_alloc(call->ctx, n_panels, panel_bytes);
    if (to->panels == NULL)
        return kc_fail_nomem(call->err);
    if (step->kind == KC_STEP_MAP) {
        KC_TRY(lay_out(call, &job));
        work *= kc_packed_mean_values(from) + 1;
    }
    job.per_chunk = kc_max(1, CHUNK_WORK / kc_panel_width(from->dtype) / work);
    return kc_parallel_for(call, kc_ceil_div(n_panels, job.per_chunk), make_panels, &job);
}

/* ---- All steps ------------------------------------------------------------------------------ */

static kc_status fail_sample(const kc_packed *made, size_t row, kc_error *err)
{
    return kc_fail(err, KC_ERR_RANGE,
                   "%s: row %zu: what the kernel makes of its columns overflows %s: scale the "
                   "data%s",
                   made->name, row, made->dtype == KC_F64 ? "float64" : "float32",
                   made->dtype == KC_F64 ? "" : " or use float64");
}

/* As while samples are packed: room for |x|^2 + |z|^2 and 2 x.z is left. */
static kc_status check_norms(const kc_packed *made, const int32_t *order, kc_error *err)
{
    const double most = made->dtype == KC_F64 ? DBL_MAX : (double)FLT_MAX;

    for (size_t i = 0; i < made->n; i++)
        if (!(kc_number_at(made->sq_norms, i, made->dtype) <= most / 4))
            return fail_sample(made, order != NULL ? (size_t)order[i] : i, err);
    return KC_OK;
}

/* `to` is empty on failure. */
static kc_status take_steps(kc_call *call, const kc_packed *from, const kc_step_list *steps,
                            const int32_t *order, kc_packed *to)
{
    kc_packed before = {.dtype = from->dtype};
    kc_status status = KC_OK;

    KC_EACH_STEP(step, steps)
    {
        kc_packed made;

        if (status != KC_OK)
            break;
        status = take_step(call, step == steps->steps ? from : &before, step, &made);
        kc_packed_free(call->ctx, &before);
        before = made;
    }
    if (status == KC_OK)
        status = check_norms(&before, order, call->err);
    if (status != KC_OK)
        kc_packed_free(call->ctx, &before);
    *to = before;
    return status;
}

/* The selection that it begins with is packed, and kept where no step follows. */
static kc_status add_reading(kc_call *call, const kc_points *points, const int32_t *order,
                             const kc_step_list *reading, kc_packed *packed, size_t *part)
{
    const kc_step_list rest = kc_reading_rest(reading);
    kc_packed selected = {.dtype = packed->dtype}, *made;
    kc_status status = KC_OK;

    *part = kc_reading_part(reading, points);
    if (*part != SIZE_MAX && rest.n_bytes == 0)
        return KC_OK;
    made = kc_packed_add_part(call, packed);
    if (made == NULL)
        return kc_fail_nomem(call->err);
    made->dtype = packed->dtype;
    if (*part == SIZE_MAX) {
        kc_column_list columns = {NULL, 0};
        kc_points view;

        kc_reading_selects(reading, &columns);
        KC_TRY(kc_points_select(call, points, &columns, &view));
        KC_TRY(kc_packed_create_ordered(call, &view, order, packed->dtype,
                                        rest.n_bytes > 0 ? &selected : made));
    }
    if (rest.n_bytes > 0)
        status = take_steps(call, *part == SIZE_MAX ? &selected : kc_packed_part(packed, *part),
                            &rest, order, made);
    kc_packed_free(call->ctx, &selected);
    *part = packed->n_parts;
    return status;
}

kc_status kc_packed_read(kc_call *call, const kc_points *points, const int32_t *order,
                         const kc_readings *readings, kc_packed *packed)
{
    packed->readings = kc_alloc(call->ctx, kc_max(1, readings->n), sizeof *packed->readings);
    if (packed->readings == NULL)
        return kc_fail_nomem(call->err);
    packed->n_readings = readings->n;
    for (size_t r = 0; r < readings->n; r++) {
        const kc_step_list reading = kc_reading_at(readings, r);
        size_t part = 0;

        KC_TRY(add_reading(call, points, order, &reading, packed, &part));
        packed->readings[r] = (int32_t)part;
    }
    return KC_OK;
}
