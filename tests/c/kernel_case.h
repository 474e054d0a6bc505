/* What the tests of kernels share: making a kernel, packing views, and filling a matrix of its
 * values through kc_plan_block. */
#ifndef KERNEL_CASE_H
#define KERNEL_CASE_H

#include <stdlib.h>
#include <string.h>

#include "kc_test.h"
#include "kernel/kc_kernel.h"
#include "kernel/kc_plan.h"
#include "ref_kernel.h"
#include "ref_points.h"
#include "simd/kc_ops.h"

#define MAX_NODES 1000
#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline kc_context *new_context(void)
{
    kc_context *ctx = NULL;

    CHECK(kc_context_create(NULL, &ctx, NULL) == KC_OK);
    return ctx;
}

static inline kc_kernel *new_kernel(kc_context *ctx, const ref_node *nodes, size_t n_nodes)
{
    kc_kernel *kernel = NULL;
    kc_error err = {0};

    CHECK(ref_kernel_make(ctx, nodes, n_nodes, &kernel, &err) == KC_OK);
    if (kernel == NULL)
        printf("    said: %s\n", err.text);
    return kernel;
}

static inline kc_packed pack_view(kc_context *ctx, const ref_view *view, kc_dtype dtype)
{
    kc_packed packed = {.dtype = dtype};
    kc_call call;

    CHECK(kc_call_begin(&call, ctx, NULL, "pack", NULL) == KC_OK);
    CHECK(kc_call_end(&call, kc_packed_create(&call, &view->points, dtype, &packed)) == KC_OK);
    return packed;
}

static inline kc_packed pack_samples(kc_context *ctx, const ref_samples *s, ref_form form,
                                     kc_dtype dtype, ref_view *view)
{
    *view = ref_view_make(s, form, dtype);
    return pack_view(ctx, view, dtype);
}

/* A block with a workspace of exactly the size that was asked for. */
static inline bool fill_block(const kc_kernel *kernel, const kc_block *block)
{
    const kc_plan plan = kc_plan_make(kernel, block->x, block->z);
    const size_t n_bytes = kc_plan_workspace(&plan, block->n_rows);
    void *workspace = NULL;
    bool is_finite;

    if (posix_memalign(&workspace, KC_ALIGN, n_bytes) != 0)
        abort();
    memset(workspace, 0xff, n_bytes);
    is_finite = kc_plan_block(&plan, block, workspace);
    free(workspace);
    return is_finite;
}

/* K(x, z) in one block, rows one after the other; the caller frees it. */
static inline void *fill_all(const kc_kernel *kernel, const kc_packed *x, const kc_packed *z)
{
    void *out = malloc(x->n * z->n * kc_dtype_bytes(x->dtype));
    const kc_block block = {.x = x, .n_rows = x->n, .z = z, .n_cols = z->n, .out = out, .ld = z->n};

    CHECK(fill_block(kernel, &block));
    return out;
}

/* The largest error over its bound. */
static inline double worst_excess(const ref_node *nodes, size_t n_nodes, const void *out,
                                  const ref_samples *x, const ref_samples *z, kc_dtype dtype)
{
    double worst = 0;

    for (size_t i = 0; i < x->n; i++)
        for (size_t j = 0; j < z->n; j++)
            worst = fmax(worst, ref_excess(ref_get(out, i * z->n + j, dtype),
                                           ref_kernel(nodes, n_nodes, x->x + i * x->d,
                                                      z->x + j * z->d, x->d, dtype)));
    return worst;
}

static inline bool is_same(const void *a, const void *b, size_t n, kc_dtype dtype)
{
    return memcmp(a, b, n * kc_dtype_bytes(dtype)) == 0;
}

#endif
