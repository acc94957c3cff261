// SPDX-License-Identifier: Apache-2.0
//
// The first errors of real logs: gcc 12, clang 14, nvcc 13.0 with its tools, GNU ld and lld, cmake,
// ninja, make and sh; and of logs that are meant to do harm.
#include "runner/build/build.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expected {
    const char *log;
    size_t count;
    const char *file; // of the first
    uint32_t line;
    const char *text;
};

#define RED    "\x1b[01;31m\x1b[K"
#define PLAIN  "\x1b[m\x1b[K"
#define FOLDER "/home/a b/cache/tmp-0123456789012345678901234567890123456789-77/source/"

static const struct expected logs[] = {
    {"/plumb/source/kernels/plain.c: In function 'launch':\n"
     "/plumb/source/kernels/plain.c:34:19: error: 'm_of' undeclared (first use)\n"
     "   34 |     rows(args, 0, m_of);\n"
     "      |                   ^~~~\n"
     "/plumb/source/kernels/plain.c:34:19: note: each undeclared identifier is reported once\n",
     1, "kernels/plain.c", 34, "error: 'm_of' undeclared (first use)"},
    {PLAIN "c.c:1:24:" PLAIN " " RED "error: " PLAIN "'x' undeclared\r\n"
           "c.c:2:1: " RED "error: " PLAIN "'y' undeclared\n",
     2, "c.c", 1, "error: 'x' undeclared"},
    {"In file included from a.c:1:\n" FOLDER "inc/b.h:7:10: fatal error: none.h: No such file or "
     "directory\n    7 | #include \"none.h\"\ncompilation terminated.\n",
     1, "inc/b.h", 7, "fatal error: none.h: No such file or directory"},
    {"../source/k.cu(12): warning #177-D: variable was declared\n"
     "../source/k.cu(13): error: identifier \"undefined_name\" is undefined\n"
     "../source/k.cu(14): error #20-D: identifier \"b\" is undefined\n\n"
     "2 errors detected in the compilation of \"k.cu\".\n",
     2, "k.cu", 13, "error: identifier \"undefined_name\" is undefined"},
    {"ptxas /tmp/tmpxft_6_k2.ptx, line 80; error   : Unknown modifier '.bar'\n"
     "ptxas fatal   : Ptx assembly aborted due to errors\n",
     2, "", 0, "ptxas /tmp/tmpxft_6_k2.ptx, line 80; error   : Unknown modifier '.bar'"},
    // A terminal's title, ended as terminals do.
    {"\x1b]0;make\x1b\\"
     "a.c:3:1: error: x\n\x1b]0;make\a"
     "b.c:4:1: error: y\n",
     2, "a.c", 3, "error: x"},
    {"nvcc fatal   : Unsupported gpu architecture 'sm_990'\n", 1, "", 0,
     "nvcc fatal   : Unsupported gpu architecture 'sm_990'"},
    {"nvlink error   : Undefined reference to '_Z5otherf' in '/tmp/k.o'\n", 1, "", 0,
     "nvlink error   : Undefined reference to '_Z5otherf' in '/tmp/k.o'"},
    {"/usr/bin/ld: /tmp/b-bd.o: in function `main':\nb.c:(.text+0x10): undefined reference to `f'\n"
     "collect2: error: ld returned 1 exit status\n",
     1, "", 0, "b.c:(.text+0x10): undefined reference to `f'"},
    {"/usr/bin/ld: b.o: in function `main':\n/plumb/source/b.c:11: undefined reference to `f'\n", 1,
     "b.c", 11, "undefined reference to `f'"},
    {"/usr/bin/ld: cannot find -lnosuch: No such file or directory\n"
     "collect2: error: ld returned 1 exit status\nninja: build stopped: subcommand failed.\n",
     1, "", 0, "cannot find -lnosuch: No such file or directory"},
    {"ld.lld: error: undefined symbol: f\n>>> referenced by b.c:1\n", 1, "", 0,
     "error: undefined symbol: f"},
    {"-- Detecting C compile features - done\nCMake Error at CMakeLists.txt:3 (find_package):\n\n"
     "  By not providing \"FindX.cmake\" this\n  project has asked\n\n"
     "-- Configuring incomplete, errors occurred!\n",
     1, "CMakeLists.txt", 3, "CMake Error: By not providing \"FindX.cmake\" this"},
    {"CMake Error: Error: generator : Ninja\n", 1, "", 0, "CMake Error: Error: generator : Ninja"},
    {"FAILED: x.o \n/usr/bin/cc -c x.c\nninja: build stopped: subcommand failed.\n", 2, "", 0,
     "FAILED: x.o"},
    {"[3/9] lib/x.so\nFAILED: [code=1] lib/y.so\nsh nvcc.sh y.cu\n"
     "ptxas info : (C7510) wgmma is serialized\ny.cu: ptxas had to slow this kernel down\n"
     "[4/9] lib/z.so\n",
     3, "", 0, "ptxas info : (C7510) wgmma is serialized"},
    {"FAILED: y.so\nsh check.sh y.c\n/plumb/source/y.c:7: the table is older than its script\n", 2,
     "y.c", 7, "the table is older than its script"},
    {"sh check.sh y.c\ny.c: the table is older\nmake: *** [Makefile:2: y.so] Error 1\n", 2, "", 0,
     "y.c: the table is older"},
    {"make: *** No rule to make target 'n.c', needed by 'all'.  Stop.\n", 1, "", 0,
     "make: *** No rule to make target 'n.c', needed by 'all'.  Stop."},
    {"sh: 1: nvcc: not found\n", 1, "", 0, "sh: 1: nvcc: not found"},
    {"one\n\ntwo\nthree\nfour\n\n", 3, "", 0, "two"},
    {"", 0, NULL, 0, NULL},
};

TEST(first_errors_are_found_with_file_and_line)
{
    for (size_t i = 0; i < ARRAY_COUNT(logs); i++) {
        struct build_error found[BUILD_ERRORS];
        struct arena arena = {0};
        const struct expected *e = &logs[i];
        const size_t count = build_errors_find(found, e->log, &arena);
        if (count != e->count ||
            (count && (strcmp(found[0].file, e->file) || found[0].line != e->line ||
                       strcmp(found[0].text, e->text))))
            fail_msg("log %zu: %zu errors, %s:%u: %s", i, count, count ? found[0].file : "",
                     count ? found[0].line : 0, count ? found[0].text : "");
        arena_free(&arena);
    }
}

TEST(a_cause_comes_before_what_only_tells_of_failure)
{
    struct build_error found[BUILD_ERRORS];
    struct arena arena = {0};
    assert_int_equal(build_errors_find(found,
                                       "FAILED: x.o\nmake: *** [Makefile:2: x.o] Error 1\n"
                                       "x.c:1:2: error: late\n",
                                       &arena),
                     1);
    assert_string_equal(found[0].text, "error: late");
    arena_free(&arena);
}

TEST(each_error_is_told_once_and_at_most_five_are)
{
    struct build_error found[BUILD_ERRORS];
    struct arena arena = {0};
    char log[4096] = "";
    for (int i = 0; i < 40; i++)
        snprintf(log + strlen(log), sizeof(log) - strlen(log), "a.c:%d:1: error: again\n",
                 i / 2 + 1);
    assert_int_equal(build_errors_find(found, log, &arena), BUILD_ERRORS);
    for (uint32_t i = 0; i < BUILD_ERRORS; i++)
        assert_int_equal(found[i].line, i + 1);
    arena_free(&arena);
}

// Whatever is in the log, the pieces are bounded and hold no control byte.
static void check(const char *log)
{
    struct build_error found[BUILD_ERRORS];
    struct arena arena = {0};
    const size_t count = build_errors_find(found, log, &arena);
    assert_true(count <= BUILD_ERRORS);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(found[i].file) <= 200 && strlen(found[i].text) <= 300);
        for (const char *c = found[i].text; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
        for (const char *c = found[i].file; *c; c++)
            assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
    }
    arena_free(&arena);
}

TEST(hostile_logs_stay_bounded)
{
    static const char *const pieces[] = {
        "\x1b",   "\x1b[",    "\x1b]0;title",   "\a",
        "\r",     "\n",       "a.c:1:",         ":",
        "(12): ", "error: ",  "999999999999",   "CMake Error at ",
        "/tmp-",  "/source/", "/plumb/source/", "ld: ",
        "ptxas ", "\xff\xfe", "\xe2\x82",       "undefined reference",
        " ",      "\x01\x7f", "collect2",       "FAILED: ",
    };
    uint32_t random = 20261122;
    for (int round = 0; round < 2000; round++) {
        char log[2048] = "";
        for (int i = 0; i < 60; i++) {
            random = random * 1664525u + 1013904223u;
            strcat(log, pieces[(random >> 16) % ARRAY_COUNT(pieces)]);
        }
        check(log);
    }
    char *line = malloc(1 << 20);
    assert_non_null(line);
    memset(line, 'x', 1 << 20);
    memcpy(line, "a.c:1: error: ", 14);
    line[(1 << 20) - 1] = '\0';
    check(line);
    memset(line, ':', (1 << 20) - 1);
    check(line);
    free(line);
}
