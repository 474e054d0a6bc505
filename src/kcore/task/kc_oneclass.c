/* One-class:
 *
 *     minimise 1/2 b'K b,   0 <= beta <= w,   sum of beta = nu sum(w)
 *
 * Samples free in their box lie at f = 0: the intercept is minus libsvm's rho. */
#include "task/kc_form.h"

static kc_status build(kc_call *call, const kc_form_input *in, kc_dual *dual)
{
    kc_form_arrays arrays;
    double all = 0;

    KC_TRY(kc_form_take(call, in, 1, &arrays, dual));
    for (size_t p = 0; p < in->n; p++) {
        arrays.t[p] = 0;
        arrays.lo[p] = 0;
        arrays.hi[p] = in->weights[p];
        all += in->weights[p];
        if (arrays.start != NULL)
            arrays.start[p] = in->start[p];
    }
    dual->sum[0] = in->settings->nu * all;
    return KC_OK;
}

static kc_status read(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                      const kc_solution *solution, kc_form_output *out)
{
    (void)call;
    kc_form_finish(in, dual, solution, 1, out);
    out->intercept = solution->intercept[0];
    return KC_OK;
}

const kc_form kc_form_one_class = {build, read};
