// SPDX-License-Identifier: Apache-2.0
#include "ci/explain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct code_function base_function, head_function;
    struct code_facts base, head;
    struct built_kernel base_kernel, head_kernel;
    struct station station;
    struct task task;
    struct arena arena;
    const char *why, *lines;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->base_function = (struct code_function){.name = "gemm",
                                              .architecture = "sm_90a",
                                              .registers = 128,
                                              .shared_bytes = 8448,
                                              .max_threads = 256,
                                              .code_bytes = 4096};
    f->head_function = f->base_function;
    f->base.functions = (struct code_function_list){&f->base_function, 1, true};
    f->head.functions = (struct code_function_list){&f->head_function, 1, true};
    f->base_kernel.traits.threads = f->head_kernel.traits.threads = 256;
    f->station.gpu = *gpu_find("h200-sxm");
    f->task =
        (struct task){.station = &f->station, .base = &f->base_kernel, .head = &f->head_kernel};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    free(f);
    return 0;
}

static void explain(struct fixture *f)
{
    f->lines = explain_code(&f->why, &f->base, &f->head, &f->task, &f->arena);
}

static void explain_names_spills_before_all_else_in_resources(void **state)
{
    struct fixture *f = *state;
    f->head_function.local_load_bytes = 32;
    f->head_function.local_store_bytes = 16;
    f->head_function.registers = 168;
    explain(f);
    assert_non_null(strstr(f->why, "now spills registers (48 bytes"));
    assert_non_null(strstr(f->lines, "registers per thread: 128 -> 168"));
    assert_non_null(
        strstr(f->lines, "blocks per SM: 2 -> 1 (16 -> 8 warps, limited by registers)"));
}

static void explain_names_lost_occupancy_with_its_limit(void **state)
{
    struct fixture *f = *state;
    f->head_function.registers = 136;
    explain(f);
    assert_string_equal(f->why, "an SM now holds 8 instead of 16 warps of it (registers)");
}

static void explain_names_compiler_warnings_first(void **state)
{
    struct fixture *f = *state;
    f->head_function.local_load_bytes = 32;
    f->head.notes[1] = 1;
    explain(f);
    assert_non_null(strstr(f->why, "C7510"));
}

static void explain_lists_traits_and_operations(void **state)
{
    struct fixture *f = *state;
    struct operation before[] = {{"FFMA", 100}, {"LDG", 4}}, now[] = {{"FFMA", 120}, {"STL", 2}};
    f->base.operations = (struct operation_list){before, 2, true};
    f->head.operations = (struct operation_list){now, 2, true};
    f->head_kernel.traits.stages = 3;
    explain(f);
    assert_non_null(strstr(f->lines, "trait stages: 0 -> 3\n"));
    assert_non_null(strstr(f->lines, "instructions FFMA: 100 -> 120\n"));
    assert_non_null(strstr(f->lines, "instructions STL: 0 -> 2\n"));
    assert_non_null(strstr(f->lines, "instructions LDG: 4 -> 0\n"));
}

static void explain_claims_nothing_when_nothing_changed(void **state)
{
    struct fixture *f = *state;
    explain(f);
    assert_string_equal(f->why, "");
}

static void pairs_match_functions_whose_names_carry_a_hash(void **state)
{
    struct fixture *f = *state;
    struct function_pair pairs[2];
    f->head_function.name = "gemm_0badf00d";
    assert_int_equal(code_facts_pair(pairs, &f->base, &f->head), 1);
    assert_ptr_equal(pairs[0].base, &f->base_function);
    assert_ptr_equal(pairs[0].head, &f->head_function);
    strcpy(f->head_function.architecture, "sm_100a");
    assert_int_equal(code_facts_pair(pairs, &f->base, &f->head), 2);
    assert_null(pairs[0].base);
    assert_null(pairs[1].head);
}

static void notes_count_only_what_is_about_this_library(void **state)
{
    struct fixture *f = *state;
    uint32_t notes[PTXAS_NOTES] = {0};
    code_facts_notes(notes,
                     "ptxas info : (C7510) Potential Performance Loss: wgmma.mma_async "
                     "instructions are serialized due to x in function 'gemm'\n"
                     "ptxas info : (C7510) Potential Performance Loss: in function 'other'\n"
                     "ptxas info : (C7508) Potential Performance Loss: setmaxnreg ignored\n"
                     "C751",
                     &f->base.functions);
    assert_int_equal(notes[0], 1);
    assert_int_equal(notes[1], 1);
    assert_int_equal(notes[2], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(explain_names_spills_before_all_else_in_resources, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(explain_names_lost_occupancy_with_its_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(explain_names_compiler_warnings_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(explain_lists_traits_and_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(explain_claims_nothing_when_nothing_changed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pairs_match_functions_whose_names_carry_a_hash, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(notes_count_only_what_is_about_this_library, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
