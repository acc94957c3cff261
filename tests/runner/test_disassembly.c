// SPDX-License-Identifier: Apache-2.0
//
// A script plays the disassembler: its output is what a hostile library could make it print.
#include "runner/code/code_id.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t count_of(const struct operation_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].count;
    }
    return 0;
}

TEST(operation_take_reads_instructions_and_nothing_else)
{
    struct operation items[OPERATIONS_MOST];
    struct operation_list list = {.items = items};
    static const char *const lines[] = {
        "        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */",
        "        /*0010*/              @!P0 FFMA.FTZ R1, R2, R3, R4 ;   /* 0x0 */",
        "        /*0020*/                   FFMA R1, R2, R3, R4 ;",
        "\t/*00a0*/ { FFMA R1, R2, R3, R4 }",
        "                                                          /* 0x000fe20000000f00 */",
        "\t\tFunction : _Z4gemmv",
        "Fatbin elf code:",
        "/*zz*/ FADD",
        "/*0010*/",
        "/*0010*/ @P0",
        "/*0010*/ lower",
        "/*0010*/ ANAMETHATISMUCHTOOLONGTOBEONE R1",
        "/*0010",
        "",
    };
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        operation_take(&list, lines[i]);
    assert_int_equal(list.count, 2);
    assert_int_equal(count_of(&list, "FFMA"), 3);
    assert_int_equal(count_of(&list, "LDC"), 1);
}

TEST(operation_take_survives_more_names_than_there_is_room)
{
    struct operation *items = xcalloc(OPERATIONS_MOST, sizeof(*items));
    struct operation_list list = {.items = items};
    char line[64];
    for (int i = 0; i < 3 * OPERATIONS_MOST; i++) {
        snprintf(line, sizeof(line), "/*%04x*/ OP%d R1", (unsigned)i, i);
        operation_take(&list, line);
    }
    assert_int_equal(list.count, OPERATIONS_MOST);
    free(items);
}

// Disassembles with a PATH whose cuobjdump is this script.
static struct operation_list with_script(const char *script, struct arena *arena)
{
    char *directory = helper_directory(), *file = xprintf("%s/cuobjdump", directory);
    char *path = xprintf("%s:/usr/bin:/bin", directory), *old = xstrdup(getenv("PATH"));
    struct operation_list list;
    struct disassembly *d;
    struct error err;
    if (script) {
        FILE *to = fopen(file, "w");
        assert_non_null(to);
        fprintf(to, "#!/bin/sh\n%s\n", script);
        assert_int_equal(fclose(to), 0);
        assert_int_equal(chmod(file, 0755), 0);
    }
    setenv("PATH", path, 1);
    assert_int_equal(disassembly_begin(&d, "/bin/true", NULL, &err), 0);
    disassembly_end(&list, d, arena);
    setenv("PATH", old, 1);
    helper_discard(directory);
    free(directory);
    free(file);
    free(path);
    free(old);
    return list;
}

TEST(operations_of_a_good_answer_are_sorted_and_counted)
{
    struct arena arena = {0};
    struct operation_list list =
        with_script("[ \"$1\" = -sass ] || exit 9; echo '/*0000*/ LDG.E R1'; echo '/*0010*/ FFMA "
                    "R1'; echo '/*0020*/ @P1 LDG R2'",
                    &arena);
    assert_true(list.known);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "FFMA");
    assert_int_equal(count_of(&list, "LDG"), 2);
    arena_free(&arena);
}

TEST(operations_of_a_bad_answer_are_unknown)
{
    struct arena arena = {0};
    assert_false(with_script(NULL, &arena).known); // none there
    assert_false(with_script("echo '/*0000*/ FFMA R1'; exit 1", &arena).known);
    assert_false(with_script("head -c 200000 /dev/zero; echo", &arena).known);
    assert_false(with_script("true", &arena).known);
    assert_false(with_script("kill -9 $$", &arena).known);
    arena_free(&arena);
}
