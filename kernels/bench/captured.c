// SPDX-License-Identifier: Apache-2.0
//
// Fills, restores and compares the memory of a captured series. The contents are files beside the
// record. They are written to the device once. After that the device makes all copies and
// comparisons; only differences are read back.
//
// An allocator puts many tensors into one allocation. So a content is cut at the addresses that
// launches are given, and the part from one such address to the next is called a tensor. A tensor
// is a result if the last launch that is given it writes it. If that launch only reads it, launches
// leave it for each other; it may be different in the head, and this is only reported. If the
// head's buffers do not correspond to the base's, the head has contents of its own, and each result
// of the base is looked for among the head's results.
#include "kernels/bench/series_parts.h"

#include "model/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Ranges are rounded to EVERY bytes. Contents lie APART bytes behind each other, as the operands of
// a library do (buffers.c): if each began at a page of the device, kernels on tensor cores were 3 %
// faster, and a barrier cost 1 % more.
enum { EVERY = 4096, APART = 4096, ALIGN = 512 };
// Where a comparison may begin, and how much of two inputs is compared.
enum { STEP = 16, BEGIN = 4096 };
enum { CONTENTS_MAX = 2 * RECORD_CAPTURED_MAX };
static const char apart_text[] =
    "its buffers lie otherwise than the base's, so each ran on those of its own program";

struct content {
    uint64_t bytes;
    const unsigned char *before; // the file, mapped into memory
    const unsigned char *after;  // what the program left there, mapped into memory; NULL: the same
    uint64_t from, to;           // launches change only bytes within this range; 0, 0: none
    bool of[2];                  // by role: its launches are given this content
};

// A range from one address that launches are given to the next one.
struct tensor {
    size_t content;
    uint64_t at, end;
    uint64_t from, to; // launches change only bytes within this range; 0, 0: none
    size_t last;       // the last launch that is given it, counted from 1; 0: none
    bool cleared;      // launches write everything that they change there without reading it
    bool result;
};
struct tensors {
    struct tensor *items;
    size_t count, room;
};

// A range that the base changes, and the place where the head has the same.
struct wanted {
    uint64_t bytes;
    bool result;
    size_t content[2]; // by role
    uint64_t from[2];
};

// The contents that one role's launches use.
struct side {
    const struct captured *captured;
    enum sample_role role;
};

struct captured {
    const struct device_ops *ops;
    struct device_base *device;
    struct arm *arms;      // two
    enum sample_role says; // the role whose results count as correct
    enum dtype type;       // type of the results
    bool untold;           // nobody tells the type
    double tolerance, error;
    double largest; // of the base's results; below 0: not computed yet
    bool repeats;
    bool differed;  // the last comparison of captured_hold() found a difference in some bit
    bool wanders;   // results differ from one launch to the next, within the tolerance
    bool own;       // the head is compared with its own earlier result, which is within the
                    // tolerance
    bool apart;     // the head has contents of its own
    bool misplaced; // the head has no contents of its own, and not the base's results
    bool unlike;    // the head has contents of its own, not the base's results, and inputs that its
                    // program filled differently
    struct side sides[2];
    struct content contents[CONTENTS_MAX];
    size_t count;
    size_t of[2][RECORD_CAPTURED_MAX]; // by role: the content of each of the record's buffers
    struct tensors tensors[2];         // by role; for the head only if it is apart
    struct wanted *wanted;
    size_t wanted_count;
    void **at; // set * CONTENTS_MAX + content
    void **blocks;
    void *pristine; // laid out like a set: what launches find in each
    void *left[2];  // the same: what launches of each role leave
    uint32_t sets, most;
};

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
    return ((const struct side *)of)->captured->sets;
}

static struct record_places places_of(const void *of, uint32_t set)
{
    const struct side *side = of;
    const struct captured *c = side->captured;
    struct record_places places = {0};
    for (size_t i = 0; i < arm_record(&c->arms[side->role])->content_count; i++) {
        const size_t which = c->of[side->role][i];
        places.address[RECORD_CAPTURED + i] =
            (uint64_t)(uintptr_t)c->at[set * CONTENTS_MAX + which];
        places.bytes[RECORD_CAPTURED + i] = c->contents[which].bytes;
    }
    return places;
}

// ---- contents ----

static char *beside(const char *record, const char *name)
{
    const char *slash = strrchr(record, '/');
    return xprintf("%.*s%s", slash ? (int)(slash + 1 - record) : 0, record, name);
}

// Maps a file beside the record that must have exactly this many bytes.
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

static int add_content(struct captured *c, enum sample_role role, size_t index, struct error *err)
{
    const struct arm *arm = &c->arms[role];
    const struct record_content *from = &arm_record(arm)->contents[index];
    struct content *to = &c->contents[c->count];
    *to = (struct content){.bytes = from->bytes};
    if (map_file(&to->before, arm->path, from->before, from->bytes, err))
        return -1;
    c->of[role][index] = c->count++; // freed with the others from now on
    to->of[role] = true;
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

// Whether b's launches are given content k at every place where a's are given content i.
static bool gives_all(const struct record *a, size_t i, const struct record *b, size_t k)
{
    const enum record_buffer of = (enum record_buffer)(RECORD_CAPTURED + i),
                             with = (enum record_buffer)(RECORD_CAPTURED + k);
    for (size_t l = 0; l < a->launch_count; l++) {
        const struct record_launch *launch = &a->launches[l];
        for (uint32_t n = 0; n < launch->address_count; n++) {
            const struct record_address *address = &launch->addresses[n];
            if (address->buffer == of && !is_given(b, with, address->offset))
                return false;
        }
        for (uint32_t n = 0; n < launch->map_count; n++) {
            const struct record_map *map = &launch->maps[n];
            if (map->buffer == of && !is_given(b, with, map->offset))
                return false;
        }
    }
    return true;
}

static bool fits(const struct record *a, size_t i, const struct record *b, size_t k)
{
    return a->contents[i].bytes == b->contents[k].bytes && gives_all(a, i, b, k) &&
           gives_all(b, k, a, i);
}

// Whether two captures share the file of a content.
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

// Whether the base's content i and the head's content k were equal before the launches.
static int same_content(bool *out, const struct captured *c, size_t i, size_t k, struct error *err)
{
    const struct arm *base = &c->arms[ROLE_BASE], *head = &c->arms[ROLE_HEAD];
    const struct record_content *theirs = &arm_record(base)->contents[i];
    const struct record_content *ours = &arm_record(head)->contents[k];
    const unsigned char *before[2] = {NULL, NULL};
    *out = theirs->bytes == ours->bytes &&
           (strcmp(base->path, head->path) == 0
                ? i == k
                : is_one_file(base, theirs->before, head, ours->before));
    if (*out || theirs->bytes != ours->bytes)
        return 0;
    int status = map_file(&before[0], base->path, theirs->before, theirs->bytes, err);
    if (status == 0 &&
        (status = map_file(&before[1], head->path, ours->before, ours->bytes, err)) == 0)
        *out = memcmp(before[0], before[1], ours->bytes) == 0;
    for (int n = 0; n < 2; n++) {
        if (before[n])
            munmap((void *)(uintptr_t)before[n], ours->bytes);
    }
    return status;
}

// Finds whether an input of the base equals another one of the head's buffers. Then the two records
// only happen to fit, because the head has one buffer more or less before it.
static int find_moved(bool *moved, const struct captured *c, struct error *err)
{
    const struct record *theirs = arm_record(&c->arms[ROLE_BASE]);
    const struct record *ours = arm_record(&c->arms[ROLE_HEAD]);
    for (size_t i = 0; i < theirs->content_count && !*moved; i++) {
        bool same = false;
        if (theirs->contents[i].after)
            continue;
        if (i < ours->content_count && same_content(&same, c, i, i, err))
            return -1;
        for (size_t k = 0; !same && k < ours->content_count && !*moved; k++) {
            if (k != i && same_content(moved, c, i, k, err))
                return -1;
        }
    }
    return 0;
}

// Finds whether the head's launches can be given the base's buffers instead of their own.
static int find_apart(struct captured *c, size_t shared, struct error *err)
{
    const struct record *theirs = arm_record(&c->arms[ROLE_BASE]);
    const struct record *ours = arm_record(&c->arms[ROLE_HEAD]);
    for (size_t i = 0; i < shared && !c->apart; i++)
        c->apart = !fits(theirs, i, ours, i);
    return c->apart || theirs->content_count == ours->content_count ? 0
                                                                    : find_moved(&c->apart, c, err);
}

// Finds the base's content that equals the head's content k: one with the same bytes that neither
// changes.
static int find_input(size_t *out, const struct captured *c, size_t k, struct error *err)
{
    const struct record *theirs = arm_record(&c->arms[ROLE_BASE]);
    const struct record *ours = arm_record(&c->arms[ROLE_HEAD]);
    bool same = false;
    *out = SIZE_MAX;
    for (size_t i = 0; i < theirs->content_count && !same; i++) {
        if (theirs->contents[i].after || ours->contents[k].after || !fits(theirs, i, ours, k) ||
            c->contents[i].of[ROLE_HEAD])
            continue;
        if (same_content(&same, c, i, k, err))
            return -1;
        if (same)
            *out = i;
    }
    return 0;
}

// Notes for the head where the two programs did not fill their buffers alike.
static int compare_inputs(struct captured *c, size_t shared, struct error *err)
{
    size_t differ = 0;
    for (size_t i = 0; i < shared; i++) {
        bool same;
        if (same_content(&same, c, i, i, err))
            return -1;
        differ += !same;
    }
    if (differ)
        snprintf(c->arms[ROLE_HEAD].note, ARM_NOTE,
                 "its own program filled %zu of %zu buffers otherwise; both run on the base's",
                 differ, shared);
    return 0;
}

static int take_head(struct captured *c, struct error *err)
{
    const struct record *theirs = arm_record(&c->arms[ROLE_BASE]);
    const struct record *ours = arm_record(&c->arms[ROLE_HEAD]);
    const size_t shared =
        theirs->content_count < ours->content_count ? theirs->content_count : ours->content_count;
    if (find_apart(c, shared, err))
        return -1;
    for (size_t k = 0; k < ours->content_count; k++) {
        size_t which = !c->apart && k < shared ? k : SIZE_MAX;
        if (c->apart && find_input(&which, c, k, err))
            return -1;
        if (which == SIZE_MAX && add_content(c, ROLE_HEAD, k, err))
            return -1;
        if (which == SIZE_MAX)
            continue;
        c->of[ROLE_HEAD][k] = which;
        c->contents[which].of[ROLE_HEAD] = true;
    }
    return c->apart ? 0 : compare_inputs(c, shared, err);
}

// Takes the contents: the base's where the head's correspond to them, and those that only one of
// them has.
static int take_contents(struct captured *c, struct error *err)
{
    const struct record *theirs = arm_record(&c->arms[c->says]);
    for (size_t i = 0; i < theirs->content_count; i++) {
        if (add_content(c, c->says, i, err))
            return -1;
    }
    return c->says == ROLE_BASE ? take_head(c, err) : 0;
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
        c->at[c->sets * CONTENTS_MAX + i] = place_of(c, block, i);
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

int captured_restore(int32_t *beside, struct captured *c, enum sample_role role, uint32_t sets,
                     struct error *err)
{
    enum { NOISE_AND_LOOK = 2 };
    *beside = -NOISE_AND_LOOK;
    for (size_t i = 0; i < c->wanted_count; i++)
        *beside += c->wanted[i].result;
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        const uint64_t bytes = content->of[role] ? content->to - content->from : 0;
        const char *from = place_of(c, c->pristine, i);
        for (uint32_t set = 0; bytes && set < sets && set < c->sets; set++) {
            char *to = c->at[set * CONTENTS_MAX + i];
            if (c->ops->copy(c->device, to + content->from, from + content->from, bytes, err))
                return -1;
            *beside += 1;
        }
    }
    return 0;
}

static int restore_one(struct captured *c, enum sample_role role, struct error *err)
{
    int32_t beside;
    return captured_restore(&beside, c, role, 1, err);
}

// Restores the state before anything was launched.
static int begin_anew(struct captured *c, struct error *err)
{
    return c->ops->copy(c->device, c->blocks[0], c->pristine, set_bytes(c), err);
}

static int launch(struct captured *c, enum sample_role role, struct series_state *state,
                  struct error *err)
{
    const int code = arm_launch(&c->arms[role], 0, c->ops->stream(c->device));
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "its launch returned %d", code);
    return c->ops->sync(c->device, err);
}

// ---- tensors ----

// Finds the content and the place of the launch's nth address or descriptor. False: there is none,
// or it belongs to no content.
static bool place_given(size_t *content, uint64_t *at, const struct captured *c,
                        enum sample_role role, const struct record_launch *launch, uint32_t nth)
{
    const bool map = nth >= launch->address_count;
    const enum record_buffer buffer =
        map ? launch->maps[nth - launch->address_count].buffer : launch->addresses[nth].buffer;
    *at = map ? launch->maps[nth - launch->address_count].offset : launch->addresses[nth].offset;
    if (buffer < RECORD_CAPTURED ||
        buffer - RECORD_CAPTURED >= arm_record(&c->arms[role])->content_count)
        return false;
    *content = c->of[role][buffer - RECORD_CAPTURED];
    return *at < c->contents[*content].bytes;
}

static void add_tensor(struct tensors *out, size_t content, uint64_t at)
{
    for (size_t i = 0; i < out->count; i++) {
        if (out->items[i].content == content && out->items[i].at == at)
            return;
    }
    out->items = xgrow(out->items, out->count, &out->room, sizeof(*out->items));
    out->items[out->count++] = (struct tensor){.content = content, .at = at};
}

static int by_place(const void *left, const void *right)
{
    const struct tensor *a = left, *b = right;
    if (a->content != b->content)
        return a->content < b->content ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static struct tensor *tensor_at(const struct tensors *tensors, size_t content, uint64_t at)
{
    struct tensor *found = NULL;
    for (size_t i = 0; i < tensors->count; i++) {
        if (tensors->items[i].content == content && tensors->items[i].at <= at)
            found = &tensors->items[i];
    }
    return found;
}

static void cut(struct captured *c, enum sample_role role)
{
    const struct record *record = arm_record(&c->arms[role]);
    struct tensors *tensors = &c->tensors[role];
    size_t content;
    uint64_t at;
    for (size_t i = 0; i < record->content_count; i++)
        add_tensor(tensors, c->of[role][i], 0);
    for (size_t l = 0; l < record->launch_count; l++) {
        const struct record_launch *launch = &record->launches[l];
        for (uint32_t n = 0; n < launch->address_count + launch->map_count; n++) {
            if (place_given(&content, &at, c, role, launch, n) && at % STEP == 0)
                add_tensor(tensors, content, at);
        }
    }
    qsort(tensors->items, tensors->count, sizeof(*tensors->items), by_place);
    for (size_t i = 0; i < tensors->count; i++) {
        struct tensor *tensor = &tensors->items[i], *next = tensor + 1;
        const bool ends = i + 1 == tensors->count || next->content != tensor->content;
        tensor->end = ends ? c->contents[tensor->content].bytes : next->at;
    }
    for (size_t l = 0; l < record->launch_count; l++) {
        const struct record_launch *launch = &record->launches[l];
        for (uint32_t n = 0; n < launch->address_count + launch->map_count; n++) {
            if (place_given(&content, &at, c, role, launch, n))
                tensor_at(tensors, content, at)->last = l + 1;
        }
    }
}

// ---- what launches change ----

// For two contents that differ, finds the first (or last) block of EVERY bytes in which they do.
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

static char *in_block(const struct captured *c, void *block, const struct tensor *tensor,
                      uint64_t at)
{
    return (char *)place_of(c, block, tensor->content) + at;
}

// Extends the changed range of a tensor by bytes that differ between the first set and what
// launches find.
static int widen(struct captured *c, struct tensor *tensor, struct error *err)
{
    const char *now = in_block(c, c->blocks[0], tensor, tensor->at);
    const char *found = in_block(c, c->pristine, tensor, tensor->at);
    const uint64_t bytes = tensor->end - tensor->at;
    uint64_t first, last;
    bool same;
    if (c->ops->same(&same, c->device, now, found, bytes, err))
        return -1;
    if (same)
        return 0;
    if (find_edge(&first, c, now, found, bytes, false, err) ||
        find_edge(&last, c, now, found, bytes, true, err))
        return -1;
    const uint64_t from = tensor->at + first * EVERY, end = tensor->at + (last + 1) * EVERY;
    const uint64_t to = end < tensor->end ? end : tensor->end;
    const bool none = tensor->from == tensor->to;
    tensor->from = none || from < tensor->from ? from : tensor->from;
    tensor->to = none || to > tensor->to ? to : tensor->to;
    return 0;
}

static int same_part(bool *same, struct captured *c, const void *a, const void *b, uint64_t from,
                     uint64_t to, struct error *err)
{
    if (!*same || from == to)
        return 0;
    return c->ops->same(same, c->device, (const char *)a + from, (const char *)b + from, to - from,
                        err);
}

// Whether the first set equals what launches leave, apart from bytes of the tensor that they do not
// change.
static int same_left(bool *same, struct captured *c, enum sample_role role,
                     const struct tensor *tensor, struct error *err)
{
    char *now = c->blocks[0], *left = c->left[role];
    const uint64_t begins = (uint64_t)(in_block(c, left, tensor, 0) - left);
    *same = true;
    return same_part(same, c, now, left, 0, begins + tensor->at, err) ||
                   same_part(same, c, now, left, begins + tensor->from, begins + tensor->to, err) ||
                   same_part(same, c, now, left, begins + (tensor->end + STEP - 1) / STEP * STEP,
                             set_bytes(c), err)
               ? -1
               : 0;
}

static int copy_left(struct captured *c, enum sample_role role, const struct tensor *tensor,
                     uint64_t from, uint64_t to, struct error *err)
{
    return from == to ? 0
                      : c->ops->copy(c->device, in_block(c, c->pristine, tensor, from),
                                     in_block(c, c->left[role], tensor, from), to - from, err);
}

// Sets what launches find there back to what it was.
static int take_back(struct captured *c, enum sample_role role, const struct tensor *tensor,
                     bool changed, struct error *err)
{
    char *found = in_block(c, c->pristine, tensor, tensor->from);
    const uint64_t behind = (tensor->to + STEP - 1) / STEP * STEP;
    if (changed)
        return tensor->cleared ? 0
                               : c->ops->write(c->device, found,
                                               c->contents[tensor->content].before + tensor->from,
                                               tensor->to - tensor->from, err);
    if (!tensor->cleared)
        return copy_left(c, role, tensor, tensor->at, tensor->end, err);
    return copy_left(c, role, tensor, tensor->at, tensor->from, err) ||
                   copy_left(c, role, tensor, behind < tensor->end ? behind : tensor->end,
                             tensor->end, err)
               ? -1
               : 0;
}

// Launches on zeros. If launches leave the same as before, they write the tensor without reading
// it, and find zeros from now on. So results of an earlier launch of the program are not taken for
// theirs, and bytes that they do not write are found.
static int clear(struct captured *c, enum sample_role role, struct tensor *tensor,
                 struct series_state *state, struct error *err)
{
    const bool changed = tensor->to > 0;
    const uint64_t from = changed ? tensor->from : tensor->at,
                   to = changed ? tensor->to : tensor->end;
    if (c->ops->set(c->device, in_block(c, c->pristine, tensor, from), 0, to - from, err) ||
        begin_anew(c, err))
        return -1;
    const int stop = launch(c, role, state, err);
    if (stop < 0) {
        const size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof(err->text) - used,
                 "; it was launched over zeros in buffer %zu, to see whether it writes there",
                 tensor->content);
    }
    if (stop || (!changed && widen(c, tensor, err)))
        return stop ? stop : -1;
    if ((tensor->to && same_left(&tensor->cleared, c, role, tensor, err)) ||
        take_back(c, role, tensor, changed, err))
        return -1;
    if (!changed && !tensor->cleared)
        tensor->from = tensor->to = 0;
    return 0;
}

// Queues one launch of the record, numbered from 1. *same: it changed nothing.
static int launch_one(bool *same, struct captured *c, enum sample_role role, size_t number,
                      void *before, struct error *err)
{
    if (c->ops->copy(c->device, before, c->blocks[0], set_bytes(c), err))
        return -1;
    const int code = arm_launch_one(&c->arms[role], 0, number - 1);
    if (code)
        return error_set(err, "launch %zu of the record alone returned %d", number, code);
    return c->ops->sync(c->device, err) ||
                   c->ops->same(same, c->device, before, c->blocks[0], set_bytes(c), err)
               ? -1
               : 0;
}

// Finds for each changed tensor whether the last launch that is given it writes it; then it is a
// result. A launch that changes nothing at all wrote what was there already.
static int find_results(struct captured *c, enum sample_role role, struct error *err)
{
    struct tensors *tensors = &c->tensors[role];
    const size_t launches = arm_record(&c->arms[role])->launch_count;
    void *before = NULL;
    for (size_t i = 0; i < tensors->count; i++)
        tensors->items[i].result = tensors->items[i].to > 0;
    if (launches == 1)
        return 0;
    int status =
        c->ops->alloc(&before, c->device, set_bytes(c), err) || begin_anew(c, err) ? -1 : 0;
    for (size_t l = 1; l <= launches && status == 0; l++) {
        bool none;
        status = launch_one(&none, c, role, l, before, err);
        for (size_t i = 0; i < tensors->count && status == 0 && !none; i++) {
            struct tensor *tensor = &tensors->items[i];
            bool same;
            if (tensor->last != l || !tensor->to)
                continue;
            status = c->ops->same(&same, c->device, in_block(c, before, tensor, tensor->from),
                                  in_block(c, c->blocks[0], tensor, tensor->from),
                                  tensor->to - tensor->from, err);
            tensor->result = !same;
        }
    }
    c->ops->free(c->device, before);
    return status;
}

// Finds what the role's launches change, and which of it is a result.
static int study(struct captured *c, enum sample_role role, struct series_state *state,
                 struct error *err)
{
    struct tensors *tensors = &c->tensors[role];
    cut(c, role);
    if (begin_anew(c, err))
        return -1;
    int stop = launch(c, role, state, err);
    for (size_t i = 0; i < tensors->count && !stop; i++)
        stop = widen(c, &tensors->items[i], err);
    if (!stop && (c->ops->alloc(&c->left[role], c->device, set_bytes(c), err) ||
                  c->ops->copy(c->device, c->left[role], c->blocks[0], set_bytes(c), err)))
        stop = -1;
    for (size_t i = 0; i < tensors->count && !stop; i++)
        stop = clear(c, role, &tensors->items[i], state, err);
    if (stop || find_results(c, role, err))
        return stop ? stop : -1;
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];
        struct content *content = &c->contents[tensor->content];
        const bool none = content->from == content->to;
        if (!tensor->to)
            continue;
        content->from = none || tensor->from < content->from ? tensor->from : content->from;
        content->to = none || tensor->to > content->to ? tensor->to : content->to;
    }
    return begin_anew(c, err);
}

// ---- differences ----

static size_t bytes_of(enum dtype type)
{
    const double bytes = dtype_bytes(type);
    return bytes < 1 ? 1 : (size_t)bytes;
}

static char *wanted_at(const struct captured *c, void *block, const struct wanted *wanted,
                       enum sample_role role)
{
    return (char *)place_of(c, block, wanted->content[role]) + wanted->from[role];
}

static int differ(struct differences *out, struct captured *c, const struct wanted *wanted,
                  const void *now, struct error *err)
{
    const size_t size = bytes_of(c->type);
    return c->ops->differ(out, c->device, (int)c->type, size, now,
                          wanted_at(c, c->left[c->says], wanted, c->says), wanted->bytes / size,
                          err);
}

static int find_largest(struct captured *c, struct error *err)
{
    double largest = 0;
    for (size_t i = 0; i < c->wanted_count; i++) {
        struct differences own = {0};
        const struct wanted *wanted = &c->wanted[i];
        if (wanted->result &&
            differ(&own, c, wanted, wanted_at(c, c->left[c->says], wanted, c->says), err))
            return -1;
        largest = fmax(largest, own.largest);
    }
    c->largest = largest;
    return 0;
}

// Writes a number such as "16,777,216".
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

// What a comparison found over all contents of a set.
struct found {
    uint64_t count, of;
    double most;
    size_t content; // the content with the difference
};

// Whether the differences are within the tolerance. *over: relative to the largest result.
static int allowed(bool *out, double *over, struct captured *c, const struct found *found,
                   struct error *err)
{
    if (found->count && c->largest < 0 && find_largest(c, err))
        return -1;
    *over = c->largest > 0 ? found->most / c->largest : found->most;
    *out = !found->count || (c->tolerance > 0 && *over <= c->tolerance);
    return 0;
}

static int judge(struct captured *c, enum sample_role role, const char *when,
                 const struct found *found, struct series_state *state, struct error *err)
{
    char count[32], of[32];
    bool is_allowed;
    double over;
    if (allowed(&is_allowed, &over, c, found, err))
        return -1;
    c->error = fmax(c->error, found->count ? over : 0);
    if (is_allowed)
        return 0;
    const bool elsewhere = role == ROLE_HEAD && c->apart;
    if (c->untold)
        return series_refuse(
            state, role, MEASURED_WRONG,
            "%sresults differ: %s of %s words of 4 bytes (buffer %zu); of what type "
            "they are, a `problem` would say%s%s",
            when, grouped(count, found->count), grouped(of, found->of), found->content,
            elsewhere ? "; " : "", elsewhere ? apart_text : "");
    return series_refuse(state, role, MEASURED_WRONG,
                         "%sresults differ: %s of %s elements of %s, at most %.3g (buffer %zu)%s%s",
                         when, grouped(count, found->count), grouped(of, found->of),
                         dtype_name(c->type), found->most, found->content, elsewhere ? "; " : "",
                         elsewhere ? apart_text : "");
}

// Compares what `block` has (a set, or what launches left).
static int hold_wanted(struct found *found, struct captured *c, enum sample_role role,
                       const struct wanted *wanted, void *block, struct error *err)
{
    const void *now = wanted_at(c, block, wanted, role);
    const bool own = role == ROLE_HEAD && c->own;
    const enum sample_role by = own ? ROLE_HEAD : c->says;
    struct differences seen = {0};
    bool same = false;
    if (!c->wanders && c->ops->same(&same, c->device, now, wanted_at(c, c->left[by], wanted, by),
                                    wanted->bytes, err))
        return -1;
    c->differed |= !same;
    if (!same && differ(&seen, c, wanted, now, err))
        return -1;
    found->of += wanted->bytes / bytes_of(c->type);
    found->count += seen.count;
    found->content = seen.most > found->most ? wanted->content[role] : found->content;
    found->most = fmax(found->most, seen.most);
    return 0;
}

// Compares a set. `all`: also what launches leave for each other.
static int hold(struct captured *c, enum sample_role role, uint32_t set, bool all, const char *when,
                struct series_state *state, struct error *err)
{
    struct found found = {0};
    c->differed = false;
    for (size_t i = 0; i < c->wanted_count; i++) {
        const struct wanted *wanted = &c->wanted[i];
        if ((all || wanted->result) && hold_wanted(&found, c, role, wanted, c->blocks[set], err))
            return -1;
    }
    return judge(c, role, when, &found, state, err);
}

int captured_hold(struct captured *c, enum sample_role role, uint32_t set, const char *when,
                  struct series_state *state, struct error *err)
{
    return hold(c, role, set, false, when, state, err);
}

// ---- the first launches ----

// Says, when a replay fails, whether contents may hold addresses, as arrays of operands do. The
// memory at such an address is no buffer of the launches, and is not there any more.
static void tell_addresses(char *text, size_t size, const struct captured *c)
{
    // 0x7...........: where the driver maps memory.
    enum { WORD = 8, ALIGNED = 16, DRIVERS = 7, DRIVERS_AT = 44 };
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

// Compares what the program left with what the replay leaves. If they differ, launches read
// something that is not among their buffers.
static int hold_program(struct captured *c, struct series_state *state, struct error *err)
{
    const struct tensors *tensors = &c->tensors[c->says];
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];
        const struct content *content = &c->contents[tensor->content];
        const unsigned char *left = content->after ? content->after : content->before;
        if (tensor->to && c->ops->write(c->device, in_block(c, c->blocks[0], tensor, tensor->from),
                                        left + tensor->from, tensor->to - tensor->from, err))
            return -1;
    }
    const int wrong = hold(c, c->says, 0, true, "replayed, ", state, err);
    if (wrong > 0) {
        state->state = MEASURED_UNSUPPORTED;
        tell_addresses(state->note, sizeof(state->note), c);
    }
    return wrong;
}

// The bytes at the edges of the tensor that launches do not change. What lies behind a tensor is
// not its own.
static int trim(struct captured *c, const struct tensor *tensor, struct wanted *wanted,
                struct error *err)
{
    enum { WORD = 8 };
    unsigned char now[EVERY], found[EVERY];
    const uint64_t last = tensor->from + (tensor->to - 1 - tensor->from) / EVERY * EVERY;
    uint64_t from = tensor->from, to = tensor->to;
    for (uint64_t at = tensor->from;; at = last) {
        const size_t bytes = (size_t)(tensor->to - at < EVERY ? tensor->to - at : EVERY);
        size_t first = 0, end = bytes;
        if (c->ops->read(c->device, now, in_block(c, c->left[c->says], tensor, at), bytes, err) ||
            c->ops->read(c->device, found, in_block(c, c->pristine, tensor, at), bytes, err))
            return -1;
        while (first < bytes && now[first] == found[first])
            first++;
        while (end > first && now[end - 1] == found[end - 1])
            end--;
        if (at == tensor->from && first < bytes)
            from = at + first / STEP * STEP;
        if (at == last && first < bytes)
            to = at + (end + WORD - 1) / WORD * WORD;
        if (at == last)
            break;
    }
    wanted->from[c->says] = from;
    wanted->bytes = (to < tensor->end ? to : tensor->end) - from;
    return 0;
}

// Lists what the base changes. The head has it at the same places, unless it is apart.
static int list_wanted(struct captured *c, struct error *err)
{
    const struct tensors *tensors = &c->tensors[c->says];
    c->wanted = xcalloc(tensors->count, sizeof(*c->wanted));
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];
        struct wanted *wanted = &c->wanted[c->wanted_count];
        if (!tensor->to)
            continue;
        *wanted = (struct wanted){.bytes = tensor->to - tensor->from,
                                  .result = tensor->result,
                                  .content = {tensor->content, tensor->content},
                                  .from = {tensor->from, tensor->from}};
        c->wanted_count++;
        if (c->apart && trim(c, tensor, wanted, err))
            return -1;
    }
    return 0;
}

static int find_wanted(struct captured *c, struct series_state *state, struct error *err)
{
    const int stop = study(c, c->says, state, err);
    if (stop < 0)
        tell_addresses(err->text, sizeof(err->text), c);
    if (stop || list_wanted(c, err))
        return stop ? stop : -1;
    bool results = false;
    for (size_t i = 0; i < c->wanted_count; i++)
        results |= c->wanted[i].result;
    if (!results) {
        series_refuse(state, c->says, MEASURED_UNSUPPORTED,
                      "its launches change nothing of what they are given");
        tell_addresses(state->note, sizeof(state->note), c);
        return 1;
    }
    return hold_program(c, state, err);
}

// Whether a launch may be repeated without restoring its buffers. It is launched again from the
// same contents, which must give the same results, and then once more on what that launch left.
static int find_repeats(struct captured *c, struct series_state *state, struct error *err)
{
    struct series_state ignored;
    if (restore_one(c, c->says, err))
        return -1;
    int stop = launch(c, c->says, state, err);
    if (stop ||
        (stop = captured_hold(c, c->says, 0, "from one launch to the next its ", state, err))) {
        if (stop > 0 && state->state == MEASURED_WRONG)
            state->state = MEASURED_UNSUPPORTED;
        return stop;
    }
    c->wanders = c->differed;
    stop = launch(c, c->says, state, err);
    if (stop)
        return stop;
    const double error = c->error;
    stop = captured_hold(c, c->says, 0, "", &ignored, err);
    c->error = error;
    c->repeats = stop == 0;
    return stop < 0 ? -1 : 0;
}

// ---- the head ----

// An output that is within the tolerance once is compared with itself from then on, unless results
// differ from launch to launch. A second launch shows whether they do.
static int keep_own(struct captured *c, struct series_state *state, struct error *err)
{
    if (c->tolerance <= 0 || c->wanders)
        return 0;
    if (c->differed && !c->left[ROLE_HEAD] &&
        c->ops->alloc(&c->left[ROLE_HEAD], c->device, set_bytes(c), err))
        return -1;
    if (c->differed && c->ops->copy(c->device, c->left[ROLE_HEAD], c->blocks[0], set_bytes(c), err))
        return -1;
    c->own = c->differed;
    if (restore_one(c, ROLE_HEAD, err))
        return -1;
    int stop = launch(c, ROLE_HEAD, state, err);
    if (stop || (stop = captured_hold(c, ROLE_HEAD, 0, "", state, err)))
        return stop;
    c->wanders = c->differed;
    return 0;
}

// Adds to the head's note.
static void PRINTF_LIKE(2, 3) note(struct captured *c, const char *format, ...)
{
    char *text = c->arms[ROLE_HEAD].note;
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    snprintf(text + used, ARM_NOTE - used, "%s", used ? "; " : "");
    vsnprintf(text + strlen(text), ARM_NOTE - strlen(text), format, args);
    va_end(args);
}

// The base's launches hand results to each other at places in memory. Notes for how many of these
// places the head's launches leave something else.
static int tell_handed(struct captured *c, struct error *err)
{
    const struct tensors *own = &c->tensors[ROLE_HEAD];
    size_t count = 0, differ = 0;
    for (size_t i = 0; i < c->wanted_count; i++) {
        struct wanted at = c->wanted[i];
        bool found = false;
        if (at.result)
            continue;
        for (size_t k = 0; k < (c->apart ? own->count : 1) && !found; k++) {
            struct found seen = {0};
            double over;
            const uint64_t from = at.from[ROLE_BASE];
            if (c->apart) {
                const struct tensor *base =
                    tensor_at(&c->tensors[ROLE_BASE], at.content[ROLE_BASE], from);
                at.content[ROLE_HEAD] = own->items[k].content;
                at.from[ROLE_HEAD] = own->items[k].at + (from - base->at);
            }
            if ((c->apart && !own->items[k].to) ||
                at.from[ROLE_HEAD] + at.bytes > c->contents[at.content[ROLE_HEAD]].bytes)
                continue;
            if (hold_wanted(&seen, c, ROLE_HEAD, &at, c->blocks[0], err) ||
                allowed(&found, &over, c, &seen, err))
                return -1;
        }
        count++;
        differ += !found;
    }
    if (differ)
        note(c, "of %zu %s that the base's launches leave for each other, %zu %s otherwise", count,
             count == 1 ? "place" : "places", differ, differ == 1 ? "is" : "are");
    return 0;
}

// Whether the head changes the base's buffers in places where the base does not.
static int find_outside(struct captured *c, struct series_state *state, struct error *err)
{
    const struct tensors *tensors = &c->tensors[ROLE_BASE];
    for (size_t i = 0; i < tensors->count; i++) {
        struct tensor now = tensors->items[i];
        if (!c->contents[now.content].of[ROLE_HEAD])
            continue;
        if (widen(c, &now, err))
            return -1;
        if (now.from != tensors->items[i].from || now.to != tensors->items[i].to)
            return series_refuse(state, ROLE_HEAD, MEASURED_WRONG,
                                 "writes to buffer %zu outside of what the base writes there",
                                 now.content);
    }
    return 0;
}

// Contents that only the head's capture has are restored, too, where the head changes them. Sets
// the range of bytes to restore in each.
static int find_private(struct captured *c, struct error *err)
{
    for (size_t i = 0; i < c->count && !c->apart; i++) {
        struct content *content = &c->contents[i];
        struct tensor whole = {.content = i, .end = content->bytes};
        if (content->of[ROLE_BASE])
            continue;
        if (widen(c, &whole, err))
            return -1;
        content->from = whole.from;
        content->to = whole.to;
    }
    return 0;
}

// How the head's tensor begins compared with an input of the base: 0, differently; 1, alike, and
// the head changes it; 2, alike. A tensor of zeros tells nothing.
static int begins_alike(const struct captured *c, const struct tensor *base, bool *zeros)
{
    static const unsigned char none[BEGIN];
    const struct tensors *own = &c->tensors[ROLE_HEAD];
    const unsigned char *wanted = c->contents[base->content].before + base->at;
    int alike = 0;
    for (size_t i = 0; i < own->count && alike < 2; i++) {
        const struct tensor *tensor = &own->items[i];
        const uint64_t a = base->end - base->at, b = tensor->end - tensor->at;
        const size_t bytes = (size_t)(a < b ? a < BEGIN ? a : BEGIN : b < BEGIN ? b : BEGIN);
        const int now = tensor->to ? 1 : 2;
        if (now > alike &&
            memcmp(wanted, c->contents[tensor->content].before + tensor->at, bytes) == 0)
            alike = now;
    }
    const uint64_t bytes = base->end - base->at;
    *zeros = memcmp(wanted, none, bytes < BEGIN ? bytes : BEGIN) == 0;
    return alike;
}

// Counts inputs that the head's program filled differently. 1: the head writes one that the base
// only reads.
static int find_inputs(size_t *differ, size_t *count, struct captured *c,
                       struct series_state *state)
{
    const struct tensors *tensors = &c->tensors[ROLE_BASE];
    *differ = *count = 0;
    for (size_t i = 0; i < tensors->count; i++) {
        const struct tensor *tensor = &tensors->items[i];
        bool zeros;
        if (!tensor->last || tensor->cleared)
            continue;
        const int alike = begins_alike(c, tensor, &zeros);
        *count += 1;
        *differ += alike == 0;
        if (alike == 1 && !tensor->to && !zeros)
            return series_refuse(state, ROLE_HEAD, MEASURED_WRONG,
                                 "writes to an input that the base only reads (buffer %zu)",
                                 tensor->content);
    }
    return 0;
}

// Finds where the head has the base's result: its first tensor that contains it and is not taken.
// If there is none, the first that is large enough.
static int find_own(struct captured *c, struct wanted *wanted, bool *taken, struct error *err)
{
    const struct tensors *own = &c->tensors[ROLE_HEAD];
    const uint64_t from = wanted->from[ROLE_BASE];
    const struct tensor *base = tensor_at(&c->tensors[ROLE_BASE], wanted->content[ROLE_BASE], from);
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < own->count; i++) {
        const struct tensor *tensor = &own->items[i];
        struct found found = {0};
        struct wanted at = *wanted;
        bool is_allowed;
        double over;
        at.content[ROLE_HEAD] = tensor->content;
        at.from[ROLE_HEAD] = tensor->at + (from - base->at);
        if (taken[i] || !tensor->result ||
            at.from[ROLE_HEAD] + at.bytes > c->contents[tensor->content].bytes)
            continue;
        first = first == SIZE_MAX ? i : first;
        if (hold_wanted(&found, c, ROLE_HEAD, &at, c->left[ROLE_HEAD], err) ||
            allowed(&is_allowed, &over, c, &found, err))
            return -1;
        if (is_allowed) {
            first = i;
            break;
        }
    }
    if (first == SIZE_MAX)
        return 1;
    taken[first] = true;
    wanted->content[ROLE_HEAD] = own->items[first].content;
    wanted->from[ROLE_HEAD] = own->items[first].at + (from - base->at);
    return 0;
}

static int find_owns(struct captured *c, struct series_state *state, struct error *err)
{
    const struct tensors *own = &c->tensors[ROLE_HEAD];
    bool *taken = xcalloc(own->count, sizeof(*taken));
    size_t more = 0;
    int status = 0;
    for (size_t i = 0; i < c->wanted_count && status == 0; i++) {
        struct wanted *wanted = &c->wanted[i];
        if (wanted->result && (status = find_own(c, wanted, taken, err)) > 0)
            series_refuse(state, ROLE_HEAD, MEASURED_WRONG,
                          "a result of the base (buffer %zu, %llu bytes) is nowhere among what its "
                          "launches write last; %s",
                          wanted->content[ROLE_BASE], (unsigned long long)wanted->bytes,
                          apart_text);
    }
    for (size_t i = 0; i < own->count; i++)
        more += own->items[i].result && !taken[i];
    free(taken);
    if (more)
        note(c, "it leaves %zu %s more than the base", more, more == 1 ? "result" : "results");
    return status;
}

// Runs a head whose buffers do not correspond to the base's. It uses the buffers of its own
// program, which must have filled them as the base's program did. Its results may lie anywhere.
static int hold_apart(struct captured *c, struct series_state *state, struct error *err)
{
    size_t differ, count;
    int stop = study(c, ROLE_HEAD, state, err);
    if (stop || (stop = find_inputs(&differ, &count, c, state)))
        return stop;
    note(c, "%s", apart_text);
    if ((stop = find_owns(c, state, err)) == 0 && (stop = restore_one(c, ROLE_HEAD, err)) == 0 &&
        (stop = launch(c, ROLE_HEAD, state, err)) == 0)
        stop = captured_hold(c, ROLE_HEAD, 0, "", state, err);
    c->unlike = stop > 0 && state->state == MEASURED_WRONG && differ;
    if (c->unlike)
        return series_refuse(state, ROLE_HEAD, MEASURED_UNSUPPORTED,
                             "its buffers lie otherwise than the base's, and its program filled "
                             "%zu of %zu inputs otherwise: their inputs do not correspond; let the "
                             "program fill them alike, by a seed",
                             differ, count);
    return stop;
}

static int hold_head(struct captured *c, struct series_state *state, struct error *err)
{
    struct series_state ignored;
    int stop;
    if (c->apart) {
        stop = hold_apart(c, state, err);
    } else if (begin_anew(c, err)) {
        stop = -1;
    } else if ((stop = launch(c, ROLE_HEAD, state, err)) == 0) {
        stop = captured_hold(c, ROLE_HEAD, 0, "", state, err);
        c->misplaced = stop > 0;
    }
    const bool differed = c->differed;
    if (stop || (stop = find_outside(c, state, err)) || (stop = find_private(c, err)) ||
        (stop = tell_handed(c, err)))
        return stop;
    c->differed = differed;
    if ((stop = keep_own(c, state, err)) ||
        c->count == arm_record(&c->arms[ROLE_BASE])->content_count || !c->repeats)
        return stop;
    // The head may have a workspace of its own, in which a second launch finds other data.
    const double error = c->error;
    if (restore_one(c, ROLE_HEAD, err) || (stop = launch(c, ROLE_HEAD, state, err)) ||
        (stop = launch(c, ROLE_HEAD, state, err)))
        return stop ? stop : -1;
    stop = captured_hold(c, ROLE_HEAD, 0, "", &ignored, err);
    c->error = error;
    c->repeats = stop == 0;
    return stop < 0 ? -1 : 0;
}

int captured_check(struct captured *c, struct series_state *state, struct error *err)
{
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (!c->arms[role].used)
            continue;
        if (restore_one(c, (enum sample_role)role, err))
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
        c->sides[role] = (struct side){c, (enum sample_role)role};
        arm->elsewhere = (struct arm_elsewhere){&c->sides[role], sets_of, places_of};
        const int stop =
            arm->used ? arm_prepare(arm, (enum sample_role)role, NULL, NULL, state, err) : 0;
        if (stop)
            return stop;
    }
    return 0;
}

// Whether neither the policy nor the program names a problem, and no TMA descriptor a type: then
// results are read as FP32.
static bool is_untold(const struct problem *problem)
{
    return problem->number_count == 1 && strcmp(problem->numbers[0].name, "capture") == 0 &&
           problem->out == DTYPE_FP32;
}

static int open_as(struct captured **out, struct arm arms[2], bool apart,
                   struct series_state *state, struct error *err)
{
    const struct arm *head = &arms[ROLE_HEAD];
    struct captured *c = xcalloc(1, sizeof(*c));
    *out = c;
    *c = (struct captured){.ops = head->ops,
                           .device = head->device,
                           .arms = arms,
                           .type = arm_record(head)->problem.out,
                           .untold = is_untold(&arm_record(head)->problem),
                           .tolerance = arm_record(head)->tolerance,
                           .largest = -1,
                           .apart = apart,
                           .most = head->ops->launches_max};
    c->says = arms[ROLE_BASE].used ? ROLE_BASE : ROLE_HEAD;
    c->at = xcalloc((size_t)c->most * CONTENTS_MAX, sizeof(*c->at));
    c->blocks = xcalloc(c->most, sizeof(*c->blocks));
    struct error why;
    if (take_contents(c, &why))
        return series_refuse(state, c->says, MEASURED_UNBUILDABLE, "%.500s", why.text);
    // Memory for a set, for the data to restore, for what base and head leave, and for what was
    // there before a launch.
    const double wanted = (c->apart ? 5 : 4) * (double)set_bytes(c);
    const double room = (double)c->ops->free_bytes(c->device);
    if (wanted > room)
        return series_refuse(
            state, c->says, MEASURED_UNSUPPORTED,
            "its buffers, what is written back to them and what launches leave hold %.0f MiB, and "
            "the device has %.0f",
            wanted / 0x1p20, room / 0x1p20);
    int stop = add_set(c, err) ? -1 : bind(c, state, err);
    if (stop || (stop = find_wanted(c, state, err)) || (stop = find_repeats(c, state, err)))
        return stop;
    return c->says == ROLE_BASE ? hold_head(c, state, err) : 0;
}

// Whether launches of both are given the same places in the same order.
static bool same_order(const struct record *a, const struct record *b)
{
    bool same = a->launch_count == b->launch_count;
    for (size_t l = 0; same && l < a->launch_count; l++) {
        const struct record_launch *one = &a->launches[l], *other = &b->launches[l];
        same = one->address_count == other->address_count && one->map_count == other->map_count;
        for (uint32_t i = 0; same && i < one->address_count; i++)
            same = one->addresses[i].buffer == other->addresses[i].buffer &&
                   one->addresses[i].offset == other->addresses[i].offset;
        for (uint32_t i = 0; same && i < one->map_count; i++)
            same = one->maps[i].buffer == other->maps[i].buffer &&
                   one->maps[i].offset == other->maps[i].offset;
    }
    return same;
}

// If the head's results are not where the base's are, they may be elsewhere: among the same places,
// but given to launches in another order. It is then not known which place is which. So if its
// program also filled its inputs in another way, the head is not judged.
int captured_open(struct captured **out, struct arm arms[2], struct series_state *state,
                  struct error *err)
{
    struct series_state elsewhere = *state;
    const int stop = open_as(out, arms, false, state, err);
    if (stop <= 0 || !(*out)->misplaced ||
        same_order(arm_record(&arms[ROLE_BASE]), arm_record(&arms[ROLE_HEAD])))
        return stop;
    captured_free(*out);
    *arms[ROLE_HEAD].note = '\0';
    const int again = open_as(out, arms, true, &elsewhere, err);
    if (again == 0 || (*out)->unlike)
        *state = elsewhere;
    return again > 0 ? stop : again;
}

void captured_free(struct captured *c)
{
    if (!c)
        return;
    for (uint32_t set = 0; set < c->sets; set++)
        c->ops->free(c->device, c->blocks[set]);
    c->ops->free(c->device, c->pristine);
    for (size_t i = 0; i < c->count; i++) {
        const struct content *content = &c->contents[i];
        munmap((void *)(uintptr_t)content->before, content->bytes);
        if (content->after)
            munmap((void *)(uintptr_t)content->after, content->bytes);
    }
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        c->ops->free(c->device, c->left[role]);
        free(c->tensors[role].items);
    }
    free(c->wanted);
    free(c->at);
    free(c->blocks);
    free(c);
}
