// SPDX-License-Identifier: Apache-2.0
//
// The toolchains of the policy, as they are asked for.
#include "ci/settings/context.h"
#include "runner/build/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOOLCHAINS_MOST = 32 };

// What a sandbox shows of the system anyway: a committed policy may name these, as it may name no
// other folder of this machine.
static bool is_system(const char *folder)
{
    static const char *const roots[] = {"/usr", "/opt", "/nix/store", "/gnu/store"};
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++) {
        const size_t length = strlen(roots[i]);
        if (strncmp(folder, roots[i], length) == 0 && (folder[length] == '/' || !folder[length]))
            return true;
    }
    return false;
}

static int check_prefix(const struct context *context, const struct policy_toolchain *t,
                        struct error *err)
{
    struct stat st;
    const char *label = context->policy.label;
    if (!t->prefix || t->container)
        return 0;
    if (!context->options->policy && !is_system(t->prefix))
        return error_set(err,
                         "%s: [toolchain \"%s\"] prefix = %.80s: a committed policy may name "
                         "folders in /usr, /opt, /nix/store and /gnu/store; give the policy by "
                         "--policy",
                         label, t->name, t->prefix);
    if (stat(t->prefix, &st) || !S_ISDIR(st.st_mode))
        return error_set(err, "%s: [toolchain \"%s\"] prefix = %.80s: there is no such folder",
                         label, t->name, t->prefix);
    return 0;
}

static int open_container(struct toolchain *out, struct context *context,
                          const struct policy_toolchain *t, struct error *err)
{
    const char *label = context->policy.label;
    struct container container;
    struct error why;
    if (!t->container)
        return 0;
    if (t->foreign)
        return error_set(
            err,
            "%s: [toolchain \"%s\"] container = %.80s: not of a checkout that may be a "
            "stranger's; give the policy by --policy",
            label, t->name, t->container);
    if (!context->sandbox.active)
        return error_set(err,
                         "%s: [toolchain \"%s\"] container = %.80s: needs the sandbox, which shows "
                         "its files: %s",
                         label, t->name, t->container, context->sandbox.reason);
    if (container_open(&container, t->container, context->builder.cache, &context->arena, &why))
        return error_set(err, "%s: [toolchain \"%s\"] %s", label, t->name, why.text);
    out->image = container.id;
    out->root = container.root;
    return 0;
}

static int unknown(const struct policy *policy, const char *name, struct error *err)
{
    char known[200] = TOOLCHAIN_DEFAULT;
    for (size_t i = 0; i < policy->toolchain_count; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, ", %s", policy->toolchains[i].name);
    }
    return error_set(err, "%s: there is no [toolchain \"%.60s\"]; there are: %s", policy->label,
                     name, known);
}

int context_toolchain(const struct toolchain **out, struct context *context, const char *name,
                      struct error *err)
{
    const struct policy *policy = &context->policy;
    *out = &context->toolchain;
    if (!name || strcmp(name, TOOLCHAIN_DEFAULT) == 0)
        return 0;
    for (size_t i = 0; i < context->toolchain_count; i++) {
        *out = &context->toolchains[i];
        if (strcmp((*out)->name, name) == 0)
            return 0;
    }
    const struct policy_toolchain *wanted = policy_toolchain_find(policy, name);
    if (!wanted)
        return unknown(policy, name, err);
    if (context->toolchain_count == TOOLCHAINS_MOST)
        return error_set(err, "more than %d toolchains at once", TOOLCHAINS_MOST);
    if (!context->toolchains)
        context->toolchains =
            arena_alloc(&context->arena, TOOLCHAINS_MOST * sizeof(*context->toolchains));
    struct toolchain found = {.name = wanted->name,
                              .settings = wanted->settings,
                              .setting_count = wanted->setting_count,
                              .prefix = wanted->prefix};
    if (check_prefix(context, wanted, err) || open_container(&found, context, wanted, err) ||
        toolchain_detect(&found, &context->sandbox, err))
        return -1;
    context->toolchains[context->toolchain_count] = found;
    *out = &context->toolchains[context->toolchain_count++];
    return 0;
}
