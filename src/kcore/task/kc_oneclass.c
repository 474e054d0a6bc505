/* One-class:
 *
 *     minimise 1/2 b'K b,   0 <= beta <= w,   sum of beta = nu sum(w)
 *
 * Samples free in their box lie on the boundary, f = 0: the intercept is minus libsvm's rho.  The
 * tolerance and rounding leave them a little on either side of it, which would be a matter of
 * chance and could put more than the part nu outside.  So the boundary is drawn just beyond the
 * last of them: samples on it count as inside, and the certificate is that of this boundary. */
#include <math.h>

#include "task/kc_form.h"

/* What rounding may do to a decision value, as a part of the intercept. */
#define ROUNDING 1e-12

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

static double enclose_free(const kc_dual *dual, const kc_solution *solution)
{
    const double mu = solution->intercept[0];
    double most = mu;

    for (size_t p = 0; p < dual->n_points; p++)
        if (dual->lo[p] < solution->beta[p] && solution->beta[p] < dual->hi[p])
            most = fmax(most, solution->grad[p]);
    most = fmin(most, mu + dual->tol); /* of a solver that was stopped, grad may be anywhere */
    return most + ROUNDING * fabs(most);
}

static kc_status read(kc_call *call, const kc_form_input *in, const kc_dual *dual,
                      const kc_solution *solution, kc_form_output *out)
{
    kc_solution enclosed = *solution;

    (void)call;
    enclosed.intercept[0] = enclose_free(dual, solution);
    if (isfinite(solution->gap))
        kc_dual_certify_at(dual, &enclosed);
    kc_form_finish(in, dual, &enclosed, 1, out);
    out->intercept = enclosed.intercept[0];
    return KC_OK;
}

const kc_form kc_form_one_class = {
    .is_detector = true,
    .is_never_zero = true,
    .build = build,
    .read = read,
};
