// SPDX-License-Identifier: Apache-2.0
//
// The store's facts about devices: calibrated profiles, who took them out of use,
// and accepted epochs.

#include "baselines/fields.h"
#include "baselines/store.h"

#include <math.h>
#include <time.h>

// ---- calibrated profiles, and the copy of the accepted epochs ----

#define F(...) FIELD_ITEM(stored_profile, __VA_ARGS__)
STORED_FIELDS(profile, "profiles", PROFILE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(stored_figure, __VA_ARGS__)
STORED_FIELDS(figure, "figures", FIGURE_FIELDS(F));
#undef F

int save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                 int64_t measured_s, struct error *err)
{
    struct gpu copy = *gpu; // gpu_figure() returns a pointer that allows changes
    const struct stored_profile row = {gpu->name, measured_s};
    struct cell cells[FIELD_CELLS];
    size_t count = 1;
    int64_t device_key, profile;
    if (content_device(&device_key, store, device, err))
        return -1;
    cells[0] = INT(device_key);
    if (fields_cells(cells, &count, store, &profile_fields, &row, err) ||
        statement_key_of(&profile, store, err, SQL_FIND_PROFILE, 3, SQL_ADD_PROFILE, cells, count))
        return -1;
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const char *key = gpu_figure_key(i);
        const struct figure *figure = gpu_figure(&copy, key);
        if (figure->origin != ORIGIN_CALIBRATED)
            continue;
        if (!(figure->value > 0 && isfinite(figure->value)))
            return error_set(err, "profile %s: calibrated %s is %g; not stored", gpu->name, key,
                             figure->value);
        const struct stored_figure stored = {key, figure->value, figure->source};
        if (fields_run(store, SQL_PUT_FIGURE, CELLS(INT(profile)), &figure_fields, &stored, err))
            return -1;
    }
    return 0;
}

int store_save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                       struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save_profile(store, device, gpu, time(NULL), err), err);
}

static int load_figures(struct gpu *gpu, struct store *store, int64_t profile, struct arena *arena,
                        struct error *err)
{
    struct stored_figure *stored = NULL;
    size_t count = 0;
    if (fields_list(&stored, &count, sizeof(*stored), store, SQL_LOAD_FIGURES, profile,
                    &figure_fields, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct figure *figure = gpu_figure(gpu, stored[i].name);
        // A figure of another version is ignored; so is a value that makes no sense.
        if (figure && stored[i].value > 0 && isfinite(stored[i].value))
            *figure = (struct figure){stored[i].value, ORIGIN_CALIBRATED, stored[i].source};
    }
    return 0;
}

int store_load_profile(struct gpu *out, bool *found, struct store *store, const char *device_uuid,
                       struct arena *arena, struct error *err)
{
    struct gpu gpu = {.summary = "calibrated on this device"};
    sqlite3_stmt *row = statement_bind(store, SQL_LAST_PROFILE, CELLS(TEXT(device_uuid)));
    int status = statement_step(store, row, err);
    if (status <= 0) {
        if (status == 0)
            *found = false;
        return status;
    }
    struct stored_profile stored;
    int64_t profile = row_int(row, 0);
    status = fields_load(&stored, &profile_fields, store, row, 1, arena, err);
    sqlite3_reset(row);
    gpu.name = stored.name;
    if (status || load_figures(&gpu, store, profile, arena, err))
        return -1;
    *out = gpu;
    *found = true;
    return 0;
}

int store_newest_profile(struct device_entry *out, struct store *store, struct arena *arena,
                         struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_NEWEST_PROFILE, NULL, 0);
    *out = (struct device_entry){0};
    const int status = statement_step(store, row, err);
    if (status > 0) {
        *out = (struct device_entry){.uuid = row_text(row, 0, arena),
                                     .kind = row_text(row, 1, arena),
                                     .name = row_text(row, 2, arena),
                                     .first_s = row_int(row, 3),
                                     .last_s = row_int(row, 3)};
        sqlite3_reset(row);
    }
    return status < 0 ? -1 : 0;
}

#define F(...) FIELD_ITEM(epoch, __VA_ARGS__)
STORED_FIELDS(epoch, "epochs", EPOCH_FIELDS(F));
#undef F

static int save_epochs(struct store *store, const struct epoch_list *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (fields_run(store, SQL_ADD_EPOCH, NULL, 0, &epoch_fields, &list->epochs[i], err))
            return -1;
    }
    return 0;
}

int store_save_epochs(struct store *store, const struct epoch_list *epochs, struct error *err)
{
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, save_epochs(store, epochs, err), err);
}

int store_device_state(struct device_entry_state *out, bool *found, struct store *store,
                       const char *uuid, struct arena *arena, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_DEVICE_STATE, CELLS(TEXT(uuid)));
    const int status = statement_step(store, row, err);
    *found = status > 0;
    if (status > 0)
        *out = (struct device_entry_state){.out = row_int(row, 0) != 0,
                                           .when_s = row_int(row, 1),
                                           .who = row_text(row, 2, arena),
                                           .why = row_text(row, 3, arena)};
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}

int store_device_runs(int64_t *out, struct store *store, const char *uuid, int64_t since_s,
                      struct error *err)
{
    return statement_get(out, store, err, SQL_DEVICE_RUNS, CELLS(TEXT(uuid), INT(since_s)));
}

int store_set_device_state(struct store *store, const char *uuid,
                           const struct device_entry_state *state, struct error *err)
{
    int64_t device;
    if (statement_get(&device, store, err, SQL_FIND_DEVICE, CELLS(TEXT(uuid))))
        return -1;
    if (!device)
        return error_set(err, "store %s: knows no device %.80s", store->path, uuid);
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(
        store,
        statement_run(store, err, SQL_ADD_DEVICE_ENTRY,
                      CELLS(INT(device), TEXT(state->out ? "out" : "in"), INT(state->when_s),
                            TEXT(state->who), TEXT(state->why))),
        err);
}

int store_control_failures(struct control_failures *out, struct store *store, const char *uuid,
                           struct arena *arena, struct error *err)
{
    struct control_failures found = {.examples = ""};
    int status;
    sqlite3_stmt *row = statement_bind(store, SQL_CONTROL_FAILURES, CELLS(TEXT(uuid)));
    while ((status = statement_step(store, row, err)) > 0) {
        const bool wrong = row_int(row, 0) == 1, lost = row_int(row, 0) == 2;
        found.controls++;
        found.wrong += wrong;
        found.lost += lost;
        if ((wrong || lost) && !found.examples[0])
            found.examples =
                arena_printf(arena, "%s %s", row_text(row, 1, arena), row_text(row, 2, arena));
    }
    sqlite3_reset(row);
    *out = found;
    return status;
}
