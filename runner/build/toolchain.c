// SPDX-License-Identifier: Apache-2.0
//
// The compilers of a build: a container whose system is shown to builds, and a toolchain with the
// settings that it gives to builds and the version texts of its compilers.
#include "runner/build/build.h"

#include "runner/child/files.h"
#include "runner/child/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

// ---- containers
//
// Two small scripts ask the container runner: one for the image's id, one for its files. Their
// output is checked. Unpacked files appear completely or not at all, so several processes may
// unpack at the same time.

enum { NO_RUNNER = 10, NO_IMAGE = 11 }; // exit codes of the first script

static const char find_script[] =
    "code=10\n"
    "for r in podman docker nerdctl; do\n"
    "  command -v $r >/dev/null 2>&1 || continue\n"
    "  code=11\n"
    "  id=$($r image inspect --format '{{.Id}}' \"$1\" 2>/dev/null </dev/null) || continue\n"
    "  [ -z \"$id\" ] || { echo \"$r ${id#sha256:}\"; exit 0; }\n"
    "done\n"
    "command -v buildah >/dev/null 2>&1 || exit $code\n"
    "id=$(buildah inspect --type image --format '{{.FromImageID}}' \"$1\" 2>/dev/null) || exit 11\n"
    "[ -n \"$id\" ] || exit 11\n"
    "echo \"buildah $id\"\n";

// Devices are left out, because only root could make them, and so are folders that are mounted over
// anyway.
static const char unpack_script[] =
    "set -eu\n"
    "r=$1 image=$2 target=$3 c=\n"
    "if [ $r = buildah ] && [ \"$(id -u)\" != 0 ] && [ -z \"${4:-}\" ]; then\n"
    "  exec buildah unshare sh -c \"$0\" \"$0\" \"$r\" \"$image\" \"$target\" inside\n"
    "fi\n"
    "trap '[ -z \"$c\" ] || $r rm \"$c\" >/dev/null 2>&1; rm -f \"$target.tar\"' EXIT\n"
    "if [ $r = buildah ]; then\n"
    "  c=$(buildah from --pull-never \"$image\")\n"
    "  tar -C \"$(buildah mount \"$c\")\" -cf \"$target.tar\" .\n"
    "else\n"
    "  c=$($r create --pull=never \"$image\" true)\n"
    "  $r export -o \"$target.tar\" \"$c\"\n"
    "fi\n"
    "mkdir \"$target\"\n"
    "tar -C \"$target\" -xf \"$target.tar\" --no-same-owner --anchored --exclude=dev "
    "--exclude=./dev"
    " --exclude=proc --exclude=./proc --exclude=sys --exclude=./sys\n"
    "chmod -R u+rwX \"$target\"\n";

bool container_name_sound(const char *image)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-/:@";
    return *image && *image != '-' && strspn(image, most) == strlen(image);
}

static int ask(struct process_result *result, char **said, const char *script,
               const char *const words[3], struct error *err)
{
    // The script is its own $0, so that it can call itself again.
    const char *argv[] = {"sh", "-c", script, script, words[0], words[1], words[2], NULL};
    const struct process_plan plan = {.argv = argv, .log_bytes = 8192, .limits = {.time_s = 1200}};
    return process_capture(result, said, &plan, err);
}

static bool ended_well(const struct process_result *result)
{
    return result->end == PROCESS_EXITED && result->code == 0;
}

// Reads "podman 0123abcd...".
static bool read_found(char runner[16], char id[65], const char *said)
{
    char rest;
    return sscanf(said, "%15[a-z] %64[0-9a-f] %c", runner, id, &rest) == 2 && strlen(id) >= 12;
}

static int find(char runner[16], char id[65], const char *image, struct error *err)
{
    struct process_result result;
    char *said = NULL;
    if (ask(&result, &said, find_script, (const char *const[]){image, NULL, NULL}, err))
        return -1;
    int status = 0;
    if (result.end == PROCESS_EXITED && result.code == NO_RUNNER)
        status = error_set(
            err, "container %.100s: there is no podman, docker, nerdctl or buildah here", image);
    else if (!ended_well(&result) || !read_found(runner, id, said))
        status =
            error_set(err, "container %.100s: it is not on this machine; pull it first", image);
    free(said);
    return status;
}

static int unpack(const char *root, const char *runner, const char *image, struct error *err)
{
    struct process_result result;
    struct error ignored;
    char *target = xprintf("%s.%ld", root, (long)getpid()), *said = NULL, ending[64];
    int status = -1;
    files_remove(target, &ignored);
    if (ask(&result, &said, unpack_script, (const char *const[]){runner, image, target}, err))
        goto done;
    process_describe(ending, sizeof(ending), &result);
    if (said[0]) {
        char *last = said + strlen(said);
        while (last > said && last[-1] == '\n')
            *--last = '\0';
        last = strrchr(said, '\n');
        text_copy(ending, sizeof(ending), last ? last + 1 : said);
    }
    if (!ended_well(&result))
        error_set(err, "container %.100s: %s cannot unpack it: %s", image, runner, ending);
    // Another process was faster.
    else if (rename(target, root) && errno != EEXIST && errno != ENOTEMPTY)
        error_set(err, "%s: %s", root, strerror(errno));
    else
        status = 0;
done:
    files_remove(target, &ignored);
    free(said);
    free(target);
    return status;
}

int container_open(struct container *out, const char *image, const char *cache, struct arena *arena,
                   struct error *err)
{
    char runner[16], id[65];
    struct stat st;
    if (find(runner, id, image, err))
        return -1;
    const char *folder = arena_printf(arena, "%s/containers", cache);
    const char *root = arena_printf(arena, "%s/%s", folder, id);
    if (stat(root, &st) && (files_make_directory(folder, err) || unpack(root, runner, image, err)))
        return -1;
    *out = (struct container){arena_strdup(arena, id), root};
    return 0;
}

// ---- toolchains

const char *toolchain_path(const struct toolchain *toolchain, struct arena *arena)
{
    const char *path = getenv("PATH");
    if (toolchain->root)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin";
    else if (!path)
        path = "/usr/bin:/bin";
    return toolchain->prefix ? arena_printf(arena, "%s/bin:%s", toolchain->prefix, path) : path;
}

// The toolchain's settings, one per line; without compilers found in PATH.
static char *given(const struct toolchain *t)
{
    char *text = xstrdup("");
    const struct {
        const char *what, *value;
    } first[] = {{"toolchain", t->name}, {"prefix", t->prefix}, {"image", t->image}};
    for (size_t i = 0; t->name && i < t->setting_count + ARRAY_COUNT(first); i++) {
        const bool set = i >= ARRAY_COUNT(first);
        const char *what = set ? "set" : first[i].what;
        const char *value = set ? t->settings[i - ARRAY_COUNT(first)] : first[i].value;
        char *more = value ? xprintf("%s%s %zu:%s\n", text, what, strlen(value), value) : NULL;
        if (more) {
            free(text);
            text = more;
        }
    }
    return text;
}

static const char *const *environment(const struct toolchain *t, struct arena *arena)
{
    const char **env = arena_alloc(arena, (t->setting_count + 2) * sizeof(*env));
    size_t used = 0;
    env[used++] = arena_printf(arena, "PATH=%s", toolchain_path(t, arena));
    for (size_t i = 0; i < t->setting_count; i++)
        env[used++] = t->settings[i];
    env[used] = NULL;
    return env;
}

int toolchain_detect(struct toolchain *toolchain, const struct sandbox *sandbox, struct error *err)
{
    // CC may contain arguments: it is split into words, and the first word is looked up.
#define ASK                                                                                        \
    "say() { what=$1; shift; if command -v \"$1\" >/dev/null 2>&1\n"                               \
    "  then echo $what: $(\"$@\" --version </dev/null); else echo $what: -; fi; }\n"               \
    "PATH=\"$PATH:/usr/local/cuda/bin\"\n"                                                         \
    "say cc ${CC:-cc}; say c++ ${CXX:-c++}; say nvcc ${CUDACXX:-nvcc}\n"
    // Variables of the person who runs the program do not reach builds.
    static const char *const plain[] = {"sh", "-c", "unset CC CXX CUDACXX\n" ASK, NULL};
    static const char *const named[] = {"sh", "-c", ASK, NULL};
#undef ASK
    struct process_plan plan = {.argv = plain, .log_bytes = 8192, .limits = {.time_s = 60}};
    struct process_result result;
    struct arena arena = {0};
    struct utsname name;
    char *said = NULL;
    if (toolchain->name) {
        const struct sandbox_bind prefix = {toolchain->prefix, toolchain->prefix, false};
        const struct sandbox_view view = {.binds = &prefix,
                                          .bind_count = toolchain->prefix && !toolchain->root,
                                          .root = toolchain->root,
                                          .env = environment(toolchain, &arena)};
        plan.argv = sandbox_argv(sandbox, &view, named, &arena);
        plan.env = sandbox->active ? sandbox_environment(sandbox, &arena) : view.env;
    }
    int code = process_capture(&result, &said, &plan, err);
    if (code == 0 && (result.end != PROCESS_EXITED || result.code != 0)) {
        char ending[64];
        process_describe(ending, sizeof(ending), &result);
        code = error_set(err, "asking the compilers for their versions: %s", ending);
    }
    uname(&name);
    if (code == 0) {
        char *settings = given(toolchain);
        toolchain->text = xprintf("%s%smachine: %s\n", settings, said, name.machine);
        free(settings);
    }
    free(said);
    arena_free(&arena);
    return code;
}

void toolchain_free(struct toolchain *toolchain)
{
    free(toolchain->text);
    toolchain->text = NULL;
}
