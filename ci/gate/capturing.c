// SPDX-License-Identifier: Apache-2.0
//
// Writes the shell text that takes captures, and reads what they left.
#include "ci/gate/capturing.h"

#include "runner/child/files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "captures"; // so that a build of captures alone leaves a file
static const uint64_t usual_limit = (uint64_t)2 << 30;

static const struct context_device *gpu_of(const struct context *context)
{
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (!device->away && strcmp(device->policy->kind, "cuda") == 0)
            return device;
    }
    return NULL;
}

bool capturing_possible(const struct context *context)
{
    return context->policy.capture_count && gpu_of(context);
}

bool capturing_is_mark(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, mark) == 0;
}

// 'text', with what a shell would read as the quote's end taken care of.
static void put_quoted(struct buffer *out, const char *text)
{
    buffer_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            buffer_puts(out, "'\\''");
        else
            buffer_add(out, text, 1);
    }
    buffer_puts(out, "'");
}

static void put_setting(struct buffer *out, const char *name, const char *value)
{
    buffer_printf(out, " %s=", name);
    put_quoted(out, value);
}

// What the series is besides stands in a comment, for the text is part of the build's key.
static void put_capture(struct buffer *out, const struct policy_capture *capture,
                        const char *library, const struct context_device *device)
{
    const bool range = capture->range != NULL;
    buffer_printf(out, "mkdir \"$PLUMB_OUT/capture-%s\"\n", capture->name);
    buffer_printf(out, "env PLUMB_CAPTURE=\"$PLUMB_OUT/capture-%s\"", capture->name);
    put_setting(out, range ? "PLUMB_CAPTURE_RANGE" : "PLUMB_CAPTURE_KERNEL",
                range ? capture->range : capture->kernel);
    buffer_printf(out, " PLUMB_CAPTURE_LAUNCH=%u PLUMB_CAPTURE_LIMIT=%llu", capture->launch,
                  (unsigned long long)(capture->limit_bytes ? capture->limit_bytes : usual_limit));
    put_setting(out, "CUDA_INJECTION64_PATH", library);
    put_setting(out, "NVTX_INJECTION64_PATH", library);
    if (device->index)
        buffer_printf(out, " CUDA_VISIBLE_DEVICES=%d", device->index);
    buffer_puts(out, " PYTHONDONTWRITEBYTECODE=1 sh -c ");
    put_quoted(out, capture->command);
    buffer_printf(out, " # on %s\n", device->unit.name ? device->unit.name : "");
}

static void add_text(const char *const **texts, size_t *count, const char *text,
                     struct arena *arena)
{
    const char **grown = arena_alloc(arena, (*count + 1) * sizeof(*grown));
    if (*count)
        memcpy(grown, *texts, *count * sizeof(*grown));
    grown[(*count)++] = text;
    *texts = grown;
}

void capturing_recipe(struct recipe *recipe, const struct context *context, struct arena *arena)
{
    const struct policy *policy = &context->policy;
    struct buffer text = {0};
    char library[PATH_MAX];
    if (!policy->capture_count)
        return;
    buffer_puts(&text, "set -e\n");
    if (recipe->command)
        buffer_printf(&text, "(%s\n)\n", recipe->command);
    if (capturing_possible(context)) {
        files_own(library, "plumb_capture.so");
        for (size_t i = 0; i < policy->capture_count; i++)
            put_capture(&text, &policy->captures[i], library, gpu_of(context));
        recipe->gpu = true;
        add_text(&recipe->folders, &recipe->folder_count, arena_strdup(arena, library), arena);
    }
    buffer_printf(&text, "echo %zu >\"$PLUMB_OUT/%s\"\n", policy->capture_count, mark);
    recipe->command = arena_strndup(arena, text.bytes, text.length);
    recipe->outputs = recipe->outputs ? arena_printf(arena, "%s %s", recipe->outputs, mark) : mark;
    buffer_free(&text);
}

int capturing_make(struct capture_made **out, size_t *count, const struct context *context,
                   const struct policy_capture *capture, const char *folder, struct arena *arena,
                   struct error *err)
{
    const char *from = arena_printf(arena, "%s/capture-%s", folder, capture->name);
    const struct problem *problem = policy_set_find(&context->policy, capture->name)->problems;
    const struct capture_series series = {.name = capture->name,
                                          .problem = capture->problem ? problem : NULL,
                                          .tolerance = capture->tolerance,
                                          .shared =
                                              arena_printf(arena, "%s/contents", context->state)};
    return capture_make(out, count, from, &series, arena, err);
}
