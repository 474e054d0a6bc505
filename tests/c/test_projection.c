/* Projections, checked against their definition: what is left over is orthogonal to all points. */
#include <math.h>
#include <stdlib.h>

#include "base/kc_rng.h"
#include "kc_test.h"
#include "online/kc_projection.h"

#define D 40      /* of the vectors that stand for points */
#define PLACES 24 /* of the set */

static kc_context *ctx;
static double points[PLACES + 1][D]; /* the last is the candidate */

static double product(const double *x, const double *z)
{
    double sum = 0;

    for (size_t t = 0; t < D; t++)
        sum += x[t] * z[t];
    return sum;
}

static void draw(kc_rng *rng, double *x)
{
    for (size_t t = 0; t < D; t++)
        x[t] = kc_rng_uniform(rng) - 0.5;
}

/* Asks about the candidate. */
static double ask(kc_projection *p)
{
    double k[PLACES];

    for (size_t i = 0; i < PLACES; i++)
        k[i] = product(points[PLACES], points[i]) - 0.25;
    return kc_projection_distance(p, k, KC_F64, 0.25, product(points[PLACES], points[PLACES]));
}

/* |x - sum of shares x_r|^2 = distance, and that difference is orthogonal to the points. */
static void check_shares(const kc_projection *p, const double *x, double distance, size_t left_out)
{
    double rest[D];

    for (size_t t = 0; t < D; t++)
        rest[t] = x[t];
    for (size_t r = 0; r < p->n; r++)
        for (size_t t = 0; t < D; t++)
            rest[t] -= p->shares[r] * points[p->place_of[r]][t];
    CHECK_NEAR(product(rest, rest), distance, 1e-11);
    for (size_t r = 0; r < p->n; r++)
        if (r != left_out)
            CHECK_NEAR(product(rest, points[p->place_of[r]]), 0, 1e-11);
}

static kc_projection make(kc_rng *rng, size_t n)
{
    kc_projection p = {0};

    CHECK(kc_projection_reserve(ctx, &p, 1, NULL) == KC_OK);
    for (size_t place = 0; place < n; place++) {
        CHECK(kc_projection_reserve(ctx, &p, place + 2, NULL) == KC_OK);
        draw(rng, points[place]);
        for (size_t t = 0; t < D; t++)
            points[PLACES][t] = points[place][t];
        kc_projection_join(&p, place, ask(&p));
    }
    return p;
}

static void the_rest_of_a_candidate_is_orthogonal_to_the_points(void)
{
    kc_rng rng = kc_rng_seed(1);
    kc_projection p = make(&rng, PLACES);

    for (int k = 0; k < 20; k++) {
        draw(&rng, points[PLACES]);
        const double distance = ask(&p);
        kc_projection_share(&p);
        check_shares(&p, points[PLACES], distance, PLACES + 1);
    }
    kc_projection_free(ctx, &p);
}

static void the_rest_of_a_point_is_orthogonal_to_the_others(void)
{
    kc_rng rng = kc_rng_seed(2);
    kc_projection p = make(&rng, PLACES);

    for (size_t r = 0; r < PLACES; r++) {
        const double distance = kc_projection_share_row(&p, r);
        CHECK(p.shares[r] == 0);
        check_shares(&p, points[p.place_of[r]], distance, r);
    }
    kc_projection_free(ctx, &p);
}

static void a_point_of_the_span_is_no_distance_from_it(void)
{
    kc_rng rng = kc_rng_seed(3);
    kc_projection p = make(&rng, PLACES);

    for (size_t t = 0; t < D; t++)
        points[PLACES][t] = 2 * points[3][t] - 0.5 * points[17][t];
    CHECK_NEAR(ask(&p), 0, 1e-13);
    kc_projection_share(&p);
    for (size_t r = 0; r < PLACES; r++)
        CHECK_NEAR(p.shares[r], p.place_of[r] == 3 ? 2 : p.place_of[r] == 17 ? -0.5 : 0, 1e-12);
    kc_projection_free(ctx, &p);
}

static void twenty_thousand_exchanges_lose_no_accuracy(void)
{
    kc_rng rng = kc_rng_seed(4);
    kc_projection p = make(&rng, PLACES);

    CHECK(kc_projection_reserve(ctx, &p, PLACES + 1, NULL) == KC_OK);
    for (int k = 0; k < 20000; k++) {
        const size_t place = (size_t)kc_rng_below(&rng, PLACES);
        const size_t row = kc_projection_row(&p, place);

        draw(&rng, points[PLACES]);
        if (k % 3 == 0) /* close to another point */
            for (size_t t = 0; t < D; t++)
                points[PLACES][t] = points[(place + 1) % PLACES][t] + 1e-4 * points[PLACES][t];
        kc_projection_join(&p, PLACES, ask(&p));
        kc_projection_leave(&p, row);
        p.place_of[p.n - 1] = (int32_t)place;
        for (size_t t = 0; t < D; t++)
            points[place][t] = points[PLACES][t];
    }
    CHECK(p.n == PLACES);
    /* L L' is the matrix of products. */
    for (size_t r = 0; r < p.n; r++)
        for (size_t c = 0; c <= r; c++) {
            double sum = 0;

            for (size_t i = 0; i <= c; i++)
                sum += p.factor[r * p.capacity + i] * p.factor[c * p.capacity + i];
            CHECK_NEAR(sum, product(points[p.place_of[r]], points[p.place_of[c]]), 1e-12);
        }
    kc_projection_free(ctx, &p);
}

static void a_factor_that_no_points_have_is_told(void)
{
    static const double bad[] = {0, -0.0, -1, 1e-170, 1e170, NAN, HUGE_VAL};
    kc_projection p = {0};

    REQUIRE(kc_projection_reserve(ctx, &p, 2, NULL) == KC_OK);
    p.n = 2;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (size_t r = 0; r < 2; r++) {
            p.factor[0] = p.factor[p.capacity] = p.factor[p.capacity + 1] = 1;
            CHECK(kc_projection_is_factor(&p));
            p.factor[r * p.capacity + r] = bad[k];
            CHECK(!kc_projection_is_factor(&p));
        }
    p.factor[p.capacity + 1] = 1;
    p.factor[p.capacity] = -0.5; /* left of the diagonal any finite number may stand */
    CHECK(kc_projection_is_factor(&p));
    p.factor[p.capacity] = NAN;
    CHECK(!kc_projection_is_factor(&p));
    kc_projection_free(ctx, &p);
}

int main(void)
{
    kc_context_config config = {.struct_size = sizeof config, .n_threads = 1};

    if (kc_context_create(&config, &ctx, NULL) != KC_OK)
        return 1;
    RUN(the_rest_of_a_candidate_is_orthogonal_to_the_points);
    RUN(the_rest_of_a_point_is_orthogonal_to_the_others);
    RUN(a_point_of_the_span_is_no_distance_from_it);
    RUN(twenty_thousand_exchanges_lose_no_accuracy);
    RUN(a_factor_that_no_points_have_is_told);
    kc_context_free(ctx);
    return kc_test_end();
}
