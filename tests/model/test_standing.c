// SPDX-License-Identifier: Apache-2.0
//
// The one table of verdicts without a ratio: what two states say, and that nothing unmeasured is
// ever "same".
#include "model/gate/verdict.h"
#include "tests/helpers/test.h"

#include <string.h>

static enum verdict_kind kind_of(enum measurement_state base, enum measurement_state head,
                                 enum cause *cause)
{
    const struct standing_input input = {.base = base, .head = head};
    const struct standing *standing = standing_of(&input);
    assert_non_null(standing);
    *cause = standing->cause;
    return standing->kind;
}

TEST(a_change_is_blamed_only_for_what_works_on_the_base)
{
    static const struct {
        enum measurement_state base, head;
        enum verdict_kind kind;
        enum cause cause;
    } rows[] = {
        {MEASURED_OK, MEASURED_WRONG, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_TIMEOUT, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_UNSUPPORTED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_MISSING, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_MISSING, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_NOT_TAKEN, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_WRONG, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_CRASHED, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_UNBUILDABLE, MEASURED_UNBUILDABLE, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_UNSUPPORTED, MEASURED_UNSUPPORTED, VERDICT_NOT_MEASURED, CAUSE_NONE},
        {MEASURED_MISSING, MEASURED_UNSUPPORTED, VERDICT_NOT_MEASURED, CAUSE_NONE},
        {MEASURED_OK, MEASURED_NOT_TAKEN, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_NOT_TAKEN, MEASURED_NOT_TAKEN, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_NOT_TAKEN, MEASURED_OK, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_MISSING, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_UNSUPPORTED, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_UNBUILDABLE, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_CRASHED, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        enum cause cause;
        const enum verdict_kind kind = kind_of(rows[i].base, rows[i].head, &cause);
        if (kind != rows[i].kind || cause != rows[i].cause)
            fail_msg("base %s, head %s: %s (%s)", measurement_state_name(rows[i].base),
                     measurement_state_name(rows[i].head), verdict_kind_name(kind),
                     cause_name(cause));
    }
}

TEST(only_two_times_are_left_to_the_pairs)
{
    for (int base = 0; base < MEASUREMENT_STATES; base++) {
        for (int head = 0; head < MEASUREMENT_STATES; head++) {
            const struct standing_input input = {.base = (enum measurement_state)base,
                                                 .head = (enum measurement_state)head};
            const bool times = base == MEASURED_OK && head == MEASURED_OK;
            const struct standing *standing = standing_of(&input);
            assert_true((standing == NULL) == times);
            assert_true(times || standing->kind != VERDICT_SAME);
        }
    }
}

TEST(the_same_code_is_the_same_unless_it_is_broken)
{
    for (int head = 0; head < MEASUREMENT_STATES; head++) {
        const struct standing_input input = {.head = (enum measurement_state)head,
                                             .same_code = true};
        const struct standing *standing = standing_of(&input);
        assert_non_null(standing);
        assert_false(standing->kind == VERDICT_BROKEN && standing->cause == CAUSE_KERNEL &&
                     head != MEASURED_UNBUILDABLE && head != MEASURED_MISSING);
        const bool known = head == MEASURED_OK || head == MEASURED_NOT_TAKEN;
        assert_int_equal(standing->kind == VERDICT_SAME, known);
    }
}

// What one commit broke is not the next one's fault; what never worked is nobody's to pass.
TEST(the_same_broken_code_fails_where_it_never_worked)
{
    for (int unproven = 0; unproven < 2; unproven++) {
        const struct standing_input input = {
            .head = MEASURED_WRONG, .same_code = true, .unproven = unproven};
        const struct standing *standing = standing_of(&input);
        assert_int_equal(standing->kind, VERDICT_BROKEN);
        assert_int_equal(standing->cause, unproven ? CAUSE_KERNEL : CAUSE_BASE);
    }
    const struct standing_input changed = {
        .base = MEASURED_WRONG, .head = MEASURED_WRONG, .unproven = true};
    assert_int_equal(standing_of(&changed)->cause, CAUSE_BASE);
}

TEST(a_device_that_is_away_measures_nothing)
{
    struct arena arena = {0};
    const struct standing_input input = {.away = true};
    const struct standing *standing = standing_of(&input);
    assert_int_equal(standing->kind, VERDICT_NOT_MEASURED);
    assert_string_equal(standing_words(standing, &input, "gpu", &arena),
                        "was not measured: device gpu is not here");
    arena_free(&arena);
}

TEST(words_name_both_states)
{
    struct arena arena = {0};
    const struct standing_input input = {.base = MEASURED_TIMEOUT, .head = MEASURED_WRONG};
    assert_string_equal(standing_words(standing_of(&input), &input, "gpu", &arena),
                        "gives wrong results; on the base it does not finish in time");
    for (int i = 0; i < MEASUREMENT_STATES; i++)
        assert_non_null(standing_text((enum measurement_state)i));
    arena_free(&arena);
}
