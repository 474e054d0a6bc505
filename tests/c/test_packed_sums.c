/* data/kc_packed_sums.c: sums over packed points are what they say, whatever the storage. */
#include "data/kc_packed_sums.h"

#include "kernel_case.h"

#define N ((size_t)37) /* panels of either type, the last not full */
#define D ((size_t)90) /* more features than are always packed densely */

static kc_context *ctx;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};
static const ref_form forms[] = {REF_DENSE, REF_CSR};

typedef struct world {
    ref_samples x;
    ref_view view;
    kc_packed packed;
    double w[D];
} world;

static world open_world(ref_form form, kc_dtype dtype)
{
    world v = {.x = ref_random(5, N, D, 0.2, dtype)};

    v.packed = pack_samples(ctx, &v.x, form, dtype, &v.view);
    CHECK((v.packed.storage == KC_CSR) == (form == REF_CSR));
    for (size_t t = 0; t < D; t++)
        v.w[t] = 1.0 / (double)(t + 3) - 0.1;
    return v;
}

static void close_world(world *v)
{
    kc_packed_free(ctx, &v->packed);
    ref_view_free(&v->view);
    ref_samples_free(&v->x);
}

static double product(const world *v, size_t i)
{
    double sum = 0;

    for (size_t t = 0; t < D; t++)
        sum += v->w[t] * v->x.x[i * D + t];
    return sum;
}

static void rows_are_added_up_in_their_order(void)
{
    const int32_t rows[] = {36, 0, 7, 16};
    const double delta[] = {0.1, -2.5, 1e-3, 3.0};

    for (size_t k = 0; k < 4; k++) {
        world v = open_world(forms[k % 2], dtypes[k / 2]);
        double sums[D], exact[D] = {0}, one[D] = {0};

        memset(sums, 0xff, sizeof sums);
        kc_packed_sum_rows(&v.packed, rows, delta, 4, 0, D, sums);
        for (size_t i = 0; i < 4; i++)
            for (size_t t = 0; t < D; t++)
                exact[t] += delta[i] * v.x.x[(size_t)rows[i] * D + t];
        CHECK(memcmp(sums, exact, sizeof exact) == 0);
        kc_packed_add(&v.packed, 36, 2, one);
        for (size_t t = 0; t < D; t++)
            CHECK(one[t] == 2 * v.x.x[36 * D + t]);
        close_world(&v);
    }
}

static void a_range_of_features_leaves_the_others_alone(void)
{
    const int32_t rows[] = {3};
    const double delta[] = {1};
    world v = open_world(REF_DENSE, KC_F64);
    double sums[D];

    for (size_t t = 0; t < D; t++)
        sums[t] = -7;
    kc_packed_sum_rows(&v.packed, rows, delta, 1, 10, 20, sums);
    for (size_t t = 0; t < D; t++)
        CHECK(sums[t] == (t >= 10 && t < 20 ? v.x.x[3 * D + t] : -7));
    close_world(&v);
}

static void products_are_subtracted_from_where_they_start(void)
{
    for (size_t k = 0; k < 4; k++) {
        world v = open_world(forms[k % 2], dtypes[k / 2]);
        const void *room[D];
        double start[N], out[N];

        for (size_t i = 0; i < N; i++)
            start[i] = 0.5 * (double)i;
        kc_packed_subtract(&v.packed, v.w, 5, N - 1, start, out, room);
        for (size_t p = 0; p < N - 6; p++)
            CHECK(fabs(out[p] - (start[p] - product(&v, 5 + p))) < 1e-12);
        close_world(&v);
    }
}

static void products_have_the_same_bits_dense_and_sparse(void)
{
    world dense = open_world(REF_DENSE, KC_F64), sparse = open_world(REF_CSR, KC_F64);
    double a[2 * N], b[2 * N];

    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    kc_packed_weigh(&dense.packed, dense.w, 3, N - 3, a, 2);
    kc_packed_weigh(&sparse.packed, sparse.w, 3, N - 3, b, 2);
    CHECK(memcmp(a, b, sizeof a) == 0);
    for (size_t i = 0; i < N - 3; i++) {
        CHECK(fabs(a[2 * i] - product(&dense, 3 + i)) < 1e-12);
        CHECK(a[2 * i + 1] == 0);
    }
    close_world(&dense);
    close_world(&sparse);
}

int main(void)
{
    ctx = new_context();
    RUN(rows_are_added_up_in_their_order);
    RUN(a_range_of_features_leaves_the_others_alone);
    RUN(products_are_subtracted_from_where_they_start);
    RUN(products_have_the_same_bits_dense_and_sparse);
    kc_context_free(ctx);
    return kc_test_end();
}
