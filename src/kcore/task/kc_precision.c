/* Errors of kernel values add up in the decision values, sum of beta K + b.  How they do depends on
 * the kernel, the data and the solution, and any bound is far off: the sum of |beta| times the
 * largest error is a hundred times what is seen.  So the sum is measured: at a few dozen samples,
 * in f32 as the solver saw it and in f64, which costs next to nothing beside the fit. */
#include "task/kc_precision.h"

#include <math.h>

#include "data/kc_points.h"
#include "task/kc_form.h"

/* Half of them support vectors, half any samples; of all problems together, but some of each. */
#define AUDIT_SAMPLES ((size_t)32)
#define MIN_SAMPLES ((size_t)8)

/* Support vectors packed at once. */
#define AUDIT_COLS ((size_t)512)

#define ROUNDING 0x1p-24

/* Solutions that are off by more than so many times tol are better found anew, in f64; and where
 * the mildest guess is half of that, so are those that are not yet found. */
#define MENDABLE_TOLS 32.0
#define GUESSED_TOLS 16.0

/* The share of the variables that are at their bounds in the mildest of problems. */
#define MIN_BOUNDED 0.01

bool kc_precision_suffices(double tol, double worst)
{
    /* Samples that were not looked at may be off twice as much. */
    return 2 * worst <= tol / 4;
}

bool kc_precision_is_mendable(double tol, double worst)
{
    return worst <= MENDABLE_TOLS * tol;
}

bool kc_precision_may_do(const kc_svm_settings *settings, const kc_samples *samples)
{
    double largest = 0;

    for (size_t i = 0; i < samples->n; i++)
        largest = fmax(largest, samples->weights[i]);
    if (kc_form_of(settings->type)->has_C)
        largest *= settings->C;
    return ROUNDING * largest * sqrt(MIN_BOUNDED * (double)samples->n) <=
           GUESSED_TOLS * settings->tol;
}

/* ---- The audit ---------------------------------------------------------------------------- */

typedef struct support {
    int32_t *points; /* of the store */
    double *beta;
    size_t n;
} support;

static kc_status find_support(kc_call *call, const kc_precision_audit *audit, support *out)
{
    const kc_dual *dual = audit->dual;

    out->points = kc_call_take(call, dual->n_points, sizeof *out->points);
    out->beta = kc_call_take(call, dual->n_points, sizeof *out->beta);
    out->n = 0;
    if (out->points == NULL || out->beta == NULL)
        return kc_fail_nomem(call->err);
    for (size_t p = 0; p < dual->n_points; p++) {
        const double second = dual->n_layers == 2 ? audit->beta[dual->n_points + p] : 0;

        if (audit->beta[p] + second == 0)
            continue;
        out->points[out->n] = (int32_t)kc_cols_point(&dual->cols, p);
        out->beta[out->n++] = audit->beta[p] + second;
    }
    return KC_OK;
}

/* Which samples to look at: evenly spread, the same in every run. */
static size_t choose_samples(const kc_precision_audit *audit, const support *sv, int32_t *chosen)
{
    const size_t half = kc_max(AUDIT_SAMPLES / audit->n_problems, MIN_SAMPLES) / 2;
    const size_t n_points = audit->dual->n_points;
    const size_t n_sv = kc_min(half, sv->n), n_any = kc_min(half, n_points);

    for (size_t k = 0; k < n_sv; k++)
        chosen[k] = sv->points[k * sv->n / n_sv];
    for (size_t k = 0; k < n_any; k++)
        chosen[n_sv + k] = (int32_t)kc_cols_point(&audit->dual->cols, k * n_points / n_any);
    return n_sv + n_any;
}

kc_status kc_precision_pack(kc_call *call, const kc_precision_audit *audit, const int32_t *points,
                            size_t n, kc_packed *out)
{
    int32_t *rows = kc_call_take(call, n, sizeof *rows);
    kc_points taken;

    if (rows == NULL)
        return kc_fail_nomem(call->err);
    for (size_t k = 0; k < n; k++)
        rows[k] = audit->order[points[k]];
    KC_TRY(kc_points_take(call, audit->x, rows, n, &taken));
    return kc_prepare(call, audit->kernel, &taken, NULL, KC_F64, out);
}

/* Adds the difference that the support vectors begin .. begin + n make at each of the samples. */
static kc_status add_difference(kc_call *call, const kc_precision_audit *audit, const support *sv,
                                size_t begin, size_t n, const int32_t *chosen,
                                const kc_packed *samples, double *difference)
{
    kc_packed columns;
    float *seen = kc_call_take(call, samples->n, AUDIT_COLS * sizeof *seen);
    double *exact = kc_call_take(call, samples->n, AUDIT_COLS * sizeof *exact);

    if (seen == NULL || exact == NULL)
        return kc_fail_nomem(call->err);
    KC_TRY(kc_store_gather(call, audit->store, chosen, samples->n, sv->points + begin, n, seen,
                           AUDIT_COLS));
    KC_TRY(kc_precision_pack(call, audit, sv->points + begin, n, &columns));
    const kc_plan plan = kc_plan_make(audit->kernel, samples, &columns);
    const kc_block block = {
        .n_rows = samples->n,
        .n_cols = n,
        .out = exact,
        .ld = AUDIT_COLS,
    };
    void *workspace = kc_call_take(call, 1, kc_plan_workspace(&plan, samples->n));
    const bool is_finite = workspace != NULL && kc_plan_block(&plan, &block, workspace);

    for (size_t i = 0; is_finite && i < samples->n; i++)
        for (size_t j = 0; j < n; j++)
            difference[i] += sv->beta[begin + j] *
                             ((double)seen[i * AUDIT_COLS + j] - exact[i * AUDIT_COLS + j]);
    kc_packed_free(call->ctx, &columns);
    return workspace == NULL ? kc_fail_nomem(call->err) : KC_OK;
}

kc_status kc_precision_measure(kc_call *call, const kc_precision_audit *audit, double *worst)
{
    double difference[AUDIT_SAMPLES] = {0};
    int32_t chosen[AUDIT_SAMPLES];
    kc_packed samples;
    support sv;
    size_t n;
    kc_status status = KC_OK;

    KC_TRY(find_support(call, audit, &sv));
    n = choose_samples(audit, &sv, chosen);
    KC_TRY(kc_precision_pack(call, audit, chosen, n, &samples));
    for (size_t begin = 0; status == KC_OK && begin < sv.n; begin += AUDIT_COLS) {
        const kc_arena_point point = kc_arena_mark(call->arena);

        status = add_difference(call, audit, &sv, begin, kc_min(AUDIT_COLS, sv.n - begin), chosen,
                                &samples, difference);
        kc_arena_release(call->arena, point);
    }
    *worst = 0;
    for (size_t i = 0; i < n; i++)
        *worst = fmax(*worst, fabs(difference[i]));
    kc_packed_free(call->ctx, &samples);
    return status;
}
