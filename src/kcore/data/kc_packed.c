/* Packing: one pass over the caller's values, which are read only here.
 *
 * Panels take each column of a CSR view once, held to the columns there are; CSR points stand on a
 * checked copy of where rows and columns are (data/kc_points.h).
 *
 * Values are checked through the norms: a sum of squares is finite exactly if every value is and
 * the sum did not overflow, so the check costs nothing; only where it fails is the row searched for
 * the value to name. */
#include "data/kc_packed.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "base/kc_thread.h"
#include "data/kc_points.h"
#include "data/kc_sort.h"

/* Sparse points with more than this share of nonzeros are faster in panels. */
#define DENSE_SHARE 0.4

/* Panels packed by one chunk of parallel work, in values. */
#define CHUNK_VALUES 65536

/* ... and copied by one out of other panels. */
#define TAKEN_VALUES ((size_t)1 << 18)

typedef struct packing {
    const kc_points *points;
    const int32_t *order; /* sample -> row; NULL: the same */
    kc_packed *out;
    size_t panels_per_chunk;
} packing;

/* The row of the view that is sample i. */
static size_t packed_row(const packing *job, size_t i)
{
    return job->order != NULL ? (size_t)job->order[i] : i;
}

#define KC_T float
#define KC_SUFFIX f32
#include "data/kc_packed_body.inc"
#undef KC_T
#undef KC_SUFFIX
#define KC_T double
#define KC_SUFFIX f64
#include "data/kc_packed_body.inc"
#undef KC_T
#undef KC_SUFFIX

/* ---- Norms -------------------------------------------------------------------------------- */

/* Room for |x|^2 + |z|^2 and 2 x.z is left below the largest number. */
static kc_status check_norms(const kc_points *points, const int32_t *order, const kc_packed *packed,
                             kc_error *err)
{
    for (size_t i = 0; i < packed->n; i++) {
        const double norm = packed->dtype == KC_F64 ? ((const double *)packed->sq_norms)[i]
                                                    : (double)((const float *)packed->sq_norms)[i];
        const double most = packed->dtype == KC_F64 ? DBL_MAX : (double)FLT_MAX;

        if (!(norm <= most / 4))
            return kc_points_fail_row(points, order != NULL ? (size_t)order[i] : i, packed->dtype,
                                      err);
    }
    return KC_OK;
}

/* ---- Dense -------------------------------------------------------------------------------- */

static void pack_panels(const packing *job, size_t begin, size_t end)
{
    const kc_packed *out = job->out;
    const size_t width = kc_panel_width(out->dtype);
    const kc_ops *ops = kc_ops_of(out->dtype);

    for (size_t p = begin; p < end; p++) {
        char *panel = (char *)out->panels + p * out->d * KC_PANEL_BYTES;

        if (out->dtype == KC_F64)
            pack_panel_f64(job, p * width, (double *)panel);
        else
            pack_panel_f32(job, p * width, (float *)panel);
        ops->panel_norms(panel, out->d, (char *)out->sq_norms + p * KC_PANEL_BYTES);
    }
}

static void pack_chunk(void *data, size_t chunk, int32_t worker)
{
    const packing *job = data;
    const size_t n_panels = kc_ceil_div(job->out->n, kc_panel_width(job->out->dtype));
    const size_t begin = chunk * job->panels_per_chunk;

    (void)worker;
    pack_panels(job, begin, kc_min(begin + job->panels_per_chunk, n_panels));
}

static kc_status pack_dense(kc_call *call, const kc_points *points, const int32_t *order,
                            kc_packed *out)
{
    const size_t width = kc_panel_width(out->dtype);
    const size_t n_panels = kc_ceil_div(out->n, width);
    packing job = {.points = points,
                   .order = order,
                   .out = out,
                   .panels_per_chunk = kc_max(1, CHUNK_VALUES / (width * out->d))};
    size_t panel_bytes;

    KC_TRY(kc_points_check(call, points));
    if (!kc_mul_size(out->d, KC_PANEL_BYTES, &panel_bytes))
        return kc_fail_nomem(call->err);
    out->panels = out->owned[0] = kc_alloc(call->ctx, n_panels, panel_bytes);
    out->sq_norms = out->owned[1] = kc_alloc(call->ctx, n_panels, KC_PANEL_BYTES);
    if (out->panels == NULL || out->sq_norms == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_parallel_for(call, kc_ceil_div(n_panels, job.panels_per_chunk), pack_chunk, &job));
    return check_norms(points, order, out, call->err);
}

/* ---- CSR ---------------------------------------------------------------------------------- */

typedef struct csr_job {
    const kc_points *points;
    kc_packed *out;
    atomic_bool is_unsorted;
    atomic_size_t max_row_nnz;
} csr_job;

static void check_order(void *data, size_t chunk, int32_t worker)
{
    csr_job *job = data;
    const kc_packed *out = job->out;
    bool is_ascending = true;
    size_t first, last;

    (void)worker;
    kc_row_chunk(out->indptr, sizeof *out->indptr, out->n, chunk, &first, &last);
    for (size_t i = first; i < last && is_ascending; i++)
        for (int64_t k = out->indptr[i] + 1; k < out->indptr[i + 1] && is_ascending; k++)
            is_ascending = out->cols[k] > out->cols[k - 1];
    if (!is_ascending)
        atomic_store_explicit(&job->is_unsorted, true, memory_order_relaxed);
}

/* Whether every row has its columns in ascending order, none twice. */
static kc_status find_order(kc_call *call, kc_packed *out, bool *is_sorted)
{
    csr_job job = {.out = out};

    KC_TRY(kc_parallel_for(call, kc_row_chunks(out->n, (size_t)out->indptr[out->n]), check_order,
                           &job));
    *is_sorted = !atomic_load(&job.is_unsorted);
    return KC_OK;
}

static void convert_chunk(void *data, size_t chunk, int32_t worker)
{
    const csr_job *job = data;
    const size_t begin = chunk * KC_CHUNK_ENTRIES;
    const size_t end = kc_min(begin + KC_CHUNK_ENTRIES, (size_t)job->out->indptr[job->out->n]);

    (void)worker;
    if (job->out->dtype == KC_F64)
        convert_values_f64(job->points, begin, end, job->out->owned[2]);
    else
        convert_values_f32(job->points, begin, end, job->out->owned[2]);
}

/* The values of sorted rows are borrowed where they are of the right type: they may change to any
 * others during the call, but they are no places in memory. */
static kc_status pack_sorted(kc_call *call, const kc_points *points, kc_packed *out)
{
    csr_job job = {.points = points, .out = out};
    const size_t nnz = (size_t)out->indptr[out->n];

    out->vals = points->values;
    if (points->dtype == out->dtype)
        return KC_OK;
    out->vals = out->owned[2] = kc_alloc(call->ctx, nnz, kc_dtype_bytes(out->dtype));
    if (nnz > 0 && out->vals == NULL)
        return kc_fail_nomem(call->err);
    return kc_parallel_for(call, kc_ceil_div(nnz, KC_CHUNK_ENTRIES), convert_chunk, &job);
}

/* Rows out of order, or with columns that stand twice: sorted and summed. */
static kc_status pack_unsorted(kc_call *call, const kc_points *points, kc_packed *out)
{
    const size_t nnz = (size_t)out->indptr[out->n], n_chunks = kc_row_chunks(out->n, nnz);
    size_t widest = 0, begin, end;
    int64_t *from = kc_call_take(call, out->n + 1, sizeof *from);
    void *vals = out->owned[2] = kc_alloc(call->ctx, nnz, kc_dtype_bytes(out->dtype));
    kc_entry *row;

    for (size_t i = 0; i < out->n; i++)
        widest = kc_max(widest, (size_t)(out->indptr[i + 1] - out->indptr[i]));
    row = kc_call_take(call, widest, sizeof *row);
    if (from == NULL || vals == NULL || row == NULL)
        return kc_fail_nomem(call->err);
    memcpy(from, out->indptr, (out->n + 1) * sizeof *from);
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        if (kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
        kc_row_chunk(from, sizeof *from, out->n, chunk, &begin, &end);
        if (out->dtype == KC_F64)
            sort_rows_f64(points, from, begin, end, row, out->owned[0], out->owned[1], vals);
        else
            sort_rows_f32(points, from, begin, end, row, out->owned[0], out->owned[1], vals);
    }
    out->vals = vals;
    return KC_OK;
}

static void measure_chunk(void *data, size_t chunk, int32_t worker)
{
    csr_job *job = data;
    const kc_packed *out = job->out;
    size_t begin, end, widest = 0, before = atomic_load(&job->max_row_nnz);

    (void)worker;
    kc_row_chunk(out->indptr, sizeof *out->indptr, out->n, chunk, &begin, &end);
    if (begin >= end)
        return;
    for (size_t i = begin; i < end; i++)
        widest = kc_max(widest, (size_t)(out->indptr[i + 1] - out->indptr[i]));
    kc_ops_of(out->dtype)
        ->csr_norms(out->indptr + begin, out->vals, end - begin,
                    (char *)out->sq_norms + begin * kc_dtype_bytes(out->dtype));
    while (widest > before && !atomic_compare_exchange_weak(&job->max_row_nnz, &before, widest))
        ;
}

static kc_status pack_sparse(kc_call *call, const kc_points *points, kc_packed *out)
{
    const size_t n_panels = kc_ceil_div(out->n, kc_panel_width(out->dtype));
    csr_job job = {.out = out};
    kc_structure own;
    bool is_sorted;

    KC_TRY(kc_structure_copy(call, points, &own));
    out->storage = KC_CSR;
    out->indptr = out->owned[0] = own.indptr;
    out->cols = out->owned[1] = own.cols;
    out->sq_norms = out->owned[3] = kc_calloc(call->ctx, n_panels, KC_PANEL_BYTES);
    if (out->sq_norms == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(find_order(call, out, &is_sorted));
    KC_TRY(is_sorted ? pack_sorted(call, points, out) : pack_unsorted(call, points, out));
    KC_TRY(kc_parallel_for(call, kc_row_chunks(out->n, (size_t)out->indptr[out->n]), measure_chunk,
                           &job));
    out->max_row_nnz = atomic_load(&job.max_row_nnz);
    return check_norms(points, NULL, out, call->err);
}

/* ---- Strings ------------------------------------------------------------------------------- */

/* Bytes are borrowed: they may change to any others during the call. */
static kc_status pack_strings(kc_call *call, const kc_points *points, kc_packed *out)
{
    kc_structure own;

    KC_TRY(kc_structure_copy(call, points, &own));
    out->storage = KC_STRINGS;
    out->indptr = out->owned[0] = own.indptr;
    out->vals = points->values;
    for (size_t i = 0; i < out->n; i++)
        out->max_row_nnz = kc_max(out->max_row_nnz, (size_t)(own.indptr[i + 1] - own.indptr[i]));
    return KC_OK;
}

/* ---- Public ------------------------------------------------------------------------------- */

/* The form that samples of a view are packed in. */
static kc_storage form_of(const kc_points *points)
{
    double nnz;

    if (points->storage != KC_CSR)
        return points->storage;
    nnz = points->n_rows > 0 /* else there may be no array either */
              ? (double)kc_index_at(points->indptr, points->index_bytes, (size_t)points->n_rows)
              : 0;
    return points->n_cols <= KC_DIRECT_DIFF_MAX ||
                   nnz > DENSE_SHARE * (double)points->n_rows * (double)points->n_cols
               ? KC_DENSE
               : KC_CSR;
}

/* Rows that lie one after the other: in their own order first. */
static kc_status pack_rows(kc_call *call, const kc_points *points, const int32_t *order,
                           kc_packed *out)
{
    kc_packed unordered = {.name = out->name, .dtype = out->dtype, .n = out->n, .d = out->d};
    kc_packed *to = order == NULL ? out : &unordered;
    kc_status status = points->storage == KC_STRINGS ? pack_strings(call, points, to)
                                                     : pack_sparse(call, points, to);

    if (status == KC_OK && order != NULL)
        status = kc_packed_take(call, &unordered, order, unordered.n, out);
    kc_packed_free(call->ctx, &unordered);
    return status;
}

kc_status kc_packed_create_ordered(kc_call *call, const kc_points *points, const int32_t *order,
                                   kc_dtype dtype, kc_packed *out)
{
    kc_status status;

    *out = (kc_packed){.name = kc_points_name(points), .dtype = dtype, .storage = KC_DENSE};
    KC_TRY(kc_points_check_form(points, call->err));
    out->n = (size_t)points->n_rows;
    out->d = kc_part_columns(points);
    status = form_of(points) == KC_DENSE ? pack_dense(call, points, order, out)
                                         : pack_rows(call, points, order, out);
    if (status == KC_OK)
        status = kc_packed_create_parts(call, points, order, out);
    if (status != KC_OK)
        kc_packed_free(call->ctx, out);
    return status;
}

kc_status kc_packed_create(kc_call *call, const kc_points *points, kc_dtype dtype, kc_packed *out)
{
    return kc_packed_create_ordered(call, points, NULL, dtype, out);
}

static kc_packed none_of(const kc_points *points, kc_dtype dtype)
{
    return (kc_packed){.name = kc_points_name(points),
                       .dtype = dtype,
                       .storage = form_of(points),
                       .d = kc_part_columns(points)};
}

kc_status kc_packed_none(kc_call *call, const kc_points *points, kc_dtype dtype, kc_packed *out)
{
    *out = none_of(points, dtype);
    while ((points = points->next) != NULL) {
        kc_packed *part = kc_packed_add_part(call, out);

        if (part == NULL) {
            kc_packed_free(call->ctx, out);
            return kc_fail_nomem(call->err);
        }
        *part = none_of(points, dtype);
        out->n_view_parts++;
    }
    return KC_OK;
}

bool kc_packed_place(const kc_points *points, kc_dtype dtype, char *memory, size_t n_bytes,
                     size_t *used, kc_packed *out)
{
    const size_t n = (size_t)points->n_rows, d = (size_t)points->n_cols;
    const size_t n_panels = kc_ceil_div(n, kc_panel_width(dtype));
    const packing job = {.points = points, .out = out, .panels_per_chunk = n_panels};

    if (kc_points_check_form(points, NULL) != KC_OK || points->storage != KC_DENSE ||
        points->next != NULL || n_panels > n_bytes / KC_PANEL_BYTES / (d + 1))
        return false;
    *used = n_panels * (d + 1) * KC_PANEL_BYTES;
    *out = (kc_packed){
        .name = kc_points_name(points), .dtype = dtype, .storage = KC_DENSE, .n = n, .d = d};
    out->sq_norms = memory;
    out->panels = memory + n_panels * KC_PANEL_BYTES;
    pack_panels(&job, 0, n_panels);
    return check_norms(points, NULL, out, NULL) == KC_OK;
}

void kc_packed_free(kc_context *ctx, kc_packed *packed)
{
    for (size_t i = 0; i < packed->n_parts; i++) {
        kc_packed_free(ctx, packed->parts[i]);
        kc_free(ctx, packed->parts[i]);
    }
    kc_free(ctx, packed->parts);
    kc_free(ctx, packed->readings);
    kc_free(ctx, packed->scalars);
    for (size_t i = 0; i < sizeof packed->owned / sizeof packed->owned[0]; i++)
        kc_free(ctx, packed->owned[i]);
    *packed = (kc_packed){.dtype = packed->dtype};
}

/* ---- Some of them -------------------------------------------------------------------------- */

typedef struct taking {
    const kc_packed *from;
    const int32_t *rows;
    kc_packed *out;
    size_t panels_per_chunk;
} taking;

static void take_panel_chunk(void *data, size_t chunk, int32_t worker)
{
    const taking *job = data;
    const size_t n_panels = kc_ceil_div(job->out->n, kc_panel_width(job->out->dtype));
    const size_t begin = chunk * job->panels_per_chunk;
    const size_t end = kc_min(begin + job->panels_per_chunk, n_panels);

    (void)worker;
    if (job->out->dtype == KC_F64)
        take_panels_f64(job->from, job->rows, begin, end, job->out);
    else
        take_panels_f32(job->from, job->rows, begin, end, job->out);
}

static kc_status take_dense(kc_call *call, const kc_packed *from, const int32_t *rows,
                            kc_packed *out)
{
    const size_t width = kc_panel_width(out->dtype);
    const size_t n_panels = kc_ceil_div(out->n, width);
    taking job = {from, rows, out, kc_max(1, TAKEN_VALUES / (width * out->d))};
    size_t panel_bytes;

    if (!kc_mul_size(out->d, KC_PANEL_BYTES, &panel_bytes))
        return kc_fail_nomem(call->err);
    out->panels = out->owned[0] = kc_alloc(call->ctx, n_panels, panel_bytes);
    if (out->panels == NULL)
        return kc_fail_nomem(call->err);
    return kc_parallel_for(call, kc_ceil_div(n_panels, job.panels_per_chunk), take_panel_chunk,
                           &job);
}

static void take_row_chunk(void *data, size_t chunk, int32_t worker)
{
    const taking *job = data;
    const kc_packed *from = job->from;
    const int64_t *indptr = job->out->indptr;
    const size_t bytes = kc_packed_value_bytes(from);
    int32_t *cols = job->out->owned[1]; /* NULL: strings */
    char *vals = job->out->owned[2];
    size_t first, last;

    (void)worker;
    kc_row_chunk(indptr, sizeof *indptr, job->out->n, chunk, &first, &last);
    for (size_t i = first; i < last; i++) {
        const size_t begin = (size_t)from->indptr[job->rows[i]], to = (size_t)indptr[i];
        const size_t nnz = (size_t)indptr[i + 1] - to;

        if (nnz == 0)
            continue;
        if (cols != NULL)
            memcpy(cols + to, from->cols + begin, nnz * sizeof *cols);
        memcpy(vals + to * bytes, (const char *)from->vals + begin * bytes, nnz * bytes);
    }
}

static kc_status take_norms(kc_call *call, const kc_packed *from, const int32_t *rows,
                            kc_packed *out)
{
    const size_t bytes = kc_dtype_bytes(from->dtype);

    out->sq_norms = out->owned[3] = kc_calloc(
        call->ctx, kc_max(1, kc_ceil_div(out->n, kc_panel_width(out->dtype))), KC_PANEL_BYTES);
    if (out->sq_norms == NULL)
        return kc_fail_nomem(call->err);
    for (size_t i = 0; i < out->n; i++)
        memcpy((char *)out->sq_norms + i * bytes,
               (const char *)from->sq_norms + (size_t)rows[i] * bytes, bytes);
    return KC_OK;
}

/* Sparse rows, or strings. */
static kc_status take_rows(kc_call *call, const kc_packed *from, const int32_t *rows,
                           kc_packed *out)
{
    const size_t bytes = kc_packed_value_bytes(from);
    taking job = {from, rows, out, 0};
    int64_t *indptr = out->owned[0] = kc_alloc(call->ctx, out->n + 1, sizeof *indptr);

    if (indptr == NULL)
        return kc_fail_nomem(call->err);
    indptr[0] = 0;
    for (size_t i = 0; i < out->n; i++) {
        const size_t nnz = (size_t)(from->indptr[rows[i] + 1] - from->indptr[rows[i]]);

        indptr[i + 1] = indptr[i] + (int64_t)nnz;
        out->max_row_nnz = kc_max(out->max_row_nnz, nnz);
        if (i % KC_CHUNK_ENTRIES == KC_CHUNK_ENTRIES - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    out->indptr = indptr;
    out->vals = out->owned[2] = kc_alloc(call->ctx, (size_t)indptr[out->n], bytes);
    if (from->storage == KC_CSR)
        out->cols = out->owned[1] = kc_alloc(call->ctx, (size_t)indptr[out->n], sizeof *out->cols);
    if (out->vals == NULL || (from->storage == KC_CSR && out->cols == NULL))
        return kc_fail_nomem(call->err);
    return kc_parallel_for(call, kc_row_chunks(out->n, (size_t)indptr[out->n]), take_row_chunk,
                           &job);
}

kc_status kc_packed_take(kc_call *call, const kc_packed *from, const int32_t *rows, size_t n_rows,
                         kc_packed *out)
{
    kc_status status = KC_OK;

    *out = (kc_packed){.name = from->name,
                       .dtype = from->dtype,
                       .storage = from->storage,
                       .n = n_rows,
                       .d = from->d};
    if (from->storage != KC_STRINGS)
        status = take_norms(call, from, rows, out);
    if (status == KC_OK)
        status = kc_packed_is_dense(from) ? take_dense(call, from, rows, out)
                                          : take_rows(call, from, rows, out);
    if (status == KC_OK)
        status = kc_packed_take_parts(call, from, rows, out);
    if (status != KC_OK)
        kc_packed_free(call->ctx, out);
    return status;
}
