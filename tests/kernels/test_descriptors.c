// SPDX-License-Identifier: Apache-2.0
//
// What the kernels for Blackwell tell its tensor cores, held bit by bit against the tables of the
// PTX ISA 9.0, section "TensorCore 5th Generation Family Instructions": the instruction descriptor
// of kind::mxf4nvf4, the shared-memory descriptor, and the layout of block scales in tensor memory
// (scale vector 4X). No such device is needed, and none was at hand.
#include "kernels/device/form.h"
#include "kernels/gemm/cuda/blackwell/descriptors.h"
#include "tests/helpers/test.h"

#include <string.h>

// A field of a table: bits first to last hold this.
struct field {
    int first, last;
    uint64_t value;
};

// The fields are all of the word, one after the other, and the word has them.
static void has_fields(uint64_t word, int bits, const struct field *fields, size_t count)
{
    int next = 0;
    for (size_t i = 0; i < count; i++) {
        const int width = fields[i].last - fields[i].first + 1;
        const uint64_t mask = (uint64_t)-1 >> (64 - width);
        assert_int_equal(fields[i].first, next);
        assert_int_equal(word >> fields[i].first & mask, fields[i].value);
        next = fields[i].last + 1;
    }
    assert_int_equal(next, bits);
}

TEST(instruction_descriptor_is_its_table)
{
    for (int m = 128; m <= 256; m += 128) {
        for (int n = 8; n <= 256; n += 8) {
            const struct field table[] = {
                {0, 1, 0},                  // reserved
                {2, 2, 0},                  // dense
                {3, 3, 0},                  // reserved
                {4, 5, 0},                  // data id of B's scales
                {6, 6, 0},                  // reserved
                {7, 9, 1},                  // A: e2m1
                {10, 11, 1},                // B: e2m1
                {12, 12, 0},                // reserved
                {13, 13, 0},                // A is not negated
                {14, 14, 0},                // nor B
                {15, 15, 0},                // A lies along K
                {16, 16, 0},                // and B
                {17, 22, (uint64_t)n >> 3}, // N
                {23, 23, 0},                // scales: ue4m3
                {24, 26, 0},                // reserved
                {27, 28, (uint64_t)m >> 7}, // M
                {29, 30, 0},                // data id of A's scales
                {31, 31, 0},                // K is 64
            };
            has_fields(blackwell_instruction(m, n), 32, table, ARRAY_COUNT(table));
        }
    }
    // As others that have run it write it: 128 x 128, and 256 x 64 of a pair.
    assert_int_equal(blackwell_instruction(128, 128), 0x08200480);
    assert_int_equal(blackwell_instruction(256, 64), 0x10100480);
}

TEST(shared_descriptor_is_its_table)
{
    for (uint32_t address = 0; address < BLACKWELL_SHARED; address += 1024) {
        for (int step = 0; step < 4; step++) {
            const struct field operand[] = {
                {0, 13, (address + 32 * (uint64_t)step) >> 4}, // begins here
                {14, 15, 0},
                {16, 29, 0}, // not read: K of an instruction is within the swizzle
                {30, 31, 0},
                {32, 45, 1024 >> 4}, // eight rows of 128 bytes
                {46, 48, 1},         // fixed
                {49, 51, 0},         // begins at a multiple of the swizzle's 1024 bytes
                {52, 52, 0},         // distances, not addresses
                {53, 60, 0},         // fixed
                {61, 63, 2},         // swizzled by 128 bytes
            };
            has_fields(blackwell_operand(address, step), 64, operand, ARRAY_COUNT(operand));
        }
        const struct field scales[] = {
            {0, 13, address >> 4}, {14, 15, 0},        {16, 29, 0},
            {30, 31, 0},           {32, 45, 128 >> 4}, // eight rows of 16 bytes
            {46, 48, 1},           {49, 51, 0},        {52, 52, 0},
            {53, 60, 0},           {61, 63, 0},
        };
        has_fields(blackwell_scales(address), 64, scales, ARRAY_COUNT(scales));
    }
    assert_int_equal(blackwell_matrix(0, 512, BLACKWELL_64) >> 61, 4);
    assert_int_equal(blackwell_matrix(0, 256, BLACKWELL_32) >> 61, 6);
}

TEST(tensor_addresses_are_lane_and_column)
{
    for (uint32_t lane = 0; lane < 128; lane++) {
        for (uint32_t column = 0; column < 512; column++) {
            const struct field table[] = {{0, 15, column}, {16, 31, lane}};
            has_fields(blackwell_tensor_address(lane, column), 32, table, ARRAY_COUNT(table));
        }
    }
}

// Where byte `at` of a tile in shared memory comes by tcgen05.cp.32x128b.warpx4: its 32 rows of 16
// bytes become 32 lanes of four columns, one word each.
static struct blackwell_place copied_place(int at)
{
    return (struct blackwell_place){at / 16, at % 16 / 4, at % 4};
}

// A tile of scales as problems have it (PLUMB_SCALES_TILED), copied as it is, has every scale where
// the tensor cores look for it; and all 512 bytes come to places of their own.
TEST(scales_come_where_they_are_looked_for)
{
    const struct plumb_form form = {.problem = {.m = 128, .n = 128, .k = 64},
                                    .scale_vector = 16,
                                    .scale_layout = PLUMB_SCALES_TILED};
    bool taken[32][4][4];
    memset(taken, 0, sizeof(taken));
    for (int row = 0; row < 128; row++) {
        for (int block = 0; block < 4; block++) {
            const int at = (int)form_scale_at(&form, 128, 1, row, block * 16);
            const struct blackwell_place copied = copied_place(at);
            const struct blackwell_place wanted = blackwell_scale_place(row, block);
            assert_memory_equal(&copied, &wanted, sizeof(copied));
            assert_in_range(copied.lane, 0, 31);
            assert_in_range(copied.column, 0, 3);
            assert_false(taken[copied.lane][copied.column][copied.byte]);
            taken[copied.lane][copied.column][copied.byte] = true;
        }
    }
}

// Half a tile of scales, for 64 columns of C, is two of its four columns.
TEST(half_a_tile_is_two_columns)
{
    for (int row = 0; row < 64; row++) {
        const struct blackwell_place first = blackwell_scale_place(row, 0);
        const struct blackwell_place second = blackwell_scale_place(row + 64, 0);
        assert_int_equal(first.lane, second.lane);
        assert_int_equal(first.column + 64 / 32, second.column);
    }
}

// The ring fits into shared memory, and sums and the scales of all stages into tensor memory.
TEST(a_block_has_room)
{
    for (int n = 64; n <= 128; n *= 2) {
        for (int group = 1; group <= 2; group++) {
            const struct blackwell_layout l = blackwell_layout_of(n, group);
            const int used = l.a_bytes + 2 * l.b_bytes + 3 * l.scale_bytes;
            assert_int_equal(l.a_bytes, 128 * BLACKWELL_SLAB / 2);
            assert_int_equal(l.b_bytes, n / group * BLACKWELL_SLAB / 2);
            assert_int_equal(l.scale_bytes, 128 * BLACKWELL_SLAB / 16);
            assert_int_equal(l.stage_bytes % 1024, 0);
            assert_int_equal(l.a_bytes % 1024, 0);
            assert_int_equal(l.b_bytes % 1024, 0);
            assert_true(used <= l.stage_bytes);
            assert_true(l.stages >= 3);
            assert_true(1024 + 512 + l.stages * l.stage_bytes <= l.shared_bytes);
            assert_true(l.shared_bytes <= BLACKWELL_SHARED);
            assert_true(l.up >= l.gate + n && l.scales >= l.up + n);
            assert_true(l.scales + l.stages * 3 * BLACKWELL_SCALE_COLUMNS <= l.columns);
            assert_true(l.columns <= 512 && (l.columns & (l.columns - 1)) == 0);
        }
    }
    // What a pair is for: half of B per block, so a deeper ring.
    assert_true(blackwell_layout_of(128, 2).stages > blackwell_layout_of(128, 1).stages);
}
