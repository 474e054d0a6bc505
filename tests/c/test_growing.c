/* Points that come one by one are the same points as those packed at once, to the bit. */
#include <stdlib.h>
#include <string.h>

#include "data/kc_growing.h"
#include "fault.h"
#include "kc_test.h"
#include "reading_case.h"
#include "ref_points.h"
#include "table_case.h"

static kc_context *ctx;
static kc_fault fault;

/* Feature t of a point, whatever its storage. */
static double feature(const kc_packed *p, size_t i, size_t t)
{
    const size_t width = kc_panel_width(p->dtype);

    if (kc_packed_is_dense(p))
        return ref_get(p->panels, (i / width * p->d + t) * width + i % width, p->dtype);
    for (int64_t k = p->indptr[i]; k < p->indptr[i + 1]; k++)
        if ((size_t)p->cols[k] == t)
            return ref_get(p->vals, (size_t)k, p->dtype);
    return 0;
}

static bool are_equal(const kc_packed *a, size_t i, const kc_packed *b, size_t j)
{
    for (size_t t = 0; t < a->d; t++)
        if (feature(a, i, t) != feature(b, j, t))
            return false;
    return ref_get(a->sq_norms, i, a->dtype) == ref_get(b->sq_norms, j, b->dtype);
}

/* Columns ascend, and rows follow each other. */
static bool is_csr(const kc_packed *p)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->indptr[i] > p->indptr[i + 1])
            return false;
        for (int64_t k = p->indptr[i] + 1; k < p->indptr[i + 1]; k++)
            if (p->cols[k] <= p->cols[k - 1])
                return false;
    }
    return p->indptr[0] == 0;
}

typedef struct scene {
    ref_samples samples;
    ref_view view;
    kc_packed x;
    kc_call call;
} scene;

static scene begin(size_t n, size_t d, double density, ref_form form, kc_dtype dtype)
{
    scene s = {.samples = ref_random(n + d, n, d, density, dtype)};

    s.view = ref_view_make(&s.samples, form, dtype);
    CHECK(kc_call_begin(&s.call, ctx, NULL, "test", NULL) == KC_OK);
    CHECK(kc_packed_create(&s.call, &s.view.points, dtype, &s.x) == KC_OK);
    return s;
}

static void end(scene *s)
{
    kc_packed_free(ctx, &s->x);
    CHECK(kc_call_end(&s->call, KC_OK) == KC_OK);
    ref_view_free(&s->view);
    ref_samples_free(&s->samples);
}

/* Room for n points, and for the values of a row of x beside those there are. */
static void make_room(kc_growing *g, size_t n, const kc_packed *x, size_t row)
{
    kc_value_counts counts;

    kc_growing_count(g, &counts);
    kc_growing_count_row(g, x, row, &counts);
    CHECK(kc_growing_reserve(ctx, g, n, &counts, NULL) == KC_OK);
}

static void add_all(kc_growing *g, const kc_packed *x)
{
    for (size_t i = 0; i < x->n; i++) {
        make_room(g, i + 1, x, i);
        kc_growing_put(g, i, x, i);
    }
}

static void points_added_one_by_one_are_those_packed_at_once(void)
{
    const ref_form forms[] = {REF_DENSE, REF_CSR};

    for (int f = 0; f < 2; f++)
        for (int dtype = KC_F32; dtype <= KC_F64; dtype++)
            for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
                scene s = begin(41, 37, 0.2, forms[f], (kc_dtype)dtype);
                kc_growing g =
                    kc_growing_none((kc_dtype)dtype, is_sparse ? KC_CSR : KC_DENSE, s.x.d);

                add_all(&g, &s.x);
                CHECK(g.points.n == s.x.n);
                for (size_t i = 0; i < s.x.n; i++)
                    CHECK(are_equal(&g.points, i, &s.x, i));
                CHECK(!is_sparse || is_csr(&g.points));
                kc_growing_free(ctx, &g);
                end(&s);
            }
}

static void a_point_is_replaced_without_touching_the_others(void)
{
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        scene s = begin(23, 40, 0.3, REF_CSR, KC_F64);
        kc_growing g = kc_growing_none(KC_F64, is_sparse ? KC_CSR : KC_DENSE, s.x.d);
        size_t holds[23];

        add_all(&g, &s.x);
        for (size_t i = 0; i < s.x.n; i++)
            holds[i] = i;
        for (size_t step = 0; step < 200; step++) {
            const size_t place = step * 7 % s.x.n, row = step * 5 % s.x.n;

            make_room(&g, s.x.n, &s.x, row);
            kc_growing_put(&g, place, &s.x, row);
            holds[place] = row;
        }
        for (size_t i = 0; i < s.x.n; i++)
            CHECK(are_equal(&g.points, i, &s.x, holds[i]));
        CHECK(!is_sparse || is_csr(&g.points));
        kc_growing_free(ctx, &g);
        end(&s);
    }
}

static void a_mixture_lies_on_the_line_between_two_points(void)
{
    for (int is_sparse = 0; is_sparse < 2; is_sparse++)
        for (int f = 0; f < 2; f++) {
            scene s = begin(9, 50, 0.25, f ? REF_CSR : REF_DENSE, KC_F64);
            kc_growing g = kc_growing_none(KC_F64, is_sparse ? KC_CSR : KC_DENSE, s.x.d);

            add_all(&g, &s.x);
            for (size_t place = 0; place < s.x.n; place++) {
                const size_t row = (place + 3) % s.x.n;
                const double h = 0.3;
                double square = 0;

                make_room(&g, s.x.n, &s.x, row);
                kc_growing_mix(&g, place, h, &s.x, row);
                for (size_t t = 0; t < s.x.d; t++) {
                    const double z = feature(&g.points, place, t);

                    CHECK_NEAR(z, h * feature(&s.x, row, t) + (1 - h) * feature(&s.x, place, t),
                               1e-15);
                    square += z * z;
                }
                CHECK_NEAR(ref_get(g.points.sq_norms, place, KC_F64), square, 1e-13 * square);
            }
            CHECK(!is_sparse || is_csr(&g.points));
            kc_growing_free(ctx, &g);
            end(&s);
        }
}

static void a_row_of_any_view_is_read_as_it_is_packed(void)
{
    for (int form = 0; form < REF_N_FORMS; form++)
        for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
            scene s = begin(7, 20, 0.5, (ref_form)form, (kc_dtype)dtype);
            kc_growing g = kc_growing_none((kc_dtype)dtype, false, s.x.d);

            CHECK(kc_growing_reserve(ctx, &g, 1, NULL, NULL) == KC_OK);
            g.points.n = 1;
            for (size_t i = 0; i < s.x.n; i++) {
                CHECK(kc_growing_read(&g, &s.view.points, i, NULL) == KC_OK);
                CHECK(are_equal(&g.points, 0, &s.x, i));
            }
            kc_growing_free(ctx, &g);
            end(&s);
        }
}

static void a_row_that_is_not_finite_is_named(void)
{
    const double x[2][3] = {{1, 2, 3}, {4, NAN, 6}};
    const kc_points view = {.struct_size = sizeof(kc_points),
                            .storage = KC_DENSE,
                            .dtype = KC_F64,
                            .n_rows = 2,
                            .n_cols = 3,
                            .values = x,
                            .row_stride = sizeof x[0],
                            .col_stride = sizeof x[0][0],
                            .name = "X"};
    kc_growing g = kc_growing_none(KC_F64, false, 3);
    kc_error err = {0};

    CHECK(kc_growing_reserve(ctx, &g, 1, NULL, NULL) == KC_OK);
    g.points.n = 1;
    CHECK(kc_growing_read(&g, &view, 0, &err) == KC_OK);
    CHECK(kc_growing_read(&g, &view, 1, &err) == KC_ERR_NONFINITE);
    CHECK(strstr(err.text, "row 1") != NULL && strstr(err.text, "column 1") != NULL);
    kc_growing_free(ctx, &g);
}

/* After they were checked: the arrays of a call may change at any time. */
static void a_row_whose_indices_change_stays_within_the_point(void)
{
    ref_samples samples = ref_random(3, 20, 30, 0.2, KC_F64);
    ref_view view = ref_view_make(&samples, REF_CSR, KC_F64);
    kc_growing g = kc_growing_none(KC_F64, false, 30);

    REQUIRE(kc_growing_reserve(ctx, &g, 1, NULL, NULL) == KC_OK);
    g.points.n = 1;
    ref_view_spoil(&view);
    for (size_t i = 0; i < 20; i++)
        CHECK(kc_growing_read(&g, &view.points, i, NULL) == KC_OK);
    kc_growing_free(ctx, &g);
    ref_view_free(&view);
    ref_samples_free(&samples);
}

static void refused_memory_leaves_the_points_as_they_were(void)
{
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        scene s = begin(20, 30, 0.3, REF_CSR, KC_F64);
        kc_growing g = kc_growing_none(KC_F64, is_sparse ? KC_CSR : KC_DENSE, s.x.d);
        const kc_value_counts counts = {.of = {is_sparse ? 100000 : 0}};

        add_all(&g, &s.x);
        for (size_t n = 1;; n++) {
            kc_fault_arm(&fault, n, KC_FAULT_ONCE);
            const kc_status status = kc_growing_reserve(ctx, &g, 1000, &counts, NULL);
            for (size_t i = 0; i < s.x.n; i++)
                CHECK(are_equal(&g.points, i, &s.x, i));
            if (!kc_fault_disarm(&fault))
                break;
            CHECK(status == KC_ERR_NOMEM);
        }
        CHECK(g.capacity >= 1000);
        kc_growing_free(ctx, &g);
        end(&s);
    }
}

/* ---- Strings and tables --------------------------------------------------------------------- */

static bool has_string(const kc_packed *p, size_t i, const kc_packed *from, size_t row)
{
    size_t n, n_other;
    const char *bytes = kc_packed_string(p, i, &n);
    const char *other = kc_packed_string(from, row, &n_other);

    return n == n_other && (n == 0 || memcmp(bytes, other, n) == 0);
}

/* The same sample in all parts. */
static bool are_alike(const kc_packed *p, size_t i, const kc_packed *from, size_t row)
{
    if (p->n_parts != from->n_parts)
        return false;
    for (size_t k = 0; k <= p->n_parts; k++) {
        const kc_packed *a = kc_packed_part(p, k), *b = kc_packed_part(from, k);

        if (a->n != p->n ||
            !(a->storage == KC_STRINGS ? has_string(a, i, b, row) : are_equal(a, i, b, row)))
            return false;
    }
    for (size_t s = 0; s < p->n_scalars; s++)
        if (ref_get(kc_packed_scalars(p, s), i, p->dtype) !=
            ref_get(kc_packed_scalars(from, s), row, p->dtype))
            return false;
    return true;
}

/* A table, packed with a selection across its parts and two numbers of each sample; and growing
 * points of its kind. */
typedef struct table_scene {
    table t;
    kc_packed x;
    kc_growing g;
    kc_call call;
} table_scene;

static void begin_table(table_scene *s, size_t n, kc_dtype dtype)
{
    static const int32_t some[] = {5, 0}, last[] = {3, 4, 5};
    readings r = {0};

    readings_add(&r, KC_STEP_SELECT, 0, 2, some);
    readings_add(&r, KC_STEP_SELECT, 0, 3, last);
    readings_add(&r, KC_STEP_SELECT, 0, 2, some);
    readings_more(&r, KC_STEP_SCALE, 2, 2, (const double[]){0.5, 3});
    const kc_readings list = readings_list(&r);

    table_make(&s->t, n, n, KC_F32, KC_F64);
    CHECK(kc_call_begin(&s->call, ctx, NULL, "test", NULL) == KC_OK);
    CHECK(kc_packed_create(&s->call, s->t.parts, dtype, &s->x) == KC_OK);
    CHECK(kc_packed_read(&s->call, s->t.parts, NULL, &list, &s->x) == KC_OK);
    CHECK(kc_packed_add_scalars(&s->call, 2, &s->x) == KC_OK);
    for (size_t i = 0; i < 2 * n; i++)
        ref_put(kc_packed_scalars(&s->x, i % 2), i / 2, dtype, (double)i);
    CHECK(kc_growing_create(ctx, dtype, s->t.parts, &list, 2, &s->g, NULL) == KC_OK);
    CHECK(memcmp(s->g.points.readings, s->x.readings, 3 * sizeof(int32_t)) == 0);
}

static void end_table(table_scene *s)
{
    kc_growing_free(ctx, &s->g);
    kc_packed_free(ctx, &s->x);
    CHECK(kc_call_end(&s->call, KC_OK) == KC_OK);
    table_free(&s->t);
}

static void samples_of_a_table_grow_in_all_parts(void)
{
    for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
        table_scene s;

        begin_table(&s, 45, (kc_dtype)dtype);
        add_all(&s.g, &s.x);
        CHECK(s.g.points.n == 45 && kc_packed_columns(&s.g.points) == (size_t)TABLE_COLS);
        for (size_t i = 0; i < 45; i++)
            CHECK(are_alike(&s.g.points, i, &s.x, i));
        end_table(&s);
    }
}

/* By shorter ones, longer ones, empty ones: those behind move. */
static void a_string_is_replaced_without_touching_the_others(void)
{
    table_strings strings = table_strings_make(3, 30);
    kc_growing g = kc_growing_none(KC_F64, KC_STRINGS, 1);
    size_t holds[30];
    kc_packed x;
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "test", NULL) == KC_OK);
    CHECK(kc_packed_create(&call, &strings.points, KC_F64, &x) == KC_OK);
    add_all(&g, &x);
    for (size_t i = 0; i < 30; i++)
        holds[i] = i;
    for (size_t step = 0; step < 600; step++) {
        const size_t place = step * 7 % 30, row = step * 11 / 3 % 30;

        make_room(&g, 30, &x, row);
        kc_growing_put(&g, place, &x, row);
        holds[place] = row;
        for (size_t i = 0; i < 30; i++)
            CHECK(has_string(&g.points, i, &x, holds[i]));
    }
    CHECK(g.points.indptr[0] == 0 && g.points.sq_norms == NULL);
    kc_growing_free(ctx, &g);
    kc_packed_free(ctx, &x);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    table_strings_free(&strings);
}

static void strings_that_are_all_empty_need_no_room(void)
{
    const int64_t indptr[] = {0, 0, 0};
    const kc_points view = {.struct_size = sizeof view,
                            .storage = KC_STRINGS,
                            .n_rows = 2,
                            .indptr = indptr,
                            .index_bytes = 8};
    kc_growing g = kc_growing_none(KC_F32, KC_STRINGS, 1);
    kc_packed x;
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "test", NULL) == KC_OK);
    CHECK(kc_packed_create(&call, &view, KC_F32, &x) == KC_OK);
    add_all(&g, &x);
    kc_growing_put(&g, 0, &x, 1);
    CHECK(g.points.n == 2 && kc_packed_n_values(&g.points) == 0);
    CHECK(has_string(&g.points, 1, &x, 0));
    kc_growing_free(ctx, &g);
    kc_packed_free(ctx, &x);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
}

static void refused_memory_leaves_a_table_as_it_was(void)
{
    const kc_value_counts counts = {.of = {0, 100000, 0}};
    table_scene s;

    begin_table(&s, 20, KC_F64);
    add_all(&s.g, &s.x);
    for (size_t n = 1;; n++) {
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        const kc_status status = kc_growing_reserve(ctx, &s.g, 1000, &counts, NULL);
        for (size_t i = 0; i < 20; i++)
            CHECK(are_alike(&s.g.points, i, &s.x, i));
        if (!kc_fault_disarm(&fault))
            break;
        CHECK(status == KC_ERR_NOMEM);
        make_room(&s.g, 20, &s.x, n % 20); /* and goes on from there */
        kc_growing_put(&s.g, 3, &s.x, n % 20);
        kc_growing_put(&s.g, 3, &s.x, 3);
    }
    for (size_t i = 20; i < 60; i++)
        kc_growing_put(&s.g, i, &s.x, i % 20);
    for (size_t i = 0; i < 60; i++)
        CHECK(are_alike(&s.g.points, i, &s.x, i % 20));
    end_table(&s);
}

static void refused_memory_makes_no_growing_points(void)
{
    static const int32_t some[] = {5, 0};
    readings r = {0};
    table t;

    readings_add(&r, KC_STEP_SELECT, 0, 2, some);
    const kc_readings list = readings_list(&r);
    table_make(&t, 4, 5, KC_F64, KC_F64);
    for (size_t n = 1; n <= 3; n++) {
        kc_growing g;

        kc_context_trim(ctx);
        kc_fault_arm(&fault, n, KC_FAULT_ONCE);
        CHECK(kc_growing_create(ctx, KC_F64, t.parts, &list, 1, &g, NULL) == KC_ERR_NOMEM);
        CHECK(kc_fault_disarm(&fault));
        kc_growing_free(ctx, &g);
    }
    table_free(&t);
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

typedef struct tape {
    char bytes[1 << 16];
    size_t at;
    bool is_read;
} tape;

static void pass(void *data, void *array, size_t count, size_t size)
{
    tape *t = data;
    char *place = t->bytes + t->at;

    if (count * size > 0)
        memcpy(t->is_read ? array : place, t->is_read ? place : array, count * size);
    t->at += count * size;
}

static void a_table_goes_out_as_arrays_and_in_again(void)
{
    static tape out;
    kc_value_counts counts;
    table_scene s, other;

    begin_table(&s, 37, KC_F64);
    begin_table(&other, 37, KC_F64);
    add_all(&s.g, &s.x);
    out.at = 0;
    out.is_read = false;
    kc_growing_visit_rows(&s.g, pass, &out);
    kc_growing_visit(&s.g, pass, &out);
    kc_growing_count(&s.g, &counts);
    CHECK((double)out.at == kc_growing_bytes(&s.g, 37, &counts));
    CHECK(kc_growing_reserve(ctx, &other.g, 37, &counts, NULL) == KC_OK);
    other.g.points.n = 37;
    out.at = 0;
    out.is_read = true;
    kc_growing_visit_rows(&other.g, pass, &out);
    CHECK(kc_growing_has_rows(&other.g, &counts));
    kc_growing_visit(&other.g, pass, &out);
    CHECK(kc_growing_has_columns(&other.g));
    for (size_t i = 0; i < 37; i++)
        CHECK(are_alike(&other.g.points, i, &s.x, i));
    counts.of[1]++;
    CHECK(!kc_growing_has_rows(&other.g, &counts));
    end_table(&s);
    end_table(&other);
}

int main(void)
{
    ctx = kc_fault_context((kc_context_config){.n_threads = 1}, &fault);
    if (ctx == NULL)
        return 1;
    RUN(points_added_one_by_one_are_those_packed_at_once);
    RUN(a_point_is_replaced_without_touching_the_others);
    RUN(a_mixture_lies_on_the_line_between_two_points);
    RUN(a_row_of_any_view_is_read_as_it_is_packed);
    RUN(a_row_that_is_not_finite_is_named);
    RUN(a_row_whose_indices_change_stays_within_the_point);
    RUN(refused_memory_leaves_the_points_as_they_were);
    RUN(samples_of_a_table_grow_in_all_parts);
    RUN(a_string_is_replaced_without_touching_the_others);
    RUN(strings_that_are_all_empty_need_no_room);
    RUN(refused_memory_leaves_a_table_as_it_was);
    RUN(refused_memory_makes_no_growing_points);
    RUN(a_table_goes_out_as_arrays_and_in_again);
    kc_context_free(ctx);
    return kc_test_end() | !kc_fault_is_clean(&fault);
}
