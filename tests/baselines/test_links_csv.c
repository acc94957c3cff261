// SPDX-License-Identifier: Apache-2.0
//
// Links as a table: what was recorded on an H200 comes back from it byte for byte, as numbers of
// what is new, and a row that cannot be a link is refused with its line and its column.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

static char *table_of(struct store *store)
{
    FILE *file = tmpfile();
    assert_ok(store_export_links(store, &(struct export_filter){0}, file, &err), &err);
    const size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = xcalloc(size + 1, 1);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static int64_t links_added(struct store *store, const char *text, const char *format)
{
    struct store_counts added;
    assert_ok(import_text(store, text, strlen(text), format, &added, &err), &err);
    assert_int_equal(added.runs + added.measurements, 0);
    return added.links;
}

static struct store *another(struct open_store *f, const char *name)
{
    return scratch_store(scratch_path(&f->arena, f->folder, name), STORE_WRITE);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(a_recorded_history_comes_back_from_its_table)
{
    struct open_store *f = *state;
    char *lines = helper_read(TEST_SOURCE "/baselines/recorded/h200/history/own.jsonl", NULL);
    assert_int_equal(links_added(f->store, lines, NULL), 251);
    assert_int_equal(links_added(f->store, lines, NULL), 0);
    char *table = table_of(f->store);
    struct store *read = another(f, "b.db");
    assert_int_equal(links_added(read, table, NULL), 251);
    assert_int_equal(links_added(read, table, NULL), 0);
    char *again = table_of(read);
    assert_string_equal(again, table);
    sound_counts(read);
    store_close(read);
    free(again);
    free(table);
    free(lines);
}

#define HEADER                                                                                     \
    "run,kernel,problem,device,base_code,head_code,base,head,made_s,back,verdict,log_ratio,error," \
    "log_evidence,pairs,processes"
#define ROW                                                                                        \
    "0123456789abcdef0123456789abcdef,gemm,64x64x64:fp32,unit,c1,c2,1111111,2222222,1700000000,1," \
    "slower,0.01,0.001,9,64,2"

// What scripts must say is enough, and a text in front of which an apostrophe stands is meant
// without it.
TEST(the_needed_columns_suffice)
{
    struct open_store *f = *state;
    assert_int_equal(links_added(f->store, HEADER "\n" ROW "\n", NULL), 1);
    char *table = table_of(f->store);
    assert_non_null(strstr(table, "\n0123456789abcdef0123456789abcdef,gemm,64x64x64:fp32"));
    free(table);
}

TEST(rows_that_cannot_be_links_are_refused)
{
    static const char *const changes[][3] = {
        {"0123456789abcdef0123456789abcdef", "12", "file:2: run: "},
        {",gemm,", ",,", "file:2: kernel: "},
        {"64x64x64", "64x-4x64", "file:2: problem: "},
        {",unit,", ",,", "file:2: device: "},
        {",c1,", ",c 1,", "file:2: base_code: "},
        {",c2,", ",c1,", "file:2: "},
        {"1111111", "11", "file:2: base: "},
        {"2222222", "GGGGGGG", "file:2: head: "},
        {"1700000000,", "soon,", "file:2: made_s: "},
        {",1,slower", ",-1,slower", "file:2: back: "},
        {"slower", "broken", "file:2: "},
        {"slower", "lucky", "file:2: verdict: "},
        {"0.01,", "1e9,", "file:2: "},
        {"0.01,", "nan,", "file:2: log_ratio: "},
        {"0.001,", "0,", "file:2: "},
        {",9,", ",inf,", "file:2: log_evidence: "},
        {",64,2", ",many,2", "file:2: pairs: "},
        {",64,2", ",64,70000", "file:2: processes: "},
        {",error,", ",fault,", "file: no column error"},
    };
    struct open_store *f = *state;
    static const char sound[] = HEADER "\n" ROW "\n";
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        const char *at = strstr(sound, changes[i][0]);
        assert_non_null(at);
        char *text = xprintf("%.*s%s%s", (int)(at - sound), sound, changes[i][1],
                             at + strlen(changes[i][0]));
        assert_int_equal(import_text(f->store, text, strlen(text), NULL, NULL, &err), -1);
        if (strncmp(err.text, changes[i][2], strlen(changes[i][2])) != 0)
            fail_msg("%s: %s", changes[i][2], err.text);
        free(text);
    }
    char *table = table_of(f->store);
    assert_null(strchr(strchr(table, '\n') + 1, '\n')); // nothing of them is there
    free(table);
}
