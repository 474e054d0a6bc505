/* Packed points of several parts: each part is what it is alone, whatever is done to them all. */
#include "data/kc_packed.h"
#include "fault.h"
#include "reading_case.h"
#include "table_case.h"

#define N ((size_t)29)

static kc_fault fault;
static kc_context *ctx;
static kc_call call;
static kc_error err;

static void begin(void)
{
    err = (kc_error){0};
    CHECK(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
}

static void end(void)
{
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

static size_t norm_bytes(const kc_packed *p)
{
    return kc_ceil_div(p->n, kc_panel_width(p->dtype)) * KC_PANEL_BYTES;
}

/* The same bits, whatever else there is beside. */
static bool are_same(const kc_packed *a, const kc_packed *b)
{
    if (a->n != b->n || a->d != b->d || a->storage != b->storage || a->dtype != b->dtype)
        return false;
    if (!kc_packed_is_dense(a) &&
        (memcmp(a->indptr, b->indptr, (a->n + 1) * sizeof *a->indptr) != 0 ||
         a->max_row_nnz != b->max_row_nnz ||
         (kc_packed_n_values(a) > 0 &&
          memcmp(a->vals, b->vals, kc_packed_n_values(a) * kc_packed_value_bytes(a)) != 0)))
        return false;
    if (kc_packed_is_dense(a) && memcmp(a->panels, b->panels, norm_bytes(a) * a->d) != 0)
        return false;
    return a->storage == KC_STRINGS || memcmp(a->sq_norms, b->sq_norms, norm_bytes(a)) == 0;
}

static void reverse(int32_t *order)
{
    for (size_t i = 0; i < N; i++)
        order[i] = (int32_t)(N - 1 - i);
}

static void every_part_is_packed_as_it_is_alone(void)
{
    int32_t order[N];

    reverse(order);
    for (int k = 0; k < 8; k++) {
        const kc_dtype dtype = k & 4 ? KC_F64 : KC_F32;
        const int32_t *how = k & 2 ? order : NULL;
        kc_packed all;
        table t;

        table_make(&t, 1, N, k & 1 ? KC_F32 : KC_F64, KC_F32);
        begin();
        CHECK(kc_packed_create_ordered(&call, t.parts, how, dtype, &all) == KC_OK);
        CHECK(all.n_parts == 2 && all.n_view_parts == 2);
        CHECK(kc_packed_columns(&all) == (size_t)TABLE_COLS && !kc_packed_are_numbers(&all));
        for (size_t p = 0; p < 3; p++) {
            kc_points view = t.parts[p];
            kc_packed alone;

            view.next = NULL;
            CHECK(kc_packed_create_ordered(&call, &view, how, dtype, &alone) == KC_OK);
            CHECK(are_same(kc_packed_part(&all, p), &alone));
            kc_packed_free(ctx, &alone);
        }
        kc_packed_free(ctx, &all);
        end();
        table_free(&t);
    }
}

static void rows_taken_of_all_parts_are_those_packed(void)
{
    const int32_t rows[] = {3, 28, 0, 3};
    kc_points few;
    kc_packed all, taken, packed;
    table t;

    table_make(&t, 2, N, KC_F64, KC_F64);
    begin();
    CHECK(kc_packed_create(&call, t.parts, KC_F64, &all) == KC_OK);
    CHECK(kc_packed_take(&call, &all, rows, 4, &taken) == KC_OK);
    CHECK(kc_points_take(&call, t.parts, rows, 4, &few) == KC_OK);
    CHECK(kc_packed_create(&call, &few, KC_F64, &packed) == KC_OK);
    for (size_t p = 0; p < 3; p++)
        CHECK(are_same(kc_packed_part(&taken, p), kc_packed_part(&packed, p)));
    kc_packed_free(ctx, &all);
    kc_packed_free(ctx, &taken);
    kc_packed_free(ctx, &packed);
    end();
    table_free(&t);
}

static void a_selection_that_is_a_whole_part_is_not_packed_again(void)
{
    const int32_t first[] = {0, 1}, strings[] = {TABLE_STRINGS}, last[] = {3, 4, 5};
    const int32_t swapped[] = {1, 0}, some[] = {3, 4};
    readings r = {0};
    kc_packed all;
    table t;

    readings_add(&r, KC_STEP_SELECT, 0, 3, last);
    readings_add(&r, KC_STEP_SELECT, 0, 2, swapped);
    readings_add(&r, KC_STEP_SELECT, 0, 1, strings);
    readings_add(&r, KC_STEP_SELECT, 0, 2, first);
    readings_add(&r, KC_STEP_SELECT, 0, 2, some);
    const kc_readings list = readings_list(&r);
    table_make(&t, 3, N, KC_F64, KC_F64);
    begin();
    CHECK(kc_packed_create(&call, t.parts, KC_F64, &all) == KC_OK);
    CHECK(kc_packed_read(&call, t.parts, NULL, &list, &all) == KC_OK);
    CHECK(all.n_parts == 4 && all.n_view_parts == 2);
    CHECK(all.readings[0] == 2 && all.readings[1] == 3 && all.readings[2] == 1);
    CHECK(all.readings[3] == 0 && all.readings[4] == 4);
    CHECK(kc_packed_part(&all, 3)->d == 2 && kc_packed_columns(&all) == (size_t)TABLE_COLS);
    kc_packed_free(ctx, &all);
    end();
    table_free(&t);
}

/* Samples of a kind may be none, and then there need not be any arrays. */
static void none_of_the_samples_have_their_parts(void)
{
    kc_points parts[3] = {
        {.struct_size = sizeof *parts, .storage = KC_CSR, .dtype = KC_F64, .n_cols = 300},
        {.struct_size = sizeof *parts, .storage = KC_STRINGS},
        {.struct_size = sizeof *parts, .storage = KC_CSR, .dtype = KC_F32, .n_cols = 3},
    };
    const kc_packed *part;
    kc_packed none;

    parts[0].next = &parts[1];
    parts[1].next = &parts[2];
    begin();
    CHECK(kc_packed_none(&call, parts, KC_F64, &none) == KC_OK);
    CHECK(none.n == 0 && none.d == 300 && none.storage == KC_CSR && none.n_view_parts == 2);
    part = kc_packed_part(&none, 1);
    CHECK(part->storage == KC_STRINGS && part->n == 0 && part->d == 1);
    part = kc_packed_part(&none, 2);
    CHECK(kc_packed_is_dense(part) && part->d == 3);
    CHECK(kc_packed_n_values(&none) == 0 && kc_packed_mean_values(&none) == 0);
    CHECK(kc_packed_columns(&none) == 304);
    kc_packed_free(ctx, &none);
    end();
}

static bool is_refused(const kc_packed *packed, const kc_points *points, kc_status status,
                       const char *words)
{
    const bool is_right =
        kc_packed_check_alike(packed, points, &err) == status && strstr(err.text, words) != NULL;

    if (!is_right)
        printf("    said: %s\n", err.text);
    return is_right;
}

static void samples_unlike_those_of_the_fit_are_named_by_column(void)
{
    kc_points numbers, two[2];
    kc_packed all, plain;
    table t;

    table_make(&t, 4, N, KC_F64, KC_F64);
    begin();
    CHECK(kc_packed_create(&call, t.parts, KC_F64, &all) == KC_OK);
    CHECK(kc_packed_create(&call, &t.views[1].points, KC_F64, &plain) == KC_OK);
    CHECK(kc_packed_check_alike(&all, t.parts, &err) == KC_OK);
    CHECK(
        is_refused(&all, &t.parts[1], KC_ERR_SHAPE, "X has 4 columns, the model was fitted to 6"));
    numbers = t.parts[0];
    numbers.next = NULL;
    numbers.n_cols = TABLE_COLS;
    CHECK(is_refused(&all, &numbers, KC_ERR_TYPE,
                     "X: column 2 holds numbers, in the fit it held strings"));
    two[0] = t.parts[1];
    two[0].next = &two[1];
    two[1] = numbers;
    two[1].n_cols = TABLE_COLS - 1;
    CHECK(is_refused(&all, two, KC_ERR_TYPE,
                     "X: column 0 holds strings, in the fit it held numbers"));
    two[0] = numbers;
    two[0].n_cols = 1;
    two[0].next = &t.parts[1];
    t.parts[2].n_cols = TABLE_RIGHT + 1;
    CHECK(is_refused(&all, two, KC_ERR_TYPE,
                     "X: column 1 holds strings, in the fit it held numbers"));
    two[0].next = &two[1];
    two[1].n_cols = 2;
    CHECK(is_refused(&plain, two, KC_ERR_SHAPE,
                     "X: a part has 1 columns from column 0 on, in the fit it had 3"));
    kc_packed_free(ctx, &all);
    kc_packed_free(ctx, &plain);
    end();
    table_free(&t);
}

static kc_status pack_and_take(const table *t, const int32_t *order)
{
    const int32_t some[] = {5, 0}, rows[] = {1, 2};
    readings r = {0};
    kc_packed all, taken;
    kc_status status = kc_packed_create_ordered(&call, t->parts, order, KC_F64, &all);

    if (status != KC_OK)
        return status;
    readings_add(&r, KC_STEP_SELECT, 0, 2, some);
    readings_more(&r, KC_STEP_SCALE, 2, 2, (const double[]){0.5, 3});
    readings_more(&r, KC_STEP_MAP, 2, 3, (const double[]){1, 2, 3, 4, 5, 6});
    const kc_readings list = readings_list(&r);
    status = kc_packed_read(&call, t->parts, order, &list, &all);
    if (status == KC_OK)
        status = kc_packed_add_scalars(&call, 2, &all);
    if (status == KC_OK)
        status = kc_packed_take(&call, &all, rows, 2, &taken);
    if (status == KC_OK)
        kc_packed_free(ctx, &taken);
    kc_packed_free(ctx, &all);
    return status;
}

static void refused_memory_leaves_nothing_behind(void)
{
    int32_t order[N];
    table t;

    reverse(order);
    table_make(&t, 5, N, KC_F32, KC_F64);
    for (size_t n = 1;; n++) {
        kc_status status;

        begin();
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        status = pack_and_take(&t, order);
        const bool was_refused = kc_fault_disarm(&fault);
        CHECK(status == (was_refused ? KC_ERR_NOMEM : KC_OK) || was_refused);
        end();
        if (!was_refused)
            break;
        CHECK(n < 1000);
    }
    table_free(&t);
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
    if (ctx == NULL)
        return 1;
    RUN(every_part_is_packed_as_it_is_alone);
    RUN(rows_taken_of_all_parts_are_those_packed);
    RUN(a_selection_that_is_a_whole_part_is_not_packed_again);
    RUN(none_of_the_samples_have_their_parts);
    RUN(samples_unlike_those_of_the_fit_are_named_by_column);
    RUN(refused_memory_leaves_nothing_behind);
    kc_context_free(ctx);
    return kc_test_end() | !kc_fault_is_clean(&fault);
}
