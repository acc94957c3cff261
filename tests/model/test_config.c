// SPDX-License-Identifier: Apache-2.0
//
// Git's configuration syntax, held against libgit2's parser.
#include "model/config.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct config_file parse(const char *text)
{
    struct config_file config;
    struct error err;
    if (config_parse(&config, text, strlen(text), "plumb.cfg", &err))
        fail_msg("%s", err.text);
    return config;
}

static void expect_error(const char *text, const char *message)
{
    struct config_file config;
    struct error err;
    assert_int_equal(config_parse(&config, text, strlen(text), "plumb.cfg", &err), -1);
    assert_string_equal(err.text, message);
}

static void expect_entry(const struct config_file *config, size_t index, const char *section,
                         const char *subsection, const char *key, const char *value, uint32_t line)
{
    assert_true(index < config->count);
    const struct config_entry *entry = &config->entries[index];
    assert_string_equal(entry->section, section);
    assert_string_equal(entry->subsection, subsection);
    assert_string_equal(entry->key, key);
    if (value)
        assert_string_equal(entry->value, value);
    else
        assert_null(entry->value);
    assert_int_equal(entry->line, line);
}

static const char sample[] = "\xef\xbb\xbf# policy\n"
                             "[Gate]\r\n"
                             "\tMargin = 0.003 ; small\n"
                             "  wide\n"
                             "[kernel \"SGEMM.Tile \\\"128\\\" a\\\\b\"] Problem=1x2x3:bf16\n"
                             "problem = \"  # no comment \" and\\\n more \\t\\\"x\\\" # but this\n"
                             "empty =\n"
                             "[old.Style]\n"
                             "k-1 = \"\"\n";

TEST(config_lines_and_names_are_kept)
{
    struct config_file c = parse(sample);
    assert_int_equal(c.count, 9);
    expect_entry(&c, 0, "gate", "", "", "", 2);
    expect_entry(&c, 1, "gate", "", "margin", "0.003", 3);
    expect_entry(&c, 2, "gate", "", "wide", NULL, 4);
    expect_entry(&c, 3, "kernel", "SGEMM.Tile \"128\" a\\b", "", "", 5);
    expect_entry(&c, 4, "kernel", "SGEMM.Tile \"128\" a\\b", "problem", "1x2x3:bf16", 5);
    expect_entry(&c, 5, "kernel", "SGEMM.Tile \"128\" a\\b", "problem",
                 "  # no comment  and more \t\"x\"", 6);
    expect_entry(&c, 6, "kernel", "SGEMM.Tile \"128\" a\\b", "empty", "", 8);
    expect_entry(&c, 7, "old", "style", "", "", 9);
    expect_entry(&c, 8, "old", "style", "k-1", "", 10);
    config_free(&c);
}

TEST(config_errors_say_file_and_line)
{
    expect_error("a = 1\n", "plumb.cfg:1: a key needs a [section] before it");
    expect_error("[a]\n\n1x = 1\n", "plumb.cfg:3: a key starts with a letter");
    expect_error("[a]\nb_c = 1\n",
                 "plumb.cfg:2: a line is key = value, and keys hold letters, digits and -");
    expect_error("[a\nb = 1\n", "plumb.cfg:1: a section must end with ]");
    expect_error("[]\n", "plumb.cfg:1: a section is [name] or [name \"part\"]");
    expect_error("[a b]\n", "plumb.cfg:1: a section is [name] or [name \"part\"]");
    expect_error("[a]\nb = \"x\\\ny\nc = 1\n", "plumb.cfg:2: a quote is not closed");
    expect_error("[a]\nb = \\x\n",
                 "plumb.cfg:2: after \\ may stand n, t, b, \", \\ or the line's end");
    expect_error("[a]\nb = \xff\n", "plumb.cfg:2: is not UTF-8 text");
    struct config_file config;
    struct error err;
    assert_int_equal(config_parse(&config, "[a]\n\0", 5, "plumb.cfg", &err), -1);
    assert_string_equal(err.text, "plumb.cfg:2: is not UTF-8 text");
}

TEST(config_includes_are_refused)
{
    expect_error("[include]\npath = /etc/passwd\n",
                 "plumb.cfg:1: other files cannot be included here");
    expect_error("\n[includeIf \"gitdir:/\"]\n",
                 "plumb.cfg:2: other files cannot be included here");
    expect_error("[INCLUDE]", "plumb.cfg:1: other files cannot be included here");
}

TEST(config_numbers_have_units)
{
    int64_t number = 0;
    assert_int_equal(config_int(&number, "64m"), 0);
    assert_int_equal(number, 64 << 20);
    assert_int_equal(config_int(&number, "-2K"), 0);
    assert_int_equal(number, -2048);
    assert_int_equal(config_int(&number, "9223372036854775807"), 0);
    static const char *const bad[] = {"", "k", "1kk", "1.5", " 1", "9223372036854775807k", "0x10"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_int_equal(config_int(&number, bad[i]), -1);
    assert_int_equal(config_int(&number, NULL), -1);
}

TEST(config_booleans_are_gits)
{
    bool value = false;
    static const char *const yes[] = {"true", "YES", "On", "1", NULL};
    static const char *const no[] = {"false", "No", "oFF", "0", ""};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(config_bool(&value, yes[i]), 0);
        assert_true(value);
        assert_int_equal(config_bool(&value, no[i]), 0);
        assert_false(value);
    }
    assert_int_equal(config_bool(&value, "maybe"), -1);
}

// ---- against libgit2, on mutations of valid text

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t mutate(char *text, size_t size, size_t room, uint64_t *random)
{
    static const char spice[] = "[]\"\\\n\r\t =#;.-ab1\xc3\xa9\x80";
    uint64_t changes = 1 + random_next(random) % 4;
    while (changes-- > 0 && size > 0) {
        size_t at = random_next(random) % size;
        char byte = spice[random_next(random) % (sizeof(spice) - 1)];
        switch (random_next(random) % 3) {
        case 0:
            text[at] = byte;
            break;
        case 1:
            memmove(text + at, text + at + 1, size - at - 1);
            size--;
            break;
        default:
            if (size < room) {
                memmove(text + at + 1, text + at, size - at);
                text[at] = byte;
                size++;
            }
        }
    }
    return size;
}

struct comparison {
    const struct config_file *config;
    size_t next;
    bool same;
};

// The full name as libgit2 says it: section.subsection.key.
static int compare_entry(const git_config_entry *entry, void *context)
{
    struct comparison *c = context;
    while (c->next < c->config->count && !*c->config->entries[c->next].key)
        c->next++;
    if (c->next == c->config->count) {
        c->same = false;
        return 1;
    }
    const struct config_entry *ours = &c->config->entries[c->next++];
    char *name = xprintf("%s%s%s.%s", ours->section, *ours->subsection ? "." : "", ours->subsection,
                         ours->key);
    c->same = strcmp(name, entry->name) == 0 && !ours->value == !entry->value &&
              (!ours->value || strcmp(ours->value, entry->value) == 0);
    free(name);
    return c->same ? 0 : 1;
}

TEST(config_agrees_with_libgit2_on_mutations)
{
    char *directory = helper_directory(), *path = xprintf("%s/config", directory);
    uint64_t random = 20261121;
    size_t both = 0, refused = 0;
    git_libgit2_init();
    for (int i = 0; i < 4000; i++) {
        char text[1024];
        size_t size = sizeof(sample) - 1;
        memcpy(text, sample, size);
        if (i > 0)
            size = mutate(text, size, sizeof(text), &random);
        FILE *file = fopen(path, "wb");
        fwrite(text, 1, size, file);
        fclose(file);
        git_config *theirs = NULL;
        struct config_file ours;
        struct error err;
        bool accepted = git_config_open_ondisk(&theirs, path) == 0;
        if (config_parse(&ours, text, size, "c", &err)) {
            assert_memory_equal(err.text, "c:", 2);
            refused += accepted;
            git_config_free(theirs);
            continue;
        }
        struct comparison comparison = {.config = &ours, .same = true};
        if (accepted)
            git_config_foreach(theirs, compare_entry, &comparison);
        if (!accepted || !comparison.same) {
            print_error("%s\n%.*s\n", accepted ? "differs" : git_error_last()->message, (int)size,
                        text);
            fail();
        }
        both++;
        config_free(&ours);
        git_config_free(theirs);
    }
    assert_true(both > 500); // the mutations are mild enough to say something
    print_message("both read %zu, only libgit2 %zu\n", both, refused);
    helper_discard(directory);
    free(path);
    free(directory);
}

TEST(config_survives_noise)
{
    uint64_t random = 7;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        size_t size = random_next(&random) % sizeof(text);
        static const char alphabet[] = "[]\"\\\n\r =#;.ab\xc3\xa9";
        for (size_t k = 0; k < size; k++)
            text[k] = alphabet[random_next(&random) % (sizeof(alphabet) - 1)];
        char *exact = xcalloc(size, 1); // so that a sanitizer sees a read past the end
        memcpy(exact, text, size);
        struct config_file config;
        struct error err;
        if (config_parse(&config, exact, size, "c", &err) == 0)
            config_free(&config);
        free(exact);
    }
}
