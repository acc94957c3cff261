// SPDX-License-Identifier: Apache-2.0
//
// plumb status: the first command to run in a repository. It says what plumb finds there, what it
// has measured, and what to do next. It builds, measures and writes nothing. Whatever is missing or
// damaged is a line of the table that says what to do about it.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/conclude.h"
#include "ci/gate/task_list.h"
#include "ci/settings/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    struct options options;
    bool json;
};

static const struct command_option own_options[] = {OPTION_FORMAT(json), {0}};

enum { LINES_MOST = 64, RUNS_SHOWN = 3 };

// The table that is being filled: topics, with a sentence about each.
struct status {
    struct context *context;
    struct {
        const char *topic, *text;
    } lines[LINES_MOST];
    size_t count;
    struct commit head, parent;
    bool has_head, has_parent, has_policy, has_devices;
    bool unread;                    // a store exists and cannot be read
    const struct run_entry *judged; // the newest of the shown gates that compares HEAD with its
                                    // parent
    const char *next;               // what to do next; NULL until something decides it
};

static void say(struct status *s, const char *topic, const char *text)
{
    if (s->count == LINES_MOST)
        return;
    s->lines[s->count].topic = topic;
    s->lines[s->count++].text = text;
}

#define SAY(s, topic, ...) say((s), (topic), arena_printf(&(s)->context->arena, __VA_ARGS__))

static void decide(struct status *s, const char *next)
{
    if (!s->next)
        s->next = next;
}

static void add_repository(struct status *s)
{
    struct context *context = s->context;
    struct error err;
    SAY(s, "repository", "%s", repository_directory(context->repository));
    if (repository_commit(&s->head, context->repository, "HEAD", &context->arena, &err)) {
        SAY(s, "commit", "%s", err.text);
        decide(s, "commit something first");
        return;
    }
    s->has_head = true;
    SAY(s, "commit", "HEAD is %.10s %.60s", s->head.id, s->head.summary);
    s->has_parent =
        repository_parent(&s->parent, context->repository, &s->head, &context->arena, &err) == 0;
}

static void add_policy(struct status *s)
{
    const struct policy *policy = &s->context->policy;
    struct error err;
    if (context_policy(s->context, "", &err)) {
        SAY(s, "policy", "%s", err.text);
        decide(s, "a policy first: `plumb init` writes one that builds, `--print` shows every key");
        return;
    }
    s->has_policy = true;
    size_t problems = 0;
    for (size_t i = 0; i < policy->set_count; i++)
        problems += policy->sets[i].count;
    SAY(s, "policy", "%s: %zu %s for kernels, %zu %s in %zu %s, %s", policy->label,
        policy->kernel_count, plural(policy->kernel_count, "section", "sections"), problems,
        plural(problems, "problem", "problems"), policy->set_count,
        plural(policy->set_count, "set", "sets"),
        policy->gate.margin > 0
            ? arena_printf(&s->context->arena, "margin %g %%", 100 * policy->gate.margin)
            : "margins by device and size");
}

static void add_run(struct status *s, const struct run_entry *run)
{
    if (!s->judged && run->kind == RUN_GATE && run->finished_s && s->has_parent &&
        strcmp(run->head, s->head.id) == 0 && strcmp(run->base, s->parent.id) == 0)
        s->judged = run;
    char date[32] = "";
    const time_t when = (time_t)run->started_s;
    struct tm utc;
    if (gmtime_r(&when, &utc))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &utc);
    SAY(s, "verdict", "%s %s %.10s%s%.10s: %s", date, run_kind_name(run->kind), run->base,
        *run->base ? ".." : "", run->head, run->finished_s ? run->headline : "interrupted");
}

static void add_store(struct status *s)
{
    struct context *context = s->context;
    const char *path = context->options->store
                           ? context->options->store
                           : arena_printf(&context->arena, "%s/store.db", context->state);
    struct store_report report;
    struct run_entry *runs = NULL;
    size_t count = 0;
    struct error err;
    if (access(path, F_OK) && errno == ENOENT) {
        SAY(s, "store", "%s: not there yet; the first `plumb gate` or `plumb run` makes it", path);
        return;
    }
    if (context_store(context, STORE_READ, &err) || store_info(&report, context->store, &err) ||
        store_list_runs(&runs, &count, context->store, STORE_ALL_RUNS, RUNS_SHOWN, &context->arena,
                        &err)) {
        SAY(s, "store", "%s", err.text);
        s->unread = true;
        decide(s, "the store first: its line says what is wrong");
        return;
    }
    SAY(s, "store", "%s: %.1f MB, %lld %s, %lld %s of %lld series", path,
        (double)report.bytes / 1e6, (long long)report.counts.runs,
        plural((uint64_t)report.counts.runs, "run", "runs"), (long long)report.counts.measurements,
        plural((uint64_t)report.counts.measurements, "measurement", "measurements"),
        (long long)report.counts.series);
    for (size_t i = 0; i < count; i++)
        add_run(s, &runs[i]);
}

static void add_devices(struct status *s)
{
    struct context *context = s->context;
    struct error err;
    if (!s->has_policy)
        return;
    if (context_sandbox_probe(context, &err)) {
        SAY(s, "sandbox", "%s", err.text);
        decide(s, "the sandbox first: nothing is built without one");
        return;
    }
    context->bench_log = "/dev/null";
    SAY(s, "sandbox", "%s",
        context->sandbox.active
            ? "bubblewrap confines builds and kernels"
            : arena_printf(&context->arena, "none: %s", context->sandbox.reason));
    if (context_devices(context, &err)) {
        SAY(s, "device", "%s", err.text);
        decide(s, "the device first: its line says what is wrong");
        return;
    }
    s->has_devices = true;
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *d = &context->devices[i];
        if (d->away)
            SAY(s, "device", "%s: not on this machine; its kernels are built and listed only",
                d->policy->name);
        else
            SAY(s, "device", "%s: %s, %s, driver %s", d->policy->name, d->unit.name, d->unit.uuid,
                d->unit.driver);
    }
}

// Whether this machine has none of the policy's devices: then nothing can be measured, but machine
// code can be compared.
static bool all_away(const struct status *s)
{
    const struct context *context = s->context;
    bool away = s->has_devices && context->device_count > 0;
    for (size_t i = 0; i < context->device_count; i++)
        away = away && context->devices[i].away;
    return away;
}

// Whether the commit differs from its parent in files that the build reads.
static int changes_inputs(bool *out, const struct status *s, struct error *err)
{
    const struct recipe *recipe = &s->context->policy.recipe;
    const char *const whole[] = {""};
    const char *const *paths = recipe->input_count ? recipe->inputs : whole;
    const size_t count = recipe->input_count ? recipe->input_count : 1;
    *out = false;
    for (size_t i = 0; i < count && !*out; i++) {
        char before[OBJECT_ID_TEXT], now[OBJECT_ID_TEXT];
        if (repository_path_id(before, s->context->repository, s->parent.id, paths[i], err) ||
            repository_path_id(now, s->context->repository, s->head.id, paths[i], err))
            return -1;
        *out = strcmp(before, now) != 0;
    }
    return 0;
}

// Whether the commit has a policy. A gate uses the policy of its base, so it must be committed
// before anything is judged.
static bool has_policy_in(const struct status *s, const struct commit *commit)
{
    char id[OBJECT_ID_TEXT];
    struct error ignored;
    return s->context->options->policy ||
           (repository_path_id(id, s->context->repository, commit->id, POLICY_PATH, &ignored) ==
                0 &&
            id[0]);
}

static void decide_on_policy(struct status *s, bool known)
{
    if (!has_policy_in(s, &s->head))
        decide(s, "commit what `plumb init` wrote: git add ci && git commit");
    else if (s->has_parent && !has_policy_in(s, &s->parent))
        decide(s, arena_printf(&s->context->arena,
                               "%s judges the commit after it, for HEAD is the first with a policy",
                               !all_away(s) ? known ? "`plumb gate`"
                                                    : "`plumb run` measures HEAD; `plumb gate`"
                               : policy_captures_alone(&s->context->policy)
                                   ? "`plumb gate` where a GPU of the policy is"
                                   : "`plumb list kernels` builds HEAD; `plumb gate --static`"));
}

static void add_work(struct status *s)
{
    struct error err;
    bool changed = true, known = false;
    if (!s->has_head || !s->has_policy)
        return;
    if (s->has_parent && changes_inputs(&changed, s, &err)) {
        SAY(s, "work", "%s", err.text);
        return;
    }
    if (s->context->store && s->has_devices &&
        run_known(&known, s->context, &(struct to_build){.commit = &s->head}, true, &err)) {
        SAY(s, "work", "%s", err.text);
        return;
    }
    SAY(s, "work", "HEAD %s; its own times are %s",
        !s->has_parent ? "has no parent here"
        : changed      ? "changes what the build reads"
                       : "changes nothing that the build reads",
        s->unread || !s->has_devices ? "not known"
        : known                      ? "measured"
                                     : "not all measured");
    decide_on_policy(s, known);
    if (s->judged &&
        strncmp(s->judged->headline, HEADLINE_UNJUDGED, strlen(HEADLINE_UNJUDGED)) == 0)
        decide(s, arena_printf(&s->context->arena,
                               "nothing of HEAD was judged: `plumb report --run %lld` says why",
                               (long long)s->judged->id));
    else if (s->judged)
        decide(s, arena_printf(&s->context->arena,
                               "HEAD was judged: `plumb report --run %lld` shows it again%s",
                               (long long)s->judged->id,
                               s->judged->conclusion == CONCLUDE_REGRESSION
                                   ? "; `plumb accept` if it may be slower"
                                   : ""));
    else if (all_away(s) && policy_captures_alone(&s->context->policy))
        decide(s,
               "`plumb gate` where a GPU of the policy is: captures are taken, and judged, there");
    else if (all_away(s))
        decide(s, s->has_parent ? "`plumb gate --static` compares HEAD's machine code with its "
                                  "parent's; times need a device of the policy"
                                : "`plumb list kernels` builds HEAD; times need a device of the "
                                  "policy");
    else if (s->has_parent && changed)
        decide(s, "`plumb gate` judges HEAD against its parent");
    else if (!known)
        decide(s, "`plumb run` measures HEAD");
    else
        decide(s, "nothing is to be done for HEAD; `plumb history` shows what there was");
}

static void print_json(const struct status *s)
{
    struct answer answer;
    answer_begin(&answer, "lines");
    for (size_t i = 0; i < s->count; i++) {
        struct json *json = answer_row(&answer);
        json_clean(json, "topic", s->lines[i].topic);
        json_clean(json, "text", s->lines[i].text);
    }
    answer_end(&answer);
}

static int check(void *arguments, struct error *err)
{
    struct options *options = &((struct arguments *)arguments)->options;
    (void)err;
    options->dry_run = true; // so that nothing is calibrated or removed
    options->quiet = true;
    options->static_use = STATIC_LIST;
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    struct status s = {.context = context};
    (void)out;
    if (context_open(context, &a->options, err))
        return -1;
    add_repository(&s);
    add_policy(&s);
    add_store(&s);
    add_devices(&s);
    add_work(&s);
    if (s.next)
        say(&s, "next", s.next);
    if (a->json) {
        print_json(&s);
        return 0;
    }
    for (size_t i = 0; i < s.count; i++) {
        const bool again = i && strcmp(s.lines[i].topic, s.lines[i - 1].topic) == 0;
        char *line = plain_line(s.lines[i].text);
        printf("%-11s %s\n", again ? "" : s.lines[i].topic, line);
        free(line);
    }
    return 0;
}

const struct command command_status = {
    .name = "status",
    .summary = "Say what is here, what was measured, and what to do next",
    .json = "lines (topic, text).",
    .shared = SHARED_STORE | SHARED_POLICY | SHARED_DEVICE,
    .options = own_options,
    .size = sizeof(struct arguments),
    .check = check,
    .run = run,
    .doc = "Shows the repository, the policy, the devices, the store with its last verdicts, "
           "and what to run next.\v"
           "It builds, measures and writes nothing. The table says what is missing; the exit "
           "code is 4 only if there is no repository.",
};
