// SPDX-License-Identifier: Apache-2.0
//
// Loads one side of a series and has it prepared. What cannot be timed is said in the series'
// state; only a device that fails is an error. A record is known by how its file begins.
#include "kernels/bench/arm.h"

#include "kernels/bench/captured.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct arm_record {
    struct arena arena;
    char *bytes; // of the file; images borrow from it
    struct record record;
    struct instances instances; // none before arm_prepare()
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

static const char *kernel_name(const struct series_spec *spec, enum sample_role role)
{
    return role == ROLE_BASE && spec->base_kernel ? spec->base_kernel : spec->kernel;
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
    if (strcmp(record->kernel, kernel_name(spec, role)) != 0)
        return series_refuse(state, role, MEASURED_MISSING, "a record of the kernel %s",
                             record->kernel);
    // A record is the same in every regime.
    const struct problem problem = problem_in(&record->problem, spec->problem.regime);
    if (!problem_equal(&problem, &spec->problem))
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a record of another problem");
    text_copy(arm->note, sizeof(arm->note), record->note);
    return 0;
}

const struct record *arm_record(const struct arm *arm)
{
    return &arm->record->record;
}

static int open_instances(struct arm *arm, struct error *err)
{
    struct arm_record *r = arm->record;
    const uint32_t sets = arm->captured ? captured_sets(arm->captured) : arm->buffers->sets;
    struct record_places *where = xcalloc(sets, sizeof(*where));
    // The same buffers and more: what was bound before is bound again.
    instances_close(&r->instances);
    for (uint32_t set = 0; set < sets; set++)
        where[set] =
            arm->captured ? captured_places(arm->captured, set) : buffers_places(arm->buffers, set);
    return instances_open(&r->instances, arm->ops, arm->device, &r->record, where, sets, err);
}

struct instances *arm_instances(struct arm *arm)
{
    return arm->record ? &arm->record->instances : NULL;
}

// ---- libraries in processes of their own ----

// What the process found, in the words that a library in this one gets.
static int refuse_loaded(const struct arm_loaded *loaded, enum sample_role role, const char *kind,
                         struct series_state *state)
{
    switch (loaded->finding) {
    case ARM_NO_LIBRARY:
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", loaded->text);
    case ARM_NO_KERNEL:
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    case ARM_OTHER_KIND:
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             loaded->text, kind);
    case ARM_NOT_STATED:
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "buffers() states none for this problem");
    case ARM_NOT_DONE:
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    default:
        return 0;
    }
}

static int load_process(struct arm *arm, enum sample_role role, const char *path,
                        const struct series_spec *spec, struct series_state *state,
                        struct error *err)
{
    const struct plumb_form form = check_abi_form(&spec->problem);
    const struct arm_wanted wanted = {path, kernel_name(spec, role), arm->ops->kind, &form};
    struct arm_loaded loaded;
    if (arm_process_start(&arm->process, &loaded, arm->ops->memory(arm->device), &wanted, err))
        return -1;
    arm->workspace_bytes = loaded.workspace_bytes;
    arm->kernel.kernel.traits.threads = loaded.threads;
    arm->states = form.number_count > 0;
    arm->stated = loaded.stated;
    return refuse_loaded(&loaded, role, arm->ops->kind, state);
}

static int run_process(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                       double *time_ns)
{
    const struct arm *arm = self;
    return arm_process_launch(arm->process, first, sets, launches, time_ns);
}

int (*arm_run(const struct arm *arm))(void *self, uint32_t first, uint32_t sets, uint32_t launches,
                                      double *time_ns)
{
    return arm->process ? run_process : NULL;
}

uint32_t arm_kernels(const struct arm *arm)
{
    return arm->record ? (uint32_t)arm->record->record.launch_count : 1;
}

struct arm_rest arm_rest(const struct arm *arm)
{
    return arm->process ? arm_process_rest(arm->process) : (struct arm_rest){0};
}

double arm_baton_ns(const struct arm *arm)
{
    return arm->process ? arm_process_baton_ns(arm->process) : 0;
}

// ---- any ----

static int load_library(struct arm *arm, enum sample_role role, const char *path, bool copy,
                        const struct series_spec *spec, struct series_state *state)
{
    const char *kind = arm->ops->kind;
    struct error why;
    if (module_load(&arm->module, path, copy, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    if (!module_find(&arm->kernel, &arm->module, kernel_name(spec, role)))
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    if (strcmp(arm->module.library->device, kind) != 0)
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             arm->module.library->device, kind);
    const struct plumb_form form = check_abi_form(&spec->problem);
    if (!call_supports(&arm->kernel, &form))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    arm->states = form.number_count > 0;
    if (arm->states && arm->kernel.buffers(&arm->stated, &form))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "buffers() states none for this problem");
    return 0;
}

int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const struct device_ops *ops, struct device_base *device, struct series_state *state,
             struct error *err)
{
    const char *path = role == ROLE_BASE ? spec->base : spec->head;
    arm->used = true;
    arm->path = path;
    arm->ops = ops;
    arm->device = device;
    arm->copied = copy;
    if (is_record(path))
        return load_record(arm, role, path, spec, state);
    return ops->memory && !spec->inside ? load_process(arm, role, path, spec, state, err)
                                        : load_library(arm, role, path, copy, spec, state);
}

void arm_release(struct arm *arm)
{
    struct arm_record *r = arm->record;
    if (r) {
        instances_close(&r->instances);
        arena_free(&r->arena);
        free(r->bytes);
        free(r);
    }
    arm_process_end(arm->process);
    module_release(&arm->module);
    *arm = ARM_NONE;
}

size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_form *form)
{
    if (arm->record)
        return arm->record->record.workspace_bytes;
    if (arm->process)
        return arm->workspace_bytes;
    return arm->used ? call_workspace(&arm->kernel, form) : 0;
}

// As fork(), of a process that ends with this one, and that works where bench's parent does: not on
// the processors that are this one's own.
static pid_t fork_beside(void)
{
    cpu_set_t others;
    const bool known = sched_getaffinity(getppid(), sizeof(others), &others) == 0;
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
        _exit(1);
    if (pid == 0 && known)
        sched_setaffinity(0, sizeof(others), &others);
    return pid;
}

// A library in this process reads its inputs on the host.
static int reference_inside(double *out, const struct arm *arm, const struct buffers *b,
                            uint32_t set, pid_t *apart, struct error *err)
{
    const struct parts *parts = &b->parts;
    void *copies[PARTS_MOST] = {0};
    int status = 0;
    for (int i = 0; i < parts->input_count && status == 0; i++) {
        copies[i] = xcalloc(parts->inputs[i].bytes, 1);
        status =
            arm->ops->read(arm->device, copies[i], b->inputs[i][set], parts->inputs[i].bytes, err);
    }
    if (apart)
        *apart = status ? -1 : fork_beside();
    const bool says = status == 0 && (!apart || *apart == 0);
    const int code =
        says ? arm->kernel.reference(&b->args[set].form, (const void *const *)copies, out) : 0;
    for (int i = 0; i < PARTS_MOST; i++)
        free(copies[i]);
    return code ? error_set(err, "reference() returned %d", code) : status;
}

// One in a process of its own writes to memory that it shares with this one.
static int reference_outside(double *out, const struct arm *arm, const struct buffers *b,
                             uint32_t set, struct error *err)
{
    const size_t bytes = b->parts.output.count * sizeof(*out);
    void *shared;
    if (arm->ops->alloc(&shared, arm->device, bytes, err))
        return -1;
    const int code = arm_process_reference(arm->process, &b->args[set], shared);
    const int status = code ? error_set(err, "reference() returned %d", code)
                            : arm->ops->read(arm->device, out, shared, bytes, err);
    arm->ops->free(arm->device, shared);
    return status;
}

int arm_reference(double *out, struct arm *arm, const struct buffers *buffers, uint32_t set,
                  pid_t *apart, struct error *err)
{
    if (!arm->process)
        return reference_inside(out, arm, buffers, set, apart, err);
    if (apart)
        *apart = -1;
    return apart ? 0 : reference_outside(out, arm, buffers, set, err);
}

static int ask_to_prepare(struct arm *arm, const char *pin)
{
    const struct buffers *buffers = arm->buffers;
    char note[ARM_TEXT];
    if (!arm->process)
        return call_prepare(&arm->kernel, buffers->args, arm->ops->stream(arm->device), pin,
                            arm->note, sizeof(arm->note));
    arm_process_sets(arm->process, buffers->args, buffers->sets);
    const int code = arm_process_prepare(arm->process, buffers->args, pin, note);
    text_copy(arm->note, sizeof(arm->note), note);
    return code;
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
        if (open_instances(arm, &why) == 0)
            return 0;
        if (arm->device->loss != DEVICE_OK)
            return error_set(err, "%.1000s", why.text);
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "%.500s", why.text);
    }
    if (!arm->used)
        return 0;
    const int code = ask_to_prepare(arm, pin);
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
    if (arm->process)
        arm_process_sets(arm->process, arm->buffers->args, arm->buffers->sets);
    return arm->record ? open_instances(arm, err) : 0;
}

int arm_launch(void *self, uint32_t set, void *stream)
{
    const struct arm *arm = self;
    if (arm->record)
        return instances_launch(&arm->record->instances, set);
    if (arm->process)
        return arm_process_launch(arm->process, set, arm->buffers->sets, 1, NULL);
    return call_launch(&arm->kernel, &arm->buffers->args[set], stream);
}
