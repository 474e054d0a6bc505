/* Packed samples as a view again, and which of them are equal. */
#include "data/kc_packed_join.h"

#include <stdlib.h>

#include "kc_test.h"
#include "ref_points.h"
#include "table_case.h"

enum { N = 40, D = 90 };

static kc_context *ctx;

static void a_view_of_several_sets_packs_to_the_same_numbers(void)
{
    ref_samples a = ref_random(1, N, D, 0.1, KC_F32), b = ref_random(2, N, D, 1, KC_F32);
    double room[2 * D];
    kc_error err;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_view x = ref_view_make(&a, (ref_form)form, KC_F32);
        ref_view z = ref_view_make(&b, REF_CSR, KC_F64); /* many values: packed dense */
        kc_packed first, second, joined;
        kc_points view;

        REQUIRE(kc_packed_create(&call, &x.points, KC_F32, &first) == KC_OK);
        REQUIRE(kc_packed_create(&call, &z.points, KC_F64, &second) == KC_OK);
        CHECK(kc_packed_are_alike(&first, &second));
        REQUIRE(kc_packed_join(&call, (const kc_packed *[]){&first, &second}, 2, &view) == KC_OK);
        CHECK(view.n_rows == 2 * N && view.n_cols == D && view.dtype == KC_F64);
        REQUIRE(kc_packed_create(&call, &view, KC_F64, &joined) == KC_OK);
        for (size_t i = 0; i < 2 * N; i++) {
            const double *wanted = i < N ? a.x + i * D : b.x + (i - N) * D;
            const kc_sample sample = kc_packed_sample(&joined, i, room);
            double found[D] = {0};

            for (size_t k = 0; k < (size_t)sample.n; k++)
                found[sample.columns != NULL ? (size_t)sample.columns[k] : k] = sample.values[k];
            for (size_t t = 0; t < D; t++)
                CHECK(found[t] == wanted[t]);
            CHECK(kc_packed_hash(&joined, i, room) ==
                  (i < N ? kc_packed_hash(&first, i, room) : kc_packed_hash(&second, i - N, room)));
        }
        kc_packed_free(ctx, &joined);
        kc_packed_free(ctx, &first);
        kc_packed_free(ctx, &second);
        ref_view_free(&x);
        ref_view_free(&z);
    }
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    ref_samples_free(&a);
    ref_samples_free(&b);
}

static void samples_are_equal_in_all_parts_or_not_at_all(void)
{
    table t;
    kc_packed packed;
    kc_error err;
    kc_call call;
    double *room;

    table_make(&t, 3, N, KC_F64, KC_F64);
    /* Rows 1 and 0 are equal, 2 differs in its string alone, 3 in a number. */
    for (size_t i = 1; i < 4; i++) {
        memcpy((double *)(void *)t.right.x + i * TABLE_RIGHT, t.right.x, TABLE_RIGHT * 8);
        memcpy((double *)(void *)t.left.x + i * TABLE_LEFT, t.left.x, TABLE_LEFT * 8);
    }
    t.right.x[3 * TABLE_RIGHT + 2] += 1;
    ref_view_free(&t.views[0]);
    ref_view_free(&t.views[1]);
    t.views[0] = ref_view_make(&t.left, REF_DENSE, KC_F64);
    t.views[1] = ref_view_make(&t.right, REF_CSR, KC_F64);
    const int64_t ends[] = {0, 1, 2, 3, 4};
    memcpy(t.strings.bytes, "xxyx", 4);
    t.strings.points.n_rows = N;
    for (size_t i = 0; i <= N; i++)
        t.strings.indptr[i] = i < 5 ? ends[i] : 4;
    t.strings.points.n_values = 4;
    table_chain(&t);

    REQUIRE(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
    REQUIRE(kc_packed_create(&call, t.parts, KC_F64, &packed) == KC_OK);
    room = malloc(2 * kc_packed_room(&packed) * sizeof *room);
    CHECK(kc_packed_is_same(&packed, 0, 1, room));
    CHECK(kc_packed_hash(&packed, 0, room) == kc_packed_hash(&packed, 1, room));
    CHECK(!kc_packed_is_same(&packed, 0, 2, room));
    CHECK(!kc_packed_is_same(&packed, 0, 3, room));
    CHECK(kc_packed_hash(&packed, 0, room) != kc_packed_hash(&packed, 2, room));
    free(room);
    kc_packed_free(ctx, &packed);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    table_free(&t);
}

static void zeros_are_equal_whatever_their_sign_and_storage(void)
{
    enum { WIDE = 200 };
    const double values[] = {1, 0, 1, -0.0};
    const int32_t columns[] = {3, 7, 3, 150}, indptr[] = {0, 2, 4};
    const kc_points x = {.struct_size = sizeof x,
                         .storage = KC_CSR,
                         .dtype = KC_F64,
                         .n_rows = 2,
                         .n_cols = WIDE,
                         .values = values,
                         .indices = columns,
                         .indptr = indptr,
                         .index_bytes = 4,
                         .n_values = 4};
    double room[2 * WIDE];
    kc_packed packed;
    kc_error err;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
    REQUIRE(kc_packed_create(&call, &x, KC_F64, &packed) == KC_OK);
    CHECK(kc_packed_is_same(&packed, 0, 1, room));
    CHECK(kc_packed_hash(&packed, 0, room) == kc_packed_hash(&packed, 1, room));
    kc_packed_free(ctx, &packed);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

int main(void)
{
    CHECK(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    RUN(a_view_of_several_sets_packs_to_the_same_numbers);
    RUN(samples_are_equal_in_all_parts_or_not_at_all);
    RUN(zeros_are_equal_whatever_their_sign_and_storage);
    kc_context_free(ctx);
    return kc_test_end();
}
