// SPDX-License-Identifier: Apache-2.0
//
// Prints launches: shapes, attributes, and which of their parameters' bytes are addresses.
#include "ci/commands/launch_print.h"
#include "model/record/record.h"
#include "reports/text/clean.h"

#include <stdio.h>
#include <stdlib.h>

char *launch_clean(const char *text)
{
    struct buffer line = {0};
    clean_line(&line, text, CLEAN_LINE);
    buffer_add(&line, "", 1);
    return line.bytes;
}

static void print_order(const struct record_launch *l)
{
    if (!l->stream && !l->after_count)
        return;
    printf("           on stream %u", l->stream);
    for (uint32_t i = 0; i < l->after_count; i++)
        printf("%s %u", i ? "," : ", when these have ended:", l->after[i]);
    putchar('\n');
}

static void print_memset(const struct record_launch *l, size_t index)
{
    printf("launch %zu   memset %llu x %u bytes of %s + %llu\n", index,
           (unsigned long long)(l->width * l->height), l->element_bytes,
           l->address_count ? record_buffer_name(l->addresses[0].buffer) : "?",
           (unsigned long long)(l->address_count ? l->addresses[0].offset : 0));
    print_order(l);
}

static void print_copy(const struct record_launch *l, size_t index)
{
    printf("launch %zu   copy %llu bytes", index, (unsigned long long)l->width);
    for (uint32_t i = 0; i < l->address_count; i++)
        printf(" %s %s + %llu", i ? "from" : "to", record_buffer_name(l->addresses[i].buffer),
               (unsigned long long)l->addresses[i].offset);
    putchar('\n');
    print_order(l);
}

static void print_map(const struct record_map *map)
{
    printf("           byte %u is a tensormap of %s + %llu: %s,", map->at,
           record_buffer_name(map->buffer), (unsigned long long)map->offset,
           record_map_type_name(map->type));
    for (uint32_t i = 0; i < map->rank; i++)
        printf("%s%llu", i ? " x " : " ", (unsigned long long)map->dims[i]);
    printf(", box");
    for (uint32_t i = 0; i < map->rank; i++)
        printf("%s%u", i ? " x " : " ", map->box[i]);
    for (uint32_t i = 1; i < map->rank; i++)
        printf("%s%llu", i == 1 ? ", rows apart " : " and ", (unsigned long long)map->strides[i]);
    printf(", swizzle %u\n", map->swizzle);
}

static void print_kernel(const struct record_launch *l, size_t index)
{
    char *function = launch_clean(l->function);
    printf("launch %zu   %s\n", index, function);
    free(function);
    printf("           grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u, %u bytes of "
           "shared memory%s%s\n",
           l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->cluster[0],
           l->cluster[1], l->cluster[2], l->shared_bytes, l->cooperative ? ", cooperative" : "",
           l->programmatic ? ", starts before the one before has ended" : "");
    printf("           %u parameters of %u bytes", l->parameter_count, l->size);
    for (uint32_t i = 0; i < l->address_count; i++)
        printf("%s byte %u is %s + %llu", i ? "," : ";", l->addresses[i].at,
               record_buffer_name(l->addresses[i].buffer),
               (unsigned long long)l->addresses[i].offset);
    putchar('\n');
    for (uint32_t i = 0; i < l->map_count; i++)
        print_map(&l->maps[i]);
    print_order(l);
}

void launch_print_all(const struct record *record)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &record->problem);
    printf("problem    %s\nworkspace  %llu bytes\n", problem,
           (unsigned long long)record->workspace_bytes);
    for (size_t i = 0; i < record->image_count; i++)
        printf("image %zu    %zu bytes of device code\n", i, record->images[i].size);
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *l = &record->launches[i];
        if (l->kind == RECORD_MEMSET)
            print_memset(l, i);
        else if (l->kind == RECORD_COPY)
            print_copy(l, i);
        else
            print_kernel(l, i);
    }
}
