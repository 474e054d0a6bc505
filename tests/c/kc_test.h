/* A test program is a main that runs sentences:
 *
 *   static void a_block_is_aligned(void) { CHECK(...); }
 *   int main(void) { RUN(a_block_is_aligned); return kc_test_end(); }
 *
 * A sentence fails if one of its checks does; the others are still made, and any thread may make
 * them.  REQUIRE ends the sentence, for what the rest of it stands on. */
#ifndef KC_TEST_H
#define KC_TEST_H

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

extern atomic_int kc_test_faults; /* failed checks of the sentence at hand */
extern int kc_test_passed, kc_test_failed;

static inline int kc_test_check(int is_true, const char *text, const char *file, int line)
{
    if (!is_true) {
        atomic_fetch_add(&kc_test_faults, 1);
        printf("    %s:%d: %s\n", file, line, text);
    }
    return is_true;
}

static inline int kc_test_near(double a, double b, double tol, const char *text, const char *file,
                               int line)
{
    int is_near = fabs(a - b) <= tol || a == b; /* equal infinities; NaN is near nothing */

    if (!is_near)
        printf("    %.17g against %.17g, off by %g\n", a, b, fabs(a - b));
    return kc_test_check(is_near, text, file, line);
}

static inline void kc_test_run(void (*sentence)(void), const char *name)
{
    atomic_store(&kc_test_faults, 0);
    sentence();
    int is_ok = atomic_load(&kc_test_faults) == 0;
    kc_test_passed += is_ok;
    kc_test_failed += !is_ok;
    printf("%s %s\n", is_ok ? "ok  " : "FAIL", name);
    fflush(stdout); /* before a crash or a fork of the next one */
}

static inline int kc_test_end(void)
{
    printf("%d passed, %d failed\n", kc_test_passed, kc_test_failed);
    return kc_test_failed != 0 || kc_test_passed == 0;
}

#define CHECK(condition) ((void)kc_test_check(!!(condition), #condition, __FILE__, __LINE__))
#define CHECK_NEAR(a, b, tol) ((void)kc_test_near(a, b, tol, #a " near " #b, __FILE__, __LINE__))
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!kc_test_check(!!(condition), #condition, __FILE__, __LINE__))                         \
            return;                                                                                \
    } while (0)
#define RUN(sentence) kc_test_run(sentence, #sentence)

#endif
