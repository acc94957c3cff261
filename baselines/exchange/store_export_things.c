// SPDX-License-Identifier: Apache-2.0
//
// The exported lines that are not about runs: profiles, epochs and builds.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/load.h"

#include <stdlib.h>

static int put_figures(struct json *json, struct store *store, int64_t profile, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_FIGURES, CELLS(INT(profile)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        json_begin(json, NULL, '[');
        export_text(json, NULL, (const char *)sqlite3_column_text(row, 0));
        json_number(json, NULL, row_real(row, 1));
        export_text(json, NULL, (const char *)sqlite3_column_text(row, 2));
        json_end(json, ']');
    }
    return status;
}

int export_profiles(struct store *store, const struct export_filter *filter, FILE *file,
                    struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_PROFILES, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct export_line line;
        struct json *json = export_begin(&line, "profile");
        export_text(json, "name", (const char *)sqlite3_column_text(row, 1));
        json_int(json, "measured_s", row_int(row, 2));
        export_text(json, "kind", (const char *)sqlite3_column_text(row, 3));
        export_text(json, "uuid", (const char *)sqlite3_column_text(row, 4));
        export_text(json, "device", (const char *)sqlite3_column_text(row, 5));
        json_begin(json, "figures", '[');
        if (put_figures(json, store, row_int(row, 0), err)) {
            buffer_free(&line.text);
            sqlite3_reset(row);
            return -1;
        }
        json_end(json, ']');
        export_end(&line, file);
    }
    return status;
}

int export_epochs(struct store *store, const struct export_filter *filter, FILE *file,
                  struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_EPOCHS, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct export_line line;
        struct json *json = export_begin(&line, "epoch");
        export_text(json, "series", (const char *)sqlite3_column_text(row, 0));
        export_text(json, "commit", (const char *)sqlite3_column_text(row, 1));
        json_number(json, "level", row_real(row, 2));
        if (row_int(row, 6))
            json_bool(json, "removed", true);
        export_text(json, "reason", (const char *)sqlite3_column_text(row, 3));
        export_text(json, "who", (const char *)sqlite3_column_text(row, 4));
        json_int(json, "when_s", row_int(row, 5));
        export_end(&line, file);
    }
    return status;
}

static void put_build(FILE *file, const struct commit *commit, const struct build_record *build)
{
    struct export_line line;
    struct json *json = export_begin(&line, "build");
    export_text(json, "commit", commit->id);
    export_text(json, "tree", commit->tree);
    export_text(json, "parent", commit->parent);
    export_text(json, "summary", commit->summary);
    export_text(json, "author", commit->author);
    json_int(json, "time_s", commit->time_s);
    export_text(json, "content", build->content);
    export_text(json, "recipe", build->recipe);
    export_text(json, "state", measurement_state_name(build->state));
    export_text(json, "detail", build->detail);
    json_begin(json, "kernels", '[');
    for (size_t i = 0; i < build->count; i++) {
        json_begin(json, NULL, '{');
        export_text(json, "name", build->kernels[i].name);
        export_text(json, "code", build->kernels[i].code);
        content_write_traits(json, "traits", &build->kernels[i].traits);
        json_end(json, '}');
    }
    json_end(json, ']');
    export_end(&line, file);
}

int export_builds(struct store *store, const struct export_filter *filter, FILE *file,
                  struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_BUILDS, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        struct arena arena = {0};
        struct commit commit;
        struct build_record build;
        int failed = content_load_commit(&commit, store, row_int(row, 0), &arena, err) ||
                     load_build(&build, store, row_int(row, 1), &arena, err);
        if (!failed)
            put_build(file, &commit, &build);
        arena_free(&arena);
        if (failed) {
            sqlite3_reset(row);
            return -1;
        }
    }
    return status;
}
