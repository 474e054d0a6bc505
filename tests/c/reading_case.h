/* Lists of readings, as a kernel has them.
 *
 *   readings r = {0};
 *   readings_add(&r, KC_STEP_SELECT, 0, 2, columns);   a reading of one step
 *   readings_more(&r, KC_STEP_SCALE, 2, 2, factors);   a step more of the last one
 *   ... r.list ...                                     after readings_list(&r) */
#ifndef READING_CASE_H
#define READING_CASE_H

#include <stdlib.h>
#include <string.h>

#include "data/kc_reading.h"

typedef struct readings {
    uint64_t bytes[1024];
    kc_reading_span spans[16];
    size_t n, n_bytes;
} readings;

static inline void readings_more(readings *r, kc_step_kind kind, size_t n_in, size_t n_out,
                                 const void *values)
{
    const size_t count = kind == KC_STEP_MAP      ? n_in * n_out
                         : kind == KC_STEP_PERIOD ? kc_max(1, n_in)
                                                  : n_out;
    kc_step step = {.kind = kind, .n_in = n_in, .n_out = n_out};

    if (!kc_step_bytes(kind, count, &step.n_bytes) || r->n == 0 ||
        r->n_bytes + step.n_bytes > sizeof r->bytes)
        abort();
    char *to = (char *)r->bytes + r->n_bytes;
    memcpy(to, &step, sizeof step);
    memcpy(to + sizeof step, values,
           count * (kind == KC_STEP_SELECT ? sizeof(int32_t) : sizeof(double)));
    r->n_bytes += step.n_bytes;
    r->spans[r->n - 1].n_bytes += step.n_bytes;
}

static inline void readings_add(readings *r, kc_step_kind kind, size_t n_in, size_t n_out,
                                const void *values)
{
    if (r->n == sizeof r->spans / sizeof *r->spans)
        abort();
    r->spans[r->n++] = (kc_reading_span){r->n_bytes, 0};
    readings_more(r, kind, n_in, n_out, values);
}

static inline kc_readings readings_list(const readings *r)
{
    return (kc_readings){(const char *)r->bytes, r->spans, r->n};
}

#endif
