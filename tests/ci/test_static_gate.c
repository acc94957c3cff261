// SPDX-License-Identifier: Apache-2.0
//
// The gate without a device: its rules, what they are fed, and the whole program on real device
// code.
#include "ci/gate/explain.h"
#include "tests/helpers/helper_facts.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(static_verdict_stops_what_a_person_would_stop)
{
    static const struct {
        struct static_change change;
        enum static_finding finding;
    } rows[] = {
        {{.notes = 1}, STATIC_WORSE},
        {{.spill = 4}, STATIC_WORSE},
        {{.spill = 4, .notes = -1, .log_model = -1}, STATIC_WORSE}, // bad news first
        {{.log_model = 0.05, .model_band = 0.03}, STATIC_WORSE},
        {{.log_model = 0.02, .model_band = 0.03}, STATIC_ALIKE}, // the model is not that good
        {{.log_model = 0.002}, STATIC_ALIKE},                    // below the margin
        {{.warps = -4}, STATIC_FEWER_WARPS},
        {{.unreadable = true}, STATIC_UNREADABLE},
        {{.unreadable = true, .spill = 8}, STATIC_WORSE},
        {{.spill = -4}, STATIC_BETTER},
        {{.notes = -1}, STATIC_BETTER},
        {{.log_model = -0.05, .model_band = 0.03}, STATIC_BETTER},
        {{.warps = 4}, STATIC_ALIKE},
        {{.notes = 0}, STATIC_ALIKE},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const enum static_finding finding = static_find(&rows[i].change, 0.003);
        if (finding != rows[i].finding)
            fail_msg("row %zu: %d", i, (int)finding);
    }
}

TEST(no_static_fact_says_that_the_time_is_the_same)
{
    assert_int_equal(static_verdict(STATIC_WORSE), VERDICT_SLOWER);
    assert_int_equal(static_verdict(STATIC_FEWER_WARPS), VERDICT_UNDECIDED);
    assert_int_equal(static_verdict(STATIC_UNREADABLE), VERDICT_UNDECIDED);
    assert_int_equal(static_verdict(STATIC_BETTER), VERDICT_NOT_MEASURED);
    assert_int_equal(static_verdict(STATIC_ALIKE), VERDICT_NOT_MEASURED);
}

// What cannot be read condemns nothing and clears nothing.
TEST_WITH(code_that_cannot_be_read_is_undecided, two_builds_set_up, two_builds_tear_down)
{
    struct two_builds *f = *state;
    const struct policy_kernel rule = {0};
    const struct context context = {.policy = {.model = "hopper"}};
    const struct built none = {.state = MEASURED_OK};
    struct run run = {.results = &f->result, .count = 1};
    text_copy(f->result.kernel, sizeof(f->result.kernel), "gemm");
    f->result.problem = (struct problem){.m = 8, .n = 8, .k = 8, .batch = 1};
    f->base_kernel.library = f->head_kernel.library = "/no/such/library.so";
    f->base_kernel.device = f->head_kernel.device = "cuda";
    f->task.rule = &rule;
    f->task.run = &run;
    static_judge(&run, &f->task, &context, &none, &none);
    assert_int_equal(f->result.verdict.kind, VERDICT_UNDECIDED);
    assert_int_equal(f->result.verdict.cause, CAUSE_NONE);
    assert_non_null(strstr(f->result.verdict.sentence, "static: gemm 8x8x8"));
    assert_non_null(strstr(f->result.verdict.sentence, "undecided, not measured (no device): "));
    arena_free(&run.arena);
}

static struct static_change compare(struct two_builds *f, const struct model *model)
{
    return static_compare(&f->base, &f->head, &f->task, model, &f->arena);
}

TEST_WITH(spills_and_notes_of_the_head_are_bad_and_those_of_the_base_good, two_builds_set_up,
          two_builds_tear_down)
{
    struct two_builds *f = *state;
    f->base.functions.count = f->head.functions.count = 2;
    f->head_functions[0].local_load_bytes = 32;
    f->head_functions[1].local_store_bytes = 8;
    f->base_functions[1].local_load_bytes = 4;
    f->head.notes[1] = 3;
    f->base.notes[0] = 1;
    const struct static_change change = compare(f, NULL);
    assert_int_equal(change.spill, 32 + 8 - 4); // of all functions
    assert_int_equal(change.notes, 2);
    assert_true(change.log_model == 0 && !change.unreadable);
}

TEST_WITH(the_function_that_loses_most_warps_counts, two_builds_set_up, two_builds_tear_down)
{
    struct two_builds *f = *state;
    f->base.functions.count = f->head.functions.count = 2;
    f->base_functions[0].registers = 168; // 8 warps, now 16
    f->head_functions[1].registers = 168; // 16 warps, now 8
    assert_int_equal(compare(f, NULL).warps, -8);
    f->base_functions[0].registers = 128;
    f->head_functions[1].registers = 128;
    assert_int_equal(compare(f, NULL).warps, 0);
}

TEST_WITH(a_function_of_one_side_has_only_its_spills, two_builds_set_up, two_builds_tear_down)
{
    struct two_builds *f = *state;
    f->head.functions.count = 2;
    f->head_functions[1].local_load_bytes = 24;
    const struct static_change change = compare(f, NULL);
    assert_true(change.spill == 24 && change.warps == 0 && !change.unreadable);
}

TEST_WITH(no_machine_code_of_one_side_tells_nothing, two_builds_set_up, two_builds_tear_down)
{
    struct two_builds *f = *state;
    f->head.functions.count = 0;
    assert_true(compare(f, NULL).unreadable);
    f->head.functions.count = 1;
    f->base.functions.count = 0;
    assert_true(compare(f, NULL).unreadable);
}

// Time by tile_m, band by stages; no tile: not feasible.
static struct prediction made_up(const struct predict_input *input)
{
    return (struct prediction){.feasible = input->traits->tile_m > 0,
                               .time_ns = input->traits->tile_m,
                               .band = 0.01 * input->traits->stages};
}

TEST_WITH(the_models_times_and_its_worse_band_are_compared, two_builds_set_up, two_builds_tear_down)
{
    static const struct model model = {.name = "made-up", .predict = made_up};
    struct two_builds *f = *state;
    f->base_kernel.traits = (struct traits){.tile_m = 64, .stages = 2};
    f->head_kernel.traits = (struct traits){.tile_m = 128, .stages = 3};
    struct static_change change = compare(f, &model);
    assert_true(fabs(change.log_model - log(2)) < 1e-12);
    assert_true(change.model_band == 0.03);
    f->base_kernel.traits.tile_m = 0;
    change = compare(f, &model);
    assert_true(change.log_model == 0 && change.model_band == 0);
}

TEST_WITH(the_reason_is_what_the_verdict_came_from, two_builds_set_up, two_builds_tear_down)
{
    struct two_builds *f = *state;
    static const struct {
        struct static_change change;
        enum static_finding finding;
        const char *why, *reason;
    } rows[] = {
        {{.spill = 4}, STATIC_WORSE, "it now spills", "it now spills"},
        {{.log_model = 0.0953102}, STATIC_WORSE, "registers", "the model expects +10.0 %"},
        {{.log_model = -0.0953102}, STATIC_BETTER, "registers", "the model expects -9.1 %"},
        {{.warps = -4}, STATIC_FEWER_WARPS, "8 warps", "8 warps"},
        {{.unreadable = true},
         STATIC_UNREADABLE,
         "",
         "the device code is PTX or compressed and cannot be compared"},
        {{.notes = 0}, STATIC_ALIKE, "", "nothing that the compiler reports has changed"},
        {{.notes = 0}, STATIC_ALIKE, "2 registers more", "2 registers more"},
        {{.spill = -4}, STATIC_BETTER, "", "the code differs"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_string_equal(static_reason(&rows[i].change, rows[i].finding, rows[i].why, &f->arena),
                            rows[i].reason);
}

// ---- the whole program on real device code; needs nvcc, no GPU ----

// SUMS values live in each thread; the launch bounds leave 32 registers in the one that spills.
#define KERNEL(name, bounds, body)                                                                 \
    "#include \"kernel.h\"\n"                                                                      \
    "#include <cuda_runtime.h>\n"                                                                  \
    "static __global__ void __launch_bounds__(" bounds ") run(const float *a, float *c, int n)\n"  \
    "{\n" body "}\n"                                                                               \
    "static int supports(const struct plumb_problem *p) { return p->in_type == PLUMB_FP32; }\n"    \
    "static int launch(const struct plumb_args *args, void *stream)\n"                             \
    "{\n"                                                                                          \
    "    run<<<1, 256, 0, (cudaStream_t)stream>>>((const float *)args->a, (float *)args->c,\n"     \
    "                                             (int)args->problem.n);\n"                        \
    "    return (int)cudaGetLastError();\n"                                                        \
    "}\n"                                                                                          \
    "static const struct plumb_kernel kernel = {.name = \"" name "\", .summary = \"\",\n"          \
    "    .traits = {.threads = 256}, .supports = supports, .launch = launch};\n"                   \
    "PLUMB_LIBRARY(\"cuda\", kernel)\n"

#define WIDE                                                                                       \
    "    float sum[96];\n"                                                                         \
    "#pragma unroll\n"                                                                             \
    "    for (int i = 0; i < 96; i++) sum[i] = a[i * 256 + threadIdx.x];\n"                        \
    "    for (int l = 0; l < n; l++) {\n"                                                          \
    "#pragma unroll\n"                                                                             \
    "        for (int i = 0; i < 96; i++) sum[i] = sum[i] * a[l] + sum[(i + 7) % 96];\n"           \
    "    }\n"                                                                                      \
    "#pragma unroll\n"                                                                             \
    "    for (int i = 0; i < 96; i++) c[i * 256 + threadIdx.x] = sum[i];\n"

static const char roomy[] = KERNEL("wide", "256", WIDE);
static const char cramped[] = KERNEL("wide", "256, 8", WIDE);

static const char policy[] =
    "[build]\n\tinput = cuda\n\tinput = include\n"
    "\tcommand = \"PATH=$PATH:/usr/local/cuda/bin; for f in \\\"$PLUMB_SOURCE\\\"/cuda/*.cu; do "
    "nvcc -std=c++17 -O3 --shared -Xcompiler -fPIC -cudart shared "
    "-gencode arch=compute_90a,code=sm_90a -Xfatbin -compress=false "
    "-I\\\"$PLUMB_SOURCE\\\"/include "
    "-o \\\"$PLUMB_OUT/$(basename \\\"$f\\\" .cu).so\\\" \\\"$f\\\" || exit 1; done\"\n"
    "[device \"gpu\"]\n\tkind = cuda\n"
    "[problems \"one\"]\n\tproblem = 64x64x64:fp32\n"
    "[kernel \"*\"]\n\tproblems = one\n";

static bool have_nvcc(void)
{
    return access("/usr/local/cuda/bin/nvcc", X_OK) == 0 ||
           system("command -v nvcc >/dev/null 2>&1") == 0;
}

TEST(static_gate_finds_the_spill_and_says_it_measured_nothing)
{
    static struct helper_repo repo;
    static struct plumb_outcome outcome;
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    if (!have_nvcc()) {
        skip_without("nvcc", "there is no nvcc: the static gate is not tried on device code");
    }
    helper_repo_create(&repo);
    char *path = xprintf("%s/static.cfg", repo.directory);
    helper_write_text(path, policy);
    const struct helper_file first = {"cuda/wide.cu", roomy, 0};
    const struct helper_file second = {"cuda/wide.cu", cramped, 0};
    const char *parent = repo.ids[REPO_FASTER];
    helper_repo_commit(base, repo.directory, "static", &parent, 1, 50, "a kernel", &first, 1);
    parent = base;
    helper_repo_commit(head, repo.directory, "static", &parent, 1, 51, "spills", &second, 1);
    PLUMB_EXPECT(&outcome, repo.directory, CONCLUDE_REGRESSION, "static: wide 64x64x64:fp32",
                 "gate", "--static", "--base", base, "--head", head, "--policy", path);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "not measured");
    plumb_said(&outcome, CONCLUDE_REGRESSION, "spills registers");
    free(path);
    helper_repo_remove(&repo);
}

// ---- seven kernels in one library ----

#define SEVEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6)
#define SEVEN_KERNEL(i)                                                                            \
    "static __global__ void kernel" #i "(const float *a, float *c)\n"                              \
    "{ c[threadIdx.x] = shared_by_all(a[threadIdx.x]) * " #i ".5f; }\n"                            \
    "static int launch" #i "(const struct plumb_args *args, void *stream)\n"                       \
    "{ kernel" #i "<<<1, 256, 0, (cudaStream_t)stream>>>((const float *)args->a, (float "          \
    "*)args->c);\n    return (int)cudaGetLastError(); }\n"
#define SEVEN_ROW(i)                                                                               \
    "{\"slower-" #i "\", \"\", {.in_type = PLUMB_FP32, .out_type = PLUMB_FP32}, supports, "        \
    "nullptr, nullptr, launch" #i "},\n"

#define SEVEN_BEGIN                                                                                \
    "#include \"kernel.h\"\n#include <cuda_runtime.h>\n"                                           \
    "static __device__ float shared_by_all(float x) { return x + 1; }\n"                           \
    "static int supports(const struct plumb_problem *p) { return p->m % 64 == 0; }\n"
#define SEVEN_TABLE "static const struct plumb_kernel kernels[] = {"
#define SEVEN_END                                                                                  \
    "};\nPLUMB_EXPORT const struct plumb_library *plumb_library(void)\n{\n"                        \
    "    static const struct plumb_library library = {PLUMB_ABI_VERSION,\n"                        \
    "        sizeof(struct plumb_kernel), \"cuda\", 7, kernels};\n    return &library;\n}\n"

static const char seven[] = SEVEN_BEGIN SEVEN(SEVEN_KERNEL)
SEVEN_TABLE SEVEN(SEVEN_ROW) SEVEN_END;

enum { SEVEN_EDITS = 4 };
struct seven_edits {
    const char *const from[SEVEN_EDITS], *const to[SEVEN_EDITS];
};

// The first place of each text becomes another.
static char *seven_with(const struct seven_edits *edits)
{
    char *text = xstrdup(seven);
    for (size_t i = 0; i < SEVEN_EDITS && edits->from[i]; i++) {
        const char *at = strstr(text, edits->from[i]);
        assert_non_null(at);
        char *next =
            xprintf("%.*s%s%s", (int)(at - text), text, edits->to[i], at + strlen(edits->from[i]));
        free(text);
        text = next;
    }
    return text;
}

// The repository with seven kernels, which each have three problems, and its policy. Caller frees.
static char *seven_begin(struct helper_repo *repo, char base[OBJECT_ID_TEXT])
{
    helper_repo_create(repo);
    char *path = xprintf("%s/seven.cfg", repo->directory);
    char *text = xprintf("%s[problems \"one\"]\n\tproblem = 128x64x64:fp32\n"
                         "\tproblem = 64x64x128:fp32\n",
                         policy);
    helper_write_text(path, text);
    const char *parent = repo->ids[REPO_FASTER];
    const struct helper_file first = {"cuda/seven.cu", seven, 0};
    helper_repo_commit(base, repo->directory, "seven", &parent, 1, 50, "seven", &first, 1);
    free(text);
    return path;
}

static void commit_seven(char id[OBJECT_ID_TEXT], const struct helper_repo *repo, const char *base,
                         const char *branch, const struct seven_edits *edits)
{
    char *text = seven_with(edits);
    const struct helper_file file = {"cuda/seven.cu", text, 0};
    helper_repo_commit(id, repo->directory, branch, &base, 1, 51, "change", &file, 1);
    free(text);
}

// A bench plays a GPU to which every other library is slower; what a series would launch the real
// one tells.
static void four_are_blamed_on_a_gpu(const struct helper_repo *repo, const char *policy_path,
                                     const char *base, const char *head)
{
    static struct plumb_outcome outcome;
    struct fake_bench fake = {0};
    fake_bench_make(&fake);
    fake_bench_write(&fake, "cuda", "");
    char *either = xprintf("%s/either", fake.directory);
    char *script = xprintf("#!/bin/sh\ncase $2 in none) exec %s/bench \"$@\";; esac\n"
                           "exec %s \"$@\"\n",
                           TEST_BIN, fake.program);
    helper_write_text(either, script);
    assert_int_equal(chmod(either, 0755), 0);
    PLUMB_EXPECT(&outcome, repo->directory, CONCLUDE_REGRESSION, "SLOWER: 12 slower, 9 same",
                 "gate", "--base", base, "--head", head, "--policy", policy_path, "--bench", either,
                 "--sandbox", "off");
    plumb_said(&outcome, CONCLUDE_REGRESSION,
               "9 series of unchanged code were launched and checked");
    free(script);
    free(either);
    fake_bench_remove(&fake);
}

// What a series would launch tells which of a library's kernels has changed. nvcc takes most of the
// time, so the kernels that changed are those of one build.
TEST(kernels_of_one_library_are_told_apart)
{
    static struct helper_repo repo;
    static struct plumb_outcome outcome;
    static const struct {
        struct seven_edits edits;
        const char *said;
    } changes[] = {
        // A constant, a number of threads, a pointer, and what is not seen, each in its own kernel.
        {{{"* 3.5f", "kernel5<<<1, 256", "(float *)args->c);", "{ kernel2<<<"},
          {"* 3.25f", "kernel5<<<1, 128", "(float *)args->c + 4);",
           "{ cudaFree(nullptr); kernel2<<<"}},
         "OK by the compiler's report alone: 12 not measured, 9 same"},
        {{{"return x + 1;"}, {"return x + 2;"}},
         "OK by the compiler's report alone: 21 not measured"},
        {{{"#include <cuda_runtime.h>\n"}, {"#include <cuda_runtime.h>\n\n// more\n"}},
         "OK: 21 same"},
        // What is not seen is not the same, be it before any launch.
        {{{"#include <cuda_runtime.h>\n"},
          {"#include <cuda_runtime.h>\nstatic const cudaError_t early = cudaFree(nullptr);\n"}},
         "OK by the compiler's report alone: 21 not measured"},
    };
    char base[OBJECT_ID_TEXT], heads[ARRAY_COUNT(changes)][OBJECT_ID_TEXT];
    if (!have_nvcc()) {
        skip_without("nvcc", "there is no nvcc: kernels of one library are not told apart");
    }
    char *path = seven_begin(&repo, base);
    for (size_t i = 0; i < draws(ARRAY_COUNT(changes)); i++) { // each is compiled by nvcc
        char *branch = xprintf("change%zu", i);
        commit_seven(heads[i], &repo, base, branch, &changes[i].edits);
        PLUMB_EXPECT(&outcome, repo.directory, CONCLUDE_OK, changes[i].said, "gate", "--static",
                     "--base", base, "--head", heads[i], "--policy", path);
        free(branch);
    }
    PLUMB_EXPECT(&outcome, repo.directory, 0, "static: slower-", "report", "--format", "json");
    four_are_blamed_on_a_gpu(&repo, path, base, heads[0]);
    char *stricter = xprintf("%s[problems \"one\"]\n\tproblem = 128x64x64:fp32\n"
                             "\tproblem = 64x64x128:fp32\n[gate]\n\tstatic-alone = fail\n",
                             policy);
    helper_write_text(path, stricter);
    PLUMB_EXPECT(&outcome, repo.directory, CONCLUDE_UNDECIDED,
                 "NOTHING JUDGED: 12 not measured, 9 same: static: slower-", "gate", "--static",
                 "--base", base, "--head", heads[0], "--policy", path);
    free(stricter);
    free(path);
    helper_repo_remove(&repo);
}
