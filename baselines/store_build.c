// SPDX-License-Identifier: Apache-2.0
//
// Builds, and the question "is there anything left to do for this commit?".
#include "baselines/fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define F(...) FIELD_ITEM(build_record, __VA_ARGS__)
STORED_FIELDS(build, "builds", BUILD_FIELDS(F));
#undef F

static int add_build(int64_t *key, struct store *store, const struct build_record *build,
                     struct error *err)
{
    if (fields_run(store, SQL_ADD_BUILD, NULL, 0, &build_fields, build, err))
        return -1;
    *key = sqlite3_last_insert_rowid(store->db);
    for (size_t i = 0; i < build->count; i++) {
        const struct build_kernel *k = &build->kernels[i];
        int64_t kernel, code;
        assert(k->code[0]);
        if (content_kernel(&kernel, store, k->name, err) ||
            content_code(&code, store, kernel, k->code, &k->traits, err) ||
            statement_run(store, err, SQL_ADD_BUILD_CODE, CELLS(INT(*key), INT(kernel), INT(code))))
            return -1;
    }
    return 0;
}

static int record_build(struct store *store, const struct commit *commit,
                        const struct build_record *build, struct error *err)
{
    int64_t build_key, commit_key;
    if (statement_get(&build_key, store, err, SQL_FIND_BUILD, CELLS(TEXT(build->content))) ||
        content_commit(&commit_key, store, commit, err))
        return -1;
    if (!build_key && add_build(&build_key, store, build, err))
        return -1;
    return statement_run(store, err, SQL_ADD_COMMIT_BUILD, CELLS(INT(commit_key), INT(build_key)));
}

int store_record_build(struct store *store, const struct commit *commit,
                       const struct build_record *build, struct error *err)
{
    assert(commit->id[0] && (build->state == MEASURED_OK || build->state == MEASURED_UNBUILDABLE));
    if (transaction_begin(store, err))
        return -1;
    return transaction_end(store, record_build(store, commit, build, err), err);
}

static int load_kernels(struct build_record *build, struct store *store, int64_t key, size_t limit,
                        struct arena *arena, struct error *err)
{
    // The traits' JSON is read by another statement, so all rows are read first and the traits
    // afterwards.
    const char **traits = xcalloc(limit, sizeof(*traits));
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_BUILD_CODES, CELLS(INT(key)));
    int status;
    while ((status = statement_step(store, row, err)) > 0 && build->count < limit) {
        struct build_kernel *k = &build->kernels[build->count];
        traits[build->count++] = row_text(row, 2, arena);
        if (!row_copy(k->name, sizeof(k->name), row, 0) ||
            !row_copy(k->code, sizeof(k->code), row, 1)) {
            status = store_damaged(store, "a build's kernel", err);
            break;
        }
    }
    sqlite3_reset(row);
    for (size_t i = 0; status >= 0 && i < build->count; i++) {
        if (content_load_traits(&build->kernels[i].traits, store, traits[i], err))
            status = -1;
    }
    free(traits);
    return status < 0 ? -1 : 0;
}

int load_build(struct build_record *out, struct store *store, int64_t key, struct arena *arena,
               struct error *err)
{
    struct build_record build = {0};
    int64_t count;
    if (statement_get(&count, store, err, SQL_COUNT_BUILD_CODES, CELLS(INT(key))))
        return -1;
    sqlite3_stmt *row = statement_bind(store, SQL_LOAD_BUILD, CELLS(INT(key)));
    int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a build is missing", err);
    status = fields_load(&build, &build_fields, store, row, 1, arena, err);
    sqlite3_reset(row);
    if (status)
        return -1;
    build.kernels = arena_alloc(arena, (size_t)count * sizeof(*build.kernels));
    if (load_kernels(&build, store, key, (size_t)count, arena, err))
        return -1;
    *out = build;
    return 0;
}

static int find_commit_build(int64_t *key, struct store *store, const struct commit *commit,
                             const char *recipe, struct error *err)
{
    return statement_get(key, store, err, SQL_FIND_COMMIT_BUILD,
                         CELLS(TEXT(commit->id), TEXT(commit->tree), TEXT(recipe)));
}

int store_find_commit_build(struct build_record *out, bool *found, struct store *store,
                            const struct commit *commit, const char *recipe, struct arena *arena,
                            struct error *err)
{
    int64_t key;
    if (find_commit_build(&key, store, commit, recipe, err) ||
        (key && load_build(out, store, key, arena, err)))
        return -1;
    *found = key != 0;
    return 0;
}

int store_ever_right(bool *right, struct store *store, const struct series *series,
                     struct error *err)
{
    int64_t key, count = 0;
    if (content_find_series(&key, store, series, err) ||
        (key && statement_get(&count, store, err, SQL_COUNT_RIGHT, CELLS(INT(key)))))
        return -1;
    *right = count > 0;
    return 0;
}

static const char *kernel_name(const void *list, size_t index)
{
    return ((const char *const *)list)[index];
}

static char *problem_list(const struct problem *problems, size_t count)
{
    char(*texts)[PROBLEM_TEXT] = xcalloc(count, sizeof(*texts));
    const char **names = xcalloc(count, sizeof(*names));
    for (size_t i = 0; i < count; i++) {
        problem_format(texts[i], &problems[i]);
        names[i] = texts[i];
    }
    char *list = content_json_list(count, kernel_name, names);
    free(texts);
    free(names);
    return list;
}

static int count_unmeasured(int64_t *out, struct store *store, const struct commit *commit,
                            int64_t build, const struct demand *demand, struct error *err)
{
    char *problems = problem_list(demand->problems, demand->problem_count);
    char *kernels = demand->kernels
                        ? content_json_list(demand->kernel_count, kernel_name, demand->kernels)
                        : NULL;
    int status = statement_get(
        out, store, err, SQL_COUNT_UNMEASURED,
        CELLS(TEXT(commit->id), TEXT(commit->tree), INT(build), TEXT(demand->device_uuid),
              TEXT(problems), kernels ? TEXT(kernels) : NOTHING,
              demand->driver ? TEXT(demand->driver) : NOTHING, TEXT(demand->toolchain)));
    free(problems);
    free(kernels);
    return status;
}

int store_commit_measured(bool *measured, struct store *store, const struct commit *commit,
                          const struct demand *demand, struct error *err)
{
    int64_t build, unmeasured = 1;
    if (find_commit_build(&build, store, commit, demand->recipe, err))
        return -1;
    if (build && count_unmeasured(&unmeasured, store, commit, build, demand, err))
        return -1;
    *measured = build != 0 && unmeasured == 0;
    return 0;
}
