// SPDX-License-Identifier: Apache-2.0
//
// Records: which words of a launch are addresses, other addresses put in their place, and the file
// that holds them, also when it is hostile.
#include "model/record/record.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static int free_all(void **state)
{
    arena_free(&arena);
    return 0;
}

AROUND_EACH(NULL, free_all);

static const uint64_t lengths[RECORD_BUFFERS] = {
    [RECORD_A] = 1 << 20, [RECORD_B] = 2 << 20,     [RECORD_C] = 4 << 20,
    [RECORD_SCALE_A] = 4, [RECORD_WORKSPACE] = 512, [RECORD_GROUP_ROWS] = 128};

static struct record_launch kernel_of(uint32_t size)
{
    struct record_launch launch = {.kind = RECORD_KERNEL,
                                   .function = "_Z4gemmPKfS0_Pf",
                                   .grid = {132, 1, 1},
                                   .block = {384, 1, 1},
                                   .cluster = {2, 1, 1},
                                   .shared_bytes = 229376,
                                   .parameter_count = 1,
                                   .size = size};
    launch.parameters = arena_alloc(&arena, sizeof(*launch.parameters));
    launch.parameters[0] = (struct record_parameter){0, size};
    launch.bytes = arena_alloc(&arena, size);
    return launch;
}

static void put_word(struct record_launch *launch, uint32_t at, uint64_t word)
{
    memcpy(launch->bytes + at, &word, sizeof(word));
}

static uint64_t word_of(const unsigned char *bytes, uint32_t at)
{
    uint64_t word;
    memcpy(&word, bytes + at, sizeof(word));
    return word;
}

// Two captures of one launch whose parameters are: A, a number, C at byte 4096, the workspace.
static void captures(struct record_launch out[2], struct record_places places[2])
{
    record_made_up(places, lengths);
    for (int i = 0; i < 2; i++) {
        out[i] = kernel_of(36);
        put_word(&out[i], 0, places[i].address[RECORD_A]);
        put_word(&out[i], 8, 7168);
        put_word(&out[i], 16, places[i].address[RECORD_C] + 4096);
        put_word(&out[i], 24, places[i].address[RECORD_WORKSPACE]);
        out[i].bytes[32] = 42;
    }
}

TEST(words_that_move_with_a_buffer_are_its_addresses)
{
    struct record_places places[2];
    struct record_launch launch[2];
    struct error err;
    captures(launch, places);
    assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err), 0);
    assert_int_equal(launch[0].address_count, 3);
    const struct record_address wanted[] = {
        {0, RECORD_A, 0}, {16, RECORD_C, 4096}, {24, RECORD_WORKSPACE, 0}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(launch[0].addresses[i].at, wanted[i].at);
        assert_int_equal(launch[0].addresses[i].buffer, wanted[i].buffer);
        assert_int_equal(launch[0].addresses[i].offset, wanted[i].offset);
    }
}

// All but the first number lie in a second parameter.
TEST(words_of_every_parameter_are_looked_at)
{
    struct record_places places[2];
    struct record_launch launch[2];
    struct error err = {""};
    for (int wrong = 0; wrong < 2; wrong++) {
        captures(launch, places);
        for (int i = 0; i < 2; i++) {
            launch[i].parameter_count = 2;
            launch[i].parameters = arena_alloc(&arena, 2 * sizeof(*launch[i].parameters));
            launch[i].parameters[0] = (struct record_parameter){0, 16};
            launch[i].parameters[1] = (struct record_parameter){16, 20};
        }
        put_word(&launch[wrong], 24, places[wrong].address[RECORD_WORKSPACE] + (uint64_t)wrong);
        assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err),
                         -wrong);
        if (!wrong)
            assert_int_equal(launch[0].address_count, 3);
    }
    assert_non_null(strstr(err.text, "byte 8 of parameter 1"));
}

TEST(what_goes_with_addresses_but_is_none_is_refused)
{
    struct record_places places[2];
    struct record_launch launch[2];
    struct error err = {""};
    const uint64_t a = 0, c = RECORD_C;
    for (int kind = 0; kind < 5; kind++) {
        captures(launch, places);
        for (int i = 0; i < 2; i++) {
            const uint64_t sum = places[i].address[a] + places[i].address[c];
            const uint64_t words[] = {sum, places[i].address[a] >> 4, (uint64_t)i,
                                      places[i].address[c] + lengths[c] + 1, ~places[i].address[a]};
            put_word(&launch[i], 8, words[kind]);
        }
        assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err),
                         -1);
        assert_non_null(strstr(err.text, "byte 8 of parameter 0"));
    }
    // Behind the last whole word.
    captures(launch, places);
    launch[1].bytes[33] = 1;
    assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err), -1);
    // Another grid for other addresses.
    captures(launch, places);
    launch[1].grid[0] = 131;
    assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err), -1);
}

TEST(bound_launches_point_into_the_buffers_they_are_given)
{
    struct record_places places[2], here = {{0}, {0}};
    struct record_launch launch[2];
    struct error err;
    unsigned char bytes[36];
    captures(launch, places);
    assert_int_equal(record_find_addresses(&launch[0], &launch[1], 1, places, &arena, &err), 0);
    for (int b = 0; b < RECORD_BUFFERS; b++) {
        here.address[b] = 0x7f0000000000 + (uint64_t)b * 0x10000000;
        here.bytes[b] = lengths[b];
    }
    assert_int_equal(record_bind(bytes, &launch[0], &here, &err), 0);
    assert_true(word_of(bytes, 0) == here.address[RECORD_A]);
    assert_true(word_of(bytes, 8) == 7168);
    assert_true(word_of(bytes, 16) == here.address[RECORD_C] + 4096);
    assert_true(word_of(bytes, 24) == here.address[RECORD_WORKSPACE]);
    assert_int_equal(bytes[32], 42);
    here.bytes[RECORD_C] = 4095;
    assert_int_equal(record_bind(bytes, &launch[0], &here, &err), -1);
    here.bytes[RECORD_C] = 4096;
    here.bytes[RECORD_WORKSPACE] = 0;
    assert_int_equal(record_bind(bytes, &launch[0], &here, &err), -1);
}

TEST(a_memset_stays_inside_its_buffer)
{
    struct record_places here = {{0}, {0}};
    struct record_address address = {0, RECORD_WORKSPACE, 128};
    struct record_launch set = kernel_of(8);
    unsigned char bytes[8];
    struct error err;
    set.kind = RECORD_MEMSET;
    set.element_bytes = 4;
    set.height = 1;
    set.addresses = &address;
    set.address_count = 1;
    here.address[RECORD_WORKSPACE] = 0x7f0000000000;
    here.bytes[RECORD_WORKSPACE] = 512;
    set.width = 96; // 128 + 4 * 96 = 512
    assert_int_equal(record_bind(bytes, &set, &here, &err), 0);
    set.width = 97;
    assert_int_equal(record_bind(bytes, &set, &here, &err), -1);
    set.width = UINT64_MAX / 4 + 2; // 4 * this is 4
    assert_int_equal(record_bind(bytes, &set, &here, &err), -1);
    set.width = 1;
    set.height = 2;
    set.pitch_bytes = 512;
    assert_int_equal(record_bind(bytes, &set, &here, &err), -1);
    set.address_count = 0;
    set.height = 1;
    assert_int_equal(record_bind(bytes, &set, &here, &err), -1);
}

static struct record whole_record(void)
{
    static const unsigned char cubin[] = "\177ELF and\nmore\0lines\n";
    static struct record_image images[] = {{cubin, sizeof(cubin)}, {cubin, 5}};
    struct record_places places[2];
    struct record_launch pair[2], *launches = arena_alloc(&arena, 2 * sizeof(*launches));
    struct error err;
    struct record record = {.kernel = "bf16-persistent",
                            .workspace_bytes = 512,
                            .note = "tile 128x256\tsplit 2 %",
                            .launches = launches,
                            .launch_count = 2,
                            .images = images,
                            .image_count = 2};
    assert_int_equal(problem_parse(&record.problem, "64x128x256:bf16", &err), 0);
    captures(pair, places);
    assert_int_equal(record_find_addresses(&pair[0], &pair[1], 1, places, &arena, &err), 0);
    launches[1] = pair[0];
    launches[0] = kernel_of(8);
    launches[0].kind = RECORD_MEMSET;
    launches[0].element_bytes = 4;
    launches[0].width = 128;
    launches[0].height = 1;
    launches[0].addresses = arena_alloc(&arena, sizeof(struct record_address));
    launches[0].addresses[0] = (struct record_address){0, RECORD_WORKSPACE, 0};
    launches[0].address_count = 1;
    return record;
}

static struct buffer printed(const struct record *record)
{
    struct buffer text = {0};
    record_print(&text, record);
    return text;
}

TEST(a_copy_stays_within_two_buffers_and_reads_back)
{
    struct record_address places[] = {{0, RECORD_C, 64}, {8, RECORD_WORKSPACE, 128}};
    struct record_parameter words[] = {{0, 8}, {8, 8}};
    unsigned char bytes[16] = {0};
    struct record_launch copy = {.kind = RECORD_COPY,
                                 .element_bytes = 1,
                                 .height = 1,
                                 .carveout = -1,
                                 .width = 384,
                                 .parameters = words,
                                 .parameter_count = 2,
                                 .bytes = bytes,
                                 .size = sizeof(bytes),
                                 .addresses = places,
                                 .address_count = 2};
    struct record_places here = {
        .address = {[RECORD_C] = 0x7f0000000000, [RECORD_WORKSPACE] = 0x7e0000000000},
        .bytes = {[RECORD_C] = 512, [RECORD_WORKSPACE] = 512}};
    unsigned char bound[16];
    struct error err;
    assert_int_equal(record_bind(bound, &copy, &here, &err), 0);
    const uint64_t both[] = {0x7f0000000040, 0x7e0000000080};
    assert_memory_equal(bound, both, sizeof(both));
    copy.width = 385; // reads beyond
    assert_int_equal(record_bind(bound, &copy, &here, &err), -1);
    places[1].offset = 0;
    assert_int_equal(record_bind(bound, &copy, &here, &err), 0);
    copy.width = 449; // writes beyond
    assert_int_equal(record_bind(bound, &copy, &here, &err), -1);
    copy.width = 448;
    copy.address_count = 1;
    assert_int_equal(record_bind(bound, &copy, &here, &err), -1);
    copy.address_count = 2;
    struct record record = whole_record(), back;
    record.launches[0] = copy;
    struct buffer text = printed(&record);
    assert_non_null(strstr(text.bytes, "version=6\t"));
    assert_int_equal(
        record_parse(&back, arena_copy(&arena, text.bytes, text.length), text.length, &arena, &err),
        0);
    assert_int_equal(back.launches[0].kind, RECORD_COPY);
    assert_true(record_same_launches(back.launches, record.launches, 2));
    struct buffer again = printed(&back);
    assert_memory_equal(again.bytes, text.bytes, text.length);
    // An older record has no word for it.
    char *older = arena_copy(&arena, text.bytes, text.length);
    *(strstr(older, "version=6") + strlen("version=")) = '5';
    assert_int_equal(record_parse(&back, older, text.length, &arena, &err), -1);
    assert_non_null(strstr(err.text, "has no copies"));
    buffer_free(&again);
    buffer_free(&text);
}

TEST(a_record_reads_back_as_it_was_written)
{
    const struct record record = whole_record();
    struct record back;
    struct error err;
    struct buffer text = printed(&record), again;
    char *bytes = arena_copy(&arena, text.bytes, text.length);
    if (record_parse(&back, bytes, text.length, &arena, &err))
        fail_msg("%s", err.text);
    assert_string_equal(back.kernel, record.kernel);
    assert_string_equal(back.note, record.note);
    assert_true(problem_equal(&back.problem, &record.problem));
    assert_true(record_same_launches(back.launches, record.launches, 2));
    assert_int_equal(back.launches[1].address_count, 3);
    assert_int_equal(back.image_count, 2);
    again = printed(&back);
    assert_int_equal(again.length, text.length);
    assert_memory_equal(again.bytes, text.bytes, text.length);
    free(text.bytes);
    free(again.bytes);
}

// What a captured program's launch is: its image is named, and buffers have contents.
TEST(a_capture_reads_back_as_it_was_written)
{
    static struct record_content contents[] = {{1 << 20, "7.0.before", NULL},
                                               {1 << 21, "7.1.before", "7.1.after"}};
    struct record record = whole_record(), back;
    struct error err;
    record.contents = contents;
    record.content_count = 2;
    record.launches[1].image = 2;
    record.launches[1].addresses[1].buffer = (enum record_buffer)(RECORD_CAPTURED + 1);
    struct buffer text = printed(&record);
    char *bytes = arena_copy(&arena, text.bytes, text.length);
    if (record_parse(&back, bytes, text.length, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.version, 4);
    assert_int_equal(back.content_count, 2);
    assert_int_equal(back.contents[1].bytes, 1 << 21);
    assert_string_equal(back.contents[1].before, "7.1.before");
    assert_string_equal(back.contents[1].after, "7.1.after");
    assert_null(back.contents[0].after);
    assert_int_equal(back.launches[1].image, 2);
    assert_int_equal(back.launches[1].addresses[1].buffer, RECORD_CAPTURED + 1);
    struct buffer again = printed(&back);
    assert_int_equal(again.length, text.length);
    assert_memory_equal(again.bytes, text.bytes, text.length);
    free(text.bytes);
    free(again.bytes);
}

TEST(a_launch_that_names_its_image_reads_back_without_contents)
{
    struct record record = whole_record(), back;
    struct error err;
    record.launches[1].image = 2;
    struct buffer text = printed(&record);
    if (record_parse(&back, arena_copy(&arena, text.bytes, text.length), text.length, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.version, 4);
    assert_int_equal(back.launches[1].image, 2);
    free(text.bytes);
}

TEST(streams_and_what_they_wait_for_read_back)
{
    struct record record = whole_record(), back;
    uint32_t after[] = {0};
    struct error err;
    assert_true(record.launch_count > 1);
    record.launches[1].stream = 15;
    record.launches[1].after = after;
    record.launches[1].after_count = 1;
    struct buffer text = printed(&record);
    if (record_parse(&back, arena_copy(&arena, text.bytes, text.length), text.length, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.version, 5);
    assert_int_equal(back.launches[1].stream, 15);
    assert_int_equal(back.launches[1].after_count, 1);
    assert_int_equal(back.launches[1].after[0], 0);
    assert_true(record_same_launches(record.launches, back.launches, back.launch_count));
    back.launches[1].after_count = 0;
    assert_false(record_same_launches(record.launches, back.launches, back.launch_count));
    struct buffer again = printed(&back);
    assert_true(again.length < text.length);
    free(text.bytes);
    free(again.bytes);
}

#define MAP(at, buffer)                                                                            \
    "tensormap\tat=" at "\tbuffer=" buffer                                                         \
    "\toffset=0\ttype=bf16\tdims=64\tstrides=\tbox=64\telements=1"                                 \
    "\tinterleave=0\tswizzle=0\tpromote=0\tnan=0"

// Each of these takes the place of the line that begins alike, or is added before `end`.
static const char *const hostile[] = {
    "record\tversion=7\tkernel=k\tproblem=1x1x1:fp32\tworkspace=0\tnote=",
    "record\tversion=1\tkernel=\tproblem=1x1x1:fp32\tworkspace=0\tnote=",
    "record\tversion=1\tkernel=k\tproblem=1x1:fp32\tworkspace=0\tnote=",
    "record\tversion=1\tkernel=k\tproblem=1x1x1:fp32\tworkspace=-1\tnote=",
    "record\tversion=1\tkernel=a b\tproblem=1x1x1:fp32\tworkspace=0\tnote=",
    "image\tsize=0",
    "image\tsize=99999999999999",
    "parameter\toffset=0\tbytes=00",
    "parameter\toffset=64\tbytes=0g",
    "parameter\toffset=64\tbytes=000",
    "parameter\toffset=32764\tbytes=00",
    "address\tat=29\tbuffer=a\toffset=0",
    "address\tat=4000000000\tbuffer=a\toffset=0",
    "address\tat=0\tbuffer=d\toffset=0",
    "address\tat=28\tbuffer=bias\toffset=-1",
    "address\tat=28\tbuffer=group_rows\toffset=9223372036854775807",
    "address\tat=24\tbuffer=c\toffset=0", // twice
    "address\tat=8\tbuffer=c\toffset=0",  // behind one that is further on
    MAP("0", "bias"),                     // it is longer than the parameter
    "memset\tvalue=0\telement=3\twidth=1\theight=1\tpitch=0",
    "memset\tvalue=0\telement=4\twidth=0\theight=1\tpitch=0",
    "launch\tfunction=a "
    "b\tgrid_x=1\tgrid_y=1\tgrid_z=1\tblock_x=1\tblock_y=1\tblock_z=1\tcluster_x=1"
    "\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0\tcarveout=-1",
    "launch\tfunction=f\tgrid_x=0\tgrid_y=1\tgrid_z=1\tblock_x=1\tblock_y=1\tblock_z=1\tcluster_x=1"
    "\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0\tcarveout=-1",
    "launch\tfunction=f\tgrid_x=1\tgrid_y=1\tgrid_z=1\tblock_x=1024\tblock_y=2\tblock_z=1\tcluster_"
    "x=1"
    "\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0\tcarveout=-1",
    "surprise\tx=1",
};

#define VERSION(version, problem)                                                                  \
    "record\tversion=" version "\tkernel=k\tproblem=" problem "\tworkspace=0\tnote=\n"
#define LAUNCH                                                                                     \
    "launch\tfunction=f\tgrid_x=1\tgrid_y=1\tgrid_z=1\tblock_x=1\tblock_y=1\tblock_z=1\tcluster_"  \
    "x=1"                                                                                          \
    "\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0\tcarveout=-1\n"
#define BYTES64                                                                                    \
    "0000000000000000000000000000000000000000000000000000000000000000"                             \
    "0000000000000000000000000000000000000000000000000000000000000000"
#define BYTES                  "parameter\toffset=0\tbytes=" BYTES64 BYTES64 BYTES64 "\n"
#define PLAIN                  "64x64x64:bf16"
#define CONTENT(before, after) "content\tbytes=4096\tbefore=" before "\tafter=" after "\n"
#define LAUNCH_OF(image)                                                                           \
    "launch\tfunction=f\tgrid_x=1\tgrid_y=1\tgrid_z=1\tblock_x=1\tblock_y=1\tblock_z=1"            \
    "\tcluster_x=1\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0"             \
    "\tcarveout=-1\timage=" image "\n"

#define LAUNCH_ON(order)                                                                           \
    "launch\tfunction=f\tgrid_x=1\tgrid_y=1\tgrid_z=1\tblock_x=1\tblock_y=1\tblock_z=1"            \
    "\tcluster_x=1\tcluster_y=1\tcluster_z=1\tshared=0\tcooperative=0\tprogrammatic=0"             \
    "\tcarveout=-1\t" order "\n"

// The most of each, which is allowed, and one more, or one less than the least.
TEST(a_tensormap_keeps_its_bounds)
{
    const struct record_map most = {.type = RECORD_MAP_BF16,
                                    .rank = RECORD_MAP_DIMS,
                                    .dims = {UINT64_C(1) << 32, 1, 1, 1, UINT64_C(1) << 32},
                                    .strides = {0, 16, 16, 16, (UINT64_C(1) << 40) - 16},
                                    .box = {256, 1, 1, 1, 256},
                                    .elements = {8, 1, 1, 1, 8}};
    struct error err;
    assert_int_equal(record_map_check(&most, &err), 0);
    for (int i = 0; i < 10; i++) {
        struct record_map map = most;
        const uint32_t at = i % 2 ? 4 : 0;
        map.rank += i == 0;
        map.rank = i == 1 ? 0 : map.rank;
        map.dims[at] += i / 2 == 1;
        map.strides[4] += i == 4 ? 16 : 0;
        map.dims[at] = i == 5 ? 0 : map.dims[at];
        map.box[at] += i / 2 == 3;
        map.elements[at] += i / 2 == 4;
        if (record_map_check(&map, &err) != -1)
            fail_msg("%d", i);
    }
}

// What each version can hold, and what it says of the rest; NULL: it is read.
TEST(a_version_holds_nothing_that_came_later)
{
    static const char *const cases[][2] = {
        {VERSION("1", PLAIN) LAUNCH BYTES "address\tat=0\tbuffer=scale_b\toffset=0\nend\n", NULL},
        {VERSION("2", PLAIN) LAUNCH BYTES "address\tat=0\tbuffer=bias\toffset=0\nend\n",
         "a record of version 2 has no buffer bias"},
        {VERSION("3", PLAIN) LAUNCH BYTES "address\tat=0\tbuffer=bias\toffset=0\nend\n", NULL},
        {VERSION("2", PLAIN) LAUNCH BYTES MAP("0", "a") "\nend\n", NULL},
        {VERSION("1", PLAIN) LAUNCH BYTES MAP("0", "bias") "\nend\n",
         "a record of version 1 has no tensormap"},
        {VERSION("2", PLAIN) LAUNCH BYTES MAP("0", "bias") "\nend\n",
         "a record of version 2 has no buffer bias"},
        {VERSION("3", PLAIN) LAUNCH BYTES MAP("0", "bias") "\nend\n", NULL},
        {VERSION("2", PLAIN ":bias") LAUNCH "end\n",
         "version 2 has no block scales, bias or groups"},
        {VERSION("2", PLAIN ":contiguous2/30") LAUNCH "end\n", "64x64x64:bf16:contiguous2/30"},
        {VERSION("1", "64x64x64:nvfp4-fp32:e4m3/16/tiled") LAUNCH "end\n", "make it again"},
        {VERSION("3", "64x64x64:nvfp4-fp32:e4m3/16/tiled") LAUNCH "end\n", NULL},
        {VERSION("5", PLAIN) LAUNCH LAUNCH LAUNCH_ON("stream=1\tafter=0,1") "end\n", NULL},
        {VERSION("4", PLAIN) LAUNCH_ON("stream=1") "end\n", "a record of version 4 has no streams"},
        {VERSION("5", PLAIN) LAUNCH_ON("stream=16") "end\n", "stream"},
        {VERSION("5", PLAIN) LAUNCH LAUNCH_ON("after=1") "end\n", "'1' are no launches before"},
        {VERSION("5", PLAIN) LAUNCH LAUNCH_ON("after=0,") "end\n", "'0,' are no launches"},
        {VERSION("5", PLAIN) LAUNCH LAUNCH_ON("after=-1") "end\n", "'-1' are no launches"},
        {VERSION("3", PLAIN) CONTENT("1.0.before", "") LAUNCH "end\n",
         "a record of version 3 has no contents"},
        {VERSION("3", PLAIN) LAUNCH BYTES "address\tat=0\tbuffer=captured0\toffset=0\nend\n",
         "a record without the content of captured0"},
        {VERSION("3", PLAIN) "image\tsize=1\n" LAUNCH_OF("1") "end\nx", "an image"},
        {VERSION("4", PLAIN) "image\tsize=1\n" LAUNCH_OF("1") "end\nx", NULL},
        {VERSION("4", PLAIN) "image\tsize=1\n" LAUNCH_OF("2") "end\nx", "an image"},
        {VERSION("4", PLAIN) CONTENT("1.0.before", "1.0.after") LAUNCH BYTES
         "address\tat=0\tbuffer=captured0\toffset=0\nend\n",
         NULL},
        {VERSION("4", PLAIN) CONTENT("1.0.before", "") LAUNCH BYTES
         "address\tat=0\tbuffer=captured1\toffset=0\nend\n",
         "a record without the content of captured1"},
        {VERSION("4", PLAIN) CONTENT("../before", "") LAUNCH "end\n", "names alone"},
        {VERSION("4", PLAIN) CONTENT("", "") LAUNCH "end\n", "names alone"},
        {VERSION("4", PLAIN) CONTENT(".before", "") LAUNCH "end\n", "names alone"},
        {VERSION("4", PLAIN) CONTENT("before", "/etc/passwd") LAUNCH "end\n", "names alone"},
        {VERSION("4", PLAIN) LAUNCH CONTENT("before", "") "end\n", "behind a launch"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct record record;
        struct error err = {""};
        char *bytes = arena_strdup(&arena, cases[i][0]);
        const int status = record_parse(&record, bytes, strlen(bytes), &arena, &err);
        if (cases[i][1] ? status == 0 || !strstr(err.text, cases[i][1]) : status != 0)
            fail_msg("%zu: %d, %s", i, status, err.text);
    }
}

// The last of two would win, and who reads the text sees another launch than what runs.
TEST(what_lies_over_another_address_is_refused)
{
    static const char *const over[] = {
        "address\tat=0\tbuffer=a\toffset=0\naddress\tat=4\tbuffer=b\toffset=0\n",
        "address\tat=8\tbuffer=a\toffset=0\naddress\tat=0\tbuffer=b\toffset=0\n",
        "address\tat=127\tbuffer=a\toffset=0\n" MAP("0", "bias") "\n",
        "address\tat=8\tbuffer=a\toffset=0\n" MAP("15", "bias") "\n",
        MAP("0", "bias") "\n" MAP("64", "bias") "\n",
        MAP("0", "bias") "\naddress\tat=128\tbuffer=a\toffset=0\n",
    };
    static const char beside[] = "address\tat=0\tbuffer=a\toffset=0\n"
                                 "address\tat=136\tbuffer=bias\toffset=0\n" MAP("8", "bias") "\n";
    for (size_t i = 0; i <= ARRAY_COUNT(over); i++) {
        const bool good = i == ARRAY_COUNT(over);
        struct record record;
        struct error err = {""};
        char *bytes = arena_printf(&arena, "%s%send\n", VERSION("3", PLAIN) LAUNCH BYTES,
                                   good ? beside : over[i]);
        if ((record_parse(&record, bytes, strlen(bytes), &arena, &err) == 0) != good)
            fail_msg("%zu: %s", i, err.text);
    }
}

static int parsed(const char *text, size_t size)
{
    struct record record;
    struct error err = {""};
    char *bytes = malloc(size ? size : 1);
    memcpy(bytes, text, size);
    const int status = record_parse(&record, bytes, size, &arena, &err);
    if (status)
        assert_true(err.text[0] && !strchr(err.text, '\n'));
    free(bytes);
    return status;
}

// A tool that read on would replay the first of them alone.
TEST(as_many_launches_as_may_be_are_read_and_not_one_more)
{
    for (size_t count = RECORD_LAUNCHES_MAX; count <= RECORD_LAUNCHES_MAX + 1; count++) {
        struct buffer text = {0};
        buffer_puts(&text, VERSION("3", PLAIN));
        for (size_t i = 0; i < count; i++)
            buffer_puts(&text, LAUNCH);
        buffer_puts(&text, "end\n");
        assert_int_equal(parsed(text.bytes, text.length) == 0, count == RECORD_LAUNCHES_MAX);
        free(text.bytes);
    }
}

TEST(hostile_lines_are_refused)
{
    const struct record record = whole_record();
    struct buffer text = printed(&record);
    const char *end = strstr(text.bytes, "\nend\n") + 1;
    for (size_t i = 0; i < ARRAY_COUNT(hostile); i++) {
        const bool head = strncmp(hostile[i], "record", 6) == 0;
        const size_t skip = head ? strcspn(text.bytes, "\n") + 1 : 0;
        const size_t before = head ? 0 : (size_t)(end - text.bytes);
        char *whole = malloc(text.length + strlen(hostile[i]) + 2), *at = whole;
        memcpy(at, text.bytes, before);
        at += before;
        at += sprintf(at, "%s\n", hostile[i]);
        memcpy(at, text.bytes + before + skip, text.length - before - skip);
        at += text.length - before - skip;
        if (parsed(whole, (size_t)(at - whole)) == 0)
            fail_msg("taken: %s", hostile[i]);
        free(whole);
    }
    free(text.bytes);
}

// What is wrong is said, and not what a reader that goes on finds next.
TEST(a_record_without_a_version_is_told_so)
{
    static const struct {
        const char *head, *says;
    } cases[] = {
        {"record\tkernel=k\tproblem=" PLAIN "\tworkspace=0\n", "no version"},
        {VERSION("five", PLAIN), "version=five is not in"},
        {VERSION("-1", PLAIN), "version=-1 is not in"},
        {VERSION("999", PLAIN), "a record of version 999, this plumb reads 1 to"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct record record;
        struct error err = {""};
        char *text = xprintf("%send\n", cases[i].head);
        assert_int_equal(record_parse(&record, text, strlen(text), &arena, &err), -1);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].head, err.text);
        free(text);
    }
}

TEST(every_cut_and_every_flipped_byte_is_survived)
{
    const struct record record = whole_record();
    struct buffer text = printed(&record);
    for (size_t size = 0; size < text.length; size++)
        assert_int_equal(parsed(text.bytes, size), -1);
    assert_int_equal(parsed(text.bytes, text.length), 0);
    struct random random = {7};
    for (int i = 0; i < 20000; i++) {
        char *bytes = arena_copy(&arena, text.bytes, text.length);
        for (int flips = 0; flips < 3; flips++)
            bytes[(size_t)(random_uniform(&random) * (double)text.length)] =
                (char)(random_uniform(&random) * 256);
        parsed(bytes, text.length); // taken or refused, the sanitizers see the rest
        if (i % 100 == 0)
            arena_free(&arena);
    }
    free(text.bytes);
}

TEST(tensormaps_lie_beside_each_other_and_not_over)
{
    static const char *const cases[][2] = {
        {MAP("128", "b"), NULL},
        {MAP("64", "b"), "a tensormap at 64, over what stands before it"},
        {MAP("0", "b"), "a tensormap at 0, over what stands before it"},
        {MAP("192", "b"), "a tensormap at 192, outside of the parameters"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct record record;
        struct error err = {""};
        char *bytes = arena_printf(&arena,
                                   VERSION("2", PLAIN) LAUNCH
                                   "parameter\toffset=0\tbytes=" BYTES64 BYTES64 BYTES64 BYTES64
                                   "\n" MAP("0", "a") "\n%s\nend\n",
                                   cases[i][0]);
        const int status = record_parse(&record, bytes, strlen(bytes), &arena, &err);
        if (cases[i][1] ? status == 0 || !strstr(err.text, cases[i][1]) : status != 0)
            fail_msg("%zu: %d, %s", i, status, err.text);
    }
}

// Files and plans name buffers and types; each name is of one thing.
TEST(buffers_and_types_read_back)
{
    enum record_buffer buffer;
    uint32_t type;
    for (int i = 0; i < RECORD_BUFFERS; i++) {
        assert_int_equal(record_buffer_parse(&buffer, record_buffer_name((enum record_buffer)i)),
                         0);
        assert_int_equal(buffer, i);
    }
    assert_int_equal(record_buffer_parse(&buffer, "captured32"), -1);
    for (uint32_t i = 0; i < RECORD_MAP_TYPES; i++) {
        assert_int_equal(record_map_type_parse(&type, record_map_type_name(i)), 0);
        assert_int_equal(type, i);
    }
    assert_int_equal(record_map_type_parse(&type, ""), -1);
    assert_string_equal(record_map_type_name(RECORD_MAP_TYPES), "");
}
