// SPDX-License-Identifier: Apache-2.0
//
// Shares out tasks by counting, and writes the note by which joining.c knows a part again.
#include "ci/gate/part.h"
#include "model/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_MOST = 100000 };

static bool in_range(const struct part *part)
{
    return part->count >= 1 && part->count <= PARTS_MOST && part->number >= 1 &&
           part->number <= part->count;
}

int part_parse(struct part *out, const char *text)
{
    const char *slash = strchr(text, '/');
    char number[16];
    int64_t first = 0, second = 0;
    if (!slash || (size_t)(slash - text) >= sizeof(number))
        return -1;
    snprintf(number, sizeof(number), "%.*s", (int)(slash - text), text);
    if (parse_int64(&first, number) || parse_int64(&second, slash + 1) || first < 1 ||
        first > second || second > PARTS_MOST)
        return -1;
    *out = (struct part){(uint32_t)first, (uint32_t)second};
    return 0;
}

bool part_has(const struct part *part, size_t at)
{
    return !part->count || (at + at / part->count) % part->count == part->number - 1;
}

void part_stretch(size_t *first, size_t *end, const struct part *part, size_t count)
{
    const size_t parts = part->count ? part->count : 1, number = part->count ? part->number : 1;
    *first = count * (number - 1) / parts;
    *end = count * number / parts;
}

static uint64_t stamp_of(const struct task_list *tasks)
{
    uint64_t stamp = HASH_START;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &task->result->problem);
        stamp = hash_text(stamp, task->device->policy->name);
        stamp = hash_text(stamp, task->result->kernel);
        stamp = hash_text(stamp, problem);
        stamp = hash_text(stamp, task->result->base_code);
        stamp = hash_text(stamp, task->result->head_code);
    }
    return stamp;
}

void part_take(struct task_list *tasks, struct run *run, const struct part *part)
{
    size_t kept = 0, compared = 0, others = 0;
    if (!part->count)
        return;
    const struct part_note note = {*part, stamp_of(tasks)};
    for (size_t i = 0; i < tasks->count; i++) {
        const struct result *r = tasks->items[i].result;
        const bool pairs =
            r->base_code[0] && r->head_code[0] && strcmp(r->base_code, r->head_code) != 0;
        if (!part_has(part, pairs ? compared++ : others++))
            continue;
        run->results[kept] = *r;
        tasks->items[kept] = tasks->items[i];
        tasks->items[kept].result = &run->results[kept];
        kept++;
    }
    tasks->count = run->count = kept;
    part_note_write(run, &note);
}

void part_note_write(struct run *run, const struct part_note *note)
{
    run->policy = arena_printf(&run->arena, "%s\n" RUN_PART_NOTE "%u of %u, plan %016" PRIx64 "\n",
                               run->policy, note->part.number, note->part.count, note->stamp);
}

bool part_note_read(struct part_note *out, const struct run *run)
{
    char text[80];
    struct part_note note = {0};
    int end = 0;
    if (!run_part(text, sizeof(text), run) ||
        sscanf(text, "%" SCNu32 " of %" SCNu32 ", plan %16" SCNx64 "%n", &note.part.number,
               &note.part.count, &note.stamp, &end) != 3 ||
        text[end] || !in_range(&note.part))
        return false;
    *out = note;
    return true;
}

const char *part_policy(const struct run *run, struct arena *arena)
{
    const char *end = run->policy;
    for (const char *at = end; (at = strstr(at, "\n" RUN_PART_NOTE)); at++)
        end = at;
    return arena_strndup(arena, run->policy, (size_t)(end - run->policy));
}
