/* Which combination of points of a set comes closest to another point, in feature space.
 *
 * Kept as the Cholesky factor L of the matrix of K(x_i, x_j) + offset.  A point that joins is a row
 * more; one that leaves is taken out of the rows below it by rotations.  Neither loses accuracy,
 * however many come and go, as updates of an inverse would.  Each call costs O(n^2). */
#ifndef KC_PROJECTION_H
#define KC_PROJECTION_H

#include "base/kc_status.h"

typedef struct kc_projection {
    size_t n, capacity;
    double *factor;    /* row r: factor[r * capacity + c] for c <= r */
    int32_t *place_of; /* row -> place of the point in the set */
    double *forward;   /* L^-1 k of the point at hand: the last one whose distance was found */
    double *shares;    /* by row: the combination that was found last */
    double *rotations; /* workspace: 2 * capacity */
} kc_projection;

kc_status kc_projection_reserve(kc_context *ctx, kc_projection *p, size_t n, kc_error *err);
void kc_projection_free(kc_context *ctx, kc_projection *p);

/* |x - span|^2 of a point, which is then the one at hand, with K(x, x) + offset = diag and kernel
 * values k, by place. */
double kc_projection_distance(kc_projection *p, const void *k, kc_dtype dtype, double offset,
                              double diag);

/* The point at hand joins, at `place`; its distance is positive. */
void kc_projection_join(kc_projection *p, size_t place, double sq_distance);

/* shares[r]: how much of the point of row r stands for the point at hand. */
void kc_projection_share(kc_projection *p);

/* |x_r - span of the others|^2, and shares[r'] by which the others stand for it; shares[r] = 0.
 * Infinite, and no shares, where rounding leaves nothing of its inverse. */
double kc_projection_share_row(kc_projection *p, size_t r);

void kc_projection_leave(kc_projection *p, size_t r);

/* Whether the factor is one that joining and leaving can make, and can be divided by: squares of
 * its diagonal are above 0, lengths of its rows are finite. */
bool kc_projection_is_factor(const kc_projection *p);

/* The row of the point at `place`; n: it has none. */
size_t kc_projection_row(const kc_projection *p, size_t place);

#endif
