/* kc_check_points: what every call demands of its samples, for callers that hand them on. */
#include "data/kc_points.h"

kc_status kc_check_points(kc_context *ctx, const kc_run *run, const kc_points *points,
                          kc_error *err)
{
    kc_call call;

    if (points == NULL)
        return kc_fail(err, KC_ERR_ARG, "points is NULL");
    KC_TRY(kc_call_begin(&call, ctx, run, "check", err));
    return kc_call_end(&call, kc_points_check(&call, points));
}
