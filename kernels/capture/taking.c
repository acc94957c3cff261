// SPDX-License-Identifier: Apache-2.0
//
// Records launches: their parameters, with the allocations that these point into, and the content
// of each allocation before the first launch that was given it and after the last launch.
#include "kernels/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORD = 8, MAP_ALIGN = 64, MAPS_KEPT = 4096 };
static const size_t chunk_bytes = (size_t)64 << 20;

const char *driver_error(const struct driver *of, CUresult code)
{
    static _Thread_local char number[32];
    const char *name;
    if (of->cuGetErrorName(code, &name) == CUDA_SUCCESS)
        return name;
    snprintf(number, sizeof(number), "error %d", (int)code);
    return number;
}

bool allocation_of(uint64_t word, CUdeviceptr *base, size_t *bytes)
{
    static const uint64_t least = 1 << 16, most = (uint64_t)1 << 49;
    return word >= least && word < most &&
           driver->cuMemGetAddressRange(base, bytes, word) == CUDA_SUCCESS && *bytes;
}

// ---- TMA descriptors, by their bytes ----

static struct made {
    unsigned char bytes[RECORD_MAP_BYTES];
    struct record_map map;
    uint64_t address;
} * maps_made;
static size_t made_count;

void map_made(const CUtensorMap *made, const struct record_map *from, uint64_t address)
{
    if (!maps_made)
        maps_made = xcalloc(MAPS_KEPT, sizeof(*maps_made));
    struct made *to = &maps_made[made_count++ % MAPS_KEPT];
    memcpy(to->bytes, made, sizeof(to->bytes));
    to->map = *from;
    to->address = address;
}

static const struct made *map_of(const unsigned char *bytes)
{
    const size_t count = made_count < MAPS_KEPT ? made_count : MAPS_KEPT;
    for (size_t i = 0; i < count; i++) {
        if (memcmp(maps_made[i].bytes, bytes, RECORD_MAP_BYTES) == 0)
            return &maps_made[i];
    }
    return NULL;
}

// ---- words that no record can hold ----

static struct foreign_word {
    uint64_t word;
    const char *what;
} * foreigners;
static size_t foreign_count, foreign_room;

void foreign_made(uint64_t word, const char *what)
{
    foreigners = xgrow(foreigners, foreign_count, &foreign_room, sizeof(*foreigners));
    foreigners[foreign_count++] = (struct foreign_word){word, what};
}

static const char *foreign_of(uint64_t word)
{
    for (size_t i = 0; i < foreign_count; i++) {
        if (foreigners[i].word == word)
            return foreigners[i].what;
    }
    return NULL;
}

// ---- the recording in progress ----

struct held_memory {
    CUdeviceptr base;
    size_t bytes;
    unsigned char *before; // the file's bytes, mapped into memory
};

enum { SHAPES_MOST = 16 };
// Launches that differ only in their pointers; each such shape becomes a record.
struct launch_shape {
    uint64_t key, seen;
    bool named;     // a range has named its problem
    bool kept;      // there is a record of this shape,
    uint32_t take;  // with this number,
    size_t files;   // which has the contents of so many allocations,
    uint64_t bytes; // with so many bytes
};

// The launches that precede a stream's next launch or an event, by their index in the record; the
// last one of each other stream stands for those before it.
struct marks {
    uint32_t count, at[RECORD_STREAMS_MAX];
};
struct stream {
    uint64_t key;
    bool blocking;                      // this stream and the legacy stream wait for each other
    int32_t last;                       // index of its last launch; -1: none
    struct marks due;                   // what its next launch must wait for
    int32_t behind[RECORD_STREAMS_MAX]; // for each stream, the last launch that this one has waited
                                        // for; -1: none
};
enum { EVENTS_MOST = 1024 };
struct marked_event {
    uint64_t key;
    struct marks marks;
};

struct taking {
    bool now, named, better; // better: it replaces an earlier record in any case
    struct launch_shape *shape;
    struct arena arena;
    struct record record;
    struct held_memory held[RECORD_CAPTURED_MAX];
    uint64_t bytes; // bytes of all allocations that are held
    const struct record_image *images[RECORD_LAUNCHES_MAX];
    struct stream streams[RECORD_STREAMS_MAX];
    uint32_t stream_count;
    struct marked_event events[EVENTS_MOST];
    uint32_t event_count;
    struct marks host; // what the host has waited for; everything that it queues later comes after
                       // that
    char refused[512];
};

// The state of each wish. Several wishes may record the same launches, each from its own first one
// on.
static struct wished {
    const struct wish *wish;
    struct taking taking;
    struct launch_shape shapes[SHAPES_MOST];
    size_t shape_count;
    uint32_t takes;
    char taken[64], refused[512];
    bool begun;
} all[WISHES_MOST], *of = all; // of: the present wish

const char *taken_file(size_t wish)
{
    return all[wish].begun ? all[wish].taken : NULL;
}

const char *taken_refused(size_t wish)
{
    return all[wish].refused;
}

bool taking_now(size_t wish)
{
    return all[wish].taking.now;
}

// Moves to the next wish after `wish` that is recording. False: there is none.
static bool next_taking(size_t *wish)
{
    while (*wish < wish_count && !all[*wish].taking.now)
        ++*wish;
    of = &all[*wish < wish_count ? *wish : 0];
    return *wish < wish_count;
}

bool taking_any(void)
{
    size_t wish = 0;
    return next_taking(&wish);
}

static void PRINTF_LIKE(1, 2) refuse(const char *format, ...)
{
    va_list args;
    if (of->taking.refused[0])
        return;
    va_start(args, format);
    vsnprintf(of->taking.refused, sizeof(of->taking.refused), format, args);
    va_end(args);
}

void taking_refuse(const char *format, ...)
{
    char why[sizeof(of->taking.refused)];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    for (size_t wish = 0; next_taking(&wish); wish++)
        refuse("%s", why);
}

static struct launch_shape *shape_of(uint64_t key)
{
    size_t i = 0;
    while (i < of->shape_count && of->shapes[i].key != key)
        i++;
    if (i == SHAPES_MOST)
        return NULL;
    if (i == of->shape_count)
        of->shapes[of->shape_count++] = (struct launch_shape){.key = key};
    return &of->shapes[i];
}

bool taking_begin(size_t wish, uint64_t key, const struct problem *problem)
{
    of = &all[wish];
    of->wish = &wishes[wish];
    struct launch_shape *shape = shape_of(key);
    if (!shape && !of->refused[0])
        snprintf(of->refused, sizeof(of->refused), "of more shapes than %d, those behind the first",
                 SHAPES_MOST);
    if (!shape || (key && ++shape->seen > 2 && (shape->named || !problem)))
        return false;
    of->taking.named = problem;
    of->taking.better = !shape->kept || (problem && !shape->named);
    of->begun = of->taking.now = true;
    of->taking.shape = shape;
    of->takes++;
    if (problem)
        of->taking.record.problem = *problem;
    else
        problem_parse(&of->taking.record.problem, "capture=1", &(struct error){{0}});
    of->taking.record.launches =
        arena_alloc(&of->taking.arena, RECORD_LAUNCHES_MAX * sizeof(*of->taking.record.launches));
    of->taking.record.images =
        arena_alloc(&of->taking.arena, RECORD_LAUNCHES_MAX * sizeof(*of->taking.record.images));
    of->taking.record.contents =
        arena_alloc(&of->taking.arena, RECORD_CAPTURED_MAX * sizeof(*of->taking.record.contents));
    return true;
}

// ---- streams ----

static uint32_t stream_at(uint32_t launch)
{
    return of->taking.record.launches[launch].stream;
}

// Adds a launch; of launches on one stream only the latest is kept.
static void mark(struct marks *marks, uint32_t launch)
{
    uint32_t i = 0;
    while (i < marks->count && stream_at(marks->at[i]) != stream_at(launch))
        i++;
    if (i == marks->count)
        marks->at[marks->count++] = launch;
    else if (launch > marks->at[i])
        marks->at[i] = launch;
}

static void mark_all(struct marks *marks, const struct marks *from)
{
    for (uint32_t i = 0; i < from->count; i++)
        mark(marks, from->at[i]);
}

static struct stream *stream_of(uint64_t key)
{
    uint32_t i = 0;
    unsigned flags = 0;
    while (i < of->taking.stream_count && of->taking.streams[i].key != key)
        i++;
    struct stream *s = &of->taking.streams[i < RECORD_STREAMS_MAX ? i : 0];
    if (i == RECORD_STREAMS_MAX)
        refuse("its launches are on more than %d streams", RECORD_STREAMS_MAX);
    else if (i == of->taking.stream_count) {
        const bool own = key == STREAM_LEGACY || key == STREAM_PER_THREAD || key & STREAM_OF_GRAPH;
        if (!own && driver->cuStreamGetFlags((CUstream)(uintptr_t)key, &flags) != CUDA_SUCCESS)
            flags = 0;
        *s = (struct stream){.key = key,
                             .blocking =
                                 !(key & STREAM_OF_GRAPH) && !(flags & CU_STREAM_NON_BLOCKING),
                             .last = -1};
        memset(s->behind, -1, sizeof(s->behind));
        of->taking.stream_count++;
    }
    return s;
}

// Adds everything on a stream: its last launch, and what its next one must wait for.
static void mark_stream(struct marks *marks, const struct stream *s)
{
    if (s->last >= 0)
        mark(marks, (uint32_t)s->last);
    mark_all(marks, &s->due);
}

static struct marked_event *event_of(uint64_t key)
{
    uint32_t i = 0;
    while (i < of->taking.event_count && of->taking.events[i].key != key)
        i++;
    if (i == EVENTS_MOST) {
        refuse("more than %d events are among its launches", EVENTS_MOST);
        return &of->taking.events[0];
    }
    if (i == of->taking.event_count)
        of->taking.events[of->taking.event_count++] = (struct marked_event){.key = key};
    return &of->taking.events[i];
}

static void note_order(enum order what, uint64_t event, uint64_t stream)
{
    if (of->taking.refused[0])
        return;
    if (what == ORDER_EVENT) {
        struct marks marks = {0};
        mark_stream(&marks, stream_of(stream));
        event_of(event)->marks = marks;
    } else if (what == ORDER_WAIT) {
        mark_all(&stream_of(stream)->due, &event_of(event)->marks);
    } else if (event) {
        mark_all(&of->taking.host, &event_of(event)->marks);
    } else {
        for (uint32_t i = 0; i < of->taking.stream_count; i++) {
            if (!stream || of->taking.streams[i].key == stream)
                mark_stream(&of->taking.host, &of->taking.streams[i]);
        }
    }
}

void taking_order(enum order what, uint64_t event, uint64_t stream)
{
    for (size_t wish = 0; next_taking(&wish); wish++)
        note_order(what, event, stream);
}

// Sets, for the launch that was added last, its stream and what it waits for that its stream has
// not waited for before.
static void settle_order(struct record_launch *launch, uint64_t key)
{
    struct stream *s = stream_of(key);
    const uint32_t own = (uint32_t)(s - of->taking.streams);
    launch->stream = own;
    for (uint32_t i = 0; i < of->taking.stream_count; i++) {
        const struct stream *other = &of->taking.streams[i];
        const bool legacy = key == STREAM_LEGACY || other->key == STREAM_LEGACY;
        if (i != own && legacy && s->blocking && other->blocking && other->last >= 0)
            mark(&s->due, (uint32_t)other->last);
    }
    mark_all(&s->due, &of->taking.host);
    launch->after = arena_alloc(&of->taking.arena, RECORD_STREAMS_MAX * sizeof(*launch->after));
    for (uint32_t i = 0; i < s->due.count; i++) {
        const uint32_t at = s->due.at[i], on = stream_at(at);
        if (on == own || s->behind[on] >= (int32_t)at)
            continue;
        s->behind[on] = (int32_t)at;
        launch->after[launch->after_count++] = at;
    }
    s->due.count = 0;
    s->last = (int32_t)(launch - of->taking.record.launches);
}

// The file name for the content of allocation `which`, before or after the launches of a recording.
static const char *content_name(uint32_t take, size_t which, const char *when, struct arena *arena)
{
    return arena_printf(arena, "%d.%u.%zu.%s", (int)getpid(), take, which, when);
}

static void remove_contents(uint32_t take, size_t count)
{
    static const char *const times[] = {"before", "after"};
    for (size_t i = 0; i < 2 * count; i++) {
        char *path = xprintf("%s/%s", of->wish->folder,
                             content_name(take, i / 2, times[i % 2], &of->taking.arena));
        unlink(path);
        free(path);
    }
}

// Makes a file in the folder PLUMB_CAPTURE and maps it.
static unsigned char *new_file(const char *name, size_t bytes)
{
    char *path = xprintf("%s/%s", of->wish->folder, name);
    void *at = MAP_FAILED;
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || posix_fallocate(file, 0, (off_t)bytes) ||
        (at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
        refuse("%s: %s", path, strerror(errno ? errno : ENOSPC));
    if (file >= 0)
        close(file);
    free(path);
    return at == MAP_FAILED ? NULL : at;
}

static bool wait_for_device(void)
{
    const CUresult code = driver->cuCtxSynchronize();
    if (code != CUDA_SUCCESS)
        refuse("waiting for the device: %s", driver_error(driver, code));
    return code == CUDA_SUCCESS;
}

static void copy_out(void *to, CUdeviceptr from, size_t bytes)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    const CUresult code = driver->cuMemcpy((CUdeviceptr)(uintptr_t)to, from, bytes);
    driver->cuThreadExchangeStreamCaptureMode(&mode);
    if (code != CUDA_SUCCESS)
        refuse("copying %zu bytes from the device: %s", bytes, driver_error(driver, code));
}

// Why a record cannot hold an allocation's bytes; NULL: it can.
static const char *why_not(CUdeviceptr base, size_t bytes)
{
    int managed = 0, ordinal = -1;
    CUdevice here;
    CUmemorytype type = CU_MEMORYTYPE_DEVICE;
    for (size_t i = 0; i < foreign_count; i++) {
        if (foreigners[i].word - base < bytes)
            return foreigners[i].what;
    }
    driver->cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, base);
    driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base);
    driver->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base);
    if (managed || type != CU_MEMORYTYPE_DEVICE)
        return managed ? "managed memory" : "memory of the host";
    return ordinal >= 0 && driver->cuCtxGetDevice(&here) == CUDA_SUCCESS && here != ordinal
               ? "memory of another device"
               : NULL;
}

// The bytes in the records of other shapes.
static uint64_t kept_bytes(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < of->shape_count; i++)
        sum += &of->shapes[i] == of->taking.shape ? 0 : of->shapes[i].bytes;
    return sum;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// Returns the number of an allocation, whose content is saved when it is first asked for. -1: that
// is not possible.
static int hold(CUdeviceptr base, size_t bytes)
{
    const size_t count = of->taking.record.content_count;
    for (size_t i = 0; i < count; i++) {
        if (of->taking.held[i].base == base)
            return (int)i;
    }
    const char *why = why_not(base, bytes);
    if (why)
        refuse("a parameter points into %s", why);
    else if (count == RECORD_CAPTURED_MAX)
        refuse("it is given more than %d allocations", RECORD_CAPTURED_MAX);
    else if (bytes > of->wish->limit - least(of->wish->limit, of->taking.bytes + kept_bytes()))
        refuse("its allocations hold more than %llu bytes, the limit",
               (unsigned long long)of->wish->limit);
    if (of->taking.refused[0] || !wait_for_device())
        return -1;
    struct record_content *content = &of->taking.record.contents[count];
    content->bytes = bytes;
    content->before = content_name(of->takes, count, "before", &of->taking.arena);
    of->taking.held[count] = (struct held_memory){base, bytes, new_file(content->before, bytes)};
    if (!of->taking.held[count].before)
        return -1;
    of->taking.record.content_count++;
    of->taking.bytes += bytes;
    copy_out(of->taking.held[count].before, base, bytes);
    return (int)count;
}

// Converts a word into an address relative to a saved allocation. False: it is no address.
static bool address_at(struct record_address *out, uint32_t at, uint64_t word)
{
    CUdeviceptr base;
    size_t bytes;
    if (!allocation_of(word, &base, &bytes) && !allocation_of(word - 1, &base, &bytes))
        return false;
    const int which = hold(base, bytes);
    *out = (struct record_address){
        at, (enum record_buffer)(RECORD_CAPTURED + (which < 0 ? 0 : which)), word - base};
    return true;
}

static void find_map(struct record_launch *launch, uint32_t at, const struct made *made)
{
    struct record_address address;
    if (!address_at(&address, at, made->address)) {
        refuse("a TMA descriptor is of memory that is no allocation");
        return;
    }
    struct record_map map = made->map;
    map.at = at;
    map.buffer = address.buffer;
    map.offset = address.offset;
    launch->maps[launch->map_count++] = map;
}

// Looks for descriptors at multiples of 64 bytes, and for addresses at multiples of 8.
static void find_addresses(struct record_launch *launch)
{
    const uint32_t words = launch->size / WORD + 1;
    launch->addresses = arena_alloc(&of->taking.arena, words * sizeof(*launch->addresses));
    launch->maps = arena_alloc(&of->taking.arena,
                               (launch->size / RECORD_MAP_BYTES + 1) * sizeof(*launch->maps));
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        const uint32_t first = launch->parameters[p].offset;
        const uint32_t end = first + launch->parameters[p].bytes;
        for (uint32_t at = (first + WORD - 1) / WORD * WORD; at + WORD <= end;) {
            const struct made *made = at % MAP_ALIGN == 0 && at + RECORD_MAP_BYTES <= end
                                          ? map_of(launch->bytes + at)
                                          : NULL;
            uint64_t word;
            memcpy(&word, launch->bytes + at, sizeof(word));
            if (made)
                find_map(launch, at, made);
            else if (address_at(&launch->addresses[launch->address_count], at, word))
                launch->address_count++;
            else if (word && foreign_of(word))
                refuse("a parameter is %s", foreign_of(word));
            at += made ? RECORD_MAP_BYTES : WORD;
        }
    }
}

// The index, from 1, of an image in the record.
static uint32_t image_of(const struct record_image *image)
{
    struct record *record = &of->taking.record;
    for (size_t i = 0; i < record->image_count; i++) {
        if (of->taking.images[i] == image)
            return (uint32_t)i + 1;
    }
    of->taking.images[record->image_count] = image;
    record->images[record->image_count++] = *image;
    return (uint32_t)record->image_count;
}

static struct record_launch *new_launch(void)
{
    struct record *record = &of->taking.record;
    if (record->launch_count == RECORD_LAUNCHES_MAX) {
        refuse("it has more than %d launches", RECORD_LAUNCHES_MAX);
        return NULL;
    }
    return &record->launches[record->launch_count++];
}

static void take_launch(const struct seen *seen, uint64_t stream)
{
    const struct function *f = seen->function;
    if (seen->refused)
        refuse("%s: %s", f->name, seen->refused);
    struct record_launch *launch = of->taking.refused[0] ? NULL : new_launch();
    if (!launch)
        return;
    *launch =
        (struct record_launch){.kind = RECORD_KERNEL,
                               .function = arena_strdup(&of->taking.arena, f->name),
                               .shared_bytes = seen->shared_bytes,
                               .image = image_of(f->image),
                               .cooperative = seen->cooperative,
                               .programmatic = seen->programmatic,
                               .carveout = seen->carveout,
                               .parameters = f->parameters,
                               .parameter_count = f->parameter_count,
                               .bytes = arena_copy(&of->taking.arena, seen->bytes, seen->size),
                               .size = seen->size};
    memcpy(launch->grid, seen->grid, sizeof(launch->grid));
    memcpy(launch->block, seen->block, sizeof(launch->block));
    memcpy(launch->cluster, seen->cluster, sizeof(launch->cluster));
    find_addresses(launch);
    settle_order(launch, stream);
}

void taking_launch(const struct seen *seen, uint64_t stream)
{
    for (size_t wish = 0; next_taking(&wish); wish++)
        take_launch(seen, stream);
}

static void take_transfer(const struct record_launch *transfer, const uint64_t *addresses,
                          uint64_t stream)
{
    static struct record_parameter words[] = {{0, WORD}, {WORD, WORD}};
    struct record_launch *launch = of->taking.refused[0] ? NULL : new_launch();
    const uint32_t count = transfer->kind == RECORD_MEMSET ? 1 : 2;
    struct record_address places[2];
    if (!launch)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (!address_at(&places[i], i * WORD, addresses[i])) {
            refuse("a %s is of memory that is no allocation",
                   transfer->kind == RECORD_MEMSET ? "memset" : "copy");
            return;
        }
    }
    *launch = *transfer;
    launch->parameters = words;
    launch->parameter_count = launch->address_count = count;
    launch->size = count * WORD;
    launch->bytes = arena_copy(&of->taking.arena, addresses, launch->size);
    launch->addresses = arena_copy(&of->taking.arena, places, count * sizeof(*places));
    settle_order(launch, stream);
}

void taking_transfer(const struct record_launch *transfer, const uint64_t *addresses,
                     uint64_t stream)
{
    for (size_t wish = 0; next_taking(&wish); wish++)
        take_transfer(transfer, addresses, stream);
}

// ---- the end of a recording ----

// Writes the present content of an allocation if it differs from the earlier one.
static void compare(size_t which)
{
    struct held_memory *held = &of->taking.held[which];
    struct record_content *content = &of->taking.record.contents[which];
    unsigned char *now = xcalloc(held->bytes < chunk_bytes ? held->bytes : chunk_bytes, 1);
    unsigned char *after = NULL;
    for (size_t at = 0; at < held->bytes && !of->taking.refused[0]; at += chunk_bytes) {
        const size_t size = held->bytes - at < chunk_bytes ? held->bytes - at : chunk_bytes;
        copy_out(now, held->base + at, size);
        if (!after && memcmp(now, held->before + at, size) != 0) {
            content->after = content_name(of->takes, which, "after", &of->taking.arena);
            after = new_file(content->after, held->bytes);
            if (after)
                memcpy(after, held->before, at);
        }
        if (after)
            memcpy(after + at, now, size);
    }
    free(now);
    if (after)
        munmap(after, held->bytes);
}

// Makes the name "record.PID", for the second shape "record.PID.2".
static void name_record(char *out, size_t size)
{
    const size_t nth = (size_t)(of->taking.shape - of->shapes) + 1;
    if (nth == 1)
        snprintf(out, size, "record.%d", (int)getpid());
    else
        snprintf(out, size, "record.%d.%zu", (int)getpid(), nth);
}

// Writes the record, and removes an earlier one of this shape.
static void write_record(void)
{
    struct buffer text = {0};
    struct launch_shape *shape = of->taking.shape;
    char name[64];
    name_record(name, sizeof(name));
    char *path = xprintf("%s/%s", of->wish->folder, name);
    char *begun_as = xprintf("%s.new", path);
    record_print(&text, &of->taking.record);
    FILE *file = fopen(begun_as, "wb");
    const bool written = file && fwrite(text.bytes, 1, text.length, file) == text.length;
    if ((file && fclose(file)) || !written || rename(begun_as, path)) {
        refuse("%s: %s", path, strerror(errno));
    } else {
        if (shape->kept)
            remove_contents(shape->take, shape->files);
        shape->kept = true;
        shape->named = of->taking.named;
        shape->take = of->takes;
        shape->files = of->taking.record.content_count;
        shape->bytes = of->taking.bytes;
        text_copy(of->taken, sizeof(of->taken), name);
    }
    free(begun_as);
    free(path);
    buffer_free(&text);
}

static bool has_changed(void)
{
    bool changed = false;
    for (size_t i = 0; i < of->taking.record.content_count; i++)
        changed |= of->taking.record.contents[i].after != NULL;
    return changed;
}

// A recording that changes nothing is worth less than the one before it, because its results were
// there already.
void taking_end(size_t wish)
{
    of = &all[wish];
    of->taking.now = false;
    text_copy(of->taking.record.kernel, sizeof(of->taking.record.kernel), "capture");
    if (!of->taking.record.launch_count)
        refuse("no kernel was launched in it");
    for (size_t i = 0; i < of->taking.record.content_count && !of->taking.refused[0]; i++) {
        if (wait_for_device())
            compare(i);
    }
    for (size_t i = 0; i < of->taking.record.content_count; i++)
        munmap(of->taking.held[i].before, of->taking.held[i].bytes);
    if (!of->taking.refused[0] &&
        (of->taking.better || (has_changed() && of->taking.named == of->taking.shape->named)))
        write_record();
    if (of->taking.shape->take != of->takes)
        remove_contents(of->takes, of->taking.record.content_count);
    if (!of->taking.shape->kept && !of->refused[0])
        text_copy(of->refused, sizeof(of->refused), of->taking.refused);
    arena_free(&of->taking.arena);
    of->taking = (struct taking){0};
}
