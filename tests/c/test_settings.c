/* The table of settings: defaults, ranges, sizes of other versions. */
#include "api/kc_settings.h"

#include <string.h>

#include "kc_test.h"

static const kc_setting *find(const char *name)
{
    for (int32_t i = 0; i < kc_setting_count(); i++)
        if (strcmp(kc_setting_at(i)->name, name) == 0)
            return kc_setting_at(i);
    return NULL;
}

static void every_setting_is_in_the_table_once(void)
{
    static const char *const names[] = {"type",        "multiclass", "precision", "shrinking",
                                        "C",           "nu",         "epsilon",   "tol",
                                        "cache_bytes", "max_iter",   "seed"};
    const size_t n_names = sizeof names / sizeof names[0];

    CHECK(kc_setting_count() == (int32_t)n_names);
    for (size_t i = 0; i < n_names; i++) {
        const kc_setting *setting = find(names[i]);

        REQUIRE(setting != NULL);
        CHECK(setting->default_value >= setting->min && setting->default_value <= setting->max);
        CHECK(strlen(setting->help) > 0 && strlen(setting->type) > 0);
    }
    CHECK(kc_setting_at(-1) == NULL && kc_setting_at(kc_setting_count()) == NULL);
}

static void defaults_are_those_of_the_table_and_are_allowed(void)
{
    kc_svm_settings settings, read;

    kc_svm_settings_init(&settings, sizeof settings);
    CHECK(settings.struct_size == sizeof settings);
    CHECK(settings.type == KC_C_SVC && settings.multiclass == KC_ONE_VS_ONE);
    CHECK(settings.C == 1 && settings.nu == 0.5 && settings.epsilon == 0.1 && settings.tol == 1e-3);
    CHECK(settings.C == find("C")->default_value && settings.tol == find("tol")->default_value);
    CHECK(settings.shrinking == 1 && settings.cache_bytes == 0 && settings.max_iter == 0);
    CHECK(kc_settings_read(&settings, &read, NULL) == KC_OK);
    CHECK(memcmp(&settings, &read, sizeof read) == 0);
}

/* One field of the settings, by its place in the struct. */
static void set_field(kc_svm_settings *settings, const char *name, double value)
{
    if (strcmp(name, "C") == 0)
        settings->C = value;
    else if (strcmp(name, "nu") == 0)
        settings->nu = value;
    else if (strcmp(name, "epsilon") == 0)
        settings->epsilon = value;
    else if (strcmp(name, "tol") == 0)
        settings->tol = value;
    else if (strcmp(name, "type") == 0)
        settings->type = (int32_t)value;
    else if (strcmp(name, "multiclass") == 0)
        settings->multiclass = (int32_t)value;
    else if (strcmp(name, "precision") == 0)
        settings->precision = (int32_t)value;
    else if (strcmp(name, "shrinking") == 0)
        settings->shrinking = (int32_t)value;
    else if (strcmp(name, "cache_bytes") == 0)
        settings->cache_bytes = (int64_t)value;
    else if (strcmp(name, "max_iter") == 0)
        settings->max_iter = (int64_t)value;
    else
        settings->seed = (int64_t)value;
}

static kc_status read_with(const char *name, double value, kc_error *err)
{
    kc_svm_settings settings, read;

    kc_svm_settings_init(&settings, sizeof settings);
    set_field(&settings, name, value);
    return kc_settings_read(&settings, &read, err);
}

static void what_lies_outside_a_range_is_refused_by_name(void)
{
    for (int32_t i = 0; i < kc_setting_count(); i++) {
        const kc_setting *setting = kc_setting_at(i);
        const int is_real = strcmp(setting->type, "real") == 0;
        kc_error err = {.text = ""};

        CHECK(read_with(setting->name, setting->min - 1, &err) == KC_ERR_ARG);
        CHECK(strncmp(err.text, setting->name, strlen(setting->name)) == 0);
        CHECK((read_with(setting->name, setting->min, &err) == KC_OK) == !setting->is_above_min);
        if (setting->max < 1e6) {
            CHECK(read_with(setting->name, setting->max, &err) == KC_OK);
            CHECK(read_with(setting->name, setting->max + 1, &err) == KC_ERR_ARG);
        }
        if (is_real)
            CHECK(read_with(setting->name, (double)NAN, &err) == KC_ERR_ARG);
    }
    CHECK(read_with("C", HUGE_VAL, NULL) == KC_OK);
    CHECK(read_with("tol", HUGE_VAL, NULL) == KC_ERR_ARG);
    CHECK(read_with("epsilon", HUGE_VAL, NULL) == KC_ERR_ARG);
}

static void fields_of_later_versions_keep_their_defaults(void)
{
    kc_svm_settings settings, read;
    kc_error err;
    struct {
        kc_svm_settings known;
        int64_t unknown;
    } newer;

    kc_svm_settings_init(&settings, offsetof(kc_svm_settings, tol)); /* an older caller */
    CHECK(settings.struct_size == offsetof(kc_svm_settings, tol));
    settings.tol = -1;
    settings.max_iter = -1;
    CHECK(kc_settings_read(&settings, &read, NULL) == KC_OK);
    CHECK(read.tol == 1e-3 && read.max_iter == 0 && read.epsilon == 0.1);
    kc_svm_settings_init(&newer.known, sizeof newer);
    CHECK(kc_settings_read(&newer.known, &read, NULL) == KC_OK);
    newer.unknown = 1;
    CHECK(kc_settings_read(&newer.known, &read, &err) == KC_ERR_ARG);
    CHECK(kc_settings_read(NULL, &read, &err) == KC_ERR_ARG);
}

int main(void)
{
    RUN(every_setting_is_in_the_table_once);
    RUN(defaults_are_those_of_the_table_and_are_allowed);
    RUN(what_lies_outside_a_range_is_refused_by_name);
    RUN(fields_of_later_versions_keep_their_defaults);
    return kc_test_end();
}
