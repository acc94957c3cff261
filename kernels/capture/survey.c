// SPDX-License-Identifier: Apache-2.0
//
// Counts launches. There is an entry for each function with its grid, block, cluster, shared memory
// and the numbers among its parameters; a value that points into an allocation does not count as a
// number. A launch always costs the same, and the number of entries is limited, however long a
// program runs. A function whose numbers never repeat (a random generator's offset) is only told
// apart by its grids after APART shapes.
#include "kernels/capture/capture.h"

#include "model/wire.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORD = 8, NOTE = 512, APART = 64, ENTRIES_MOST = 65536, SLOTS = 4 * ENTRIES_MOST };

struct entry {
    const struct function *function;
    uint64_t key;
    uint32_t grid[3], block[3], cluster[3], shared_bytes;
    uint64_t launches, first; // first: number of the launch among those of the function's name,
                              // from 1
    uint64_t touched;         // bytes of the allocations given to the first launch
    double time_ns;           // over the launches that were timed
    uint64_t timed;
    const char *refused;
};
static struct entry *entries;
static size_t entry_count, entry_room;
static uint32_t *slots; // by key: index of an entry, from 1; 0: none

// The functions with one name, of any module.
struct name {
    const char *text;
    uint64_t launches;
    uint32_t entries;
};
static struct name *names;
static size_t name_count, name_room;
static struct known {
    const struct function *function;
    size_t name;
} * known;
static size_t known_count, known_room;

// For each call, by CUPTI's number, the entry in which its launch was counted, so that its time can
// be added. The time comes long before another call reuses the slot.
enum { CALLS = 1 << 20 };
static struct timed_call {
    uint32_t correlation, entry; // entry: from 1; 0: none
} * calls;
static char note[NOTE];

// The first names of ranges that were pushed, and for each wish the number of ranges that it means.
enum { RANGES_SHOWN = 6, RANGE_TEXT = 80 };
static char ranges[RANGES_SHOWN][RANGE_TEXT];
static size_t range_count;
static uint64_t pushes[WISHES_MOST];
static uint64_t next_ns; // when the survey is next written while the program runs

void survey_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!note[0])
        vsnprintf(note, sizeof(note), format, args);
    va_end(args);
}

void survey_range(const char *name)
{
    size_t i = 0;
    for (size_t wish = 0; wish < wish_count; wish++)
        pushes[wish] += wishes[wish].range && fnmatch(wishes[wish].range, name, 0) == 0;
    while (i < range_count && strncmp(ranges[i], name, RANGE_TEXT - 1) != 0)
        i++;
    if (i == range_count && i < RANGES_SHOWN)
        snprintf(ranges[range_count++], RANGE_TEXT, "%s", name);
}

static uint64_t mixed(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15u;
    return key ^ key >> 29;
}

static uint64_t shape_key(const struct seen *seen)
{
    uint64_t key = (uintptr_t)seen->function;
    for (int i = 0; i < 3; i++)
        key = mixed(mixed(mixed(key, seen->grid[i]), seen->block[i]), seen->cluster[i]);
    return mixed(key, seen->shared_bytes);
}

// Computes the key of a launch, and the bytes of the allocations that it is given.
static uint64_t key_of(const struct seen *seen, uint64_t *touched)
{
    uint64_t key = shape_key(seen);
    CUdeviceptr bases[RECORD_CAPTURED_MAX];
    uint32_t held = 0;
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

static struct name *name_of(const struct function *function)
{
    static size_t last;
    if (known_count && known[last].function == function)
        return &names[known[last].name];
    for (last = 0; last < known_count; last++) {
        if (known[last].function == function)
            return &names[known[last].name];
    }
    size_t i = 0;
    while (i < name_count && strcmp(names[i].text, function->name) != 0)
        i++;
    if (i == name_count) {
        names = xgrow(names, name_count, &name_room, sizeof(*names));
        names[name_count++] = (struct name){.text = function->name};
    }
    known = xgrow(known, known_count, &known_room, sizeof(*known));
    known[known_count++] = (struct known){function, i};
    return &names[i];
}

// Finds the slot with the key's entry, or a free one for it.
static uint32_t *slot_of(uint64_t key, const struct function *function)
{
    if (!slots)
        slots = xcalloc(SLOTS, sizeof(*slots));
    size_t at = key % SLOTS;
    for (; slots[at]; at = (at + 1) % SLOTS) {
        const struct entry *e = &entries[slots[at] - 1];
        if (e->key == key && e->function == function)
            break;
    }
    return &slots[at];
}

static struct entry *new_entry(const struct seen *seen, uint64_t key)
{
    entries = xgrow(entries, entry_count, &entry_room, sizeof(*entries));
    struct entry *e = &entries[entry_count++];
    *e = (struct entry){.function = seen->function,
                        .key = key,
                        .shared_bytes = seen->shared_bytes,
                        .refused = seen->refused};
    memcpy(e->grid, seen->grid, sizeof(e->grid));
    memcpy(e->block, seen->block, sizeof(e->block));
    memcpy(e->cluster, seen->cluster, sizeof(e->cluster));
    return e;
}

// Finds the entry for a launch. A function with too many entries has one for each grid. If there
// are too many entries altogether, there is none.
static struct entry *entry_of(const struct seen *seen, struct name *name, uint64_t key,
                              uint64_t touched)
{
    uint32_t *slot = slot_of(key, seen->function);
    if (!*slot && name->entries >= APART) {
        key = shape_key(seen);
        slot = slot_of(key, seen->function);
    }
    if (!*slot && entry_count == ENTRIES_MOST) {
        survey_note("of more than %d shapes of launches those behind them were not counted",
                    ENTRIES_MOST);
        return NULL;
    }
    if (!*slot) {
        struct entry *e = new_entry(seen, key);
        e->touched = touched;
        e->first = name->launches;
        name->entries++;
        *slot = (uint32_t)entry_count;
    }
    return &entries[*slot - 1];
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Writes the survey each second, but in at most a fiftieth of the time, so that a program that is
// killed, or ends without its exit handlers, has left one.
static void write_while_it_runs(void)
{
    enum { SECOND_NS = 1000000000, SHARE = 50 };
    const uint64_t now = now_ns();
    if (now < next_ns)
        return;
    if (next_ns)
        survey_write();
    const uint64_t took = now_ns() - now;
    next_ns = now + SECOND_NS + SHARE * took;
}

uint64_t survey_count(const struct seen *seen, uint32_t correlation)
{
    uint64_t touched;
    const uint64_t key = key_of(seen, &touched);
    struct name *name = name_of(seen->function);
    name->launches++;
    struct entry *e = entry_of(seen, name, key, touched);
    if (e)
        e->launches++;
    if (e && wish_times) {
        if (!calls)
            calls = xcalloc(CALLS, sizeof(*calls));
        calls[correlation % CALLS] = (struct timed_call){correlation, (uint32_t)(e - entries) + 1};
    }
    if (wish_times)
        write_while_it_runs();
    return key;
}

void survey_time(uint32_t correlation, double time_ns)
{
    const struct timed_call *call = calls ? &calls[correlation % CALLS] : NULL;
    if (!call || !call->entry || call->correlation != correlation)
        return;
    struct entry *e = &entries[call->entry - 1];
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

static void write_lines(FILE *file, size_t wish)
{
    struct wire_line line;
    char text[RANGES_SHOWN * (RANGE_TEXT + 2)] = "";
    for (size_t i = 0, at = 0; i < range_count; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "", ranges[i]);
    wire_begin(&line, "survey");
    wire_add_int(&line, "version", 1);
    wire_add_int(&line, "process", getpid());
    wire_add_text(&line, "note", note);
    wire_add_text(&line, "taken", taken_file(wish) ? taken_file(wish) : "");
    wire_add_text(&line, "refused", taken_refused(wish));
    wire_add_text(&line, "ranges", text);
    wire_add_int(&line, "pushes", (int64_t)pushes[wish]);
    fputs(wire_end(&line), file);
    for (size_t i = 0; i < entry_count; i++)
        print_entry(file, &entries[i]);
    wire_begin(&line, "end");
    fputs(wire_end(&line), file);
}

static void write_one(size_t wish)
{
    char *path = xprintf("%s/survey.%d", wishes[wish].folder, (int)getpid());
    char *begun_as = xprintf("%s.new", path);
    FILE *file = fopen(begun_as, "w");
    if (file) {
        write_lines(file, wish);
        if (fclose(file) == 0)
            rename(begun_as, path);
    }
    free(begun_as);
    free(path);
}

void survey_write(void)
{
    for (size_t wish = 0; wish < wish_count; wish++)
        write_one(wish);
}
