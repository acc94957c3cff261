// SPDX-License-Identifier: Apache-2.0
//
// The commands of the protocol that ask what a library holds, and what of the answers is believed.
#include "runner/bench/bench_talk.h"

#include <stdlib.h>
#include <string.h>

enum { KERNELS_MAX = 4096 };
static const double list_limit_s = 30;

struct listing {
    struct bench_kernel_list list;
    size_t capacity;
    struct arena *arena;
};

static bool is_kernel_name(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    return name && *name && strchr(first, *name) && strspn(name, rest) == strlen(name) &&
           strlen(name) < KERNEL_NAME_TEXT;
}

static int take_kernel(void *context, const struct wire_record *record, struct error *err)
{
    struct listing *listing = context;
    struct bench_kernel_list *list = &listing->list;
    if (strcmp(record->name, "kernel") != 0)
        return bench_unexpected(record, err);
    const char *name = wire_text(record, "name"), *summary = wire_text(record, "summary");
    const char *device = wire_text(record, "device");
    if (!is_kernel_name(name))
        return error_set(err, "'%.80s' is no kernel name: [a-z0-9][a-z0-9_.-]*, at most 200",
                         name ? name : "");
    if (!device || (strcmp(device, "host") != 0 && strcmp(device, "cuda") != 0))
        return error_set(err, "kernel %s is for no known device", name);
    if (list->count == KERNELS_MAX)
        return error_set(err, "more than %d kernels", KERNELS_MAX);
    struct bench_kernel kernel = {.device = strcmp(device, "host") == 0 ? "host" : "cuda"};
    if (wire_traits(&kernel.traits, record, err))
        return -1;
    char clean[200];
    bench_clean(clean, sizeof(clean), summary ? summary : "");
    kernel.name = arena_strdup(listing->arena, name);
    kernel.summary = arena_strdup(listing->arena, clean);
    list->items = xgrow(list->items, list->count, &listing->capacity, sizeof(*list->items));
    list->items[list->count++] = kernel;
    return 0;
}

int bench_list(struct bench_outcome *out, struct bench_kernel_list *list, struct bench *bench,
               const char *library, struct arena *arena, struct error *err)
{
    struct listing listing = {.arena = arena};
    struct wire_line line;
    wire_begin(&line, "list");
    wire_add_text(&line, "library", library);
    double limit_s = bench_limit(bench->plan.limits.list_s, list_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_kernel, &listing, err);
    if (result == 0 && out->state == MEASURED_CRASHED && !out->gone)
        out->state = MEASURED_UNBUILDABLE; // it said why it cannot be loaded
    if (result == 0 && out->state == MEASURED_OK) {
        struct bench_kernel_list all = listing.list;
        list->items = arena_alloc(arena, all.count * sizeof(*all.items));
        list->count = all.count;
        for (size_t i = 0; i < all.count; i++)
            list->items[i] = all.items[i];
    }
    free(listing.list.items);
    return result;
}

static int take_supported(void *context, const struct wire_record *record, struct error *err)
{
    if (strcmp(record->name, "supported") != 0)
        return bench_unexpected(record, err);
    return wire_int(context, record, "yes", 0, 1, err);
}

int bench_supports(struct bench_outcome *out, bool *yes, struct bench *bench, const char *library,
                   const char *kernel, const struct problem *problem, struct error *err)
{
    int64_t answer = 0;
    char text[PROBLEM_TEXT];
    struct wire_line line;
    problem_format(text, problem);
    wire_begin(&line, "supports");
    wire_add_text(&line, "library", library);
    wire_add_text(&line, "kernel", kernel);
    wire_add_text(&line, "problem", text);
    double limit_s = bench_limit(bench->plan.limits.list_s, list_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_supported, &answer, err);
    if (result == 0 && out->state == MEASURED_OK)
        *yes = answer == 1;
    return result;
}
