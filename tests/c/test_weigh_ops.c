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

int main(void)
{
    RUN(sums_are_right_for_every_length_and_number_of_rows);
    RUN(whole_numbers_add_up_exactly);
    return kc_test_end();
}
