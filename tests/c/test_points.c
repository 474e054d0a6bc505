/* data/kc_points.h: what a view must be, and the words that say what it is not. */
#include "data/kc_points.h"

#include <stdlib.h>
#include <string.h>

#include "data/kc_packed.h"
#include "kc_test.h"
#include "ref_points.h"

static const double values[] = {1, 2, 3, 4, 5, 6};
static const int32_t indices_32[] = {0, 2, 1, 0};
static const int64_t indices_64[] = {0, 2, 1, 0};
static const int32_t indptr_32[] = {0, 2, 2, 4};
static const int64_t indptr_64[] = {0, 2, 2, 4};

static kc_points dense_view(void)
{
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_DENSE,
                       .dtype = KC_F64,
                       .n_rows = 2,
                       .n_cols = 3,
                       .values = values,
                       .row_stride = 3 * sizeof *values,
                       .col_stride = sizeof *values,
                       .name = "X"};
}

static kc_points csr_view(int32_t index_bytes)
{
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_CSR,
                       .dtype = KC_F64,
                       .n_rows = 3,
                       .n_cols = 3,
                       .values = values,
                       .indices = index_bytes == 8 ? (const void *)indices_64 : indices_32,
                       .indptr = index_bytes == 8 ? (const void *)indptr_64 : indptr_32,
                       .index_bytes = index_bytes,
                       .n_values = 4,
                       .name = "X"};
}

static kc_points string_view(void)
{
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_STRINGS,
                       .n_rows = 3,
                       .values = "abcd",
                       .indptr = indptr_64,
                       .index_bytes = 8,
                       .n_values = 4,
                       .name = "X"};
}

static kc_context *ctx;

static kc_status check(const kc_points *points, kc_error *err)
{
    kc_call call;

    KC_TRY(kc_call_begin(&call, ctx, NULL, "check", err));
    return kc_call_end(&call, kc_points_check(&call, points));
}

/* The view is refused with this status, in these words. */
static bool is_refused(const kc_points *points, kc_status status, const char *text)
{
    kc_error err = {0};
    const bool is_right =
        check(points, &err) == status && err.status == status && strcmp(err.text, text) == 0;

    if (!is_right)
        printf("    said: %s\n", err.text);
    return is_right && check(points, NULL) == status;
}

static bool is_taken(const kc_points *points)
{
    kc_error err = {0};

    return check(points, &err) == KC_OK;
}

static void views_of_every_storage_are_taken(void)
{
    kc_points p = dense_view();

    CHECK(is_taken(&p));
    p.row_stride = -8;
    p.col_stride = 0;
    CHECK(is_taken(&p));
    p = csr_view(4);
    CHECK(is_taken(&p));
    p = csr_view(8);
    CHECK(is_taken(&p));
    p = string_view();
    CHECK(is_taken(&p));
}

static void a_view_without_a_name_is_called_points(void)
{
    kc_points p = dense_view();

    CHECK(strcmp(kc_points_name(&p), "X") == 0);
    p.name = NULL;
    CHECK(strcmp(kc_points_name(&p), "points") == 0);
    p.n_rows = 0;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "points has 0 rows, must have at least 1"));
}

static void sizes_are_from_1_to_2147483647(void)
{
    kc_points p = dense_view();

    p.n_rows = 0;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has 0 rows, must have at least 1"));
    p.n_rows = INT64_MIN;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has -9223372036854775808 rows, must have at least 1"));
    p.n_rows = (int64_t)INT32_MAX + 1;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has 2147483648 rows, must have at most 2147483647"));
    p.n_rows = INT32_MAX;
    CHECK(is_taken(&p));
    p.n_cols = 0;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has 0 columns, must have at least 1"));
    p.n_cols = -5;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has -5 columns, must have at least 1"));
    p.n_cols = INT64_MAX;
    CHECK(is_refused(&p, KC_ERR_SHAPE,
                     "X has 9223372036854775807 columns, must have at most 2147483647"));
    p.n_cols = INT32_MAX;
    CHECK(is_taken(&p));
}

static void strings_have_no_columns_and_no_dtype(void)
{
    kc_points p = string_view();

    p.n_cols = -1;
    p.dtype = (kc_dtype)0;
    CHECK(is_taken(&p));
    p.n_rows = 0;
    CHECK(is_refused(&p, KC_ERR_SHAPE, "X has 0 rows, must have at least 1"));
}

static void other_types_and_storages_are_refused(void)
{
    kc_points p = dense_view();

    p.dtype = (kc_dtype)3;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: dtype is 3, must be KC_F32 or KC_F64"));
    p = dense_view();
    p.storage = (kc_storage)0;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: storage is 0, must be dense, CSR or strings"));
    p.storage = (kc_storage)4;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: storage is 4, must be dense, CSR or strings"));
}

static void index_bytes_are_4_or_8(void)
{
    kc_points p = csr_view(4);

    p.index_bytes = 2;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: index_bytes is 2, must be 4 or 8"));
    p.index_bytes = 0;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: index_bytes is 0, must be 4 or 8"));
    p = string_view();
    p.index_bytes = 4;
    CHECK(is_refused(&p, KC_ERR_TYPE, "X: index_bytes is 4, must be 8"));
}

static void missing_arrays_are_named(void)
{
    kc_points p = dense_view();

    p.values = NULL;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: values is NULL"));
    for (int32_t bytes = 4; bytes <= 8; bytes += 4) {
        p = csr_view(bytes);
        p.values = NULL;
        CHECK(is_refused(&p, KC_ERR_ARG, "X: values is NULL"));
        p = csr_view(bytes);
        p.indices = NULL;
        CHECK(is_refused(&p, KC_ERR_ARG, "X: indices is NULL"));
        p = csr_view(bytes);
        p.indptr = NULL;
        CHECK(is_refused(&p, KC_ERR_ARG, "X: indptr is NULL"));
        p.n_values = -1;
        CHECK(is_refused(&p, KC_ERR_ARG, "X: n_values is -1, must be 0 or more"));
    }
    p = string_view();
    p.values = NULL;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: values is NULL"));
}

static void rows_that_are_all_empty_need_no_values(void)
{
    static const int64_t zeros[4] = {0};
    kc_points p = csr_view(8);

    p.indptr = zeros;
    p.values = p.indices = NULL;
    p.n_values = 0;
    CHECK(is_taken(&p));
    p = string_view();
    p.indptr = zeros;
    p.values = NULL;
    p.n_values = 0;
    CHECK(is_taken(&p));
}

static void arrays_between_their_numbers_are_refused(void)
{
    kc_points p = dense_view();

    p.values = (const char *)values + 4;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: values is not aligned to 8 bytes"));
    p.dtype = KC_F32;
    CHECK(is_taken(&p));
    p.values = (const char *)values + 1;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: values is not aligned to 4 bytes"));
    p = dense_view();
    p.row_stride = -12;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: row_stride is -12 bytes, must be a multiple of 8"));
    p.n_rows = 1; /* then it is never used */
    CHECK(is_taken(&p));
    p.col_stride = 2;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: col_stride is 2 bytes, must be a multiple of 8"));
    p = csr_view(8);
    p.indptr = (const char *)indptr_64 + 4;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: indptr is not aligned to 8 bytes"));
    p = csr_view(4);
    p.indices = (const char *)indices_32 + 2;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: indices is not aligned to 4 bytes"));
    p = csr_view(4);
    p.values = (const char *)values + 4;
    CHECK(is_refused(&p, KC_ERR_ARG, "X: values is not aligned to 8 bytes"));
    p = string_view();
    p.values = &"xabcd"[1]; /* bytes stand anywhere */
    CHECK(is_taken(&p));
}

/* A CSR view with offsets of its own, of either width. */
static bool offsets_are_refused(const int64_t *offsets, const char *text)
{
    int32_t narrow[4];
    kc_points wide_view = csr_view(8), narrow_view = csr_view(4), text_view = string_view();

    for (size_t i = 0; i < 4; i++)
        narrow[i] = (int32_t)offsets[i];
    wide_view.indptr = offsets;
    narrow_view.indptr = narrow;
    text_view.indptr = offsets;
    return is_refused(&wide_view, KC_ERR_INDEX, text) &&
           is_refused(&narrow_view, KC_ERR_INDEX, text) &&
           is_refused(&text_view, KC_ERR_INDEX, text);
}

static void offsets_begin_at_zero_rise_and_end_within_the_values(void)
{
    CHECK(offsets_are_refused((const int64_t[]){1, 2, 2, 4}, "X: indptr[0] is 1, must be 0"));
    CHECK(offsets_are_refused((const int64_t[]){-1, 2, 2, 4}, "X: indptr[0] is -1, must be 0"));
    CHECK(offsets_are_refused((const int64_t[]){0, 3, 2, 4},
                              "X: indptr[2] is 2, below indptr[1] = 3"));
    CHECK(offsets_are_refused((const int64_t[]){0, -7, 2, 4},
                              "X: indptr[1] is -7, below indptr[0] = 0"));
    CHECK(offsets_are_refused((const int64_t[]){0, 2, 2, 5},
                              "X: indptr ends at 5, but there are 4 values"));
}

static void offsets_beyond_32_bits_are_seen_whole(void)
{
    static const int64_t offsets[] = {0, 2, 2, ((int64_t)1 << 32) + 4};
    kc_points p = csr_view(8);

    p.indptr = offsets;
    CHECK(is_refused(&p, KC_ERR_INDEX, "X: indptr ends at 4294967300, but there are 4 values"));
}

static void values_beyond_the_last_row_are_not_looked_at(void)
{
    static const int64_t offsets[] = {0, 1, 1, 2};
    static const int64_t columns[] = {0, 2, -9, 99};
    kc_points p = csr_view(8);

    p.indptr = offsets;
    p.indices = columns;
    CHECK(is_taken(&p));
}

static void columns_outside_the_view_are_named(void)
{
    const int32_t below[] = {0, 2, -1, 0}, above[] = {0, 3, 1, 0};
    const int64_t beyond[] = {0, 2, 1, ((int64_t)1 << 32)};
    kc_points p = csr_view(4);

    p.indices = below;
    CHECK(
        is_refused(&p, KC_ERR_INDEX, "X: row 2 has column index -1 at position 2, must be 0 to 2"));
    p.indices = above;
    CHECK(
        is_refused(&p, KC_ERR_INDEX, "X: row 0 has column index 3 at position 1, must be 0 to 2"));
    p = csr_view(8);
    p.indices = beyond;
    CHECK(is_refused(&p, KC_ERR_INDEX,
                     "X: row 2 has column index 4294967296 at position 3, must be 0 to 2"));
}

/* However uneven the rows are: each row is in one chunk, in order, and no chunk but one that is a
 * single row has more than its share. */
static void chunks_of_rows_have_every_row_once(void)
{
    enum { N_ROWS = 3000 };
    int64_t indptr[N_ROWS + 1] = {0};
    size_t next = 0;

    for (size_t i = 0; i < N_ROWS; i++)
        indptr[i + 1] = indptr[i] + (i % 700 == 3 ? 900000 : i % 100 == 0 ? 0 : (int64_t)i);
    const size_t n_chunks = kc_row_chunks(N_ROWS, (size_t)indptr[N_ROWS]);
    for (size_t chunk = 0; chunk < n_chunks; chunk++) {
        size_t begin, end;

        kc_row_chunk(indptr, 8, N_ROWS, chunk, &begin, &end);
        CHECK(begin == next && begin <= end && end <= N_ROWS);
        CHECK(begin == end ||
              (size_t)(indptr[end - 1] - indptr[begin]) + (end - 1 - begin) < KC_CHUNK_ENTRIES);
        next = end;
    }
    CHECK(n_chunks > 10 && next == N_ROWS);
}

static void a_bad_column_far_into_the_values_is_named(void)
{
    const size_t n_rows = 4, per_row = KC_CHUNK_ENTRIES;
    int32_t *indices = calloc(n_rows * per_row, sizeof *indices);
    double *numbers = calloc(n_rows * per_row, sizeof *numbers);
    int32_t indptr[5];
    kc_points p = csr_view(4);

    REQUIRE(indices != NULL && numbers != NULL);
    for (size_t i = 0; i <= n_rows; i++)
        indptr[i] = (int32_t)(i * per_row);
    p.n_rows = (int64_t)n_rows;
    p.n_values = (int64_t)(n_rows * per_row);
    p.indices = indices;
    p.indptr = indptr;
    p.values = numbers;
    CHECK(is_taken(&p));
    indices[2 * per_row + 17] = 3;
    indices[3 * per_row + 1] = -5;
    CHECK(is_refused(&p, KC_ERR_INDEX,
                     "X: row 2 has column index 3 at position 524305, must be 0 to 2"));
    free(indices);
    free(numbers);
}

static void indices_are_read_by_their_width(void)
{
    const int64_t wide[] = {-1, (int64_t)1 << 40};
    const int32_t narrow[] = {-1, 7};

    CHECK(kc_index_at(wide, 8, 0) == -1 && kc_index_at(wide, 8, 1) == (int64_t)1 << 40);
    CHECK(kc_index_at(narrow, 4, 0) == -1 && kc_index_at(narrow, 4, 1) == 7);
}

/* ---- Subsets ------------------------------------------------------------------------------ */

/* Row by row and number by number, in every form: kc_points_take copies into memory of the call. */
static void a_subset_of_a_view_holds_its_rows(void)
{
    static const int32_t rows[] = {19, 0, 7, 7, 1};
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "take", NULL) == KC_OK);
    for (int form = REF_DENSE; form < REF_N_FORMS; form++) {
        const kc_dtype dtype = form % 2 ? KC_F64 : KC_F32;
        ref_samples s = ref_random(3, 20, 30, 0.2, dtype);
        ref_view view = ref_view_make(&s, (ref_form)form, dtype);
        kc_points taken;
        kc_packed p;

        REQUIRE(kc_points_take(&call, &view.points, rows, 5, &taken) == KC_OK);
        CHECK(taken.n_rows == 5 && taken.n_cols == 30 && is_taken(&taken));
        REQUIRE(kc_packed_create(&call, &taken, KC_F64, &p) == KC_OK);
        for (size_t i = 0; i < 5; i++) {
            double norm = 0;

            for (size_t t = 0; t < 30; t++)
                norm += s.x[(size_t)rows[i] * 30 + t] * s.x[(size_t)rows[i] * 30 + t];
            CHECK_NEAR(((const double *)p.sq_norms)[i], norm, 1e-12);
        }
        kc_packed_free(ctx, &p);
        ref_view_free(&view);
        ref_samples_free(&s);
    }
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

/* Row ends and columns that were good when they were checked. */
static void what_is_read_once_is_held_to_what_there_is(void)
{
    static const int32_t rows[] = {19, 0, 7, 7, 1};
    kc_error err;
    kc_call call;

    REQUIRE(kc_call_begin(&call, ctx, NULL, "take", NULL) == KC_OK);
    for (int form = REF_CSR; form < REF_N_FORMS; form++) {
        ref_samples s = ref_random(3, 20, 30, 0.2, KC_F64);
        ref_view view = ref_view_make(&s, (ref_form)form, KC_F64);
        size_t begin, end;
        kc_points taken;

        ref_view_spoil(&view);
        for (size_t i = 0; i < 20; i++) {
            kc_row_of(&view.points, i, &begin, &end);
            CHECK(begin <= end && end <= (size_t)view.points.n_values);
            CHECK(kc_points_fail_row(&view.points, i, KC_F64, &err) == KC_ERR_RANGE);
        }
        for (size_t k = 0; k < (size_t)view.points.n_values; k++)
            CHECK(kc_column_at(&view.points, k) < 30);
        REQUIRE(kc_points_take(&call, &view.points, rows, 5, &taken) == KC_OK);
        CHECK(is_taken(&taken));
        ref_view_free(&view);
        ref_samples_free(&s);
    }
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

/* ---- kc_check_points ---------------------------------------------------------------------- */

static void a_caller_may_ask_for_the_checks_alone(void)
{
    static const int32_t bad[] = {0, 2, 1, 3};
    kc_points view = csr_view(4);
    kc_error err;

    CHECK(kc_check_points(ctx, NULL, &view, &err) == KC_OK);
    view.indices = bad;
    CHECK(kc_check_points(ctx, NULL, &view, &err) == KC_ERR_INDEX);
    CHECK(strcmp(err.text, "X: row 2 has column index 3 at position 3, must be 0 to 2") == 0);
    CHECK(kc_check_points(ctx, NULL, NULL, &err) == KC_ERR_ARG);
    CHECK(strcmp(err.text, "points is NULL") == 0);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(views_of_every_storage_are_taken);
    RUN(a_view_without_a_name_is_called_points);
    RUN(sizes_are_from_1_to_2147483647);
    RUN(strings_have_no_columns_and_no_dtype);
    RUN(other_types_and_storages_are_refused);
    RUN(index_bytes_are_4_or_8);
    RUN(missing_arrays_are_named);
    RUN(rows_that_are_all_empty_need_no_values);
    RUN(arrays_between_their_numbers_are_refused);
    RUN(offsets_begin_at_zero_rise_and_end_within_the_values);
    RUN(offsets_beyond_32_bits_are_seen_whole);
    RUN(values_beyond_the_last_row_are_not_looked_at);
    RUN(columns_outside_the_view_are_named);
    RUN(chunks_of_rows_have_every_row_once);
    RUN(a_bad_column_far_into_the_values_is_named);
    RUN(indices_are_read_by_their_width);
    RUN(a_subset_of_a_view_holds_its_rows);
    RUN(what_is_read_once_is_held_to_what_there_is);
    RUN(a_caller_may_ask_for_the_checks_alone);
    kc_context_free(ctx);
    return kc_test_end();
}
