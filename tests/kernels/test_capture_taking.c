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
static unsigned char memory[2][BYTES]; // of the device

// ---- the driver's stand-in ----

static CUresult get_range(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
    for (int i = 0; i < 2; i++) {
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

static const struct driver stand_in = {.cuMemGetAddressRange = get_range,
                                       .cuMemcpy = copy,
                                       .cuCtxSynchronize = synchronize,
                                       .cuCtxGetDevice = get_device,
                                       .cuThreadExchangeStreamCaptureMode = exchange,
                                       .cuPointerGetAttribute = get_attribute};

// ---- launches ----

// A launch that writes this byte to the second allocation, once it was taken down.
static void launch(const char *name, unsigned char writes)
{
    static struct record_parameter parameters[] = {{0, 8}, {8, 8}};
    static const struct record_image image = {(const unsigned char *)"x", 1};
    struct function function = {.name = name,
                                .image = &image,
                                .parameters = parameters,
                                .parameter_count = 2,
                                .parameter_bytes = 16};
    static struct seen seen;
    const uint64_t words[] = {(uintptr_t)memory[0], (uintptr_t)memory[1]};
    seen = (struct seen)SEEN_NONE;
    seen.function = &function;
    seen.size = sizeof(words);
    memcpy(seen.bytes, words, sizeof(words));
    taking_launch(&seen, STREAM_LEGACY);
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

#else
int main(void)
{
    return program_skipped("CUDA", "its toolkit's headers are not here");
}
#endif
