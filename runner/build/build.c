// SPDX-License-Identifier: Apache-2.0
//
// Builds a commit's kernels in the sandbox, or takes them from the cache. Where they are kept is
// build_cache.c.
#include "runner/build/build.h"

#include "runner/build/build_cache.h"
#include "runner/build/build_key.h"
#include "runner/build/build_parts.h"
#include "runner/build/build_source.h"
#include "runner/child/files.h"
#include "runner/child/log.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOG_BYTES = 4 << 20, LOG_TAIL = 16384, ANCESTORS_MAX = 256 };
static const double default_timeout_s = 600;
static const uint64_t file_bytes_max = (uint64_t)4 << 30, disk_bytes_usual = (uint64_t)16 << 30;

static const char inside_source[] = "/plumb/source";
static const char inside_build[] = "/plumb/build";
static const char inside_out[] = "/plumb/out";
static const char inside_have[] = "/plumb/have";
static const char inside_overlay[] = "/plumb/overlay";

struct work {
    const struct builder *builder;
    const struct repository *repository;
    const char *commit;
    const struct recipe *recipe;
    const char *base; // of an untrusted head; NULL: the commit is trusted
    char *directory, *source, *build, *out, *have, *overlay, *log;
    struct arena arena; // of the command line
};

static void open_work(struct work *work, const char *key)
{
    work->directory = xprintf("%s/tmp-%s-%ld", work->builder->cache, key, (long)getpid());
    work->source = xprintf("%s/source", work->directory);
    work->build = xprintf("%s/build", work->directory);
    work->out = xprintf("%s/out", work->directory);
    work->have = xprintf("%s/have", work->directory);
    work->overlay = xprintf("%s/overlay", work->directory);
    work->log = xprintf("%s/log", work->directory);
}

static void close_work(struct work *work)
{
    struct error ignored; // what stays is an abandoned build, and the next prune's
    files_remove(work->directory, &ignored);
    free(work->directory);
    free(work->source);
    free(work->build);
    free(work->out);
    free(work->have);
    free(work->overlay);
    free(work->log);
    arena_free(&work->arena);
}

static const char *const *environment(struct work *work)
{
    bool inside = work->builder->sandbox->active;
    const struct recipe *recipe = work->recipe;
    const struct toolchain *toolchain = work->builder->toolchain;
    const char *build = inside ? inside_build : work->build;
    const size_t most = recipe->environment_count + toolchain->setting_count + 15;
    const char **env = arena_alloc(&work->arena, most * sizeof(*env));
    size_t used = 0;
    env[used++] =
        arena_printf(&work->arena, "PLUMB_SOURCE=%s", inside ? inside_source : work->source);
    env[used++] = arena_printf(&work->arena, "PLUMB_BUILD=%s", build);
    env[used++] = arena_printf(&work->arena, "PLUMB_OUT=%s", inside ? inside_out : work->out);
    env[used++] = arena_printf(&work->arena, "PLUMB_HAVE=%s", inside ? inside_have : work->have);
    if (recipe->overlay)
        env[used++] =
            arena_printf(&work->arena, "PLUMB_OVERLAY=%s", inside ? inside_overlay : work->overlay);
    env[used++] = arena_printf(&work->arena, "PLUMB_JOBS=%ld", sysconf(_SC_NPROCESSORS_ONLN));
    env[used++] = arena_printf(&work->arena, "HOME=%s", build);
    env[used++] = arena_printf(&work->arena, "TMPDIR=%s", build);
    env[used++] = arena_printf(&work->arena, "PATH=%s", toolchain_path(toolchain, &work->arena));
    env[used++] = "LC_ALL=C.UTF-8";
    env[used++] = "SOURCE_DATE_EPOCH=0"; // __DATE__ must not make equal sources differ
    for (size_t i = 0; i < recipe->environment_count; i++) {
        const char *value = getenv(recipe->environment[i]);
        if (value && !toolchain_sets(toolchain, recipe->environment[i]))
            env[used++] = arena_printf(&work->arena, "%s=%s", recipe->environment[i], value);
    }
    if (toolchain->name)
        env[used++] = arena_printf(&work->arena, "PLUMB_TOOLCHAIN=%s", toolchain->name);
    for (size_t i = 0; i < toolchain->setting_count; i++)
        env[used++] = toolchain->settings[i];
    env[used] = NULL;
    return env;
}

static struct process_limits limits_of(const struct work *work)
{
    const struct recipe *recipe = work->recipe;
    const uint32_t processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t many = processors > 16 ? 32 * processors : 512;
    return (struct process_limits){
        .wall_s = recipe->timeout_s > 0 ? recipe->timeout_s : default_timeout_s,
        .memory_bytes = recipe->memory_bytes,
        .processes = recipe->processes ? recipe->processes : many,
        .file_bytes = file_bytes_max,
        .together_bytes = recipe->memory_bytes ? recipe->memory_bytes : process_fair_memory(),
        .disk_bytes = recipe->disk_bytes ? recipe->disk_bytes : disk_bytes_usual,
        .folders = {work->build, work->out},
    };
}

static const char *const *command_line(struct work *work, const char *const *env)
{
    const struct recipe *recipe = work->recipe;
    const struct toolchain *toolchain = work->builder->toolchain;
    const char *prefix = toolchain->root ? NULL : toolchain->prefix;
    struct sandbox_bind *binds =
        arena_alloc(&work->arena, (recipe->folder_count + 6) * sizeof(*binds));
    size_t count = 0;
    if (prefix)
        binds[count++] = (struct sandbox_bind){prefix, prefix, false};
    for (size_t i = 0; i < recipe->folder_count; i++)
        binds[count++] = (struct sandbox_bind){recipe->folders[i], recipe->folders[i], false};
    binds[count++] = (struct sandbox_bind){work->source, inside_source, false};
    binds[count++] = (struct sandbox_bind){work->have, inside_have, false};
    if (recipe->overlay)
        binds[count++] = (struct sandbox_bind){work->overlay, inside_overlay, false};
    binds[count++] = (struct sandbox_bind){work->build, inside_build, true};
    binds[count++] = (struct sandbox_bind){work->out, inside_out, true};
    const struct process_limits limits = limits_of(work);
    const struct sandbox_view view = {.binds = binds,
                                      .bind_count = count,
                                      .env = env,
                                      .directory = inside_source,
                                      .root = toolchain->root,
                                      .memory_bytes = limits.together_bytes,
                                      .tasks = limits.processes,
                                      .background = true};
    const char **argv = arena_alloc(&work->arena, 4 * sizeof(*argv));
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = recipe->command;
    return sandbox_argv(work->builder->sandbox, &view, argv, &work->arena);
}

static int run_command(struct process_result *result, struct work *work, struct error *err)
{
    bool inside = work->builder->sandbox->active;
    const char *const *env = environment(work);
    const struct process_plan plan = {
        .argv = command_line(work, env),
        .env = inside ? sandbox_environment(work->builder->sandbox, &work->arena) : env,
        .directory = inside ? NULL : work->source,
        .log_path = work->log,
        .log_bytes = LOG_BYTES,
        .limits = limits_of(work),
        .aside = &processors_here,
    };
    return process_run(result, &plan, err);
}

// What bubblewrap itself dies of comes from outside of it. systemd ends a scope by SIGTERM when one
// of its processes had to go for the scope's memory.
static bool ended_from_outside(const struct process_result *result)
{
    return result->end == PROCESS_SIGNALLED && (result->code == SIGKILL || result->code == SIGTERM);
}

// Failures of this machine, not of the commit: they must not be kept.
static bool ran_out(const struct process_result *result, const char *log)
{
    static const char *const signs[] = {"No space left on device",
                                        "Disk quota exceeded",
                                        "Cannot allocate memory",
                                        "out of memory",
                                        "virtual memory exhausted",
                                        "Killed signal terminated program",
                                        "fork: retry",
                                        "Resource temporarily unavailable"};
    enum { SHELL_KILLED = 128 + SIGKILL };
    if (result->end == PROCESS_EXCEEDED || ended_from_outside(result))
        return true;
    if (result->end == PROCESS_EXITED && result->code == SHELL_KILLED)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(signs); i++) {
        if (strstr(log, signs[i]))
            return true;
    }
    return false;
}

static void judge(struct build *build, const struct work *work, const struct process_result *result,
                  struct arena *arena)
{
    char ending[64], *log = log_tail(work->log, LOG_TAIL);
    process_describe(ending, sizeof(ending), result);
    build->log = arena_strdup(arena, log);
    build->seconds = result->wall_s;
    build->reason = "";
    if (result->end == PROCESS_TIMED_OUT) {
        build->state = BUILD_TIMEOUT;
        build->reason = arena_strdup(arena, ending);
    } else if (result->end != PROCESS_EXITED || result->code != 0) {
        build->state = ran_out(result, log) ? BUILD_STARVED : BUILD_FAILED;
        build->reason =
            arena_printf(arena, "%s%s", ending,
                         build->state == BUILD_STARVED && result->end != PROCESS_EXCEEDED
                             ? ", out of memory or disk"
                             : "");
    } else {
        build->library_count =
            build_cache_find(&build->libraries, work->out, work->recipe->outputs, arena);
        build->state = build->library_count ? BUILD_OK : BUILD_FAILED;
        if (build->library_count == 0)
            build->reason = arena_printf(arena, "no file matches %s", work->recipe->outputs);
    }
    free(log);
}

static int make_directories(const struct work *work, struct error *err)
{
    struct error ignored;
    files_remove(work->directory, &ignored); // of a process that had our number
    const char *const made[] = {work->directory, work->build, work->out, work->have};
    for (size_t i = 0; i < ARRAY_COUNT(made); i++) {
        // Nobody else gets below the first: what root's build makes there may run as root for all.
        if (mkdir(made[i], i == 0 ? 0700 : 0777))
            return error_set(err, "%s: cannot make the directory: %s", made[i], strerror(errno));
    }
    return 0;
}

// What the nearest build of the trusted history has that is the same here: that build may be one of
// the base itself, or of the commit's own past where the commit is trusted.
static void offer_libraries(const struct work *work)
{
    const struct builder *builder = work->builder;
    const struct build_place here = {work->repository, work->commit, work->recipe};
    struct arena arena = {0};
    struct commit commit;
    struct error ignored; // whatever goes wrong: what is not offered is built
    int status = repository_commit(&commit, work->repository,
                                   work->base ? work->base : work->commit, &arena, &ignored);
    for (size_t i = 0; status == 0 && i < ANCESTORS_MAX; i++) {
        char key[OBJECT_ID_TEXT];
        struct build earlier;
        status = build_key(key, builder, work->repository, commit.id, work->recipe, &ignored);
        if (status == 0 &&
            build_cache_load(&earlier, builder->cache, key, work->recipe->outputs, &arena) &&
            earlier.state == BUILD_OK) {
            build_parts_offer(work->have, earlier.directory, builder, &here);
            break;
        }
        status |= repository_parent(&commit, work->repository, &commit, &arena, &ignored);
    }
    arena_free(&arena);
}

static int export_and_run(struct build *build, struct work *work, struct arena *arena,
                          struct error *err)
{
    const struct recipe *recipe = work->recipe;
    struct process_result result;
    struct exported exported;
    const struct build_place place = {work->repository, work->commit, recipe};
    const int code = build_source(build, &exported, &place, work->source, arena, err);
    if (code)
        return code < 0 ? -1 : 0;
    if (recipe->overlay && overlay_copy(recipe->overlay, work->overlay, err))
        return -1;
    offer_libraries(work);
    if (run_command(&result, work, err))
        return -1;
    judge(build, work, &result, arena);
    if (build->state == BUILD_FAILED)
        build_source_seen(build, &exported, arena);
    return 0;
}

// Source and scratch go; the rest becomes the cache's entry at once.
static int keep(struct build *build, const struct work *work, struct arena *arena,
                struct error *err)
{
    const char *cache = work->builder->cache;
    char *final = xprintf("%s/%s", cache, build->key);
    int result = -1;
    const struct build_place place = {work->repository, work->commit, work->recipe};
    if (files_remove(work->source, err) || files_remove(work->build, err) ||
        files_remove(work->have, err) || files_remove(work->overlay, err) ||
        (!work->base && build_parts_write(work->directory, build, work->builder, &place, err)) ||
        build_cache_state(work->directory, build, err))
        goto done;
    struct error ignored;
    files_remove(final, &ignored); // an emptied entry; a good one would have been found
    if (rename(work->directory, final)) {
        error_set(err, "%s: cannot keep the build: %s", final, strerror(errno));
        goto done;
    }
    double seconds = build->seconds;
    if (!build_cache_load(build, cache, build->key, work->recipe->outputs, arena)) {
        error_set(err, "%s: the build vanished; is the cache shared or the disk full?", final);
        goto done;
    }
    build->cached = false;
    build->seconds = seconds;
    result = 0;
done:
    free(final);
    return result;
}

static int build_now(struct build *out, struct work *work, const char *key, struct arena *arena,
                     struct error *err)
{
    struct build build = {.directory = "", .out = "", .reason = "", .log = ""};
    text_copy(build.key, sizeof(build.key), key);
    open_work(work, key);
    int result = make_directories(work, err);
    if (result == 0)
        result = export_and_run(&build, work, arena, err);
    if (result == 0 && (build.state == BUILD_OK || build.state == BUILD_FAILED))
        result = keep(&build, work, arena, err);
    close_work(work);
    if (result == 0)
        *out = build;
    return result;
}

// The key that the build has or will have: what is trusted serves everyone, what was made of a head
// serves heads.
static int find_kept(struct build *out, bool *found, char key[OBJECT_ID_TEXT],
                     const struct builder *builder, const struct repository *repository,
                     const char *commit, const char *base, const struct recipe *recipe,
                     struct arena *arena, struct error *err)
{
    if (build_key(key, builder, repository, commit, recipe, err))
        return -1;
    *found = build_cache_load(out, builder->cache, key, recipe->outputs, arena);
    if (!*found && base) {
        build_key_of_head(key);
        *found = build_cache_load(out, builder->cache, key, recipe->outputs, arena);
    }
    return 0;
}

int build_find(struct build *out, bool *found, const struct builder *builder,
               const struct repository *repository, const char *commit, const char *base,
               const struct recipe *recipe, struct arena *arena, struct error *err)
{
    char key[OBJECT_ID_TEXT];
    return find_kept(out, found, key, builder, repository, commit, base, recipe, arena, err);
}

int build_commit(struct build *out, const struct builder *builder,
                 const struct repository *repository, const char *commit, const char *base,
                 const struct recipe *recipe, struct arena *arena, struct error *err)
{
    char key[OBJECT_ID_TEXT];
    assert(builder->cache[0] == '/');
    if (recipe->outputs[0] == '/' || strstr(recipe->outputs, ".."))
        return error_set(err, "%s: the libraries' pattern must stay in PLUMB_OUT", recipe->outputs);
    bool found = false;
    if (find_kept(out, &found, key, builder, repository, commit, base, recipe, arena, err) ||
        (!found && files_make_directory(builder->cache, err)))
        return -1;
    if (found)
        return 0;
    int lock = build_cache_lock(builder->cache, key, err);
    if (lock < 0)
        return -1;
    int result = 0;
    if (!build_cache_load(out, builder->cache, key, recipe->outputs, arena)) {
        struct work work = {.builder = builder,
                            .repository = repository,
                            .commit = commit,
                            .base = base,
                            .recipe = recipe};
        result = build_now(out, &work, key, arena, err);
    }
    close(lock);
    return result;
}
