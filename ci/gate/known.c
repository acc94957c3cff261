// SPDX-License-Identifier: Apache-2.0
//
// Finds out from the store whether a commit has been measured; nothing is built for that.
#include "ci/gate/task_list.h"

#include "model/history/event.h"

#include <stdlib.h>
#include <string.h>

// The problems of the set that --problem selects, each once for each of its regimes.
static size_t wanted_problems(struct problem *out, const struct context *context, const char *kind,
                              const struct policy_kernel *rule, const struct policy_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        enum regime regimes[REGIMES];
        const size_t most =
            policy_regimes(regimes, &context->policy, kind, rule, set, &set->problems[i]);
        for (size_t n = 0; n < most; n++) {
            out[count] = problem_in(&set->problems[i], regimes[n]);
            count += context_selects(context, NULL, &out[count]);
        }
    }
    return count;
}

static int device_measured(bool *measured, struct context *context, const struct to_build *head,
                           const struct context_device *device, const struct policy_kernel *rule,
                           const char *kernel, bool any_driver, struct error *err)
{
    *measured = true;
    for (size_t s = 0; *measured && s < rule->set_count; s++) {
        const struct policy_set *set = policy_set_find(&context->policy, rule->sets[s]);
        struct problem *problems = xcalloc(set->count * REGIMES + 1, sizeof(*problems));
        const struct demand demand = {
            .recipe = built_recipe(context, head->toolchain),
            .toolchain = head->toolchain ? head->toolchain->name : NULL,
            .device_uuid = device->unit.uuid,
            .driver = any_driver ? NULL : device->unit.driver,
            .problems = problems,
            .problem_count = wanted_problems(problems, context, device->policy->kind, rule, set),
            .kernels = &kernel,
            .kernel_count = 1};
        const int status =
            store_commit_measured(measured, context->store, head->commit, &demand, err);
        free(problems);
        if (status)
            return -1;
        *measured &= set->count > 0; // the problem of a capture that names none is only known after
                                     // a build
    }
    return 0;
}

// Whether any unit has measured a kernel. NULL in *rule: the policy has no such kernel there.
static int units_measured(bool *measured, const struct policy_kernel **rule,
                          struct context *context, const struct to_build *head,
                          const struct policy_device *policy, const char *kernel, bool any_driver,
                          struct error *err)
{
    *measured = false;
    *rule = policy_rule(&context->policy, kernel, policy);
    for (size_t i = 0; *rule && !*measured && i < context->device_count; i++) {
        if (context->devices[i].policy == policy &&
            device_measured(measured, context, head, &context->devices[i], *rule, kernel,
                            any_driver, err))
            return -1;
    }
    return 0;
}

// Whether every series of one kernel is stored for this commit. The record of a build does not tell
// for which kind of device a kernel is. So if one device of a kind has all of its series, all
// devices of that kind must have them, as far as they are here.
static int kernel_measured(bool *measured, struct context *context, const struct to_build *head,
                           const char *kernel, bool any_driver, struct error *err)
{
    const struct context_device *devices = context->devices;
    const size_t count = context->device_count;
    bool wanted = false, any = false, lacks = false;
    bool *has = xcalloc(count + 1, sizeof(*has)), *asked = xcalloc(count + 1, sizeof(*asked));
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        const struct policy_kernel *rule = NULL;
        status = units_measured(&has[i], &rule, context, head, devices[i].policy, kernel,
                                any_driver, err);
        asked[i] = rule && !devices[i].away;
        wanted |= rule != NULL;
        any |= has[i];
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; asked[i] && !has[i] && k < count; k++)
            lacks |= has[k] && strcmp(devices[i].policy->kind, devices[k].policy->kind) == 0;
    }
    *measured = (any && !lacks) || !wanted;
    free(has);
    free(asked);
    return status;
}

// Whether --problem selects a problem of the policy, in any regime.
static bool selects_problem(const struct context *context)
{
    const struct policy *policy = &context->policy;
    for (size_t s = 0; s < policy->set_count; s++) {
        for (size_t i = 0; i < policy->sets[s].count; i++) {
            for (int r = 0; r < REGIMES; r++) {
                const struct problem problem =
                    problem_in(&policy->sets[s].problems[i], (enum regime)r);
                if (context_selects(context, NULL, &problem))
                    return true;
            }
        }
    }
    return false;
}

// Whether the commit is known not to build by the build that would be made now. Nothing is known
// for another command or compiler. A caller that has not asked the compiler for its version, such
// as status, does not know.
static int still_unbuildable(bool *known, struct context *context, const struct to_build *head,
                             const struct build_record *record, struct error *err)
{
    char key[OBJECT_ID_TEXT] = "";
    if ((head->toolchain || context->builder.toolchain) &&
        built_timed(NULL, key, context, head, err))
        return -1;
    *known = key[0] && strncmp(record->content, key, strlen(key)) == 0;
    return 0;
}

// Whether the commit is known. `selected`: --kernel and --problem select something of it, or it has
// no kernels.
static int find_known(bool *known, bool *selected, struct context *context,
                      const struct to_build *head, bool any_driver, struct error *err)
{
    struct build_record record = {0};
    struct arena arena = {0};
    bool found = false, all = true, any = false;
    int status = store_find_commit_build(&record, &found, context->store, head->commit,
                                         built_recipe(context, head->toolchain), &arena, err);
    if (status == 0 && found && record.state != MEASURED_OK) // it has no kernels here
        status = still_unbuildable(&all, context, head, &record, err);
    for (size_t i = 0; status == 0 && found && all && i < record.count; i++) {
        if (!context_selects(context, record.kernels[i].name, NULL))
            continue;
        any = true;
        status = kernel_measured(&all, context, head, record.kernels[i].name, any_driver, err);
    }
    *selected = record.count == 0 || !found || (any && selects_problem(context));
    arena_free(&arena);
    if (status == 0)
        *known = found && all;
    return status;
}

int run_known(bool *known, struct context *context, const struct to_build *head, bool any_driver,
              struct error *err)
{
    bool selected;
    return find_known(known, &selected, context, head, any_driver, err);
}

int run_known_newest(bool *known, struct context *context, const struct to_build *head,
                     bool any_driver, struct error *err)
{
    const char *toolchain = head->toolchain ? head->toolchain->name : NULL;
    int64_t run;
    bool selected;
    if (find_known(known, &selected, context, head, any_driver, err) ||
        store_commit_run(&run, context->store, head->commit->id, toolchain, err))
        return -1;
    *known = *known && run && selected;
    return 0;
}

bool anew_wanted(enum anew anew, const struct run *run, const struct result *result)
{
    size_t controls = 0;
    for (size_t i = 0; i < run->count; i++)
        controls += run->results[i].control && run->results[i].device == result->device;
    return anew == ANEW_ALL ||
           (anew == ANEW_CONTROLS && (result->control || controls < CONTROLS_FEWEST));
}
