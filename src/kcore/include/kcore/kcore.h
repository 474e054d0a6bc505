/* kcore: kernel machines in C.
 *
 * The whole public interface.  In reading order: status and errors, the context that owns
 * memory and threads, how one call runs and is stopped, views of samples, kernels, Gram matrices.
 *
 * Rules that hold everywhere:
 *   - Functions that can fail return kc_status; results come through pointers, and only on success.
 *   - Inputs are borrowed for the duration of the call and never kept.
 *   - Whoever creates an object frees it; freeing NULL is legal.
 *   - Nothing is printed, nothing exits, no signal handler is installed.
 *   - A const object may be used by any number of threads at once. */
#ifndef KCORE_KCORE_H
#define KCORE_KCORE_H

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

/* The instruction set in use: "generic" or "avx2".  Chosen once, at the first use; the environment
 * variable KCORE_ISA forces one. */
KC_API const char *kc_isa_name(void);

/* ---- Status and errors -------------------------------------------------------------------- */

/* Values are pinned: they never change meaning. */
typedef enum kc_status {
    KC_OK = 0,
    KC_ERR_NOMEM = 1,      /* the allocator returned NULL, or memory_limit was reached */
    KC_ERR_CANCELLED = 2,  /* stopped by the cancel token or by the progress callback */
    KC_ERR_TIME = 3,       /* time_limit passed in a call that has no partial result */
    KC_ERR_ARG = 10,       /* an argument outside its range */
    KC_ERR_SHAPE = 11,     /* sizes that do not fit together */
    KC_ERR_TYPE = 12,      /* a dtype or storage that is not taken here */
    KC_ERR_NONFINITE = 13, /* NaN or infinity in the input */
    KC_ERR_RANGE = 14,     /* finite input whose kernel values overflow */
    KC_ERR_INDEX = 15      /* CSR structure or string offsets out of order */
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

/* Asked on the caller's thread at least every 50 ms of work; non-zero: stop. */
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
 * KC_DENSE:   values points at element (0, 0); strides in bytes, of any sign (or zero).
 * KC_CSR:     row i has values[indptr[i] .. indptr[i+1]) at columns indices[...]; columns may be
 *             unsorted, and repeated columns are summed.
 * KC_STRINGS: sample i is the bytes values[indptr[i] .. indptr[i+1]); index_bytes is 8. */
typedef struct kc_points {
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
} kc_points;

/* ---- Kernels ------------------------------------------------------------------------------ */

/* A kernel is an expression in postfix order: leaves push, combining nodes pop. */
typedef enum kc_kernel_op {
    /* Leaves. */
    KC_LINEAR = 1,     /* x.z                              */
    KC_RBF = 2,        /* exp(-gamma |x - z|^2)            */
    KC_POLYNOMIAL = 3, /* (gamma x.z + coef0)^degree       */
    KC_SIGMOID = 4,    /* tanh(gamma x.z + coef0)          */
    KC_LAPLACIAN = 5,  /* exp(-gamma |x - z|_1)            */
    /* Combinations. */
    KC_ADD = 64,   /* K1 + K2    pops two                 */
    KC_MUL = 65,   /* K1 * K2    pops two                 */
    KC_SCALE = 66, /* gamma * K  pops one                 */
    KC_POW = 67,   /* K^degree   pops one                 */
    KC_EXP = 68    /* exp(K)     pops one                 */
} kc_kernel_op;

typedef struct kc_kernel_node {
    int32_t op;     /* kc_kernel_op */
    int32_t degree; /* polynomial, pow: 0 .. 1000 */
    double gamma;   /* leaves: >= 0; scale: >= 0 */
    double coef0;
} kc_kernel_node;

/* What is known of every Gram matrix of the kernel. */
typedef enum kc_definiteness {
    KC_INDEFINITE = 0, /* may have negative eigenvalues */
    KC_POSITIVE = 2    /* positive semi-definite for every set of points */
} kc_definiteness;

/* Immutable once made. */
typedef struct kc_kernel kc_kernel;
KC_API KC_MUST_CHECK kc_status kc_kernel_create(kc_context *ctx, const kc_kernel_node *nodes,
                                                size_t n_nodes, kc_kernel **out, kc_error *err);
KC_API void kc_kernel_free(kc_context *ctx, kc_kernel *kernel);
KC_API kc_definiteness kc_kernel_definiteness(const kc_kernel *kernel);

/* out[i * out_ld + j] = K(x_i, z_j), of type out_dtype; out_ld counts elements.  z NULL:
 * K(x_i, x_j), at half the work.  Computed in out_dtype throughout.  On failure, out holds no
 * meaning. */
KC_API KC_MUST_CHECK kc_status kc_gram(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                                       const kc_points *x, const kc_points *z, kc_dtype out_dtype,
                                       void *out, int64_t out_ld, kc_error *err);

/* out[i] = K(x_i, x_i), the same bits as the diagonal of kc_gram. */
KC_API KC_MUST_CHECK kc_status kc_diag(kc_context *ctx, const kc_run *run, const kc_kernel *kernel,
                                       const kc_points *x, kc_dtype out_dtype, void *out,
                                       kc_error *err);

#ifdef __cplusplus
}
#endif
#endif
