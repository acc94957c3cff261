// SPDX-License-Identifier: Apache-2.0
//
// Their rows.
#include "baselines/content.h"
#include "baselines/kept/device_state.h"

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
