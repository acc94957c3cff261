// SPDX-License-Identifier: Apache-2.0
//
// Records made from what a bench tells and what a library's file holds: the device code comes from
// the file alone, what cannot be replayed is refused by name, and a bench that tells nonsense
// leaves no file.
#include "model/record/record.h"
#include "runner/bench/measure.h"
#include "runner/code/machine_code.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "record\tversion=1\tkernel=lies\tproblem=1x1x1:fp32\tworkspace=512\tnote=split 2\n"
#define SHAPE                                                                                      \
    "grid_x=8\tgrid_y=1\tgrid_z=1\tblock_x=128\tblock_y=1\tblock_z=1\tcluster_x=1\tcluster_y=1\t"  \
    "cluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0\tcarveout=-1\n"
#define PARAMETERS                                                                                 \
    "parameter\toffset=0\tbytes=0000000000000000\naddress\tat=0\tbuffer=c\toffset=0\n"

static char *tell(const char *function)
{
    return xprintf(HEAD "launch\tfunction=%s\t" SHAPE PARAMETERS "end\n", function);
}

static struct bench_outcome record_of(struct fake_bench *fake, const char *library,
                                      const char *told, const char *out)
{
    struct bench_outcome outcome = {.state = MEASURED_OK};
    struct error err = {""};
    char *path = library_path(library), *file = library_path(out);
    const struct bench_series series = {.kernel = "kernel", .problem = &fake_problem, .head = path};
    if (told)
        fake_bench_write(fake, "record", told);
    struct bench *bench = fake_bench_start(fake);
    if (record_write(&outcome, file, bench, &series, &err))
        fail_msg("%s", err.text);
    bench_stop(bench);
    free(path);
    free(file);
    return outcome;
}

static bool there(const char *name)
{
    char *path = library_path(name);
    const bool is = helper_exists("/", path);
    free(path);
    return is;
}

AROUND_ALL(library_set_up, library_tear_down);

TEST(the_code_is_the_files_and_the_name_is_ours)
{
    struct fake_bench fake = {.notes = 0};
    struct cubin cubin;
    struct record record;
    struct arena arena = {0};
    struct error err;
    size_t size = 0;
    fake_bench_make(&fake);
    library_make_cuda("cuda", &library_usual_cubin);
    cubin_make(&cubin, &library_usual_cubin);
    char *told = tell(library_usual_cubin.kernel);
    const struct bench_outcome outcome = record_of(&fake, "cuda.so", told, "whole.record");
    if (outcome.state != MEASURED_OK)
        fail_msg("%s", outcome.detail);
    char *path = library_path("whole.record"), *bytes = helper_read(path, &size);
    if (record_parse(&record, bytes, size, &arena, &err))
        fail_msg("%s", err.text);
    assert_string_equal(record.kernel, "kernel");
    assert_true(problem_equal(&record.problem, &fake_problem));
    assert_int_equal(record.workspace_bytes, 512);
    assert_string_equal(record.note, "split 2");
    assert_int_equal(record.launch_count, 1);
    assert_int_equal(record.image_count, 1);
    assert_int_equal(record.images[0].size, cubin.used);
    assert_memory_equal(record.images[0].bytes, cubin.bytes, cubin.used);
    arena_free(&arena);
    free(bytes);
    free(path);
    free(told);
    fake_bench_remove(&fake);
}

TEST(code_that_the_file_does_not_hold_is_refused)
{
    struct fake_bench fake = {.notes = 0};
    unsigned char fat[4096];
    fake_bench_make(&fake);
    library_make_cuda("cuda", &library_usual_cubin);
    library_make("ptx", fat, fatbin_make(fat, 1, ".target sm_90", 13));
    library_compile("host", library_plain, "");
    char *told = tell("another_function"), *right = tell(library_usual_cubin.kernel);
    const struct {
        const char *library, *told;
    } cases[] = {{"cuda.so", told}, {"ptx.so", right}, {"host.so", right}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct bench_outcome outcome =
            record_of(&fake, cases[i].library, cases[i].told, "none.record");
        assert_int_equal(outcome.state, MEASURED_UNSUPPORTED);
        assert_non_null(strstr(outcome.detail, "no machine code of"));
        assert_false(there("none.record"));
    }
    free(told);
    free(right);
    fake_bench_remove(&fake);
}

TEST(what_bench_refuses_says_why)
{
    struct fake_bench fake = {.notes = 0};
    fake_bench_make(&fake);
    library_make_cuda("cuda", &library_usual_cubin);
    const struct bench_outcome outcome = record_of(&fake, "cuda.so", NULL, "refused.record");
    assert_int_equal(outcome.state, MEASURED_UNSUPPORTED);
    assert_non_null(strstr(outcome.detail, "queues a copy"));
    assert_false(outcome.gone);
    assert_false(there("refused.record"));
    fake_bench_remove(&fake);
}

TEST(a_name_that_no_record_holds_is_refused)
{
    struct fake_bench fake = {.notes = 0};
    struct bench_outcome outcome = {.state = MEASURED_OK};
    struct error err = {""};
    char name[RECORD_NAME + 1];
    memset(name, 'k', RECORD_NAME);
    name[RECORD_NAME] = '\0';
    fake_bench_make(&fake);
    library_make_cuda("cuda", &library_usual_cubin);
    char *path = library_path("cuda.so"), *file = library_path("long.record");
    const struct bench_series series = {.kernel = name, .problem = &fake_problem, .head = path};
    struct bench *bench = fake_bench_start(&fake);
    assert_int_equal(record_write(&outcome, file, bench, &series, &err), -1);
    assert_non_null(strstr(err.text, "...' is no kernel's name"));
    assert_false(there("long.record"));
    bench_stop(bench);
    free(path);
    free(file);
    fake_bench_remove(&fake);
}

TEST(nonsense_leaves_no_file)
{
    static const char *const told[] = {
        "end\n",
        HEAD "end\n",
        HEAD "launch\tfunction=f\t" SHAPE,
        HEAD "launch\tfunction=f\t" SHAPE "end\nend\n",
        HEAD HEAD,
        HEAD "parameter\toffset=0\tbytes=00\n",
        HEAD "launch\tfunction=../x\t" SHAPE "end\n",
        HEAD "kernel\tname=x\n",
        "record\tversion=9\tworkspace=0\n",
    };
    struct fake_bench fake = {.notes = 0};
    fake_bench_make(&fake);
    library_make_cuda("cuda", &library_usual_cubin);
    for (size_t i = 0; i < ARRAY_COUNT(told); i++) {
        const struct bench_outcome outcome = record_of(&fake, "cuda.so", told[i], "bad.record");
        if (outcome.state != MEASURED_CRASHED)
            fail_msg("%s: %s", told[i], measurement_state_name(outcome.state));
        assert_false(there("bad.record"));
    }
    fake_bench_remove(&fake);
}

// ---- the id of what a record runs, of nvcc's code where there is one

static const char two_kernels[] =
    "__constant__ float table[4] = {1, 2, 3, 4};\n"
    "__device__ __noinline__ float called(float x) { return x * 3; }\n"
    "namespace { __global__ void other(float *x) { x[threadIdx.x] = 5 * x[7] + x[9]; } }\n"
    "extern \"C\" __global__ void ours(float *x)\n"
    "{ x[threadIdx.x] = called(x[threadIdx.x]) + table[threadIdx.x & 3]; }\n"
    "void both(float *x) { other<<<1, 64>>>(x); ours<<<1, 64>>>(x); }\n";

// Of the cubin that nvcc makes of these lines with one text replaced, with a grid of this size.
// 77: there is no nvcc.
static int id_of_variant(char out[OBJECT_ID_TEXT], const char *from, const char *to, uint32_t grid)
{
    char *source = xprintf("%s", two_kernels), *file = library_path("two.cu");
    char *at = from ? strstr(source, from) : source, *cubin = library_path("two.cubin");
    char *text = xprintf("%.*s%s%s", (int)(at - source), source, from ? to : "",
                         at + (from ? strlen(from) : 0));
    helper_write(file, text, strlen(text));
    const int code = library_shell("PATH=$PATH:/usr/local/cuda/bin; command -v nvcc >/dev/null || "
                                   "exit 77; nvcc -O2 -cubin -arch=sm_90 two.cu -o two.cubin");
    if (code == 0) {
        struct error err;
        size_t size = 0;
        char *bytes = helper_read(cubin, &size), *path = library_path("two.record");
        struct record_image image = {(unsigned char *)bytes, size};
        struct record_launch launch = {.kind = RECORD_KERNEL,
                                       .function = "ours",
                                       .grid = {grid, 1, 1},
                                       .block = {64, 1, 1},
                                       .cluster = {1, 1, 1},
                                       .carveout = -1};
        struct record record = {.kernel = "ours",
                                .problem = fake_problem,
                                .launches = &launch,
                                .launch_count = 1,
                                .images = &image,
                                .image_count = 1};
        if (record_save(&record, path, &err) || record_code_id(out, path, &err))
            fail_msg("%s", err.text);
        free(bytes);
        free(path);
    }
    free(source);
    free(text);
    free(file);
    free(cubin);
    return code;
}

TEST(kernel_that_is_not_launched_changes_no_id)
{
    static const struct {
        const char *from, *to;
        uint32_t grid;
        bool same;
    } variants[] = {
        {"__constant__", "// a comment\n__constant__", 1, true},
        {"5 * x[7]", "6 * x[8] * x[8]", 1, true},
        {"x[9]; }",
         "x[9]; __shared__ float y[32]; y[threadIdx.x] = *x; __syncthreads(); "
         "x[1] = y[31 - threadIdx.x]; }",
         1, true},
        {"called(x[threadIdx.x])", "called(x[threadIdx.x] + 1)", 1, false},
        {"return x * 3", "return x * 4", 1, false},
        {"{1, 2, 3, 4}", "{1, 2, 3, 5}", 1, false},
        {NULL, "", 2, false},
    };
    char first[OBJECT_ID_TEXT], id[OBJECT_ID_TEXT];
    const int code = id_of_variant(first, NULL, "", 1);
    if (code == 77)
        skip_without("nvcc", "there is no nvcc: ids of a cubin's kernels are not compared");
    assert_int_equal(code, 0);
    for (size_t i = 0; i < ARRAY_COUNT(variants); i++) {
        assert_int_equal(id_of_variant(id, variants[i].from, variants[i].to, variants[i].grid), 0);
        if ((strcmp(first, id) == 0) != variants[i].same)
            fail_msg("variant %zu: %s", i, variants[i].same ? "another id" : "the same id");
    }
}

// The id of what is launched as "evil", which is how the table of symbols then calls "ours".
static void id_under_another_name(char out[OBJECT_ID_TEXT])
{
    struct elf_image image;
    size_t size = 0;
    char *path = library_path("two.cubin"), *bytes = helper_read(path, &size);
    bool renamed = false;
    assert_int_equal(elf_open(&image, (unsigned char *)bytes, size), 0);
    for (size_t i = 0; i < image.section_count; i++) {
        const struct elf_section *s = &image.sections[i];
        for (uint64_t at = 1; strcmp(s->name, ".strtab") == 0 && at + 5 <= s->size; at++) {
            if (memcmp(s->bytes + at - 1, "\0ours", 6) == 0) {
                memcpy(bytes + s->offset + at, "evil", 4);
                renamed = true;
            }
        }
    }
    elf_close(&image);
    assert_true(renamed);
    code_id_of_kernel(out, (unsigned char *)bytes, size, "evil");
    free(bytes);
    free(path);
}

// A kernel's name may be one that its section has not, as a hand may make it.
TEST(code_under_another_name_has_an_id_of_its_own)
{
    char id[OBJECT_ID_TEXT], first[OBJECT_ID_TEXT], other[OBJECT_ID_TEXT];
    if (id_of_variant(id, NULL, "", 1) == 77)
        skip_without("nvcc", "there is no nvcc: a cubin's names are not changed");
    id_under_another_name(first);
    assert_int_equal(id_of_variant(id, "called(x[threadIdx.x])", "called(x[threadIdx.x] + 1)", 1),
                     0);
    id_under_another_name(other);
    assert_string_not_equal(first, other);
}

// How many bytes of a section of the record's image are not 0. -1: there is no such section.
static long bytes_of(const struct record *record, const char *section)
{
    struct elf_image cubin;
    long found = -1;
    assert_int_equal(elf_open(&cubin, record->images[0].bytes, record->images[0].size), 0);
    for (size_t i = 0; i < cubin.section_count; i++) {
        const struct elf_section *s = &cubin.sections[i];
        if (!strstr(s->name, section) || !s->bytes || !(s->flags & SHF_ALLOC))
            continue;
        found = found < 0 ? 0 : found;
        for (uint64_t at = 0; at < s->size; at++)
            found += s->bytes[at] != 0;
    }
    elf_close(&cubin);
    return found;
}

// It could be jumped into, or read, and no id would say what it is.
TEST(kernel_that_is_not_launched_is_not_in_the_record)
{
    char id[OBJECT_ID_TEXT];
    const int code = id_of_variant(id, NULL, "", 1);
    if (code == 77)
        skip_without("nvcc", "there is no nvcc: what a record holds of a cubin is not looked at");
    assert_int_equal(code, 0);
    size_t size = 0;
    struct record record;
    struct arena arena = {0};
    struct error err;
    char *path = library_path("two.record"), *bytes = helper_read(path, &size);
    assert_int_equal(record_parse(&record, bytes, size, &arena, &err), 0);
    assert_true(bytes_of(&record, ".text.ours") > 0);
    assert_true(bytes_of(&record, ".nv.constant3") > 0); // of no kernel
    assert_int_equal(bytes_of(&record, "5otherEPf"), 0);
    arena_free(&arena);
    free(bytes);
    free(path);
}

TEST(what_is_no_record_has_no_id)
{
    char id[OBJECT_ID_TEXT], *path = library_path("no.record");
    struct error err = {0};
    helper_write(path, "nonsense\n", 9);
    assert_int_equal(record_code_id(id, path, &err), -1);
    assert_int_not_equal(err.text[0], 0);
    free(path);
}
