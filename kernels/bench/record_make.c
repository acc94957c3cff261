// SPDX-License-Identifier: Apache-2.0
//
// Records kernels of libraries. If there is a device, it records what launch() queues. Without one,
// launch() is called with a substitute for the CUDA runtime and with buffers at made-up addresses;
// what it asks the substitute for becomes the record's launches. Nothing is mapped at those
// addresses and nothing runs. A prepare() may need a GPU, so a kernel that has one is not recorded
// in this way.
#include "kernels/bench/bench.h"

#include "kernels/bench/arm.h"
#include "kernels/device/call.h"
#include "kernels/device/check.h"
#include "kernels/device/record.h"
#include "kernels/stand_in/launches.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

// ---- libraries whose launches can be observed ----

static bool is_of_cuda(const char *name)
{
    return strncmp(name, "cu", 2) == 0 || strncmp(name, "__cuda", 6) == 0 ||
           strncmp(name, "nv", 2) == 0;
}

// The dynamic symbols of a loaded library. Those that it imports come before those that it defines.
struct names {
    const ElfW(Sym) * symbols;
    const char *text;
    size_t count;
};

static int names_of(struct names *out, void *library)
{
    struct link_map *map = NULL;
    *out = (struct names){.count = 0};
    if (dlinfo(library, RTLD_DI_LINKMAP, &map))
        return -1;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB)
            out->symbols = at;
        else if (d->d_tag == DT_STRTAB)
            out->text = at;
        else if (d->d_tag == DT_GNU_HASH || (d->d_tag == DT_HASH && !out->count))
            out->count = ((const uint32_t *)at)[1]; // the first that it defines, or their number
    }
    return out->symbols && out->text && out->count ? 0 : -1;
}

// Refuses a library that contains the runtime, and one that imports a CUDA function without a
// substitute.
static int refuse_unseen(void *library, struct error *err)
{
    struct names names;
    bool launches = false;
    const bool known = names_of(&names, library) == 0;
    for (size_t i = 1; known && i < names.count; i++) {
        const char *name = names.text + names.symbols[i].st_name;
        if (names.symbols[i].st_shndx != SHN_UNDEF)
            continue;
        launches |= strstr(name, "LaunchKernel") != NULL;
        if (is_of_cuda(name) && !dlsym(RTLD_DEFAULT, name))
            return error_set(err, "no GPU is here, and nothing stands in for %.100s", name);
    }
    return launches ? 0
                    : error_set(err, "no GPU is here, and the library has a runtime of its own");
}

// ---- launches ----

struct away {
    stand_in_begin *begin;
    stand_in_end *end;
    const struct record_request *what;
    struct arena *arena;
    struct stand_in_told told;
};

static void take_launch(struct record_launch *out, const struct stand_in_launch *from,
                        struct arena *arena)
{
    *out = (struct record_launch){.kind = from->function ? RECORD_KERNEL : RECORD_MEMSET,
                                  .function =
                                      from->function ? arena_strdup(arena, from->function) : NULL,
                                  .shared_bytes = from->shared_bytes,
                                  .carveout = from->carveout,
                                  .cooperative = from->cooperative,
                                  .programmatic = from->programmatic,
                                  .value = from->value,
                                  .element_bytes = 1,
                                  .width = from->width,
                                  .height = from->height,
                                  .pitch_bytes = from->pitch_bytes,
                                  .parameter_count = from->parameter_count,
                                  .size = from->size};
    memcpy(out->grid, from->grid, sizeof(out->grid));
    memcpy(out->block, from->block, sizeof(out->block));
    memcpy(out->cluster, from->cluster, sizeof(out->cluster));
    out->parameters = arena_alloc(arena, (from->parameter_count + 1) * sizeof(*out->parameters));
    for (uint32_t i = 0; i < from->parameter_count; i++)
        out->parameters[i] = (struct record_parameter){from->offsets[i], from->sizes[i]};
    out->bytes = arena_copy(arena, from->bytes, from->size + 1);
}

// Clears the stack below, because parameters that a library does not set have what lay on the stack
// before.
static void __attribute__((noinline)) clear_stack(void)
{
    char room[256 << 10];
    memset(room, 0, sizeof(room));
    __asm__ volatile("" ::"r"(room) : "memory");
}

static int capture(struct record_capture *out, void *context, const struct record_places *places,
                   struct error *err)
{
    struct away *away = context;
    const struct plumb_form_args args = record_args(places, &away->what->form);
    away->begin(&away->told);
    clear_stack();
    const int code = call_launch(away->what->kernel, &args, NULL);
    away->end();
    if (away->told.refused[0] || code || !away->told.count)
        return error_set(err, "no GPU is here, and launch() did what cannot be told without: %s",
                         away->told.refused[0] ? away->told.refused
                         : code                ? "it failed"
                                               : "it queued nothing that is seen");
    out->count = away->told.count;
    out->launches = arena_alloc(away->arena, out->count * sizeof(*out->launches));
    for (size_t i = 0; i < out->count; i++)
        take_launch(&out->launches[i], &away->told.launches[i], away->arena);
    return 0;
}

static int away_record(struct record *out, void *library, const struct record_request *what,
                       struct arena *arena, struct error *err)
{
    struct away *away = arena_alloc(arena, sizeof(*away));
    struct record_places places[2];
    away->what = what;
    away->arena = arena;
    *(void **)&away->begin = dlsym(RTLD_DEFAULT, "plumb_stand_in_begin");
    *(void **)&away->end = dlsym(RTLD_DEFAULT, "plumb_stand_in_end");
    if (!away->begin || !away->end)
        return error_set(err, "no GPU is here, and nothing stands in for the CUDA runtime");
    if (refuse_unseen(library, err))
        return -1;
    if (call_prepares(what->kernel, &what->form))
        return error_set(err, "no GPU is here, and prepare() may want one");
    record_made_up(places, what->bytes);
    return record_captured(out, capture, away, places, arena, err);
}

// Finds out without a device what the library's launch() would queue.
static int make_away(struct record *record, const struct series_spec *spec,
                     struct record_request *request, const struct parts *parts, struct arena *arena,
                     struct error *err)
{
    struct module module = MODULE_NONE;
    struct plumb_form_kernel kernel;
    int status = -1;
    if (module_load(&module, spec->head, false, err))
        return -1;
    if (strcmp(module.library->device, "cuda") != 0 ||
        !module_find(&kernel, &module, spec->kernel) || !call_supports(&kernel, &request->form)) {
        error_set(err, "%s: no kernel for this problem on a device that is away", spec->kernel);
    } else {
        request->kernel = &kernel;
        record->workspace_bytes = call_workspace(&kernel, &request->form);
        buffers_lengths(request->bytes, &spec->problem, parts, record->workspace_bytes);
        status = away_record(record, module.handle, request, arena, err);
    }
    module_release(&module);
    return status;
}

int record_make(struct record *out, struct open_bench *bench, const struct series_spec *spec,
                struct arena *arena, struct error *err)
{
    struct arm arm = ARM_NONE;
    struct series_state state = {.state = MEASURED_OK};
    struct record record = {.problem = spec->problem};
    struct parts parts;
    struct record_request request = {.kernel = &arm.kernel,
                                     .form = check_abi_form(&spec->problem),
                                     .pin = spec->pins[ROLE_HEAD]};
    int status = -1;
    if (bench->ops && !bench->ops->record)
        return error_set(err, "bench: record: the device %s makes no records", bench->ops->kind);
    if (spec->problem.number_count || parts_refuse(&spec->problem))
        return error_set(err, "what is no GEMM is timed as a library, not as a record");
    parts_of(&parts, &spec->problem);
    if (!text_copy(record.kernel, sizeof(record.kernel), spec->kernel))
        return error_set(err, "bench: record: '%.80s...' is no kernel's name", spec->kernel);
    if (!bench->ops) {
        status = make_away(&record, spec, &request, &parts, arena, err);
    } else if (arm_load(&arm, ROLE_HEAD, false, spec, bench->ops, bench->device, &state, err)) {
        error_set(err, "%s: %.500s", spec->kernel, state.note);
    } else if (arm.record) {
        error_set(err, "%s: this is a record already", spec->head);
    } else {
        record.workspace_bytes = arm_workspace_bytes(&arm, &request.form);
        buffers_lengths(request.bytes, &spec->problem, &parts, record.workspace_bytes);
        status = bench->ops->record(&record, bench->device, &request, arena, err);
    }
    arm_release(&arm);
    if (status == 0)
        *out = record;
    return status;
}
