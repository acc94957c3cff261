// SPDX-License-Identifier: Apache-2.0
//
// How the store scales: makes one of GROWN_SERIES series and as many commits as asked for, with
// noise like a GPU's, and times what the gate, the history and a repeated run ask of it.
//
//     bench_store [MEASUREMENTS [FOLDER [NIGHTS]]]   default 500000, and a folder in TMPDIR or /tmp
//
// With a folder the store is kept there and, if it has the measurements already, only queried. With
// NIGHTS that many more commits of all series are added to it instead: what `plumb site` then takes
// is a night's.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_grown.h"
#include "tests/helpers/helper_store.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { GATE_POINTS = 100 };

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// A wall clock and this process's own time: on a busy machine the two differ.
struct stopwatch {
    double wall_s;
    clock_t cpu;
};

static struct stopwatch start_watch(void)
{
    return (struct stopwatch){now_s(), clock()};
}

static void print_lap(const char *what, struct stopwatch start, size_t count, const char *of)
{
    printf("%-34s %8.3f s, own %7.3f s (%zu %s)\n", what, now_s() - start.wall_s,
           (double)(clock() - start.cpu) / CLOCKS_PER_SEC, count, of);
}

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "bench_store: %s\n", err->text);
        exit(1);
    }
}

static void generate(struct store *store, unsigned commits)
{
    struct grown walks[GROWN_SERIES] = {{0}};
    uint64_t seed = 2026;
    double start = now_s();
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s].log_level = log(2e4) + 5 * draw_unit(&seed);
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s].predicted_ns = 0.95 * exp(walks[s].log_level);
    struct grown_bulk *bulk = grown_bulk_begin(store, walks, &seed);
    for (unsigned c = 1; c < commits; c++)
        grown_bulk_save(bulk, walks, &seed);
    grown_bulk_end(bulk);
    double took = now_s() - start;
    printf("made                        %9.0f measurements/s (%u in %.1f s)\n",
           commits * GROWN_SERIES / took, commits * GROWN_SERIES, took);
}

// More commits of a store that is there, each series going on from its last time.
static void add_nights(struct store *store, unsigned nights)
{
    struct grown walks[GROWN_SERIES] = {{0}};
    struct store_report report;
    struct error err;
    must(store_info(&report, store, &err), &err);
    uint64_t seed = 2027 + (uint64_t)report.counts.runs;
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        struct arena arena = {0};
        struct result r;
        struct stored_points stored;
        grown_result(&r, s, &walks[s], NULL);
        const struct series series = {r.kernel, &r.problem, "GPU-0"};
        const struct history_query query = {.limit = 1};
        must(store_points(&stored, store, &series, &query, &arena, &err), &err);
        walks[s] = (struct grown){.log_level = log(stored.points[0].time_ns),
                                  .predicted_ns = stored.points[0].predicted_ns,
                                  .code = 1u << 20};
        arena_free(&arena);
    }
    must(store_begin_batch(store, &err), &err);
    for (unsigned n = 0; n < nights; n++)
        grown_save(store, walks, (unsigned)report.counts.runs + n, &seed);
    must(store_commit_batch(store, &err), &err);
    printf("%u nights of %d series added\n", nights, GROWN_SERIES);
}

// One by one, as a run does: each on disk before the next. A study, so that no history has it.
static void time_single_saves(struct store *store)
{
    struct run run = {0};
    struct grown walk = {.log_level = 11, .predicted_ns = 5e4};
    struct error err;
    uint64_t seed = 1;
    enum { SAVES = 50 };
    grown_commit(&run, 0);
    strcpy(run.head.id, "0000000");
    run.head.time_s = 1;
    run.kind = RUN_STUDY;
    must(store_begin_run(store, &run, &err), &err);
    double start = now_s();
    for (unsigned s = 0; s < SAVES; s++) {
        struct sample samples[GROWN_SAMPLES];
        struct result result;
        grown_samples(samples, 5e4, &seed);
        grown_result(&result, s, &walk, samples);
        must(store_save_result(store, &run, &result, &err), &err);
    }
    printf("save of one result          %9.2f ms\n", 1000 * (now_s() - start) / SAVES);
    run_free(&run);
}

// Puts the file out of the system's cache, as after a night.
static void forget_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        fdatasync(fd);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
}

static struct series series_of(unsigned s, struct result *r)
{
    const struct grown walk = {.predicted_ns = 1};
    grown_result(r, s, &walk, NULL);
    return (struct series){r->kernel, &r->problem, "GPU-0"};
}

static void time_gate_history(struct store *store, const char *how)
{
    struct error err;
    size_t points = 0;
    struct stopwatch start = start_watch();
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        struct arena arena = {0};
        struct result r;
        struct stored_points stored;
        const struct series series = series_of(s, &r);
        const struct history_query query = {.limit = GATE_POINTS};
        must(store_points(&stored, store, &series, &query, &arena, &err), &err);
        points += stored.count;
        arena_free(&arena);
    }
    print_lap(how, start, points, "points");
}

static void time_full_history(struct store *store, unsigned s, const char *how)
{
    struct error err;
    struct arena arena = {0};
    struct result r;
    struct stored_points stored;
    const struct series series = series_of(s, &r);
    const struct history_query query = {0};
    struct stopwatch start = start_watch();
    must(store_points(&stored, store, &series, &query, &arena, &err), &err);
    print_lap(how, start, stored.count, "points");
    arena_free(&arena);
}

static void time_reuse(struct store *store, unsigned commits)
{
    struct error err;
    struct arena arena = {0};
    bool found;
    size_t hits = 0;
    struct stopwatch start = start_watch();
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        struct result r;
        struct measurement m;
        const struct series series = series_of(s, &r);
        must(store_find_measurement(&m, &found, store, &series, r.head_code,
                                    &(struct measured_how){0}, &arena, &err),
             &err);
        hits += found;
    }
    print_lap("find by code, 500 series", start, hits, "found");
    arena_free(&arena);
    struct problem problems[GROWN_PROBLEMS];
    struct result r;
    for (unsigned p = 0; p < GROWN_PROBLEMS; p++) {
        series_of(p, &r);
        problems[p] = r.problem;
    }
    const struct demand demand = {.recipe = "cuda",
                                  .device_uuid = "GPU-0",
                                  .problems = problems,
                                  .problem_count = GROWN_PROBLEMS};
    const unsigned asked = commits < 100 ? commits : 100;
    size_t measured = 0;
    start = start_watch();
    for (unsigned i = 0; i < asked; i++) {
        struct run run = {0};
        grown_commit(&run, commits - 1 - i);
        must(store_commit_measured(&found, store, &run.head, &demand, &err), &err);
        measured += found;
        run_free(&run);
    }
    print_lap("is it measured, newest commits", start, measured, "are");
}

static void time_queries(const char *path, unsigned commits)
{
    struct error err;
    struct store_report report;
    forget_file(path);
    double start = now_s();
    struct store *store = scratch_store(path, STORE_READ);
    printf("open                        %9.2f ms\n", 1000 * (now_s() - start));
    time_gate_history(store, "gate: 500 series x 100, cold");
    time_gate_history(store, "gate: 500 series x 100, warm");
    store_close(store);
    forget_file(path);
    store = scratch_store(path, STORE_READ);
    time_full_history(store, 123, "one series, all, cold");
    time_full_history(store, 123, "one series, all, warm");
    time_reuse(store, commits);
    start = now_s();
    must(store_info(&report, store, &err), &err);
    printf("count everything            %9.3f s\n", now_s() - start);
    printf("file                        %9.1f MB, %.0f bytes per measurement, of which %.0f "
           "samples\n",
           (double)report.bytes / 1e6, (double)report.bytes / (double)report.counts.measurements,
           (double)report.counts.samples_bytes / (double)report.counts.measurements);
    store_close(store);
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    int64_t measurements = 500000, nights = 0;
    char *own = argc > 2 ? NULL : helper_directory();
    struct stat info;
    struct rusage usage;
    if (argc > 4 || (argc > 3 && (parse_int64(&nights, argv[3]) || nights < 1 || nights > 1000)) ||
        (argc > 1 && (parse_int64(&measurements, argv[1]) || measurements < GROWN_SERIES))) {
        fprintf(stderr, "usage: bench_store [MEASUREMENTS [FOLDER [NIGHTS]]]\n");
        return 1;
    }
    unsigned commits = (unsigned)(measurements / GROWN_SERIES);
    const char *path =
        scratch_path(&arena, own ? own : argv[2], arena_printf(&arena, "scale-%u.db", commits));
    bool there = stat(path, &info) == 0;
    printf("%d series, %u commits\n", GROWN_SERIES, commits);
    struct store *store = scratch_store(path, STORE_WRITE);
    if (!there) {
        generate(store, commits);
        time_single_saves(store);
    }
    if (there && nights)
        add_nights(store, (unsigned)nights);
    store_close(store);
    if (!nights)
        time_queries(path, commits);
    getrusage(RUSAGE_SELF, &usage);
    printf("memory at most              %9.1f MB\n", (double)usage.ru_maxrss / 1024);
    arena_free(&arena);
    if (own)
        helper_discard(own);
    free(own);
    return 0;
}
