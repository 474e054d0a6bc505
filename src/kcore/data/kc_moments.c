/* Rows are dealt to threads in chunks, band by band; a chunk makes one number of each of its rows,
 * and the caller adds these up when the band is done.
 *
 * The bounds of a CSR row are read once and held to the values there are: arrays that change during
 * the call give a wrong sum, but nothing outside of them is read. */
#include "data/kc_moments.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/kc_thread.h"
#include "data/kc_points.h"

/* Rows of a band: their numbers stay in the first-level cache of the thread that adds them up, and
 * a table of very many rows takes no more memory than another. */
#define BAND_ROWS ((size_t)65536)

/* Entries of one chunk, and of one piece of a row, after which the clock is asked: a tenth of a
 * millisecond. */
#define CHUNK_ENTRIES ((size_t)1 << 17)
#define PIECE_ENTRIES ((size_t)1 << 17)

/* Weights between two polls. */
#define POLL_WEIGHTS ((size_t)1 << 18)

/* Of two, that is a normal number, as is its inverse. */
#define LARGEST_POWER 1000

/* Sums are made in so many places, so that an addition need not wait for the one before it. */
#define PLACES 8

static_assert(PIECE_ENTRIES % PLACES == 0, "a piece begins at the first place");

/* A row as it is read: n entries, each `step` after the one before. */
typedef struct row {
    const char *values;
    int64_t step; /* in entries */
    size_t n;
} row;

/* What a chunk makes of one row; *n_left counts down to the next poll. */
typedef struct rows_job rows_job;
typedef double row_fn(const rows_job *job, const row *r, size_t *n_left);

struct rows_job {
    kc_call *call;
    const kc_points *points;
    row_fn *fn;
    double mean;                   /* of squares from the mean */
    bool is_square;                /* else of plain sums */
    size_t begin, end, chunk_rows; /* of the band */
    double *out;                   /* of its rows */
    bool is_short;                 /* not worth a poll */
};

static row find_row(const kc_points *points, size_t i)
{
    if (points->storage == KC_DENSE)
        return (row){kc_dense_at(points, i, 0),
                     points->col_stride / (int64_t)kc_dtype_bytes(points->dtype),
                     (size_t)points->n_cols};

    size_t begin, end;

    kc_row_of(points, i, &begin, &end);
    return (row){kc_sparse_at(points, begin), 1, end - begin};
}

#define KC_T float
#define KC_SUFFIX f32
#include "data/kc_moments_body.inc"
#undef KC_T
#undef KC_SUFFIX
#define KC_T double
#define KC_SUFFIX f64
#include "data/kc_moments_body.inc"
#undef KC_T
#undef KC_SUFFIX

/* Whether so many more entries may be read without a poll, or after one that says go on. */
static bool may_go_on(const rows_job *job, size_t n, size_t *n_left)
{
    if (n <= *n_left) {
        *n_left -= n;
        return true;
    }
    *n_left = PIECE_ENTRIES;
    return kc_call_poll(job->call) == KC_OK;
}

/* The sum of the entries, or of the squares of their distances from the mean. */
static double sum_row(const rows_job *job, const row *r, size_t *n_left)
{
    double sums[PLACES] = {0};

    for (size_t k = 0; k < r->n; k += PIECE_ENTRIES) {
        const size_t end = kc_min(k + PIECE_ENTRIES, r->n);

        if (!may_go_on(job, end - k, n_left))
            return NAN;
        if (job->points->dtype == KC_F64)
            add_entries_f64(r, k, end, job->is_square, job->mean, sums);
        else
            add_entries_f32(r, k, end, job->is_square, job->mean, sums);
    }
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
           ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* The place of the first entry that is not finite, or -1. */
static double find_bad_entry(const rows_job *job, const row *r, size_t *n_left)
{
    for (size_t k = 0; k < r->n; k += PIECE_ENTRIES) {
        const size_t end = kc_min(k + PIECE_ENTRIES, r->n);

        if (!may_go_on(job, end - k, n_left))
            return -1;
        const size_t found =
            job->points->dtype == KC_F64 ? find_bad_f64(r, k, end) : find_bad_f32(r, k, end);
        if (found < end)
            return (double)found;
    }
    return -1;
}

static void run_chunk(void *data, size_t chunk, int32_t worker)
{
    const rows_job *job = data;
    const size_t begin = job->begin + chunk * job->chunk_rows;
    const size_t end = kc_min(begin + job->chunk_rows, job->end);
    size_t n_left = PIECE_ENTRIES;

    (void)worker;
    for (size_t i = begin; i < end && !kc_call_stopped(job->call); i++) {
        const row r = find_row(job->points, i);

        job->out[i - job->begin] = job->fn(job, &r, &n_left);
    }
}

static kc_status begin_rows(kc_call *call, const kc_points *points, row_fn *fn, rows_job *job)
{
    const size_t n_rows = (size_t)points->n_rows;
    const double n_entries = points->storage == KC_DENSE ? (double)n_rows * (double)points->n_cols
                                                         : (double)points->n_values;

    *job = (rows_job){.call = call,
                      .points = points,
                      .fn = fn,
                      .is_short = n_entries < (double)PIECE_ENTRIES && n_rows < BAND_ROWS,
                      .chunk_rows =
                          (size_t)((double)CHUNK_ENTRIES / (n_entries / (double)n_rows + 1)) + 1,
                      .out = kc_call_take(call, kc_min(n_rows, BAND_ROWS), sizeof(double))};
    return job->out != NULL ? KC_OK : kc_fail_nomem(call->err);
}

/* The numbers of the rows from `begin` on. */
static kc_status run_band(rows_job *job, size_t begin)
{
    job->begin = begin;
    job->end = kc_min(begin + BAND_ROWS, (size_t)job->points->n_rows);
    if (job->is_short) {
        job->chunk_rows = job->end;
        run_chunk(job, 0, 0);
        return KC_OK;
    }
    return kc_parallel_for(job->call, kc_ceil_div(job->end - begin, job->chunk_rows), run_chunk,
                           job);
}

/* ---- Errors ------------------------------------------------------------------------------- */

static kc_status fail_entry(const rows_job *job, size_t i, size_t k)
{
    const kc_points *points = job->points;
    const row r = find_row(points, i);
    size_t at;

    if (points->storage == KC_DENSE)
        return kc_points_fail_value(points, i, k, kc_value_at(points, kc_dense_at(points, i, k)),
                                    job->call->err);
    at = (size_t)(r.values - (const char *)points->values) / kc_dtype_bytes(points->dtype) + k;
    at = kc_min(at, (size_t)points->n_values - 1); /* the row may have moved since */
    return kc_points_fail_value(points, i, kc_column_at(points, at),
                                kc_value_at(points, kc_sparse_at(points, at)), job->call->err);
}

/* Of the band at hand: its first entry that is not finite; KC_OK where there is none. */
static kc_status fail_first(rows_job *job)
{
    for (size_t i = job->begin; i < job->end; i++)
        if (job->out[i - job->begin] >= 0)
            return fail_entry(job, i, (size_t)job->out[i - job->begin]);
    return KC_OK;
}

kc_status kc_points_check_finite(kc_call *call, const kc_points *points)
{
    rows_job job;

    KC_TRY(begin_rows(call, points, find_bad_entry, &job));
    for (size_t i = 0; i < (size_t)points->n_rows; i += BAND_ROWS) {
        KC_TRY(run_band(&job, i));
        KC_TRY(fail_first(&job));
    }
    return KC_OK;
}

static kc_status fail_variance(kc_call *call, const kc_points *points)
{
    KC_TRY(kc_points_check_finite(call, points));
    return kc_fail(call->err, KC_ERR_RANGE, "the variance of %s overflows; scale the features",
                   kc_points_name(points));
}

/* ---- Variance ----------------------------------------------------------------------------- */

/* By how much weights are multiplied: a power of two, so that their sums have the digits that they
 * have, and do not overflow. */
static kc_status check_weights(kc_call *call, const double *weights, size_t n, double *scale)
{
    double largest = 0;
    int power;

    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0) || !isfinite(weights[i]))
            return kc_fail(call->err, isnan(weights[i]) ? KC_ERR_NONFINITE : KC_ERR_ARG,
                           "the weight of sample %zu is %g, must be finite and not negative", i,
                           weights[i]);
        largest = fmax(largest, weights[i]);
        if (i % POLL_WEIGHTS == POLL_WEIGHTS - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    if (!(largest > 0))
        return kc_fail(call->err, KC_ERR_ARG, "no sample has a positive weight");
    frexp(largest, &power);
    *scale = ldexp(1, -(power > LARGEST_POWER    ? LARGEST_POWER
                        : power < -LARGEST_POWER ? -LARGEST_POWER
                                                 : power));
    return KC_OK;
}

static kc_status weigh_rows(kc_call *call, const double *weights, size_t n, double scale,
                            double *total)
{
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        *total += scale * weights[i];
        if (i % POLL_WEIGHTS == POLL_WEIGHTS - 1 && kc_call_poll(call) != KC_OK)
            return kc_call_stop_error(call);
    }
    return KC_OK;
}

/* The sum over all rows by their weights. */
static kc_status sum_all(rows_job *job, const double *weights, double scale, double *total)
{
    const kc_points *points = job->points;
    const double zero = job->is_square ? job->mean * job->mean : 0;

    *total = 0;
    for (size_t begin = 0; begin < (size_t)points->n_rows; begin += BAND_ROWS) {
        KC_TRY(run_band(job, begin));
        for (size_t i = begin; i < job->end; i++) {
            double sum = job->out[i - begin];

            if (points->storage == KC_CSR)
                sum += (double)(points->n_cols - (int64_t)find_row(points, i).n) * zero;
            *total += weights == NULL ? sum : scale * weights[i] * sum;
        }
    }
    return KC_OK;
}

kc_status kc_points_variance(kc_call *call, const kc_points *points, const double *weights,
                             double *out)
{
    rows_job job;
    const size_t n_rows = (size_t)points->n_rows;
    double scale = 1, n_entries = (double)n_rows, sum;

    if (weights != NULL) {
        KC_TRY(check_weights(call, weights, n_rows, &scale));
        KC_TRY(weigh_rows(call, weights, n_rows, scale, &n_entries));
    }
    n_entries *= (double)points->n_cols;
    KC_TRY(begin_rows(call, points, sum_row, &job));
    KC_TRY(sum_all(&job, weights, scale, &sum));
    job.mean = sum / n_entries;
    job.is_square = true;
    if (isfinite(job.mean))
        KC_TRY(sum_all(&job, weights, scale, &sum));
    if (!isfinite(job.mean) || !isfinite(sum))
        return fail_variance(call, points);
    *out = sum / n_entries;
    return KC_OK;
}
