// SPDX-License-Identifier: Apache-2.0
//
// A run in the store: saved, loaded and found.
//
// First the run is saved, then each result in a transaction of its own, then the run's end. So
// everything that was saved before a kill is there afterwards. Each row is checked when it is read,
// because it may come from another machine's file.

#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "model/robust.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

// ---- why a run's commits do not build ----

#define F(...) FIELD_ITEM(unbuilt, __VA_ARGS__)
STORED_FIELDS(unbuilt, "unbuilt", UNBUILT_FIELDS(F));
#undef F

struct unbuilt unbuilt_of(const struct build_failure *failure, struct arena *arena)
{
    struct buffer errors = {0};
    for (size_t i = 0; i < failure->count; i++) {
        const struct build_error *e = &failure->errors[i];
        buffer_printf(&errors, "%s\t%u\t%s\n", e->file, e->line, e->text);
    }
    const char *text = arena_strdup(arena, errors.bytes ? errors.bytes : "");
    buffer_free(&errors);
    return (struct unbuilt){failure->reason, failure->log, text};
}

// Takes the next piece of the text, which ends at `end`; NULL if there is none.
static const char *piece(const char **at, char end, struct arena *arena)
{
    const char *from = *at, *to = strchr(from, end);
    if (!to)
        return NULL;
    *at = to + 1;
    return arena_strndup(arena, from, (size_t)(to - from));
}

bool unbuilt_failure(struct build_failure *out, const struct unbuilt *unbuilt, struct arena *arena)
{
    size_t most = 0;
    for (const char *c = unbuilt->errors; *c; c++)
        most += *c == '\n';
    struct build_error *errors = arena_alloc(arena, most * sizeof(*errors));
    size_t count = 0;
    for (const char *at = unbuilt->errors; *at; count++) {
        const char *file = piece(&at, '\t', arena);
        const char *line = file ? piece(&at, '\t', arena) : NULL;
        const char *said = line ? piece(&at, '\n', arena) : NULL;
        int64_t number;
        if (!said || count == most || parse_int64(&number, line) || number < 0 ||
            number > UINT32_MAX)
            return false;
        errors[count] = (struct build_error){file, (uint32_t)number, said};
    }
    *out = (struct build_failure){unbuilt->reason, unbuilt->log, errors, count};
    return true;
}

static int save_unbuilt(struct store *store, const struct run *run, struct error *err)
{
    struct arena arena = {0};
    int status = 0;
    for (int role = ROLE_BASE; status == 0 && role <= ROLE_HEAD; role++) {
        if (!run->unbuilt[role].reason)
            continue;
        const struct unbuilt unbuilt = unbuilt_of(&run->unbuilt[role], &arena);
        status = fields_run(store, SQL_PUT_UNBUILT, CELLS(INT(run->id), INT(role)), &unbuilt_fields,
                            &unbuilt, err);
    }
    arena_free(&arena);
    return status;
}

static int load_unbuilt(struct run *run, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_UNBUILT, CELLS(INT(run->id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct unbuilt unbuilt;
        const int64_t role = row_int(row, 0);
        if (fields_load(&unbuilt, &unbuilt_fields, store, row, 1, &run->arena, err)) {
            status = -1;
            break;
        }
        if (role < ROLE_BASE || role > ROLE_HEAD ||
            !unbuilt_failure(&run->unbuilt[role], &unbuilt, &run->arena)) {
            status = store_damaged(store, "why a commit does not build", err);
            break;
        }
    }
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

// ---- whose an unfinished run is ----
//
// Any process may go on with a run that was interrupted. A run that is still being measured belongs
// to its process: otherwise two processes would write verdicts beside each other's samples. A
// process locks one byte for each of its runs in STORE-runs, an empty file beside the store; the
// byte's offset is the run's number. The kernel releases these locks when the process ends, for
// whatever reason. On a file system without locks every unfinished run counts as interrupted.

// True: the run belongs to this handle from now on, until store_close(). False: another handle has
// it.
static bool run_lock_claim(struct store *store, int64_t run_id)
{
    // The lock belongs to the open file and not to the process, so that closing another handle
    // keeps it.
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run_id, .l_len = 1};
    if (!store->runs_open) {
        char *path = xprintf("%s-runs", store->path);
        store->runs = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        store->runs_open = store->runs >= 0;
        free(path);
    }
    return !store->runs_open || fcntl(store->runs, F_OFD_SETLK, &byte) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

// ---- metrics: figures beside the times ----

static bool metric_sound(const struct metric_result *m)
{
    return m->name[0] && m->what[0] && m->subject[0] && isfinite(m->margin) && isfinite(m->least);
}

static int save_metrics(struct store *store, const struct run *run, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < run->metric_count; i++) {
        if (!metric_sound(&run->metrics[i]))
            return error_set(err, "a metric has a name, a subject, a margin and what it is of");
        status = fields_run(store, SQL_PUT_METRIC, CELLS(INT(run->id)), &metric_fields,
                            &run->metrics[i], err);
    }
    return status;
}

static int read_metric(void *item, const struct row_list *list, struct error *err)
{
    struct metric_result *m = item;
    if (fields_load(m, &metric_fields, list->store, list->row, 1, list->arena, err))
        return -1;
    return metric_sound(m) ? 0 : store_damaged(list->store, "a metric", err);
}

static int load_metrics(struct run *run, struct store *store, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_METRICS, CELLS(INT(run->id))),
                            .arena = &run->arena};
    if (statement_list(&list, sizeof(*run->metrics), read_metric, err))
        return -1;
    run->metrics = list.items;
    run->metric_count = list.count;
    return 0;
}

static int read_value(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct metric_value v = {.value = row_real(row, 1),
                             .name = row_text(row, 2, list->arena),
                             .subject = row_text(row, 3, list->arena),
                             .device = row_text(row, 4, list->arena),
                             .what = row_text(row, 5, list->arena),
                             .unit = row_text(row, 6, list->arena),
                             .margin = row_real(row, 7),
                             .least = row_real(row, 8),
                             .higher = row_int(row, 9) == 1,
                             .noisy = row_int(row, 10) == 1,
                             .commit_s = row_int(row, 13),
                             .proposed = row_int(row, 14) == 1};
    if (!row_copy(v.commit, sizeof(v.commit), row, 0) ||
        !(v.value >= 0 && v.value <= METRIC_MOST && v.margin >= 0 && v.least >= 0))
        return store_damaged(list->store, "a metric's value", err);
    *(struct metric_value *)item = v;
    return 0;
}

int store_metric_values(struct metric_value **out, size_t *count, struct store *store,
                        struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_ALL_METRICS, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_value, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

// ---- studies: how good a device's gates were when they were counted ----

bool study_sound(const struct study_result *s)
{
    const uint64_t verdicts = (uint64_t)s->slower + s->faster + s->same + s->undecided + s->broken;
    return verdicts == s->gates && s->first_alarms <= s->gates;
}

static int save_row(struct store *store, const struct run *run, const struct study_result *s,
                    struct error *err)
{
    const struct series series = {s->kernel, &s->problem, run->devices[s->device].uuid};
    int64_t kernel, key;
    if (content_kernel(&kernel, store, s->kernel, err) ||
        content_series(&key, store, &series, kernel, err))
        return -1;
    return fields_run(store, SQL_PUT_STUDY,
                      CELLS(INT(run->id), INT(key), TEXT(study_kind_name(s->kind))), &study_fields,
                      s, err);
}

static int save_study(struct store *store, const struct run *run, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < run->study_count; i++)
        status = save_row(store, run, &run->studies[i], err);
    return status;
}

int store_save_study(struct store *store, const struct run *run, struct error *err)
{
    assert(run->id > 0);
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save_study(store, run, err), err);
}

static int read_row(void *item, const struct row_list *list, struct error *err)
{
    const struct run *run = list->given;
    sqlite3_stmt *row = list->row;
    struct arena arena = {0};
    struct error ignored;
    struct study_result s = {.device = run->device_count};
    const char *uuid = row_text(row, 2, &arena);
    bool sound = row_copy(s.kernel, sizeof(s.kernel), row, 0) &&
                 problem_parse(&s.problem, row_text(row, 1, &arena), &ignored) == 0 &&
                 study_kind_parse(&s.kind, row_text(row, 3, &arena)) == 0;
    for (size_t i = 0; i < run->device_count; i++) {
        if (strcmp(run->devices[i].uuid, uuid) == 0)
            s.device = i;
    }
    const int status = fields_load(&s, &study_fields, list->store, row, 4, &arena, err);
    arena_free(&arena);
    if (status)
        return -1;
    if (!sound || s.device == run->device_count || !study_sound(&s))
        return store_damaged(list->store, "a study", err);
    *(struct study_result *)item = s;
    return 0;
}

// Fills in run->studies; the run's id, devices and arena are set.
static int load_study(struct run *run, struct store *store, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_STUDY, CELLS(INT(run->id))),
                            .arena = &run->arena,
                            .given = run};
    if (statement_list(&list, sizeof(*run->studies), read_row, err))
        return -1;
    run->studies = list.items;
    run->study_count = list.count;
    return 0;
}

static int count_alarms(struct alarm_count *out, sqlite3_stmt *row, struct store *store,
                        struct error *err)
{
    const int status = statement_step(store, row, err);
    if (status < 0)
        return -1;
    const int64_t gates = status ? row_int(row, 0) : 0, alarms = status ? row_int(row, 1) : 0;
    sqlite3_reset(row);
    if (gates < 0 || alarms < 0 || alarms > gates)
        return store_damaged(store, "counts of false alarms", err);
    *out = (struct alarm_count){(uint64_t)gates, (uint64_t)alarms};
    return 0;
}

int store_false_alarms(struct alarm_count *studies, struct alarm_count *self_tests,
                       struct store *store, const char *device_uuid, struct error *err)
{
    struct alarm_count of_studies, of_tests;
    if (count_alarms(&of_studies, statement_bind(store, SQL_STUDY_ALARMS, CELLS(TEXT(device_uuid))),
                     store, err) ||
        count_alarms(&of_tests, statement_bind(store, SQL_SELF_ALARMS, CELLS(TEXT(device_uuid))),
                     store, err))
        return -1;
    *studies = of_studies;
    *self_tests = of_tests;
    return 0;
}

int store_series_false_alarms(struct alarm_count *out, struct store *store,
                              const struct series *series, struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    return count_alarms(out, statement_bind(store, SQL_STUDY_SERIES_ALARMS, CELLS(INT(key))), store,
                        err);
}

// ---- saving ----

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
        int64_t device;
        if (content_device(&device, store, d, err) ||
            fields_run(store, SQL_ADD_RUN_DEVICE, CELLS(INT(run_id), INT(i), INT(device)),
                       &run_device_fields, d, err))
            return -1;
    }
    return 0;
}

int save_run(int64_t *run_id, struct store *store, const struct run *run, const char *uid,
             struct error *err)
{
    struct run begun = *run;
    int64_t base, head;
    begun.finished_s = 0;
    if (content_commit(&base, store, &run->base, err) ||
        content_commit(&head, store, &run->head, err))
        return -1;
    struct cell cells[FIELD_CELLS] = {TEXT(uid), KEY(base), KEY(head)};
    size_t count = 3;
    if (fields_cells(cells, &count, store, &run_fields, &begun, err) ||
        fields_cells(cells, &count, store, &run_toolchain_fields, &begun, err) ||
        fields_cells(cells, &count, store, &run_end_fields, &begun, err) ||
        statement_run(store, err, SQL_ADD_RUN, cells, count))
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

// Identifies the pair that a sample belongs to. Its number is not enough, because numbers may begin
// again in each process or block.
struct paired {
    uint32_t pair;
    uint16_t block, process;
    uint8_t role;
    double log_time;
};

static int by_pair(const void *left, const void *right)
{
    const struct paired *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    if (a->pair != b->pair)
        return a->pair < b->pair ? -1 : 1;
    return (a->role > b->role) - (a->role < b->role);
}

static size_t collect(struct paired *out, const struct measurement *m, uint8_t role)
{
    size_t used = 0;
    for (size_t i = 0; i < m->count; i++) {
        const struct sample *s = &m->samples[i];
        if (!s->excluded && s->time_ns > 0)
            out[used++] = (struct paired){s->pair, s->block, s->process, role, log(s->time_ns)};
    }
    return used;
}

static struct pair_scale spread(double *ratios, size_t count)
{
    struct pair_scale scale = {.pairs = (uint32_t)count};
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += ratios[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (ratios[i] - mean) * (ratios[i] - mean);
    scale.sd = sqrt(squares / (double)(count - 1));
    scale.sd_mad = robust_sd(ratios, count);
    return scale;
}

// The spread of the pairs that two measurements of one run form; its `pairs` is 0 when they form
// none.
static struct pair_scale pair_scale_of(const struct measurement *base,
                                       const struct measurement *head)
{
    struct paired *all = xcalloc(base->count + head->count, sizeof(*all));
    double *ratios = xcalloc(head->count, sizeof(*ratios));
    size_t used = collect(all, base, ROLE_BASE);
    used += collect(all + used, head, ROLE_HEAD);
    qsort(all, used, sizeof(*all), by_pair);
    size_t pairs = 0;
    for (size_t i = 0; i + 1 < used; i++) {
        const struct paired *a = &all[i], *b = &all[i + 1];
        if (a->process == b->process && a->block == b->block && a->pair == b->pair &&
            a->role == ROLE_BASE && b->role == ROLE_HEAD)
            ratios[pairs++] = b->log_time - a->log_time;
    }
    struct pair_scale scale = {0};
    if (pairs >= 2)
        scale = spread(ratios, pairs);
    free(all);
    free(ratios);
    return scale;
}

// The keys that the rows of one result share.
struct row_place {
    int64_t run, series, kernel;
    const char *driver; // of the device, in this run
    bool plain, reused;
    bool added; // a measurement or a prediction that the store did not have
    int64_t commit[2], commit_s[2], code[2]; // by enum sample_role
};

static int find_sides(struct row_place *place, struct store *store, int64_t run_id,
                      struct error *err)
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

// Checks a device, because a file or a shard may claim that a stored run had another one.
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

static int find_place(struct row_place *place, struct store *store, const struct run *run,
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
    // The traits are the head's; without a head they are the base's.
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

static int add_measurement(int64_t *key, struct store *store, const struct row_place *place,
                           enum sample_role role, const struct measurement *m, struct error *err)
{
    double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    double clock_hz = measurement_clock_hz(m);
    if (!place->commit[role])
        return error_set(err, "store %s: a measurement of no commit; name the run's %s commit",
                         store->path, role == ROLE_BASE ? "base" : "head");
    if (fields_run(store, SQL_ADD_MEASUREMENT,
                   CELLS(INT(place->run), INT(place->series), INT(role), INT(place->plain),
                         INT(place->commit[role]), INT(place->commit_s[role]),
                         KEY(place->code[role]), time_ns > 0 ? REAL(time_ns) : NOTHING,
                         clock_hz > 0 ? REAL(clock_hz) : NOTHING, INT(m->count)),
                   &measurement_fields, m, err))
        return -1;
    *key = sqlite3_last_insert_rowid(store->db);
    return m->count ? add_samples(store, *key, m, err) : 0;
}

// The measurement of one side: another run's if it is reused and stored, a new row, or none (0).
static int place_measurement(int64_t *key, struct store *store, struct row_place *place,
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

static int save_facts(struct store *store, struct row_place *place, const struct result *result,
                      struct error *err)
{
    int64_t there, base, head;
    if (statement_get(&there, store, err, SQL_FIND_RESULT,
                      CELLS(INT(place->run), INT(place->series))))
        return -1;
    if (there && result->head.beside)
        return statement_run(
            store, err, SQL_ADD_LOOKS,
            CELLS(TEXT(result->head.beside), INT(place->run), INT(place->series), INT(ROLE_HEAD)));
    if (there)
        return 0;
    if (place_measurement(&base, store, place, ROLE_BASE, &result->base, result, err) ||
        place_measurement(&head, store, place, ROLE_HEAD, &result->head, result, err))
        return -1;
    struct pair_scale scale = pair_scale_of(&result->base, &result->head);
    return fields_run(store, SQL_ADD_RESULT,
                      CELLS(INT(place->run), INT(place->series), KEY(place->code[ROLE_BASE]),
                            KEY(place->code[ROLE_HEAD]), KEY(base), KEY(head), INT(scale.pairs),
                            scale.pairs ? REAL(scale.sd) : NOTHING,
                            scale.pairs ? REAL(scale.sd_mad) : NOTHING),
                      &result_fields, result, err);
}

static char *parts_json(const struct prediction *p)
{
    struct buffer text = {0};
    content_write_parts(&(struct json){.out = &text}, NULL, p);
    return text.bytes;
}

static int model_key(int64_t *key, struct store *store, const char *name, const char *version,
                     struct error *err)
{
    return statement_key_of(key, store, err, SQL_FIND_MODEL, 2, SQL_ADD_MODEL,
                            CELLS(TEXT(name), TEXT(version)));
}

// Most results of most runs reuse an earlier measurement. Its prediction was stored when it was
// measured, and is stored again only where the model has changed since.
static int save_prediction(struct store *store, struct row_place *place, const struct prediction *p,
                           struct error *err)
{
    int64_t model, known = 0;
    if (!p->model)
        return 0;
    if (model_key(&model, store, p->model, p->version, err))
        return -1;
    char *parts = parts_json(p);
    struct cell cells[FIELD_CELLS] = {INT(place->series), INT(place->run), INT(model), TEXT(parts)};
    size_t count = 4;
    int status = fields_cells(cells, &count, store, &prediction_fields, p, err);
    if (status == 0 && place->reused)
        status = statement_get(&known, store, err, SQL_PREDICTED_BEFORE, cells, count);
    place->added |= !known;
    cells[count++] = INT(time(NULL));
    if (status == 0 && !known)
        status = statement_run(store, err, SQL_PUT_PREDICTION, cells, count);
    free(parts);
    return status;
}

static int save_verdict(struct store *store, const struct row_place *place, const struct verdict *v,
                        struct error *err)
{
    int64_t model;
    if (!v->sentence)
        return 0;
    if (model_key(&model, store, v->model, v->version, err))
        return -1;
    return fields_run(store, SQL_PUT_VERDICT,
                      CELLS(INT(place->series), INT(place->run), INT(model), INT(time(NULL))),
                      &verdict_fields, v, err);
}

// Marks kept conclusions about this series' past, or about this run, as out of date. A result that
// only refers to earlier measurements adds nothing to the past of a series.
static int mark(struct store *store, const struct row_place *place, const struct result *result,
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
    struct row_place place = {0};
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

static int save_finish(struct store *store, const struct run *run, int64_t finished_s,
                       struct error *err)
{
    const struct self_test *t = &run->self_test;
    if (statement_run(
            store, err, SQL_FINISH_RUN,
            CELLS(INT(run->id), INT(finished_s), INT(run->conclusion), TEXT(run->headline))) ||
        save_unbuilt(store, run, err) || save_metrics(store, run, err))
        return -1;
    if (t->series == 0 && !t->void_run)
        return 0;
    return fields_run(store, SQL_PUT_SELF_TEST, CELLS(INT(run->id)), &self_test_fields, t, err);
}

int store_finish_run(struct store *store, const struct run *run, struct error *err)
{
    assert(run->id > 0);
    if (transaction_begin(store, err))
        return -1;
    int64_t finished_s = run->finished_s ? run->finished_s : time(NULL);
    return transaction_end(store, save_finish(store, run, finished_s, err), err);
}

// ---- loading ----

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
    if (row_null(row, 0)) {
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
    const void *bytes = sqlite3_column_blob(row, 0);
    size_t size = (size_t)sqlite3_column_bytes(row, 0);
    if (unpack_samples(&m->samples, &m->count, bytes, size, arena, err))
        return store_damaged(store, "packed samples", err);
    if ((int64_t)m->count != count || !samples_sound(m->samples, m->count))
        return store_damaged(store, "samples that cannot be", err);
    return 0;
}

// Loads a measurement. Key 0 gives an absent measurement. A measurement whose samples were pruned
// gets one sample that holds its time and clock.
static int load_measurement(struct measurement *out, struct store *store, int64_t key,
                            struct arena *arena, struct error *err)
{
    struct measurement m = {.detail = "", .regime = ""};
    if (key) {
        sqlite3_stmt *row = statement_bind(store, SQL_LOAD_MEASUREMENT, CELLS(INT(key)));
        int status = statement_step(store, row, err);
        if (status <= 0)
            return status < 0 ? -1 : store_damaged(store, "a measurement is missing", err);
        if (fields_load(&m, &measurement_fields, store, row, 4, arena, err))
            status = -1;
        else if (m.state == MEASURED_NOT_TAKEN)
            status = store_damaged(store, "a measurement's state", err);
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
    const char *parts = row_text(row, 2, arena);
    status = fields_load(&p, &prediction_fields, store, row, 3, arena, err);
    p.feasible = !p.why;
    sqlite3_reset(row);
    if (status || load_parts(&p, store, parts, arena, err))
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
    status = fields_load(&v, &verdict_fields, store, row, 2, arena, err);
    sqlite3_reset(row);
    if (status)
        return -1;
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
    *refs = (struct references){row_int(row, 6), row_int(row, 7), row_int(row, 8),
                                row_text(row, 5, arena)};
    return fields_load(out, &result_fields, store, row, 9, arena, err);
}

// Loads the prediction of the result, or else of the run that measured the times which it reuses.
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

// Loads the fields from column `*column` of a row on.
static int load_fields(void *thing, const struct stored_fields *fields, int *column,
                       struct store *store, sqlite3_stmt *row, struct arena *arena,
                       struct error *err)
{
    const int first = *column;
    *column += (int)fields->count;
    return fields_load(thing, fields, store, row, first, arena, err);
}

static int read_device(void *item, const struct row_list *list, struct error *err)
{
    int column = 1;
    return load_fields(item, &device_fields, &column, list->store, list->row, list->arena, err) ||
                   load_fields(item, &run_device_fields, &column, list->store, list->row,
                               list->arena, err)
               ? -1
               : 0;
}

static int load_devices(struct run *run, struct store *store, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LOAD_RUN_DEVICES, CELLS(INT(run->id))),
                            .arena = &run->arena};
    if (statement_list(&list, sizeof(*run->devices), read_device, err))
        return -1;
    run->devices = list.items;
    run->device_count = list.count;
    return 0;
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
    const int64_t base = row_int(row, 0), head = row_int(row, 1);
    struct arena *arena = &run->arena;
    int column = 2;
    status =
        load_fields(run, &run_fields, &column, store, row, arena, err) ||
                load_fields(run, &run_toolchain_fields, &column, store, row, arena, err) ||
                load_fields(run, &run_end_fields, &column, store, row, arena, err) ||
                load_fields(&run->self_test, &self_test_fields, &column, store, row, arena, err)
            ? -1
            : 0;
    sqlite3_reset(row);
    if (status)
        return -1;
    if (content_load_commit(&run->base, store, base, &run->arena, err))
        return -1;
    return content_load_commit(&run->head, store, head, &run->arena, err);
}

int store_load_run(struct run *out, struct store *store, int64_t run_id, struct error *err)
{
    struct run run = {.id = run_id};
    if (load_header(&run, store, err) || load_devices(&run, store, err) ||
        load_results(&run, store, err) || load_study(&run, store, err) ||
        load_unbuilt(&run, store, err) || load_metrics(&run, store, err)) {
        run_free(&run);
        return -1;
    }
    *out = run;
    return 0;
}

static const char *device_uuid(const void *list, size_t index)
{
    return ((const struct device *)list)[index].uuid;
}

int store_find_unfinished(int64_t *run_id, bool *found, struct store *store, const struct run *like,
                          struct error *err)
{
    int64_t key = 0;
    bool mine = false;
    char *devices = content_json_list(like->device_count, device_uuid, like->devices);
    sqlite3_stmt *row = statement_bind(
        store, SQL_RUN_UNFINISHED,
        CELLS(TEXT(run_kind_name(like->kind)), TEXT(like->tool_version), TEXT(like->policy),
              TEXT(like->base.id), TEXT(like->head.id), TEXT(devices),
              TEXT(like->toolchain[ROLE_BASE]), TEXT(like->toolchain[ROLE_HEAD])));
    int status = 0;
    while (!mine && (status = statement_step(store, row, err)) > 0) {
        key = row_int(row, 0);
        mine = run_lock_claim(store, key);
    }
    sqlite3_reset(row);
    free(devices);
    if (status < 0)
        return -1;
    *found = mine;
    if (mine)
        *run_id = key;
    return 0;
}

static const char *kind_text(int kind)
{
    assert(kind >= 0 && kind <= STORE_ALL_RUNS);
    return kind == STORE_ALL_RUNS ? "" : run_kind_name((enum run_kind)kind);
}

int store_last_run(int64_t *run_id, struct store *store, int kind, struct error *err)
{
    return statement_get(run_id, store, err, SQL_LAST_RUN, CELLS(TEXT(kind_text(kind))));
}

int store_commit_run(int64_t *run_id, struct store *store, const char *commit,
                     const char *toolchain, struct error *err)
{
    return statement_get(run_id, store, err, SQL_COMMIT_RUN,
                         CELLS(TEXT(commit), TEXT(toolchain ? toolchain : "")));
}

static int read_entry(void *item, const struct row_list *list, struct error *err)
{
    struct run_entry *out = item;
    sqlite3_stmt *row = list->row;
    struct arena *arena = list->arena;
    const char *kind = (const char *)sqlite3_column_text(row, 2);
    int64_t conclusion = row_int(row, 7);
    out->id = row_int(row, 0);
    bool sound = row_copy(out->uid, sizeof(out->uid), row, 1) && kind &&
                 run_kind_parse(&out->kind, kind) == 0 &&
                 row_copy(out->base, sizeof(out->base), row, 5) &&
                 row_copy(out->head, sizeof(out->head), row, 6) && conclusion >= CONCLUDE_OK &&
                 conclusion <= CONCLUDE_FAILED;
    out->started_s = row_int(row, 3);
    out->finished_s = row_int(row, 4);
    out->conclusion = (enum conclusion)conclusion;
    out->headline = row_text(row, 8, arena);
    out->summary = row_text(row, 9, arena);
    out->author = row_text(row, 10, arena);
    out->head_s = row_int(row, 11);
    out->device_uuid = row_text(row, 12, arena);
    out->toolchain[ROLE_BASE] = row_text(row, 13, arena);
    out->toolchain[ROLE_HEAD] = row_text(row, 14, arena);
    return sound ? 0 : store_damaged(list->store, "a run", err);
}

int store_list_runs(struct run_entry **out, size_t *count, struct store *store, int kind,
                    size_t limit, struct arena *arena, struct error *err)
{
    const struct cell cells[] = {TEXT(kind_text(kind)), INT(limit ? (int64_t)limit : -1)};
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_LIST_RUNS, cells, ARRAY_COUNT(cells)),
                            .arena = arena};
    if (statement_list(&list, sizeof(**out), read_entry, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

int store_run_times(struct run_time **out, size_t *count, struct store *store, int64_t run_id,
                    struct arena *arena, struct error *err)
{
    int64_t room;
    size_t used = 0;
    int status = 0;
    if (statement_get(&room, store, err, SQL_COUNT_RESULTS, CELLS(INT(run_id))))
        return -1;
    struct run_time *times = arena_alloc(arena, (size_t)room * sizeof(*times));
    sqlite3_stmt *row = statement_bind(store, SQL_RUN_TIMES, CELLS(INT(run_id)));
    while ((status = statement_step(store, row, err)) > 0 && used < (size_t)room)
        times[used++] = (struct run_time){row_int(row, 0), row_real(row, 1), row_int(row, 2)};
    sqlite3_reset(row);
    if (status < 0)
        return -1;
    *out = times;
    *count = used;
    return 0;
}

int store_find_measurement(struct measurement *out, bool *found, struct store *store,
                           const struct series *series, const char *code,
                           const struct measured_how *how, struct arena *arena, struct error *err)
{
    int64_t key, measurement = 0;
    if (content_find_series(&key, store, series, err))
        return -1;
    if (key && code[0] &&
        statement_get(&measurement, store, err, SQL_FIND_MEASUREMENT,
                      CELLS(INT(key), TEXT(code), how->regime ? TEXT(how->regime) : NOTHING,
                            how->driver ? TEXT(how->driver) : NOTHING,
                            how->failure ? TEXT(how->failure) : NOTHING, INT(how->plain))))
        return -1;
    if (measurement && load_measurement(out, store, measurement, arena, err))
        return -1;
    *found = measurement != 0;
    return 0;
}
