/* See rows_case.h. */
#include "rows_case.h"

#include <stdlib.h>

#include "kc_test.h"

static const size_t segments[] = {0, 100, 333, N};

bool is_asking;
int n_answers = 1 << 30;

double entry(const world *w, const void *array, size_t k)
{
    return w->dtype == KC_F64 ? ((const double *)array)[k] : (double)((const float *)array)[k];
}

static kc_status answer(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                        const int32_t *cols, size_t n_cols, double *out)
{
    const world *w = data;

    CHECK(pthread_equal(call->caller, pthread_self()));
    if (n_answers-- == 0)
        return kc_fail(call->err, KC_ERR_CALLBACK, "no answer");
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < n_cols; j++)
            out[i * n_cols + j] = entry(w, w->gram, (size_t)rows[i] * N + (size_t)cols[j]);
    return KC_OK;
}

kc_status open_store(world *w, size_t n_rows)
{
    kc_store_config config = {.kernel = w->kernel,
                              .points = &w->points,
                              .cache_bytes = n_rows * w->row_bytes,
                              .segments = segments,
                              .n_segments = 3};

    if (is_asking) {
        config.kernel = NULL;
        config.points = NULL;
        config.user_fn = answer;
        config.user_data = w;
        config.n_user_points = N;
        config.user_dtype = w->dtype;
    }
    return kc_store_make(&w->call, &config, &w->store);
}

ref_node node = {.op = OP_RBF, .gamma = 0.2};
bool is_sparse;

/* The same points as CSR: feature k of point i is column (7 i + 31 k) % N_COLS. */
enum { N_COLS = 1000 };
static kc_points sparse_view(const double *x, int32_t *indices, int32_t *indptr)
{
    for (int32_t i = 0; i < N; i++) {
        indptr[i] = i * D;
        for (int32_t k = 0; k < D; k++)
            indices[i * D + k] = (7 * i + 31 * k) % N_COLS;
    }
    indptr[N] = N * D;
    return (kc_points){.struct_size = sizeof(kc_points),
                       .storage = KC_CSR,
                       .dtype = KC_F64,
                       .n_rows = N,
                       .n_cols = N_COLS,
                       .values = x,
                       .indices = indices,
                       .indptr = indptr,
                       .index_bytes = 4,
                       .n_values = N * D};
}

static bool fill_gram(world *w)
{
    const kc_plan plan = kc_plan_make(w->kernel, &w->points, &w->points);

    return kc_gram_fill(&w->call, &plan, w->gram, N) == KC_OK;
}

bool open_world(world *w, const kc_context_config *config, const kc_run *run, kc_dtype dtype)
{
    static int32_t indices[N * D], indptr[N + 1];
    static double x[N * D]; /* packed points may borrow it */
    kc_rng rng = kc_rng_seed(4);
    kc_points view = {.struct_size = sizeof(kc_points),
                      .storage = KC_DENSE,
                      .dtype = KC_F64,
                      .n_rows = N,
                      .n_cols = D,
                      .values = x,
                      .row_stride = D * 8,
                      .col_stride = 8};

    *w = (world){.dtype = dtype};
    for (size_t k = 0; k < N * D; k++)
        x[k] = kc_rng_uniform(&rng);
    if (is_sparse)
        view = sparse_view(x, indices, indptr);
    w->gram = malloc(N * N * kc_dtype_bytes(dtype));
    w->row_bytes = kc_round_up(N * kc_dtype_bytes(dtype), KC_ALIGN);
    bool is_open = kc_context_create(config, &w->ctx, NULL) == KC_OK &&
                   ref_kernel_make(w->ctx, &node, 1, &w->kernel, NULL) == KC_OK &&
                   kc_call_begin(&w->call, w->ctx, run, "rows", &w->err) == KC_OK &&
                   kc_packed_create(&w->call, &view, dtype, &w->points) == KC_OK && fill_gram(w);
    CHECK((w->points.storage == KC_CSR) == is_sparse);
    w->call.n_threads = run != NULL && run->n_threads != 0 ? run->n_threads : 2;
    return is_open;
}

void close_world(world *w)
{
    kc_store_free(w->ctx, w->store);
    CHECK(kc_call_end(&w->call, KC_OK) == KC_OK);
    kc_packed_free(w->ctx, &w->points);
    kc_kernel_free(w->ctx, w->kernel);
    kc_context_free(w->ctx);
    free(w->gram);
}

bool row_is_right(const world *w, const kc_cols *cols, int32_t point, const void *row)
{
    for (size_t p = 0; p < kc_cols_count(cols); p++) {
        size_t c = kc_cols_point(cols, p);
        if (entry(w, row, c) != entry(w, w->gram, (size_t)point * N + c))
            return false;
    }
    return true;
}
