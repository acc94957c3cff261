// SPDX-License-Identifier: Apache-2.0
//
// What is taken down of a program's launches, on a stand-in for its driver: several sections of a
// policy each have theirs, also where one begins within another's.
#include "tests/helpers/test.h"

#ifdef TEST_CUDA_HEADERS
#include "kernels/capture/capture.h"
#include "tests/helpers/helper_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wish wishes[WISHES_MOST];
size_t wish_count;
const struct driver *driver;

enum { BYTES = 4096 };
static unsigned char memory[3][BYTES]; // of the device

// ---- the driver's stand-in ----

static CUresult get_range(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
    for (int i = 0; i < 3; i++) {
        const CUdeviceptr from = (CUdeviceptr)(uintptr_t)memory[i];
        if (at >= from && at < from + BYTES) {
            *base = from;
            *size = BYTES;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
    return CUDA_SUCCESS;
}

static CUresult exchange(CUstreamCaptureMode *mode)
{
    (void)mode;
    return CUDA_SUCCESS;
}

static CUresult get_attribute(void *out, CUpointer_attribute which, CUdeviceptr at)
{
    (void)at;
    *(int *)out = which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE : 0;
    return CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

static CUresult error_name(CUresult code, const char **name)
{
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return code == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static const struct driver stand_in = {.cuMemGetAddressRange = get_range,
                                       .cuMemcpy = copy,
                                       .cuGetErrorName = error_name,
                                       .cuCtxSynchronize = synchronize,
                                       .cuCtxGetDevice = get_device,
                                       .cuThreadExchangeStreamCaptureMode = exchange,
                                       .cuPointerGetAttribute = get_attribute};

// ---- launches ----

// A launch that is given these bytes, in one parameter or in words.
static void launch_given(const char *name, const void *bytes, uint32_t size, bool in_words)
{
    static struct record_parameter words[] = {{0, 8}, {8, 8}};
    static const struct record_image image = {(const unsigned char *)"x", 1};
    static struct record_parameter whole; // as a module's, it outlives the launch
    whole = (struct record_parameter){0, size};
    struct function function = {.name = name,
                                .image = &image,
                                .parameters = in_words ? words : &whole,
                                .parameter_count = in_words ? size / 8 : 1,
                                .parameter_bytes = size};
    static struct seen seen;
    seen = (struct seen)SEEN_NONE;
    seen.function = &function;
    seen.size = size;
    memcpy(seen.bytes, bytes, size);
    taking_launch(&seen, STREAM_LEGACY);
}

// A launch that writes this byte to the second allocation, once it was taken down.
static void launch(const char *name, unsigned char writes)
{
    const uint64_t words[] = {(uintptr_t)memory[0], (uintptr_t)memory[1]};
    launch_given(name, words, sizeof(words), true);
    memset(memory[1], writes, BYTES);
}

static char *begin(size_t wish)
{
    char *folder = helper_directory();
    wishes[wish] = (struct wish){.folder = folder, .limit = 1 << 20};
    return folder;
}

static void read_taken(struct record *out, size_t wish, struct arena *arena)
{
    struct error err;
    size_t size;
    assert_string_equal(taken_refused(wish), "");
    char *path = xprintf("%s/%s", wishes[wish].folder, taken_file(wish));
    char *text = helper_read(path, &size);
    if (record_parse(out, arena_copy(arena, text, size), size, arena, &err))
        fail_msg("%s", err.text);
    free(text);
    free(path);
}

// What the content's file begins with.
static unsigned char first_byte(size_t wish, const char *name)
{
    size_t size;
    char *path = xprintf("%s/%s", wishes[wish].folder, name);
    char *bytes = helper_read(path, &size);
    const unsigned char first = (unsigned char)*bytes;
    assert_int_equal(size, BYTES);
    free(bytes);
    free(path);
    return first;
}

// A range, a kernel within it, and one behind both: the kernel's contents are of before its own
// launch, and the range's of before the range.
TEST(wishes_are_taken_beside_each_other)
{
    struct arena arena = {0};
    struct record range, kernel, last;
    char *folders[] = {begin(0), begin(1), begin(2)};
    wish_count = 3;
    driver = &stand_in;
    assert_false(taking_any());
    assert_true(taking_begin(0, 1, NULL));
    launch("first", 1);
    assert_true(taking_now(0) && !taking_now(1));
    assert_true(taking_begin(1, 3, NULL));
    launch("second", 2);
    taking_end(1);
    launch("third", 3);
    taking_end(0);
    assert_false(taking_any());
    assert_true(taking_begin(2, 5, NULL));
    launch("fourth", 4);
    taking_end(2);
    read_taken(&range, 0, &arena);
    read_taken(&kernel, 1, &arena);
    read_taken(&last, 2, &arena);
    assert_int_equal(range.launch_count, 3);
    assert_string_equal(range.launches[1].function, "second");
    assert_int_equal(kernel.launch_count, 1);
    assert_string_equal(kernel.launches[0].function, "second");
    assert_string_equal(last.launches[0].function, "fourth");
    assert_int_equal(first_byte(0, range.contents[1].before), 0);
    assert_int_equal(first_byte(0, range.contents[1].after), 3);
    assert_int_equal(first_byte(1, kernel.contents[1].before), 1);
    assert_int_equal(first_byte(1, kernel.contents[1].after), 2);
    assert_int_equal(first_byte(2, last.contents[1].before), 3);
    arena_free(&arena);
    for (int i = 0; i < 3; i++)
        free(folders[i]);
}

// A call that no record holds is refused for those that it is among, and for no other.
TEST(what_is_refused_is_refused_where_it_is_among_launches)
{
    char *folders[] = {begin(3), begin(4)};
    wish_count = 5;
    driver = &stand_in;
    assert_true(taking_begin(3, 1, NULL));
    launch("first", 5);
    taking_refuse("%s was called among its launches", "cuLaunchHostFunc");
    assert_true(taking_begin(4, 1, NULL));
    launch("second", 6);
    taking_end(4);
    taking_end(3);
    assert_string_equal(taken_refused(3), "cuLaunchHostFunc was called among its launches");
    assert_string_equal(taken_file(3), "");
    assert_string_equal(taken_refused(4), "");
    assert_non_null(strstr(taken_file(4), "record."));
    free(folders[0]);
    free(folders[1]);
}

static char *begin_alone(size_t wish)
{
    char *wanted = begin(wish);
    wish_count = wish + 1;
    driver = &stand_in;
    assert_true(taking_begin(wish, 1, NULL));
    return wanted;
}

// A memset on a second stream that waits for the first launch, and a copy behind it.
TEST(transfers_among_launches_are_recorded_with_what_they_wait_for)
{
    const uint64_t other = STREAM_OF_GRAPH | 1;
    const struct record_launch set = {
        .kind = RECORD_MEMSET, .value = 8, .element_bytes = 1, .width = BYTES, .height = 1};
    const struct record_launch move = {
        .kind = RECORD_COPY, .element_bytes = 1, .width = 64, .height = 1};
    const uint64_t set_at[] = {(uintptr_t)memory[1]};
    const uint64_t move_at[] = {(uintptr_t)memory[1] + 64, (uintptr_t)memory[0]};
    struct arena arena = {0};
    struct record record;
    char *folder = begin_alone(5);
    launch("first", 7);
    taking_order(ORDER_EVENT, 9, STREAM_LEGACY);
    taking_order(ORDER_WAIT, 9, other);
    taking_transfer(&set, set_at, other);
    taking_transfer(&move, move_at, other);
    taking_end(5);
    read_taken(&record, 5, &arena);
    assert_int_equal(record.launch_count, 3);
    const struct record_launch *memset_of = &record.launches[1], *copy_of = &record.launches[2];
    assert_int_equal(memset_of->kind, RECORD_MEMSET);
    assert_int_equal(memset_of->value, 8);
    assert_int_equal(memset_of->addresses[0].buffer, RECORD_CAPTURED + 1);
    assert_int_not_equal(memset_of->stream, record.launches[0].stream);
    assert_int_equal(memset_of->after_count, 1);
    assert_int_equal(memset_of->after[0], 0);
    assert_int_equal(copy_of->kind, RECORD_COPY);
    assert_int_equal(copy_of->after_count, 0); // its stream has waited already
    assert_int_equal(copy_of->addresses[0].buffer, RECORD_CAPTURED + 1);
    assert_int_equal(copy_of->addresses[0].offset, 64);
    assert_int_equal(copy_of->addresses[1].buffer, RECORD_CAPTURED);
    arena_free(&arena);
    free(folder);
}

// The process that replays must make the descriptor anew, for its own address.
TEST(a_descriptor_that_the_program_made_is_recorded_as_one)
{
    const struct record_map from = {.rank = 1, .dims = {1024}, .box = {64}, .elements = {1}};
    struct arena arena = {0};
    struct record record;
    CUtensorMap made;
    memset(&made, 0x11, sizeof(made));
    map_made(&made, &from, (uintptr_t)memory[0] + 256);
    char *folder = begin_alone(6);
    launch_given("tiled", &made, sizeof(made), false);
    taking_end(6);
    read_taken(&record, 6, &arena);
    assert_int_equal(record.launches[0].map_count, 1);
    const struct record_map *map = &record.launches[0].maps[0];
    assert_int_equal(map->buffer, RECORD_CAPTURED);
    assert_int_equal(map->offset, 256);
    assert_int_equal(map->dims[0], 1024);
    arena_free(&arena);
    free(folder);
}

TEST(words_that_no_record_holds_are_refused_by_name)
{
    const uint64_t texture[] = {77, 0}, shared[] = {(uintptr_t)memory[2] + 8, 0};
    char *folders[2];
    foreign_made(77, "a texture");
    folders[0] = begin_alone(7);
    launch_given("reads", texture, sizeof(texture), true);
    taking_end(7);
    assert_string_equal(taken_refused(7), "a parameter is a texture");
    foreign_made((uintptr_t)memory[2], "memory of another process");
    folders[1] = begin_alone(8);
    launch_given("reads", shared, sizeof(shared), true);
    taking_end(8);
    assert_string_equal(taken_refused(8), "a parameter points into memory of another process");
    free(folders[0]);
    free(folders[1]);
}

TEST(an_error_is_said_by_its_name_or_its_number)
{
    assert_string_equal(driver_error(&stand_in, CUDA_ERROR_OUT_OF_MEMORY),
                        "CUDA_ERROR_OUT_OF_MEMORY");
    assert_string_equal(driver_error(&stand_in, (CUresult)77), "error 77");
}

#else
int main(void)
{
    return program_skipped("CUDA", "its toolkit's headers are not here");
}
#endif
