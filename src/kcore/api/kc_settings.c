/* THE table of settings: every default and every range of the SVM family stands here once.
 *
 * kc_svm_settings_init writes the defaults, kc_svm_fit checks against the ranges, and bindings
 * compare their own signatures with the table (kc_setting_at). */
#include "api/kc_settings.h"

#include <math.h>
#include <string.h>

#include "base/kc_context.h"
#include "task/kc_form.h"

/* How a field is stored. */
typedef enum field_kind { FIELD_INT32, FIELD_INT64, FIELD_REAL } field_kind;

typedef struct row {
    kc_setting setting;
    size_t offset;
    field_kind kind;
} row;

#define FIELD(name) offsetof(kc_svm_settings, name)
#define BIG 9007199254740992.0 /* 2^53: every integer up to here is a double */

static const row table[] = {
    {{"type", "kc_svm_type", KC_C_SVC, KC_C_SVC, KC_ONE_CLASS, 0, "which formulation"},
     FIELD(type),
     FIELD_INT32},
    {{"multiclass", "kc_multiclass", KC_ONE_VS_ONE, KC_ONE_VS_ONE, KC_ONE_VS_REST, 0,
      "how more than two classes are made into problems of two"},
     FIELD(multiclass),
     FIELD_INT32},
    {{"precision", "kc_precision", KC_PRECISION_AUTO, KC_PRECISION_AUTO, KC_PRECISION_F64, 0,
      "type of kernel values"},
     FIELD(precision),
     FIELD_INT32},
    {{"shrinking", "int", 1, 0, 1, 0,
      "whether steps over all samples leave settled ones out; blocks of variables do in any case"},
     FIELD(shrinking),
     FIELD_INT32},
    {{"C", "real", 1, 0, INFINITY, 1,
      "price of an error: large fits the samples closely, infinite allows none (C-SVC, "
      "epsilon-SVR)"},
     FIELD(C),
     FIELD_REAL},
    {{"nu", "real", 0.5, 0, 1, 1,
      "upper bound of the share of errors, lower bound of the share of support vectors"},
     FIELD(nu),
     FIELD_REAL},
    {{"epsilon", "real", 0.1, 0, 1e300, 0, "half the width of the tube in which errors are free"},
     FIELD(epsilon),
     FIELD_REAL},
    {{"tol", "real", 1e-3, 0, 1e300, 1, "largest violation of the optimality conditions allowed"},
     FIELD(tol),
     FIELD_REAL},
    {{"cache_bytes", "int", 0, 0, BIG, 0,
      "memory for kernel rows; 0: all of them, or a quarter of the memory available"},
     FIELD(cache_bytes),
     FIELD_INT64},
    {{"max_iter", "int", 0, 0, BIG, 0, "pair steps of one problem; 0: max(10^7, 100 n)"},
     FIELD(max_iter),
     FIELD_INT64},
    {{"seed", "int", 0, 0, BIG, 0, "of the random choice of working sets"},
     FIELD(seed),
     FIELD_INT64},
};
#define N_SETTINGS (sizeof table / sizeof table[0])

int32_t kc_setting_count(void)
{
    return (int32_t)N_SETTINGS;
}

const kc_setting *kc_setting_at(int32_t index)
{
    return index >= 0 && (size_t)index < N_SETTINGS ? &table[index].setting : NULL;
}

static size_t field_bytes(field_kind kind)
{
    return kind == FIELD_INT32 ? sizeof(int32_t) : 8;
}

static void write_field(kc_svm_settings *settings, const row *at, double value)
{
    char *field = (char *)settings + at->offset;
    const int32_t narrow = (int32_t)(at->kind == FIELD_INT32 ? value : 0);
    const int64_t wide = (int64_t)(at->kind == FIELD_INT64 ? value : 0);

    switch (at->kind) {
    case FIELD_INT32:
        memcpy(field, &narrow, sizeof narrow);
        break;
    case FIELD_INT64:
        memcpy(field, &wide, sizeof wide);
        break;
    case FIELD_REAL:
        memcpy(field, &value, sizeof value);
        break;
    }
}

static double read_field(const kc_svm_settings *settings, const row *at)
{
    const char *field = (const char *)settings + at->offset;
    int32_t narrow;
    int64_t wide;
    double real;

    switch (at->kind) {
    case FIELD_INT32:
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    case FIELD_INT64:
        memcpy(&wide, field, sizeof wide);
        return (double)wide;
    default:
        memcpy(&real, field, sizeof real);
        return real;
    }
}

void kc_svm_settings_init(kc_svm_settings *settings, size_t struct_size)
{
    kc_svm_settings defaults = {.struct_size = struct_size};

    for (size_t i = 0; i < N_SETTINGS; i++)
        write_field(&defaults, &table[i], table[i].setting.default_value);
    memset(settings, 0, struct_size);
    memcpy(settings, &defaults, kc_min(struct_size, sizeof defaults));
}

static kc_status check_range(const kc_svm_settings *settings, const row *at, kc_error *err)
{
    const kc_setting *setting = &at->setting;
    const double value = read_field(settings, at);
    const bool is_low = setting->is_above_min ? !(value > setting->min) : !(value >= setting->min);

    if (!is_low && value <= setting->max)
        return KC_OK;
    if (setting->max >= BIG)
        return kc_fail(err, KC_ERR_ARG, "%s is %g, must be %s %g", setting->name, value,
                       setting->is_above_min ? "above" : "at least", setting->min);
    return kc_fail(err, KC_ERR_ARG, "%s is %g, must be %s %g%s %g", setting->name, value,
                   setting->is_above_min ? "above" : "from", setting->min,
                   setting->is_above_min ? " and at most" : " to", setting->max);
}

kc_status kc_settings_read(const kc_svm_settings *from, kc_svm_settings *out, kc_error *err)
{
    if (from == NULL)
        return kc_fail(err, KC_ERR_ARG, "settings is NULL");
    KC_TRY(kc_struct_read(out, sizeof *out, from, "settings", err));
    for (size_t i = 0; i < N_SETTINGS; i++) {
        /* Fields that the caller's version does not have are as if they were not touched. */
        if (table[i].offset + field_bytes(table[i].kind) > from->struct_size)
            write_field(out, &table[i], table[i].setting.default_value);
        KC_TRY(check_range(out, &table[i], err));
    }
    if (isinf(out->C) && !kc_form_of(out->type)->may_be_hard)
        return kc_fail(err, KC_ERR_ARG,
                       "C is infinite: only C-SVC (a hard margin) and epsilon-SVR (a hard tube) "
                       "have such a problem");
    if (isinf(out->C) && out->precision == KC_PRECISION_F32)
        return kc_fail(err, KC_ERR_ARG,
                       "C is infinite: hard margins and hard tubes need f64 kernel values");
    return KC_OK;
}
