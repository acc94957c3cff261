// SPDX-License-Identifier: Apache-2.0
//
// Makes large stores, for measurements of speed.
#include "tests/helpers/helper_grown.h"

#include "baselines/pack.h"
#include "baselines/statement.h"
#include "tests/helpers/helper_store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status, const struct error *err)
{
    if (status) {
        fprintf(stderr, "helper_grown: %s\n", err->text);
        exit(1);
    }
}

static void advance(struct grown *w, uint64_t *seed)
{
    w->drift = 0.8 * w->drift + 0.003 * 0.6 * draw_normal(seed);
    if (draw_unit(seed) < 1.0 / 400)
        w->log_level += (draw_unit(seed) < 0.5 ? -1 : 1) * (0.005 + 0.045 * draw_unit(seed));
    const bool changes = draw_unit(seed) < 0.1;
    w->code += changes && !w->pinned;
}

void grown_samples(struct sample *samples, double level_ns, uint64_t *seed)
{
    for (int i = 0; i < GROWN_SAMPLES; i++) {
        double noise = 0.003 * draw_normal(seed) + (draw_bits(seed) % 50 == 0 ? 0.3 : 0);
        double clock_hz = 1.65e9 * (1 - 0.5 * noise);
        samples[i] = (struct sample){.time_ns = round(level_ns * exp(noise) * 4 / 32) * 8,
                                     .clock_hz = round(clock_hz / 1e5) * 1e5,
                                     .launches = 4,
                                     .pair = (uint32_t)i,
                                     .role = ROLE_HEAD,
                                     .order = (uint8_t)(draw_bits(seed) & 1),
                                     .throttle = THROTTLE_POWER,
                                     .temperature_c = (int16_t)(50 + draw_bits(seed) % 2),
                                     .power_mw = 650000 + (int32_t)(draw_bits(seed) % 8000)};
    }
}

void grown_result(struct result *r, unsigned series, const struct grown *walk,
                  struct sample *samples)
{
    double level_ns = exp(walk->log_level + walk->drift);
    memset(r, 0, sizeof(*r));
    snprintf(r->kernel, sizeof(r->kernel), "kernel-%02u", series / GROWN_PROBLEMS);
    r->problem = (struct problem){.m = 64 * (1 + series % GROWN_PROBLEMS),
                                  .n = 4096,
                                  .k = 4096,
                                  .in = DTYPE_BF16,
                                  .out = DTYPE_BF16,
                                  .batch = 1};
    r->traits = (struct traits){.in = DTYPE_BF16, .out = DTYPE_BF16, .tile_m = 128, .stages = 4};
    snprintf(r->head_code, sizeof(r->head_code), "%08x%032x", series / GROWN_PROBLEMS, walk->code);
    r->head = (struct measurement){.state = MEASURED_OK,
                                   .samples = samples,
                                   .count = GROWN_SAMPLES,
                                   .max_error = 0.1,
                                   .tolerance = 1,
                                   .regime = "cold, read flush, back to back",
                                   .detail = "",
                                   .seed = 42};
    r->prediction = (struct prediction){.model = "hopper",
                                        .version = "1",
                                        .feasible = true,
                                        .time_ns = walk->predicted_ns,
                                        .clock_hz = 1.65e9,
                                        .clock_exponent = -0.7,
                                        .band = 0.05,
                                        .bound = BOUND_COMPUTE,
                                        .parts = {{"launch", 2000},
                                                  {"prologue", 1500.5},
                                                  {"mainloop", level_ns * 0.8},
                                                  {"epilogue", level_ns * 0.1}},
                                        .part_count = 4};
}

void grown_commit(struct run *run, unsigned number)
{
    struct device *device = arena_alloc(&run->arena, sizeof(*device));
    *device = (struct device){"cuda", "GPU-0", "NVIDIA H200", "580.65", "13.0", "h200-sxm"};
    run->kind = RUN_MEASURE;
    run->started_s = 1600000000 + 3600 * (int64_t)number;
    run->finished_s = run->started_s + 60;
    run->tool_version = "0.1.0";
    run->repository = "kernels";
    run->policy = "generated";
    run->headline = "measured";
    run->base = (struct commit){.summary = "", .author = ""};
    snprintf(run->head.id, sizeof(run->head.id), "%08x%032x", (number + 1) * 2654435761u,
             number + 1); // short ids differ, as those of git do
    snprintf(run->head.tree, sizeof(run->head.tree), "f%039x", number + 1);
    run->head.summary =
        arena_printf(&run->arena, "kernels: change %u of the generated ones", number);
    run->head.author = "A. Author <author@example.org>";
    run->head.time_s = run->started_s;
    run->devices = device;
    run->device_count = 1;
}

static void record_build(struct store *store, const struct run *run, const struct grown *walks)
{
    struct build_kernel kernels[GROWN_SERIES / GROWN_PROBLEMS];
    struct error err;
    memset(kernels, 0, sizeof(kernels));
    for (unsigned k = 0; k < GROWN_SERIES / GROWN_PROBLEMS; k++) {
        snprintf(kernels[k].name, sizeof(kernels[k].name), "kernel-%02u", k);
        snprintf(kernels[k].code, sizeof(kernels[k].code), "%08x%032x", k,
                 walks[k * GROWN_PROBLEMS].code);
    }
    const struct build_record build = {
        run->head.tree, "cuda", MEASURED_OK, "", kernels, GROWN_SERIES / GROWN_PROBLEMS};
    must(store_record_build(store, &run->head, &build, &err), &err);
}

// Lets all series go one commit on; a kernel's series share its code.
static void move_all(struct grown *walks, uint64_t *seed)
{
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        advance(&walks[s], seed);
        walks[s].code = walks[s - s % GROWN_PROBLEMS].code;
    }
}

void grown_save(struct store *store, struct grown *walks, unsigned number, uint64_t *seed)
{
    struct run run = {0};
    struct error err;
    grown_commit(&run, number);
    move_all(walks, seed);
    record_build(store, &run, walks);
    must(store_begin_run(store, &run, &err), &err);
    for (unsigned s = 0; s < GROWN_SERIES; s++) {
        struct sample samples[GROWN_SAMPLES];
        struct result result;
        grown_samples(samples, exp(walks[s].log_level + walks[s].drift), seed);
        grown_result(&result, s, &walks[s], samples);
        result.reused = walks[s].reused;
        if (result.reused) // predicted as before
            result.prediction = (struct prediction){0};
        must(store_save_result(store, &run, &result, &err), &err);
    }
    must(store_finish_run(store, &run, &err), &err);
    run_free(&run);
}

// ---- many commits at once ----

enum { GROWN_KERNELS = GROWN_SERIES / GROWN_PROBLEMS };

struct grown_keys {
    int64_t commit, codes[GROWN_KERNELS];
};

struct grown_bulk {
    struct store *store;
    struct grown_keys *keys; // of each commit
    size_t count, room;
    int64_t link_tool;
    sqlite3_stmt *measurement, *samples, *result, *prediction, *link;
};

static sqlite3_stmt *prepare(struct store *store, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL)) {
        fprintf(stderr, "helper_grown: %s: %s\n", sql, sqlite3_errmsg(store->db));
        exit(1);
    }
    return statement;
}

// Runs a statement with these numbers as its first parameters.
static void run_with(sqlite3_stmt *statement, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        sqlite3_bind_double(statement, i + 1, numbers[i]);
    if (sqlite3_step(statement) != SQLITE_DONE) {
        fprintf(stderr, "helper_grown: %s\n", sqlite3_errmsg(sqlite3_db_handle(statement)));
        exit(1);
    }
    sqlite3_reset(statement);
}

static void pragmas(struct store *store, const char *sql)
{
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL)) {
        fprintf(stderr, "helper_grown: %s: %s\n", sql, sqlite3_errmsg(store->db));
        exit(1);
    }
}

// The keys that the newest run's commit and codes have.
static void note_keys(struct grown_bulk *b)
{
    sqlite3_stmt *row = prepare(b->store, "SELECT max(commit_key) FROM commits");
    b->keys = xgrow(b->keys, b->count, &b->room, sizeof(*b->keys));
    struct grown_keys *keys = &b->keys[b->count++];
    sqlite3_step(row);
    keys->commit = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    row = prepare(b->store, "SELECT x.code_key FROM commit_builds JOIN build_codes x "
                            "USING (build_key) JOIN kernels k USING (kernel_key) "
                            "WHERE commit_key = ? ORDER BY k.name");
    sqlite3_bind_int64(row, 1, keys->commit);
    for (int k = 0; k < GROWN_KERNELS && sqlite3_step(row) == SQLITE_ROW; k++)
        keys->codes[k] = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
}

struct grown_bulk *grown_bulk_begin(struct store *store, struct grown *walks, uint64_t *seed)
{
    struct grown_bulk *b = xcalloc(1, sizeof(*b));
    struct error err;
    b->store = store;
    grown_save(store, walks, 0, seed);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL); // it forbids to go without
    pragmas(store, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF; "
                   "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; "
                   "PRAGMA cache_size = -4000000");
    must(store_begin_batch(store, &err), &err);
    b->measurement = prepare(
        store, "INSERT INTO measurements (run_key, series_key, role, plain, commit_key, commit_s, "
               "code_key, state, time_ns, clock_hz, samples, max_error, tolerance, seed, "
               "regime_key, detail_key, memory_bytes, beside) SELECT ?1, series_key, role, plain, "
               "?2, ?3, ?4, state, ?5, ?6, samples, max_error, tolerance, seed, regime_key, "
               "detail_key, memory_bytes, beside FROM measurements WHERE measurement_key = ?7");
    b->samples = prepare(store, "INSERT INTO samples (measurement_key, packed) VALUES (?, ?)");
    b->result = prepare(store, "INSERT INTO results SELECT ?1, series_key, base_code_key, ?2, "
                               "control, reused, base_key, ?3, pairs, pair_sd, pair_sd_mad "
                               "FROM results WHERE run_key = 1 AND series_key = ?4");
    b->prediction = prepare(
        store, "INSERT INTO predictions SELECT series_key, ?1, model_key, made_s, why, time_ns, "
               "clock_hz, clock_exponent, band, bound, ?3, band_95, bias_rows FROM predictions "
               "WHERE run_key = 1 AND series_key = ?2");
    b->link = prepare(
        store, "INSERT INTO links (uid, series_key, base_code_key, head_code_key, base_commit_key, "
               "head_commit_key, tool_key, made_s, back, kind, log_ratio, error, log_evidence, "
               "pairs, processes) VALUES (?13, ?1, ?2, ?3, ?4, ?5, (SELECT tool_key FROM runs "
               "WHERE run_key = 1), ?6, ?7, ?14, ?8, ?9, ?10, ?11, ?12)");
    note_keys(b);
    return b;
}

static void bulk_result(struct grown_bulk *b, unsigned s, const struct grown *walk, int64_t time_s,
                        uint64_t *seed)
{
    struct sample samples[GROWN_SAMPLES];
    struct result r;
    char parts[160];
    unsigned char *packed;
    size_t size;
    const double level_ns = exp(walk->log_level + walk->drift), run = (double)b->count;
    const struct grown_keys *keys = &b->keys[b->count - 1];
    const double code = (double)keys->codes[s / GROWN_PROBLEMS];
    grown_samples(samples, level_ns, seed);
    grown_result(&r, s, walk, samples);
    run_with(b->measurement,
             (const double[]){run, (double)keys->commit, (double)time_s, code,
                              measurement_time_ns(&r.head), measurement_clock_hz(&r.head), s + 1},
             7);
    const int64_t key = sqlite3_last_insert_rowid(b->store->db);
    pack_samples(&packed, &size, samples, GROWN_SAMPLES);
    sqlite3_bind_blob64(b->samples, 2, packed, size, SQLITE_STATIC);
    run_with(b->samples, (const double[]){(double)key}, 1);
    free(packed);
    run_with(b->result, (const double[]){run, code, (double)key, s + 1}, 4);
    snprintf(parts, sizeof(parts),
             "[[\"launch\",2000],[\"prologue\",1500.5],[\"mainloop\",%.17g],[\"epilogue\",%.17g]]",
             level_ns * 0.8, level_ns * 0.1);
    sqlite3_bind_text(b->prediction, 3, parts, -1, SQLITE_STATIC);
    run_with(b->prediction, (const double[]){run, s + 1}, 2);
}

void grown_bulk_save(struct grown_bulk *b, struct grown *walks, uint64_t *seed)
{
    struct run run = {0};
    struct error err;
    grown_commit(&run, (unsigned)b->count);
    move_all(walks, seed);
    record_build(b->store, &run, walks);
    must(store_begin_run(b->store, &run, &err), &err);
    note_keys(b);
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        bulk_result(b, s, &walks[s], run.head.time_s, seed);
    must(store_finish_run(b->store, &run, &err), &err);
    run_free(&run);
}

void grown_bulk_link(struct grown_bulk *b, unsigned s, const struct link *l)
{
    const struct grown_keys *head = &b->keys[b->count - 1], *base = head - l->back;
    sqlite3_bind_text(b->link, 13, l->uid, -1, SQLITE_STATIC);
    sqlite3_bind_text(b->link, 14, verdict_kind_name(l->kind), -1, SQLITE_STATIC);
    run_with(b->link,
             (const double[]){s + 1, (double)base->codes[s / GROWN_PROBLEMS],
                              (double)head->codes[s / GROWN_PROBLEMS], (double)base->commit,
                              (double)head->commit, (double)l->made_s, l->back, l->log_ratio,
                              l->error, l->log_evidence, l->pairs, l->processes},
             12);
}

void grown_bulk_end(struct grown_bulk *b)
{
    struct error err;
    sqlite3_stmt *all[] = {b->measurement, b->samples, b->result, b->prediction, b->link};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        sqlite3_finalize(all[i]);
    must(store_commit_batch(b->store, &err), &err);
    pragmas(b->store, "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL");
    free(b->keys);
    free(b);
}
