// SPDX-License-Identifier: Apache-2.0
//
// What is said of two builds of a kernel: which clause goes into the sentence, and which lines
// below.
#include "ci/gate/explain.h"
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_facts.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void explain(struct two_builds *f)
{
    f->lines = explain_code(&f->why, &f->base, &f->head, &f->task, &f->arena);
}

AROUND_EACH(two_builds_set_up, two_builds_tear_down);

TEST(explain_names_spills_before_all_else_in_resources)
{
    struct two_builds *f = *state;
    f->head_functions[0].local_load_bytes = 32;
    f->head_functions[0].local_store_bytes = 16;
    f->head_functions[0].registers = 168;
    explain(f);
    assert_non_null(strstr(f->why, "now spills registers (48 bytes"));
    assert_non_null(strstr(f->lines, "registers per thread: 128 -> 168"));
    assert_non_null(
        strstr(f->lines, "blocks per SM: 2 -> 1 (16 -> 8 warps, limited by registers)"));
}

TEST(explain_names_lost_occupancy_with_its_limit)
{
    struct two_builds *f = *state;
    f->head_functions[0].registers = 136;
    explain(f);
    assert_string_equal(f->why, "an SM now holds 8 instead of 16 warps of it (registers)");
}

TEST(explain_names_compiler_warnings_first)
{
    struct two_builds *f = *state;
    f->head_functions[0].local_load_bytes = 32;
    f->head.notes[1] = 1;
    explain(f);
    assert_non_null(strstr(f->why, "C7510"));
}

TEST(explain_lists_traits_and_operations)
{
    struct two_builds *f = *state;
    struct operation before[] = {{"FFMA", 100}, {"LDG", 4}, {"MUFU", 9}, {"BAR", 1}};
    struct operation now[] = {{"FFMA", 120}, {"STL", 2}, {"MUFU", 5}, {"BAR", 1}};
    f->base.operations = (struct operation_list){before, 4, true};
    f->head.operations = (struct operation_list){now, 4, true};
    f->head_kernel.traits.stages = 3;
    explain(f);
    assert_non_null(strstr(f->lines, "trait stages: 0 -> 3\n"));
    assert_non_null(strstr(f->lines, "instructions FFMA: 100 -> 120\n"));
    assert_non_null(strstr(f->lines, "instructions STL: 0 -> 2\n"));
    assert_non_null(strstr(f->lines, "instructions LDG: 4 -> 0\n"));
    assert_non_null(strstr(f->lines, "instructions MUFU: 9 -> 5\n"));
    assert_null(strstr(f->lines, "BAR"));
}

TEST(explain_claims_nothing_when_nothing_changed)
{
    struct two_builds *f = *state;
    explain(f);
    assert_string_equal(f->why, "");
}

// Both take the same rank: the one that was looked at first stays.
TEST(explain_keeps_the_first_of_two_reasons)
{
    struct two_builds *f = *state;
    f->head_functions[0].registers = 126; // as many blocks as before
    f->head_functions[0].shared_bytes = 8000;
    f->head_functions[0].code_bytes = 5120;
    explain(f);
    assert_string_equal(f->why, "it takes 126 registers per thread, 128 before");
    assert_non_null(strstr(f->lines, "registers per thread: 128 -> 126\n"));
    assert_non_null(strstr(f->lines, "static shared memory, bytes: 8448 -> 8000\n"));
    f->head_functions[0].registers = 128;
    f->head_functions[0].shared_bytes = 8600;
    explain(f);
    assert_string_equal(f->why, "it takes 8600 bytes of static shared memory, 8448 before");
}

TEST(explain_says_what_the_code_is_in_size_when_no_more_is_known)
{
    struct two_builds *f = *state;
    f->head_functions[0].code_bytes = 5120;
    explain(f);
    assert_string_equal(f->why, "its machine code is +25.0 % in size");
    assert_non_null(strstr(f->lines, "code, bytes: 4096 -> 5120\n"));
}

TEST(explain_says_what_got_better)
{
    struct two_builds *f = *state;
    f->base_functions[0].local_load_bytes = 40;
    f->head_functions[0].local_load_bytes = 8;
    f->base_functions[0].registers = 168; // one block only
    explain(f);
    assert_string_equal(f->why, "it spills less (8 bytes of local loads and stores, 40 before)");
    f->head_functions[0].local_load_bytes = 40;
    explain(f);
    assert_string_equal(f->why, "an SM now holds 16 instead of 8 warps of it (registers)");
    f->base.notes[2] = 1;
    explain(f);
    assert_string_equal(f->why, "ptxas no longer warns of lost performance (C7511)");
}

TEST(explain_names_functions_that_come_and_go)
{
    struct two_builds *f = *state;
    f->head.functions.count = 2;
    explain(f);
    assert_non_null(strstr(f->lines, "function reduce: new\n"));
    f->head.functions.count = 1;
    f->base.functions.count = 2;
    explain(f);
    assert_non_null(strstr(f->lines, "function reduce: gone\n"));
    assert_null(strstr(f->lines, "not read"));
}

TEST(explain_says_what_it_could_not_read)
{
    struct two_builds *f = *state;
    f->base.functions.complete = false;
    explain(f);
    assert_non_null(strstr(f->lines, "some device code is PTX or compressed and was not read"));
}

TEST(explain_prefers_lost_occupancy_to_a_trait)
{
    struct two_builds *f = *state;
    f->head_kernel.traits.stages = 3;
    explain(f);
    assert_string_equal(f->why, "its stages is 3, 0 before");
    f->head_kernel.traits.smem_bytes = 200000;
    explain(f);
    assert_string_equal(f->why, "an SM now holds 8 instead of 16 warps of it (shared memory)");
}

TEST(pairs_match_functions_whose_names_carry_a_hash)
{
    struct two_builds *f = *state;
    struct function_pair pairs[2];
    f->head_functions[0].name = "gemm_0badf00d";
    assert_int_equal(code_facts_pair(pairs, &f->base, &f->head), 1);
    assert_ptr_equal(pairs[0].base, &f->base_functions[0]);
    assert_ptr_equal(pairs[0].head, &f->head_functions[0]);
    strcpy(f->head_functions[0].architecture, "sm_100a");
    assert_int_equal(code_facts_pair(pairs, &f->base, &f->head), 2);
    assert_null(pairs[0].base);
    assert_null(pairs[1].head);
}

TEST(notes_count_only_what_is_about_this_library)
{
    struct two_builds *f = *state;
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

// ---- alarms of a run ----

enum { PAIRS = 64 };

// A slower verdict of PAIRS pairs, the head 5 % slower at a clock 4 % lower; both builds are the
// library.
static void alarm_of(struct two_builds *f, struct sample samples[2][PAIRS], const char *library)
{
    for (uint32_t i = 0; i < PAIRS; i++) {
        const double noise = 0.001 * ((int)(i * 7 % 16) - 8);
        const struct sample common = {
            .launches = 1, .pair = i, .block = (uint16_t)(i / 8), .order = i % 2};
        samples[0][i] = samples[1][i] = common;
        samples[0][i].time_ns = 1e5 * (1 + noise);
        samples[1][i].time_ns = 1.05e5 * (1 - noise);
        samples[0][i].clock_hz = 1.6e9 * (1 - noise);
        samples[1][i].clock_hz = 1.6e9 * 0.96 * (1 + noise);
        samples[0][i].role = ROLE_BASE;
        samples[1][i].role = ROLE_HEAD;
        samples[1][i].order = !samples[0][i].order;
    }
    f->result.problem = (struct problem){
        .m = 4096, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    f->result.base =
        (struct measurement){.state = MEASURED_OK, .samples = samples[0], .count = PAIRS};
    f->result.head =
        (struct measurement){.state = MEASURED_OK, .samples = samples[1], .count = PAIRS};
    f->result.verdict = (struct verdict){.kind = VERDICT_SLOWER,
                                         .log_ratio = {.value = 0.0488},
                                         .pairs = PAIRS,
                                         .sentence = "slower: +5 %"};
    f->base_kernel.library = f->head_kernel.library = library;
    f->base_kernel.traits = f->head_kernel.traits = (struct traits){
        .tile_m = 128, .tile_n = 256, .tile_k = 64, .stages = 4, .threads = 384, .persistent = 1};
}

static const char *explained(struct two_builds *f)
{
    struct context context = {.policy = {.model = "hopper"}};
    const struct built base = {.log = ""}, head = {.log = ""};
    const struct task_list tasks = {.items = &f->task, .count = 1};
    struct run run = {.results = &f->result, .count = 1, .arena = f->arena};
    struct explaining *explaining = explaining_begin(&tasks, &context, &base, &head);
    explain_alarms(explaining, &run, &tasks);
    explaining_end(explaining);
    f->arena = run.arena;
    return f->result.verdict.explanation;
}

// To disassemble takes a second. It begins with the alarm, and not when the alarm is explained.
TEST(code_is_read_while_an_alarm_is_being_confirmed)
{
    struct two_builds *f = *state;
    struct context context = {.policy = {.model = "hopper"}};
    const struct built base = {.log = ""}, head = {.log = ""};
    const struct task_list tasks = {.items = &f->task, .count = 1};
    struct run run = {.results = &f->result, .count = 1, .arena = f->arena};
    struct sample samples[2][PAIRS];
    assert_int_equal(library_set_up(NULL), 0);
    library_make_cuda("two", &library_usual_cubin);
    char *library = library_path("two.so"), *script = library_path("cuobjdump");
    char *begun = library_path("begun"), *folder = library_path("");
    char *text = xprintf("#!/bin/sh\n: >>%s\necho '/*0000*/ FFMA R1'\n", begun);
    char *path = xprintf("%s:/usr/bin:/bin", folder), *old = xstrdup(getenv("PATH"));
    helper_write_text(script, text);
    assert_int_equal(chmod(script, 0755), 0);
    setenv("PATH", path, 1);
    alarm_of(f, samples, library);
    struct explaining *explaining = explaining_begin(&tasks, &context, &base, &head);
    explaining_alarm(explaining, &f->task);
    for (int i = 0; i < 1000 && access(begun, F_OK); i++)
        usleep(10000);
    assert_int_equal(access(begun, F_OK), 0);
    explain_alarms(explaining, &run, &tasks);
    explaining_end(explaining);
    assert_non_null(strstr(f->result.verdict.explanation, "why: its machine code differs"));
    setenv("PATH", old, 1);
    f->arena = run.arena;
    char *const all[] = {library, script, begun, folder, text, path, old};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        free(all[i]);
    library_tear_down(NULL);
}

TEST(explain_alarm_shows_the_models_view_and_the_clocks)
{
    struct two_builds *f = *state;
    struct sample samples[2][PAIRS];
    char *library = ladder_module("naive");
    alarm_of(f, samples, library);
    f->head_kernel.traits.stages = 2;
    const char *text = explained(f);
    assert_non_null(strstr(text, "why: its stages is 2, 4 before\n"));
    assert_string_equal(f->result.verdict.sentence, "slower: +5 %; its stages is 2, 4 before");
    assert_non_null(strstr(text, "model hopper: "));
    assert_non_null(strstr(text, "\n  part mainloop: "));
    // The 5 % are what the clock explains and the rest.
    double clock, exponent, explains, rest, cycles;
    const char *at = strstr(text, "clock: ");
    assert_non_null(at);
    assert_int_equal(sscanf(at,
                            "clock: %lf %%; with time as clock^%lf that explains %lf %%, %lf %% "
                            "remain at equal clocks, %lf %% in cycles",
                            &clock, &exponent, &explains, &rest, &cycles),
                     5);
    assert_true(clock < -3.9 && clock > -4.2 && exponent < 0);
    assert_true(explains > 4 && explains < 4.5 && cycles > 0.5 && cycles < 1);
    assert_true(fabs((1 + explains / 100) * (1 + rest / 100) / exp(0.0488) - 1) < 2e-4);
    free(library);
}

// Of two builds that a model cannot compare it says nothing, whichever side it cannot predict.
TEST(a_side_that_no_model_predicts_is_not_compared)
{
    struct two_builds *f = *state;
    struct sample samples[2][PAIRS];
    char *library = ladder_module("naive");
    for (int side = 0; side < 2; side++) {
        alarm_of(f, samples, library);
        struct built_kernel *kernel = side ? &f->head_kernel : &f->base_kernel;
        kernel->traits.smem_bytes = 1 << 20; // more than a multiprocessor has
        assert_null(strstr(explained(f), "model hopper: "));
    }
    free(library);
}

TEST(explain_alarm_of_host_code_claims_no_more_than_is_known)
{
    struct two_builds *f = *state;
    struct sample samples[2][PAIRS];
    char *library = ladder_module("naive");
    alarm_of(f, samples, library);
    const char *text = explained(f);
    assert_non_null(strstr(text, "why: its machine code differs; of host code no more is known\n"));
    assert_string_equal(f->result.verdict.sentence, "slower: +5 %");
    free(library);
}

TEST(explain_alarm_without_its_library_says_so)
{
    struct two_builds *f = *state;
    struct sample samples[2][PAIRS];
    alarm_of(f, samples, "/no/such/library.so");
    const char *text = explained(f);
    assert_memory_equal(text, "why: not known: ", 16);
    assert_non_null(strstr(text, "/no/such/library.so"));
}

TEST(explain_leaves_what_is_no_alarm)
{
    struct two_builds *f = *state;
    struct sample samples[2][PAIRS];
    alarm_of(f, samples, "/no/such/library.so");
    f->result.verdict.kind = VERDICT_SAME;
    assert_null(explained(f));
    f->result.verdict.kind = VERDICT_FASTER;
    f->result.verdict.pairs = 0; // judged without a measurement
    assert_null(explained(f));
    f->result.verdict.pairs = PAIRS;
    assert_non_null(explained(f));
}
