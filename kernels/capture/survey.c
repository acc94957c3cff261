// SPDX-License-Identifier: Apache-2.0
//
// Counts launches: one entry for each function with its grid, block, cluster, shared memory and
// numbers among its parameters. What points into an allocation is no such number.
#include "kernels/capture/capture.h"

#include "model/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORD = 8, NOTE = 512 };

struct entry {
    const struct function *function;
    uint64_t key;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    uint64_t launches, first; // first: which launch of the function's name, from 1
    uint64_t touched;         // bytes of the allocations that the first launch was given
    double time_ns;           // of those that were timed
    uint64_t timed;
    const char *refused;
};
static struct entry *entries;
static size_t entry_count, entry_room;
static uint32_t *entry_of; // by correlation, from 1; 0: none
static size_t correlation_room;
static char note[NOTE];

void survey_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!note[0])
        vsnprintf(note, sizeof(note), format, args);
    va_end(args);
}

static uint64_t mixed(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

// The key of a launch, and the bytes of the allocations that it is given.
static uint64_t key_of(const struct seen *seen, uint64_t *touched)
{
    uint64_t key = (uintptr_t)seen->function;
    CUdeviceptr bases[RECORD_CAPTURED_MAX];
    uint32_t held = 0;
    for (int i = 0; i < 3; i++)
        key = mixed(mixed(mixed(key, seen->grid[i]), seen->block[i]), seen->cluster[i]);
    key = mixed(key, seen->shared_bytes);
    *touched = 0;
    for (uint32_t p = 0; p < seen->function->parameter_count; p++) {
        const struct record_parameter *parameter = &seen->function->parameters[p];
        for (uint32_t at = 0; at < parameter->bytes; at += WORD) {
            uint64_t word = 0;
            CUdeviceptr base;
            size_t bytes;
            const uint32_t left = parameter->bytes - at;
            memcpy(&word, seen->bytes + parameter->offset + at, left < WORD ? left : WORD);
            if (left < WORD || !allocation_of(word, &base, &bytes)) {
                key = mixed(key, word);
                continue;
            }
            uint32_t i = 0;
            while (i < held && bases[i] != base)
                i++;
            if (i == held && held < RECORD_CAPTURED_MAX) {
                bases[held++] = base;
                *touched += bytes;
            }
        }
    }
    return key;
}

static void remember(uint32_t correlation, size_t entry)
{
    if (!wish.times)
        return;
    while (correlation >= correlation_room) {
        const size_t room = correlation_room ? 2 * correlation_room : 65536;
        entry_of = xrealloc(entry_of, room, sizeof(*entry_of));
        memset(entry_of + correlation_room, 0, (room - correlation_room) * sizeof(*entry_of));
        correlation_room = room;
    }
    entry_of[correlation] = (uint32_t)entry + 1;
}

uint64_t survey_count(const struct seen *seen, uint32_t correlation)
{
    uint64_t touched, first = 1;
    const uint64_t key = key_of(seen, &touched);
    for (size_t i = 0; i < entry_count; i++) {
        struct entry *e = &entries[i];
        if (strcmp(e->function->name, seen->function->name) == 0)
            first += e->launches;
        if (e->key != key || e->function != seen->function)
            continue;
        e->launches++;
        remember(correlation, i);
        return key;
    }
    entries = xgrow(entries, entry_count, &entry_room, sizeof(*entries));
    struct entry e = {.function = seen->function,
                      .key = key,
                      .shared_bytes = seen->shared_bytes,
                      .launches = 1,
                      .first = first,
                      .touched = touched,
                      .refused = seen->refused};
    memcpy(e.grid, seen->grid, sizeof(e.grid));
    memcpy(e.block, seen->block, sizeof(e.block));
    memcpy(e.cluster, seen->cluster, sizeof(e.cluster));
    remember(correlation, entry_count);
    entries[entry_count++] = e;
    return key;
}

void survey_time(uint32_t correlation, double time_ns)
{
    if (correlation >= correlation_room || !entry_of[correlation])
        return;
    struct entry *e = &entries[entry_of[correlation] - 1];
    e->time_ns += time_ns;
    e->timed++;
}

static void add_three(struct wire_line *line, const char *what, const uint32_t three[3])
{
    char text[48];
    snprintf(text, sizeof(text), "%u,%u,%u", three[0], three[1], three[2]);
    wire_add_text(line, what, text);
}

static void print_entry(FILE *file, const struct entry *e)
{
    struct wire_line line;
    wire_begin(&line, "kernel");
    wire_add_text(&line, "name", e->function->name);
    wire_add_int(&line, "launches", (int64_t)e->launches);
    wire_add_int(&line, "first", (int64_t)e->first);
    add_three(&line, "grid", e->grid);
    add_three(&line, "block", e->block);
    add_three(&line, "cluster", e->cluster);
    wire_add_int(&line, "shared", e->shared_bytes);
    wire_add_int(&line, "static", e->function->shared_bytes);
    wire_add_int(&line, "registers", e->function->registers);
    wire_add_int(&line, "local", e->function->local_bytes);
    wire_add_int(&line, "touched", (int64_t)e->touched);
    wire_add_double(&line, "time_ns", e->timed ? e->time_ns / (double)e->timed : 0);
    wire_add_text(&line, "refused", e->refused ? e->refused : "");
    fputs(wire_end(&line), file);
}

void survey_write(void)
{
    char *path = xprintf("%s/survey.%d", wish.folder, (int)getpid());
    FILE *file = fopen(path, "w");
    struct wire_line line;
    free(path);
    if (!file)
        return;
    wire_begin(&line, "survey");
    wire_add_int(&line, "version", 1);
    wire_add_int(&line, "process", getpid());
    wire_add_text(&line, "note", note);
    wire_add_text(&line, "taken", taken_file() ? taken_file() : "");
    wire_add_text(&line, "refused", taken_refused());
    fputs(wire_end(&line), file);
    for (size_t i = 0; i < entry_count; i++)
        print_entry(file, &entries[i]);
    wire_begin(&line, "end");
    fputs(wire_end(&line), file);
    fclose(file);
}
