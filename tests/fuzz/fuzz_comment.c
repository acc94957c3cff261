// SPDX-License-Identifier: Apache-2.0
//
// The file that a stranger's gate leaves (plumb export --format json), up to the comment on their
// pull request and all other reports: whatever it says, the comment is short, and nothing in it is
// markup of theirs.
#include "reports/report.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/one_store.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMENT_MOST = 60000 }; // ci/comment cuts there

// Tags that the report itself writes.
static bool is_ours(const char *tag)
{
    static const char *const tags[] = {"<details>",  "</details>", "<summary>",
                                       "</summary>", "<code>",     "</code>"};
    for (size_t i = 0; i < ARRAY_COUNT(tags); i++) {
        if (strncmp(tag, tags[i], strlen(tags[i])) == 0)
            return true;
    }
    return false;
}

static void hold(const char *text, size_t length)
{
    must(length < COMMENT_MOST, "a comment that GitHub does not take");
    must(strlen(text) == length, "a byte that ends the text");
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        must(c >= 0x20 || c == '\n', "a control byte");
        must(c != '@' || !isalnum((unsigned char)text[i + 1]), "somebody is mentioned");
        must(c != '<' || is_ours(&text[i]), "markup of theirs");
    }
    must(!strstr(text, "](http"), "a link of theirs");
}

static void report_run(struct store *store, int64_t id)
{
    struct run run;
    struct error err;
    must(store_load_run(&run, store, id, &err) == 0, err.text);
    for (size_t i = 0; i < report_count; i++) {
        struct buffer out = {0};
        reports[i]->write(&out, &run, NULL);
        if (strcmp(reports[i]->name, "comment") == 0)
            hold(out.bytes, out.length);
        buffer_free(&out);
    }
    run_free(&run);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    const struct import_source from = {.name = "fuzz", .format = "json"};
    struct store_counts added;
    struct run_entry *entries;
    struct arena arena = {0};
    struct error err;
    size_t count;
    struct store *store = one_store();
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "r") : NULL;
    if (!file)
        return;
    if (store_import(store, file, &from, &added, NULL, &err) == 0) {
        must(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, &err) == 0,
             err.text);
        for (size_t i = 0; i < count; i++)
            report_run(store, entries[i].id);
        one_store_empty();
        arena_free(&arena);
    }
    fclose(file);
}
