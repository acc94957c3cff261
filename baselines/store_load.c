// SPDX-License-Identifier: Apache-2.0
//
// Rows back to structs. What a row says is checked: it may come from another machine's file.
#include "baselines/content.h"
#include "baselines/load.h"
#include "baselines/pack.h"
#include "baselines/study.h"
#include "baselines/unbuilt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *column_text(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);
    return text ? (const char *)text : "";
}

static bool samples_sound(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(samples[i].time_ns > 0 && isfinite(samples[i].time_ns) && samples[i].clock_hz >= 0 &&
              isfinite(samples[i].clock_hz)))
            return false;
    }
    return true;
}

static int load_samples(struct measurement *m, struct store *store, sqlite3_stmt *row,
                        struct arena *arena, struct error *err)
{
    int64_t count = row_int(row, 3);
    double time_ns = row_real(row, 1), clock_hz = row_real(row, 2);
    if (row_null(row, 9)) {
        if (count == 0 || !(time_ns > 0))
            return 0;
        m->samples = arena_alloc(arena, sizeof(*m->samples));
        m->samples[0] = (struct sample){.time_ns = time_ns,
                                        .clock_hz = clock_hz > 0 ? clock_hz : 0,
                                        .launches = 1,
                                        .temperature_c = INT16_MIN,
                                        .power_mw = -1};
        m->count = 1;
        return 0;
    }
    const void *bytes = sqlite3_column_blob(row, 9);
    size_t size = (size_t)sqlite3_column_bytes(row, 9);
    if (unpack_samples(&m->samples, &m->count, bytes, size, arena, err))
        return store_damaged(store, "packed samples", err);
    if ((int64_t)m->count != count || !samples_sound(m->samples, m->count))
        return store_damaged(store, "samples that cannot be", err);
    return 0;
}

int load_measurement(struct measurement *out, struct store *store, int64_t key, struct arena *arena,
                     struct error *err)
{
    struct measurement m = {.detail = "", .regime = ""};
    if (key) {
        sqlite3_stmt *row = statement_bind(store, SQL_LOAD_MEASUREMENT, CELLS(INT(key)));
        int status = statement_step(store, row, err);
        if (status <= 0)
            return status < 0 ? -1 : store_damaged(store, "a measurement is missing", err);
        if (measurement_state_parse(&m.state, column_text(row, 0)) || m.state == MEASURED_NOT_TAKEN)
            status = store_damaged(store, "a measurement's state", err);
        m.max_error = row_real(row, 4);
        m.tolerance = row_real(row, 5);
        m.seed = (uint64_t)row_int(row, 6);
        m.regime = row_text(row, 7, arena);
        m.detail = row_text(row, 8, arena);
        if (status > 0)
            status = load_samples(&m, store, row, arena, err);
        sqlite3_reset(row);
        if (status < 0)
            return -1;
    }
    *out = m;
    return 0;
}

static int load_parts(struct prediction *p, struct store *store, const char *json,
                      struct arena *arena, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_READ_PARTS, CELLS(TEXT(json)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        double time_ns = NAN;
        if (p->part_count == PREDICTION_PARTS)
            continue;
        if (strcmp(column_text(row, 1), "null") != 0 && parse_double(&time_ns, column_text(row, 1)))
            time_ns = NAN;
        p->parts[p->part_count++] = (struct prediction_part){row_text(row, 0, arena), time_ns};
    }
    return status;
}

static int parse_bound(enum bound *out, const char *name)
{
    for (int i = 0; i < BOUNDS; i++) {
        if (strcmp(bound_name((enum bound)i), name) == 0) {
            *out = (enum bound)i;
            return 0;
        }
    }
    return -1;
}

static double known(double value)
{
    return isnan(value) ? 0 : value;
}

static int load_prediction(struct prediction *out, struct store *store, int64_t series,
                           int64_t run_id, struct arena *arena, struct error *err)
{
    struct prediction p = {0};
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_PREDICTION, CELLS(INT(series), INT(run_id)));
    int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    p.model = row_text(row, 0, arena);
    p.version = row_text(row, 1, arena);
    p.feasible = row_null(row, 2);
    p.why = p.feasible ? NULL : row_text(row, 2, arena);
    p.time_ns = known(row_real(row, 3));
    p.clock_hz = known(row_real(row, 4));
    p.clock_exponent = known(row_real(row, 5));
    p.band = known(row_real(row, 6));
    bool sound = parse_bound(&p.bound, column_text(row, 7)) == 0;
    const char *parts = row_text(row, 8, arena);
    sqlite3_reset(row);
    if (!sound)
        return store_damaged(store, "a prediction's bound", err);
    if (load_parts(&p, store, parts, arena, err))
        return -1;
    *out = p;
    return 0;
}

static int load_verdict(struct verdict *out, struct store *store, int64_t series, int64_t run_id,
                        struct arena *arena, struct error *err)
{
    struct verdict v = {0};
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_VERDICT, CELLS(INT(series), INT(run_id)));
    int status = statement_step(store, row, err);
    if (status <= 0)
        return status;
    v.model = row_text(row, 0, arena);
    v.version = row_text(row, 1, arena);
    bool sound = verdict_kind_parse(&v.kind, column_text(row, 2)) == 0 &&
                 cause_parse(&v.cause, column_text(row, 3)) == 0;
    v.log_ratio = (struct interval){row_real(row, 4), row_real(row, 5), row_real(row, 6)};
    v.confidence = known(row_real(row, 7));
    v.log_evidence = known(row_real(row, 8));
    v.margin = known(row_real(row, 9));
    v.pairs = (uint32_t)row_int(row, 10);
    v.processes = (uint32_t)row_int(row, 11);
    v.gpu_s = known(row_real(row, 12));
    v.sentence = row_text(row, 13, arena);
    v.explanation = row_text(row, 14, arena);
    v.detectable = row_real(row, 15);
    sqlite3_reset(row);
    if (!sound)
        return store_damaged(store, "a verdict's kind or cause", err);
    *out = v;
    return 0;
}

// What a row of RESULT_ROW refers to, kept while the row's statement is reset.
struct references {
    int64_t base, head, series;
    const char *traits;
};

static int read_result(struct result *out, struct references *refs, struct store *store,
                       sqlite3_stmt *row, struct arena *arena, struct error *err)
{
    struct error ignored;
    bool sound = row_copy(out->kernel, sizeof(out->kernel), row, 0) &&
                 problem_parse(&out->problem, column_text(row, 1), &ignored) == 0 &&
                 !row_null(row, 2) && row_int(row, 2) >= 0 &&
                 row_copy(out->base_code, sizeof(out->base_code), row, 3) &&
                 row_copy(out->head_code, sizeof(out->head_code), row, 4);
    if (!sound)
        return store_damaged(store, "a result's kernel, problem or device", err);
    out->device = (size_t)row_int(row, 2);
    out->control = row_int(row, 6) != 0;
    out->reused = row_int(row, 7) != 0;
    *refs = (struct references){row_int(row, 8), row_int(row, 9), row_int(row, 10),
                                row_text(row, 5, arena)};
    return 0;
}

// Its own, or that of the run which measured what it shows.
static int find_prediction(struct result *out, const struct references *refs, struct store *store,
                           int64_t run_id, struct arena *arena, struct error *err)
{
    int64_t measured_by;
    if (load_prediction(&out->prediction, store, refs->series, run_id, arena, err))
        return -1;
    if (out->prediction.model || !out->reused || !refs->head)
        return 0;
    if (statement_get(&measured_by, store, err, SQL_MEASURED_BY, CELLS(INT(refs->head))))
        return -1;
    return load_prediction(&out->prediction, store, refs->series, measured_by, arena, err);
}

static int complete_result(struct result *out, const struct references *refs, struct store *store,
                           int64_t run_id, struct arena *arena, struct error *err)
{
    if (refs->traits && refs->traits[0] &&
        content_load_traits(&out->traits, store, refs->traits, err))
        return -1;
    if (load_measurement(&out->base, store, refs->base, arena, err) ||
        load_measurement(&out->head, store, refs->head, arena, err) ||
        find_prediction(out, refs, store, run_id, arena, err))
        return -1;
    return load_verdict(&out->verdict, store, refs->series, run_id, arena, err);
}

int store_find_result(struct result *out, bool *found, struct store *store, int64_t run_id,
                      const struct series *series, struct arena *arena, struct error *err)
{
    struct result result = {0};
    struct references refs = {0};
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_RESULT, CELLS(INT(run_id), INT(key)));
    int status = statement_step(store, row, err);
    if (status <= 0) {
        if (status == 0)
            *found = false;
        return status;
    }
    status = read_result(&result, &refs, store, row, arena, err);
    sqlite3_reset(row);
    if (status || complete_result(&result, &refs, store, run_id, arena, err))
        return -1;
    *out = result;
    *found = true;
    return 0;
}

static int read_results(struct run *run, struct references *refs, size_t limit, struct store *store,
                        struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_RESULTS, CELLS(INT(run->id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0 && run->count < limit) {
        struct result *result = &run->results[run->count];
        status = read_result(result, &refs[run->count], store, row, &run->arena, err);
        if (status == 0 && result->device >= run->device_count)
            status = store_damaged(store, "a result's device", err);
        if (status)
            break;
        run->count++;
    }
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

static int load_results(struct run *run, struct store *store, struct error *err)
{
    int64_t count;
    if (statement_get(&count, store, err, SQL_COUNT_RESULTS, CELLS(INT(run->id))))
        return -1;
    run->results = arena_alloc(&run->arena, (size_t)count * sizeof(*run->results));
    struct references *refs = xcalloc((size_t)count, sizeof(*refs));
    int status = read_results(run, refs, (size_t)count, store, err);
    for (size_t i = 0; status == 0 && i < run->count; i++)
        status = complete_result(&run->results[i], &refs[i], store, run->id, &run->arena, err);
    free(refs);
    return status;
}

static int load_devices(struct run *run, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_RUN_DEVICES, CELLS(INT(run->id)));
    struct device *devices = NULL;
    size_t count = 0;
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        devices = xrealloc(devices, count + 1, sizeof(*devices));
        devices[count++] =
            (struct device){row_text(row, 0, &run->arena), row_text(row, 1, &run->arena),
                            row_text(row, 2, &run->arena), row_text(row, 3, &run->arena),
                            row_text(row, 4, &run->arena), row_text(row, 5, &run->arena)};
    }
    run->devices = arena_copy(&run->arena, devices, count * sizeof(*devices));
    run->device_count = count;
    free(devices);
    return status;
}

static int load_header(struct run *run, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_RUN, CELLS(INT(run->id)));
    int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1
                          : error_set(err,
                                      "store %s: has no run %lld; `plumb report --list` "
                                      "shows them",
                                      store->path, (long long)run->id);
    bool sound = run_kind_parse(&run->kind, column_text(row, 0)) == 0;
    run->started_s = row_int(row, 1);
    run->finished_s = row_int(row, 2);
    run->tool_version = row_text(row, 3, &run->arena);
    run->repository = row_text(row, 4, &run->arena);
    run->policy = row_text(row, 5, &run->arena);
    int64_t conclusion = row_int(row, 6);
    run->headline = row_text(row, 7, &run->arena);
    int64_t base = row_int(row, 8), head = row_int(row, 9);
    run->self_test = (struct self_test){(uint32_t)row_int(row, 10), (uint32_t)row_int(row, 11),
                                        known(row_real(row, 12)), row_int(row, 13) != 0};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const char *name = row_text(row, 15 + role, &run->arena);
        run->toolchain[role] = name[0] ? name : NULL;
    }
    sqlite3_reset(row);
    if (!sound || conclusion < CONCLUDE_OK || conclusion > CONCLUDE_FAILED)
        return store_damaged(store, "a run's kind or conclusion", err);
    run->conclusion = (enum conclusion)conclusion;
    if (content_load_commit(&run->base, store, base, &run->arena, err))
        return -1;
    return content_load_commit(&run->head, store, head, &run->arena, err);
}

int store_load_run(struct run *out, struct store *store, int64_t run_id, struct error *err)
{
    struct run run = {.id = run_id};
    if (load_header(&run, store, err) || load_devices(&run, store, err) ||
        load_results(&run, store, err) || load_study(&run, store, err) ||
        load_unbuilt(&run, store, err)) {
        run_free(&run);
        return -1;
    }
    *out = run;
    return 0;
}
