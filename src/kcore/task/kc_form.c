/* What the formulations share. */
#include "task/kc_form.h"

#include <math.h>
#include <string.h>

/* Below this share of the samples' size, a distance in feature space is rounding. */
#define HULL_DISTANCE 1e-7

const kc_form *kc_form_of(int32_t type)
{
    switch (type) {
    case KC_C_SVC:
        return &kc_form_csvc;
    case KC_NU_SVC:
        return &kc_form_nusvc;
    case KC_EPS_SVR:
        return &kc_form_eps_svr;
    case KC_NU_SVR:
        return &kc_form_nu_svr;
    case KC_ONE_CLASS:
        return &kc_form_one_class;
    default:
        return NULL;
    }
}

kc_status kc_form_take(kc_call *call, const kc_form_input *in, int32_t n_layers,
                       kc_form_arrays *out, kc_dual *dual)
{
    const size_t n_variables = (size_t)n_layers * in->n;

    out->t = kc_call_take(call, in->n, sizeof *out->t);
    out->lo = kc_call_take(call, n_variables, sizeof *out->lo);
    out->hi = kc_call_take(call, n_variables, sizeof *out->hi);
    out->start = in->start != NULL ? kc_call_take(call, n_variables, sizeof *out->start) : NULL;
    if (out->t == NULL || out->lo == NULL || out->hi == NULL ||
        (in->start != NULL && out->start == NULL))
        return kc_fail_nomem(call->err);
    *dual = (kc_dual){
        .cols = in->cols,
        .n_points = in->n,
        .n_layers = n_layers,
        .t = out->t,
        .lo = out->lo,
        .hi = out->hi,
        .start = out->start,
        .tol = in->settings->tol,
        .max_iter = in->settings->max_iter,
        .seed = (uint64_t)in->settings->seed,
        .is_shrinking = in->settings->shrinking != 0,
    };
    return KC_OK;
}

/* ---- Reading a solution ------------------------------------------------------------------- */

/* |w|^2 = b'K b, where K b = t - grad; rounding may leave it a little below zero.  NaN where the
 * gradient is not that of the solution. */
static double norm_squared(const kc_dual *dual, const kc_solution *solution)
{
    double total = 0;

    for (size_t p = 0; p < dual->n_points; p++)
        total += kc_dual_coefficient(dual, solution->beta, p) * (dual->t[p] - solution->grad[p]);
    return solution->is_certified ? fmax(total, 0) : NAN;
}

static int64_t count_bounded(const kc_dual *dual, const kc_solution *solution)
{
    int64_t count = 0;

    for (size_t v = 0; v < (size_t)dual->n_layers * dual->n_points; v++) {
        const double beta = solution->beta[v];

        count += beta != 0 && (beta == dual->lo[v] || beta == dual->hi[v]);
    }
    return count;
}

void kc_form_finish(const kc_form_input *in, const kc_dual *dual, const kc_solution *solution,
                    double scale, kc_form_output *out)
{
    kc_fit_info *info = out->info;

    out->scale = scale;
    info->n_support = 0;
    for (size_t p = 0; p < in->n; p++) {
        out->coef[p] = scale * kc_dual_coefficient(dual, solution->beta, p);
        info->n_support += out->coef[p] != 0;
    }
    info->stop = solution->stop;
    info->primal = solution->primal * scale * scale;
    info->dual = solution->dual * scale * scale;
    info->gap = solution->gap * scale * scale;
    info->violation = scale * kc_larger(solution->violation, 0);
    info->norm = scale * sqrt(norm_squared(dual, solution));
    info->n_iter = solution->n_iter;
    info->n_sets = solution->n_sets;
    info->n_rounds = solution->n_rounds;
    memcpy(info->path, solution->path, sizeof info->path);
    info->n_bounded = count_bounded(dual, solution);
}

bool kc_form_hulls_meet(const kc_form_input *in, const kc_dual *dual, const kc_solution *solution)
{
    double total = 0;

    for (size_t p = 0; p < in->n; p++)
        total += fabs(kc_dual_coefficient(dual, solution->beta, p));
    return total > 0 &&
           2 * sqrt(norm_squared(dual, solution)) <= HULL_DISTANCE * total * sqrt(in->max_diag);
}
