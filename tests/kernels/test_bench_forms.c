// SPDX-License-Identifier: Apache-2.0
//
// The real bench on the host device times forms: leading dimensions, alpha and beta, INT8, bias and
// activations, block scales, groups, batch, and kernels that are no GEMM by their library's own
// reference. It finds every part of a form that a kernel overlooks.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Opens `kernel` on a problem, takes some pairs of it with itself, and closes it.
static void play(struct transcript *t, const char *kernel, const char *problem, const char *library)
{
    char *script = xprintf("open\tid=1\tkernel=%s\tproblem=%s\thead=%s\tbase=%s\tseed=7\n"
                           "pairs\tid=1\tcount=3\tblock=0\nclose\tid=1\nquit\n",
                           kernel, problem, library, library);
    bench_script(t, "--device host", script);
    free(script);
}

static void assert_right(const char *kernel, const char *problem, const char *library)
{
    struct transcript t;
    play(&t, kernel, problem, library);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    if (strcmp(field(opened, "state"), "ok") != 0)
        fail_msg("%s %s: %s: %s", kernel, problem, field(opened, "state"), field(opened, "note"));
    assert_int_equal(transcript_count(&t, "sample"), 6);
    const struct wire_record *closed = transcript_find(&t, "closed", 0);
    if (strcmp(field(closed, "state"), "ok") != 0)
        fail_msg("%s %s: %s", kernel, problem, field(closed, "note"));
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

static void assert_state(const char *kernel, const char *problem, const char *state,
                         const char *in_note)
{
    struct transcript t;
    char *library = test_module("wrong_forms");
    play(&t, kernel, problem, library);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    if (strcmp(field(opened, "state"), state) != 0 || !strstr(field(opened, "note"), in_note))
        fail_msg("%s %s: %s: %s", kernel, problem, field(opened, "state"), field(opened, "note"));
    transcript_free(&t);
    free(library);
}

TEST(right_gemms_of_every_form_pass)
{
    static const char *const problems[] = {
        "9x13x11:fp32",
        "9x13x11:bf16:nt:lda=12:ldb=16:ldc=15",
        "9x13x11:fp16-fp32:tt:b2:ldb=14:ldc=20",
        "9x13x11:fp32:nn:alpha=0.5:beta=-2",
        "9x13x11:bf16:beta=1:bias-relu:ldc=14",
        "9x13x12:fp8-fp32:alpha=3:gelu",
        "9x13x11:fp32:silu",
        "9x13x11:fp32:bias-silu:b2",
        "9x13x33:int8:nn:ldb=14",
        "9x13x11:e5m2-bf16:dual-silu:ldb=12",
        "9x13x41:mxfp8",
        "9x13x66:nvfp4-fp32",
        "130x9x66:nvfp4:e4m3/16/tiled:dual-silu",
        "9x13x66:mxfp4-fp32:e8m0/32/columns:b3",
        "5x130x300:fp8:fp32/1x128/128x128/columns",
        "5x130x260:fp8:fp32/128x128/1x128:alpha=2:bias",
        "40x7x12:bf16:contiguous3/30",
        "5x7x12:fp32:contiguous9",
        "20x7x12:fp32:masked4/9/zipf:dual-silu",
        "40x7x130:fp8:fp32/1x128/128x128/columns:contiguous2/60",
        "12x7x34:nvfp4-fp32:e4m3/16/tiled:masked3/7/50",
    };
    char *library = test_module("wrong_forms");
    for (size_t i = 0; i < ARRAY_COUNT(problems); i++)
        assert_right("any", problems[i], library);
    free(library);
}

TEST(parts_of_a_form_that_are_overlooked_are_found)
{
    static const char *const cases[][3] = {
        {"without-beta", "9x13x11:bf16:beta=0.5", "elements wrong"},
        {"without-alpha", "9x13x11:bf16:alpha=0.9", "elements wrong"},
        {"without-bias", "9x13x11:bf16:bias-gelu", "elements wrong"},
        {"dense", "9x13x11:bf16:lda=12", "elements wrong"},
        {"gap", "9x13x11:fp32:ldc=14", "wrote between rows, at row 0"},
        {"by-tanh", "9x13x11:fp32:gelu", "elements wrong"},
        {"off-by-one", "9x13x11:int8", "1 of 117 elements wrong"},
        {"scales-as-rows", "9x13x300:fp8:e8m0/32/tiled", "elements wrong"},
        {"scales-as-rows", "9x13x300:fp8:fp32/128/columns", "elements wrong"},
        {"scales-as-rows", "9x200x300:fp8:fp32/1x128/128x128/columns", "elements wrong"},
        {"scales-of-a-twice", "9x9x64:mxfp8", "elements wrong"},
        {"without-tensor-scale", "9x9x64:nvfp4", "elements wrong"},
        {"nibbles", "9x9x64:nvfp4", "elements wrong"},
        {"first-b", "40x7x12:fp32:contiguous3", "elements wrong"},
        {"padding", "40x7x12:fp32:contiguous3", "wrote between rows, at row"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_state(cases[i][0], cases[i][1], "wrong", cases[i][2]);
}

TEST(what_is_no_gemm_is_held_to_its_librarys_reference)
{
    char *library = test_module("wrong_forms");
    assert_right("softmax", "S=9,H=21:fp32", library);
    free(library);
    assert_state("softmax-short", "H=21,S=9:fp32", "wrong", "of 189 elements wrong, first output[");
    assert_state("softmax-unwritten", "S=9,H=21:fp32", "wrong", "nan");
    assert_state("softmax-beyond", "S=9,H=21:fp32", "wrong", "byte 0 behind C");
    assert_state("softmax", "S=9:fp32", "unsupported", "does not do this problem");
    assert_state("softmax", "9x9x9:fp32", "unsupported", "does not do this problem");
    assert_state("any", "S=9,H=21:fp32", "unsupported", "does not do this problem");
    assert_state("unreferenced", "S=9,H=21:fp32", "unsupported", "does not do this problem");
    assert_state("no-buffers", "S=9,H=21:fp32", "unsupported", "buffers() states none");
    assert_state("empty-buffers", "S=9,H=21:fp32", "unsupported", "there is no such buffer");
    assert_state("huge-buffers", "S=9,H=21:fp32", "unsupported", "MiB with copies");
    assert_state("no-reference", "S=9,H=21:fp32", "unsupported", "reference() returned 5");
    assert_state("nan-reference", "S=9,H=21:fp32", "unsupported", "reference() says nan");
}

// A kernel that turns wrong, or does not look at its inputs again, was right at first.
TEST(what_is_wrong_later_is_found_when_it_is_closed)
{
    static const char *const cases[][2] = {{"softmax-late", "S=9,H=21:fp32"},
                                           {"softmax-kept", "S=9,H=21:fp32"},
                                           {"skips", "600x512x8:fp32:contiguous4/30"},
                                           {"keeps-a", "600x512x8:fp32:contiguous4/30"}};
    char *library = test_module("wrong_forms");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct transcript t;
        char *script = xprintf("open\tid=1\tkernel=%s\tproblem=%s\thead=%s\tseed=7\t"
                               "launches=1\nsolo\tid=1\tcount=110\tblock=0\nclose\tid=1\nquit\n",
                               cases[i][0], cases[i][1], library);
        bench_script(&t, "--device host", script);
        assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
        assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "wrong");
        transcript_free(&t);
        free(script);
    }
    free(library);
}

// The head's reference is not asked where there is a base.
TEST(a_pair_is_held_to_the_bases_reference)
{
    struct transcript t;
    char *head = test_module("wrong_forms"), *base = xprintf(TEST_BIN "/../examples/libsoftmax.so");
    char *script = xprintf("open\tid=1\tkernel=softmax\tproblem=S=9,H=21:fp32\thead=%s\tbase=%s\t"
                           "seed=7\nquit\n",
                           head, base);
    bench_script(&t, "--device host", script);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    assert_string_equal(field(opened, "state"), "unsupported");
    assert_non_null(strstr(field(opened, "note"), "states others than the base's"));
    transcript_free(&t);
    free(script);
    free(base);
    free(head);
}

// Two kernels of a library may do the same problem and mean something else by it.
TEST(what_a_library_says_is_of_one_kernel)
{
    struct transcript t;
    char *library = test_module("wrong_forms");
    char *script = xprintf("open\tid=1\tkernel=softmax\tproblem=S=9,H=21:fp32\thead=%s\tseed=7\n"
                           "open\tid=2\tkernel=no-reference\tproblem=S=9,H=21:fp32\thead=%s\t"
                           "seed=7\nquit\n",
                           library, library);
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_string_equal(field(transcript_find(&t, "opened", 1), "state"), "unsupported");
    transcript_free(&t);
    free(script);
    free(library);
}

// One process after another, each with a seed of its own and the known inputs of all.
static void known(const char *want, int seed)
{
    struct transcript t;
    char *library = test_module("wrong_forms");
    char *script = xprintf("open\tid=1\tkernel=softmax\tproblem=S=9,H=21:fp32\thead=%s\t"
                           "seed=%d\tknown=3\nclose\tid=1\nquit\n",
                           library, seed);
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), want);
    if (strcmp(want, "ok") == 0)
        assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
    free(script);
    free(library);
}

// To each file that begins with its library's path; `bytes`: 0: its numbers become zeros, else it
// is cut so short. Returns how many there are.
static int spoil(const char *folder, off_t bytes)
{
    glob_t found;
    char *pattern = xprintf("%s/*", folder);
    const int count = glob(pattern, 0, NULL, &found) ? 0 : (int)found.gl_pathc;
    for (int i = 0; i < count; i++) {
        const size_t numbers = (size_t)9 * 21 * sizeof(double);
        struct stat now;
        char zeros[9 * 21 * sizeof(double)] = {0};
        assert_int_equal(stat(found.gl_pathv[i], &now), 0);
        assert_true((size_t)now.st_size > numbers);
        FILE *file = fopen(found.gl_pathv[i], "r+e");
        assert_non_null(file);
        if (bytes) {
            assert_int_equal(ftruncate(fileno(file), bytes), 0);
        } else {
            fseek(file, now.st_size - (off_t)numbers, SEEK_SET);
            assert_int_equal(fwrite(zeros, 1, numbers, file), numbers);
        }
        fclose(file);
    }
    if (count)
        globfree(&found);
    free(pattern);
    return count;
}

TEST(what_a_library_says_is_said_once_for_all_processes)
{
    char *folder = helper_directory();
    setenv("PLUMB_REFERENCES", folder, 1);
    known("ok", 7);
    const int said = spoil(folder, 20); // a file that is no whole one is no answer
    assert_true(said > 0);
    known("ok", 8);
    assert_int_equal(spoil(folder, 0), said); // the same ones again
    known("wrong", 9);
    unsetenv("PLUMB_REFERENCES");
    known("ok", 9);
    free(folder);
}

// As a library of a GPU is, in bench's own process: what later checks will ask for is said at once.
static int time_inside(const char *library, int *exit_code)
{
    char *line = xprintf("'%s/bench' --device host time --inside --head %s --base %s --kernel "
                         "reference-once --problem S=9,H=21:fp32 --pairs 2 --blocks 1 --seed 3 "
                         ">/dev/null 2>&1",
                         TEST_BIN, library, library);
    const int status = system(line);
    free(line);
    *exit_code = WEXITSTATUS(status);
    return WIFEXITED(status);
}

TEST(references_that_take_long_are_said_side_by_side)
{
    char *folder = helper_directory(), *library = test_module("wrong_forms");
    int code;
    assert_true(time_inside(library, &code));
    assert_int_not_equal(code, 0); // its second one is asked for in the same process
    setenv("PLUMB_REFERENCES", folder, 1);
    assert_true(time_inside(library, &code));
    assert_int_equal(code, 0);
    assert_int_equal(spoil(folder, 0), 3);
    assert_true(time_inside(library, &code));
    assert_int_not_equal(code, 0);
    unsetenv("PLUMB_REFERENCES");
    helper_discard(folder);
    free(folder);
    free(library);
}

// Of one kernel and problem the same ones, whatever command closes a series.
TEST(series_of_one_process_share_all_that_is_said)
{
    struct transcript t;
    char *folder = helper_directory(), *library = test_module("wrong_forms");
    char *open =
        xprintf("kernel=softmax\tproblem=S=9,H=21:fp32\thead=%s\tseed=7\tknown=3", library);
    char *script = xprintf("open\tid=1\t%s\tregime=isolated\nclose\tid=1\n"
                           "open\tid=2\t%s\tregime=warm\nsolo\tid=2\tcount=12\tblock=345\n"
                           "close\tid=2\nquit\n",
                           open, open);
    setenv("PLUMB_REFERENCES", folder, 1);
    bench_script(&t, "--device host", script);
    unsetenv("PLUMB_REFERENCES");
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(field(transcript_find(&t, "closed", i), "state"), "ok");
    assert_int_equal(spoil(folder, 0), 2); // when each was opened, and when each was closed
    transcript_free(&t);
    helper_discard(folder);
    free(script);
    free(open);
    free(folder);
    free(library);
}

TEST(what_bench_cannot_make_is_refused)
{
    static const char *const cases[][2] = {
        {"9x9x9:nvfp4", "k of e2m1 is even"},
        {"9x9x8:e2m1", "makes no inputs of this type"},
        {"9x9x8:bf16:e8m0/32", "block scales are for fp8 and fp4"},
        {"9x9x8:e8m0", "makes no inputs of this type"},
        {"9x9x8:bf16-e2m1", "makes no inputs of this type"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_state("any", cases[i][0], "unsupported", cases[i][1]);
}

TEST(a_library_of_the_first_version_is_asked_about_plain_problems_alone)
{
    static const char *const problems[] = {"8x8x8:fp32:ldc=9", "8x8x8:fp32:beta=1",
                                           "8x8x8:fp32:relu", "8x8x8:fp32:contiguous2"};
    char *library = ladder_module("naive");
    for (size_t i = 0; i < ARRAY_COUNT(problems); i++) {
        struct transcript t;
        play(&t, "naive", problems[i], library);
        assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "unsupported");
        transcript_free(&t);
    }
    assert_right("naive", "8x8x8:fp32:ldc=8:alpha=1", library);
    free(library);
}
