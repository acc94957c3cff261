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

// ---- values from files ----

static const struct node *json_of(const char *text, struct arena *arena)
{
    const struct node *node;
    struct error err;
    assert_ok(node_parse(&node, text, strlen(text), "t", arena, &err), &err);
    return node;
}

static const char *odd_member(struct verdict *out, const char *text)
{
    struct arena arena = {0};
    *out = (struct verdict){.sentence = "before"};
    const struct stored_field *odd = fields_read(out, &verdict_fields, json_of(text, &arena), NULL);
    arena_free(&arena);
    return odd ? odd->name : NULL;
}

TEST(a_member_of_another_type_names_its_field)
{
    struct verdict v;
    assert_string_equal(odd_member(&v, "{\"cause\":\"kernel\"}"), "kind"); // no verdict lacks it
    assert_null(
        odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"slower\",\"pairs\":3,\"lower\":null}"));
    assert_int_equal(v.kind, VERDICT_SLOWER);
    assert_int_equal(v.pairs, 3);
    assert_true(isnan(v.log_ratio.low) && isnan(v.log_ratio.value));
    assert_string_equal(odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"no verdict\"}"), "kind");
    assert_string_equal(
        odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"slower\",\"pairs\":\"3\"}"), "pairs");
    assert_string_equal(odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"slower\",\"pairs\":-1}"),
                        "pairs");
    assert_string_equal(
        odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"slower\",\"pairs\":4294967296}"), "pairs");
    assert_string_equal(odd_member(&v, "{\"cause\":\"kernel\",\"kind\":\"slower\",\"sentence\":7}"),
                        "sentence");
}

TEST(a_list_has_the_fields_in_their_order)
{
    struct arena arena = {0};
    struct stored_figure figure;
    assert_null(
        fields_read_list(&figure, &figure_fields, json_of("[\"a\",1.5,\"b\"]", &arena), &arena));
    assert_string_equal(figure.name, "a");
    assert_true(figure.value == 1.5);
    assert_string_equal(figure.source, "b");
    const struct stored_field *odd =
        fields_read_list(&figure, &figure_fields, json_of("[1.5,\"a\",\"b\"]", &arena), &arena);
    assert_ptr_equal(odd, &figure_fields.items[0]);
    arena_free(&arena);
}

TEST(a_cell_is_a_whole_value_in_range_or_none)
{
    const struct stored_field *pairs = NULL, *kind = NULL;
    struct verdict v = {.pairs = 1};
    for (size_t i = 0; i < verdict_fields.count; i++) {
        const struct stored_field *field = &verdict_fields.items[i];
        pairs = strcmp(field->name, "pairs") == 0 ? field : pairs;
        kind = strcmp(field->name, "kind") == 0 ? field : kind;
    }
    assert_true(field_read(&v, pairs, "12"));
    assert_int_equal(v.pairs, 12);
    static const char *const odd[] = {"", "x", "-1", "1.5", "12 ", "12x", "4294967296"};
    for (size_t i = 0; i < ARRAY_COUNT(odd); i++)
        assert_false(field_read(&v, pairs, odd[i]));
    assert_true(field_read(&v, kind, "faster"));
    assert_int_equal(v.kind, VERDICT_FASTER);
    assert_false(field_read(&v, kind, "Faster"));
}

// Every word of every field reads back as the value that it stands for.
TEST(a_word_reads_back)
{
    size_t words = 0;
    for (size_t i = 0; i < all_fields_count; i++) {
        for (size_t k = 0; k < all_fields[i]->count; k++) {
            const struct stored_field *field = &all_fields[i]->items[k];
            for (int value = 0; field_is_word(field->type) && value < 3; value++) {
                char thing[1024] = "";
                assert_true(field->offset + sizeof(value) <= sizeof(thing));
                memcpy(thing + field->offset, &value, sizeof(value));
                assert_int_equal(field_word_parse(field, field_text(field, thing)), value);
                words++;
            }
            if (field_is_word(field->type))
                assert_int_equal(field_word_parse(field, "no such word"), -1);
        }
    }
    assert_true(words >= 12);
}

// ---- what is one text or one JSON in a row ----

TEST(errors_of_a_build_are_one_text_and_come_back)
{
    struct arena arena = {0};
    struct build_error errors[] = {{"a b.cu", 7, "no such: thing"}, {"", 0, ""}};
    const struct build_failure failure = {"does not compile", "log", errors, 2};
    struct build_failure back;
    struct unbuilt row = unbuilt_of(&failure, &arena);
    assert_true(unbuilt_failure(&back, &row, &arena));
    assert_string_equal(back.reason, failure.reason);
    assert_string_equal(back.log, failure.log);
    assert_int_equal(back.count, 2);
    for (size_t i = 0; i < back.count; i++) {
        assert_string_equal(back.errors[i].file, errors[i].file);
        assert_int_equal(back.errors[i].line, errors[i].line);
        assert_string_equal(back.errors[i].text, errors[i].text);
    }
    static const char *const damaged[] = {
        "a\t1\tb", "a\t1\n", "a\tx\tb\n", "a\t-1\tb\n", "a\t4294967296\tb\n", "\n"};
    for (size_t i = 0; i < ARRAY_COUNT(damaged); i++) {
        row.errors = damaged[i];
        assert_false(unbuilt_failure(&back, &row, &arena));
    }
    arena_free(&arena);
}

TEST(traits_are_one_json_and_come_back)
{
    struct open_store *f = *state;
    struct error err;
    struct buffer text = {0};
    struct traits back, traits = {.in = DTYPE_BF16, .out = DTYPE_FP32, .acc = DTYPE_FP32};
    int32_t next = -1;
#define X(name) traits.name = next++; // one of them is 0, and is left out
    TRAITS(X)
#undef X
    content_write_traits(&(struct json){.out = &text}, NULL, &traits);
    assert_ok(content_load_traits(&back, f->store, text.bytes, &err), &err);
    assert_memory_equal(&back, &traits, sizeof(traits));
    assert_null(strstr(text.bytes, ":0"));
    buffer_free(&text);
}

// What has a meaning in a URI has none in a path.
TEST(a_path_keeps_its_odd_characters)
{
    char *uri = store_uri("/a b/c?mode=rw%20#d.db", "?mode=ro");
    assert_string_equal(uri, "file:///a b/c%3fmode=rw%2520%23d.db?mode=ro");
    free(uri);
}
