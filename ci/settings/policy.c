// SPDX-License-Identifier: Apache-2.0
//
// A policy as a whole: read, checked against itself, and asked. Its keys are in policy_keys.c.
#include "ci/settings/policy_keys.h"
#include "ci/settings/policy_values.h"
#include "model/gate/gate.h"
#include "runner/build/build.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The same key twice in one section is a slip of the pen, except where lists are meant.
static int check_repeats(const struct config *config, struct error *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const struct config_entry *a = &config->entries[i];
        if (policy_may_repeat(a))
            continue;
        for (size_t j = i + 1; j < config->count; j++) {
            const struct config_entry *b = &config->entries[j];
            if (!strcmp(a->section, b->section) && !strcmp(a->subsection, b->subsection) &&
                !strcmp(a->key, b->key))
                return error_set(err, "%s:%u: %s.%s is given twice, first on line %u",
                                 config->label, b->line, b->section, b->key, a->line);
        }
    }
    return 0;
}

// ---- the whole ----

static void set_defaults(struct policy *policy)
{
    policy->recipe.outputs = "*.so";
    policy->recipe.timeout_s = 600;
    policy->sandbox = SANDBOX_UNSAID;
    policy->gate = (struct policy_gate){.alpha = gate_defaults.alpha,
                                        .max_pairs = gate_defaults.max_pairs,
                                        .processes = gate_defaults.processes,
                                        .seconds = 600,
                                        .self_test = 3};
    policy->fleet.tasks = 8;
    policy->samples = 24;
    policy->timeout_s = 60;
    policy->search_s = 300;
    policy->sick = 0.05;
    policy->model = "sol";
}

static bool device_named(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->device_count; i++) {
        if (strcmp(policy->devices[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool in_some_set(const struct policy *p, const struct problem *problem)
{
    for (size_t s = 0; s < p->set_count; s++) {
        for (size_t i = 0; i < p->sets[s].count; i++) {
            if (problem_equal(&p->sets[s].problems[i], problem))
                return true;
        }
    }
    return false;
}

static int check_toolchains(const struct policy *p, struct error *err)
{
    for (size_t i = 0; i < p->toolchain_count; i++) {
        const struct policy_toolchain *t = &p->toolchains[i];
        const char *fault = toolchain_name_fault(t->name);
        if (!fault && t->prefix && (t->prefix[0] != '/' || strstr(t->prefix, "/..")))
            fault = "its prefix is an absolute folder, without ..";
        if (!fault && t->container && !container_name_sound(t->container))
            fault = "its container is an image's name, such as docker.io/nvidia/cuda:13.0.1-devel";
        if (fault)
            return error_set(err, "%s: [toolchain \"%.60s\"]: %s", p->label, t->name, fault);
    }
    return 0;
}

static int check_references(const struct policy *p, struct error *err)
{
    if (!p->recipe.command)
        return error_set(err, "%s: no build.command: how do your kernels become libraries?",
                         p->label);
    if (!p->device_count)
        return error_set(err, "%s: no [device \"...\"] section", p->label);
    if (!p->kernel_count)
        return error_set(err, "%s: no [kernel \"...\"] section", p->label);
    for (size_t i = 0; i < p->mix_count; i++) {
        if (!p->mixes[i].count)
            return error_set(err, "%s: [mix \"%.60s\"] has no problem", p->label, p->mixes[i].name);
        for (size_t j = 0; j < p->mixes[i].count; j++) {
            if (!in_some_set(p, &p->mixes[i].parts[j].problem))
                return error_set(
                    err,
                    "%s: [mix \"%.60s\"]: its problem %zu is in no [problems] section, "
                    "so nothing measures it",
                    p->label, p->mixes[i].name, j + 1);
        }
    }
    for (size_t i = 0; i < p->kernel_count; i++) {
        const struct policy_kernel *k = &p->kernels[i];
        if (!k->set_count && !k->skip)
            return error_set(err, "%s: [kernel \"%.60s\"] names no problems", p->label, k->pattern);
        for (size_t j = 0; j < k->set_count; j++) {
            const struct policy_set *set = policy_set_find(p, k->sets[j]);
            if (!set || !set->count)
                return error_set(err, "%s: [kernel \"%.60s\"]: there is no [problems \"%.60s\"]",
                                 p->label, k->pattern, k->sets[j]);
        }
        for (size_t j = 0; j < k->device_count; j++) {
            if (!device_named(p, k->devices[j]))
                return error_set(err, "%s: [kernel \"%.60s\"]: there is no [device \"%.60s\"]",
                                 p->label, k->pattern, k->devices[j]);
        }
    }
    return 0;
}

int policy_parse(struct policy *out, const char *text, size_t size, const char *label,
                 struct error *err)
{
    struct policy policy = {0};
    struct config config = {0};
    if (config_parse(&config, text, size, label, err))
        return -1;
    int status = -1;
    set_defaults(&policy);
    policy.label = arena_strdup(&policy.arena, label);
    policy.text = arena_strndup(&policy.arena, text, size);
    if (check_repeats(&config, err))
        goto done;
    for (size_t i = 0; i < config.count; i++) {
        if (policy_read_entry(&policy, &config.entries[i], label, err))
            goto done;
    }
    if (check_toolchains(&policy, err) || check_references(&policy, err))
        goto done;
    *out = policy;
    status = 0;
done:
    config_free(&config);
    if (status)
        policy_free(&policy);
    return status;
}

int policy_load(struct policy *out, const char *path, struct error *err)
{
    struct stat st;
    char *text = NULL;
    int status = -1;
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_set(err, "%s: %s; %s", path, strerror(errno),
                         errno == ENOENT ? "`plumb init` writes one" : "make it readable");
    if (fstat(fileno(file), &st) || !S_ISREG(st.st_mode)) {
        error_set(err, "%s: not a regular file; a policy is a file as `plumb init` writes", path);
        goto done;
    }
    const size_t limit = 1 << 20;
    text = xcalloc(1, limit + 1);
    size_t size = fread(text, 1, limit + 1, file);
    if (ferror(file) || size > limit) {
        error_set(err, "%s: %s", path, size > limit ? "larger than 1 MiB" : strerror(errno));
        goto done;
    }
    status = policy_parse(out, text, size, path, err);
done:
    fclose(file);
    free(text);
    return status;
}

void policy_free(struct policy *policy)
{
    arena_free(&policy->arena);
    memset(policy, 0, sizeof(*policy));
}

static bool passes(const struct policy *policy, const char *name)
{
    for (size_t i = 0; policy && i < policy->recipe.environment_count; i++) {
        if (strcmp(policy->recipe.environment[i], name) == 0)
            return true;
    }
    return false;
}

// Device code alone, unless a trusted rule of that pattern says otherwise, or none asks for it.
static bool confine_rule(struct policy_kernel *rule, const struct policy *trusted)
{
    bool asked = false;
    for (size_t i = 0; trusted && i < trusted->kernel_count; i++) {
        const struct policy_kernel *theirs = &trusted->kernels[i];
        asked |= theirs->device_code;
        if (strcmp(theirs->pattern, rule->pattern) == 0 && !theirs->device_code)
            return false;
    }
    const bool changed = asked && !rule->device_code && !rule->skip;
    rule->device_code |= changed;
    return changed;
}

// Images here may hold what is nobody else's business, and a build may carry it out in a library.
static bool confine_toolchain(struct policy_toolchain *t, const struct policy *trusted)
{
    const struct policy_toolchain *known = trusted ? policy_toolchain_find(trusted, t->name) : NULL;
    t->foreign = t->container &&
                 (!known || !known->container || strcmp(known->container, t->container) != 0);
    return t->foreign;
}

bool policy_confine(struct policy *policy, const struct policy *trusted)
{
    // Who says auto says that a stranger's pull request needs none where there is none.
    static const int strictness[] = {
        [SANDBOX_OFF] = 0, [SANDBOX_AUTO] = 1, [SANDBOX_UNSAID] = 2, [SANDBOX_REQUIRE] = 3};
    const enum sandbox_mode least = trusted ? trusted->sandbox : SANDBOX_UNSAID;
    bool changed = strictness[policy->sandbox] < strictness[least];
    if (changed)
        policy->sandbox = least;
    struct recipe *recipe = &policy->recipe;
    const char **names =
        arena_alloc(&policy->arena, (recipe->environment_count + 1) * sizeof(*names));
    size_t kept = 0;
    for (size_t i = 0; i < recipe->environment_count; i++) {
        if (passes(trusted, recipe->environment[i]))
            names[kept++] = recipe->environment[i];
    }
    changed |= kept < recipe->environment_count;
    recipe->environment = names;
    recipe->environment_count = kept;
    for (size_t i = 0; i < policy->toolchain_count; i++)
        changed |= confine_toolchain(&policy->toolchains[i], trusted);
    for (size_t i = 0; i < policy->kernel_count; i++)
        changed |= confine_rule(&policy->kernels[i], trusted);
    return changed;
}

static const struct policy_kernel *first_match(const struct policy *policy, const char *kernel)
{
    for (size_t i = 0; i < policy->kernel_count; i++) {
        if (fnmatch(policy->kernels[i].pattern, kernel, 0) == 0)
            return &policy->kernels[i];
    }
    return NULL;
}

const struct policy_kernel *policy_rule(const struct policy *policy, const char *kernel,
                                        const struct policy_device *device)
{
    const struct policy_kernel *rule = first_match(policy, kernel);
    if (!rule || rule->skip)
        return NULL;
    for (size_t j = 0; j < rule->device_count; j++) {
        if (strcmp(rule->devices[j], device->name) == 0)
            return rule;
    }
    return rule->device_count ? NULL : rule;
}

bool policy_skips(const struct policy *policy, const char *kernel)
{
    const struct policy_kernel *rule = first_match(policy, kernel);
    return rule && rule->skip;
}

bool policy_skips_library(const struct policy *policy, const char *library)
{
    const char *slash = strrchr(library, '/');
    for (size_t i = 0; i < policy->library_count; i++) {
        const struct policy_library *rule = &policy->libraries[i];
        if (fnmatch(rule->pattern, slash ? slash + 1 : library, 0) == 0)
            return rule->skip;
    }
    return false;
}

const struct policy_toolchain *policy_toolchain_find(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->toolchain_count; i++) {
        if (strcmp(policy->toolchains[i].name, name) == 0)
            return &policy->toolchains[i];
    }
    return NULL;
}

const struct policy_set *policy_set_find(const struct policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->set_count; i++) {
        if (strcmp(policy->sets[i].name, name) == 0)
            return &policy->sets[i];
    }
    return NULL;
}

struct policy_gate policy_gate_for(const struct policy *policy, const struct policy_kernel *rule)
{
    struct policy_gate gate = policy->gate;
    if (rule->margin > 0)
        gate.margin = rule->margin;
    if (rule->max_pairs)
        gate.max_pairs = rule->max_pairs;
    return gate;
}
