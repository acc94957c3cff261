// SPDX-License-Identifier: Apache-2.0
//
// A code id sees what runs and nothing else. Hostile files are in test_code_id_hostile.c.
#include "runner/child/files.h"
#include "runner/child/process.h"
#include "runner/code/code_id.h"
#include "runner/code/machine_code.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- host

AROUND_ALL(library_set_up, library_tear_down);

TEST(host_id_ignores_comments_paths_and_debug_information)
{
    library_compile("plain", library_plain, "-g -Wl,--build-id=sha1");
    char *comment =
        library_plain_with("static int one", "/* say more\n\n about it */ static int one");
    library_compile("elsewhere/deeper/commented", comment, "-g -Wl,--build-id=sha1");
    assert_string_equal(library_id("plain.so"), library_id("elsewhere/deeper/commented.so"));
    library_compile("nodebug", library_plain, "-g0 -Wl,--build-id=sha1");
    assert_string_equal(library_id("plain.so"), library_id("nodebug.so"));
    assert_int_equal(library_shell("cp plain.so stripped.so && strip -s stripped.so && "
                                   "! cmp -s plain.so elsewhere/deeper/commented.so"),
                     0);
    assert_string_equal(library_id("plain.so"), library_id("stripped.so"));
    free(comment);
}

TEST(host_id_sees_every_change_that_runs)
{
    static const char *const changes[][2] = {
        {"{1, 2, 3, 4}", "{1, 7, 3, 4}"},       // a constant in a table
        {"8.5f", "8.25f"},                      // a constant in the code
        {"x[0] *=", "x[0] +="},                 // an instruction
        {"return 2", "return 3"},               // an immediate
        {"= {one, two}", "= {two, one}"},       // pointers, whose bytes are relocations
        {"memcpy(a, b, n)", "memmove(a, b, n)"} // an import, called through the same stub
    };
    library_compile("plain", library_plain, "");
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        char *source = library_plain_with(changes[i][0], changes[i][1]);
        library_compile("changed", source, "");
        if (strcmp(library_id("plain.so"), library_id("changed.so")) == 0)
            fail_msg("%s -> %s goes unseen", changes[i][0], changes[i][1]);
        free(source);
    }
    library_compile("linked", library_plain, "-Wl,--no-as-needed -lm");
    assert_string_not_equal(library_id("plain.so"), library_id("linked.so"));
}

TEST(what_is_no_library_is_hashed_whole)
{
    char *path = library_path("noise");
    helper_write(path, "some text", 9);
    char first[OBJECT_ID_TEXT];
    memcpy(first, library_id("noise"), sizeof(first));
    helper_write(path, "same text", 9);
    assert_string_not_equal(first, library_id("noise"));
    helper_write(path, "", 0);
    assert_string_not_equal(first, library_id("noise"));
    struct error err;
    struct arena arena = {0};
    struct code_function_list list;
    assert_int_equal(code_resources(&list, path, &arena, &err), -1);
    assert_non_null(strstr(err.text, "is not a 64-bit ELF library"));
    assert_int_equal(code_resources(&list, "/no/such/library.so", &arena, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/library.so"));
    assert_int_equal(code_id(first, "/no/such/library.so", &err), -1);
    assert_int_equal(code_id(first, "/dev/zero", &err), 1);
    assert_non_null(strstr(err.text, "is not a file of at most 1 GiB"));
    assert_int_equal(library_shell("truncate -s 1073741825 large.so"), 0);
    char *large = library_path("large.so");
    assert_int_equal(code_id(first, large, &err), 1); // who made it is to blame, not the tool
    free(large);
    free(path);
}

TEST(cuda_id_ignores_what_debug_sections_say_and_sees_names)
{
    struct cubin_plan other = library_usual_cubin;
    other.debug = "lines of source";
    library_make_cuda("usual", &other);
    other.debug = "other lines";
    library_make_cuda("other", &other);
    assert_string_equal(library_id("usual.so"), library_id("other.so"));
    other.debug = NULL; // what comes after them lies elsewhere
    library_make_cuda("without", &other);
    assert_string_not_equal(library_id("usual.so"), library_id("without.so"));
    other.debug = "lines of source";
    other.kernel = "_Z3bddPfi"; // the host finds another function under the old name, or none
    library_make_cuda("renamed", &other);
    assert_string_not_equal(library_id("usual.so"), library_id("renamed.so"));
}

static void id_of_cubin(char out[OBJECT_ID_TEXT], const struct cubin_plan *plan)
{
    static struct cubin cubin;
    cubin_make(&cubin, plan);
    code_id_of_kernel(out, cubin.bytes, cubin.used, plan->kernel);
}

// What the driver puts into a record's code when it loads it is code: each part of each relocation.
TEST(kernels_id_sees_what_the_driver_writes_into_the_code)
{
    struct cubin_plan usual = library_usual_cubin, plans[6];
    char first[OBJECT_ID_TEXT], id[OBJECT_ID_TEXT];
    usual.second = "_Z3subPfi";
    usual.relocations[0].at = 8, usual.relocations[0].type = 2, usual.relocations[0].symbol = 1;
    usual.relocations[1] = usual.relocations[0];
    usual.relocations[1].at = 24;
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++)
        plans[i] = usual;
    plans[0].relocations[0].at = 16;
    plans[1].relocations[0].type = 3;
    plans[2].relocations[0].symbol = 2;
    plans[3].relocations[0].addend = 4;
    plans[4].relocations[1].addend = 4;
    plans[5].relocations[1].type = 0;
    id_of_cubin(first, &usual);
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++) {
        id_of_cubin(id, &plans[i]);
        if (strcmp(first, id) == 0)
            fail_msg("change %zu is not seen", i);
    }
    id_of_cubin(id, &usual);
    assert_string_equal(first, id);
}

TEST(two_kernels_that_swap_their_names_are_others)
{
    struct cubin_plan plan = library_usual_cubin;
    plan.kernel = "_Z4fastPfi";
    plan.second = "_Z4slowPfi";
    library_make_cuda("before", &plan);
    plan.kernel = "_Z4slowPfi";
    plan.second = "_Z4fastPfi";
    library_make_cuda("after", &plan);
    assert_string_not_equal(library_id("before.so"), library_id("after.so"));
}

// nvcc's digits follow the source's text, and so do not count; what looks like them does.
TEST(digits_of_nvcc_count_only_where_they_are_not_its_own)
{
    struct cubin_plan plan = library_usual_cubin;
    const char *const hosts[] = {"_ZN40_INTERNAL_f266c20c_6_kan_cu_0123456789ab3addEPf",
                                 "_ZN40_INTERNAL_0badcafe_6_kan_cu_0123456789ab3addEPf"};
    plan.kernel = hosts[0];
    plan.host = hosts[0];
    library_make_cuda("first", &plan);
    plan.kernel = hosts[1];
    plan.host = hosts[1];
    library_make_cuda("second", &plan);
    assert_string_equal(library_id("first.so"), library_id("second.so"));
    plan.host = hosts[0];
    library_make_cuda("other_host", &plan); // finds no such kernel
    assert_string_not_equal(library_id("second.so"), library_id("other_host.so"));
    plan.kernel = "_Z3addPfi";
    plan.host = hosts[0];
    library_make_cuda("data", &plan);
    plan.host = hosts[1];
    library_make_cuda("other_data", &plan);
    assert_string_not_equal(library_id("data.so"), library_id("other_data.so"));
}

TEST(cuda_id_sees_code_constants_and_launch_attributes)
{
    struct cubin_plan plans[5] = {library_usual_cubin, library_usual_cubin, library_usual_cubin,
                                  library_usual_cubin, library_usual_cubin};
    plans[0].code[40] = 1;
    plans[1].constant[15] = 1;
    plans[2].registers++;
    plans[3].threads = 256;
    plans[4].shared += 16;
    library_make_cuda("usual", &library_usual_cubin);
    for (size_t i = 0; i < ARRAY_COUNT(plans); i++) {
        library_make_cuda("changed", &plans[i]);
        assert_string_not_equal(library_id("usual.so"), library_id("changed.so"));
    }
}

// The id of the usual kernel in a cubin whose debug section has a name of its own.
static void id_of(char out[OBJECT_ID_TEXT], const char *section, const char *says)
{
    static const char debug[] = ".debug_line"; // as long as .nv.capmerc
    struct cubin_plan plan = library_usual_cubin;
    struct cubin cubin;
    plan.debug = says;
    cubin_make(&cubin, &plan);
    unsigned char *name = memmem(cubin.bytes, cubin.used, debug, strlen(debug));
    assert_non_null(name);
    assert_int_equal(strlen(section), strlen(debug));
    memcpy(name, section, strlen(section));
    code_id_of_kernel(out, cubin.bytes, cubin.used, plan.kernel);
}

// For Blackwell the driver makes the code that runs of such sections.
TEST(what_a_driver_makes_code_of_counts)
{
    char one[OBJECT_ID_TEXT], other[OBJECT_ID_TEXT];
    id_of(one, ".debug_line", "one");
    id_of(other, ".debug_line", "two");
    assert_string_equal(one, other);
    id_of(one, ".nv.capmerc", "one");
    id_of(other, ".nv.capmerc", "two");
    assert_string_not_equal(one, other);
}

TEST(cuda_resources_are_read)
{
    struct cubin_plan plan = library_usual_cubin;
    struct arena arena = {0};
    struct code_function_list list;
    struct error err;
    // A 16-byte store to local memory, a 4-byte load from it, and a third instruction.
    const uint8_t code[48] = {0x87, 0x73, 0,    0,    0,    0,    0, 0, 0, 0x0c, 0, 0,    0, 0,
                              0,    0,    0x83, 0x79, 0,    0,    0, 0, 0, 0,    0, 0x08, 0, 0,
                              0,    0,    0,    0,    0x81, 0x79, 0, 0, 0, 0,    0, 0,    0, 0x08};
    memset(plan.code, 0, sizeof(plan.code));
    memcpy(plan.code, code, sizeof(code));
    library_make_cuda("resources", &plan);
    char *path = library_path("resources.so");
    assert_int_equal(code_resources(&list, path, &arena, &err), 0);
    assert_true(list.complete);
    assert_int_equal(list.count, 1);
    const struct code_function *f = &list.items[0];
    assert_string_equal(f->name, "_Z3addPfi");
    assert_string_equal(f->architecture, "sm_90");
    assert_int_equal(f->registers, 40);
    assert_int_equal(f->stack_bytes, 24);
    assert_int_equal(f->shared_bytes, 512);
    assert_int_equal(f->constant_bytes, 16);
    assert_int_equal(f->parameter_bytes, 12);
    assert_int_equal(f->max_threads, 128);
    assert_int_equal(f->code_bytes, 64);
    assert_int_equal(f->local_store_bytes, 16);
    assert_int_equal(f->local_load_bytes, 4);
    arena_free(&arena);
    free(path);
}

TEST(opaque_device_code_is_hashed_whole_and_said)
{
    unsigned char fat[512];
    struct arena arena = {0};
    struct code_function_list list;
    struct error err;
    library_make("ptx", fat, fatbin_make(fat, 1, ".target sm_90 // a", 18));
    library_make("ptx2", fat, fatbin_make(fat, 1, ".target sm_90 // b", 18));
    assert_string_not_equal(library_id("ptx.so"), library_id("ptx2.so"));
    char *path = library_path("ptx.so");
    assert_int_equal(code_resources(&list, path, &arena, &err), 0);
    assert_false(list.complete);
    assert_int_equal(list.count, 0);
    memset(fat, 7, sizeof(fat));
    library_make("odd", fat, sizeof(fat));
    fat[511]++;
    library_make("odd2", fat, sizeof(fat));
    assert_string_not_equal(library_id("odd.so"), library_id("odd2.so"));
    arena_free(&arena);
    free(path);
}

// ---- against nvcc, where there is one

// "... Used 32 registers": the number that stands before a word.
static long number_before(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtol(at, NULL, 10);
}

TEST(nvcc_output_is_understood)
{
    static const char command[] =
        "PATH=$PATH:/usr/local/cuda/bin; command -v nvcc >/dev/null || exit 77; mkdir -p b;"
        "sed 's|^extern|// more\\n\\nextern|' k.cu > b/k.cu;"
        "for d in . b; do (cd $d && nvcc -O2 -lineinfo -shared -Xcompiler -fPIC "
        "-Xfatbin -compress=false -Xptxas=-v --generate-code=arch=compute_90a,code=sm_90a k.cu "
        "-o k.so 2>ptxas) || exit 1; done";
    static const char source[] =
        "namespace {\n"
        "__global__ void __launch_bounds__(64, 32) spill(double *x, int n)\n"
        "{ double r[40];\n"
        "  for (int i = 0; i < 40; i++) r[i] = x[threadIdx.x * 40 + i];\n"
        "  for (int k = 0; k < n; k++) for (int i = 0; i < 40; i++)\n"
        "      r[i] = r[i] * r[(i + 7) % 40] + r[(i + 13) % 40];\n"
        "  for (int i = 0; i < 40; i++) x[threadIdx.x * 40 + i] = r[i]; }\n"
        "}\n"
        "extern \"C\" void go(double *x) { spill<<<1, 64>>>(x, 3); }\n";
    char *file = library_path("k.cu"), *said = library_path("ptxas"),
         *library = library_path("k.so");
    helper_write(file, source, strlen(source));
    int code = library_shell(command);
    if (code == 0) {
        assert_string_equal(library_id("k.so"), library_id("b/k.so"));
        struct arena arena = {0};
        struct code_function_list list;
        struct error err;
        char *text = log_tail(said, 100000);
        long stack = number_before(text, " bytes stack frame");
        long stores = number_before(text, " bytes spill stores");
        long loads = number_before(text, " bytes spill loads");
        long registers = number_before(text, " registers");
        assert_int_equal(code_resources(&list, library, &arena, &err), 0);
        assert_true(list.complete);
        assert_int_equal(list.count, 1);
        assert_true(stores > 0);
        assert_int_equal(list.items[0].registers, registers);
        assert_int_equal(list.items[0].stack_bytes, stack);
        assert_int_equal(list.items[0].local_store_bytes, stores);
        assert_int_equal(list.items[0].local_load_bytes, loads);
        assert_int_equal(list.items[0].max_threads, 64);
        arena_free(&arena);
        free(text);
    }
    free(file);
    free(said);
    free(library);
    if (code == 77)
        skip_without("nvcc", "there is no nvcc: what ptxas says is not compared");
    assert_int_equal(code, 0);
}
