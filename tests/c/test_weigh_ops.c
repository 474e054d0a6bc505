/* Kernel values times coefficients, for each instruction set that this machine has. */
#include "simd/kc_weigh_ops.h"

#include <string.h>

#include "base/kc_rng.h"
#include "kc_test.h"

#define MAX_N 70
#define MAX_COEFS 11

typedef struct input {
    float narrow[MAX_N];
    double wide[MAX_N];
    double coef[MAX_COEFS * (MAX_N + 3)];
} input;

static void fill(input *in, uint64_t seed)
{
    kc_rng rng = kc_rng_seed(seed);

    for (size_t j = 0; j < MAX_N; j++) {
        in->wide[j] = 2 * kc_rng_uniform(&rng) - 1;
        in->narrow[j] = (float)in->wide[j];
    }
    for (size_t k = 0; k < sizeof in->coef / sizeof in->coef[0]; k++)
        in->coef[k] = 2 * kc_rng_uniform(&rng) - 1;
}

static void check_table(const kc_weigh_ops *ops)
{
    const size_t ld = MAX_N + 3;
    input in;

    fill(&in, 1);
    for (size_t n = 0; n <= MAX_N; n++)
        for (size_t n_coefs = 1; n_coefs <= MAX_COEFS; n_coefs += 1 + n_coefs / 4) {
            double narrow[MAX_COEFS], wide[MAX_COEFS], alone;

            ops->f32(in.narrow, n, in.coef, ld, n_coefs, narrow);
            ops->f64(in.wide, n, in.coef, ld, n_coefs, wide);
            for (size_t c = 0; c < n_coefs; c++) {
                long double sum_narrow = 0, sum_wide = 0;

                for (size_t j = 0; j < n; j++) {
                    sum_narrow += (long double)in.narrow[j] * in.coef[c * ld + j];
                    sum_wide += (long double)in.wide[j] * in.coef[c * ld + j];
                }
                CHECK_NEAR(narrow[c], (double)sum_narrow, 20 * 0x1p-53 * (double)(n + 1));
                CHECK_NEAR(wide[c], (double)sum_wide, 20 * 0x1p-53 * (double)(n + 1));
                /* How many rows are taken together makes no difference. */
                ops->f32(in.narrow, n, in.coef + c * ld, ld, 1, &alone);
                CHECK(memcmp(&alone, &narrow[c], sizeof alone) == 0);
                ops->f64(in.wide, n, in.coef + c * ld, ld, 1, &alone);
                CHECK(memcmp(&alone, &wide[c], sizeof alone) == 0);
            }
        }
}

static void sums_are_right_for_every_length_and_number_of_rows(void)
{
    for (int isa = 0; isa < KC_N_ISAS; isa++)
        if (kc_isa_is_there((kc_isa)isa))
            check_table(kc_weigh_table_of((kc_isa)isa));
}

/* Values that are exact in float give exact sums, whatever the order. */
static void whole_numbers_add_up_exactly(void)
{
    float k[MAX_N];
    double coef[MAX_N], sum;

    for (size_t j = 0; j < MAX_N; j++) {
        k[j] = (float)j;
        coef[j] = (double)(j % 7) - 3;
    }
    for (size_t n = 0; n <= MAX_N; n++) {
        double wanted = 0;

        for (size_t j = 0; j < n; j++)
            wanted += (double)k[j] * coef[j];
        kc_weigh_of(KC_F32)(k, n, coef, 0, 1, &sum);
        CHECK(sum == wanted);
    }
}

static void weights_are_scaled_and_added_for_every_length(void)
{
    for (int isa = 0; isa < KC_N_ISAS; isa++) {
        const kc_weigh_ops *ops = kc_weigh_table_of((kc_isa)isa);
        input in;

        if (!kc_isa_is_there((kc_isa)isa))
            continue;
        fill(&in, 2);
        for (size_t n = 0; n <= MAX_N; n++) {
            double narrow[MAX_N] = {0}, wide[MAX_N] = {0}, more[MAX_N] = {0}, sums[MAX_N] = {0};

            memcpy(narrow, in.coef, n * sizeof *narrow);
            memcpy(wide, in.coef, n * sizeof *wide);
            ops->scale_f32(narrow, in.narrow, n);
            ops->scale_f64(wide, in.wide, n);
            ops->add_f32(more, in.narrow, in.coef, n);
            ops->add_f64(sums, in.wide, in.coef, n);
            for (size_t j = 0; j < n; j++) {
                CHECK(narrow[j] == in.coef[j] * (double)in.narrow[j] && more[j] == narrow[j]);
                CHECK(wide[j] == in.coef[j] * in.wide[j] && sums[j] == wide[j]);
            }
            for (size_t j = n; j < MAX_N; j++)
                CHECK(narrow[j] == 0 && wide[j] == 0 && more[j] == 0 && sums[j] == 0);
        }
    }
}

static void squares_and_distances_are_added_for_every_length(void)
{
    enum { LD = 72, N_ROWS = 9 };
    double z[N_ROWS * LD] = {0}, x[LD] = {0};
    input in;

    fill(&in, 3);
    memcpy(x, in.wide, sizeof in.wide);
    for (size_t j = 0; j < N_ROWS; j++)
        memcpy(z + j * LD, in.coef + j * 7, MAX_N * sizeof *z);
    for (int isa = 0; isa < KC_N_ISAS; isa++) {
        const kc_weigh_ops *ops = kc_weigh_table_of((kc_isa)isa);

        for (size_t n = 0; kc_isa_is_there((kc_isa)isa) && n <= MAX_N; n++) {
            double squares[LD] = {0}, apart[LD] = {0};

            ops->add_squares(squares, x, 0.7, n);
            ops->add_distances(apart, x, z, LD, in.coef, N_ROWS, n);
            for (size_t t = 0; t < LD; t++) {
                double wanted = 0;

                for (size_t j = 0; t < n && j < N_ROWS; j++)
                    wanted += in.coef[j] * fabs(x[t] - z[j * LD + t]);
                CHECK_NEAR(apart[t], wanted, 40 * 0x1p-53 * N_ROWS);
                CHECK_NEAR(squares[t], t < n ? 0.7 * x[t] * x[t] : 0, 4 * 0x1p-53);
            }
        }
    }
}

int main(void)
{
    RUN(sums_are_right_for_every_length_and_number_of_rows);
    RUN(whole_numbers_add_up_exactly);
    RUN(weights_are_scaled_and_added_for_every_length);
    RUN(squares_and_distances_are_added_for_every_length);
    return kc_test_end();
}
