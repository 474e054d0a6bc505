/* Regression in a tube.  epsilon-SVR, with beta = alpha - alpha*:
 *
 *     minimise 1/2 b'K b - y'b + epsilon sum |beta|,   -C w <= beta <= C w,   sum of beta = 0
 *
 * C = infinity is the hard tube: all targets must be within epsilon of the function.
 *
 * nu-SVR keeps the two halves apart, one group each, and their sums fixed instead of epsilon:
 *
 *     minimise 1/2 b'K b - y'b,   0 <= beta_0 <= C w,   -C w <= beta_1 <= 0,
 *     sums = +- C nu sum(w) / 2
 *
 * At the solution, samples free in the first half lie epsilon above the function (mu_0 = intercept
 * + epsilon), those of the second half below (mu_1 = intercept - epsilon). */
#include <math.h>

#include "task/kc_form.h"

static kc_status build_eps(kc_call *call, const kc_form_input *in, kc_dual *dual)
{
    kc_form_arrays arrays;

    KC_TRY(kc_form_take(call, in, 1, &arrays, dual));
    dual->epsilon = in->settings->epsilon;
    for (size_t p = 0; p < in->n; p++) {
        const double bound = in->settings->C * in->weights[p];

        arrays.t[p] = in->y[p];
        arrays.lo[p] = -bound;
        arrays.hi[p] = bound;
        if (arrays.start != NULL)
            arrays.start[p] = in->start[p];
    }
    return KC_OK;
}

static kc_status check_tube(kc_call *call, const kc_form_input *in, const kc_solution *solution)
{
    const double epsilon = in->settings->epsilon;

    if (solution->stop == KC_STOP_UNBOUNDED)
        return kc_fail(call->err, KC_ERR_INFEASIBLE,
                       "no function of this kernel is within epsilon = %g of all targets (C is "
                       "infinite; a finite C allows errors)",
                       epsilon);
    if (solution->stop == KC_STOP_MAX_ITER || solution->stop == KC_STOP_STALLED)
        return kc_fail(call->err, KC_ERR_INFEASIBLE,
                       "no function within epsilon = %g of all targets found in %lld iterations "
                       "(%s, C is infinite; a finite C allows errors)",
                       epsilon, (long long)solution->n_iter, kc_stop_name(solution->stop));
    return KC_OK;
}

static kc_status read_eps(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                          const kc_solution *solution, kc_form_output *out)
{
    const bool is_hard = isinf(in->settings->C);

    if (is_hard)
        KC_TRY(check_tube(call, in, solution));
    kc_form_finish(in, dual, solution, 1, out);
    out->intercept = solution->intercept[0];
    out->info->epsilon =
        is_hard && solution->is_certified ? kc_dual_width(dual, solution) : dual->epsilon;
    return KC_OK;
}

static kc_status build_nu(kc_call *call, const kc_form_input *in, kc_dual *dual)
{
    kc_form_arrays arrays;
    double all = 0;

    KC_TRY(kc_form_take(call, in, 2, &arrays, dual));
    for (size_t p = 0; p < in->n; p++) {
        const double bound = in->settings->C * in->weights[p];

        arrays.t[p] = in->y[p];
        arrays.lo[p] = 0;
        arrays.hi[p] = bound;
        arrays.lo[in->n + p] = -bound;
        arrays.hi[in->n + p] = 0;
        all += in->weights[p];
        if (arrays.start != NULL) {
            arrays.start[p] = fmax(in->start[p], 0);
            arrays.start[in->n + p] = fmin(in->start[p], 0);
        }
    }
    dual->sum[0] = in->settings->C * in->settings->nu * all / 2;
    dual->sum[1] = -dual->sum[0];
    return KC_OK;
}

static kc_status read_nu(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                         const kc_solution *solution, kc_form_output *out)
{
    const double *mu = solution->intercept;

    (void)call;
    kc_form_finish(in, dual, solution, 1, out);
    out->intercept = (mu[0] + mu[1]) / 2;
    out->info->epsilon = (mu[0] - mu[1]) / 2;
    return KC_OK;
}

const kc_form kc_form_eps_svr = {
    .has_targets = true,
    .has_C = true,
    .may_be_hard = true,
    .build = build_eps,
    .read = read_eps,
};

const kc_form kc_form_nu_svr = {
    .has_targets = true,
    .has_C = true,
    .build = build_nu,
    .read = read_nu,
};
