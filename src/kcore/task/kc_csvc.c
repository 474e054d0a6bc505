/* C-SVC.  With beta = y alpha:
 *
 *     minimise 1/2 b'K b - y'b,   0 <= y beta <= C w,   sum of beta = 0
 *
 * C = infinity is the hard margin: the hulls of the two classes must be apart. */
#include <math.h>

#include "task/kc_form.h"

static kc_status build(kc_call *call, const kc_form_input *in, kc_dual *dual)
{
    kc_form_arrays arrays;

    KC_TRY(kc_form_take(call, in, 1, &arrays, dual));
    for (size_t p = 0; p < in->n; p++) {
        const double bound = in->settings->C * in->weights[p];

        arrays.t[p] = in->y[p];
        arrays.lo[p] = in->y[p] > 0 ? 0 : -bound;
        arrays.hi[p] = in->y[p] > 0 ? bound : 0;
        if (arrays.start != NULL)
            arrays.start[p] = in->start[p];
    }
    return KC_OK;
}

static kc_status check_margin(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                              const kc_solution *solution)
{
    if (solution->stop == KC_STOP_UNBOUNDED ||
        (solution->stop != KC_STOP_TIME && kc_form_hulls_meet(in, dual, solution)))
        return kc_fail(call->err, KC_ERR_NOT_SEPARABLE,
                       "%sthe classes cannot be separated: their hulls meet (C is infinite; a "
                       "finite C allows errors)",
                       in->name);
    if (solution->stop == KC_STOP_MAX_ITER || solution->stop == KC_STOP_STALLED)
        return kc_fail(call->err, KC_ERR_NOT_SEPARABLE,
                       "%sno separating boundary found in %lld iterations (%s, C is infinite; a "
                       "finite C allows errors)",
                       in->name, (long long)solution->n_iter, kc_stop_name(solution->stop));
    return KC_OK;
}

static kc_status read(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                      const kc_solution *solution, kc_form_output *out)
{
    if (isinf(in->settings->C))
        KC_TRY(check_margin(call, in, dual, solution));
    kc_form_finish(in, dual, solution, 1, out);
    out->intercept = solution->intercept[0];
    return KC_OK;
}

const kc_form kc_form_csvc = {
    .has_classes = true,
    .has_C = true,
    .may_be_hard = true,
    .build = build,
    .read = read,
};
