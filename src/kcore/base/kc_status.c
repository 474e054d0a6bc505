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
