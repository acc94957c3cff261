// SPDX-License-Identifier: Apache-2.0
//
// What is measured though it is known: nothing, all of it, or a device's controls, and all of a
// device that has few of them.
#include "ci/gate/task_list.h"
#include "model/result.h"
#include "tests/helpers/test.h"

enum { SERIES = 2 * CONTROLS_FEWEST };

// Of the first device every other series is a control, of the second all but one of these.
static void make(struct result *results, struct run *run)
{
    for (size_t i = 0; i < 2 * SERIES; i++)
        results[i] = (struct result){.device = i / SERIES, .control = i % 2 == 0};
    results[SERIES].control = false;
    *run = (struct run){.results = results, .count = 2 * SERIES};
}

TEST(controls_show_what_the_machine_did)
{
    struct result results[2 * SERIES];
    struct run run;
    make(results, &run);
    for (size_t i = 0; i < run.count; i++) {
        assert_false(anew_wanted(ANEW_NOTHING, &run, &results[i]));
        assert_true(anew_wanted(ANEW_ALL, &run, &results[i]));
        assert_int_equal(anew_wanted(ANEW_CONTROLS, &run, &results[i]),
                         results[i].control || i >= SERIES);
    }
}
