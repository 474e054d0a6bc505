/* Rows of samples: what is borrowed, what is copied, what is refused, and their norms. */
#include "data/kc_rowwise.h"

#include <stdlib.h>
#include <string.h>

#include "data/kc_points.h"
#include "fault.h"
#include "kc_test.h"
#include "ref_points.h"

static kc_fault fault;
static kc_context *ctx;
static kc_error err;

static kc_status create(const kc_run *run, const kc_points *points, kc_rowwise *rows)
{
    kc_call call;
    kc_status status = kc_call_begin(&call, ctx, run, "test", &err);

    if (status == KC_OK)
        status = kc_call_end(&call, kc_rowwise_create(&call, points, rows));
    return status;
}

/* Entry (i, t), columns that are repeated being added up. */
static double entry(const kc_rowwise *rows, size_t i, size_t t, kc_dtype dtype)
{
    const char *values = kc_rowwise_values(rows, i);
    double sum = 0;

    if (!rows->is_sparse)
        return ref_get(values, t, dtype);
    for (size_t k = 0; k < kc_rowwise_count(rows, i); k++)
        if ((size_t)rows->cols[rows->indptr[i] + (int64_t)k] == t)
            sum += ref_get(values, k, dtype);
    return sum;
}

static void every_form_holds_the_same_numbers(void)
{
    for (int type = KC_F32; type <= KC_F64; type++)
        for (int form = 0; form < REF_N_FORMS; form++)
            for (size_t n = 1; n <= 40; n += 13) {
                const kc_dtype dtype = (kc_dtype)type;
                ref_samples x = ref_random(n, n, 9, 0.5, dtype);
                ref_view v = ref_view_make(&x, (ref_form)form, dtype);
                kc_rowwise rows;

                REQUIRE(create(NULL, &v.points, &rows) == KC_OK);
                CHECK(rows.n == n && rows.d == 9);
                for (size_t i = 0; i < n; i++)
                    for (size_t t = 0; t < 9; t++)
                        CHECK(entry(&rows, i, t, dtype) == x.x[i * 9 + t]);
                kc_rowwise_free(ctx, &rows);
                ref_view_free(&v);
                ref_samples_free(&x);
            }
}

static void only_layouts_that_must_be_are_copied(void)
{
    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_samples x = ref_random(1, 50, 9, 0.5, KC_F64);
        ref_view v = ref_view_make(&x, (ref_form)form, KC_F64);
        const bool is_copied = form == REF_FORTRAN || form == REF_REVERSED;
        kc_rowwise rows;

        REQUIRE(create(NULL, &v.points, &rows) == KC_OK);
        CHECK((rows.values != v.points.values) == is_copied);
        CHECK((rows.owned[0] != NULL) == (is_copied || rows.is_sparse));
        kc_rowwise_free(ctx, &rows);
        ref_view_free(&v);
        ref_samples_free(&x);
    }
}

static void rows_do_not_follow_indices_that_change_later(void)
{
    for (int form = REF_CSR; form < REF_N_FORMS; form++) {
        ref_samples x = ref_random(1, 50, 9, 0.5, KC_F64);
        ref_view v = ref_view_make(&x, (ref_form)form, KC_F64);
        kc_rowwise rows;

        REQUIRE(create(NULL, &v.points, &rows) == KC_OK);
        ref_view_spoil(&v);
        for (size_t i = 0; i < x.n; i++)
            for (size_t t = 0; t < x.d; t++)
                CHECK(entry(&rows, i, t, KC_F64) == x.x[i * x.d + t]);
        kc_rowwise_free(ctx, &rows);
        ref_view_free(&v);
        ref_samples_free(&x);
    }
}

static void a_single_column_is_borrowed_at_any_stride(void)
{
    const double x[] = {1, -1, 2, -1, 3, -1};
    kc_points points = {.struct_size = sizeof(kc_points),
                        .storage = KC_DENSE,
                        .dtype = KC_F64,
                        .n_rows = 3,
                        .n_cols = 1};
    kc_rowwise rows;

    points.values = x;
    points.row_stride = 16;
    REQUIRE(create(NULL, &points, &rows) == KC_OK);
    CHECK(rows.owned[0] == NULL);
    for (size_t i = 0; i < 3; i++)
        CHECK(entry(&rows, i, 0, KC_F64) == (double)i + 1);
    kc_rowwise_free(ctx, &rows);
}

static void ones_are_noticed(void)
{
    for (int type = KC_F32; type <= KC_F64; type++)
        for (int form = REF_CSR; form <= REF_CSR_UNSORTED; form++) {
            const kc_dtype dtype = (kc_dtype)type;
            ref_samples x = ref_random(1, 30, 9, 0.5, dtype);

            for (size_t k = 0; k < x.n * x.d; k++)
                x.x[k] = x.x[k] != 0;
            for (int round = 0; round < 2; round++) {
                ref_view v = ref_view_make(&x, (ref_form)form, dtype);
                kc_rowwise rows;

                REQUIRE(create(NULL, &v.points, &rows) == KC_OK);
                CHECK(rows.are_ones == (round == 0));
                kc_rowwise_free(ctx, &rows);
                ref_view_free(&v);
                x.x[x.n * x.d - 1] = 2;
            }
            ref_samples_free(&x);
        }
}

static void a_bad_value_is_named_by_its_place(void)
{
    const double bad[] = {NAN, HUGE_VAL, -HUGE_VAL, 1e200};
    const char *words[] = {"NaN", "infinity", "-infinity", "1e+200"};

    for (int form = 0; form < REF_N_FORMS; form++)
        for (int k = 0; k < 4; k++) {
            ref_samples x = ref_random(3, 20, 9, 1, KC_F64);
            x.x[13 * 9 + 4] = bad[k];
            ref_view v = ref_view_make(&x, (ref_form)form, KC_F64);
            kc_rowwise rows = {0};
            const kc_status status = create(NULL, &v.points, &rows);

            CHECK(status == (k < 3 ? KC_ERR_NONFINITE : KC_ERR_RANGE));
            CHECK(strstr(err.text, "row 13, column 4") != NULL);
            CHECK(form == REF_CSR_REPEATED || strstr(err.text, words[k]) != NULL);
            CHECK(rows.owned[0] == NULL && rows.values == NULL);
            ref_view_free(&v);
            ref_samples_free(&x);
        }
}

static void rows_are_checked_as_far_as_asked(void)
{
    ref_samples x = ref_random(5, 30, 7, 0.5, KC_F64);
    x.x[20 * 7 + 3] = NAN;
    ref_view v = ref_view_make(&x, REF_DENSE, KC_F64);
    kc_rowwise rows;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
    REQUIRE(kc_rowwise_open(&call, &v.points, &rows) == KC_OK);
    CHECK(rows.n_checked == 0);
    CHECK(kc_rowwise_check(&call, &rows, 20) == KC_OK && rows.n_checked == 20);
    CHECK(kc_rowwise_check(&call, &rows, 5) == KC_OK && rows.n_checked == 20);
    CHECK(kc_rowwise_check(&call, &rows, 30) == KC_ERR_NONFINITE);
    CHECK(strstr(err.text, "row 20") != NULL);
    kc_rowwise_free(ctx, &rows);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    ref_view_free(&v);
    ref_samples_free(&x);
}

static void strings_and_broken_views_are_refused(void)
{
    ref_samples x = ref_random(3, 5, 3, 1, KC_F64);
    ref_view v = ref_view_make(&x, REF_CSR, KC_F64);
    kc_rowwise rows;
    int32_t *cols = v.owned[1] != NULL ? (int32_t *)v.points.indices : NULL;

    REQUIRE(cols != NULL);
    cols[4] = 3;
    CHECK(create(NULL, &v.points, &rows) == KC_ERR_INDEX);
    CHECK(strstr(err.text, "column index 3") != NULL);
    v.points.storage = KC_STRINGS;
    CHECK(create(NULL, &v.points, &rows) == KC_ERR_TYPE);
    CHECK(strstr(err.text, "strings") != NULL);
    ref_view_free(&v);
    ref_samples_free(&x);
}

static void the_largest_norm_adds_up_repeated_columns(void)
{
    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_samples x = ref_random(5, 30, 7, 0.5, KC_F32);
        ref_view v = ref_view_make(&x, (ref_form)form, KC_F32);
        double largest = 0, found = -1;
        kc_rowwise rows;
        kc_call call;

        for (size_t i = 0; i < x.n; i++) {
            double norm = 0;
            for (size_t t = 0; t < x.d; t++)
                norm += x.x[i * x.d + t] * x.x[i * x.d + t];
            largest = fmax(largest, norm);
        }
        REQUIRE(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
        REQUIRE(kc_rowwise_create(&call, &v.points, &rows) == KC_OK);
        CHECK(kc_rowwise_max_sq_norm(&call, &rows, &found) == KC_OK);
        CHECK_NEAR(found, largest, 1e-14 * largest);
        kc_rowwise_free(ctx, &rows);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
        ref_view_free(&v);
        ref_samples_free(&x);
    }
}

static int stop_at_once(void *data, const kc_progress *progress)
{
    (void)progress;
    ++*(int *)data;
    return 1;
}

/* Enough values that the clock is looked at; the caller is asked every 20 ms at most, so that a
 * fast machine may not ask at all. */
static void a_cancelled_check_ends_and_a_time_limit_does_not_end_it(void)
{
    const int64_t n = 3000, d = 1000;
    float *x = calloc((size_t)(n * d), sizeof *x);
    kc_points points = {.struct_size = sizeof(kc_points),
                        .storage = KC_DENSE,
                        .dtype = KC_F32,
                        .n_rows = n,
                        .n_cols = d};
    int n_asked = 0;
    kc_run run = {.struct_size = sizeof run, .time_limit = 1e-9};
    kc_rowwise rows;
    kc_cancel *cancel;

    REQUIRE(x != NULL);
    points.values = x;
    points.row_stride = d * 4;
    points.col_stride = 4;
    CHECK(create(&run, &points, &rows) == KC_OK);
    kc_rowwise_free(ctx, &rows);
    run = (kc_run){.struct_size = sizeof run, .on_progress = stop_at_once};
    run.progress_data = &n_asked;
    CHECK(create(&run, &points, &rows) == (n_asked ? KC_ERR_CANCELLED : KC_OK));
    kc_rowwise_free(ctx, &rows);
    REQUIRE(kc_cancel_create(ctx, &cancel, &err) == KC_OK);
    kc_cancel_set(cancel);
    run = (kc_run){.struct_size = sizeof run, .cancel = cancel};
    CHECK(create(&run, &points, &rows) == KC_ERR_CANCELLED);
    points.row_stride = 4; /* columns side by side: stopped while they are copied */
    points.col_stride = n * 4;
    CHECK(create(&run, &points, &rows) == KC_ERR_CANCELLED);
    kc_cancel_free(ctx, cancel);
    free(x);
}

static void refused_memory_is_reported_and_nothing_is_lost(void)
{
    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_samples x = ref_random(5, 30, 7, 0.5, KC_F32);
        ref_view v = ref_view_make(&x, (ref_form)form, KC_F32);
        kc_rowwise rows;

        for (size_t n = 1;; n++) {
            kc_fault_arm(&fault, n, KC_FAULT_ONCE);
            const kc_status status = create(NULL, &v.points, &rows);
            if (!kc_fault_disarm(&fault)) {
                CHECK(status == KC_OK);
                kc_rowwise_free(ctx, &rows);
                break;
            }
            CHECK(status == KC_ERR_NOMEM && rows.owned[0] == NULL);
        }
        ref_view_free(&v);
        ref_samples_free(&x);
    }
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){0}, &fault);
    if (ctx == NULL)
        return 1;
    RUN(every_form_holds_the_same_numbers);
    RUN(only_layouts_that_must_be_are_copied);
    RUN(rows_do_not_follow_indices_that_change_later);
    RUN(a_single_column_is_borrowed_at_any_stride);
    RUN(ones_are_noticed);
    RUN(a_bad_value_is_named_by_its_place);
    RUN(rows_are_checked_as_far_as_asked);
    RUN(strings_and_broken_views_are_refused);
    RUN(the_largest_norm_adds_up_repeated_columns);
    RUN(a_cancelled_check_ends_and_a_time_limit_does_not_end_it);
    RUN(refused_memory_is_reported_and_nothing_is_lost);
    kc_context_free(ctx);
    if (!kc_fault_is_clean(&fault))
        printf("memory was lost\n");
    return kc_test_end() || !kc_fault_is_clean(&fault);
}
