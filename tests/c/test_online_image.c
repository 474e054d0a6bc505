/* A learner that was saved goes on to the bit; bytes that no learner wrote do no harm. */
#include "online_case.h"
#include "ref_expr.h"
#include "table_case.h"

static kc_context *ctx;

static const online_options all[] = {
    {.is_averaged = 1},
    {.is_voted = 1, .is_direct = 1},
    {.is_voted = 1, .is_sparse = 1},
    {.budget = 12, .strategy = KC_STRATEGY_OLDEST, .is_sparse = 1},
    {.budget = 12, .strategy = KC_STRATEGY_PROJECTION, .no_intercept = 1},
    {.budget = 12, .strategy = KC_STRATEGY_MERGE, .is_sparse = 1},
};
#define N_ALL (sizeof all / sizeof *all)

static kc_kernel *make_kernel(void)
{
    const ref_node rbf = {.op = OP_RBF, .gamma = 1.0 / 16};
    kc_kernel *kernel = NULL;

    CHECK(ref_kernel_make(ctx, &rbf, 1, &kernel, NULL) == KC_OK);
    return kernel;
}

static kc_online *learn_half(const online_case *c, const online_options *options)
{
    kc_online *online = online_make(ctx, c, options);
    online_call call = {.end = c->n / 2, .first = -1, .form = REF_CSR};

    CHECK(online_run(ctx, online, c, &call, false) == KC_OK);
    return online;
}

static kc_status use(kc_online *online, const online_case *c)
{
    online_call call = {.begin = c->n / 2, .first = -1, .form = REF_CSR};

    return online_run(ctx, online, c, &call, false);
}

static void a_learner_made_from_bytes_goes_on_to_the_bit(void)
{
    kc_kernel *kernel = make_kernel();

    for (size_t k = 0; k < N_ALL; k++)
        for (int dtype = KC_F32; dtype <= KC_F64; dtype++) {
            online_case c = online_case_make(120, 140, 3, (kc_dtype)dtype);
            kc_online *online = learn_half(&c, &all[k]), *twin = NULL;
            const size_t n_bytes = (size_t)online_info(online).n_bytes;
            char *bytes = malloc(n_bytes);

            CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
            CHECK(kc_online_load(ctx, kernel, bytes, (int64_t)n_bytes, &twin, NULL) == KC_OK);
            CHECK(online_equal(online, twin));
            CHECK(use(online, &c) == KC_OK && use(twin, &c) == KC_OK);
            CHECK(online_equal(online, twin));
            CHECK(online_info(online).n_seen == (int64_t)c.n);
            free(bytes);
            kc_online_free(ctx, online);
            kc_online_free(ctx, twin);
            online_case_free(&c);
        }
    kc_kernel_free(ctx, kernel);
}

static void an_empty_learner_can_be_saved(void)
{
    kc_kernel *kernel = make_kernel();
    online_case c = online_case_make(20, 140, 2, KC_F64);

    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        const online_options options = {.is_sparse = is_sparse};
        kc_online *online = online_make(ctx, &c, &options), *twin = NULL;
        char bytes[1000];

        CHECK(online_info(online).n_bytes <= (int64_t)sizeof bytes);
        CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
        CHECK(kc_online_load(ctx, kernel, bytes, online_info(online).n_bytes, &twin, NULL) ==
              KC_OK);
        CHECK(use(twin, &c) == KC_OK);
        kc_online_free(ctx, online);
        kc_online_free(ctx, twin);
    }
    online_case_free(&c);
    kc_kernel_free(ctx, kernel);
}

static void bytes_cut_short_or_too_long_are_refused(void)
{
    kc_kernel *kernel = make_kernel();
    online_case c = online_case_make(40, 6, 2, KC_F64);
    kc_online *online = learn_half(&c, &all[1]), *twin = NULL;
    const int64_t n_bytes = online_info(online).n_bytes;
    char *bytes = calloc((size_t)n_bytes + 8, 1);
    kc_error err = {0};

    CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
    for (int64_t n = 0; n <= n_bytes + 8; n++)
        if (n != n_bytes)
            CHECK(kc_online_load(ctx, kernel, bytes, n, &twin, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "not those of a learner") != NULL);
    CHECK(kc_online_load(ctx, NULL, bytes, n_bytes, &twin, &err) == KC_ERR_ARG);
    CHECK(strstr(err.text, "kernel is missing") != NULL);
    CHECK(twin == NULL);
    free(bytes);
    kc_online_free(ctx, online);
    online_case_free(&c);
    kc_kernel_free(ctx, kernel);
}

/* Under the address sanitizer, what is accepted must be safe to use. */
static void bytes_with_errors_are_refused_or_harmless(void)
{
    kc_kernel *kernel = make_kernel();
    kc_rng rng = kc_rng_seed(5);

    for (size_t k = 0; k < N_ALL; k++) {
        online_case c = online_case_make(30, 140, 3, KC_F32);
        kc_online *online = learn_half(&c, &all[k]);
        const size_t n_bytes = (size_t)online_info(online).n_bytes;
        char *bytes = malloc(n_bytes), *bad = malloc(n_bytes);

        CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
        for (int trial = 0; trial < 600; trial++) {
            kc_online *twin = NULL;
            /* The header has most of what can go wrong. */
            const size_t end = trial % 2 ? n_bytes : 160;
            double *out = malloc(c.n * 3 * sizeof *out);

            memcpy(bad, bytes, n_bytes);
            for (uint64_t flips = kc_rng_below(&rng, 3) + 1; flips > 0; flips--)
                bad[kc_rng_below(&rng, end)] ^= (char)(1 << kc_rng_below(&rng, 8));
            if (kc_online_load(ctx, kernel, bad, (int64_t)n_bytes, &twin, NULL) == KC_OK &&
                online_info(twin).n_outputs == 3 && online_info(twin).n_cols == 140) {
                ref_view view = ref_view_make(&c.samples, REF_DENSE, c.dtype);
                const kc_status status = kc_online_decision(
                    ctx, NULL, twin, &view.points,
                    all[k].is_voted ? KC_READING_VOTES : KC_READING_LAST, out, NULL);

                CHECK(status == KC_OK || status == KC_ERR_RANGE || status == KC_ERR_ARG);
                (void)!use(twin, &c);
                ref_view_free(&view);
            }
            kc_online_free(ctx, twin);
            free(out);
        }
        free(bytes);
        free(bad);
        kc_online_free(ctx, online);
        online_case_free(&c);
    }
    kc_kernel_free(ctx, kernel);
}

/* ---- Every bit, every number ---------------------------------------------------------------- */

/* Where the header says how long the image is, and where counts and arrays begin. */
#define AT_LENGTH 8
#define AT_COUNTS 16
#define AT_ARRAYS 128

/* Few points, so that there are few bits. */
#define FEW ((size_t)8)

typedef struct trial {
    const kc_kernel *kernel;
    const online_case *c;
    ref_view view;
    size_t n_loaded;
} trial;

/* Bytes that were taken are a learner: it decides, learns one sample and many, and is saved again
 * as what can be loaded. */
static void use_in_every_way(trial *t, kc_online *online)
{
    const kc_reading readings[] = {KC_READING_LAST, KC_READING_MEAN, KC_READING_VOTES};
    const kc_online_info info = online_info(online);
    double *out = calloc(t->c->n * (size_t)info.n_outputs, sizeof *out);
    online_call one = {.begin = 5, .end = 6, .first = -1};
    online_call many = {.first = 2, .n_passes = 2, .is_shuffled = 1};
    kc_online *twin = NULL;
    char *bytes;

    for (size_t k = 0; k < 3; k++)
        (void)!kc_online_decision(ctx, NULL, online, &t->view.points, readings[k], out, NULL);
    for (int round = 0; round < 3; round++)
        (void)!online_run(ctx, online, t->c, &one, false);
    (void)!online_run(ctx, online, t->c, &many, false);
    (void)!online_run(ctx, online, t->c, &many, true);
    bytes = malloc((size_t)online_info(online).n_bytes);
    CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
    CHECK(kc_online_load(ctx, t->kernel, bytes, online_info(online).n_bytes, &twin, NULL) == KC_OK);
    kc_online_free(ctx, twin);
    free(bytes);
    free(out);
}

static bool try_bytes(trial *t, const char *bytes, size_t n_bytes)
{
    kc_online *online = NULL;

    if (kc_online_load(ctx, t->kernel, bytes, (int64_t)n_bytes, &online, NULL) != KC_OK)
        return false;
    t->n_loaded++;
    if (online_info(online).n_cols == (int64_t)t->c->d)
        use_in_every_way(t, online);
    kc_online_free(ctx, online);
    return true;
}

/* A count of the header changes how long an image must be: every length is tried, what is missing
 * being zero. */
static void try_lengths(trial *t, const char *bytes, size_t n_bytes)
{
    char *longer = calloc(2 * n_bytes, 1);

    memcpy(longer, bytes, n_bytes);
    for (size_t n = AT_ARRAYS; n <= 2 * n_bytes; n += 4) {
        const uint64_t length = n;

        memcpy(longer + AT_LENGTH, &length, sizeof length);
        if (try_bytes(t, longer, n))
            break;
    }
    free(longer);
}

static void try_bits_and_numbers(trial *t, const char *bytes, size_t n_bytes)
{
    static const int64_t numbers[] = {
        0, -1, 1, INT32_MAX, INT64_MAX, INT64_MIN, (int64_t)1 << 62, 0x7ff8000000000000};
    char *bad = malloc(n_bytes);

    for (size_t bit = 0; bit < 8 * n_bytes; bit++) {
        memcpy(bad, bytes, n_bytes);
        bad[bit / 8] ^= (char)(1 << bit % 8);
        if (bit / 8 >= AT_COUNTS && bit / 8 < AT_ARRAYS)
            try_lengths(t, bad, n_bytes);
        else
            try_bytes(t, bad, n_bytes);
    }
    for (size_t at = AT_COUNTS; at + 8 <= n_bytes; at += 4)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            memcpy(bad, bytes, n_bytes);
            memcpy(bad + at, &numbers[k], 8);
            try_bytes(t, bad, n_bytes);
        }
    free(bad);
}

/* Under the sanitizers: an image is refused, or makes a learner that is safe to use. */
static void every_bit_of_an_image_may_be_wrong(void)
{
    static const online_options few[] = {
        {.is_averaged = 1},
        {.is_voted = 1, .is_direct = 1},
        {.is_averaged = 1, .is_sparse = 1},
        {.budget = 3, .strategy = KC_STRATEGY_OLDEST},
        {.budget = 3, .strategy = KC_STRATEGY_SMALLEST, .is_sparse = 1},
        {.budget = 3, .strategy = KC_STRATEGY_PROJECTION, .is_sparse = 1, .no_intercept = 1},
        {.budget = 3, .strategy = KC_STRATEGY_MERGE, .is_sparse = 1},
    };
    kc_kernel *kernel = make_kernel();

    for (size_t k = 0; k < sizeof few / sizeof *few; k++) {
        const size_t d = few[k].is_sparse ? 130 : 2;
        online_case c = online_case_make(FEW, d, 3, KC_F64);
        trial t = {.kernel = kernel, .c = &c};
        kc_online *online;
        char *bytes;

        for (size_t i = 0; few[k].is_sparse && i < FEW * d; i++) /* a few nonzeros */
            c.samples.x[i] = i % d % 40 == i / d ? 1 + (double)(i % 3) : 0;
        t.view = ref_view_make(&c.samples, REF_DENSE, KC_F64);
        online = learn_half(&c, &few[k]);
        bytes = malloc((size_t)online_info(online).n_bytes);
        CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
        try_bits_and_numbers(&t, bytes, (size_t)online_info(online).n_bytes);
        CHECK(t.n_loaded > 100);
        free(bytes);
        kc_online_free(ctx, online);
        ref_view_free(&t.view);
        online_case_free(&c);
    }
    kc_kernel_free(ctx, kernel);
}

/* ---- Strings and tables --------------------------------------------------------------------- */

typedef struct table_trial {
    const kc_kernel *kernel;
    const table *t;
    const kc_points *x;
    size_t n_loaded;
} table_trial;

static kc_status learn_table(kc_online *online, const table *t, const kc_points *x, bool is_fit)
{
    static const double eta = 1;
    const kc_perceptron_settings settings = {
        .struct_size = sizeof settings, .rule = KC_RULE_SINGLE, .n_passes = 1, .eta = &eta};
    const kc_perceptron_data data = {
        .struct_size = sizeof data, .x = x, .classes = t->classes, .n_classes = 2};
    int64_t mistakes;
    double criterion;
    kc_online_report report = {
        .struct_size = sizeof report, .mistakes = &mistakes, .criterion = &criterion};

    return is_fit ? kc_online_fit(ctx, NULL, online, &settings, &data, -1, 0, &report, NULL)
                  : kc_online_learn(ctx, NULL, online, &settings, &data, -1, &report, NULL);
}

/* What was taken decides, learns, tells of its points and is saved. */
static bool try_table(table_trial *at_work, const char *bytes, size_t n_bytes)
{
    double *out;
    kc_function *f = NULL;
    kc_online *online = NULL, *twin = NULL;
    char *again;

    if (kc_online_load(ctx, at_work->kernel, bytes, (int64_t)n_bytes, &online, NULL) != KC_OK)
        return false;
    at_work->n_loaded++;
    out = calloc(at_work->t->n * (size_t)online_info(online).n_outputs, sizeof *out);
    (void)!kc_online_decision(ctx, NULL, online, at_work->x, KC_READING_LAST, out, NULL);
    if (kc_online_function(ctx, NULL, online, KC_READING_LAST, NULL, &f, NULL) == KC_OK)
        (void)!kc_function_evaluate(ctx, NULL, f, at_work->x, KC_PER_OUTPUT, out, 1, NULL);
    (void)!learn_table(online, at_work->t, at_work->x, false);
    (void)!learn_table(online, at_work->t, at_work->x, true);
    again = malloc((size_t)online_info(online).n_bytes);
    CHECK(kc_online_save(online, again, online_info(online).n_bytes, NULL) == KC_OK);
    CHECK(kc_online_load(ctx, at_work->kernel, again, online_info(online).n_bytes, &twin, NULL) ==
          KC_OK);
    kc_function_free(ctx, f);
    kc_online_free(ctx, online);
    kc_online_free(ctx, twin);
    free(again);
    free(out);
    return true;
}

/* The head says how long the rest is: with each of its bits, lengths around the one there was. */
static void try_bits_of_table(table_trial *at_work, const char *bytes, size_t n_bytes)
{
    static const int64_t numbers[] = {0, -1, 1, 3, INT32_MAX, INT64_MAX, INT64_MIN};
    const size_t head = AT_ARRAYS + 3 * 24;
    char *bad = calloc(2 * n_bytes, 1);

    for (size_t bit = 0; bit < 8 * n_bytes; bit++) {
        memcpy(bad, bytes, n_bytes);
        bad[bit / 8] ^= (char)(1 << bit % 8);
        try_table(at_work, bad, n_bytes);
        if (bit / 8 < AT_COUNTS || bit / 8 >= head)
            continue;
        for (uint64_t n = n_bytes - kc_min(n_bytes, 64); n <= n_bytes + 64; n += 4) {
            memcpy(bad + AT_LENGTH, &n, sizeof n);
            try_table(at_work, bad, n);
        }
    }
    for (size_t at = AT_COUNTS; at + 8 <= n_bytes; at += 4)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            memcpy(bad, bytes, n_bytes);
            memcpy(bad + at, &numbers[k], 8);
            try_table(at_work, bad, n_bytes);
        }
    free(bad);
}

static void every_bit_of_an_image_of_strings_and_tables_may_be_wrong(void)
{
    static const uint64_t random[4] = {1, 2, 3, 4};
    kc_kernel *kernels[] = {delta_kernel(ctx), table_kernel(ctx)};
    table t;

    table_make(&t, 3, FEW + 4, KC_F64, KC_F64);
    for (int k = 0; k < 4; k++) {
        const bool is_table = k % 2 == 1;
        const kc_points *x = is_table ? t.parts : &t.strings.points;
        const kc_online_config config = {
            .struct_size = sizeof config,
            .kernel = kernels[k % 2],
            .dtype = KC_F64,
            .n_cols = is_table ? TABLE_COLS : 1,
            .n_classes = 2,
            .budget = k < 2 ? 0 : 3,
            .strategy = KC_STRATEGY_PROJECTION,
            .random = random,
            .like = x,
        };
        table_trial at_work = {.kernel = kernels[k % 2], .t = &t, .x = x};
        kc_online *online = NULL;
        char *bytes;

        REQUIRE(kc_online_create(ctx, &config, &online, NULL) == KC_OK);
        CHECK(learn_table(online, &t, x, false) == KC_OK && online_info(online).n_points > 1);
        bytes = malloc((size_t)online_info(online).n_bytes);
        CHECK(kc_online_save(online, bytes, online_info(online).n_bytes, NULL) == KC_OK);
        CHECK(try_table(&at_work, bytes, (size_t)online_info(online).n_bytes));
        try_bits_of_table(&at_work, bytes, (size_t)online_info(online).n_bytes);
        CHECK(at_work.n_loaded > 100);
        free(bytes);
        kc_online_free(ctx, online);
    }
    table_free(&t);
    for (int k = 0; k < 2; k++)
        kc_kernel_free(ctx, kernels[k]);
}

int main(void)
{
    if (kc_context_create(NULL, &ctx, NULL) != KC_OK)
        return 1;
    RUN(a_learner_made_from_bytes_goes_on_to_the_bit);
    RUN(an_empty_learner_can_be_saved);
    RUN(bytes_cut_short_or_too_long_are_refused);
    RUN(bytes_with_errors_are_refused_or_harmless);
    RUN(every_bit_of_an_image_may_be_wrong);
    RUN(every_bit_of_an_image_of_strings_and_tables_may_be_wrong);
    kc_context_free(ctx);
    return kc_test_end();
}
