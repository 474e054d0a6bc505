/* Every allocation of kernel calls refused in turn, once and from there on: a clean error, nothing
 * kept, and the next call gives the bits that an undisturbed one gives. */
#include "base/kc_context.h"
#include "fault.h"
#include "kernel_case.h"

#define N_X ((size_t)40)
#define N_Z ((size_t)35)
#define D ((size_t)60)

/* One public operation on its own context. */
typedef struct operation {
    const char *name;
    ref_form x_form, z_form; /* z_form REF_N_FORMS: K(x, x) */
    kc_dtype x_dtype, dtype;
    ref_op op;
    bool is_diag;
    int32_t n_threads;
} operation;

static const operation operations[] = {
    {"dense", REF_DENSE, REF_FORTRAN, KC_F32, KC_F32, OP_RBF, false, 1},
    {"dense with itself", REF_DENSE, REF_N_FORMS, KC_F64, KC_F32, OP_POLYNOMIAL, false, 1},
    {"CSR", REF_CSR, REF_CSR, KC_F32, KC_F32, OP_RBF, false, 1},
    {"CSR converted", REF_CSR, REF_CSR_64, KC_F32, KC_F64, OP_LAPLACIAN, false, 1},
    {"CSR with 64 bits", REF_CSR_64, REF_N_FORMS, KC_F64, KC_F64, OP_SIGMOID, false, 1},
    {"unsorted CSR", REF_CSR_UNSORTED, REF_CSR_REPEATED, KC_F32, KC_F32, OP_LINEAR, false, 1},
    {"dense with CSR", REF_DENSE, REF_CSR_UNSORTED, KC_F32, KC_F32, OP_RBF, false, 1},
    {"CSR with dense", REF_CSR_64, REF_REVERSED, KC_F64, KC_F32, OP_LAPLACIAN, false, 1},
    {"diagonal", REF_DENSE, REF_N_FORMS, KC_F64, KC_F64, OP_POLYNOMIAL, true, 1},
    {"diagonal of CSR", REF_CSR_REPEATED, REF_N_FORMS, KC_F64, KC_F64, OP_RBF, true, 1},
    {"two threads", REF_DENSE, REF_CSR, KC_F32, KC_F32, OP_RBF, false, 2},
};

typedef struct fixture {
    const operation *op;
    ref_samples samples[2];
    ref_view x, z;
    kc_fault fault;
    kc_context *ctx;
    double *out, *expected;
    size_t n_bytes;
} fixture;

/* Enough rows for several chunks where there are several threads. */
static void set_up(fixture *f, const operation *op)
{
    const size_t scale = op->n_threads > 1 ? 8 : 1;

    *f = (fixture){.op = op};
    f->samples[0] = ref_random(1, N_X * scale, D, 0.2, KC_F32);
    f->samples[1] = ref_random(2, N_Z * scale, D, 0.2, KC_F32);
    f->x = ref_view_make(&f->samples[0], op->x_form, op->x_dtype);
    if (op->z_form != REF_N_FORMS)
        f->z = ref_view_make(&f->samples[1], op->z_form, op->x_dtype);
    f->n_bytes = N_X * N_X * scale * scale * kc_dtype_bytes(op->dtype);
    f->out = malloc(f->n_bytes);
    f->expected = malloc(f->n_bytes);
    f->ctx = kc_fault_context((kc_context_config){0}, &f->fault);
}

static void tear_down(fixture *f)
{
    kc_context_free(f->ctx);
    CHECK(kc_fault_is_clean(&f->fault));
    free(f->out);
    free(f->expected);
    ref_view_free(&f->x);
    ref_view_free(&f->z);
    ref_samples_free(&f->samples[0]);
    ref_samples_free(&f->samples[1]);
}

/* A sum of two leaves, so that there is workspace for operands: made, used and freed. */
static kc_status run_operation(fixture *f, kc_error *err)
{
    const operation *op = f->op;
    const kc_run run = {.struct_size = sizeof run, .n_threads = op->n_threads};
    const ref_node nodes[] = {
        {.op = op->op, .gamma = 0.1, .coef0 = 0.5, .degree = 2}, {.op = OP_LINEAR}, {.op = OP_ADD}};
    kc_kernel *kernel = NULL;
    kc_status status = ref_kernel_make(f->ctx, nodes, COUNT(nodes), &kernel, err);

    memset(f->out, 0, f->n_bytes);
    if (status == KC_OK && op->is_diag)
        status = kc_diag(f->ctx, &run, kernel, &f->x.points, op->dtype, f->out, err);
    else if (status == KC_OK)
        status = kc_gram(f->ctx, &run, kernel, &f->x.points,
                         op->z_form == REF_N_FORMS ? NULL : &f->z.points, op->dtype, f->out,
                         op->z_form == REF_N_FORMS ? f->x.points.n_rows : f->z.points.n_rows, err);
    kc_kernel_free(f->ctx, kernel);
    return status;
}

static void learn_expected(const operation *op, double *expected)
{
    fixture f;

    set_up(&f, op);
    CHECK(run_operation(&f, NULL) == KC_OK);
    memcpy(expected, f.out, f.n_bytes);
    tear_down(&f);
}

/* Refuses the n-th allocation of an operation on a fresh context (or on one that has run before).
 * False where it makes fewer than n. */
static bool survives(fixture *f, size_t n, kc_fault_mode mode, bool has_run, size_t *n_served)
{
    kc_error err = {.status = KC_OK};
    kc_status status;
    bool was_refused;

    CHECK(!has_run || run_operation(f, NULL) == KC_OK);
    kc_fault_arm(&f->fault, n, mode);
    status = run_operation(f, &err);
    was_refused = kc_fault_disarm(&f->fault);
    if (status == KC_OK) { /* done without: the bits must not show it */
        CHECK(memcmp(f->out, f->expected, f->n_bytes) == 0);
        *n_served += was_refused;
    } else {
        CHECK(was_refused && status == KC_ERR_NOMEM && err.status == KC_ERR_NOMEM);
        CHECK(err.text[0] != '\0');
    }
    CHECK(run_operation(f, NULL) == KC_OK);
    CHECK(memcmp(f->out, f->expected, f->n_bytes) == 0);
    kc_context_drop_spare(f->ctx);
    CHECK(f->op->n_threads > 1 || kc_context_memory(f->ctx).current == 0); /* or the pool */
    return was_refused;
}

/* How many allocations were refused in all; *n_served of those calls succeeded all the same. */
static size_t sweep(const operation *op, kc_fault_mode mode, bool has_run, size_t *n_served)
{
    bool was_refused = true;
    size_t n = 0;

    *n_served = 0;
    while (was_refused && n < 1000) {
        fixture f;

        set_up(&f, op);
        learn_expected(op, f.expected);
        was_refused = survives(&f, ++n, mode, has_run, n_served);
        tear_down(&f);
    }
    return n - 1;
}

/* What a call can do without: the block that its arena would keep for the next one; a block of
 * comfortable size, where a second try gets one that just fits; and threads. */
static void every_refused_allocation_is_an_error(void)
{
    for (size_t i = 0; i < COUNT(operations); i++) {
        const operation *op = &operations[i];
        size_t n_served, n_alone = sweep(op, KC_FAULT_ALL, false, &n_served);

        printf("     %s: %zu allocations\n", op->name, n_alone);
        CHECK(n_alone >= 5);
        CHECK(op->n_threads > 1 || n_served <= 1);
        CHECK(sweep(op, KC_FAULT_ONCE, false, &n_served) >= n_alone);
        CHECK(op->n_threads > 1 || n_served <= 3);
    }
}

/* The arena of the call before serves the next one, and is given up where memory is short. */
static void contexts_that_have_run_before_recover_as_well(void)
{
    for (size_t i = 0; i < COUNT(operations); i++)
        for (int mode = KC_FAULT_ONCE; mode <= KC_FAULT_ALL; mode++) {
            size_t n_served;

            CHECK(sweep(&operations[i], (kc_fault_mode)mode, true, &n_served) >= 2);
        }
}

static void a_kernel_that_cannot_be_made_leaves_its_place_alone(void)
{
    const ref_node node = {.op = OP_LINEAR};
    kc_kernel *kernel = NULL;
    fixture f;

    set_up(&f, &operations[0]);
    kc_fault_arm(&f.fault, 1, KC_FAULT_ONCE);
    CHECK(ref_kernel_make(f.ctx, &node, 1, &kernel, NULL) == KC_ERR_NOMEM);
    CHECK(kc_fault_disarm(&f.fault));
    CHECK(kernel == NULL && kc_context_memory(f.ctx).current == 0);
    tear_down(&f);
}

/* The limit of the context, from nothing up to what the call needs, in small steps. */
static void every_memory_limit_gives_an_error_or_the_result(void)
{
    for (size_t i = 0; i < COUNT(operations) - 1; i++) {
        size_t n_refused = 0, n_served = 0;

        for (size_t limit = 1; n_served < 3 && limit < (size_t)1 << 24; limit += limit / 3 + 100) {
            kc_context_config config = {.struct_size = sizeof config, .memory_limit = limit};
            fixture f;
            kc_status status;

            set_up(&f, &operations[i]);
            learn_expected(&operations[i], f.expected);
            kc_context_free(f.ctx);
            config.allocator = &f.fault.allocator;
            CHECK(kc_context_create(&config, &f.ctx, NULL) == KC_OK);
            status = run_operation(&f, NULL);
            CHECK(status == KC_OK || status == KC_ERR_NOMEM);
            CHECK(status != KC_OK || memcmp(f.out, f.expected, f.n_bytes) == 0);
            CHECK(kc_context_memory(f.ctx).peak <= limit);
            n_refused += status != KC_OK;
            n_served += status == KC_OK;
            tear_down(&f);
        }
        CHECK(n_refused > 0 && n_served == 3);
    }
}

int main(void)
{
    RUN(every_refused_allocation_is_an_error);
    RUN(contexts_that_have_run_before_recover_as_well);
    RUN(a_kernel_that_cannot_be_made_leaves_its_place_alone);
    RUN(every_memory_limit_gives_an_error_or_the_result);
    return kc_test_end();
}
