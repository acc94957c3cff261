// SPDX-License-Identifier: Apache-2.0
//
// A stretch that a history comes back to is a visit and no level of its own.
#include "model/history/segmentation.h"

#include "model/base.h"
#include "tests/helpers/test.h"

#include <string.h>

// '.' is 0 and '#' is 8; '|' ends a segment. How many segments are left.
static size_t left_of(const char *picture)
{
    double values[64];
    struct potts_segment segments[16] = {{0, 0, 0}};
    size_t n = 0, count = 0;
    for (const char *c = picture; *c; c++) {
        if (*c == '|')
            segments[++count].first = n;
        else
            values[n++] = *c == '#' ? 8 : 0;
        segments[count].end = n;
    }
    count++;
    for (size_t j = 0; j < count; j++)
        segments[j].level = revisit_level(values, &segments[j]);
    size_t left = revisit_drop(values, n, segments, count), at = 0;
    for (size_t j = 0; j < left; j++) {
        assert_int_equal(segments[j].first, at);
        at = segments[j].end;
    }
    assert_int_equal(at, n);
    return left;
}

TEST(values_that_others_stray_to_are_no_level)
{
    assert_int_equal(left_of("..................|##"), 1); // 2 of C(20, 2) = 190 orders
    assert_int_equal(left_of(".....#.......##.....#....|###"), 1);
    assert_int_equal(left_of("##|...#......#.....#....."), 1);
    assert_int_equal(left_of(".......#...|###|.....#......"), 1);
    assert_int_equal(left_of("#.##|......#.....#......"), 1);
}

TEST(values_that_only_come_together_are_one)
{
    assert_int_equal(left_of(".....|#####"), 2);           // the rarest orders of ten
    assert_int_equal(left_of(".................|###"), 2); // 2 of 1140
    assert_int_equal(left_of("..........#.....................|######"), 2);
    assert_int_equal(left_of("...........|######|............"), 3);
    assert_int_equal(left_of("################|................"), 2);
    assert_int_equal(left_of("#################|................."), 2); // longer than a visit
}

// Of a stretch inside there are more than two places: three values there are rarer at an end.
TEST(a_stretch_inside_needs_more_than_one_at_an_end)
{
    assert_int_equal(left_of(".................|###"), 2);
    assert_int_equal(left_of("........|###|........."), 1);
}
