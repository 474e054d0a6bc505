/* A store: points and kernel (or a given matrix, or a function of the caller's), and the rows of
 * their Gram matrix worth keeping.
 *
 * One store serves many problems: the pairs of one-vs-one, folds, a path of C, a warm start.  It
 * holds plain kernel values, no labels, and knows nothing of dual variables: what is worth keeping
 * is said by the caller, row by row (kc_keep).
 *
 * A problem looks at the columns of one or two runs of consecutive points (kc_cols): all points, or
 * one class against another where the points are sorted by class.  Rows are of the points' type.
 *
 * Every value is K(x_i, x_j) to the bit, and sums run in the order of the caller's list, whether a
 * row was kept, is computed now or was given: results do not depend on the size of the cache or on
 * the number of threads.
 *
 * Used by one thread at a time, unless kc_store_is_shared; the work inside is shared by the call's
 * threads.  Failures are
 * KC_ERR_NOMEM, KC_ERR_RANGE (a kernel value that is not finite), and KC_ERR_CANCELLED or
 * KC_ERR_TIME where the call was stopped. */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "base/kc_call.h"
#include "data/kc_packed.h"

/* The points begin .. end - 1. */
typedef struct kc_span {
    size_t begin, end;
} kc_span;

/* The columns a problem looks at: position p of the problem is point kc_cols_point(cols, p).
 * Ends lie on segment bounds of the store; the second run follows the first. */
typedef struct kc_cols {
    kc_span span[2];
    int32_t n_spans; /* 1 or 2 */
} kc_cols;

KC_INLINE size_t kc_cols_count(const kc_cols *cols)
{
    size_t n = cols->span[0].end - cols->span[0].begin;
    return cols->n_spans == 2 ? n + cols->span[1].end - cols->span[1].begin : n;
}

KC_INLINE size_t kc_cols_point(const kc_cols *cols, size_t position)
{
    size_t n_first = cols->span[0].end - cols->span[0].begin;
    return position < n_first ? cols->span[0].begin + position
                              : cols->span[1].begin + (position - n_first);
}

/* Whether a row is worth a slot.  Rows of less worth are evicted first, within one worth the least
 * recently used one.  Where values are as soon computed as read, no row is. */
typedef enum kc_keep {
    KC_KEEP_NOT = 0,  /* take no slot for it; give back the slot it has */
    KC_KEEP_LOW = 1,  /* while nothing better wants the slot */
    KC_KEEP_HIGH = 2, /* will be wanted again soon */
} kc_keep;

/* The caller's kernel as a function: out[i * n_cols + j] = K of the points rows[i] and cols[j],
 * finite. Called by the thread that uses the store, never by a worker. */
typedef kc_status kc_user_values_fn(void *data, kc_call *call, const int32_t *rows, size_t n_rows,
                                    const int32_t *cols, size_t n_cols, double *out);

typedef struct kc_store_config {
    const kc_kernel *kernel; /* borrowed, as are the points, until the store is freed */
    const kc_packed *points;
    kc_user_values_fn *user_fn; /* in place of kernel and points; NULL: none */
    void *user_data;
    size_t n_user_points;   /* points, where there is a user_fn */
    kc_dtype user_dtype;    /* of the rows then */
    size_t cache_bytes;     /* all slots together take no more; room for 2 rows at least */
    const size_t *segments; /* n_segments + 1 increasing bounds, 0 first, n last; NULL: one */
    size_t n_segments;      /* ends of runs must be such bounds: classes, where sorted by class */
} kc_store_config;

/* KC_ERR_ARG where cache_bytes has no room for two rows: the text says how many bytes that takes.
 */
kc_status kc_store_make(kc_call *call, const kc_store_config *config, kc_store **out);

/* K[i, j] = values[i * ld + j], borrowed; nothing is computed or kept.  The values must be finite
 * (checked by the caller); the matrix should be symmetric, and only rows are read. */
kc_status kc_store_make_given(kc_call *call, kc_dtype dtype, const void *values, size_t n,
                              size_t ld, kc_store **out);

/* Computes the whole matrix, if the cache has room for it, so that rows are read from then on: by
 * any number of threads at once, each with a call of its own. */
kc_status kc_store_complete(kc_call *call, kc_store *store);

/* Whether problems of up to n_max points can use the store on several threads at once. */
bool kc_store_is_shared(const kc_store *store, size_t n_max, int32_t n_threads);

/* Whether kc_store_part_make takes it: not where the caller computes the values. */
bool kc_store_can_part(const kc_store *store);

/* A store of n of the points alone, distinct, in this order: points with the bytes of the whole's
 * cache, which gives up its rows, or a copy out of the whole matrix.  kc_store_part_free adds its
 * counters to those of the whole, and accepts NULL.  (kc_store_free is public.) */
kc_status kc_store_part_make(kc_call *call, kc_store *whole, const int32_t *points, size_t n,
                             kc_store **out);
void kc_store_part_free(kc_context *ctx, kc_store *whole, kc_store *part);

/* Bytes of the cache that the caller has taken for itself: the rows that are kept take no more than
 * the rest, or two rows where that is less. */
void kc_store_set_aside(kc_context *ctx, kc_store *store, size_t n_bytes);

/* What the store was made of and has borrowed is its own from now on, to be freed with it: kernel
 * and points, or the values of a given matrix; the others NULL.  The points are moved out of
 * *points. */
void kc_store_adopt(kc_store *store, kc_kernel *kernel, kc_packed *points, void *values);

/* A store that outlives a call is that of one context, and of one call at a time: KC_ERR_ARG where
 * another one uses it.  Each begin has its end.  ctx NULL: contexts are not compared. */
kc_status kc_store_begin_use(kc_context *ctx, kc_store *store, kc_error *err);
void kc_store_end_use(kc_store *store);

/* Gives up the rows that are kept, and their memory. */
void kc_store_clear(kc_context *ctx, kc_store *store);

size_t kc_store_points(const kc_store *store);
kc_dtype kc_store_dtype(const kc_store *store);

/* How many rows kc_store_get can return at once: at least 2. */
size_t kc_store_slots(const kc_store *store);

/* Bytes that one row takes in the cache. */
size_t kc_store_row_bytes(const kc_store *store);

/* What a value costs, in multiply-adds; 1 where the matrix is given. */
size_t kc_store_work(const kc_store *store);

/* Whether rows are kept at all: not where values are as soon computed as read. */
bool kc_store_keeps_rows(const kc_store *store);

/* Whether values are x.z: rows are then added up through w = sum of delta_i x_i, at the cost of one
 * of them. */
bool kc_store_is_linear(const kc_store *store);

/* K(x, x) of every point, of the store's type; computed once, lives as long as the store. */
const void *kc_store_diag(const kc_store *store);

/* The whole matrix and its ld, given or completed; NULL where rows are computed. */
const void *kc_store_matrix(const kc_store *store, size_t *ld);

/* Whether the values were given: none is ever computed. */
bool kc_store_is_given(const kc_store *store);

/* Bytes that a copy of the whole matrix of a problem may take: those of the cache.  None where
 * the caller computes the values, of which as few as possible are wanted. */
size_t kc_store_whole_bytes(const kc_store *store);

/* The rows of points[0 .. n_rows), distinct, n_rows <= slots, all misses in one blocked
 * computation: out[i] + c (in entries) is column c of row points[i], for the columns of `cols`
 * only.  Valid until the next call that gets or applies. */
kc_status kc_store_get(kc_call *call, kc_store *store, const kc_cols *cols, const int32_t *points,
                       size_t n_rows, const void **out);

/* out[i * ld + j] = K(x[points[i]], x[others[j]]).  others == points: half is mirrored, unless
 * values are picked. */
kc_status kc_store_gather(kc_call *call, kc_store *store, const int32_t *points, size_t n_rows,
                          const int32_t *others, size_t n_cols, void *out, size_t ld);

/* Whether those values are picked out of the matrix, which is there: computing them would take
 * longer, or cannot be done. */
bool kc_store_picks(const kc_store *store);

/* out[p * ld + r] = K of positions p and r of the problem; half of it is computed, half mirrored.
 * The padding up to ld is not written. */
kc_status kc_store_gram(kc_call *call, kc_store *store, const kc_cols *cols, void *out, size_t ld);

/* Rows that moved, distinct: the coefficient of points[i] changed by delta[i]. */
typedef struct kc_moved {
    const int32_t *points;
    const double *delta;
    const uint8_t *keep; /* kc_keep of each row; NULL: KC_KEEP_LOW for all */
    size_t n;
} kc_moved;

/* out[p] = grad[p] - sum over i, in order, of delta[i] * K(x[points[i]], position p).  out may be
 * grad; on failure out holds no meaning. */
kc_status kc_store_apply(kc_call *call, kc_store *store, const kc_cols *cols, const kc_moved *moved,
                         const double *grad, double *out);

/* The same for n_vectors at once, so that each row is computed once: moved->delta has n_vectors
 * times n entries, and grad and out have n_vectors times those of the columns. */
kc_status kc_store_apply_vectors(kc_call *call, kc_store *store, const kc_cols *cols,
                                 const kc_moved *moved, size_t n_vectors, const double *grad,
                                 double *out);

/* Sums over some columns of the matrix, at some of its rows, for each of n_vectors. */
typedef struct kc_store_sums {
    const int32_t *rows; /* NULL: all; else n_rows points, repeated or not */
    size_t n_rows;
    const int32_t *cols; /* NULL: all; else n_cols points, distinct */
    size_t n_cols;
    const double *vectors; /* n_vectors * n_cols */
    size_t n_vectors;
} kc_store_sums;

/* out[k * n_rows + r] = sum over j of vectors[k * n_cols + j] K(x[rows[r]], x[cols[j]]), in doubles
 * and in the order of the columns. */
kc_status kc_store_multiply_by(kc_call *call, kc_store *store, const kc_store_sums *product,
                               double *out);

/* How long kc_store_apply may take for n_rows rows over n_cols columns, none of them kept, in
 * seconds: by what the last ones took.  Outside the promise of equal results. */
double kc_store_apply_seconds(const kc_store *store, size_t n_rows, size_t n_cols);

/* Since the store was made.  Outside the promise of equal results. */
typedef struct kc_store_counters {
    int64_t rows_computed; /* rows (of a problem's columns) computed by get and apply */
    int64_t rows_hit;      /* ... that were there already */
    int64_t rows_evicted;
    int64_t values_computed; /* kernel values, by all functions */
    double seconds;          /* in all functions: computing values, adding rows up */
    size_t bytes_used;       /* of the slots that hold or held a row */
    size_t bytes_allowed;
} kc_store_counters;
kc_store_counters kc_store_count(const kc_store *store);

#endif
