/* data/kc_packed.h: samples in panels and rows, whatever they came from. */
#include "data/kc_packed.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "kc_test.h"
#include "ref_points.h"

static kc_fault fault;
static kc_context *ctx;
static kc_call call;
static kc_error err;
static const kc_dtype dtypes[] = {KC_F32, KC_F64};

/* Packs `points` in the call at hand; the arena is used by unsorted rows alone. */
static kc_status pack(const kc_points *points, kc_dtype dtype, kc_packed *out)
{
    memset(out, 0xab, sizeof *out); /* what was there must not matter */
    err = (kc_error){0};
    return kc_packed_create(&call, points, dtype, out);
}

/* Sample i, feature t, wherever it is kept. */
static double packed_at(const kc_packed *p, size_t i, size_t t)
{
    const size_t width = kc_panel_width(p->dtype);

    if (kc_packed_is_dense(p))
        return ref_get(p->panels, (i / width * p->d + t) * width + i % width, p->dtype);
    for (int64_t k = p->indptr[i]; k < p->indptr[i + 1]; k++)
        if (p->cols[k] == (int32_t)t)
            return ref_get(p->vals, (size_t)k, p->dtype);
    return 0.0;
}

static size_t count_differences(const kc_packed *p, const ref_samples *s)
{
    size_t n_other = p->n != s->n || p->d != s->d;

    for (size_t i = 0; n_other == 0 && i < s->n; i++)
        for (size_t t = 0; t < s->d; t++) {
            const double value = s->x[i * s->d + t];

            n_other += packed_at(p, i, t) != (p->dtype == KC_F64 ? value : (double)(float)value);
        }
    return n_other;
}

/* Ascending, none twice, and the length of the longest row. */
static bool rows_are_sorted(const kc_packed *p)
{
    size_t longest = 0;

    for (size_t i = 0; i < p->n; i++) {
        longest = kc_max(longest, (size_t)(p->indptr[i + 1] - p->indptr[i]));
        for (int64_t k = p->indptr[i] + 1; k < p->indptr[i + 1]; k++)
            if (p->cols[k] <= p->cols[k - 1])
                return false;
    }
    return p->indptr[0] == 0 && longest == p->max_row_nnz;
}

/* ---- What is kept ------------------------------------------------------------------------- */

static void check_form(const ref_samples *s, ref_form form, kc_dtype from, kc_dtype to,
                       const kc_packed *expected)
{
    const size_t norm_bytes = kc_ceil_div(s->n, kc_panel_width(to)) * KC_PANEL_BYTES;
    ref_view view = ref_view_make(s, form, from);
    kc_packed p;

    REQUIRE(pack(&view.points, to, &p) == KC_OK);
    CHECK(p.dtype == to);
    CHECK(count_differences(&p, s) == 0);
    CHECK(kc_packed_is_dense(&p) || rows_are_sorted(&p));
    CHECK(memcmp(p.sq_norms, expected->sq_norms, norm_bytes) == 0);
    kc_packed_free(ctx, &p);
    ref_view_free(&view);
}

/* Every form of the same samples, from either type to either, for tails of a panel. */
static void check_all_forms(size_t n, size_t d, double density)
{
    for (size_t k = 0; k < 4; k++) {
        const kc_dtype from = dtypes[k / 2], to = dtypes[k % 2];
        ref_samples s = ref_random(n * d, n, d, density, from);
        ref_view view = ref_view_make(&s, REF_DENSE, from);
        kc_packed expected;

        REQUIRE(pack(&view.points, to, &expected) == KC_OK);
        for (int form = 0; form < REF_N_FORMS; form++)
            check_form(&s, (ref_form)form, from, to, &expected);
        kc_packed_free(ctx, &expected);
        ref_view_free(&view);
        ref_samples_free(&s);
    }
}

static void every_form_gives_the_same_samples_and_norms(void)
{
    for (size_t n = 1; n <= 35; n++)
        check_all_forms(n, 1 + n % 7, 0.6);
    for (size_t n = 1; n <= 35; n++)
        check_all_forms(n, 30 + n, 0.2);
    check_all_forms(3, 1000, 0.1);
    check_all_forms(100, 300, 0.05);
}

static void panels_and_norms_are_filled_up_with_zeros(void)
{
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 1; n <= 17; n++) {
            const size_t width = kc_panel_width(dtypes[k]), all = kc_round_up(n, width);
            ref_samples s = ref_random(n, n, 3, 1.0, dtypes[k]);
            ref_view view = ref_view_make(&s, REF_DENSE, dtypes[k]);
            kc_packed p;

            REQUIRE(pack(&view.points, dtypes[k], &p) == KC_OK);
            CHECK((uintptr_t)p.panels % KC_ALIGN == 0 && (uintptr_t)p.sq_norms % KC_ALIGN == 0);
            for (size_t i = n; i < all; i++) {
                CHECK(ref_get(p.sq_norms, i, dtypes[k]) == 0);
                for (size_t t = 0; t < 3; t++)
                    CHECK(packed_at(&p, i, t) == 0);
            }
            kc_packed_free(ctx, &p);
            ref_view_free(&view);
            ref_samples_free(&s);
        }
}

static void a_stride_of_zero_repeats_a_row_or_a_column(void)
{
    const double x[] = {1, 2, 3};
    kc_points points = {.struct_size = sizeof(kc_points),
                        .storage = KC_DENSE,
                        .dtype = KC_F64,
                        .n_rows = 20,
                        .n_cols = 3,
                        .values = x,
                        .col_stride = sizeof *x};
    kc_packed p;

    REQUIRE(pack(&points, KC_F64, &p) == KC_OK);
    for (size_t i = 0; i < 20; i++)
        CHECK(packed_at(&p, i, 2) == 3 && ref_get(p.sq_norms, i, KC_F64) == 14);
    kc_packed_free(ctx, &p);
    points.col_stride = 0;
    REQUIRE(pack(&points, KC_F32, &p) == KC_OK);
    for (size_t i = 0; i < 20; i++)
        CHECK(packed_at(&p, i, 2) == 1 && ref_get(p.sq_norms, i, KC_F32) == 3);
    kc_packed_free(ctx, &p);
}

static void few_features_or_many_nonzeros_are_packed_dense(void)
{
    static const struct {
        size_t d;
        double density;
        bool is_sparse;
    } cases[] = {{1, 0.01, false},
                 {KC_DIRECT_DIFF_MAX, 0.1, false},
                 {KC_DIRECT_DIFF_MAX + 1, 0.1, true},
                 {100, 0.3, true},
                 {100, 0.9, false},
                 {2000, 0.001, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ref_samples s = ref_random(i, 50, cases[i].d, cases[i].density, KC_F32);
        ref_view view = ref_view_make(&s, REF_CSR, KC_F32);
        kc_packed p;

        REQUIRE(pack(&view.points, KC_F32, &p) == KC_OK);
        CHECK((p.storage == KC_CSR) == cases[i].is_sparse);
        CHECK((p.panels == NULL) == (p.storage == KC_CSR) &&
              (p.cols != NULL) == (p.storage == KC_CSR));
        kc_packed_free(ctx, &p);
        ref_view_free(&view);
        ref_samples_free(&s);
    }
}

static void values_of_sorted_rows_of_the_right_type_are_borrowed(void)
{
    ref_samples s = ref_random(3, 20, 80, 0.2, KC_F32);

    for (size_t k = 0; k < 2; k++)
        for (int form = REF_CSR; form <= REF_CSR_UNSORTED; form++)
            for (size_t j = 0; j < 2; j++) {
                ref_view view = ref_view_make(&s, (ref_form)form, dtypes[k]);
                const bool is_sorted = form != REF_CSR_UNSORTED;
                kc_packed p;

                REQUIRE(pack(&view.points, dtypes[j], &p) == KC_OK);
                CHECK(p.storage == KC_CSR);
                CHECK((p.vals == view.points.values) == (is_sorted && j == k));
                kc_packed_free(ctx, &p);
                ref_view_free(&view);
            }
    ref_samples_free(&s);
}

static void places_do_not_follow_indices_that_change_after_packing(void)
{
    ref_samples s = ref_random(3, 20, 80, 0.2, KC_F64);

    for (int form = REF_CSR; form < REF_N_FORMS; form++)
        for (size_t j = 0; j < 2; j++) {
            ref_view view = ref_view_make(&s, (ref_form)form, KC_F64);
            kc_packed p;

            REQUIRE(pack(&view.points, dtypes[j], &p) == KC_OK);
            ref_view_spoil(&view);
            CHECK((p.storage == KC_CSR) && rows_are_sorted(&p));
            if (dtypes[j] == KC_F64)
                CHECK(count_differences(&p, &s) == 0);
            kc_packed_free(ctx, &p);
            ref_view_free(&view);
        }
    ref_samples_free(&s);
}

static void a_free_packed_is_empty_and_may_be_freed_again(void)
{
    ref_samples s = ref_random(3, 20, 80, 0.2, KC_F32);
    ref_view view = ref_view_make(&s, REF_CSR_UNSORTED, KC_F32);
    kc_packed p;

    REQUIRE(pack(&view.points, KC_F32, &p) == KC_OK);
    kc_packed_free(ctx, &p);
    CHECK(p.n == 0 && p.sq_norms == NULL && p.indptr == NULL);
    kc_packed_free(ctx, &p);
    ref_view_free(&view);
    ref_samples_free(&s);
}

/* ---- What is refused ---------------------------------------------------------------------- */

/* Row `row` gets `value` at `col`; the message must be these words, in dense and sparse forms. */
static void check_bad_value(double value, kc_dtype from, kc_dtype to, kc_status status,
                            const char *text)
{
    for (size_t d = 5; d <= 65; d += 60)
        for (int form = 0; form < REF_N_FORMS; form++) {
            ref_samples s = ref_random(d, 40, d, 0.3, KC_F32);
            ref_view view;
            kc_packed p;

            s.x[37 * d + 3] = form == REF_CSR_REPEATED ? 2 * value : value;
            view = ref_view_make(&s, (ref_form)form, from);
            CHECK(pack(&view.points, to, &p) == status);
            CHECK(err.status == status && strcmp(err.text, text) == 0);
            if (strcmp(err.text, text) != 0)
                printf("    %s, %zu columns, said: %s\n", ref_form_name((ref_form)form), d,
                       err.text);
            CHECK(p.n == 0 && p.sq_norms == NULL && p.panels == NULL && p.vals == NULL);
            kc_packed_free(ctx, &p);
            ref_view_free(&view);
            ref_samples_free(&s);
        }
}

static void values_that_are_not_finite_are_named(void)
{
    for (size_t k = 0; k < 4; k++) {
        const kc_dtype from = dtypes[k / 2], to = dtypes[k % 2];

        check_bad_value(NAN, from, to, KC_ERR_NONFINITE,
                        "X: row 37, column 3 is NaN, must be finite");
        check_bad_value(INFINITY, from, to, KC_ERR_NONFINITE,
                        "X: row 37, column 3 is infinity, must be finite");
        check_bad_value(-INFINITY, from, to, KC_ERR_NONFINITE,
                        "X: row 37, column 3 is -infinity, must be finite");
    }
}

static void values_whose_square_overflows_are_named(void)
{
    check_bad_value(-1e20, KC_F32, KC_F32, KC_ERR_RANGE,
                    "X: row 37, column 3 is -1e+20: its square overflows float32; scale the data "
                    "or use float64");
    check_bad_value(1e100, KC_F64, KC_F32, KC_ERR_RANGE, /* infinite as f32 */
                    "X: row 37, column 3 is 1e+100: its square overflows float32; scale the data "
                    "or use float64");
    check_bad_value(3e200, KC_F64, KC_F64, KC_ERR_RANGE,
                    "X: row 37, column 3 is 3e+200: its square overflows float64; scale the data");
}

static void norms_up_to_a_quarter_of_the_largest_number_are_taken(void)
{
    const double limits[] = {sqrt((double)FLT_MAX / 4), sqrt(DBL_MAX / 4)};

    for (size_t k = 0; k < 2; k++) {
        double x = limits[k] * (1 - 1e-6);
        kc_points points = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F64,
                            .n_rows = 1,
                            .n_cols = 1};
        kc_packed p;

        points.values = &x;
        CHECK(pack(&points, dtypes[k], &p) == KC_OK);
        kc_packed_free(ctx, &p);
        x = limits[k] * (1 + 1e-6);
        CHECK(pack(&points, dtypes[k], &p) == KC_ERR_RANGE);
    }
}

static void many_large_values_overflow_together(void)
{
    const float x = 2e18f;
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F32,
                              .n_rows = 1,
                              .n_cols = 100,
                              .values = &x};
    kc_packed p;

    CHECK(pack(&points, KC_F32, &p) == KC_ERR_RANGE);
    CHECK(strcmp(err.text, "points: row 0, column 0 is 2e+18: the row's sum of squares overflows "
                           "float32; scale the data or use float64") == 0);
}

/* The first value that is not finite is named, not the largest. */
static void a_value_that_is_not_finite_comes_before_a_large_one(void)
{
    float x[] = {1e30f, 2.0f, NAN, INFINITY};
    const kc_points points = {.struct_size = sizeof(kc_points),
                              .storage = KC_DENSE,
                              .dtype = KC_F32,
                              .n_rows = 1,
                              .n_cols = 4,
                              .values = x,
                              .col_stride = sizeof *x};
    kc_packed p;

    CHECK(pack(&points, KC_F32, &p) == KC_ERR_NONFINITE);
    CHECK(strcmp(err.text, "points: row 0, column 2 is NaN, must be finite") == 0);
}

static void the_structure_is_checked_before_anything_is_read(void)
{
    ref_samples s = ref_random(1, 4, 40, 0.2, KC_F64);
    ref_view view = ref_view_make(&s, REF_CSR, KC_F64);
    kc_packed p;

    ((int32_t *)view.owned[1])[0] = 40;
    CHECK(pack(&view.points, KC_F64, &p) == KC_ERR_INDEX);
    CHECK(p.n == 0 && p.vals == NULL);
    ref_view_free(&view);
    ref_samples_free(&s);
}

/* Views of a single number can have any size: the memory they would need is refused, and sizes that
 * cannot be counted are, too. */
static void sizes_beyond_all_memory_are_refused(void)
{
    static const int64_t sizes[][2] = {{INT32_MAX, INT32_MAX},
                                       {1, INT32_MAX},
                                       {INT32_MAX, 1000},
                                       {65536, 65537},
                                       {1 << 20, 1 << 20}};
    kc_context_config config = {.struct_size = sizeof config, .memory_limit = (size_t)1 << 28};
    const double one = 1;
    kc_context *small;
    kc_call small_call;

    REQUIRE(kc_context_create(&config, &small, NULL) == KC_OK);
    REQUIRE(kc_call_begin(&small_call, small, NULL, "pack", &err) == KC_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const kc_points points = {.struct_size = sizeof(kc_points),
                                  .storage = KC_DENSE,
                                  .dtype = KC_F64,
                                  .n_rows = sizes[i][0],
                                  .n_cols = sizes[i][1],
                                  .values = &one};
        kc_packed p;

        for (size_t k = 0; k < 2; k++)
            CHECK(kc_packed_create(&small_call, &points, dtypes[k], &p) == KC_ERR_NOMEM);
    }
    CHECK(kc_call_end(&small_call, KC_OK) == KC_OK);
    kc_context_free(small);
}

/* ---- Subsets ------------------------------------------------------------------------------ */

static ref_samples pick(const ref_samples *s, const int32_t *rows, size_t n)
{
    ref_samples out = {.n = n, .d = s->d, .x = malloc(kc_max(n * s->d, 1) * sizeof *out.x)};

    for (size_t i = 0; i < n; i++)
        memcpy(out.x + i * s->d, s->x + (size_t)rows[i] * s->d, s->d * sizeof *s->x);
    return out;
}

static void check_take(const ref_samples *s, ref_form form, const int32_t *rows, size_t n,
                       kc_dtype dtype)
{
    ref_view view = ref_view_make(s, form, dtype);
    ref_samples subset = pick(s, rows, n);
    const size_t bytes = kc_dtype_bytes(dtype);
    kc_packed all, taken;

    REQUIRE(pack(&view.points, dtype, &all) == KC_OK);
    memset(&taken, 0xab, sizeof taken);
    REQUIRE(kc_packed_take(&call, &all, rows, n, &taken) == KC_OK);
    CHECK((taken.storage == KC_CSR) == (all.storage == KC_CSR) && taken.dtype == dtype);
    CHECK(count_differences(&taken, &subset) == 0);
    CHECK(kc_packed_is_dense(&taken) || rows_are_sorted(&taken));
    for (size_t i = 0; i < kc_round_up(n, kc_panel_width(dtype)); i++)
        CHECK(i < n ? memcmp((const char *)taken.sq_norms + i * bytes,
                             (const char *)all.sq_norms + (size_t)rows[i] * bytes, bytes) == 0
                    : ref_get(taken.sq_norms, i, dtype) == 0);
    for (size_t i = n; kc_packed_is_dense(&taken) && i < kc_round_up(n, kc_panel_width(dtype)); i++)
        CHECK(packed_at(&taken, i, s->d - 1) == 0);
    kc_packed_free(ctx, &all); /* what was taken stands alone */
    CHECK(count_differences(&taken, &subset) == 0);
    kc_packed_free(ctx, &taken);
    ref_samples_free(&subset);
    ref_view_free(&view);
}

static void a_subset_is_what_packing_it_would_give(void)
{
    const int32_t rows[] = {39, 0, 7, 7, 1, 38, 16, 15, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13};

    for (size_t k = 0; k < 2; k++)
        for (int form = REF_DENSE; form < REF_N_FORMS; form++)
            for (size_t n = 0; n <= sizeof rows / sizeof *rows; n++) {
                ref_samples s = ref_random(n, 40, 37, 0.2, dtypes[k]);

                check_take(&s, (ref_form)form, rows, n, dtypes[k]);
                ref_samples_free(&s);
            }
}

/* ---- In another order --------------------------------------------------------------------- */

#define N_ORDER ((size_t)40)

/* A permutation far from the identity. */
static void fill_order(int32_t *order)
{
    for (size_t i = 0; i < N_ORDER; i++)
        order[i] = (int32_t)(i * 23 % N_ORDER);
}

static void an_order_is_kept_by_every_form(void)
{
    int32_t order[N_ORDER];

    fill_order(order);
    for (size_t k = 0; k < 2; k++)
        for (size_t d = 5; d <= 85; d += 80)
            for (int form = REF_DENSE; form < REF_N_FORMS; form++) {
                ref_samples s = ref_random(d, N_ORDER, d, 0.2, dtypes[k]);
                ref_samples ordered = pick(&s, order, N_ORDER);
                ref_view view = ref_view_make(&s, (ref_form)form, dtypes[k]);
                const size_t bytes = kc_dtype_bytes(dtypes[k]);
                kc_packed p, plain;

                memset(&p, 0xab, sizeof p);
                REQUIRE(kc_packed_create_ordered(&call, &view.points, order, dtypes[k], &p) ==
                        KC_OK);
                REQUIRE(pack(&view.points, dtypes[k], &plain) == KC_OK);
                CHECK((p.storage == KC_CSR) == (plain.storage == KC_CSR) &&
                      count_differences(&p, &ordered) == 0);
                for (size_t i = 0; i < N_ORDER; i++)
                    CHECK(memcmp((const char *)p.sq_norms + i * bytes,
                                 (const char *)plain.sq_norms + (size_t)order[i] * bytes,
                                 bytes) == 0);
                kc_packed_free(ctx, &p);
                kc_packed_free(ctx, &plain);
                ref_view_free(&view);
                ref_samples_free(&ordered);
                ref_samples_free(&s);
            }
}

/* A message speaks of the caller's rows. */
static void a_bad_value_is_named_by_its_row_in_the_view(void)
{
    int32_t order[N_ORDER];

    fill_order(order);
    for (size_t d = 5; d <= 85; d += 80)
        for (int form = REF_DENSE; form < REF_N_FORMS; form++) {
            ref_samples s = ref_random(d, N_ORDER, d, 0.2, KC_F32);
            ref_view view;
            kc_packed p;

            s.x[37 * d + 3] = NAN;
            view = ref_view_make(&s, (ref_form)form, KC_F32);
            err = (kc_error){0};
            CHECK(kc_packed_create_ordered(&call, &view.points, order, KC_F32, &p) ==
                  KC_ERR_NONFINITE);
            CHECK(strcmp(err.text, "X: row 37, column 3 is NaN, must be finite") == 0);
            CHECK(p.n == 0 && p.sq_norms == NULL);
            ref_view_free(&view);
            ref_samples_free(&s);
        }
}

/* ---- Refused memory ----------------------------------------------------------------------- */

/* Every form, and what is taken of it: a poll comes before any loop over what the caller gave. */
static void packing_and_taking_stop_when_time_is_over(void)
{
    static const int32_t rows[] = {3, 0, 2};
    ref_samples s = ref_random(5, 40, 200, 0.1, KC_F64);

    for (int form = REF_DENSE; form < REF_N_FORMS; form++)
        for (kc_dtype dtype = KC_F32; dtype <= KC_F64; dtype++) {
            ref_view view = ref_view_make(&s, (ref_form)form, KC_F64);
            const kc_run run = {.struct_size = sizeof run, .time_limit = 1e-9};
            kc_packed packed, taken;
            kc_call late;

            REQUIRE(kc_packed_create(&call, &view.points, dtype, &packed) == KC_OK);
            REQUIRE(kc_call_begin(&late, ctx, &run, "pack", NULL) == KC_OK);
            CHECK(kc_packed_take(&late, &packed, rows, 3, &taken) == KC_ERR_TIME);
            CHECK(taken.n == 0 && taken.sq_norms == NULL);
            kc_packed_free(ctx, &packed);
            CHECK(kc_packed_create(&late, &view.points, dtype, &packed) == KC_ERR_TIME);
            CHECK(packed.n == 0 && packed.sq_norms == NULL);
            CHECK(kc_call_end(&late, KC_ERR_TIME) == KC_ERR_TIME);
            ref_view_free(&view);
        }
    ref_samples_free(&s);
    kc_context_trim(ctx); /* the workspace of a second call */
}

static void a_subset_without_memory_is_empty_and_leaks_nothing(void)
{
    const int32_t rows[] = {3, 1, 2};

    for (int form = REF_DENSE; form <= REF_CSR; form += REF_CSR) {
        ref_samples s = ref_random(1, 20, 80, 0.2, KC_F32);
        ref_view view = ref_view_make(&s, (ref_form)form, KC_F32);
        kc_packed all, taken;
        bool was_refused = true;
        size_t n = 0;

        REQUIRE(pack(&view.points, KC_F32, &all) == KC_OK);
        while (was_refused) {
            const size_t held = kc_context_memory(ctx).current;
            kc_status status;

            kc_fault_arm(&fault, ++n, KC_FAULT_ALL);
            status = kc_packed_take(&call, &all, rows, 3, &taken);
            was_refused = kc_fault_disarm(&fault);
            CHECK(status == (was_refused ? KC_ERR_NOMEM : KC_OK));
            CHECK(!was_refused || (taken.n == 0 && taken.sq_norms == NULL));
            kc_packed_free(ctx, &taken);
            CHECK(kc_context_memory(ctx).current == held);
        }
        CHECK(n >= 3);
        kc_packed_free(ctx, &all);
        ref_view_free(&view);
        ref_samples_free(&s);
    }
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){0}, &fault);
    if (ctx == NULL || kc_call_begin(&call, ctx, NULL, "pack", &err) != KC_OK)
        return 1;
    RUN(every_form_gives_the_same_samples_and_norms);
    RUN(panels_and_norms_are_filled_up_with_zeros);
    RUN(a_stride_of_zero_repeats_a_row_or_a_column);
    RUN(few_features_or_many_nonzeros_are_packed_dense);
    RUN(values_of_sorted_rows_of_the_right_type_are_borrowed);
    RUN(places_do_not_follow_indices_that_change_after_packing);
    RUN(a_free_packed_is_empty_and_may_be_freed_again);
    RUN(values_that_are_not_finite_are_named);
    RUN(values_whose_square_overflows_are_named);
    RUN(norms_up_to_a_quarter_of_the_largest_number_are_taken);
    RUN(many_large_values_overflow_together);
    RUN(a_value_that_is_not_finite_comes_before_a_large_one);
    RUN(the_structure_is_checked_before_anything_is_read);
    RUN(sizes_beyond_all_memory_are_refused);
    RUN(a_subset_is_what_packing_it_would_give);
    RUN(an_order_is_kept_by_every_form);
    RUN(a_bad_value_is_named_by_its_row_in_the_view);
    RUN(packing_and_taking_stop_when_time_is_over);
    RUN(a_subset_without_memory_is_empty_and_leaks_nothing);
    if (kc_call_end(&call, KC_OK) != KC_OK)
        return 1;
    kc_context_free(ctx);
    return kc_test_end() || !kc_fault_is_clean(&fault);
}
