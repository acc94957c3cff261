// SPDX-License-Identifier: Apache-2.0
//
// Starts the real bench, feeds it a script and keeps its answers.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "helper_bench: %s\n", what);
    abort();
}

static void parse(struct transcript *t)
{
    struct error err;
    char *save = NULL;
    for (char *line = strtok_r(t->output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        t->records = xrealloc(t->records, t->count + 1, sizeof(*t->records));
        if (wire_parse(&t->records[t->count++], line, &err))
            die(err.text);
    }
}

void bench_script(struct transcript *out, const char *arguments, const char *script)
{
    const char *asked = helper_file(script), *said = helper_file(""), *errors = helper_file("");
    char *command =
        xprintf("exec '%s/bench' %s <%s >%s 2>%s", TEST_BIN, arguments, asked, said, errors);
    *out = (struct transcript){0};
    out->status = system(command);
    free(command);
    out->output = helper_read(said, NULL);
    out->errors = helper_read(errors, NULL);
    unlink(asked);
    unlink(said);
    unlink(errors);
    parse(out);
}

void bench_play(struct transcript *out, const char *script)
{
    char *broken = test_module("broken"), *simd = ladder_module("simd");
    char *text = xcalloc(1, BENCH_SCRIPT);
    size_t used = 0;
    for (const char *c = script; *c; c++) {
        const char *insert = NULL;
        if (c[0] == '%' && (c[1] == 'B' || c[1] == 'S'))
            insert = *++c == 'B' ? broken : simd;
        used += (size_t)snprintf(text + used, BENCH_SCRIPT - used, "%.*s",
                                 insert ? (int)strlen(insert) : 1, insert ? insert : c);
    }
    bench_script(out, "--device host", text);
    free(text);
    free(broken);
    free(simd);
}

int transcript_exit(const struct transcript *t)
{
    return WIFEXITED(t->status) ? WEXITSTATUS(t->status) : -1;
}

void transcript_free(struct transcript *t)
{
    free(t->records);
    free(t->output);
    free(t->errors);
    *t = (struct transcript){0};
}

const struct wire_record *transcript_find(const struct transcript *t, const char *name, size_t nth)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->records[i].name, name) == 0 && nth-- == 0)
            return &t->records[i];
    }
    for (size_t i = 0; i < t->count; i++)
        fprintf(stderr, "  %s %s\n", t->records[i].name,
                wire_text(&t->records[i], "text") ? wire_text(&t->records[i], "text") : "");
    fprintf(stderr, "%s", t->errors);
    die(name);
    return NULL;
}

size_t transcript_count(const struct transcript *t, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        count += strcmp(t->records[i].name, name) == 0;
    return count;
}

const char *field(const struct wire_record *record, const char *key)
{
    const char *value = wire_text(record, key);
    if (!value)
        die(key);
    return value;
}

char *test_module(const char *name)
{
    return xprintf("%s/../test_modules/lib%s.so", TEST_BIN, name);
}

char *ladder_module(const char *name)
{
    return xprintf("%s/../kernels/lib%s.so", TEST_BIN, name);
}
