// SPDX-License-Identifier: Apache-2.0
//
// What a table of fields says is what the store, its exports, merges and checks do: each field of a
// verdict, whichever there are, comes back from everywhere.
#include "baselines/fields.h"
#include "model/csv.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {"text 0", "text 1", "text 2", "text 3", "text 4", "text 5"};

// A value that no other field of the thing has, and that is in range.
static void set_field(void *thing, const struct stored_field *field, size_t index)
{
    void *at = (char *)thing + field->offset;
    switch (field->type) {
    case FIELD_COUNT:
        *(uint32_t *)at = (uint32_t)index + 7;
        break;
    case FIELD_TEXT:
    case FIELD_NOTE:
    case FIELD_SHARED:
        *(const char **)at = texts[index % ARRAY_COUNT(texts)];
        break;
    default:
        if (field_is_word(field->type))
            *(int *)at = 1;
        else
            *(double *)at = 0.125 + (double)index / 64;
    }
}

static bool same_field(const struct stored_field *field, const void *a, const void *b)
{
    if (field_is_number(field->type))
        return field_number(field, a) == field_number(field, b);
    const char *left = field_text(field, a), *right = field_text(field, b);
    return left && right && strcmp(left, right) == 0;
}

static void assert_same(const struct verdict *a, struct store *store, int64_t run_id,
                        const char *where)
{
    struct error err;
    struct run loaded;
    assert_ok(store_load_run(&loaded, store, run_id, &err), &err);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const struct stored_field *field = &verdict_fields.items[i];
        if (!same_field(field, a, &loaded.results[0].verdict))
            fail_msg("%s: %s is not what was saved", where, field->name);
    }
    run_free(&loaded);
}

static int64_t last_run(struct store *store)
{
    struct error err;
    int64_t id;
    assert_ok(store_last_run(&id, store, STORE_ALL_RUNS, &err), &err);
    return id;
}

// One run with one result, whose verdict has every field.
static void save_full(struct run *out, struct store *store)
{
    make_run(out, RUN_GATE, 2, 1, 2);
    struct verdict *v = &out->results[0].verdict;
    for (size_t i = 0; i < verdict_fields.count; i++)
        set_field(v, &verdict_fields.items[i], i);
    v->model = "gate";
    v->version = "1";
    save_whole_run(store, out);
}

typedef int export_to(struct store *store, const struct export_filter *filter, FILE *file,
                      struct error *err);

static char *exported(struct store *store, export_to *export, size_t *size)
{
    struct error err;
    char *text = NULL;
    FILE *file = open_memstream(&text, size);
    assert_ok(export(store, &(struct export_filter){0}, file, &err), &err);
    fclose(file);
    char *copy = xstrdup(text);
    free(text);
    return copy;
}

AROUND_EACH(open_store_set_up_two, open_store_tear_down);

TEST(every_field_comes_back_from_a_store_a_file_and_a_merge)
{
    struct open_store *f = *state;
    struct error err;
    struct run run;
    size_t size;
    save_full(&run, f->store);
    const struct verdict *v = &run.results[0].verdict;
    assert_same(v, f->store, run.id, "saved");

    char *text = exported(f->store, store_export_json, &size);
    const char *imported = scratch_path(&f->arena, f->folder, "imported.db");
    struct store *other = scratch_store(imported, STORE_WRITE);
    assert_ok(import_text(other, text, size, "json", NULL, &err), &err);
    assert_same(v, other, last_run(other), "imported");
    store_close(other);
    free(text);

    assert_ok(store_merge(f->other, f->path, NULL, &err), &err);
    assert_same(v, f->other, last_run(f->other), "merged");

    text = exported(f->store, store_export_csv, &size);
    struct csv csv;
    assert_ok(csv_parse(&csv, text, size, "t.csv", &err), &err);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const char *name = verdict_fields.items[i].name;
        if (csv_column(&csv, strcmp(name, "kind") == 0 ? "verdict" : name) < 0)
            fail_msg("the table has no column %s", name);
    }
    csv_free(&csv);
    free(text);
    run_free(&run);
}

// A file and a shard of strangers: what is beyond a field's range is refused, and the field named.
TEST(a_count_out_of_range_is_refused)
{
    struct open_store *f = *state;
    struct error err;
    struct run run;
    size_t size, tried = 0;
    save_full(&run, f->other);
    run_free(&run);
    char *good = exported(f->other, store_export_json, &size);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const struct stored_field *field = &verdict_fields.items[i];
        if (field->type != FIELD_COUNT)
            continue;
        char *sql = xprintf("UPDATE verdicts SET %s = -1", field->column);
        char *back = xprintf("UPDATE verdicts SET %s = %zu", field->column, i + 7);
        run_sql(f->other_path, sql);
        assert_int_equal(store_merge(f->store, f->other_path, NULL, &err), -1);
        assert_non_null(strstr(err.text, field->column));
        assert_non_null(strstr(err.text, "out of range"));
        run_sql(f->other_path, back);
        free(sql);
        free(back);

        char *from = xprintf("\"%s\":%zu,", field->name, i + 7),
             *last = xprintf("\"%s\":%zu}", field->name, i + 7);
        char *at = strstr(strstr(good, "\"verdict\""), from);
        at = at ? at : strstr(good, last);
        assert_non_null(at);
        char *bad =
            xprintf("%.*s\"%s\":-1%s", (int)(at - good), good, field->name, at + strlen(from) - 1);
        assert_int_equal(import_text(f->store, bad, strlen(bad), "json", NULL, &err), -1);
        free(bad);
        free(from);
        free(last);
        tried++;
    }
    assert_true(tried >= 3);
    assert_ok(import_text(f->store, good, size, "json", NULL, &err), &err);
    free(good);
}
