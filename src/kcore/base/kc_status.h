/* How a function says that it failed: a status for the program, a sentence for the person.
 *
 *   return kc_fail(err, KC_ERR_SHAPE, "X has %zu columns, Z has %zu", a, b);
 *
 * The text is cut at its end where it is too long, never overrun. */
#ifndef KC_STATUS_H
#define KC_STATUS_H

#include "base/kc_base.h"

/* Fills *err (which may be NULL) and returns `status`. */
kc_status kc_fail(kc_error *err, kc_status status, const char *format, ...) KC_PRINTF(3, 4);

/* "could not allocate N bytes" is the only thing to say of it. */
kc_status kc_fail_nomem(kc_error *err);

/* Whether a caller's array is as long as what will be copied into it: `name` has `wanted` entries.
 */
kc_status kc_check_length(const void *out, int64_t n, size_t wanted, const char *name,
                          kc_error *err);

/* Passes a failure on, where nothing is held that must be released. */
#define KC_TRY(call)                                                                               \
    do {                                                                                           \
        kc_status status_ = (call);                                                                \
        if (status_ != KC_OK)                                                                      \
            return status_;                                                                        \
    } while (0)

#endif
