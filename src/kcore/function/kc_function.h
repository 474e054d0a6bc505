/* A function: an expansion, and what its outputs mean (kcore/functions.h).
 *
 * Immutable once made; holds no pointer into what it was made of. */
#ifndef KC_FUNCTION_H
#define KC_FUNCTION_H

#include "function/kc_decode.h"
#include "function/kc_expansion.h"

struct kc_function {
    kc_expansion f;
    kc_decoding decoding;
    size_t label_bytes; /* of one of n_classes labels; 0: there are none */
    void *labels;       /* one after the other */
};

/* Whether labels can be those of n_classes classes; NULL is none. */
kc_status kc_function_check_labels(const kc_labels *labels, int32_t n_classes, kc_error *err);

/* A function in place, of an expansion whose arrays and kernel are borrowed and whose points are
 * moved (kc_expansion_create).  labels, checked, may be NULL.  Empty on failure. */
kc_status kc_function_fill(kc_call *call, kc_expansion *from, const kc_decoding *how,
                           const kc_labels *labels, kc_function *out);
void kc_function_clear(kc_context *ctx, kc_function *f);

/* The same on the heap, for a caller. */
kc_status kc_function_make(kc_call *call, kc_expansion *from, const kc_decoding *how,
                           const kc_labels *labels, kc_function **out);

/* Coefficients in their plain form, n_outputs x n: those of points that do not belong to an output
 * are 0. */
void kc_function_plain_coef(const kc_function *f, double *out);

/* Whether a caller's view is n_points points of n_cols columns that the kernel takes; of none, only
 * what they are like is looked at.  x may then be NULL: they are numbers. */
kc_status kc_function_check_points(const kc_kernel *kernel, const kc_points *x, int64_t n_points,
                                   int64_t n_cols, kc_error *err);

/* Points for a function of its own: n of a checked view, all or none, which packed points may
 * borrow from, or of packed ones that go on to change.  Empty on failure. */
kc_status kc_function_pack(kc_call *call, const kc_kernel *kernel, const kc_points *x, size_t n,
                           kc_dtype dtype, kc_packed *out);
kc_status kc_function_copy_points(kc_call *call, const kc_packed *from, kc_packed *out);

#endif
