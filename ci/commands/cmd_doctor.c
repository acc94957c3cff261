// SPDX-License-Identifier: Apache-2.0
//
// plumb doctor: finds what disturbs measurements on this machine, and says what that means for
// verdicts and what to do about it. It also says which GPUs are sick according to their controls.

#include "baselines/store.h"
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/history/load.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
#include "ci/settings/progress.h"
#include "runner/bench/health.h"
#include "runner/child/sandbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Calls `found` for each device that was taken out, if there is a store.
typedef void doctor_found(void *data, const char *uuid, const char *why);

// ---- sick devices ----

static void print_finding(const struct sick_finding *f)
{
    const char *word = f->out ? "OUT" : f->sick ? "SICK" : f->known ? "ok" : "unknown";
    char *line = xprintf("%-8s %s %s: %s", word, f->name, f->uuid, f->why);
    char *clean = plain_line(line);
    puts(clean);
    if (f->out || f->sick)
        printf("%-8s   nothing is measured on it; look after it, then `plumb doctor --clear %s`\n",
               "", f->uuid);
    free(clean);
    free(line);
}

// Prints a line for each GPU, and takes out one that is sick. *out is CONCLUDE_UNDECIDED if one is
// sick or was taken out.
static int doctor_controls(enum conclusion *out, struct context *context, struct error *err)
{
    struct sick_finding *found;
    size_t count, judged = 0, bad = 0;
    if (context_open(context, context->options, err) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) ||
        sick_find(&found, &count, context->store, context->policy.sick, &context->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct sick_finding *f = &found[i];
        const struct device_entry_state state = {
            .out = true, .when_s = (int64_t)time(NULL), .who = "plumb", .why = f->why};
        if (!f->gpu)
            continue;
        print_finding(f);
        judged++;
        bad += f->sick || f->out;
        if (f->sick && store_set_device_state(context->store, f->uuid, &state, err))
            return -1;
    }
    if (!judged)
        puts("OK: the store knows no GPU, or the policy's history.sick is 0");
    else
        printf("%s: %zu of %zu %s taken out\n", bad ? "SICK" : "OK", bad, judged,
               plural(judged, "GPU is", "GPUs are"));
    *out = bad ? CONCLUDE_UNDECIDED : CONCLUDE_OK;
    return 0;
}

// Brings back a device that was taken out.
static int doctor_clear(struct context *context, const char *uuid, const char *who, const char *why,
                        struct error *err)
{
    struct device_entry_state state = {0};
    bool found;
    if (context_open(context, context->options, err) || context_store(context, STORE_WRITE, err) ||
        store_device_state(&state, &found, context->store, uuid, &context->arena, err))
        return -1;
    if (!found || !state.out)
        return error_set(err, "%.80s is not taken out; `plumb doctor` names what is", uuid);
    state = (struct device_entry_state){.when_s = (int64_t)time(NULL), .why = why};
    if (epochs_who(&state.who, who, context, err) ||
        store_set_device_state(context->store, uuid, &state, err))
        return -1;
    printf("OK: %s is measured again, and judged by its controls after two more runs\n", uuid);
    return 0;
}

static void doctor_out(struct context *context, doctor_found *found, void *data)
{
    struct device_entry *devices;
    struct device_entry_state state;
    struct error ignored; // without a store no device was taken out
    size_t count;
    bool known;
    if (context_open(context, context->options, &ignored) ||
        context_store(context, STORE_READ, &ignored) ||
        store_list_devices(&devices, &count, context->store, &context->arena, &ignored))
        return;
    for (size_t i = 0; i < count; i++) {
        if (store_device_state(&state, &known, context->store, devices[i].uuid, &context->arena,
                               &ignored) == 0 &&
            known && state.out)
            found(data, devices[i].uuid, state.why);
    }
}

struct arguments {
    struct options options;
    bool json, controls;
    const char *clear, *who, *reason;
};

static const struct command_option own_options[] = {
    OPTION_FORMAT(json),
    OPTION_FLAG("controls", 0,
                "Instead: judge the store's GPUs by their controls and take out what is sick",
                controls),
    OPTION_TEXT("policy", 'p', "FILE", "Policy file [" POLICY_PATH "]", options.policy),
    OPTION_TEXT("clear", 0, "UUID", "Instead: bring back a device that was taken out", clear),
    OPTION_TEXT("reason", 'm', "TEXT", "With --clear: why", reason),
    OPTION_TEXT("who", 0, "NAME",
                "With --clear: who says so [user.name and user.email of git's configuration]", who),
    {0}};

// A note does not affect verdicts; a disturbance makes them worse or wrong.
enum weight { WEIGHT_FINE, WEIGHT_NOTE, WEIGHT_DISTURBS };

static const char *const weight_names[] = {"ok", "note", "DISTURBS"};

enum { FINDINGS_MOST = 512 };

struct health_findings {
    struct arena *arena;
    struct {
        enum weight weight;
        const char *topic, *fact, *advice;
    } items[FINDINGS_MOST];
    size_t count, disturbing;
};

// Adds a finding. `advice` says what it means and what to do; it is not shown for WEIGHT_FINE.
static void add(struct health_findings *f, enum weight weight, const char *topic, const char *fact,
                const char *advice)
{
    f->disturbing += weight == WEIGHT_DISTURBS;
    if (f->count == FINDINGS_MOST)
        return;
    f->items[f->count].weight = weight;
    f->items[f->count].topic = topic;
    f->items[f->count].fact = fact;
    f->items[f->count++].advice = weight == WEIGHT_FINE ? "" : advice;
}

#define ADD(f, weight, topic, advice, ...)                                                         \
    add((f), (weight), (topic), arena_printf((f)->arena, __VA_ARGS__), (advice))

static bool is_on(const char *mode)
{
    return strcmp(mode, "Enabled") == 0;
}

// Explains the bits of NVML's nvmlClocksEventReasons.
static void add_clocks(struct health_findings *f, const struct health_gpu *gpu)
{
    enum { POWER = 0x4, SLOWDOWN = 0x8, WARM = 0x20, HOT = 0x40, BRAKE = 0x80 };
    const int64_t held =
        gpu->reasons < 0 ? 0 : gpu->reasons & (POWER | SLOWDOWN | WARM | HOT | BRAKE);
    if (gpu->reasons < 0)
        ADD(f, WEIGHT_NOTE, "clocks", "throttling would not be seen before it shows in times",
            "why clocks are low is not known");
    else if (held & (WARM | HOT))
        ADD(f, WEIGHT_DISTURBS, "clocks",
            "times follow the heat, so verdicts take longer or stay undecided; look after cooling",
            "held down by heat, %" PRId64 " C, %" PRId64 " of %" PRId64 " MHz", gpu->temperature_c,
            gpu->clock_mhz, gpu->clock_most_mhz);
    else if (held)
        ADD(f, WEIGHT_DISTURBS, "clocks",
            "times follow the power at hand, so verdicts take longer or stay undecided; look for "
            "other work, the power limit and the supply",
            "held down by power or hardware (reasons 0x%" PRIx64 "), %" PRId64 " of %" PRId64
            " MHz",
            (uint64_t)held, gpu->clock_mhz, gpu->clock_most_mhz);
    else
        ADD(f, WEIGHT_FINE, "clocks", "",
            "%" PRId64 " of %" PRId64 " MHz now, not held down; "
            "clocks need no lock, each sample has its own",
            gpu->clock_mhz, gpu->clock_most_mhz);
}

static void add_memory(struct health_findings *f, const struct health_gpu *gpu)
{
    if (gpu->ecc_errors > 0)
        ADD(f, WEIGHT_DISTURBS, "ecc",
            "results may be wrong and kernels crash for no fault of theirs; take the GPU out and "
            "have it looked at",
            "%" PRId64 " uncorrected memory errors", gpu->ecc_errors);
    else if (strcmp(gpu->ecc, "Disabled") == 0)
        ADD(f, WEIGHT_NOTE, "ecc",
            "gates are fair, but times are not those of a GPU with it; keep it alike on all",
            "off");
    else
        ADD(f, WEIGHT_FINE, "ecc", "", "%s, %s", is_on(gpu->ecc) ? "on" : "not there",
            gpu->ecc_errors < 0 ? "errors not counted" : "no uncorrected errors");
}

static void add_gpu(struct health_findings *f, const struct health_gpu *gpu)
{
    ADD(f, WEIGHT_FINE, "gpu", "", "%s %s, driver %s", gpu->name, gpu->uuid, gpu->driver);
    add_clocks(f, gpu);
    add_memory(f, gpu);
    if (is_on(gpu->mig))
        ADD(f, WEIGHT_DISTURBS, "mig",
            "slices share the memory's bandwidth and the clock, so neighbours are in the times; "
            "measure on a whole GPU",
            "on");
    else
        ADD(f, WEIGHT_FINE, "mig", "", "off");
    if (gpu->processes)
        ADD(f, WEIGHT_DISTURBS, "neighbours",
            "they take turns with the kernels, and pairs meet them unequally; wait until they are "
            "done, or give plumb a GPU of its own",
            "%zu other %s on it, the first is %.100s", gpu->processes,
            plural(gpu->processes, "process computes", "processes compute"), gpu->process);
    else
        ADD(f, WEIGHT_FINE, "neighbours", "", "no other process computes on it");
    if (is_on(gpu->persistence))
        ADD(f, WEIGHT_FINE, "driver", "", "stays loaded (persistence mode)");
    else
        ADD(f, WEIGHT_NOTE, "driver",
            "verdicts are the same, each start takes seconds longer; `nvidia-smi -pm 1`, or "
            "nvidia-persistenced",
            "is unloaded when idle (no persistence mode)");
}

static void add_cpu(struct health_findings *f, const struct health *h)
{
    const double cpus = h->cpu_limit > 0 && h->cpu_limit < (double)h->cpus_ours
                            ? h->cpu_limit
                            : (double)h->cpus_ours;
    ADD(f, cpus < 2 ? WEIGHT_DISTURBS : WEIGHT_FINE, "cpus",
        "the stopwatch, builds and checks share one, so host times have gaps and GPU queues may "
        "run "
        "dry; give two or more",
        "%" PRId64 " online, %.1f for us", h->cpus, cpus);
    const bool few = h->cores < h->cores_measured + 2;
    if (h->cores)
        ADD(f, few ? WEIGHT_NOTE : WEIGHT_FINE, "cores",
            "a bench would share one with builds and all else, so host times scatter more; GPU "
            "times suffer little",
            "%zu of ours, others measure on %zu%s", h->cores, h->cores_measured,
            few ? ", so none is left for a bench alone" : ", one more would be a bench's alone");
    if (h->load >= 0)
        ADD(f, h->load > cpus ? WEIGHT_DISTURBS : WEIGHT_FINE, "load",
            "host times are uneven and more gates end undecided; GPU times suffer little; wait "
            "until the machine is quiet",
            "%.1f on %.1f CPUs", h->load, cpus);
    const bool slow = strcmp(h->clock_source, "hpet") == 0 ||
                      strcmp(h->clock_source, "acpi_pm") == 0 ||
                      strcmp(h->clock_source, "jiffies") == 0;
    ADD(f, slow ? WEIGHT_DISTURBS : WEIGHT_FINE, "clock source",
        "reading it takes a microsecond or more, which is in the times of small host kernels; boot "
        "with clocksource=tsc",
        "%s", h->clock_source[0] ? h->clock_source : "not told");
    if (h->governor[0])
        ADD(f, strcmp(h->governor, "powersave") == 0 ? WEIGHT_NOTE : WEIGHT_FINE, "governor",
            "host kernels begin slowly and speed up; pairs are equally slow; `performance` needs "
            "fewer of them",
            "%s", h->governor);
}

static void add_host(struct health_findings *f, const struct health *h)
{
    add_cpu(f, h);
    if (h->huge_pages[0])
        ADD(f, strcmp(h->huge_pages, "never") == 0 ? WEIGHT_NOTE : WEIGHT_FINE, "huge pages",
            "host kernels miss the TLB more, and where pages lie is in their times; madvise is "
            "enough",
            "%s", h->huge_pages);
    if (h->memory_limit > 0)
        ADD(f, h->memory_limit < INT64_C(4) << 30 ? WEIGHT_NOTE : WEIGHT_FINE, "memory",
            "builds and large problems may be killed; they are then \"crashed\", not slower",
            "the control group grants %.1f GB", (double)h->memory_limit / 1e9);
    if (h->disk_free >= 0)
        ADD(f, h->disk_free < INT64_C(1) << 30 ? WEIGHT_DISTURBS : WEIGHT_FINE, "disk",
            "a run that cannot be stored is lost; make room, or `plumb store prune`",
            "%.1f GB free", (double)h->disk_free / 1e9);
}

// Says whether a control group can freeze the libraries of the host device.
static void add_freezer(struct health_findings *f, const struct sandbox *sandbox)
{
    if (sandbox->freezes)
        ADD(f, WEIGHT_FINE, "freezer", "",
            "a control group's holds host libraries between their turns");
    else
        ADD(f, WEIGHT_FINE, "freezer", "",
            "none: between their turns host libraries are stopped by a signal, and looked at (%s)",
            sandbox->active ? sandbox->no_freezer : "it needs the sandbox");
}

static void add_sandbox(struct health_findings *f)
{
    struct sandbox sandbox;
    struct error ignored;
    if (sandbox_probe(&sandbox, SANDBOX_AUTO, &ignored))
        return;
    if (sandbox.active && !sandbox.scope && !sandbox.grouped)
        ADD(f, WEIGHT_FINE, "sandbox", "",
            "works; no control group holds what runs in it, so memory and tasks are looked at four "
            "times a second");
    else if (sandbox.active)
        ADD(f, WEIGHT_FINE, "sandbox", "", "works");
    else
        ADD(f, WEIGHT_NOTE, "sandbox",
            "times are the same, but a commit's build and kernels can do what you can; a gate of "
            "a pull request ends without one, unless told that the code is yours",
            "%s", sandbox.reason);
    add_freezer(f, &sandbox);
}

// Prints the findings. Names of GPUs and processes come from outside.
static void print_text(const struct health_findings *f)
{
    for (size_t i = 0; i < f->count; i++) {
        char *fact = plain_line(f->items[i].fact);
        printf("%-9s %-12s %s\n", weight_names[f->items[i].weight], f->items[i].topic, fact);
        if (f->items[i].advice[0])
            printf("%-9s %-12s   %s\n", "", "", f->items[i].advice);
        free(fact);
    }
}

static void print_json(const struct health_findings *f)
{
    struct answer answer;
    answer_begin(&answer, "findings");
    for (size_t i = 0; i < f->count; i++) {
        struct json *json = answer_row(&answer);
        json_clean(json, "weight", weight_names[f->items[i].weight]);
        json_clean(json, "topic", f->items[i].topic);
        json_clean(json, "fact", f->items[i].fact);
        json_clean(json, "advice", f->items[i].advice);
    }
    json_int(answer_whole(&answer), "disturbing", (int64_t)f->disturbing);
    answer_end(&answer);
}

static void add_out(void *findings, const char *uuid, const char *why)
{
    struct health_findings *f = findings;
    ADD(f, WEIGHT_DISTURBS, "taken out",
        "nothing is measured on it; look after it, then `plumb doctor --clear UUID`", "%s: %s",
        uuid, why);
}

// Checks the submodules that the policy's builds need, at the commit that is checked out (if there
// is one).
static void add_submodules(struct health_findings *f, struct context *context)
{
    struct commit head;
    struct error err;
    size_t count = 0;
    if (!context->repository ||
        repository_commit(&head, context->repository, "HEAD", &context->arena, &err))
        return;
    const bool policy = context_policy(context, "", &err) == 0;
    // Empty without a policy, which means the whole tree.
    const struct recipe *recipe = &context->policy.recipe;
    const struct export_terms terms = {.without = recipe->without,
                                       .without_count = recipe->without_count};
    const int end = repository_submodules(&count, context->repository, head.id, recipe->inputs,
                                          recipe->input_count, &terms, &err);
    if (end == EXPORT_LACKS)
        ADD(f, policy ? WEIGHT_DISTURBS : WEIGHT_NOTE, "submodules",
            "a commit that needs it is not built", "%s", err.text);
    else if (end == 0 && count)
        ADD(f, WEIGHT_FINE, "submodules", "", "%zu, each with the commit that HEAD pins", count);
}

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->clear && (a->controls || !a->reason || !a->reason[0]))
        return error_set(err, a->controls ? "--controls and --clear exclude each other"
                                          : "--clear needs --reason TEXT: why is it well again?");
    return 0;
}

static int look(enum conclusion *out, struct context *context, const struct arguments *a)
{
    struct arena arena = {0}; // its own, because the context is opened in this function and that
                              // resets the context's arena
    struct health_findings *f = arena_alloc(&arena, sizeof(*f));
    struct health health;
    f->arena = &arena;
    health_read(&health, "", ".", &arena);
    if (health.no_gpu && health.gpu_device)
        ADD(f, WEIGHT_NOTE, "gpu",
            "there is one, but whether it is throttled, shared or failing is not known; let the "
            "container have the driver's tools (NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
            "not looked at: %s", health.no_gpu);
    else if (health.no_gpu)
        ADD(f, WEIGHT_NOTE, "gpu",
            "only the device `host` is timed; where nvcc is, CUDA kernels are judged by their code",
            "none: %s", health.no_gpu);
    for (size_t i = 0; i < health.gpu_count; i++)
        add_gpu(f, &health.gpus[i]);
    add_host(f, &health);
    add_sandbox(f);
    doctor_out(context, add_out, f);
    add_submodules(f, context);
    (a->json ? print_json : print_text)(f);
    *out = f->disturbing ? CONCLUDE_UNDECIDED : CONCLUDE_OK;
    if (!a->json && f->disturbing)
        printf("DISTURBED: %zu %s measurements here\n", f->disturbing,
               plural(f->disturbing, "thing disturbs", "things disturb"));
    else if (!a->json)
        printf("OK: nothing that was looked at disturbs measurements here\n");
    arena_free(&arena);
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    if (a->controls)
        return doctor_controls(out, context, err);
    if (a->clear)
        return doctor_clear(context, a->clear, a->who, a->reason, err);
    return look(out, context, a);
}

static bool clears(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->clear != NULL;
}

static bool looks(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->controls && !a->clear;
}

static bool reads_policy(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->clear;
}

static const struct option_use uses[] = {
    {"reason who", clears, "--clear UUID"},
    {"format", looks, "what is found; --controls and --clear answer in words"},
    {"policy", reads_policy, "looking and --controls; --clear needs none"},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "Find what on this machine disturbs measurements, and what to do",
    .json = "findings (weight, topic, fact, advice); disturbing, how many of them do.",
    .shared = SHARED_STORE,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Looks at GPUs (driver, clocks, throttling, ECC, MIG, other processes), CPUs and "
           "cores, load, clock source, huge pages, control group, disk, sandbox and the "
           "submodules of HEAD. It says what each finding means for verdicts, and names GPUs "
           "that were taken out of service.\v"
           "It changes nothing, except with --controls: then it judges the store's GPUs by "
           "their newest runs. It takes a GPU out of service if the GPU's controls are slower "
           "than the policy's history.sick allows, in two runs in a row under one driver, or "
           "if they no longer work. plumb measures nothing on such a GPU until --clear. The "
           "exit code is 0 if nothing disturbs, 2 if something does, 4 if it could not look.",
};
