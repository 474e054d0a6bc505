/* Rows of the factor lie side by side: forward substitution is a dot product for each row, backward
 * substitution a row added for each row. */
#include "online/kc_projection.h"

#include <math.h>
#include <string.h>

#include "base/kc_alloc.h"
#include "simd/kc_linear_ops.h"

/* ---- Room --------------------------------------------------------------------------------- */

kc_status kc_projection_reserve(kc_context *ctx, kc_projection *p, size_t n, kc_error *err)
{
    const size_t capacity = kc_max(n, p->capacity + p->capacity / 2);
    kc_projection larger = {.n = p->n, .capacity = capacity};

    if (n <= p->capacity)
        return KC_OK;
    larger.factor = kc_alloc(ctx, capacity, capacity * sizeof *larger.factor);
    larger.place_of = kc_alloc(ctx, capacity, sizeof *larger.place_of);
    larger.forward = kc_alloc(ctx, capacity, sizeof *larger.forward);
    larger.shares = kc_alloc(ctx, capacity, sizeof *larger.shares);
    larger.rotations = kc_alloc(ctx, capacity, 2 * sizeof *larger.rotations);
    if (larger.factor == NULL || larger.place_of == NULL || larger.forward == NULL ||
        larger.shares == NULL || larger.rotations == NULL) {
        kc_projection_free(ctx, &larger);
        return kc_fail_nomem(err);
    }
    for (size_t r = 0; r < p->n; r++) {
        memcpy(larger.factor + r * capacity, p->factor + r * p->capacity,
               (r + 1) * sizeof *p->factor);
        larger.place_of[r] = p->place_of[r];
    }
    kc_projection_free(ctx, p);
    *p = larger;
    return KC_OK;
}

void kc_projection_free(kc_context *ctx, kc_projection *p)
{
    kc_free(ctx, p->factor);
    kc_free(ctx, p->place_of);
    kc_free(ctx, p->forward);
    kc_free(ctx, p->shares);
    kc_free(ctx, p->rotations);
    *p = (kc_projection){0};
}

/* ---- Triangles ---------------------------------------------------------------------------- */

static double *row_of(const kc_projection *p, size_t r)
{
    return p->factor + r * p->capacity;
}

/* L x = b in place, where b is zero before row `first`. */
static void solve_forward(const kc_projection *p, size_t first, double *x)
{
    const kc_linear_ops *ops = kc_linear_ops_of(KC_F64);

    for (size_t r = first; r < p->n; r++) {
        const double *row = row_of(p, r);

        x[r] = (x[r] - ops->dot(x + first, row + first, r - first)) / row[r];
    }
}

/* L' x = b in place. */
static void solve_backward(const kc_projection *p, double *x)
{
    const kc_linear_ops *ops = kc_linear_ops_of(KC_F64);

    for (size_t r = p->n; r-- > 0;) {
        const double *row = row_of(p, r);

        x[r] /= row[r];
        ops->add(x, -x[r], row, r);
    }
}

/* ---- Distances ---------------------------------------------------------------------------- */

double kc_projection_distance(kc_projection *p, const void *k, kc_dtype dtype, double offset,
                              double diag)
{
    for (size_t r = 0; r < p->n; r++) {
        const size_t place = (size_t)p->place_of[r];
        const double value =
            dtype == KC_F64 ? ((const double *)k)[place] : (double)((const float *)k)[place];

        p->forward[r] = value + offset;
    }
    solve_forward(p, 0, p->forward);
    return diag - kc_linear_ops_of(KC_F64)->square(p->forward, p->n);
}

void kc_projection_share(kc_projection *p)
{
    memcpy(p->shares, p->forward, p->n * sizeof *p->shares);
    solve_backward(p, p->shares);
}

/* With P the inverse of the matrix: the distance is 1 / P_rr, the shares are -P_r' r / P_rr. */
double kc_projection_share_row(kc_projection *p, size_t r)
{
    double *x = p->shares;
    double inverse;

    memset(x, 0, p->n * sizeof *x);
    x[r] = 1;
    solve_forward(p, r, x);
    solve_backward(p, x);
    inverse = x[r];
    if (inverse == 0)
        return HUGE_VAL;
    for (size_t i = 0; i < p->n; i++)
        x[i] /= -inverse;
    x[r] = 0;
    return 1 / inverse;
}

bool kc_projection_is_factor(const kc_projection *p)
{
    for (size_t r = 0; r < p->n; r++) {
        const double *row = row_of(p, r);
        double sq_length = 0;

        for (size_t c = 0; c <= r; c++)
            sq_length += row[c] * row[c];
        if (!isfinite(sq_length) || !(row[r] > 0) || !(row[r] * row[r] > 0))
            return false;
    }
    return true;
}

size_t kc_projection_row(const kc_projection *p, size_t place)
{
    size_t r = 0;

    while (r < p->n && (size_t)p->place_of[r] != place)
        r++;
    return r;
}

/* ---- Changes ------------------------------------------------------------------------------ */

void kc_projection_join(kc_projection *p, size_t place, double sq_distance)
{
    assert(p->n < p->capacity && sq_distance > 0);
    memcpy(row_of(p, p->n), p->forward, p->n * sizeof *p->forward);
    row_of(p, p->n)[p->n] = sqrt(sq_distance);
    p->place_of[p->n++] = (int32_t)place;
}

/* Without row r, every row below has one entry too many.  A rotation of two neighbouring columns
 * takes the last entry of a row into the one before it; the rows below are rotated the same way. */
void kc_projection_leave(kc_projection *p, size_t r)
{
    double *cosines = p->rotations, *sines = p->rotations + p->capacity;

    for (size_t i = r + 1; i < p->n; i++) {
        double *row = row_of(p, i);
        double kept = row[r];

        for (size_t j = r; j + 1 < i; j++) {
            const double next = row[j + 1];

            row[j] = cosines[j] * kept + sines[j] * next;
            kept = cosines[j] * next - sines[j] * kept;
        }
        const double length = sqrt(kept * kept + row[i] * row[i]);
        cosines[i - 1] = kept / length;
        sines[i - 1] = row[i] / length;
        row[i - 1] = length;
        memcpy(row_of(p, i - 1), row, i * sizeof *row);
        p->place_of[i - 1] = p->place_of[i];
    }
    p->n--;
}
