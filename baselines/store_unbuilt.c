// SPDX-License-Identifier: Apache-2.0
//
// Why a run's commits do not build. The errors are one text, a line each: file, line and what was
// said, with tabs between; none of the three holds a tab or a newline.
#include "baselines/unbuilt.h"

#include <stdlib.h>
#include <string.h>

char *unbuilt_errors_text(const struct build_failure *failure)
{
    char *text = xstrdup("");
    for (size_t i = 0; i < failure->count; i++) {
        const struct build_error *e = &failure->errors[i];
        char *longer = xprintf("%s%s\t%u\t%s\n", text, e->file, e->line, e->text);
        free(text);
        text = longer;
    }
    return text;
}

// Cuts the next piece off, up to `end`; NULL when it is not there.
static const char *piece(const char **at, char end, struct arena *arena)
{
    const char *from = *at, *to = strchr(from, end);
    if (!to)
        return NULL;
    *at = to + 1;
    return arena_strndup(arena, from, (size_t)(to - from));
}

bool unbuilt_errors_parse(struct build_failure *out, const char *text, struct arena *arena)
{
    size_t most = 0;
    for (const char *c = text; *c; c++)
        most += *c == '\n';
    struct build_error *errors = arena_alloc(arena, most * sizeof(*errors));
    size_t count = 0;
    for (const char *at = text; *at; count++) {
        const char *file = piece(&at, '\t', arena);
        const char *line = file ? piece(&at, '\t', arena) : NULL;
        const char *said = line ? piece(&at, '\n', arena) : NULL;
        int64_t number;
        if (!said || count == most || parse_int64(&number, line) || number < 0 ||
            number > UINT32_MAX)
            return false;
        errors[count] = (struct build_error){file, (uint32_t)number, said};
    }
    out->errors = errors;
    out->count = count;
    return true;
}

int save_unbuilt(struct store *store, const struct run *run, struct error *err)
{
    int status = 0;
    for (int role = ROLE_BASE; status == 0 && role <= ROLE_HEAD; role++) {
        const struct build_failure *f = &run->unbuilt[role];
        if (!f->reason)
            continue;
        char *errors = unbuilt_errors_text(f);
        status = statement_run(
            store, err, SQL_PUT_UNBUILT,
            CELLS(INT(run->id), INT(role), TEXT(f->reason), TEXT(f->log), TEXT(errors)));
        free(errors);
    }
    return status;
}

int load_unbuilt(struct run *run, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_UNBUILT, CELLS(INT(run->id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct build_failure f = {row_text(row, 1, &run->arena), row_text(row, 2, &run->arena),
                                  NULL, 0};
        const int64_t role = row_int(row, 0);
        const char *errors = row_text(row, 3, &run->arena);
        if (role < ROLE_BASE || role > ROLE_HEAD || !f.reason ||
            !unbuilt_errors_parse(&f, errors, &run->arena)) {
            status = store_damaged(store, "why a commit does not build", err);
            break;
        }
        run->unbuilt[role] = f;
    }
    sqlite3_reset(row);
    return status < 0 ? -1 : 0;
}
