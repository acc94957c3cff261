// SPDX-License-Identifier: Apache-2.0
//
// Shares of the work: each item is one part's, and parts are even.
#include "ci/gate/part.h"
#include "tests/helpers/test.h"

#include <string.h>

TEST(every_item_is_in_one_part_and_parts_are_even)
{
    for (uint32_t parts = 1; parts <= 40; parts++) {
        size_t counts[40] = {0}, covered = 0;
        const size_t items = 3 * parts + 5;
        for (size_t at = 0; at < items; at++) {
            size_t of = 0;
            for (uint32_t n = 1; n <= parts; n++) {
                if (part_has(&(struct work_part){n, parts}, at)) {
                    counts[n - 1]++;
                    of++;
                }
            }
            assert_int_equal(of, 1);
        }
        for (uint32_t n = 1; n <= parts; n++) {
            size_t first, end;
            part_stretch(&first, &end, &(struct work_part){n, parts}, items);
            assert_int_equal(first, covered);
            covered = end;
            assert_true(counts[n - 1] >= items / parts && counts[n - 1] <= items / parts + 1);
        }
        assert_int_equal(covered, items);
    }
}

TEST(what_is_no_part_is_refused)
{
    struct work_part part;
    static const char *const wrong[] = {"",     "3",    "0/8",   "9/8",      "3/",   "/8",
                                        "3/8x", "-1/8", "3 / 8", "1/100001", "1/1e3"};
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        assert_int_equal(part_parse(&part, wrong[i]), -1);
    assert_int_equal(part_parse(&part, "3/8"), 0);
    assert_true(part.number == 3 && part.count == 8);
}

// A run notes it behind its policy, and is read back from there alone.
TEST(a_run_notes_which_part_it_is)
{
    struct run run = {.policy = "[gate]\n# part 9 of 9, plan 0000000000000000\n\tseconds = 1\n"};
    struct part_note note;
    assert_false(part_note_read(&note, &run));
    part_note_write(&run, &(struct part_note){{3, 8}, 0xfedcba9876543210u});
    assert_true(part_note_read(&note, &run));
    assert_true(note.part.number == 3 && note.part.count == 8 && note.stamp == 0xfedcba9876543210u);
    assert_string_equal(part_policy(&run, &run.arena),
                        "[gate]\n# part 9 of 9, plan 0000000000000000\n\tseconds = 1\n");
    run_free(&run);
    static const char *const hostile[] = {
        "# part 0 of 8, plan 0000000000000001", "# part 9 of 8, plan 0000000000000001",
        "# part 1 of 4000000000, plan 1", "# part 1 of 8", "# part 1 of 8, plan 1 and more"};
    for (size_t i = 0; i < ARRAY_COUNT(hostile); i++) {
        run = (struct run){.policy = hostile[i]};
        assert_false(part_note_read(&note, &run));
    }
}

// Each machine makes the same tasks and takes its share of them: what is compared is shared out for
// itself, and the stamp is that of all tasks.
TEST(parts_take_each_task_once_and_know_their_plan_again)
{
    enum { TASKS = 23, PARTS = 4 };
    static const struct policy_device policy = {.name = "gpu", .kind = "cuda"};
    static const struct context_device device = {.policy = &policy};
    size_t taken[TASKS] = {0};
    uint64_t stamp = 0;
    for (uint32_t number = 1; number <= PARTS; number++) {
        struct result results[TASKS];
        struct task tasks[TASKS];
        struct task_list list = {tasks, TASKS};
        struct run run = {.policy = "[gate]", .results = results, .count = TASKS};
        struct part_note note;
        size_t compared = 0;
        for (size_t i = 0; i < TASKS; i++) {
            results[i] =
                (struct result){.problem = {.m = 1 + (int64_t)i, .n = 8, .k = 8, .batch = 1},
                                .kernel = "k",
                                .base_code = "old"};
            text_copy(results[i].head_code, sizeof(results[i].head_code), i % 3 ? "old" : "new");
            tasks[i] = (struct task){.run = &run, .result = &results[i], .device = &device};
        }
        part_take(&list, &run, &(struct work_part){number, PARTS});
        assert_int_equal(list.count, run.count);
        for (size_t i = 0; i < list.count; i++) {
            assert_ptr_equal(list.items[i].result, &run.results[i]);
            taken[run.results[i].problem.m - 1]++;
            compared += strcmp(run.results[i].head_code, "new") == 0;
        }
        assert_int_equal(compared, 2); // of 8
        assert_true(part_note_read(&note, &run));
        assert_true(note.part.number == number && note.part.count == PARTS);
        assert_true(number == 1 || note.stamp == stamp);
        stamp = note.stamp;
        run.results = NULL;
        arena_free(&run.arena);
    }
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(taken[i], 1);
}
