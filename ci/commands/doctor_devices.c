// SPDX-License-Identifier: Apache-2.0
//
// Finds them through ci/history/sick.c and says what was done.
#include "ci/commands/doctor_devices.h"
#include "ci/settings/plain.h"

#include "baselines/store_device.h"
#include "ci/history/epochs_file.h"
#include "ci/history/sick.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

int doctor_controls(enum conclusion *out, struct context *context, struct error *err)
{
    struct sick_finding *found;
    size_t count, bad = 0;
    if (context_open(context, context->options, err) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) ||
        sick_find(&found, &count, context->store, context->policy.sick, &context->arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const struct sick_finding *f = &found[i];
        const struct device_entry_state state = {
            .out = true, .when_s = (int64_t)time(NULL), .who = "plumb", .why = f->why};
        print_finding(f);
        bad += f->sick || f->out;
        if (f->sick && store_set_device_state(context->store, f->uuid, &state, err))
            return -1;
    }
    if (!count)
        puts("OK: the store knows no GPU, or the policy's history.sick is 0");
    else
        printf("%s: %zu of %zu %s taken out\n", bad ? "SICK" : "OK", bad, count,
               plural(count, "GPU is", "GPUs are"));
    *out = bad ? CONCLUDE_UNDECIDED : CONCLUDE_OK;
    return 0;
}

int doctor_clear(struct context *context, const char *uuid, const char *who, const char *why,
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

void doctor_out(struct context *context, doctor_found *found, void *data)
{
    struct device_entry *devices;
    struct device_entry_state state;
    struct error ignored; // without a store nothing is out
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
