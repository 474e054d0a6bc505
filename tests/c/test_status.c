/* base/kc_status.h: statuses that never change, texts that never overrun. */
#include "base/kc_status.h"

#include <string.h>

#include "kc_test.h"

static void the_values_of_statuses_are_pinned(void)
{
    CHECK(KC_OK == 0 && KC_ERR_NOMEM == 1 && KC_ERR_CANCELLED == 2 && KC_ERR_TIME == 3);
    CHECK(KC_ERR_ARG == 10 && KC_ERR_SHAPE == 11 && KC_ERR_TYPE == 12);
    CHECK(KC_ERR_NONFINITE == 13 && KC_ERR_RANGE == 14 && KC_ERR_INDEX == 15);
}

static void a_failure_fills_status_and_text(void)
{
    kc_error err = {.status = KC_OK};

    CHECK(kc_fail(&err, KC_ERR_SHAPE, "X has %zu columns, Z has %d", (size_t)3, 4) == KC_ERR_SHAPE);
    CHECK(err.status == KC_ERR_SHAPE);
    CHECK(strcmp(err.text, "X has 3 columns, Z has 4") == 0);
    CHECK(kc_fail_nomem(&err) == KC_ERR_NOMEM);
    CHECK(err.status == KC_ERR_NOMEM && strstr(err.text, "memory") != NULL);
}

static void nobody_needs_to_listen(void)
{
    CHECK(kc_fail(NULL, KC_ERR_ARG, "gamma is %g", -1.0) == KC_ERR_ARG);
    CHECK(kc_fail_nomem(NULL) == KC_ERR_NOMEM);
}

static void a_long_text_is_cut_and_ended(void)
{
    struct {
        kc_error err;
        char guard[64];
    } room;
    char name[1000];

    memset(&room, 0x5a, sizeof room);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int width = 295; width <= 305; width++) {
        CHECK(kc_fail(&room.err, KC_ERR_ARG, "%.*s", width, name) == KC_ERR_ARG);
        CHECK(strlen(room.err.text) == kc_min((size_t)width, sizeof room.err.text - 1));
        for (size_t i = 0; i < sizeof room.guard; i++)
            CHECK(room.guard[i] == 0x5a);
    }
}

static kc_status pass_on(kc_status status, int *n_reached)
{
    KC_TRY(status);
    ++*n_reached;
    return KC_OK;
}

static void try_passes_failures_on_and_goes_on_after_success(void)
{
    int n_reached = 0;

    CHECK(pass_on(KC_ERR_INDEX, &n_reached) == KC_ERR_INDEX);
    CHECK(n_reached == 0);
    CHECK(pass_on(KC_OK, &n_reached) == KC_OK);
    CHECK(n_reached == 1);
}

int main(void)
{
    RUN(the_values_of_statuses_are_pinned);
    RUN(a_failure_fills_status_and_text);
    RUN(nobody_needs_to_listen);
    RUN(a_long_text_is_cut_and_ended);
    RUN(try_passes_failures_on_and_goes_on_after_success);
    return kc_test_end();
}
