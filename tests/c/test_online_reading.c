/* What an online learner gives away: its functions as one function, arrays, bytes. */
#include "online_case.h"

static kc_context *ctx;

/* Snapshots: what is learnt later does not reach them. */
static void a_learner_gives_its_functions_as_one(void)
{
    for (int32_t n_classes = 2; n_classes <= 3; n_classes++)
        for (int is_sparse = 0; is_sparse <= 1; is_sparse++) {
            const size_t d = is_sparse ? 200 : 4;
            online_case c = online_case_make(90, d, n_classes, KC_F64);
            const online_options options = {.is_averaged = 1, .is_sparse = is_sparse};
            kc_online *online = online_make(ctx, &c, &options);
            ref_view x = ref_view_make(&c.samples, REF_DENSE, KC_F64);
            const int64_t n_outputs = n_classes == 2 ? 1 : n_classes;
            const int64_t years[] = {1970, 1980, 1990};
            const kc_labels labels = {years, n_classes, sizeof *years, sizeof *years};
            double wanted[90 * 3], values[90 * 3];
            int32_t classes[90];
            int64_t kept[3];
            kc_function *f[2] = {NULL};
            kc_function_info info = {.struct_size = sizeof info};
            kc_part_info part = {.struct_size = sizeof part};

            for (int k = 0; k < 2; k++) { /* without a point, and with some */
                online_call call = {.end = 60, .first = -1};

                if (k == 1)
                    CHECK(online_run(ctx, online, &c, &call, false) == KC_OK);
                CHECK(kc_online_function(ctx, NULL, online,
                                         k == 0 ? KC_READING_LAST : KC_READING_MEAN, &labels, &f[k],
                                         NULL) == KC_OK);
                REQUIRE(f[k] != NULL);
            }
            CHECK(kc_online_decision(ctx, NULL, online, &x.points, KC_READING_MEAN, wanted, NULL) ==
                  KC_OK);
            online_call more = {.begin = 60, .end = 90, .first = -1};
            CHECK(online_run(ctx, online, &c, &more, false) == KC_OK);
            CHECK(kc_function_evaluate(ctx, NULL, f[1], &x.points, KC_PER_OUTPUT, values, n_outputs,
                                       NULL) == KC_OK);
            CHECK(memcmp(values, wanted, 90 * (size_t)n_outputs * sizeof *values) == 0);
            CHECK(kc_function_describe(f[1], &info, NULL) == KC_OK);
            CHECK(info.n_points > 0 && info.n_outputs == n_outputs && info.n_classes == n_classes);
            CHECK(kc_function_part(f[1], 0, &part, NULL) == KC_OK);
            CHECK(part.storage == (is_sparse ? KC_CSR : KC_DENSE));
            CHECK(kc_function_labels(f[1], kept, 8 * n_classes, NULL) == KC_OK);
            CHECK(memcmp(kept, years, 8 * (size_t)n_classes) == 0);
            CHECK(kc_function_evaluate(ctx, NULL, f[0], &x.points, KC_PER_OUTPUT, values, n_outputs,
                                       NULL) == KC_OK);
            CHECK(kc_function_predict(ctx, NULL, f[0], &x.points, 0, classes, NULL) == KC_OK);
            CHECK(values[0] == 0 && classes[0] == 0);
            CHECK(kc_online_function(ctx, NULL, online, KC_READING_VOTES, NULL, &f[0], NULL) ==
                  KC_ERR_ARG);
            kc_function_free(ctx, f[0]);
            kc_function_free(ctx, f[1]);
            ref_view_free(&x);
            kc_online_free(ctx, online);
            online_case_free(&c);
        }
}

static void arrays_of_another_length_are_refused(void)
{
    online_case c = online_case_make(40, 3, 3, KC_F64);
    kc_online *online = online_make(ctx, &c, &(online_options){0});
    online_call call = {.first = -1};
    double coef[3 * 41], intercepts[3];
    int64_t ids[41];
    kc_error err;

    CHECK(online_run(ctx, online, &c, &call, false) == KC_OK);
    const int64_t n = online_info(online).n_points, n_bytes = online_info(online).n_bytes;
    char *bytes = malloc((size_t)n_bytes);
    CHECK(n > 0 && kc_online_ids(online, ids, n + 1, &err) == KC_ERR_SHAPE);
    CHECK(kc_online_coef(online, KC_READING_LAST, coef, n, intercepts, 3, &err) == KC_ERR_SHAPE);
    CHECK(kc_online_coef(online, KC_READING_LAST, coef, 3 * n, intercepts, 1, &err) ==
          KC_ERR_SHAPE);
    CHECK(kc_online_coef(online, KC_READING_MEAN, coef, 3 * n, intercepts, 3, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "the learner keeps no mean: make it with config.is_averaged") != NULL);
    CHECK(kc_online_coef(online, KC_READING_VOTES, coef, 3 * n, intercepts, 3, &err) == KC_ERR_ARG);
    CHECK(kc_online_save(online, bytes, n_bytes - 1, &err) == KC_ERR_SHAPE);
    CHECK(kc_online_save(online, bytes, n_bytes, &err) == KC_OK);
    free(bytes);
    kc_online_free(ctx, online);
    online_case_free(&c);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_learner_gives_its_functions_as_one);
    RUN(arrays_of_another_length_are_refused);
    kc_context_free(ctx);
    return kc_test_end();
}
