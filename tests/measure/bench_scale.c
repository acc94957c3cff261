// SPDX-License-Identifier: Apache-2.0
//
// What a night costs when there are many series, and how that grows with the nights before it: a
// store of so many series and commits, of which each changes one kernel in fifty and the others run
// code that is measured already; then what keeping house takes, and the merge of so many shards.
//
//     bench_scale SERIES COMMITS SHARDS [FOLDER]     e.g. 2000 400 1000; a folder in TMPDIR or /tmp
//
// Seconds are the processor's, user and system, with the wall clock's in brackets.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_grown.h"
#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LAPS = 4, SHARD_RESULTS = 20, CHANGED = 50 };

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "bench_scale: %s\n", err->text);
        exit(1);
    }
}

struct watch {
    double own_s, wall_s;
};

static struct watch now(void)
{
    struct timespec time;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &time);
    getrusage(RUSAGE_SELF, &usage);
    return (struct watch){(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                              1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
                          (double)time.tv_sec + 1e-9 * (double)time.tv_nsec};
}

// Since `begun`, for each of `count`.
static void print_since(const char *what, struct watch begun, double count, const char *of)
{
    const struct watch end = now();
    printf("%-44s %10.4f s (%10.4f) %s\n", what, (end.own_s - begun.own_s) / count,
           (end.wall_s - begun.wall_s) / count, of);
    fflush(stdout);
}

// Of a store and what SQLite has beside it.
static double bytes_of(const char *path)
{
    struct stat info;
    double bytes = stat(path, &info) == 0 ? (double)info.st_size : 0;
    char *log = xprintf("%s-wal", path);
    bytes += stat(log, &info) == 0 ? (double)info.st_size : 0;
    free(log);
    return bytes;
}

static void save_result(struct store *store, const struct run *run, unsigned series,
                        struct grown *walk, bool changed, uint64_t *seed)
{
    struct sample samples[GROWN_SAMPLES];
    struct result r;
    struct error err;
    if (changed)
        grown_samples(samples, exp(walk->log_level), seed);
    grown_result(&r, series, walk, samples);
    r.reused = !changed;
    r.verdict = (struct verdict){.kind = VERDICT_SAME,
                                 .model = "plumb",
                                 .version = "1",
                                 .sentence = "kernel-00 4096x4096x4096:bf16-bf16:tn runs machine "
                                             "code that is measured already: 152.1 us"};
    must(store_save_result(store, run, &r, &err), &err);
}

static void save_commit(struct store *store, struct grown *walks, unsigned series, unsigned commit,
                        uint64_t *seed)
{
    struct run run = {0};
    struct error err;
    bool changed = true;
    grown_commit(&run, commit);
    must(store_begin_batch(store, &err), &err);
    must(store_begin_run(store, &run, &err), &err);
    for (unsigned s = 0; s < series; s++) {
        if (s % GROWN_PROBLEMS == 0)
            changed = commit == 0 || draw_bits(seed) % CHANGED == 0;
        walks[s].code += commit > 0 && changed;
        save_result(store, &run, s, &walks[s], changed, seed);
    }
    must(store_finish_run(store, &run, &err), &err);
    must(store_commit_batch(store, &err), &err);
    run_free(&run);
}

static void grow(const char *path, unsigned series, unsigned commits)
{
    struct store *store = scratch_store(path, STORE_WRITE);
    struct grown *walks = xcalloc(series, sizeof(*walks));
    uint64_t seed = 5;
    for (unsigned s = 0; s < series; s++)
        walks[s] =
            (struct grown){.log_level = log(2e4) + 5 * draw_unit(&seed), .predicted_ns = 2e4};
    save_commit(store, walks, series, 0, &seed);
    for (unsigned lap = 0; lap < LAPS; lap++) {
        const unsigned from = 1 + commits * lap / LAPS, end = 1 + commits * (lap + 1) / LAPS;
        const double before = bytes_of(path);
        const struct watch begun = now();
        for (unsigned c = from; c < end; c++)
            save_commit(store, walks, series, c, &seed);
        print_since("a commit of all series", begun, end - from, "");
        printf("%-44s %10.0f\n", "  bytes", (bytes_of(path) - before) / (end - from));
    }
    free(walks);
    store_close(store);
}

static void prune(const char *what, const char *path, unsigned before, bool runs)
{
    struct store *store = scratch_store(path, STORE_WRITE);
    struct store_counts removed;
    struct error err;
    // grown_commit()'s time of a commit
    const struct prune_rule rule = {.before_s = 1600000000 + 3600 * (int64_t)before, .runs = runs};
    const struct watch begun = now();
    must(store_prune(store, &rule, &removed, &err), &err);
    print_since(what, begun, 1, "");
    printf("%-44s %10lld runs, %.1f MB of samples; file %.1f MB\n", "  removed",
           (long long)removed.runs, (double)removed.samples_bytes / 1e6, bytes_of(path) / 1e6);
    store_close(store);
}

static void keep_house(const char *path, unsigned commits)
{
    struct store_report report;
    struct error err;
    struct store *store = scratch_store(path, STORE_READ);
    struct watch begun = now();
    must(store_check(&report, store, &err), &err);
    print_since("check", begun, 1, "");
    printf("%-44s %10lld measurements, %.1f MB, %zu problems\n", "  of",
           (long long)report.counts.measurements, (double)report.bytes / 1e6, report.problems);
    store_close(store);
    prune("prune: samples of the older half", path, commits / 2, false);
    prune("prune: one night later", path, commits / 2 + 1, false);
    prune("prune: runs of the older quarter", path, commits / 4, true);
}

static void make_shard(const char *path, const void *empty, size_t size, unsigned number)
{
    struct grown walk = {.log_level = 10, .predicted_ns = 2e4, .code = 1000000 + number};
    struct run run = {0};
    struct error err;
    uint64_t seed = number + 1;
    helper_write(path, empty, size);
    struct store *store = scratch_store(path, STORE_WRITE);
    grown_commit(&run, 1000000);
    must(store_begin_batch(store, &err), &err);
    must(store_begin_run(store, &run, &err), &err);
    for (unsigned i = 0; i < SHARD_RESULTS; i++)
        save_result(store, &run, number * SHARD_RESULTS + i, &walk, true, &seed);
    must(store_finish_run(store, &run, &err), &err);
    must(store_commit_batch(store, &err), &err);
    store_close(store);
    run_free(&run);
}

static void merge(const char *path, const char *folder, unsigned shards)
{
    struct error err;
    size_t size;
    char *first = xprintf("%s/empty.db", folder);
    store_close(scratch_store(first, STORE_WRITE));
    char *empty = helper_read(first, &size);
    for (unsigned i = 0; i < shards; i++) {
        char *shard = xprintf("%s/shard-%u.db", folder, i);
        make_shard(shard, empty, size, i);
        free(shard);
    }
    struct store *store = scratch_store(path, STORE_WRITE);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned lap = 0; lap < LAPS; lap++) {
            const unsigned from = shards * lap / LAPS, end = shards * (lap + 1) / LAPS;
            const struct watch begun = now();
            for (unsigned i = from; i < end; i++) {
                char *shard = xprintf("%s/shard-%u.db", folder, i);
                must(store_merge(store, shard, NULL, &err), &err);
                free(shard);
            }
            print_since(round ? "merge of a shard that is there" : "merge of a shard", begun,
                        end - from, "");
        }
    }
    store_close(store);
    free(empty);
    free(first);
}

int main(int argc, char **argv)
{
    int64_t series, commits, shards;
    if (argc < 4 || argc > 5 || parse_int64(&series, argv[1]) || parse_int64(&commits, argv[2]) ||
        parse_int64(&shards, argv[3]) || series < 1 || series > 1000000 || commits < LAPS ||
        commits > 100000 || shards < LAPS || shards > 100000) {
        fprintf(stderr, "usage: bench_scale SERIES COMMITS SHARDS [FOLDER]\n");
        return 1;
    }
    char *own = argc > 4 ? NULL : helper_directory();
    const char *folder = own ? own : argv[4];
    char *path = xprintf("%s/scale.db", folder);
    printf("%lld series, %lld commits, %lld shards of %d results\n", (long long)series,
           (long long)commits, (long long)shards, SHARD_RESULTS);
    grow(path, (unsigned)series, (unsigned)commits);
    merge(path, folder, (unsigned)shards);
    keep_house(path, (unsigned)commits);
    if (own)
        helper_discard(own);
    free(own);
    free(path);
    return 0;
}
