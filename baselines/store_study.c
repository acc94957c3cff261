// SPDX-License-Identifier: Apache-2.0
//
// Studies: what a device's gates were worth when they were counted.
#include "baselines/content.h"
#include "baselines/study.h"

#include <assert.h>
#include <string.h>

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
    return statement_run(store, err, SQL_PUT_STUDY,
                         CELLS(INT(run->id), INT(key), TEXT(study_kind_name(s->kind)),
                               INT(s->gates), INT(s->first_alarms), INT(s->slower), INT(s->faster),
                               INT(s->same), INT(s->undecided), INT(s->broken), REAL(s->pairs),
                               REAL(s->time_ns), REAL(s->log_ratio), REAL(s->pair_sd),
                               REAL(s->detectable), REAL(s->gpu_s), REAL(s->wall_s)));
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

static uint32_t small(sqlite3_stmt *row, int column, bool *sound)
{
    const int64_t value = row_int(row, column);
    *sound &= value >= 0 && value <= UINT32_MAX;
    return *sound ? (uint32_t)value : 0;
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
    int column = 4;
#define X(name) s.name = small(row, column++, &sound);
    STUDY_COUNTS(X)
#undef X
#define X(name) s.name = row_real(row, column++);
    STUDY_REALS(X)
#undef X
    arena_free(&arena);
    if (!sound || s.device == run->device_count || !study_sound(&s))
        return store_damaged(list->store, "a study", err);
    *(struct study_result *)item = s;
    return 0;
}

int load_study(struct run *run, struct store *store, struct error *err)
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
