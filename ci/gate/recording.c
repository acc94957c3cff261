// SPDX-License-Identifier: Apache-2.0
//
// Makes records in sandboxed processes of their own, base and head apart, before anything is timed.
// A record's name says which code and problem it is of, so the same is not recorded twice in a run.
#include "ci/gate/recording.h"

#include "model/text.h"
#include "runner/bench/record.h"
#include "runner/child/files.h"
#include "runner/code/plan_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// How such a measurement would have been timed; it is stored, so it tells one after the fact.
static const char refused_regime[] = "not recorded";

bool recording_refused(const struct measurement *m)
{
    return m->state == MEASURED_UNSUPPORTED && m->regime && strcmp(m->regime, refused_regime) == 0;
}

bool recording_wanted(const struct task *task)
{
    const bool plan = (task->base && task->base->plan) || (task->head && task->head->plan);
    return (task->rule->device_code || plan) && strcmp(task->device->policy->kind, "cuda") == 0;
}

static const struct built_kernel *side(const struct task *task, enum sample_role role)
{
    return role == ROLE_BASE ? task->base : task->head;
}

// A kernel's name may be long and its problem too: their hash stands for both.
const char *recording_file(const struct recording *r, const struct task *task,
                           enum sample_role role, struct arena *arena)
{
    const struct built_kernel *kernel = side(task, role);
    char problem[PROBLEM_TEXT];
    if (!recording_wanted(task))
        return kernel->library;
    problem_format(problem, &task->result->problem);
    const uint64_t hash = hash_text(hash_text(HASH_START, task->result->kernel), problem);
    return arena_printf(arena, "%s/%s-%016llx.record", r->folder, kernel->code,
                        (unsigned long long)hash);
}

static int make_folder(struct recording *r, struct error *err)
{
    const char *temporary = getenv("TMPDIR");
    if (r->folder[0])
        return 0;
    if (!temporary || temporary[0] != '/' || strlen(temporary) > 40)
        temporary = "/tmp";
    snprintf(r->folder, sizeof(r->folder), "%s/plumb-XXXXXX", temporary);
    if (mkdtemp(r->folder))
        return 0;
    error_set(err, "%s: %s", r->folder, strerror(errno));
    r->folder[0] = '\0';
    return -1;
}

static int make_plan(struct bench_outcome *out, const char *file, const struct task *task,
                     const struct built_kernel *kernel, struct error *err)
{
    const int64_t sms = (int64_t)task->device->gpu.sm_count.value;
    return plan_file_record(out, file, kernel->library, &task->result->problem, sms, err);
}

// Of the build that the library is from.
static const char *directory_of(const struct recording *r, const char *library)
{
    for (size_t i = 0; i < r->directory_count; i++) {
        const size_t length = strlen(r->directories[i]);
        if (strncmp(library, r->directories[i], length) == 0 && library[length] == '/')
            return r->directories[i];
    }
    assert(false && "a library of no build that is measured");
    return NULL;
}

static int ready(struct recording *r, const struct task *task, enum sample_role role,
                 struct error *err)
{
    if (r->device != task->device)
        recording_pause(r);
    r->device = task->device;
    if (make_folder(r, err))
        return -1;
    const char **shown = &r->shown[role];
    const char *wanted = directory_of(r, side(task, role)->library);
    if (*shown != wanted) {
        bench_stop(r->bench[role]);
        r->bench[role] = NULL;
    }
    *shown = wanted;
    return r->bench[role] ? 0
                          : context_bench(&r->bench[role], r->context, task->device, shown, 1, err);
}

// A plan that cannot be followed is the same to every policy: its kernel does not do the problem.
static void refuse(struct measurement *out, const struct task *task, bool plan,
                   const struct bench_outcome *why, struct arena *arena)
{
    const char *because = task->rule->device_code ? "the policy trusts device code alone"
                                                  : "a plan is compared with records alone";
    *out =
        (struct measurement){.state = plan ? why->state : MEASURED_UNSUPPORTED,
                             .regime = plan ? "" : refused_regime,
                             .detail = plan ? arena_strdup(arena, why->detail)
                                            : arena_printf(arena, "cannot be recorded, and %s: %s",
                                                           because, why->detail)};
}

int recording_make(bool *made, struct recording *r, const struct task *task, enum sample_role role,
                   struct measurement *instead, struct arena *arena, struct error *err)
{
    struct bench_outcome outcome = {.state = MEASURED_OK};
    const struct bench_series series = {.kernel = task->result->kernel,
                                        .problem = &task->result->problem,
                                        .head = side(task, role)->library};
    *made = true;
    if (!recording_wanted(task))
        return 0;
    const struct built_kernel *kernel = side(task, role);
    if (kernel->plan ? make_folder(r, err) : ready(r, task, role, err))
        return -1;
    const char *file = recording_file(r, task, role, arena);
    if (access(file, R_OK) == 0)
        return 0;
    if (kernel->plan ? make_plan(&outcome, file, task, kernel, err)
                     : record_write(&outcome, file, r->bench[role], &series, err))
        return -1;
    if (outcome.state != MEASURED_OK) { // it may leave a stream or a context that others cannot use
        bench_stop(r->bench[role]);
        r->bench[role] = NULL;
    }
    *made = outcome.state == MEASURED_OK;
    if (!*made && instead)
        refuse(instead, task, kernel->plan, &outcome, arena);
    return 0;
}

void recording_pause(struct recording *r)
{
    for (int role = 0; role < 2; role++) {
        bench_stop(r->bench[role]);
        r->bench[role] = NULL;
    }
}

void recording_end(struct recording *r)
{
    struct error ignored;
    recording_pause(r);
    if (r->folder[0])
        files_remove(r->folder, &ignored);
    r->folder[0] = '\0';
}
