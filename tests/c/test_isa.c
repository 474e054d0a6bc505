/* base/kc_isa.h: the choice is made once per process, so each question is asked in a child. */
#include "base/kc_isa.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guarded.h"
#include "kcore/kcore.h"

static const char *best_name(void)
{
    tier tiers[MAX_TIERS];

    return tiers[list_tiers(tiers) - 1].name;
}

/* Whether `question` is answered with true in a child where KCORE_ISA is `value` (NULL: not set).
 */
static bool is_true_under(const char *value, bool (*question)(const char *), const char *name)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        if (value != NULL)
            setenv("KCORE_ISA", value, 1);
        else
            unsetenv("KCORE_ISA");
        _exit(question(name) ? 0 : 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

/* The name, the enumerator and both tables are those of the instruction set `name`. */
static bool uses(const char *name)
{
    const kc_ops_table *table = kc_ops_table_of(kc_isa_chosen());

    return strcmp(kc_isa_name(), name) == 0 && strcmp(kc_isa_name_of(kc_isa_chosen()), name) == 0 &&
           kc_ops_of(KC_F32) == &table->f32 && kc_ops_of(KC_F64) == &table->f64;
}

static void the_best_instruction_set_is_taken_where_nothing_is_said(void)
{
    CHECK(is_true_under(NULL, uses, best_name()));
}

static void kcore_isa_takes_the_one_it_names(void)
{
    tier tiers[MAX_TIERS];

    for (size_t n = list_tiers(tiers); n > 0; n--)
        CHECK(is_true_under(tiers[n - 1].name, uses, tiers[n - 1].name));
}

/* The name is in the text, beside the choices. */
static bool is_refused(const char *name)
{
    kc_context *ctx = NULL;
    kc_error err;

    return kc_context_create(NULL, &ctx, &err) == KC_ERR_ARG && ctx == NULL &&
           strstr(err.text, name) != NULL && strstr(err.text, "generic, avx2 or avx512") != NULL;
}

static bool is_taken(const char *name)
{
    kc_context *ctx = NULL;
    const bool is_made = kc_context_create(NULL, &ctx, NULL) == KC_OK;

    kc_context_free(ctx);
    return is_made && uses(name);
}

static void any_other_text_is_refused(void)
{
    static const char *const texts[] = {"AVX2", "generic ", " generic", "gen", "avx1024", "1"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(is_true_under(texts[i], is_refused, texts[i]));
    CHECK(is_true_under("generic", is_taken, "generic"));
    CHECK(is_true_under("", is_taken, best_name()));
    CHECK(is_true_under(NULL, is_taken, best_name()));
}

static bool stays_generic(const char *name)
{
    const bool was = uses("generic");

    setenv("KCORE_ISA", name, 1);
    return was && uses("generic");
}

static void the_choice_is_made_once(void)
{
    CHECK(is_true_under("generic", stays_generic, "avx2"));
}

static void *ask(void *data)
{
    *(const char **)data = kc_isa_name();
    return NULL;
}

static bool is_seen_by_all_threads(const char *name)
{
    pthread_t threads[8];
    const char *names[8] = {NULL};
    bool is_same = true;

    for (size_t i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, ask, &names[i]) != 0)
            return false;
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        is_same &= names[i] != NULL && strcmp(names[i], name) == 0;
    }
    return is_same;
}

static void threads_that_choose_at_once_choose_the_same(void)
{
    for (int i = 0; i < 20; i++)
        CHECK(is_true_under("generic", is_seen_by_all_threads, "generic"));
}

/* A table with a hole would crash far from here. */
static bool is_full(const kc_ops *ops)
{
    void (*entries[sizeof(kc_ops) / sizeof(void (*)(void))])(void);

    memcpy(entries, ops, sizeof entries);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (entries[i] == NULL)
            return false;
    return true;
}

static void every_table_is_full(void)
{
    tier tiers[MAX_TIERS];

    for (size_t n = list_tiers(tiers); n > 0; n--) {
        CHECK(is_full(&tiers[n - 1].table->f32));
        CHECK(is_full(&tiers[n - 1].table->f64));
    }
}

int main(void)
{
    RUN(the_best_instruction_set_is_taken_where_nothing_is_said);
    RUN(kcore_isa_takes_the_one_it_names);
    RUN(any_other_text_is_refused);
    RUN(the_choice_is_made_once);
    RUN(threads_that_choose_at_once_choose_the_same);
    RUN(every_table_is_full);
    return kc_test_end();
}
