/* Joining steps, and what becomes of columns on the way. */
#include "data/kc_reading.h"

#include <string.h>

bool kc_step_bytes(kc_step_kind kind, size_t count, size_t *out)
{
    const size_t size = kind == KC_STEP_SELECT ? sizeof(int32_t) : sizeof(double);

    if (!kc_mul_size(count, size, out) || *out > SIZE_MAX / 2)
        return false;
    *out = kc_round_up(*out, sizeof(double)) + sizeof(kc_step);
    return true;
}

/* ---- Joining -------------------------------------------------------------------------------- */

static size_t rows_bytes(kc_step_kind kind, size_t count)
{
    size_t bytes = 0;
    const bool is_known = kc_step_bytes(kind, count, &bytes);

    assert(is_known); /* no more than those of a step that there is */
    (void)is_known;
    return bytes;
}

/* A step of that kind at `out`, its numbers still to be filled in. */
static kc_step *put_step(void *out, kc_step_kind kind, size_t n_in, size_t n_out, size_t count)
{
    kc_step *step = out;

    *step =
        (kc_step){.kind = kind, .n_in = n_in, .n_out = n_out, .n_bytes = rows_bytes(kind, count)};
    return step;
}

/* Some of the columns that a selection gives: a selection. */
static kc_step *select_selected(const kc_step *first, const kc_step *columns, void *out)
{
    kc_step *made = put_step(out, KC_STEP_SELECT, 0, columns->n_out, columns->n_out);
    int32_t *list = (int32_t *)(void *)(made + 1);

    for (size_t c = 0; c < columns->n_out; c++)
        list[c] = kc_step_columns(first)[kc_step_columns(columns)[c]];
    return made;
}

/* ... of those that factors were applied to: the selection goes first. */
static kc_step *select_scaled(const kc_step *first, const kc_step *columns, void *out)
{
    kc_step *made;
    double *factors;

    memcpy(out, columns, columns->n_bytes);
    made = put_step((char *)out + columns->n_bytes, KC_STEP_SCALE, columns->n_out, columns->n_out,
                    columns->n_out);
    factors = (double *)(void *)(made + 1);
    for (size_t c = 0; c < columns->n_out; c++)
        factors[c] = kc_step_numbers(first)[kc_step_columns(columns)[c]];
    return made;
}

/* ... of those that a map gives: some rows of its matrix. */
static kc_step *select_mapped(const kc_step *first, const kc_step *columns, void *out)
{
    kc_step *made =
        put_step(out, KC_STEP_MAP, first->n_in, columns->n_out, columns->n_out * first->n_in);
    double *rows = (double *)(void *)(made + 1);

    for (size_t c = 0; c < columns->n_out; c++)
        memcpy(rows + c * first->n_in,
               kc_step_numbers(first) + (size_t)kc_step_columns(columns)[c] * first->n_in,
               first->n_in * sizeof *rows);
    return made;
}

static kc_status check_join(const kc_step *first, const kc_step *next, kc_error *err)
{
    const size_t n = first->n_out;

    for (size_t c = 0; n > 0 && next->kind == KC_STEP_SELECT && c < next->n_out; c++)
        if ((size_t)kc_step_columns(next)[c] >= n)
            return kc_fail(err, KC_ERR_ARG, "the kernel reads column %d of %zu columns",
                           (int)kc_step_columns(next)[c], n);
    if (n > 0 && next->n_in > 0 && n != next->n_in)
        return kc_fail(err, KC_ERR_ARG, "the kernel takes %zu columns, %zu are given to it",
                       next->n_in, n);
    return KC_OK;
}

kc_status kc_reading_join(const kc_step *first, const kc_step_list *then, void *out,
                          size_t *n_bytes, kc_error *err)
{
    kc_step_list rest = *then;
    kc_step *last;

    if (then->n_bytes > 0)
        KC_TRY(check_join(first, then->steps, err));
    if (then->n_bytes > 0 && then->steps->kind == KC_STEP_SELECT && first->kind != KC_STEP_PERIOD) {
        last = first->kind == KC_STEP_SELECT  ? select_selected(first, then->steps, out)
               : first->kind == KC_STEP_SCALE ? select_scaled(first, then->steps, out)
                                              : select_mapped(first, then->steps, out);
        rest = kc_reading_rest(then);
    } else {
        memcpy(out, first, first->n_bytes);
        last = out;
    }
    if (rest.n_bytes > 0)
        memcpy((char *)last + last->n_bytes, rest.steps, rest.n_bytes);
    *n_bytes = (size_t)((char *)last - (char *)out) + last->n_bytes + rest.n_bytes;
    return KC_OK;
}

/* ---- Of a view ------------------------------------------------------------------------------ */

bool kc_reading_selects(const kc_step_list *reading, kc_column_list *out)
{
    if (reading->n_bytes == 0 || reading->steps->kind != KC_STEP_SELECT)
        return false;
    *out = (kc_column_list){kc_step_columns(reading->steps), reading->steps->n_out};
    return true;
}

kc_step_list kc_reading_rest(const kc_step_list *reading)
{
    kc_column_list columns;
    size_t used;

    if (!kc_reading_selects(reading, &columns))
        return *reading;
    used = reading->steps->n_bytes;
    return used == reading->n_bytes
               ? (kc_step_list){NULL, 0}
               : (kc_step_list){kc_step_next(reading->steps), reading->n_bytes - used};
}

static const char *const takers[] = {
    [KC_STEP_SCALE] = "factors for", [KC_STEP_MAP] = "a map of", [KC_STEP_PERIOD] = "periods for"};

kc_status kc_reading_check(const kc_step_list *reading, const kc_points *points,
                           kc_storage *storage, size_t *n_cols, kc_error *err)
{
    const kc_step_list rest = kc_reading_rest(reading);
    const char *name = kc_points_name(points);
    kc_column_list columns;
    size_t n;

    if (kc_reading_selects(reading, &columns)) {
        KC_TRY(kc_points_check_columns(points, &columns, storage, err));
        n = columns.n;
    } else {
        if (points->next != NULL)
            return kc_fail(err, KC_ERR_TYPE,
                           "the kernel reads all columns of %s, which has several parts of numbers "
                           "or strings: say on which columns it is",
                           name);
        *storage = points->storage;
        n = kc_part_columns(points);
    }
    KC_EACH_STEP(step, &rest)
    {
        if (*storage == KC_STRINGS)
            return kc_fail(err, KC_ERR_TYPE,
                           "the kernel has %s columns of numbers, %s holds "
                           "strings",
                           takers[step->kind], name);
        if (step->kind != KC_STEP_SELECT && step->n_in > 0 && step->n_in != n)
            return kc_fail(err, KC_ERR_SHAPE, "the kernel has %s %zu columns, it reads %zu of %s",
                           takers[step->kind], step->n_in, n, name);
        for (size_t c = 0; step->kind == KC_STEP_SELECT && c < step->n_out; c++)
            if ((size_t)kc_step_columns(step)[c] >= n)
                return kc_fail(err, KC_ERR_SHAPE,
                               "the kernel reads column %d of %zu that are made "
                               "of %s",
                               (int)kc_step_columns(step)[c], n, name);
        if (step->kind == KC_STEP_MAP || step->kind == KC_STEP_PERIOD)
            *storage = KC_DENSE;
        n = kc_step_width(step, n);
    }
    *n_cols = n;
    return KC_OK;
}

size_t kc_reading_part(const kc_step_list *reading, const kc_points *points)
{
    kc_column_list columns;

    return kc_reading_selects(reading, &columns) ? kc_points_whole_part(points, &columns) : 0;
}
