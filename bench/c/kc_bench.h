/* A benchmark program lists its cases, then runs them all:
 *
 *   bench_case cases[MAX_CASES]; size_t n_cases = 0;
 *   cases[n_cases++] = (bench_case){.run = map_all, .data = &job, .entries = 4096, ...};
 *   return bench_run("exp", cases, n_cases);
 *
 * Rounds go over all cases in turn, so that a disturbance of the machine meets them alike; the
 * fastest round is the figure, the median shows how far the others were from it.  Time is that of
 * the CPU in this thread: what else the machine does is not counted.  Output is JSON lines: one for
 * the program, one for each case, named bench_<stem>/<case>/<dtype>/<isa>. */
#ifndef KC_BENCH_H
#define KC_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/kc_clock.h"
#include "base/kc_rng.h"
#include "simd/kc_ops.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define BENCH_ROUNDS 21
#define BENCH_ROUND_SECONDS 1e-3
#define BENCH_NAME 48

typedef struct bench_case {
    char name[BENCH_NAME];
    const char *dtype, *isa;
    void (*run)(void *data);
    void *data;
    double entries; /* numbers that one run makes: kernel values, say */
    double flops;   /* of one run, where they can be counted; else 0 */
    /* Filled by bench_run. */
    size_t n_runs; /* in one round */
    double seconds[BENCH_ROUNDS];
} bench_case;

static inline double bench_cpu_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Ticks of the time-stamp counter per second, 0 where there is none: a constant rate, not that of
 * the core. */
static inline double bench_tick_rate(void)
{
#if defined(__x86_64__)
    const double start = kc_clock();
    const uint64_t first = __rdtsc();

    while (kc_clock() < start + 0.02)
        continue;
    return (double)(__rdtsc() - first) / (kc_clock() - start);
#else
    return 0;
#endif
}

static inline double bench_round(bench_case *bench)
{
    const double start = bench_cpu_seconds();

    for (size_t i = 0; i < bench->n_runs; i++)
        bench->run(bench->data);
    return (bench_cpu_seconds() - start) / (double)bench->n_runs;
}

/* As many runs as fill a round; also warms up. */
static inline void bench_calibrate(bench_case *bench)
{
    for (bench->n_runs = 1; bench->n_runs < ((size_t)1 << 30); bench->n_runs *= 2)
        if (bench_round(bench) * (double)bench->n_runs >= BENCH_ROUND_SECONDS)
            return;
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline void bench_print(const char *stem, bench_case *bench, double tick_rate)
{
    double *seconds = bench->seconds;

    qsort(seconds, BENCH_ROUNDS, sizeof *seconds, bench_compare);
    printf("{\"name\": \"bench_%s/%s/%s/%s\", \"entries\": %.0f, \"ns_per_entry\": %.4f, "
           "\"median_ns_per_entry\": %.4f",
           stem, bench->name, bench->dtype, bench->isa, bench->entries,
           1e9 * seconds[0] / bench->entries, 1e9 * seconds[BENCH_ROUNDS / 2] / bench->entries);
    if (tick_rate > 0)
        printf(", \"ticks_per_entry\": %.3f", tick_rate * seconds[0] / bench->entries);
    if (bench->flops > 0)
        printf(", \"gflops\": %.2f", 1e-9 * bench->flops / seconds[0]);
    printf("}\n");
}

static inline int bench_run(const char *stem, bench_case *cases, size_t n_cases)
{
    const double tick_rate = bench_tick_rate();

    printf("{\"program\": \"bench_%s\", \"version\": \"%s\", \"compiler\": \"%s\", "
           "\"rounds\": %d, \"statistic\": \"min\"}\n",
           stem, kc_version(), __VERSION__, BENCH_ROUNDS);
    for (size_t c = 0; c < n_cases; c++)
        bench_calibrate(&cases[c]);
    for (size_t round = 0; round < BENCH_ROUNDS; round++)
        for (size_t c = 0; c < n_cases; c++)
            cases[c].seconds[round] = bench_round(&cases[c]);
    for (size_t c = 0; c < n_cases; c++)
        bench_print(stem, &cases[c], tick_rate);
    return 0;
}

/* ---- Instruction sets, types, arrays -------------------------------------------------------- */

typedef struct bench_isa {
    const char *name;
    kc_isa isa;
    const kc_ops_table *table;
} bench_isa;

/* Those that were compiled and that this CPU has; returns how many. */
static inline size_t bench_isas(bench_isa isas[KC_N_ISAS])
{
    size_t n = 0;

    for (int i = 0; i < KC_N_ISAS; i++) {
        const kc_isa isa = (kc_isa)i;

        if (kc_isa_is_there(isa))
            isas[n++] = (bench_isa){kc_isa_name_of(isa), isa, kc_ops_table_of(isa)};
    }
    return n;
}

static inline const kc_ops *bench_ops_of(const bench_isa *isa, kc_dtype dtype)
{
    return dtype == KC_F64 ? &isa->table->f64 : &isa->table->f32;
}

static inline const char *bench_dtype_name(kc_dtype dtype)
{
    return dtype == KC_F64 ? "f64" : "f32";
}

/* Memory for the life of the program. */
static inline void *bench_alloc(size_t count, size_t size)
{
    void *memory = aligned_alloc(KC_ALIGN, kc_round_up(count * size + 1, KC_ALIGN));

    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    memset(memory, 0, count * size);
    return memory;
}

/* Numbers spread evenly over [low, high). */
static inline void *bench_numbers(size_t count, kc_dtype dtype, double low, double high)
{
    void *numbers = bench_alloc(count, kc_dtype_bytes(dtype));
    kc_rng rng = kc_rng_seed(1);

    for (size_t i = 0; i < count; i++) {
        const double value = low + (high - low) * kc_rng_uniform(&rng);
        if (dtype == KC_F64)
            ((double *)numbers)[i] = value;
        else
            ((float *)numbers)[i] = (float)value;
    }
    return numbers;
}

#endif
