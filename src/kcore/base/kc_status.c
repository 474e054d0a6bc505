/* Error texts.  One place formats them, so that none can overrun its buffer. */
#include "base/kc_status.h"

#include <stdarg.h>
#include <stdio.h>

kc_status kc_fail(kc_error *err, kc_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;

        va_start(args, format);
        err->status = status;
        if (vsnprintf(err->text, sizeof err->text, format, args) < 0)
            err->text[0] = '\0'; /* what was written before an encoding error is not specified */
        va_end(args);
    }
    return status;
}

kc_status kc_fail_nomem(kc_error *err)
{
    return kc_fail(err, KC_ERR_NOMEM, "out of memory, or the memory_limit of the context reached");
}

kc_status kc_check_length(const void *out, int64_t n, size_t wanted, const char *name,
                          kc_error *err)
{
    if (n < 0 || (uint64_t)n != wanted)
        return kc_fail(err, KC_ERR_SHAPE, "the array for %s has room for %lld, must have %zu", name,
                       (long long)n, wanted);
    if (out == NULL && wanted > 0)
        return kc_fail(err, KC_ERR_ARG, "the array for %s is NULL", name);
    return KC_OK;
}
