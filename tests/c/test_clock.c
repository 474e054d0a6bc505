/* base/kc_clock.h */
#include "base/kc_clock.h"

#include <unistd.h>

#include "kc_test.h"

static void the_clock_never_goes_back(void)
{
    double last = kc_clock();

    for (int i = 0; i < 1000000; i++) {
        double now = kc_clock();

        if (!(now >= last)) {
            CHECK(now >= last);
            return;
        }
        last = now;
    }
}

static void the_clock_counts_seconds(void)
{
    double start = kc_clock();

    usleep(20000);
    double passed = kc_clock() - start;
    CHECK(passed >= 0.02);
    CHECK(passed < 1); /* a unit off by a thousand would be out on one side or the other */
}

static void the_clock_tells_microseconds_apart(void)
{
    double least = 1;

    for (int i = 0; i < 1000; i++) {
        double start = kc_clock();
        double now = start;

        while (now == start)
            now = kc_clock();
        least = fmin(least, now - start);
    }
    CHECK(least < 2e-6);
}

int main(void)
{
    RUN(the_clock_never_goes_back);
    RUN(the_clock_counts_seconds);
    RUN(the_clock_tells_microseconds_apart);
    return kc_test_end();
}
