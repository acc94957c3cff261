// SPDX-License-Identifier: Apache-2.0
//
// Saves a run: first the run, then each result in a transaction of its own, then its end. What was
// saved before a kill is there afterwards.
#include "baselines/content.h"
#include "baselines/pack.h"
#include "baselines/run_lock.h"
#include "baselines/save.h"
#include "baselines/unbuilt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static int random_uid(char uid[STORE_UID_TEXT], struct error *err)
{
    unsigned char bits[(STORE_UID_TEXT - 1) / 2];
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        return error_set(err, "the system gives no random bytes for a run's uid");
    for (size_t i = 0; i < sizeof(bits); i++)
        snprintf(uid + 2 * i, 3, "%02x", bits[i]);
    return 0;
}

static int save_devices(struct store *store, int64_t run_id, const struct run *run,
                        struct error *err)
{
    for (size_t i = 0; i < run->device_count; i++) {
        const struct device *d = &run->devices[i];
        int64_t device, driver, runtime, profile;
        if (content_device(&device, store, d, err) ||
            content_text(&driver, store, d->driver, err) ||
            content_text(&runtime, store, d->runtime, err) ||
            content_text(&profile, store, d->profile, err) ||
            statement_run(
                store, err, SQL_ADD_RUN_DEVICE,
                CELLS(INT(run_id), INT(i), INT(device), INT(driver), INT(runtime), INT(profile))))
            return -1;
    }
    return 0;
}

int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err)
{
    int64_t tool, repository, policy, base, head, toolchains[2] = {0};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (run->toolchain[role] &&
            content_text(&toolchains[role], store, run->toolchain[role], err))
            return -1;
    }
    if (content_text(&tool, store, run->tool_version, err) ||
        content_text(&repository, store, run->repository, err) ||
        content_text(&policy, store, run->policy, err) ||
        content_commit(&base, store, &run->base, err) ||
        content_commit(&head, store, &run->head, err) ||
        statement_run(store, err, SQL_ADD_RUN,
                      CELLS(TEXT(uid), TEXT(run_kind_name(run->kind)), INT(run->started_s),
                            INT(tool), INT(repository), INT(policy), KEY(base), KEY(head),
                            INT(run->conclusion), TEXT(run->headline), KEY(toolchains[ROLE_BASE]),
                            KEY(toolchains[ROLE_HEAD]))))
        return -1;
    *run_id = sqlite3_last_insert_rowid(store->db);
    return save_devices(store, *run_id, run, err);
}

int store_begin_run(struct store *store, struct run *run, struct error *err)
{
    char uid[STORE_UID_TEXT];
    int64_t run_id = 0;
    assert(run->device_count > 0 && run->id == 0);
    if (run->started_s == 0)
        run->started_s = time(NULL);
    if (random_uid(uid, err) || transaction_begin(store, err))
        return -1;
    int status = save_run(&run_id, store, run, uid, err);
    if (status == 0)
        run_lock_claim(store, run_id); // before another process can see that it is there
    if (transaction_end(store, status, err))
        return -1;
    run->id = run_id;
    return 0;
}

// What the rows of one result share.
struct place {
    int64_t run, series, kernel;
    const char *driver; // of the device, in this run
    bool plain, reused;
    bool added;                              // a measurement or a prediction that was not there
    int64_t commit[2], commit_s[2], code[2]; // by enum sample_role
};

static int find_sides(struct place *place, struct store *store, int64_t run_id, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_RUN_SIDES, CELLS(INT(run_id)));
    int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1
                          : error_set(err, "store %s: has no run %lld; begin it first", store->path,
                                      (long long)run_id);
    place->run = run_id;
    place->plain = row_int(row, 0);
    place->commit[ROLE_BASE] = row_int(row, 1);
    place->commit_s[ROLE_BASE] = row_int(row, 2);
    place->commit[ROLE_HEAD] = row_int(row, 3);
    place->commit_s[ROLE_HEAD] = row_int(row, 4);
    sqlite3_reset(row);
    return 0;
}

// A file or a shard may say of a stored run what it is not.
static int check_device(struct store *store, const struct run *run, const char *uuid,
                        struct error *err)
{
    int64_t known;
    if (statement_get(&known, store, err, SQL_RUN_HAS_DEVICE, CELLS(INT(run->id), TEXT(uuid))))
        return -1;
    return known ? 0
                 : error_set(err, "store %s: its run %lld was not on device %.64s; not stored",
                             store->path, (long long)run->id, uuid);
}

static int find_place(struct place *place, struct store *store, const struct run *run,
                      const struct result *result, struct error *err)
{
    const struct series series = {result->kernel, &result->problem,
                                  run->devices[result->device].uuid};
    bool head_known = result->head_code[0] != '\0';
    place->reused = result->reused;
    place->driver = run->devices[result->device].driver;
    if (find_sides(place, store, run->id, err) ||
        check_device(store, run, series.device_uuid, err) ||
        content_kernel(&place->kernel, store, result->kernel, err) ||
        content_series(&place->series, store, &series, place->kernel, err))
        return -1;
    // The traits are the head's; the base's only when there is no head.
    if (content_code(&place->code[ROLE_HEAD], store, place->kernel, result->head_code,
                     &result->traits, err))
        return -1;
    return content_code(&place->code[ROLE_BASE], store, place->kernel, result->base_code,
                        head_known ? NULL : &result->traits, err);
}

static int check_samples(const struct measurement *m, const char *kernel, struct error *err)
{
    if (m->state == MEASURED_OK && m->count == 0)
        return error_set(err, "%s: a measurement that is ok has samples; not stored", kernel);
    if (m->count > PACK_SAMPLES)
        return error_set(err, "%s: %zu samples in one measurement, more than %d", kernel, m->count,
                         PACK_SAMPLES);
    for (size_t i = 0; i < m->count; i++) {
        const struct sample *s = &m->samples[i];
        if (!(s->time_ns > 0 && s->time_ns <= SAMPLE_TIME_NS && s->clock_hz >= 0 &&
              s->clock_hz <= SAMPLE_CLOCK_HZ))
            return error_set(err, "%s: sample %zu has time %g ns and clock %g Hz; not stored",
                             kernel, i, s->time_ns, s->clock_hz);
    }
    return 0;
}

static int add_samples(struct store *store, int64_t key, const struct measurement *m,
                       struct error *err)
{
    unsigned char *packed;
    size_t size;
    pack_samples(&packed, &size, m->samples, m->count);
    int status = statement_run(store, err, SQL_ADD_SAMPLES, CELLS(INT(key), BLOB(packed, size)));
    free(packed);
    return status;
}

static int add_measurement(int64_t *key, struct store *store, const struct place *place,
                           enum sample_role role, const struct measurement *m, struct error *err)
{
    int64_t regime, detail;
    double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    double clock_hz = measurement_clock_hz(m);
    if (!place->commit[role])
        return error_set(err, "store %s: a measurement of no commit; name the run's %s commit",
                         store->path, role == ROLE_BASE ? "base" : "head");
    if (content_text(&regime, store, m->regime, err) ||
        content_text(&detail, store, m->detail, err))
        return -1;
    if (statement_run(
            store, err, SQL_ADD_MEASUREMENT,
            CELLS(INT(place->run), INT(place->series), INT(role), INT(place->plain),
                  INT(place->commit[role]), INT(place->commit_s[role]), KEY(place->code[role]),
                  TEXT(measurement_state_name(m->state)), time_ns > 0 ? REAL(time_ns) : NOTHING,
                  clock_hz > 0 ? REAL(clock_hz) : NOTHING, INT(m->count), REAL(m->max_error),
                  REAL(m->tolerance), INT(m->seed), INT(regime), INT(detail))))
        return -1;
    *key = sqlite3_last_insert_rowid(store->db);
    return m->count ? add_samples(store, *key, m, err) : 0;
}

// The measurement of one side: another run's if it is reused and stored, a new row, or none (0).
static int place_measurement(int64_t *key, struct store *store, struct place *place,
                             enum sample_role role, const struct measurement *m,
                             const struct result *result, struct error *err)
{
    const char *code = role == ROLE_HEAD ? result->head_code : result->base_code;
    *key = 0;
    if (place->reused && code[0] &&
        statement_get(key, store, err, SQL_FIND_MEASUREMENT,
                      CELLS(INT(place->series), TEXT(code), m->regime ? TEXT(m->regime) : NOTHING,
                            TEXT(place->driver), m->regime ? TEXT(m->regime) : NOTHING,
                            INT(place->plain))))
        return -1;
    if (*key || m->state == MEASURED_NOT_TAKEN)
        return 0;
    if (check_samples(m, result->kernel, err))
        return -1;
    place->added = true;
    return add_measurement(key, store, place, role, m, err);
}

static int save_facts(struct store *store, struct place *place, const struct result *result,
                      struct error *err)
{
    int64_t there, base, head;
    if (statement_get(&there, store, err, SQL_FIND_RESULT,
                      CELLS(INT(place->run), INT(place->series))))
        return -1;
    if (there)
        return 0;
    if (place_measurement(&base, store, place, ROLE_BASE, &result->base, result, err) ||
        place_measurement(&head, store, place, ROLE_HEAD, &result->head, result, err))
        return -1;
    struct pair_scale scale = content_pair_scale(&result->base, &result->head);
    return statement_run(store, err, SQL_ADD_RESULT,
                         CELLS(INT(place->run), INT(place->series), KEY(place->code[ROLE_BASE]),
                               KEY(place->code[ROLE_HEAD]), INT(result->control),
                               INT(result->reused), KEY(base), KEY(head), INT(scale.pairs),
                               scale.pairs ? REAL(scale.sd) : NOTHING,
                               scale.pairs ? REAL(scale.sd_mad) : NOTHING));
}

static char *parts_json(const struct prediction *p)
{
    struct buffer text = {0};
    content_write_parts(&(struct json){.out = &text}, NULL, p);
    return text.bytes;
}

// What a reused result is predicted is what its measurement was predicted when it was made, unless
// the model is another by now: then nothing is kept again. Most results of most runs are reused.
static int save_prediction(struct store *store, struct place *place, const struct prediction *p,
                           struct error *err)
{
    int64_t model, known = 0;
    if (!p->model)
        return 0;
    if (content_model(&model, store, p->model, p->version, err))
        return -1;
    char *parts = parts_json(p);
    const struct cell why = p->feasible ? NOTHING : TEXT(p->why);
    int status = 0;
    if (place->reused)
        status = statement_get(&known, store, err, SQL_PREDICTED_BEFORE,
                               CELLS(INT(place->series), INT(place->run), INT(model), why,
                                     REAL(p->time_ns), REAL(p->clock_hz), REAL(p->clock_exponent),
                                     REAL(p->band), TEXT(bound_name(p->bound)), TEXT(parts)));
    place->added |= !known;
    if (status == 0 && !known)
        status =
            statement_run(store, err, SQL_PUT_PREDICTION,
                          CELLS(INT(place->series), INT(place->run), INT(model), INT(time(NULL)),
                                why, REAL(p->time_ns), REAL(p->clock_hz), REAL(p->clock_exponent),
                                REAL(p->band), TEXT(bound_name(p->bound)), TEXT(parts)));
    free(parts);
    return status;
}

static int save_verdict(struct store *store, const struct place *place, const struct verdict *v,
                        struct error *err)
{
    int64_t model;
    if (!v->sentence)
        return 0;
    if (content_model(&model, store, v->model, v->version, err))
        return -1;
    return statement_run(store, err, SQL_PUT_VERDICT,
                         CELLS(INT(place->series), INT(place->run), INT(model), INT(time(NULL)),
                               TEXT(verdict_kind_name(v->kind)), TEXT(cause_name(v->cause)),
                               REAL(v->log_ratio.value), REAL(v->log_ratio.low),
                               REAL(v->log_ratio.high), REAL(v->confidence), REAL(v->log_evidence),
                               REAL(v->margin), INT(v->pairs), INT(v->processes), REAL(v->gpu_s),
                               TEXT(v->sentence), v->explanation ? TEXT(v->explanation) : NOTHING,
                               v->detectable > 0 ? REAL(v->detectable) : NOTHING));
}

// Whoever kept a conclusion of this series' past, or of this run, learns that it is out of date. A
// result that names what was there before adds nothing to the past of a series.
static int mark(struct store *store, const struct place *place, const struct result *result,
                struct error *err)
{
    const bool nothing = place->reused && !place->added && !result->control;
    if (!place->plain)
        return 0;
    if (!nothing && statement_run(store, err, SQL_MARK_SERIES,
                                  CELLS(INT(place->series), INT(place->commit_s[ROLE_HEAD]))))
        return -1;
    return statement_run(store, err, SQL_FORGET_ACCURACY, CELLS(INT(place->run)));
}

static int save_result(struct store *store, const struct run *run, const struct result *result,
                       struct error *err)
{
    struct place place = {0};
    if (find_place(&place, store, run, result, err) || save_facts(store, &place, result, err) ||
        save_prediction(store, &place, &result->prediction, err) ||
        mark(store, &place, result, err))
        return -1;
    return save_verdict(store, &place, &result->verdict, err);
}

int store_save_result(struct store *store, const struct run *run, const struct result *result,
                      struct error *err)
{
    assert(run->id > 0 && result->device < run->device_count);
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save_result(store, run, result, err), err);
}

int save_finish(struct store *store, const struct run *run, int64_t finished_s, struct error *err)
{
    const struct self_test *t = &run->self_test;
    if (statement_run(
            store, err, SQL_FINISH_RUN,
            CELLS(INT(run->id), INT(finished_s), INT(run->conclusion), TEXT(run->headline))) ||
        save_unbuilt(store, run, err))
        return -1;
    if (t->series == 0 && !t->void_run)
        return 0;
    return statement_run(store, err, SQL_PUT_SELF_TEST,
                         CELLS(INT(run->id), INT(t->series), INT(t->alarms),
                               REAL(t->worst_log_evidence), INT(t->void_run)));
}

int store_finish_run(struct store *store, const struct run *run, struct error *err)
{
    assert(run->id > 0);
    if (transaction_begin(store, err))
        return -1;
    int64_t finished_s = run->finished_s ? run->finished_s : time(NULL);
    return transaction_end(store, save_finish(store, run, finished_s, err), err);
}
