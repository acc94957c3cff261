// SPDX-License-Identifier: Apache-2.0
//
// Loads one side of a series and has it prepared. What cannot be timed is said in the series'
// state; only a device that fails is an error. A record is known by how its file begins.
#include "kernels/bench/arm.h"

#include "kernels/device/check.h"
#include "kernels/device/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arm_record {
    struct arena arena;
    char *bytes; // of the file; images borrow from it
    struct record record;
    struct replay *replay; // NULL before arm_prepare()
};

int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->note, sizeof(state->note), format, list);
    va_end(list);
    state->role = role;
    state->state = why;
    return 1;
}

// ---- records ----

static const char first_word[] = "record\t";
static const long record_max = 1L << 30;

static bool is_record(const char *path)
{
    char word[sizeof(first_word)] = "";
    FILE *file = fopen(path, "re");
    const bool is = file && fread(word, 1, sizeof(word) - 1, file) == sizeof(word) - 1 &&
                    strcmp(word, first_word) == 0;
    if (file)
        fclose(file);
    return is;
}

static int read_record(struct arm_record *out, const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    long size = -1;
    int status = -1;
    if (!file || fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        error_set(err, "%s: %s", path, strerror(errno));
    } else if (size > record_max) {
        error_set(err, "%s: a record of more than 1 GiB", path);
    } else {
        struct error why;
        out->bytes = xcalloc((size_t)size + 1, 1);
        if (fread(out->bytes, 1, (size_t)size, file) != (size_t)size)
            error_set(err, "%s: it became shorter while it was read", path);
        else if (record_parse(&out->record, out->bytes, (size_t)size, &out->arena, &why))
            error_set(err, "%s: %.900s", path, why.text);
        else
            status = 0;
    }
    if (file)
        fclose(file);
    return status;
}

static int load_record(struct arm *arm, enum sample_role role, const char *path,
                       const struct series_spec *spec, struct series_state *state)
{
    struct error why;
    if (!arm->ops->replay_open)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "a record, and the device %s replays none", arm->ops->kind);
    arm->record = xcalloc(1, sizeof(*arm->record));
    if (read_record(arm->record, path, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    const struct record *record = &arm->record->record;
    if (strcmp(record->kernel, spec->kernel) != 0)
        return series_refuse(state, role, MEASURED_MISSING, "a record of the kernel %s",
                             record->kernel);
    if (!problem_equal(&record->problem, &spec->problem))
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a record of another problem");
    text_copy(arm->note, sizeof(arm->note), record->note);
    return 0;
}

static int open_replay(struct arm *arm, struct error *err)
{
    struct arm_record *r = arm->record;
    const uint32_t sets = arm->buffers->sets;
    struct record_places *places = xcalloc(sets, sizeof(*places));
    // The same buffers and more: what was bound before is bound again.
    arm->ops->replay_free(r->replay);
    r->replay = NULL;
    for (uint32_t set = 0; set < sets; set++)
        places[set] = buffers_places(arm->buffers, set);
    int status = arm->ops->replay_open(&r->replay, arm->device, &r->record, places, sets, err);
    free(places);
    return status;
}

// ---- either ----

static int load_library(struct arm *arm, enum sample_role role, const char *path, bool copy,
                        const struct series_spec *spec, struct series_state *state)
{
    const char *kind = arm->ops->kind;
    struct error why;
    if (module_load(&arm->module, path, copy, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    if (!module_find(&arm->kernel, &arm->module, spec->kernel))
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    if (strcmp(arm->module.library->device, kind) != 0)
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             arm->module.library->device, kind);
    const struct plumb_problem problem = check_abi_problem(&spec->problem);
    if (!arm->kernel.supports(&problem))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    return 0;
}

int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const struct device_ops *ops, struct device_base *device, struct series_state *state)
{
    const char *path = role == ROLE_BASE ? spec->base : spec->head;
    arm->used = true;
    arm->ops = ops;
    arm->device = device;
    return is_record(path) ? load_record(arm, role, path, spec, state)
                           : load_library(arm, role, path, copy, spec, state);
}

void arm_release(struct arm *arm)
{
    struct arm_record *r = arm->record;
    if (r) {
        if (r->replay)
            arm->ops->replay_free(r->replay);
        arena_free(&r->arena);
        free(r->bytes);
        free(r);
    }
    module_release(&arm->module);
    *arm = ARM_NONE;
}

size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_problem *problem)
{
    if (arm->record)
        return arm->record->record.workspace_bytes;
    return arm->used && arm->kernel.workspace ? arm->kernel.workspace(problem) : 0;
}

int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct buffers *buffers, struct series_state *state, struct error *err)
{
    arm->buffers = buffers;
    if (arm->record) {
        struct error why;
        if (pin && strcmp(pin, arm->note) != 0)
            return series_refuse(state, role, MEASURED_UNSUPPORTED, "the record is not of '%.400s'",
                                 pin);
        if (open_replay(arm, &why) == 0)
            return 0;
        if (arm->device->loss != DEVICE_OK)
            return error_set(err, "%.1000s", why.text);
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "%.500s", why.text);
    }
    if (!arm->used || !arm->kernel.prepare)
        return 0;
    int code = arm->kernel.prepare(buffers->args, arm->ops->stream(arm->device), pin, arm->note,
                                   sizeof(arm->note));
    arm->note[ARM_NOTE - 1] = '\0';
    if (arm->ops->sync(arm->device, err))
        return -1;
    if (code && pin)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "prepare() cannot reproduce '%.400s'", pin);
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "prepare() returned %d", code);
    return 0;
}

int arm_grow(struct arm *arm, struct error *err)
{
    return arm->record ? open_replay(arm, err) : 0;
}

int arm_launch(void *self, uint32_t set, void *stream)
{
    const struct arm *arm = self;
    if (arm->record)
        return arm->ops->replay_launch(arm->record->replay, set);
    return arm->kernel.launch(&arm->buffers->args[set], stream);
}
