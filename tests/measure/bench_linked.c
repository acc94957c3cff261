// SPDX-License-Identifier: Apache-2.0
//
// Makes a store of GROWN_SERIES series in which every commit has a new code, linked with the code
// before it and with those 8 and 64 codes back, as a backfill leaves it.
//
//     bench_linked CODES FOLDER [NIGHTS [KERNELS]]
//
// The store is FOLDER/linked-CODES.db; with NIGHTS so many more codes of all series, or of those of
// the first KERNELS kernels of GROWN_PROBLEMS series each, are added to it: all others run the last
// of the first CODES codes, which is not measured again. Then time what asks it: `plumb site
// --store ...` from nothing, again, and after a night.
#include "baselines/store.h"
#include "tests/helpers/helper_grown.h"
#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "bench_linked: %s\n", err->text);
        exit(1);
    }
}

static struct commit commit_of(unsigned number)
{
    struct run run = {0};
    grown_commit(&run, number);
    struct commit commit = run.head;
    run_free(&run);
    commit.summary = commit.author = "";
    return commit;
}

// One code in 50 is 1 to 3 % slower or faster than the one before.
static struct link link_of(unsigned head, unsigned back, double step, uint64_t *seed)
{
    const bool moved = back == 1 && fabs(step) > 0;
    struct link l = {.tool_version = "0.1.0",
                     .made_s = 1700000000 + head,
                     .back = back,
                     .kind = !moved     ? VERDICT_SAME
                             : step > 0 ? VERDICT_SLOWER
                                        : VERDICT_FASTER,
                     .log_ratio = step + 0.001 * draw_normal(seed),
                     .error = 0.0005,
                     .log_evidence = moved ? 30 : -3,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%024x%08x", back, head);
    return l;
}

static void add_link(struct store *store, unsigned s, unsigned head, struct link l)
{
    struct result base, result;
    struct error err;
    grown_result(&result, s, &(struct grown){.predicted_ns = 1, .code = head}, NULL);
    grown_result(&base, s, &(struct grown){.predicted_ns = 1, .code = head - l.back}, NULL);
    l.base = commit_of(head - l.back);
    l.head = commit_of(head);
    memcpy(l.base_code, base.head_code, sizeof(l.base_code));
    memcpy(l.head_code, result.head_code, sizeof(l.head_code));
    const struct series series = {result.kernel, &result.problem, "GPU-0"};
    must(store_save_link(store, &series, &l, &err), &err);
}

// The step of a series at a code is drawn from both alone, so that links of any reach agree.
static double step_at(unsigned s, unsigned code)
{
    uint64_t seed = 1 + 7919 * (uint64_t)code + s;
    draw_bits(&seed);
    const double size = draw_unit(&seed) < 0.02 ? 0.01 + 0.02 * draw_unit(&seed) : 0;
    return draw_unit(&seed) < 0.5 ? -size : size;
}

// The links of a series' code with those before it, each handed on.
static void link_code(struct store *store, struct grown_bulk *bulk, unsigned s, unsigned code,
                      uint64_t *seed)
{
    static const unsigned backs[] = {1, 8, 64};
    for (size_t b = 0; b < ARRAY_COUNT(backs) && backs[b] <= code; b++) {
        double step = 0;
        for (unsigned k = code - backs[b] + 1; k <= code; k++)
            step += step_at(s, k);
        const struct link l = link_of(code, backs[b], step, seed);
        if (bulk)
            grown_bulk_link(bulk, s, &l);
        else
            add_link(store, s, code, l);
    }
}

static void begin_walks(struct grown *walks)
{
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s] = (struct grown){
            .log_level = 10 + 0.01 * s, .predicted_ns = exp(10 + 0.01 * s), .pinned = true};
}

static void fill(struct store *store, unsigned codes)
{
    struct grown walks[GROWN_SERIES];
    uint64_t seed = 2028;
    begin_walks(walks);
    struct grown_bulk *bulk = grown_bulk_begin(store, walks, &seed);
    for (unsigned c = 1; c < codes; c++) {
        for (unsigned s = 0; s < GROWN_SERIES; s++)
            walks[s].code = c;
        grown_bulk_save(bulk, walks, &seed);
        for (unsigned s = 0; s < GROWN_SERIES; s++)
            link_code(store, bulk, s, c, &seed);
    }
    grown_bulk_end(bulk);
}

// Series from `still` on keep code number `kept`.
static void add_codes(struct store *store, unsigned first, unsigned end, unsigned still,
                      unsigned kept)
{
    struct grown walks[GROWN_SERIES];
    struct error err;
    uint64_t seed = 2028 + first;
    begin_walks(walks);
    must(store_begin_batch(store, &err), &err);
    for (unsigned c = first; c < end; c++) {
        for (unsigned s = 0; s < GROWN_SERIES; s++) {
            walks[s].code = s < still ? c : kept;
            walks[s].reused = s >= still;
        }
        grown_save(store, walks, c, &seed);
        for (unsigned s = 0; s < still; s++)
            link_code(store, NULL, s, c, &seed);
    }
    must(store_commit_batch(store, &err), &err);
}

int main(int argc, char **argv)
{
    struct arena arena = {0};
    struct error err;
    struct stat info;
    struct store_report report;
    int64_t codes, nights = 0, kernels = GROWN_SERIES / GROWN_PROBLEMS;
    if (argc < 3 || argc > 5 || parse_int64(&codes, argv[1]) || codes < 2 || codes > 100000 ||
        (argc > 3 && (parse_int64(&nights, argv[3]) || nights < 1 || nights > 1000)) ||
        (argc > 4 && (parse_int64(&kernels, argv[4]) || kernels < 1 ||
                      kernels > GROWN_SERIES / GROWN_PROBLEMS))) {
        fputs("usage: bench_linked CODES FOLDER [NIGHTS [KERNELS]]\n", stderr);
        return 1;
    }
    const char *path =
        scratch_path(&arena, argv[2], arena_printf(&arena, "linked-%lld.db", (long long)codes));
    const bool there = stat(path, &info) == 0;
    struct store *store = scratch_store(path, STORE_WRITE);
    must(store_info(&report, store, &err), &err);
    const unsigned first = (unsigned)report.counts.runs;
    if (!there)
        fill(store, (unsigned)codes);
    else if (nights)
        add_codes(store, first, first + (unsigned)nights, (unsigned)kernels * GROWN_PROBLEMS,
                  (unsigned)codes - 1);
    store_close(store);
    printf("%s: %.1f s of processor time\n", path, (double)clock() / CLOCKS_PER_SEC);
    arena_free(&arena);
    return 0;
}
