/* The only door to the heap.
 *
 * Objects that outlive a call (kernels, models, stores) use kc_alloc and kc_free.  Memory of one
 * call comes from the call's arena (base/kc_arena.h), which stands on this file too.  Blocks are
 * aligned to KC_ALIGN, counted, and refused beyond the context's memory_limit. */
#ifndef KC_ALLOC_H
#define KC_ALLOC_H

#include "base/kc_base.h"

/* count * size bytes, not initialised; NULL where memory, the limit or the product says no. */
void *kc_alloc(kc_context *ctx, size_t count, size_t size);

/* The same, all bytes zero. */
void *kc_calloc(kc_context *ctx, size_t count, size_t size);

/* The C library's memory; large blocks ask for huge pages. */
extern const kc_allocator kc_system_allocator;

/* Gives back large blocks that are kept for the next need.  False where there are none. */
bool kc_alloc_trim(kc_context *ctx);

/* Accepts NULL. */
void kc_free(kc_context *ctx, void *ptr);

#endif
