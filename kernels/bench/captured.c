// SPDX-License-Identifier: Apache-2.0
//
// Fills, restores and compares the memory of a captured series. The contents are files beside the
// record. They are written to the device once; all copies and comparisons after that are the
// device's, but for what differs.
#include "kernels/bench/captured.h"

#include "model/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Bytes that ranges are rounded to; and how far contents lie behind each other, as the operands of
// a library do (buffers.c): all of them at the begin of a page of the device each, kernels of
// tensor cores were 3 % faster, and a barrier more 1 % dearer.
enum { EVERY = 4096, APART = 4096, ALIGN = 512 };
static const size_t chunk_bytes = (size_t)64 << 20;

struct content {
    uint64_t bytes;
    const unsigned char *before; // the file, mapped
    const unsigned char *after;  // what the program left there, mapped; NULL: the same
    uint64_t from, to;           // what launches change lies within; nothing: 0, 0
    // In the device's memory. right: what the base computes there; NULL: it changes nothing. own:
    // what the head does where that is something else within the tolerance; NULL: the same.
    void *right, *own;
};

struct captured {
    const struct device_ops *ops;
    struct device_base *device;
    struct arm *arms; // two
    enum dtype type;  // of the results
    double tolerance, error;
    double largest; // of the base's results; below 0: nobody has asked
    bool repeats;
    bool differed; // what captured_hold() looked at last was not what it expected, bit by bit
    bool wanders;  // from one launch to the next results differ, within the tolerance
    struct content contents[RECORD_CAPTURED_MAX];
    size_t count;
    void **at; // set * RECORD_CAPTURED_MAX + content
    void **blocks;
    void *pristine; // laid out as a set: what launches find in each
    uint32_t sets, most;
};

bool captured_is(const struct arm *arm)
{
    return arm->used && arm->record && arm_record(arm)->content_count > 0;
}

uint32_t captured_sets(const struct captured *c)
{
    return c->sets;
}

bool captured_repeats(const struct captured *c)
{
    return c->repeats;
}

void captured_errors(double *seen, double *allowed, const struct captured *c)
{
    *seen = c->error;
    *allowed = c->tolerance;
}

static uint32_t sets_of(const void *of)
{
    return captured_sets(of);
}

static struct record_places places_of(const void *of, uint32_t set)
{
    const struct captured *c = of;
    struct record_places places = {0};
    for (size_t i = 0; i < c->count; i++) {
        places.address[RECORD_CAPTURED + i] =
            (uint64_t)(uintptr_t)c->at[set * RECORD_CAPTURED_MAX + i];
        places.bytes[RECORD_CAPTURED + i] = c->contents[i].bytes;
    }
    return places;
}

// ---- contents ----

static char *beside(const char *record, const char *name)
{
    const char *slash = strrchr(record, '/');
    return xprintf("%.*s%s", slash ? (int)(slash + 1 - record) : 0, record, name);
}

// A file beside the record, of exactly so many bytes.
static int map_file(const unsigned char **out, const char *record, const char *name, uint64_t bytes,
                    struct error *err)
{
    char *path = beside(record, name);
    struct stat status;
    void *at = MAP_FAILED;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int result = -1;
    if (file < 0 || fstat(file, &status))
        error_set(err, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size != bytes)
        error_set(err, "%s: not the %llu bytes that the capture says", path,
                  (unsigned long long)bytes);
    else if ((at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0)) == MAP_FAILED)
        error_set(err, "%s: %s", path, strerror(errno));
    else
        result = 0;
    if (file >= 0)
        close(file);
    free(path);
    *out = result ? NULL : at;
    return result;
}

static int add_content(struct captured *c, const struct arm *arm, size_t index, struct error *err)
{
    const struct record_content *from = &arm_record(arm)->contents[index];
    struct content *to = &c->contents[c->count];
    *to = (struct content){.bytes = from->bytes};
    if (map_file(&to->before, arm->path, from->before, from->bytes, err))
        return -1;
    c->count++; // from now on it is freed
    return from->after ? map_file(&to->after, arm->path, from->after, from->bytes, err) : 0;
}

static bool is_given(const struct record *record, enum record_buffer buffer, uint64_t offset)
{
    for (size_t l = 0; l < record->launch_count; l++) {
        const struct record_launch *launch = &record->launches[l];
        for (uint32_t i = 0; i < launch->address_count; i++) {
            if (launch->addresses[i].buffer == buffer && launch->addresses[i].offset == offset)
                return true;
        }
        for (uint32_t i = 0; i < launch->map_count; i++) {
            if (launch->maps[i].buffer == buffer && launch->maps[i].offset == offset)
                return true;
        }
    }
    return false;
}

// Every place of the first `shared` contents that one's launches are given, the other's are too.
static bool same_places(const struct record *a, const struct record *b, size_t shared)
{
    for (size_t l = 0; l < a->launch_count; l++) {
        const struct record_launch *launch = &a->launches[l];
        for (uint32_t i = 0; i < launch->address_count; i++) {
            const struct record_address *address = &launch->addresses[i];
            if (address->buffer < RECORD_CAPTURED + shared &&
                !is_given(b, address->buffer, address->offset))
                return false;
        }
        for (uint32_t i = 0; i < launch->map_count; i++) {
            const struct record_map *map = &launch->maps[i];
            if (map->buffer < RECORD_CAPTURED + shared && !is_given(b, map->buffer, map->offset))
                return false;
        }
    }
    return true;
}

// Captures share the file of a content that they have in common.
static bool is_one_file(const struct arm *a, const char *name, const struct arm *b,
                        const char *other)
{
    char *paths[] = {beside(a->path, name), beside(b->path, other)};
    struct stat one, two;
    const bool same = stat(paths[0], &one) == 0 && stat(paths[1], &two) == 0 &&
                      one.st_dev == two.st_dev && one.st_ino == two.st_ino;
    free(paths[0]);
    free(paths[1]);
    return same;
}

// The head's note says where the two programs did not fill their buffers alike.
static int compare_inputs(struct captured *c, size_t shared, struct error *err)
{
    const struct arm *base = &c->arms[ROLE_BASE];
    struct arm *head = &c->arms[ROLE_HEAD];
    size_t differ = 0;
    for (size_t i = 0; base->used && strcmp(base->path, head->path) && i < shared; i++) {
        const struct record_content *ours = &arm_record(head)->contents[i];
        const unsigned char *before;
        if (is_one_file(base, arm_record(base)->contents[i].before, head, ours->before))
            continue;
        if (map_file(&before, head->path, ours->before, ours->bytes, err))
            return -1;
        differ += memcmp(before, c->contents[i].before, ours->bytes) != 0;
        munmap((void *)(uintptr_t)before, ours->bytes);
    }
    if (differ)
        snprintf(head->note, sizeof(head->note),
                 "its own program filled %zu of %zu buffers otherwise; both run on the base's",
                 differ, shared);
    return 0;
}

// The base's contents count where both have one; what only one has is its own, a workspace.
static int take_contents(struct captured *c, struct series_state *state, struct error *err)
{
    struct arm *base = &c->arms[ROLE_BASE], *head = &c->arms[ROLE_HEAD];
    const struct record *theirs = base->used ? arm_record(base) : arm_record(head);
    const struct record *ours = arm_record(head);
    const size_t shared =
        theirs->content_count < ours->content_count ? theirs->content_count : ours->content_count;
    for (size_t i = 0; i < shared; i++) {
        if (theirs->contents[i].bytes != ours->contents[i].bytes)
            return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                                 "its buffer %zu has %llu bytes and the base's %llu: their inputs "
                                 "do not correspond",
                                 i, (unsigned long long)ours->contents[i].bytes,
                                 (unsigned long long)theirs->contents[i].bytes);
    }
    if (!same_places(theirs, ours, shared) || !same_places(ours, theirs, shared))
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "its launches are given other places of the buffers than the base's: "
                             "their inputs do not correspond");
    for (size_t i = 0; i < theirs->content_count; i++) {
        if (add_content(c, base->used ? base : head, i, err))
            return -1;
    }
    for (size_t i = shared; i < ours->content_count; i++) {
        if (add_content(c, head, i, err))
            return -1;
    }
    return compare_inputs(c, shared, err);
}

// ---- sets ----

static uint64_t set_bytes(const struct captured *c)
{
    uint64_t sum = APART;
    for (size_t i = 0; i < c->count; i++)
        sum += (c->contents[i].bytes + ALIGN - 1) / ALIGN * ALIGN + APART;
    return sum;
}

static void *place_of(const struct captured *c, void *block, size_t which)
{
    uint64_t at = APART;
    for (size_t i = 0; i < which; i++)
        at += (c->contents[i].bytes + ALIGN - 1) / ALIGN * ALIGN + APART;
    return (char *)block + at;
}

static int write_contents(struct captured *c, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        if (c->ops->write(c->device, place_of(c, c->pristine, i), content->before, content->bytes,
                          err))
            return -1;
    }
    return 0;
}

static int add_set(struct captured *c, struct error *err)
{
    void *block;
    if (c->ops->alloc(&block, c->device, set_bytes(c), err))
        return -1;
    for (size_t i = 0; i < c->count; i++)
        c->at[c->sets * RECORD_CAPTURED_MAX + i] = place_of(c, block, i);
    c->blocks[c->sets++] = block;
    if (!c->pristine &&
        (c->ops->alloc(&c->pristine, c->device, set_bytes(c), err) || write_contents(c, err)))
        return -1;
    return c->ops->copy(c->device, block, c->pristine, set_bytes(c), err);
}

int captured_grow(struct captured *c, uint32_t launches, struct error *err)
{
    const double bytes = (double)set_bytes(c);
    double room = (double)c->ops->free_bytes(c->device);
    while (c->sets < launches && c->sets < c->most && (room -= bytes) >= 0) {
        if (add_set(c, err))
            return -1;
    }
    return 0;
}

int captured_restore(int32_t *beside, struct captured *c, uint32_t sets, struct error *err)
{
    enum { NOISE_AND_LOOK = 2 };
    *beside = -NOISE_AND_LOOK;
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        const uint64_t bytes = content->to - content->from;
        const char *from = place_of(c, c->pristine, i);
        *beside += content->right ? 1 : 0;
        for (uint32_t set = 0; bytes && set < sets && set < c->sets; set++) {
            char *to = c->at[set * RECORD_CAPTURED_MAX + i];
            if (c->ops->copy(c->device, to + content->from, from + content->from, bytes, err))
                return -1;
            *beside += 1;
        }
    }
    return 0;
}

// ---- what launches change ----

// Of two that differ, the first block of EVERY bytes in which they do, or the last.
static int find_edge(uint64_t *out, struct captured *c, const char *a, const char *b,
                     uint64_t bytes, bool last, struct error *err)
{
    uint64_t low = 0, high = (bytes + EVERY - 1) / EVERY;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        const uint64_t from = (last ? middle : low) * EVERY, to = (last ? high : middle) * EVERY;
        bool same;
        if (c->ops->same(&same, c->device, a + from, b + from, (to < bytes ? to : bytes) - from,
                         err))
            return -1;
        if (last == same)
            high = middle;
        else
            low = middle;
    }
    *out = low;
    return 0;
}

// Widens the content's range by what the first set has there and launches do not find.
static int widen(struct captured *c, size_t which, struct error *err)
{
    struct content *content = &c->contents[which];
    const char *now = c->at[which], *found = place_of(c, c->pristine, which);
    uint64_t first, last;
    bool same;
    if (c->ops->same(&same, c->device, now, found, content->bytes, err))
        return -1;
    if (same)
        return 0;
    if (find_edge(&first, c, now, found, content->bytes, false, err) ||
        find_edge(&last, c, now, found, content->bytes, true, err))
        return -1;
    const uint64_t from = first * EVERY, end = (last + 1) * EVERY;
    const uint64_t to = end < content->bytes ? end : content->bytes;
    const bool none = content->from == content->to;
    content->from = none || from < content->from ? from : content->from;
    content->to = none || to > content->to ? to : content->to;
    return 0;
}

static int find_changes(struct captured *c, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        if (widen(c, i, err))
            return -1;
    }
    return 0;
}

// Keeps the first set's buffers where launches change their content.
static int keep(void **out, struct captured *c, size_t which, struct error *err)
{
    const struct content *content = &c->contents[which];
    const uint64_t bytes = content->to - content->from;
    if (c->ops->alloc(out, c->device, bytes, err))
        return -1;
    return c->ops->copy(c->device, *out, (char *)c->at[which] + content->from, bytes, err);
}

static int keep_right(struct captured *c, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->contents[i].to && keep(&c->contents[i].right, c, i, err))
            return -1;
    }
    return c->ops->sync(c->device, err);
}

// ---- differences ----

static size_t bytes_of(enum dtype type)
{
    const double bytes = dtype_bytes(type);
    return bytes < 1 ? 1 : (size_t)bytes;
}

static int differ(struct differences *out, struct captured *c, size_t which, const void *now,
                  struct error *err)
{
    const struct content *content = &c->contents[which];
    const size_t size = bytes_of(c->type);
    return c->ops->differ(out, c->device, (int)c->type, size, now, content->right,
                          (content->to - content->from) / size, err);
}

static int find_largest(struct captured *c, struct error *err)
{
    double largest = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct differences own = {0};
        if (c->contents[i].right && differ(&own, c, i, c->contents[i].right, err))
            return -1;
        largest = fmax(largest, own.largest);
    }
    c->largest = largest;
    return 0;
}

// "16,777,216"
static const char *grouped(char out[32], uint64_t value)
{
    char plain[24];
    const int digits = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)value);
    char *to = out;
    for (int i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0)
            *to++ = ',';
        *to++ = plain[i];
    }
    *to = '\0';
    return out;
}

// The findings over all contents of a set.
struct found {
    uint64_t count, of;
    double most;
    size_t content; // that has it
};

static int judge(struct captured *c, enum sample_role role, const char *when,
                 const struct found *found, struct series_state *state, struct error *err)
{
    char count[32], of[32];
    if (!found->count)
        return 0;
    if (c->largest < 0 && find_largest(c, err))
        return -1;
    const double over = c->largest > 0 ? found->most / c->largest : found->most;
    c->error = fmax(c->error, over);
    if (c->tolerance > 0 && over <= c->tolerance)
        return 0;
    char ranges[128] = "";
    const struct arm *base = &c->arms[ROLE_BASE], *head = &c->arms[ROLE_HEAD];
    if (role == ROLE_HEAD && base->used &&
        arm_record(base)->launch_count != arm_record(head)->launch_count)
        snprintf(ranges, sizeof(ranges),
                 "; it launches %zu and the base %zu, and what they leave to each other counts",
                 arm_record(head)->launch_count, arm_record(base)->launch_count);
    return series_refuse(state, role, MEASURED_WRONG,
                         "%sresults differ: %s of %s elements of %s, at most %.3g (buffer %zu)%s",
                         when, grouped(count, found->count), grouped(of, found->of),
                         dtype_name(c->type), found->most, found->content, ranges);
}

static int hold_content(struct found *found, struct captured *c, enum sample_role role,
                        size_t which, uint32_t set, struct error *err)
{
    const struct content *content = &c->contents[which];
    const uint64_t bytes = content->to - content->from;
    const char *from = (char *)c->at[set * RECORD_CAPTURED_MAX + which] + content->from;
    const void *wanted = role == ROLE_HEAD && content->own ? content->own : content->right;
    struct differences seen = {0};
    bool same = false;
    if (!c->wanders && c->ops->same(&same, c->device, from, wanted, bytes, err))
        return -1;
    c->differed |= !same;
    if (!same && differ(&seen, c, which, from, err))
        return -1;
    found->of += bytes / bytes_of(c->type);
    found->count += seen.count;
    found->content = seen.most > found->most ? which : found->content;
    found->most = fmax(found->most, seen.most);
    return 0;
}

int captured_hold(struct captured *c, enum sample_role role, uint32_t set, const char *when,
                  struct series_state *state, struct error *err)
{
    struct found found = {0};
    c->differed = false;
    for (size_t i = 0; i < c->count; i++) {
        if (c->contents[i].right && hold_content(&found, c, role, i, set, err))
            return -1;
    }
    return judge(c, role, when, &found, state, err);
}

// ---- the first launches ----

static int launch(struct captured *c, enum sample_role role, struct series_state *state,
                  struct error *err)
{
    const int code = arm_launch(&c->arms[role], 0, c->ops->stream(c->device));
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "its launch returned %d", code);
    return c->ops->sync(c->device, err);
}

// Tells, where a replay fails, whether contents may hold addresses, as arrays of operands do. The
// memory that an address points to is no buffer of the launches, and does not lie there any more.
static void tell_addresses(char *text, size_t size, const struct captured *c)
{
    enum { WORD = 8, ALIGNED = 16, DRIVERS = 7, DRIVERS_AT = 44 }; // 0x7...........: where it maps
    for (size_t i = 0; i < c->count; i++) {
        uint64_t word, found = 0;
        for (uint64_t at = 0; at + WORD <= c->contents[i].bytes; at += WORD) {
            memcpy(&word, c->contents[i].before + at, sizeof(word));
            found += word >> DRIVERS_AT == DRIVERS && word % ALIGNED == 0;
        }
        const size_t used = strlen(text);
        if (found && used < size) {
            snprintf(text + used, size - used,
                     "; buffer %zu holds %llu %s that may be addresses, and what launches find by "
                     "pointers in memory is not captured",
                     i, (unsigned long long)found, found == 1 ? "word" : "words");
            return;
        }
    }
}

// Compares what the program left with what the replay leaves. Where they differ, launches read
// something that is not among their buffers.
static int hold_program(struct captured *c, enum sample_role says, struct series_state *state,
                        struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        const uint64_t bytes = content->to - content->from;
        const unsigned char *left = content->after ? content->after : content->before;
        if (bytes && c->ops->write(c->device, (char *)c->at[i] + content->from,
                                   left + content->from, bytes, err))
            return -1;
    }
    const int wrong = captured_hold(c, says, 0, "replayed, ", state, err);
    if (wrong > 0) {
        state->state = MEASURED_UNSUPPORTED;
        tell_addresses(state->note, sizeof(state->note), c);
    }
    return wrong;
}

// Finds what a launch has written over zeros, as it was before. No input is found, because an input
// stays zero.
static int find_rewritten(struct captured *c, struct content *content, const char *from,
                          struct error *err)
{
    unsigned char *now = xcalloc(chunk_bytes, 1);
    uint64_t first = content->bytes, last = 0;
    bool same = true;
    int status = 0;
    for (uint64_t at = 0; at < content->bytes && same && status == 0; at += chunk_bytes) {
        const uint64_t left = content->bytes - at;
        const size_t size = left < chunk_bytes ? (size_t)left : chunk_bytes;
        status = c->ops->read(c->device, now, from + at, size, err);
        for (size_t i = 0; i < size && same && status == 0; i++) {
            if (!now[i])
                continue;
            same = now[i] == content->before[at + i];
            first = at + i < first ? at + i : first;
            last = at + i + 1;
        }
    }
    free(now);
    if (status || !same || !last)
        return status;
    const uint64_t end = (last + EVERY - 1) / EVERY * EVERY;
    content->from = first / EVERY * EVERY;
    content->to = end < content->bytes ? end : content->bytes;
    return 0;
}

static int set_zeros(struct captured *c, struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        char *found = (char *)place_of(c, c->pristine, i) + content->from;
        if (content->to && c->ops->set(c->device, found, 0, content->to - content->from, err))
            return -1;
    }
    return 0;
}

// Where launches leave all as it was, they have run on these contents before. One content after the
// other is zero before a launch: of an output what is written comes back, and from then on they
// find zeros there.
static int clear_outputs(struct captured *c, enum sample_role says, struct series_state *state,
                         struct error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        struct content *content = &c->contents[i];
        if (c->ops->set(c->device, c->at[i], 0, content->bytes, err))
            return -1;
        int stop = launch(c, says, state, err);
        if (stop || (stop = find_rewritten(c, content, c->at[i], err)))
            return stop;
        if (c->ops->copy(c->device, c->blocks[0], c->pristine, set_bytes(c), err))
            return -1;
    }
    return set_zeros(c, err);
}

static bool changes(const struct captured *c)
{
    bool changed = false;
    for (size_t i = 0; i < c->count; i++)
        changed |= c->contents[i].to > 0;
    return changed;
}

static int find_wanted(struct captured *c, enum sample_role says, struct series_state *state,
                       struct error *err)
{
    int stop = launch(c, says, state, err);
    if (stop < 0)
        tell_addresses(err->text, sizeof(err->text), c);
    if (stop || (stop = find_changes(c, err)) ||
        (!changes(c) && (stop = clear_outputs(c, says, state, err))))
        return stop;
    if (!changes(c)) {
        series_refuse(state, says, MEASURED_UNSUPPORTED,
                      "its launches change nothing of what they are given");
        tell_addresses(state->note, sizeof(state->note), c);
        return 1;
    }
    return keep_right(c, err) ? -1 : hold_program(c, says, state, err);
}

// Whether a launch may be repeated without restoring its buffers. It is launched again from the
// same contents, which must give the same results, and then once more on what that launch left.
static int find_repeats(struct captured *c, enum sample_role says, struct series_state *state,
                        struct error *err)
{
    struct series_state ignored;
    int32_t beside;
    if (captured_restore(&beside, c, 1, err))
        return -1;
    int stop = launch(c, says, state, err);
    if (stop ||
        (stop = captured_hold(c, says, 0, "from one launch to the next its ", state, err))) {
        if (stop > 0 && state->state == MEASURED_WRONG)
            state->state = MEASURED_UNSUPPORTED;
        return stop;
    }
    c->wanders = c->differed;
    stop = launch(c, says, state, err);
    if (stop)
        return stop;
    const double error = c->error;
    stop = captured_hold(c, says, 0, "", &ignored, err);
    c->error = error;
    c->repeats = stop == 0;
    return stop < 0 ? -1 : 0;
}

// An output that is within the tolerance once is held to itself from then on, unless it wanders. A
// second launch shows whether it does.
static int keep_own(struct captured *c, struct series_state *state, struct error *err)
{
    int32_t beside;
    if (c->tolerance <= 0 || c->wanders)
        return 0;
    for (size_t i = 0; c->differed && i < c->count; i++) {
        if (c->contents[i].right && keep(&c->contents[i].own, c, i, err))
            return -1;
    }
    if (captured_restore(&beside, c, 1, err))
        return -1;
    int stop = launch(c, ROLE_HEAD, state, err);
    if (stop || (stop = captured_hold(c, ROLE_HEAD, 0, "", state, err)))
        return stop;
    c->wanders = c->differed;
    return 0;
}

static int hold_head(struct captured *c, struct series_state *state, struct error *err)
{
    struct content before[RECORD_CAPTURED_MAX];
    int32_t beside;
    if (captured_restore(&beside, c, 1, err))
        return -1;
    int stop = launch(c, ROLE_HEAD, state, err);
    if (stop || (stop = captured_hold(c, ROLE_HEAD, 0, "", state, err)) ||
        (stop = keep_own(c, state, err)))
        return stop;
    memcpy(before, c->contents, sizeof(before));
    if (find_changes(c, err))
        return -1;
    const size_t shared =
        c->arms[ROLE_BASE].used ? arm_record(&c->arms[ROLE_BASE])->content_count : c->count;
    for (size_t i = 0; i < c->count; i++) {
        struct content *now = &c->contents[i];
        if (now->from == before[i].from && now->to == before[i].to)
            continue;
        if (i < shared)
            return series_refuse(state, ROLE_HEAD, MEASURED_WRONG,
                                 "writes to buffer %zu outside of what the base writes there", i);
        // A workspace of its own: restored, and held to nothing.
        c->repeats = false;
    }
    return 0;
}

int captured_check(struct captured *c, struct series_state *state, struct error *err)
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (!c->arms[role].used)
            continue;
        int32_t beside;
        if (captured_restore(&beside, c, 1, err))
            return -1;
        int stop = launch(c, (enum sample_role)role, state, err);
        if (stop || (stop = captured_hold(c, (enum sample_role)role, 0, "", state, err)))
            return stop;
    }
    return 0;
}

static int bind(struct captured *c, struct series_state *state, struct error *err)
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        struct arm *arm = &c->arms[role];
        arm->elsewhere = (struct arm_elsewhere){c, sets_of, places_of};
        const int stop =
            arm->used ? arm_prepare(arm, (enum sample_role)role, NULL, NULL, state, err) : 0;
        if (stop)
            return stop;
    }
    return 0;
}

int captured_open(struct captured **out, struct arm arms[2], struct series_state *state,
                  struct error *err)
{
    const struct arm *head = &arms[ROLE_HEAD];
    struct captured *c = xcalloc(1, sizeof(*c));
    *out = c;
    *c = (struct captured){.ops = head->ops,
                           .device = head->device,
                           .arms = arms,
                           .type = arm_record(head)->problem.out,
                           .tolerance = arm_record(head)->tolerance,
                           .largest = -1,
                           .most = head->ops->launches_max};
    c->at = xcalloc((size_t)c->most * RECORD_CAPTURED_MAX, sizeof(*c->at));
    c->blocks = xcalloc(c->most, sizeof(*c->blocks));
    const enum sample_role says = arms[ROLE_BASE].used ? ROLE_BASE : ROLE_HEAD;
    struct error why;
    int stop = take_contents(c, state, &why);
    if (stop < 0)
        return series_refuse(state, says, MEASURED_UNBUILDABLE, "%.500s", why.text);
    const double wanted = 2 * (double)set_bytes(c), room = (double)c->ops->free_bytes(c->device);
    if (!stop && wanted > room)
        return series_refuse(
            state, says, MEASURED_UNSUPPORTED,
            "its buffers and what is written back to them hold %.0f MiB, and the device has %.0f",
            wanted / 0x1p20, room / 0x1p20);
    if (stop || (stop = add_set(c, err)) || (stop = bind(c, state, err)) ||
        (stop = find_wanted(c, says, state, err)) || (stop = find_repeats(c, says, state, err)))
        return stop;
    return says == ROLE_BASE ? hold_head(c, state, err) : 0;
}

void captured_free(struct captured *c)
{
    if (!c)
        return;
    for (uint32_t set = 0; set < c->sets; set++)
        c->ops->free(c->device, c->blocks[set]);
    c->ops->free(c->device, c->pristine);
    for (size_t i = 0; i < c->count; i++) {
        struct content *content = &c->contents[i];
        c->ops->free(c->device, content->right);
        c->ops->free(c->device, content->own);
        munmap((void *)(uintptr_t)content->before, content->bytes);
        if (content->after)
            munmap((void *)(uintptr_t)content->after, content->bytes);
    }
    free(c->at);
    free(c->blocks);
    free(c);
}
