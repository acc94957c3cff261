// SPDX-License-Identifier: Apache-2.0
//
// The exported lines that are not about runs: profiles, epochs and builds.
#include "baselines/content.h"
#include "baselines/exchange/export.h"
#include "baselines/jsonl.h"
#include "baselines/load.h"

#include <stdlib.h>

static int put_figures(FILE *file, struct store *store, int64_t profile, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_FIGURES, CELLS(INT(profile)));
    int status;
    bool first = true;
    while ((status = statement_step(store, row, err)) > 0) {
        fputs(first ? "[" : ",[", file);
        first = false;
        jsonl_text(file, (const char *)sqlite3_column_text(row, 0));
        fputc(',', file);
        jsonl_real(file, row_real(row, 1));
        fputc(',', file);
        jsonl_text(file, (const char *)sqlite3_column_text(row, 2));
        fputc(']', file);
    }
    return status;
}

int export_profiles(struct store *store, const struct export_filter *filter, FILE *file,
                    struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_PROFILES, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        bool first = true;
        fputs("{\"profile\":{", file);
        jsonl_text_member(file, &first, "name", (const char *)sqlite3_column_text(row, 1));
        jsonl_int_member(file, &first, "measured_s", row_int(row, 2));
        jsonl_text_member(file, &first, "kind", (const char *)sqlite3_column_text(row, 3));
        jsonl_text_member(file, &first, "uuid", (const char *)sqlite3_column_text(row, 4));
        jsonl_text_member(file, &first, "device", (const char *)sqlite3_column_text(row, 5));
        jsonl_name(file, &first, "figures");
        fputc('[', file);
        if (put_figures(file, store, row_int(row, 0), err)) {
            sqlite3_reset(row);
            return -1;
        }
        fputs("]}}\n", file);
    }
    return status;
}

int export_epochs(struct store *store, const struct export_filter *filter, FILE *file,
                  struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_LIST_EPOCHS, CELLS(INT(filter->run_id)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        bool first = true;
        fputs("{\"epoch\":{", file);
        jsonl_text_member(file, &first, "series", (const char *)sqlite3_column_text(row, 0));
        jsonl_text_member(file, &first, "commit", (const char *)sqlite3_column_text(row, 1));
        jsonl_real_member(file, &first, "level", row_real(row, 2));
        if (row_int(row, 6))
            jsonl_bool_member(file, &first, "removed", true);
        jsonl_text_member(file, &first, "reason", (const char *)sqlite3_column_text(row, 3));
        jsonl_text_member(file, &first, "who", (const char *)sqlite3_column_text(row, 4));
        jsonl_int_member(file, &first, "when_s", row_int(row, 5));
        fputs("}}\n", file);
    }
    return status;
}

static void put_build(FILE *file, const struct commit *commit, const struct build_record *build)
{
    bool first = true;
    fputs("{\"build\":{", file);
    jsonl_text_member(file, &first, "commit", commit->id);
    jsonl_text_member(file, &first, "tree", commit->tree);
    jsonl_text_member(file, &first, "parent", commit->parent);
    jsonl_text_member(file, &first, "summary", commit->summary);
    jsonl_text_member(file, &first, "author", commit->author);
    jsonl_int_member(file, &first, "time_s", commit->time_s);
    jsonl_text_member(file, &first, "content", build->content);
    jsonl_text_member(file, &first, "recipe", build->recipe);
    jsonl_text_member(file, &first, "state", measurement_state_name(build->state));
    jsonl_text_member(file, &first, "detail", build->detail);
    jsonl_name(file, &first, "kernels");
    fputc('[', file);
    for (size_t i = 0; i < build->count; i++) {
        bool inner = true;
        fputs(i ? ",{" : "{", file);
        jsonl_text_member(file, &inner, "name", build->kernels[i].name);
        jsonl_text_member(file, &inner, "code", build->kernels[i].code);
        export_traits(file, &inner, &build->kernels[i].traits);
        fputc('}', file);
    }
    fputs("]}}\n", file);
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
