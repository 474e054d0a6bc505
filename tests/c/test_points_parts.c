/* Views of several parts: what they must be, and views of some of their rows and columns. */
#include "data/kc_packed.h"
#include "table_case.h"

#define N ((size_t)23)

static kc_context *ctx;
static kc_call call;
static kc_error err;

static void begin(void)
{
    CHECK(kc_call_begin(&call, ctx, NULL, "test", &err) == KC_OK);
}

static void end(void)
{
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

static kc_status check(const kc_points *points)
{
    err = (kc_error){0};
    return kc_check_points(ctx, NULL, points, &err);
}

static bool says(const char *words)
{
    const bool is_said = strstr(err.text, words) != NULL;

    if (!is_said)
        printf("    said: %s\n", err.text);
    return is_said;
}

/* ---- What a chain must be ------------------------------------------------------------------- */

static void a_chain_of_every_storage_is_taken(void)
{
    table t;

    table_make(&t, 1, N, KC_F32, KC_F64);
    CHECK(check(t.parts) == KC_OK);
    CHECK(kc_points_columns(t.parts) == (size_t)TABLE_COLS);
    CHECK(!kc_points_are_numbers(t.parts) && !kc_points_are_numbers(&t.strings.points));
    CHECK(kc_points_are_numbers(&t.views[0].points));
    table_free(&t);
}

/* A newer caller's view is longer: what this version does not know of must be zero. */
static void every_part_says_how_large_its_struct_is(void)
{
    table t;

    table_make(&t, 2, N, KC_F64, KC_F64);
    for (size_t p = 0; p < 3; p++) {
        struct newer {
            kc_points points;
            int64_t unknown;
        } newer = {.points = t.parts[p]};

        t.parts[p].struct_size = 0; /* missing */
        CHECK(check(t.parts) == KC_ERR_ARG && says("X.struct_size is 0, must be at least"));
        t.parts[p].struct_size = sizeof(kc_points) - 8;
        CHECK(check(t.parts) == KC_ERR_ARG && says("struct_size"));
        t.parts[p].struct_size = sizeof(kc_points);
        newer.points.struct_size = sizeof newer;
        if (p > 0)
            t.parts[p - 1].next = &newer.points;
        CHECK(check(p > 0 ? t.parts : &newer.points) == KC_OK);
        newer.unknown = 1;
        CHECK(check(p > 0 ? t.parts : &newer.points) == KC_ERR_ARG && says("does not know"));
        if (p > 0)
            t.parts[p - 1].next = &t.parts[p];
    }
    table_free(&t);
}

static void all_parts_have_the_same_rows(void)
{
    table t;

    table_make(&t, 3, N, KC_F64, KC_F64);
    t.parts[2].n_rows--;
    CHECK(check(t.parts) == KC_ERR_SHAPE && says("part 2 of X has 22 rows, part 0 has 23"));
    t.parts[2].n_rows = INT64_MIN;
    CHECK(check(t.parts) == KC_ERR_SHAPE);
    table_free(&t);
}

static void there_are_256_parts_at_the_most(void)
{
    kc_points chain[KC_MAX_PARTS + 1];
    table t;

    table_make(&t, 4, N, KC_F64, KC_F64);
    for (size_t p = 0; p <= KC_MAX_PARTS; p++) {
        chain[p] = t.parts[p % 3];
        chain[p].next = p < KC_MAX_PARTS ? &chain[p + 1] : NULL;
    }
    CHECK(check(chain) == KC_ERR_SHAPE && says("X has more than 256 parts"));
    CHECK(check(chain + 1) == KC_OK);
    chain[5].next = &chain[2]; /* which has no end */
    CHECK(check(chain) == KC_ERR_SHAPE && says("X has more than 256 parts"));
    chain[0].next = chain;
    CHECK(check(chain) == KC_ERR_SHAPE && says("X has more than 256 parts"));
    table_free(&t);
}

static void columns_of_all_parts_are_counted_without_overflow(void)
{
    kc_kernel *kernel = table_kernel(ctx);
    double out[N * N];
    table t;

    table_make(&t, 5, N, KC_F64, KC_F64);
    t.parts[0].n_cols = INT32_MAX;
    CHECK(check(t.parts) == KC_ERR_SHAPE && says("more than 2147483647 columns in all"));
    t.parts[0].n_cols = -1;
    t.parts[2].n_cols = (int64_t)INT32_MAX + 1;
    CHECK(check(t.parts) == KC_ERR_SHAPE && says("has -1 columns"));
    CHECK(kc_gram(ctx, NULL, kernel, t.parts, NULL, KC_F64, out, N, &err) == KC_ERR_SHAPE);
    kc_kernel_free(ctx, kernel);
    table_free(&t);
}

/* Calls look at the storage of each part before they look at anything else. */
static void a_storage_that_is_none_is_refused_by_every_call(void)
{
    const int storages[] = {0, 4, 77, -1, INT32_MAX};
    kc_kernel *kernels[] = {table_kernel(ctx), delta_kernel(ctx)};
    uint64_t random[4] = {1, 2, 3, 4};
    kc_online_config config = {.struct_size = sizeof config,
                               .dtype = KC_F64,
                               .n_cols = TABLE_COLS,
                               .n_classes = 2,
                               .random = random};
    double out[N * N];
    table t;

    for (size_t k = 0; k < 10; k++) {
        kc_online *online = NULL;

        table_make(&t, 6, N, KC_F64, KC_F64);
        t.parts[1].storage = t.parts[0].storage = (kc_storage)storages[k / 2];
        config.kernel = kernels[k % 2];
        config.like = t.parts;
        CHECK(check(t.parts) == KC_ERR_TYPE && says("must be dense, CSR or strings"));
        CHECK(kc_gram(ctx, NULL, config.kernel, t.parts, NULL, KC_F64, out, N, &err) ==
              KC_ERR_TYPE);
        CHECK(kc_online_create(ctx, &config, &online, &err) == KC_ERR_TYPE);
        CHECK(kc_check_finite(ctx, NULL, t.parts, &err) == KC_ERR_TYPE);
        table_free(&t);
    }
    for (int k = 0; k < 2; k++)
        kc_kernel_free(ctx, kernels[k]);
}

static void calls_of_numbers_refuse_other_samples(void)
{
    double variance;
    table t;

    table_make(&t, 7, N, KC_F64, KC_F64);
    CHECK(kc_variance(ctx, NULL, t.parts, NULL, &variance, &err) == KC_ERR_TYPE &&
          says("X has several parts, numbers of one part are needed"));
    CHECK(kc_variance(ctx, NULL, &t.strings.points, NULL, &variance, &err) == KC_ERR_TYPE &&
          says("X holds strings, numbers are needed"));
    CHECK(kc_check_finite(ctx, NULL, t.parts, &err) == KC_OK);
    ref_put(t.views[1].owned[0], 2, KC_F64, INFINITY);
    CHECK(kc_check_finite(ctx, NULL, t.parts, &err) == KC_ERR_NONFINITE &&
          says("X: row 0, column 5 is infinity"));
    table_free(&t);
}

static void samples_that_are_not_alike_are_named_by_column(void)
{
    kc_points numbers, two[2];
    table x, z;

    table_make(&x, 8, N, KC_F64, KC_F64);
    table_make(&z, 9, N, KC_F32, KC_F32);
    for (size_t p = 0; p < 3; p++)
        z.parts[p].name = "Z";
    CHECK(kc_points_check_alike(x.parts, z.parts, &err) == KC_OK);
    numbers = z.parts[0];
    numbers.next = NULL;
    numbers.n_cols = TABLE_COLS;
    CHECK(kc_points_check_alike(x.parts, &numbers, &err) == KC_ERR_TYPE &&
          says("column 2 of X holds strings, that of Z numbers"));
    CHECK(kc_points_check_alike(&numbers, x.parts, &err) == KC_ERR_TYPE &&
          says("column 2 of Z holds numbers, that of X strings"));
    two[0] = z.parts[1]; /* strings first */
    two[0].next = &two[1];
    two[1] = numbers;
    two[1].n_cols = TABLE_COLS - 1;
    CHECK(kc_points_check_alike(x.parts, two, &err) == KC_ERR_TYPE &&
          says("column 0 of X holds numbers, that of Z strings"));
    two[0] = two[1]; /* two parts of numbers, and one */
    two[0].n_cols = 1;
    two[0].next = &two[1];
    CHECK(kc_points_check_alike(&numbers, two, &err) == KC_ERR_SHAPE &&
          says("the part of Z from column 0 on has 6 columns, that of Z 1"));
    CHECK(kc_points_check_alike(x.parts, x.parts + 1, &err) == KC_ERR_SHAPE &&
          says("X has 6 columns, X has 4"));
    table_free(&x);
    table_free(&z);
}

/* ---- Some rows, some columns ---------------------------------------------------------------- */

static double feature(const kc_packed *p, size_t i, size_t t)
{
    double room[64];
    const kc_sample sample = kc_packed_sample(p, i, room);

    if (sample.columns == NULL)
        return sample.values[t];
    for (int64_t k = 0; k < sample.n; k++)
        if (sample.columns[k] == (int32_t)t)
            return sample.values[k];
    return 0;
}

static void rows_of_any_storage_are_taken_in_any_order(void)
{
    const int32_t rows[] = {22, 0, 3, 3, 7};

    for (int form = 0; form < REF_N_FORMS; form++)
        for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
            ref_samples samples = ref_random(5, N, 37, 0.2, (kc_dtype)dtype);
            ref_view view = ref_view_make(&samples, (ref_form)form, (kc_dtype)dtype);
            kc_points taken;
            kc_packed p;

            begin();
            CHECK(kc_points_take(&call, &view.points, rows, 5, &taken) == KC_OK);
            CHECK(taken.n_rows == 5 && check(&taken) == KC_OK);
            CHECK(kc_packed_create(&call, &taken, (kc_dtype)dtype, &p) == KC_OK);
            for (size_t i = 0; i < 5; i++)
                for (size_t t = 0; t < 37; t++)
                    CHECK(feature(&p, i, t) == samples.x[(size_t)rows[i] * 37 + t]);
            kc_packed_free(ctx, &p);
            end();
            ref_view_free(&view);
            ref_samples_free(&samples);
        }
}

static void rows_of_a_table_are_taken_from_all_of_its_parts(void)
{
    const int32_t rows[] = {4, 4, 20, 1};
    kc_points taken;
    table t;

    table_make(&t, 10, N, KC_F32, KC_F64);
    begin();
    CHECK(kc_points_take(&call, t.parts, rows, 4, &taken) == KC_OK);
    CHECK(check(&taken) == KC_OK && kc_points_columns(&taken) == (size_t)TABLE_COLS);
    for (size_t i = 0; i < 4; i++) {
        const size_t row = (size_t)rows[i];
        const int64_t *indptr = taken.next->indptr;
        const size_t n = (size_t)(indptr[i + 1] - indptr[i]);

        CHECK(ref_get(taken.values, i * TABLE_LEFT + 1, KC_F32) == t.left.x[row * TABLE_LEFT + 1]);
        CHECK(n == (size_t)(t.strings.indptr[row + 1] - t.strings.indptr[row]));
        CHECK(memcmp((const char *)taken.next->values + indptr[i],
                     t.strings.bytes + t.strings.indptr[row], n) == 0);
        CHECK(ref_get(taken.next->next->values, i * TABLE_RIGHT + 2, KC_F64) ==
              t.right.x[row * TABLE_RIGHT + 2]);
    }
    CHECK(taken.next->next->next == NULL && taken.next->next->first_col == 3);
    end();
    table_free(&t);
}

static void columns_of_any_storage_are_selected_in_any_order(void)
{
    const int32_t list[] = {36, 0, 5, 4};
    const kc_column_list columns = {list, 4};

    for (int form = 0; form < REF_N_FORMS; form++) {
        ref_samples samples = ref_random(6, N, 37, 0.3, KC_F32);
        ref_view view = ref_view_make(&samples, (ref_form)form, KC_F32);
        kc_points selected;
        kc_packed p;

        begin();
        CHECK(kc_points_select(&call, &view.points, &columns, &selected) == KC_OK);
        CHECK(selected.n_cols == 4 && check(&selected) == KC_OK);
        CHECK(kc_packed_create(&call, &selected, KC_F64, &p) == KC_OK);
        for (size_t i = 0; i < N; i++)
            for (size_t c = 0; c < 4; c++)
                CHECK(feature(&p, i, c) == samples.x[i * 37 + (size_t)list[c]]);
        kc_packed_free(ctx, &p);
        end();
        ref_view_free(&view);
        ref_samples_free(&samples);
    }
}

static void columns_of_several_dense_parts_are_of_the_wider_type(void)
{
    const int32_t list[] = {5, 1, 3, 0}, left[] = {1, 0};

    for (int k = 0; k < 4; k++) {
        const kc_dtype types[] = {k & 1 ? KC_F64 : KC_F32, k & 2 ? KC_F64 : KC_F32};
        const kc_column_list columns = {list, 4}, own = {left, 2};
        kc_points selected;
        table t;

        table_make(&t, 11, N, types[0], types[1]);
        begin();
        CHECK(kc_points_select(&call, t.parts, &columns, &selected) == KC_OK);
        CHECK(selected.dtype == (k > 0 ? KC_F64 : KC_F32) && check(&selected) == KC_OK);
        for (size_t i = 0; i < N; i++) {
            const double *a = t.left.x + i * TABLE_LEFT, *b = t.right.x + i * TABLE_RIGHT;
            const double row[] = {b[2], a[1], b[0], a[0]};

            for (size_t c = 0; c < 4; c++)
                CHECK(ref_get(selected.values, i * 4 + c, selected.dtype) == row[c]);
        }
        CHECK(kc_points_select(&call, t.parts, &own, &selected) == KC_OK);
        CHECK(selected.dtype == types[0]);
        end();
        table_free(&t);
    }
}

static void columns_that_cannot_be_one_part_are_refused(void)
{
    const int32_t both[] = {0, 3}, beyond[] = {6}, one[] = {TABLE_STRINGS};
    const kc_column_list across = {both, 2}, missing = {beyond, 1}, string = {one, 1};
    ref_samples samples = ref_random(6, N, 3, 0.3, KC_F64);
    ref_view sparse = ref_view_make(&samples, REF_CSR, KC_F64);
    kc_points selected;
    kc_storage storage;
    table t;

    table_make(&t, 12, N, KC_F64, KC_F64);
    CHECK(kc_points_check_columns(t.parts, &across, &storage, &err) == KC_OK);
    CHECK(kc_points_check_columns(t.parts, &missing, &storage, &err) == KC_ERR_SHAPE &&
          says("the kernel reads column 6, X has 6 columns"));
    CHECK(kc_points_check_columns(t.parts, &string, &storage, &err) == KC_OK);
    CHECK(storage == KC_STRINGS);
    begin();
    CHECK(kc_points_select(&call, t.parts, &string, &selected) == KC_OK);
    CHECK(selected.next == NULL && selected.values == t.strings.bytes);
    end();
    t.parts[2] = sparse.points;
    CHECK(check(t.parts) == KC_OK);
    CHECK(kc_points_check_columns(t.parts, &across, &storage, &err) == KC_ERR_TYPE &&
          says("columns 0 and 3 of X together, of which one holds sparse numbers"));
    ref_view_free(&sparse);
    ref_samples_free(&samples);
    table_free(&t);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_chain_of_every_storage_is_taken);
    RUN(every_part_says_how_large_its_struct_is);
    RUN(all_parts_have_the_same_rows);
    RUN(there_are_256_parts_at_the_most);
    RUN(columns_of_all_parts_are_counted_without_overflow);
    RUN(a_storage_that_is_none_is_refused_by_every_call);
    RUN(calls_of_numbers_refuse_other_samples);
    RUN(samples_that_are_not_alike_are_named_by_column);
    RUN(rows_of_any_storage_are_taken_in_any_order);
    RUN(rows_of_a_table_are_taken_from_all_of_its_parts);
    RUN(columns_of_any_storage_are_selected_in_any_order);
    RUN(columns_of_several_dense_parts_are_of_the_wider_type);
    RUN(columns_that_cannot_be_one_part_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
