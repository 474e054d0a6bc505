/* The store of kernel rows: right values whatever is kept, a budget that is kept to the byte, and
 * rows that are there only once they are computed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "kc_test.h"
#include "rows_case.h"

static void check_random_batches(kc_dtype dtype, size_t n_slots)
{
    static const kc_cols *const choices[] = {&all, &pair, &middle};
    kc_rng rng = kc_rng_seed(n_slots);
    world w;

    REQUIRE(open_world(&w, NULL, NULL, dtype));
    REQUIRE(open_store(&w, n_slots) == KC_OK);
    CHECK(kc_store_slots(w.store) == kc_min(n_slots, N));
    for (int round = 0; round < 60; round++) {
        const kc_cols *cols = choices[kc_rng_below(&rng, 3)];
        size_t n_rows = 1 + kc_rng_below(&rng, kc_min(n_slots, 60));
        int32_t order[N];
        const void *rows[60];
        for (int32_t k = 0; k < N; k++)
            order[k] = k;
        kc_rng_shuffle(&rng, order, N);
        CHECK(kc_store_get(&w.call, w.store, cols, order, n_rows, rows) == KC_OK);
        for (size_t r = 0; r < n_rows; r++)
            CHECK(row_is_right(&w, cols, order[r], rows[r]));
        CHECK(kc_store_count(w.store).bytes_used <= n_slots * w.row_bytes);
    }
    close_world(&w);
}

static void rows_are_right_whatever_is_kept(void)
{
    check_random_batches(KC_F32, 2);
    check_random_batches(KC_F32, 61);
    check_random_batches(KC_F64, 5);
    check_random_batches(KC_F64, N + 10);
}

static void a_budget_below_two_rows_is_refused_with_the_least_one(void)
{
    char text[40];
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    CHECK(open_store(&w, 1) == KC_ERR_ARG);
    snprintf(text, sizeof text, "%zu bytes", 2 * w.row_bytes);
    CHECK(strstr(w.err.text, text) != NULL);
    CHECK(w.store == NULL);
    CHECK(open_store(&w, 2) == KC_OK);
    CHECK(kc_store_row_bytes(w.store) == w.row_bytes);
    close_world(&w);
}

static void hits_misses_and_evictions_are_counted(void)
{
    const int32_t first[] = {3, 4, 5};
    const int32_t second[] = {4, 6};
    const void *rows[3];
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 3) == KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, first, 3, rows) == KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, second, 2, rows) == KC_OK);
    kc_store_counters count = kc_store_count(w.store);
    CHECK(count.rows_computed == 4);
    CHECK(count.rows_hit == 1);
    CHECK(count.rows_evicted == 1);
    CHECK(count.values_computed == 4 * N);
    CHECK(count.bytes_used == 3 * w.row_bytes);
    close_world(&w);
}

/* A row of one pair of classes serves another pair as far as it goes. */
static void segments_are_computed_when_they_are_wanted(void)
{
    const int32_t point = 8;
    const void *row;
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 10) == KC_OK);
    int64_t n_values = kc_store_count(w.store).values_computed;
    CHECK(kc_store_get(&w.call, w.store, &pair, &point, 1, &row) == KC_OK);
    CHECK(kc_store_count(w.store).values_computed == n_values + 100 + N - 333);
    CHECK(kc_store_get(&w.call, w.store, &middle, &point, 1, &row) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 0);
    CHECK(kc_store_get(&w.call, w.store, &all, &point, 1, &row) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 1);
    CHECK(row_is_right(&w, &all, point, row));
    close_world(&w);
}

/* ---- Apply --------------------------------------------------------------------------------- */

enum { N_MOVED = 150 };

typedef struct moves {
    int32_t points[N];
    double delta[N_MOVED];
    uint8_t keep[N_MOVED];
    double grad[N];
} moves;

static void make_moves(moves *m, kc_rng *rng)
{
    for (int32_t k = 0; k < N; k++) {
        m->points[k] = k;
        m->grad[k] = kc_rng_uniform(rng);
    }
    kc_rng_shuffle(rng, m->points, N);
    for (size_t k = 0; k < N_MOVED; k++) {
        m->delta[k] = kc_rng_uniform(rng) - 0.5;
        m->keep[k] = (uint8_t)kc_rng_below(rng, 3);
    }
}

static kc_moved moved_of(const moves *m)
{
    return (kc_moved){m->points, m->delta, m->keep, N_MOVED};
}

static void check_apply(kc_dtype dtype, const kc_cols *cols)
{
    static const size_t slots[] = {2, 10, 100, N};
    static moves m;
    double first[2][N];
    double out[N];

    for (size_t s = 0; s < 4; s++) {
        kc_run run = {.struct_size = sizeof run, .n_threads = 1 + (int32_t)s};
        kc_rng rng = kc_rng_seed(9);
        world w;
        REQUIRE(open_world(&w, NULL, &run, dtype));
        REQUIRE(open_store(&w, slots[s]) == KC_OK);
        for (int round = 0; round < 2; round++) {
            make_moves(&m, &rng);
            kc_moved moved = moved_of(&m);
            CHECK(kc_store_apply(&w.call, w.store, cols, &moved, m.grad, out) == KC_OK);
            for (size_t p = 0; p < kc_cols_count(cols); p++) {
                double want = m.grad[p];
                for (size_t k = 0; k < N_MOVED; k++)
                    want -= m.delta[k] *
                            entry(&w, w.gram, (size_t)m.points[k] * N + kc_cols_point(cols, p));
                CHECK_NEAR(out[p], want, 1e-12);
                if (s == 0)
                    first[round][p] = out[p];
                CHECK(out[p] == first[round][p]);
            }
            CHECK(kc_store_apply(&w.call, w.store, cols, &moved, m.grad, m.grad) == KC_OK);
            CHECK(memcmp(m.grad, out, kc_cols_count(cols) * sizeof *out) == 0);
        }
        CHECK(kc_store_count(w.store).bytes_used <= slots[s] * w.row_bytes);
        close_world(&w);
    }
}

static void apply_gives_the_same_bits_for_every_cache_and_thread_count(void)
{
    check_apply(KC_F32, &all);
    check_apply(KC_F32, &pair);
    check_apply(KC_F64, &middle);
}

/* Through w: other roundings than those of the rows' own sum, but the same ones every time. */
static void linear_rows_are_added_up_through_w(void)
{
    node = (ref_node){.op = OP_LINEAR};
    check_apply(KC_F64, &all);
    check_apply(KC_F64, &pair);
    is_sparse = true;
    check_apply(KC_F64, &middle);
    check_apply(KC_F64, &pair);
    is_sparse = false;
    node = (ref_node){.op = OP_RBF, .gamma = 0.2};
}

static void sparse_rows_are_added_up_like_dense_ones(void)
{
    is_sparse = true;
    check_apply(KC_F32, &pair);
    is_sparse = false;
}

static void what_the_caller_keeps_stays_and_what_it_does_not_goes(void)
{
    static moves m;
    double out[N];
    kc_rng rng = kc_rng_seed(10);
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 4) == KC_OK);
    make_moves(&m, &rng);
    kc_moved moved = {m.points, m.delta, m.keep, 3};
    memset(m.keep, KC_KEEP_HIGH, 3);
    CHECK(kc_store_apply(&w.call, w.store, &all, &moved, m.grad, out) == KC_OK);
    /* Others pass through the one slot left. */
    kc_moved others = {m.points + 3, m.delta, m.keep + 3, 20};
    memset(m.keep + 3, KC_KEEP_LOW, 20);
    CHECK(kc_store_apply(&w.call, w.store, &all, &others, m.grad, out) == KC_OK);
    CHECK(kc_store_count(w.store).rows_computed == 23);
    CHECK(kc_store_apply(&w.call, w.store, &all, &moved, m.grad, out) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 3);
    /* Given back: used once more, then gone. */
    memset(m.keep, KC_KEEP_NOT, 3);
    CHECK(kc_store_apply(&w.call, w.store, &all, &moved, m.grad, out) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 6);
    CHECK(kc_store_apply(&w.call, w.store, &all, &moved, m.grad, out) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 6);
    close_world(&w);
}

static void rows_that_are_asked_for_drive_out_what_is_kept(void)
{
    static moves m;
    double out[N];
    const void *rows[2];
    kc_rng rng = kc_rng_seed(12);
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F64));
    REQUIRE(open_store(&w, 3) == KC_OK);
    make_moves(&m, &rng);
    kc_moved moved = {m.points, m.delta, m.keep, 3};
    memset(m.keep, KC_KEEP_HIGH, 3);
    CHECK(kc_store_apply(&w.call, w.store, &all, &moved, m.grad, out) == KC_OK);
    for (size_t i = 3; i < 13; i++) {
        REQUIRE(kc_store_get(&w.call, w.store, &all, m.points + i, 2, rows) == KC_OK);
        for (size_t k = 0; k < 2; k++)
            CHECK(row_is_right(&w, &all, m.points[i + k], rows[k]));
    }
    close_world(&w);
}

static void nothing_moved_copies_the_gradient(void)
{
    double grad[N];
    double out[N];
    kc_moved none = {0};
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 2) == KC_OK);
    for (size_t k = 0; k < N; k++)
        grad[k] = (double)k;
    CHECK(kc_store_apply(&w.call, w.store, &all, &none, grad, out) == KC_OK);
    CHECK(memcmp(grad, out, sizeof out) == 0);
    close_world(&w);
}

/* ---- Parts of the matrix ------------------------------------------------------------------- */

static void gather_and_gram_are_parts_of_the_whole_matrix(void)
{
    static const kc_dtype dtypes[] = {KC_F32, KC_F64};
    const int32_t rows[] = {5, 699, 0, 77, 5};
    const int32_t others[] = {1, 5, 350, 698, 2, 3, 400};
    double *out = malloc(N * N * sizeof *out);

    for (int type = 0; type < 2; type++) {
        world w;
        REQUIRE(open_world(&w, NULL, NULL, dtypes[type]));
        REQUIRE(open_store(&w, 2) == KC_OK);
        CHECK(kc_store_gather(&w.call, w.store, rows, 5, others, 7, out, 9) == KC_OK);
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < 7; j++)
                CHECK(entry(&w, out, i * 9 + j) ==
                      entry(&w, w.gram, (size_t)rows[i] * N + (size_t)others[j]));
        CHECK(kc_store_gram(&w.call, w.store, &pair, out, N) == KC_OK);
        for (size_t p = 0; p < kc_cols_count(&pair); p++)
            for (size_t r = 0; r < kc_cols_count(&pair); r++)
                CHECK(entry(&w, out, p * N + r) ==
                      entry(&w, w.gram, kc_cols_point(&pair, p) * N + kc_cols_point(&pair, r)));
        for (size_t p = 0; p < N; p++)
            CHECK(entry(&w, kc_store_diag(w.store), p) == entry(&w, w.gram, p * (N + 1)));
        close_world(&w);
    }
    free(out);
}

static void a_given_matrix_is_read_in_place(void)
{
    const int32_t points[] = {2, 0};
    const int32_t others[] = {1, 2};
    const double delta[] = {2, -1};
    /* Rows of three in steps of four. */
    const float k[] = {1, 2, 3, -9, 2, 5, 6, -9, 3, 6, 9, -9};
    double grad[3] = {0, 0, 0};
    float part[4];
    const void *rows[2];
    size_t ld;
    kc_context *ctx;
    kc_call call;
    kc_store *store;
    kc_cols cols = {.span = {{0, 3}}, .n_spans = 1};

    REQUIRE(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    REQUIRE(kc_call_begin(&call, ctx, NULL, "rows", NULL) == KC_OK);
    REQUIRE(kc_store_make_given(&call, KC_F32, k, 3, 4, &store) == KC_OK);
    CHECK(kc_store_matrix(store, &ld) == k && ld == 4);
    CHECK(kc_store_get(&call, store, &cols, points, 2, rows) == KC_OK);
    CHECK(rows[0] == k + 8 && rows[1] == k);
    kc_moved moved = {points, delta, NULL, 2};
    CHECK(kc_store_apply(&call, store, &cols, &moved, grad, grad) == KC_OK);
    CHECK(grad[0] == -5 && grad[1] == -10 && grad[2] == -15);
    CHECK(kc_store_gather(&call, store, points, 2, others, 2, part, 2) == KC_OK);
    CHECK(part[0] == 6 && part[1] == 9 && part[2] == 2 && part[3] == 3);
    CHECK(((const float *)kc_store_diag(store))[1] == 5);
    CHECK(kc_store_count(store).bytes_used == 0);
    kc_store_free(ctx, store);
    CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    kc_context_free(ctx);
}

static void a_completed_store_reads_what_it_computed(void)
{
    const int32_t point = 650;
    const void *row;
    world w;
    REQUIRE(open_world(&w, NULL, NULL, KC_F64) && open_store(&w, N) == KC_OK);
    CHECK(kc_store_complete(&w.call, w.store) == KC_OK);
    CHECK(kc_store_is_shared(w.store, N, 2) && !kc_store_is_given(w.store));
    CHECK(kc_store_get(&w.call, w.store, &pair, &point, 1, &row) == KC_OK);
    CHECK(row_is_right(&w, &pair, point, row));
    CHECK(kc_store_count(w.store).values_computed == N * (N + 1) / 2);
    close_world(&w);
}

static void what_is_set_aside_is_not_for_rows(void)
{
    const int32_t points[] = {0, 1, 2, 3, 4, 5};
    const void *rows[6];
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F64) && open_store(&w, 6) == KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 6, rows) == KC_OK);
    CHECK(kc_store_count(w.store).bytes_used == 6 * w.row_bytes);
    kc_store_set_aside(w.ctx, w.store, 3 * w.row_bytes); /* more is used: all of it is given up */
    for (int32_t point = 0; point < 6; point++) {
        CHECK(kc_store_get(&w.call, w.store, &all, &point, 1, rows) == KC_OK);
        CHECK(row_is_right(&w, &all, point, rows[0]));
        CHECK(kc_store_count(w.store).bytes_used <= 3 * w.row_bytes);
    }
    kc_store_set_aside(w.ctx, w.store, SIZE_MAX);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 2, rows) == KC_OK);
    CHECK(kc_store_count(w.store).bytes_used == 2 * w.row_bytes);
    kc_store_set_aside(w.ctx, w.store, 0);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 6, rows) == KC_OK);
    close_world(&w);
}

/* Of points, and of a whole matrix: the same values, and what was computed counts for the whole. */
static void a_part_is_a_store_of_its_points(void)
{
    const int32_t chosen[] = {650, 3, 77, 400, 2};
    const kc_cols cols = {.span = {{0, 5}}, .n_spans = 1};
    const int32_t second = 1;
    const void *row;

    for (int is_whole = 0; is_whole < 2; is_whole++) {
        kc_store *part;
        world w;
        REQUIRE(open_world(&w, NULL, NULL, KC_F32) && open_store(&w, N) == KC_OK);
        if (is_whole)
            CHECK(kc_store_complete(&w.call, w.store) == KC_OK);
        CHECK(kc_store_get(&w.call, w.store, &all, chosen, 1, &row) == KC_OK);
        const kc_store_counters before = kc_store_count(w.store);
        REQUIRE(kc_store_can_part(w.store));
        REQUIRE(kc_store_part_make(&w.call, w.store, chosen, 5, &part) == KC_OK);
        CHECK(kc_store_points(part) == 5);
        CHECK(is_whole || kc_store_count(w.store).bytes_used == 0); /* lent to the part */
        CHECK(kc_store_get(&w.call, part, &cols, &second, 1, &row) == KC_OK);
        for (size_t k = 0; k < 5; k++)
            CHECK(entry(&w, row, k) == entry(&w, w.gram, 3 * N + (size_t)chosen[k]));
        kc_store_part_free(w.ctx, w.store, part);
        const kc_store_counters after = kc_store_count(w.store);
        CHECK(after.rows_computed == before.rows_computed + !is_whole);
        CHECK(after.values_computed == before.values_computed + (is_whole ? 0 : 5));
        close_world(&w);
    }
    kc_store_part_free(NULL, NULL, NULL);
}

/* Everything as if the values were computed here. */
static void *use_shared(void *data)
{
    world *w = data;
    const int32_t chosen[] = {650, 3, 77, 400, 2};
    double values[25];
    kc_call call;

    for (int round = 0; round < 20; round++) {
        kc_store *part = NULL;
        if (kc_call_begin(&call, w->ctx, NULL, "rows", NULL) != KC_OK)
            break;
        kc_store_set_aside(w->ctx, w->store, 3 * w->row_bytes);
        CHECK(kc_store_part_make(&call, w->store, chosen, 5, &part) == KC_OK);
        CHECK(kc_store_gather(&call, part, chosen + 4, 1, chosen + 4, 1, values, 5) == KC_OK);
        kc_store_part_free(w->ctx, w->store, part);
        kc_store_set_aside(w->ctx, w->store, 0);
        CHECK(kc_call_end(&call, KC_OK) == KC_OK);
    }
    return NULL;
}

/* What the threads write to is atomic, or not the store: the thread sanitizer sees to that. */
static void parts_of_a_shared_store_are_made_on_several_threads(void)
{
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        pthread_t other;
        world w;
        node = (ref_node){.op = is_whole ? OP_RBF : OP_LINEAR, .gamma = 0.2};
        REQUIRE(open_world(&w, NULL, NULL, KC_F64) && open_store(&w, N) == KC_OK);
        if (is_whole)
            CHECK(kc_store_complete(&w.call, w.store) == KC_OK);
        REQUIRE(kc_store_is_shared(w.store, N / 2, 2));
        const int64_t before = kc_store_count(w.store).values_computed;
        REQUIRE(pthread_create(&other, NULL, use_shared, &w) == 0);
        use_shared(&w);
        CHECK(pthread_join(other, NULL) == 0);
        CHECK(kc_store_count(w.store).values_computed == before + (is_whole ? 0 : 2 * 20));
        close_world(&w);
    }
}

static void rows_may_be_asked_for(void)
{
    is_asking = true;
    check_random_batches(KC_F32, 2);
    check_random_batches(KC_F64, 61);
    check_apply(KC_F32, &all);
    check_apply(KC_F64, &pair);
    segments_are_computed_when_they_are_wanted();
    gather_and_gram_are_parts_of_the_whole_matrix();
    is_asking = false;
}

/* ---- What goes wrong ----------------------------------------------------------------------- */

static void a_row_is_there_only_once_it_is_computed(void)
{
    const int32_t points[] = {1, 2, 3};
    const void *rows[3];
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(open_store(&w, 5) == KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 1, rows) == KC_OK);
    atomic_store(&w.call.stop, KC_ERR_CANCELLED);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 3, rows) == KC_ERR_CANCELLED);
    atomic_store(&w.call.stop, KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 3, rows) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 1);
    for (size_t r = 0; r < 3; r++)
        CHECK(row_is_right(&w, &all, points[r], rows[r]));
    close_world(&w);
}

static void a_row_that_nobody_answers_for_is_not_there(void)
{
    const int32_t points[] = {1, 2, 3};
    const void *rows[3];
    world w;

    is_asking = true;
    REQUIRE(open_world(&w, NULL, NULL, KC_F64));
    REQUIRE(open_store(&w, 5) == KC_OK);
    int64_t n_values = kc_store_count(w.store).values_computed;
    CHECK(n_values == (N / 16) * 16 * 16 + (N % 16) * (N % 16)); /* of the diagonal */
    n_answers = 1;
    CHECK(kc_store_get(&w.call, w.store, &all, points, 1, rows) == KC_OK);
    CHECK(kc_store_get(&w.call, w.store, &all, points, 3, rows) == KC_ERR_CALLBACK);
    CHECK(strcmp(w.err.text, "no answer") == 0);
    n_answers = 1 << 30;
    CHECK(kc_store_get(&w.call, w.store, &all, points, 3, rows) == KC_OK);
    CHECK(kc_store_count(w.store).rows_hit == 1);
    CHECK(kc_store_count(w.store).values_computed == n_values + 3 * N);
    CHECK(kc_store_whole_bytes(w.store) == 0);
    close_world(&w);
    is_asking = false;
}

static void values_that_overflow_are_an_error(void)
{
    const ref_node power = {.op = OP_POLYNOMIAL, .gamma = 1, .coef0 = 1, .degree = 1000};
    kc_kernel *kernel;
    world w;

    REQUIRE(open_world(&w, NULL, NULL, KC_F32));
    REQUIRE(ref_kernel_make(w.ctx, &power, 1, &kernel, NULL) == KC_OK);
    kc_kernel_free(w.ctx, w.kernel);
    w.kernel = kernel;
    /* The diagonal says so first. */
    CHECK(open_store(&w, 5) == KC_ERR_RANGE);
    CHECK(w.store == NULL);
    close_world(&w);
}

static kc_status use_store(world *w)
{
    static moves m;
    double out[N];
    const void *rows[3];
    const int32_t points[] = {1, 650, 3};
    kc_rng rng = kc_rng_seed(11);
    kc_status status = open_store(w, 5);

    make_moves(&m, &rng);
    kc_moved moved = moved_of(&m);
    if (status == KC_OK)
        status = kc_store_get(&w->call, w->store, &all, points, 3, rows);
    if (status == KC_OK)
        status = kc_store_apply(&w->call, w->store, &all, &moved, m.grad, out);
    if (status == KC_OK)
        status = kc_store_gather(&w->call, w->store, points, 3, points, 3, out, 3);
    kc_store_free(w->ctx, w->store);
    w->store = NULL;
    return status;
}

static void check_refused_memory(void)
{
    kc_fault fault;
    kc_context_config config = {.struct_size = sizeof config, .allocator = &fault.allocator};
    kc_run run = {.struct_size = sizeof run, .n_threads = 1};
    size_t n = 1;

    kc_fault_init(&fault);
    for (; n < 1000; n++) {
        world w;
        REQUIRE(open_world(&w, &config, &run, KC_F32));
        kc_fault_arm(&fault, n, n % 2 ? KC_FAULT_ONCE : KC_FAULT_ALL);
        kc_status status = use_store(&w);
        bool was_refused = kc_fault_disarm(&fault);
        /* An arena that is refused a large block tries a smaller one. */
        CHECK(status == KC_ERR_NOMEM || status == KC_OK);
        CHECK(status == KC_OK || was_refused);
        close_world(&w);
        CHECK(kc_fault_is_clean(&fault));
        if (!was_refused)
            break;
    }
    CHECK(n > 5 && n < 1000);
}

static void refused_memory_is_an_error_and_leaves_nothing(void)
{
    for (int k = 0; k < 2; k++, is_asking = !is_asking)
        check_refused_memory();
}

int main(void)
{
    RUN(rows_are_right_whatever_is_kept);
    RUN(a_budget_below_two_rows_is_refused_with_the_least_one);
    RUN(hits_misses_and_evictions_are_counted);
    RUN(segments_are_computed_when_they_are_wanted);
    RUN(apply_gives_the_same_bits_for_every_cache_and_thread_count);
    RUN(linear_rows_are_added_up_through_w);
    RUN(sparse_rows_are_added_up_like_dense_ones);
    RUN(what_the_caller_keeps_stays_and_what_it_does_not_goes);
    RUN(rows_that_are_asked_for_drive_out_what_is_kept);
    RUN(nothing_moved_copies_the_gradient);
    RUN(gather_and_gram_are_parts_of_the_whole_matrix);
    RUN(a_given_matrix_is_read_in_place);
    RUN(a_completed_store_reads_what_it_computed);
    RUN(what_is_set_aside_is_not_for_rows);
    RUN(a_part_is_a_store_of_its_points);
    RUN(parts_of_a_shared_store_are_made_on_several_threads);
    RUN(rows_may_be_asked_for);
    RUN(a_row_is_there_only_once_it_is_computed);
    RUN(a_row_that_nobody_answers_for_is_not_there);
    RUN(values_that_overflow_are_an_error);
    RUN(refused_memory_is_an_error_and_leaves_nothing);
    return kc_test_end();
}
