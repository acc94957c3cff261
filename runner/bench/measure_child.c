// SPDX-License-Identifier: Apache-2.0
//
// The bench child itself: which program, in which environment, seeing what.
#include "runner/bench/bench_talk.h"
#include "runner/child/files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES_MAX = 4096, BENCH_LOG_BYTES = 1 << 20 };

// What a child may need to find its device and to keep its threads as the user wants them.
static const char *const passed[] = {
    "CUDA_VISIBLE_DEVICES",   "CUDA_DEVICE_ORDER", "CUDA_HOME",     "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",        "OMP_PROC_BIND",     "OMP_PLACES",    "OPENBLAS_NUM_THREADS",
    "NVIDIA_VISIBLE_DEVICES", "ASAN_OPTIONS",      "UBSAN_OPTIONS", "LSAN_OPTIONS"};

// One a line.
static const char *builds(const struct bench_plan *plan, struct arena *arena)
{
    const char *text = "PLUMB_BUILDS=";
    for (size_t i = 0; i < plan->build_count; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? "\n" : "", plan->read_only[i]);
    return text;
}

static const char *const *child_environment(const struct bench_plan *plan, struct arena *arena)
{
    const char **env = arena_alloc(arena, (ARRAY_COUNT(passed) + 5) * sizeof(*env));
    const char *path = getenv("PATH");
    size_t used = 0;
    env[used++] = arena_printf(arena, "PATH=%s", path ? path : "/usr/bin:/bin");
    env[used++] = "HOME=/tmp";
    env[used++] = "LC_ALL=C.UTF-8";
    env[used++] = builds(plan, arena);
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        const char *value = getenv(passed[i]);
        if (value)
            env[used++] = arena_printf(arena, "%s=%s", passed[i], value);
    }
    return env;
}

// Absolute path of the program: the sandbox shows it where it is.
static int find_bench(char out[PATH_MAX], const struct bench_plan *plan, struct error *err)
{
    char own[PATH_MAX];
    const char *program = plan->program;
    if (!program) {
        files_own(own, "bench");
        program = own;
    }
    if (!realpath(program, out) || access(out, X_OK))
        return error_set(err, "%s: there is no bench program; is plumb installed whole?", program);
    return 0;
}

static const char *const *child_argv(struct bench *bench, const char *program,
                                     const char *const *env)
{
    const struct bench_plan *plan = &bench->plan;
    struct arena *arena = &bench->arena;
    struct sandbox_bind *binds = arena_alloc(arena, (plan->read_only_count + 1) * sizeof(*binds));
    for (size_t i = 0; i < plan->read_only_count; i++)
        binds[i] = (struct sandbox_bind){plan->read_only[i], plan->read_only[i], false};
    program = arena_strdup(arena, program);
    binds[plan->read_only_count] = (struct sandbox_bind){program, program, false};
    const struct sandbox_view view = {
        .binds = binds,
        .bind_count = plan->read_only_count + 1,
        .env = env,
        .gpu = strcmp(plan->kind, "cuda") == 0,
        .memory_bytes = process_fair_memory(),
        .tasks = PROCESSES_MAX,
    };
    const char **argv = arena_alloc(arena, 5 * sizeof(*argv));
    argv[0] = program;
    argv[1] = "--device";
    argv[2] = strcmp(plan->kind, "cuda") == 0 || plan->index > 0
                  ? arena_printf(arena, "%s:%d", plan->kind, plan->index)
                  : plan->kind;
    argv[3] = plan->ask ? "--ask" : NULL;
    return plan->sandbox ? sandbox_argv(plan->sandbox, &view, argv, arena) : argv;
}

int bench_spawn(struct bench *bench, struct error *err)
{
    char program[PATH_MAX];
    if (find_bench(program, &bench->plan, err))
        return -1;
    const char *const *env = child_environment(&bench->plan, &bench->arena);
    bool inside = bench->plan.sandbox && bench->plan.sandbox->active;
    const struct process_plan plan = {
        .argv = child_argv(bench, program, env),
        .env = inside ? sandbox_environment(bench->plan.sandbox, &bench->arena) : env,
        .log_path = bench->plan.log_path,
        .log_bytes = BENCH_LOG_BYTES,
        .limits = {.memory_bytes = bench->plan.limits.memory_bytes,
                   .processes = PROCESSES_MAX,
                   .together_bytes = process_fair_memory(),
                   .watch_s = 1,
                   .file_bytes = (uint64_t)1 << 30},
    };
    return process_start(&bench->process, &plan, err);
}
