/* Points that come one by one are the same points as those packed at once, to the bit. */
#include <stdlib.h>
#include <string.h>

#include "data/kc_growing.h"
#include "fault.h"
#include "kc_test.h"
#include "ref_points.h"

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
    kc_context_free(ctx);
    return kc_test_end() | !kc_fault_is_clean(&fault);
}
