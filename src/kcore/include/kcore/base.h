/* kcore: what every part of the interface needs: status and errors, the context that owns memory
 * and threads, how one call runs and is stopped, views of samples, labels. */
#ifndef KCORE_BASE_H
#define KCORE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KC_API
#define KC_API
#endif
#if defined(__GNUC__)
#define KC_MUST_CHECK __attribute__((warn_unused_result))
#else
#define KC_MUST_CHECK
#endif

#define KC_VERSION_MAJOR 0
#define KC_VERSION_MINOR 1
#define KC_VERSION_PATCH 0

/* "0.1.0" */
KC_API const char *kc_version(void);

/* The instruction set in use: "generic", "avx2" or "avx512".  Chosen once, at the first use; the
 * environment variable KCORE_ISA forces one; kc_context_create refuses a name that is not one of
 * these, or that the CPU does not have. */
KC_API const char *kc_isa_name(void);

/* ---- Status and errors -------------------------------------------------------------------- */

/* Values are pinned: they never change meaning. */
typedef enum kc_status {
    KC_OK = 0,
    KC_ERR_NOMEM = 1,          /* the allocator returned NULL, or memory_limit was reached */
    KC_ERR_CANCELLED = 2,      /* stopped by the cancel token or by the progress callback */
    KC_ERR_TIME = 3,           /* time_limit passed in a call that has no partial result */
    KC_ERR_CALLBACK = 4,       /* a function of the caller's, such as a kernel, failed */
    KC_ERR_ARG = 10,           /* an argument outside its range */
    KC_ERR_SHAPE = 11,         /* sizes that do not fit together */
    KC_ERR_TYPE = 12,          /* a dtype or storage that is not taken here */
    KC_ERR_NONFINITE = 13,     /* NaN or infinity in the input */
    KC_ERR_RANGE = 14,         /* finite input whose squares or kernel values overflow */
    KC_ERR_INDEX = 15,         /* CSR structure or string offsets out of order */
    KC_ERR_CLASSES = 30,       /* fewer than two classes, or one without a sample that counts */
    KC_ERR_NOT_SEPARABLE = 31, /* hard margin, and no boundary separates the classes */
    KC_ERR_INFEASIBLE = 32,    /* no solution for this nu, or no function in a hard tube */
    KC_ERR_DEGENERATE = 33     /* nu-SVC: the reduced hulls overlap, the margin is zero */
} kc_status;

/* Where a call says what went wrong, in the caller's terms.  May be NULL everywhere. */
typedef struct kc_error {
    kc_status status;
    char text[300];
} kc_error;

/* ---- Context ------------------------------------------------------------------------------ */

/* Memory, threads and reusable workspace.  Thread-safe; usable in a forked child. */
typedef struct kc_context kc_context;

/* alloc returns memory aligned to `alignment` (a power of two), or NULL; both functions may be
 * called from any thread. */
typedef struct kc_allocator {
    void *(*alloc)(void *data, size_t n_bytes, size_t alignment);
    void (*free)(void *data, void *ptr, size_t n_bytes);
    void *data;
} kc_allocator;

typedef struct kc_context_config {
    size_t struct_size;            /* sizeof(kc_context_config) */
    const kc_allocator *allocator; /* NULL: the C library's; copied */
    size_t memory_limit;           /* bytes; 0: none */
    int32_t n_threads; /* 0: KCORE_NUM_THREADS, else OMP_NUM_THREADS, else usable CPUs */
} kc_context_config;

/* config may be NULL. */
KC_API KC_MUST_CHECK kc_status kc_context_create(const kc_context_config *config, kc_context **out,
                                                 kc_error *err);
KC_API void kc_context_free(kc_context *ctx);

/* The number of threads a call with run.n_threads = 0 uses; set: 0 = back to the default. */
KC_API int32_t kc_context_threads(const kc_context *ctx);
KC_API void kc_context_set_threads(kc_context *ctx, int32_t n_threads);

/* Bytes held now, and the most ever held, through this context. */
typedef struct kc_memory {
    size_t current;
    size_t peak;
} kc_memory;
KC_API kc_memory kc_context_memory(const kc_context *ctx);

/* Gives back memory that is kept for the next call: workspace, and large blocks (a quarter of the
 * memory available, or 512 MiB, at the most; the system may take all but 256 MiB of them where it
 * is short of memory).  Not counted as held. */
KC_API void kc_context_trim(kc_context *ctx);

/* CPUs that this process may use: affinity mask and cgroup quota respected; at least 1. */
KC_API int32_t kc_usable_cpus(void);

/* ---- One call: threads, progress, stopping ------------------------------------------------ */

/* A flag that any thread may set to stop a running call. */
typedef struct kc_cancel kc_cancel;
KC_API KC_MUST_CHECK kc_status kc_cancel_create(kc_context *ctx, kc_cancel **out, kc_error *err);
KC_API void kc_cancel_set(kc_cancel *cancel);
KC_API void kc_cancel_clear(kc_cancel *cancel);
KC_API void kc_cancel_free(kc_context *ctx, kc_cancel *cancel);

typedef struct kc_progress {
    const char *phase; /* "gram", ... */
    double seconds;    /* since the call began */
    double fraction;   /* of the work done, or -1 where it cannot be known */
    int64_t n_iter;
    double objective; /* NaN where there is none */
    double violation; /* largest KKT violation, NaN where there is none */
} kc_progress;

typedef enum kc_answer {
    KC_GO_ON = 0,
    KC_CANCEL = 1, /* stop without a result: KC_ERR_CANCELLED; so does any other value */
    KC_FINISH = 2  /* stop as a time limit does, with what there is; KC_ERR_CANCELLED where that is
                      nothing yet */
} kc_answer;

/* Called on the caller's thread at least every 50 ms of work; returns a kc_answer.  After KC_FINISH
 * it may still be called while the result is completed: only KC_CANCEL changes anything then. */
typedef int kc_progress_fn(void *data, const kc_progress *progress);

typedef struct kc_run {
    size_t struct_size;          /* sizeof(kc_run) */
    int32_t n_threads;           /* 0: the context's */
    double time_limit;           /* seconds; 0: none */
    const kc_cancel *cancel;     /* may be NULL */
    kc_progress_fn *on_progress; /* may be NULL */
    void *progress_data;
} kc_run;

/* ---- Samples ------------------------------------------------------------------------------ */

typedef enum kc_dtype { KC_F32 = 1, KC_F64 = 2 } kc_dtype;
typedef enum kc_storage { KC_DENSE = 1, KC_CSR = 2, KC_STRINGS = 3 } kc_storage;

/* A view of samples in the caller's memory.
 *
 * KC_DENSE:   values points at element (0, 0); strides in bytes, of any sign (or zero), which are
 *             multiples of the element's size.
 * KC_CSR:     row i has values[indptr[i] .. indptr[i+1]) at columns indices[...]; columns may be
 *             unsorted, and repeated columns are summed.
 * KC_STRINGS: sample i is the bytes values[indptr[i] .. indptr[i+1]); index_bytes is 8.
 *
 * Samples may have several parts, each a view of its own, such as the numbers and the strings of a
 * table.  Kernels count columns through all parts; a part of strings is one column. */
typedef struct kc_points {
    size_t struct_size; /* sizeof(kc_points) */
    kc_storage storage;
    kc_dtype dtype; /* of values; ignored for strings */
    int64_t n_rows;
    int64_t n_cols; /* ignored for strings */
    const void *values;
    int64_t row_stride, col_stride; /* dense only */
    const void *indices;            /* CSR only */
    const void *indptr;             /* CSR and strings: n_rows + 1 entries */
    int32_t index_bytes;            /* of an entry of indices and indptr: 4 or 8, signed */
    int64_t n_values;               /* CSR: entries of values and indices; strings: bytes */
    const char *name;               /* what messages call it, such as "X"; may be NULL */
    int64_t first_col;              /* the number that messages give its first column */
    const struct kc_points *next;   /* the next part of the same samples; NULL: there is none */
} kc_points;

/* Parts of samples at the most. */
#define KC_MAX_PARTS 256

/* Checks shape, strides and structure of a view as every call does; values are not read. */
KC_API KC_MUST_CHECK kc_status kc_check_points(kc_context *ctx, const kc_run *run,
                                               const kc_points *points, kc_error *err);

/* The variance of all entries of samples of numbers, dense or CSR, each sample by its weight
 * (n_rows entries >= 0; NULL: all 1); zeros of CSR samples count.  1 / (n_cols * variance) is a
 * usual gamma.  Summed in float64: the same bits for any storage of the same entries in the same
 * order, and any number of threads.  KC_ERR_NONFINITE as below; KC_ERR_RANGE where it overflows. */
KC_API KC_MUST_CHECK kc_status kc_variance(kc_context *ctx, const kc_run *run, const kc_points *x,
                                           const double *weights, double *out, kc_error *err);

/* KC_ERR_NONFINITE, and row and column of the first one, where numbers among the samples are NaN
 * or infinite. */
KC_API KC_MUST_CHECK kc_status kc_check_finite(kc_context *ctx, const kc_run *run,
                                               const kc_points *x, kc_error *err);

/* ---- Labels ------------------------------------------------------------------------------- */

/* Labels of any type, in the caller's memory: n of n_bytes each, `stride` bytes apart.  Equal
 * labels have equal bytes. */
typedef struct kc_labels {
    const void *values;
    int64_t n, n_bytes, stride;
} kc_labels;

/* Numbers labels in the order in which they first appear: codes[i] is the number of label i, and
 * label first[k] was the first with number k.  `first` has room for `most` numbers; *n_found is how
 * many there are, or most + 1 where there are more: the codes then mean nothing. */
KC_API KC_MUST_CHECK kc_status kc_encode_labels(kc_context *ctx, const kc_run *run,
                                                const kc_labels *labels, int64_t most,
                                                int64_t *first, int32_t *codes, int64_t *n_found,
                                                kc_error *err);

/* Weights of classes by which all weigh the same: out[c] = W / (n_classes W_c), W_c being the
 * number of samples of class c, or the sum of their `weights` (n entries >= 0; NULL: all 1), and W
 * that of all.  KC_ERR_CLASSES where a class has no sample. */
KC_API KC_MUST_CHECK kc_status kc_balanced_weights(kc_context *ctx, const kc_run *run,
                                                   const int32_t *classes, int64_t n,
                                                   int32_t n_classes, const double *weights,
                                                   double *out, kc_error *err);

/* ---- Settings ------------------------------------------------------------------------------ */

/* A number that a caller may set: of a machine (kc_setting_at) or of a kernel (kc_leaf_at). */
typedef struct kc_setting {
    const char *name;
    const char *type; /* "int" or "real", or the name of an enum */
    double default_value;
    double min, max;
    int32_t is_above_min; /* min itself is not allowed */
    const char *help;
} kc_setting;

#ifdef __cplusplus
}
#endif

#endif
