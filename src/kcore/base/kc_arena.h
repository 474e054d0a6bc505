/* Memory of one call: taken piece by piece, given back all at once.
 *
 * The context keeps the arena of the last call, so that a call much like the one before it
 * allocates nothing.  Pieces are aligned to KC_ALIGN and not initialised.  Only the thread that
 * runs the call takes pieces; workers get theirs before they start. */
#ifndef KC_ARENA_H
#define KC_ARENA_H

#include "base/kc_base.h"

typedef struct kc_arena kc_arena;

/* count * size bytes that live until the call ends; NULL where there is no memory. */
void *kc_arena_take(kc_arena *arena, size_t count, size_t size);

/* Everything taken after kc_arena_mark is given back by kc_arena_release: for work in rounds. */
typedef struct kc_arena_point {
    void *block;
    size_t used;
} kc_arena_point;
kc_arena_point kc_arena_mark(const kc_arena *arena);
void kc_arena_release(kc_arena *arena, kc_arena_point point);

/* Used by base/kc_call.c only. */
kc_arena *kc_arena_create(kc_context *ctx);
void kc_arena_free(kc_context *ctx, kc_arena *arena);

/* Bytes that it holds while nothing is taken, and the most that was in use at once since then. */
size_t kc_arena_kept(const kc_arena *arena);
size_t kc_arena_max(const kc_arena *arena);

/* Gives back every piece; keeps one block, large enough for what was taken, if it is modest. */
void kc_arena_reset(kc_arena *arena);

#endif
