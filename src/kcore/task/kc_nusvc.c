/* nu-SVC.  With beta = y alpha, one group for each class:
 *
 *     minimise 1/2 b'K b,   0 <= y beta <= w,   sums of beta = +- nu sum(w) / 2
 *
 * At the solution the free samples of the classes lie at f = -mu_0 and f = -mu_1.  Dividing by
 * r = (mu_1 - mu_0) / 2 puts them at +1 and -1, as a C-SVC with C = 1 / r has them.  Where r is
 * zero the hulls, reduced by nu, overlap: there is no direction between them.
 *
 * Weights of classes are not seen here: boxes with them would leave no room for most nu.  They
 * multiply the C = 1 / r of the classes afterwards (kc_train.c). */
#include <math.h>

#include "task/kc_form.h"

typedef struct shares {
    double plus, minus;
} shares;

static shares sum_weights(const kc_form_input *in)
{
    shares sums = {0, 0};

    for (size_t p = 0; p < in->n; p++) {
        if (in->y[p] > 0)
            sums.plus += in->own_weights[p];
        else
            sums.minus += in->own_weights[p];
    }
    return sums;
}

/* A solution's coefficients were divided by r: multiplied again, they add up to the groups' sums.
 */
static void scale_start(const kc_form_input *in, const kc_form_arrays *arrays, double sum)
{
    for (int32_t g = 0; g < 2; g++) {
        double *start = arrays->start + (size_t)g * in->n;
        const double sign = g == 0 ? 1 : -1;
        double total = 0;

        for (size_t p = 0; p < in->n; p++) {
            const double alpha = in->y[p] == sign ? fmax(sign * in->start[p], 0) : 0;

            start[p] = sign * alpha;
            total += alpha;
        }
        for (size_t p = 0; p < in->n && total > 0; p++)
            start[p] *= sum / total;
    }
}

static kc_status build(kc_call *call, const kc_form_input *in, kc_dual *dual)
{
    const shares sums = sum_weights(in);
    const double all = sums.plus + sums.minus;
    const double most = 2 * fmin(sums.plus, sums.minus) / all;
    kc_form_arrays arrays;

    if (in->settings->nu > most * (1 + 1e-12))
        return kc_fail(call->err, KC_ERR_INFEASIBLE,
                       "%snu is %g, must be at most %.6g: twice the share of the smaller class",
                       in->name, in->settings->nu, most);
    KC_TRY(kc_form_take(call, in, 2, &arrays, dual));
    dual->is_scaled = true;
    dual->sum[0] = fmin(in->settings->nu * all / 2, fmin(sums.plus, sums.minus));
    dual->sum[1] = -dual->sum[0];
    for (size_t p = 0; p < in->n; p++) {
        arrays.t[p] = 0;
        arrays.lo[p] = 0;
        arrays.hi[p] = in->y[p] > 0 ? in->own_weights[p] : 0;
        arrays.lo[in->n + p] = in->y[p] > 0 ? 0 : -in->own_weights[p];
        arrays.hi[in->n + p] = 0;
    }
    if (arrays.start != NULL)
        scale_start(in, &arrays, dual->sum[0]);
    return KC_OK;
}

/* What the solution is divided by; without a certificate, of the gradient that there is. */
static double find_scale(const kc_dual *dual, const kc_solution *solution)
{
    const double *mu = solution->intercept;

    return solution->is_certified ? kc_dual_scale(dual, solution->beta, solution->grad, mu)
                                  : (mu[1] - mu[0]) / 2;
}

static void finish_unscaled(const kc_form_input *in, const kc_dual *dual,
                            const kc_solution *solution, kc_form_output *out)
{
    kc_form_finish(in, dual, solution, 1, out);
    out->intercept = (solution->intercept[0] + solution->intercept[1]) / 2;
}

static kc_status read(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                      const kc_solution *solution, kc_form_output *out)
{
    const double *mu = solution->intercept;
    const double r = find_scale(dual, solution);

    if (solution->stop == KC_STOP_TIME && !(r > 0)) { /* there is no scale yet */
        finish_unscaled(in, dual, solution, out);
        return KC_OK;
    }
    out->is_refused =
        !(r > 0) || solution->stop == KC_STOP_UNBOUNDED || kc_form_hulls_meet(in, dual, solution);
    if (out->is_refused && out->is_tentative) {
        finish_unscaled(in, dual, solution, out);
        return KC_OK;
    }
    if (out->is_refused)
        return kc_fail(call->err, KC_ERR_DEGENERATE,
                       "%sthe margin is zero: for nu = %g the classes, reduced to their hulls, "
                       "overlap",
                       in->name, in->settings->nu);
    kc_form_finish(in, dual, solution, 1 / r, out);
    out->intercept = (mu[0] + mu[1]) / (2 * r);
    return KC_OK;
}

const kc_form kc_form_nusvc = {
    .has_classes = true,
    .is_never_zero = true,
    .build = build,
    .read = read,
};
