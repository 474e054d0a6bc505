/* A C function of the caller's as a leaf: samples are laid out for it as plain numbers, some rows
 * and columns at a time, so that doing so costs little beside its calls. */
#include <math.h>

#include "kernel/kc_leaf.h"

/* Samples of either side that are laid out together. */
#define SIDE ((size_t)16)

static size_t work(const kc_node *leaf, const kc_packed *x, const kc_packed *z)
{
    (void)x;
    return leaf->function.work > 0 ? (size_t)kc_lower(leaf->function.work, 1e9)
                                   : kc_max(1, kc_packed_mean_values(z));
}

static size_t room_bytes(const kc_packed *points)
{
    return kc_aligned(kc_packed_max_values(points) * sizeof(double));
}

static size_t workspace(const kc_packed *x, const kc_packed *z, size_t n_rows)
{
    (void)n_rows;
    /* Rows of x may be added to z meanwhile: the room of either is enough for both. */
    return 2 * SIDE * kc_max(room_bytes(x), room_bytes(z)) +
           kc_aligned(SIDE * SIDE * sizeof(double));
}

/* The values of up to SIDE by SIDE pairs, out[i * SIDE + j]. */
static void ask(const kc_kernel_function *f, const kc_sample *x, size_t n_x, const kc_sample *z,
                size_t n_z, double *out)
{
    if (f->block != NULL) {
        f->block(f->data, x, (int64_t)n_x, z, (int64_t)n_z, out, SIDE);
        return;
    }
    for (size_t i = 0; i < n_x; i++)
        for (size_t j = 0; j < n_z; j++)
            out[i * SIDE + j] = f->pair(f->data, &x[i], &z[j]);
}

/* Rounds to the type of the block; whether all are finite there. */
static bool store(const kc_block *block, size_t i, size_t j, size_t n_x, size_t n_z,
                  const double *values)
{
    const kc_dtype dtype = block->x->dtype;
    bool is_finite = true;

    for (size_t r = 0; r < n_x; r++)
        for (size_t c = 0; c < n_z; c++) {
            void *to = kc_at(block->out, (i + r) * block->ld + j + c, dtype);

            if (dtype == KC_F64)
                *(double *)to = values[r * SIDE + c];
            else
                *(float *)to = (float)values[r * SIDE + c];
            is_finite &= isfinite(kc_number_at(to, 0, dtype)) != 0;
        }
    return is_finite;
}

static bool fill(const kc_node *leaf, const kc_block *block, void *workspace)
{
    const size_t room = kc_max(room_bytes(block->x), room_bytes(block->z));
    double *values = workspace;
    char *x_room = (char *)workspace + kc_aligned(SIDE * SIDE * sizeof(double));
    char *z_room = x_room + SIDE * room;
    kc_sample x[SIDE], z[SIDE];
    bool is_finite = true;

    for (size_t i = 0; i < block->n_rows; i += SIDE) {
        const size_t n_x = kc_min(SIDE, block->n_rows - i);

        for (size_t r = 0; r < n_x; r++)
            x[r] = kc_packed_sample(block->x, kc_block_row(block, i + r),
                                    (double *)(void *)(x_room + r * room));
        for (size_t j = 0; j < block->n_cols; j += SIDE) {
            const size_t n_z = kc_min(SIDE, block->n_cols - j);

            for (size_t c = 0; c < n_z; c++)
                z[c] = kc_packed_sample(block->z, block->col_begin + j + c,
                                        (double *)(void *)(z_room + c * room));
            ask(&leaf->function, x, n_x, z, n_z, values);
            is_finite &= store(block, i, j, n_x, n_z, values);
        }
    }
    return is_finite;
}

static bool diag(const kc_node *leaf, const kc_packed *x, size_t row_begin, size_t n_rows,
                 void *out, void *workspace)
{
    double *values = workspace;
    double *room = values + SIDE * SIDE;
    bool is_finite = true;

    for (size_t i = 0; i < n_rows; i++) {
        const kc_block block = {.x = x, .z = x, .n_rows = 1, .n_cols = 1, .out = out, .ld = 1};
        const kc_sample sample = kc_packed_sample(x, row_begin + i, room);

        ask(&leaf->function, &sample, 1, &sample, 1, values);
        is_finite &= store(&block, i, 0, 1, 1, values);
    }
    return is_finite;
}

static const kc_base base_function = {
    .name = "function",
    .takes = KC_TAKES_NUMBERS | KC_TAKES_STRINGS,
    .work = work,
    .workspace = workspace,
    .block = fill,
    .diag = diag,
};

static kc_definiteness as_said(const kc_node *leaf)
{
    return leaf->function.definiteness;
}

const kc_leaf kc_leaf_function = {
    .info = {"function", "a function of the caller's", NULL, 0},
    .base = &base_function,
    .is_bounded = true, /* values are looked at as they come */
    .definiteness = as_said,
};

int32_t kc_kernel_has_function(const kc_kernel *kernel)
{
    for (size_t i = 0; i < kernel->n_nodes; i++)
        if (kernel->nodes[i].leaf == &kc_leaf_function)
            return 1;
    return 0;
}
