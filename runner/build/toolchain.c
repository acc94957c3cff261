// SPDX-License-Identifier: Apache-2.0
//
// A toolchain: what it gives to builds, and what its compilers say of themselves.
#include "runner/build/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

const char *toolchain_path(const struct toolchain *toolchain, struct arena *arena)
{
    const char *path = getenv("PATH");
    if (toolchain->root)
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin";
    else if (!path)
        path = "/usr/bin:/bin";
    return toolchain->prefix ? arena_printf(arena, "%s/bin:%s", toolchain->prefix, path) : path;
}

bool toolchain_sets(const struct toolchain *toolchain, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < toolchain->setting_count; i++) {
        const char *setting = toolchain->settings[i];
        if (strncmp(setting, name, length) == 0 && setting[length] == '=')
            return true;
    }
    return false;
}

// What was given, a line each; nothing of what PATH finds.
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
    // What stands in CC may have arguments: it is split into words, and the first is looked for.
#define ASK                                                                                        \
    "say() { what=$1; shift; if command -v \"$1\" >/dev/null 2>&1\n"                               \
    "  then echo $what: $(\"$@\" --version </dev/null); else echo $what: -; fi; }\n"               \
    "PATH=\"$PATH:/usr/local/cuda/bin\"\n"                                                         \
    "say cc ${CC:-cc}; say c++ ${CXX:-c++}; say nvcc ${CUDACXX:-nvcc}\n"
    // A variable of whoever runs the program reaches no build.
    static const char *const plain[] = {"sh", "-c", "unset CC CXX CUDACXX\n" ASK, NULL};
    static const char *const named[] = {"sh", "-c", ASK, NULL};
#undef ASK
    struct process_plan plan = {.argv = plain, .log_bytes = 8192, .limits = {.wall_s = 60}};
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
