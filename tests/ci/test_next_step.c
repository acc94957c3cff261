// SPDX-License-Identifier: Apache-2.0
//
// What an undecided series is advised: figures that are worth another run.
#include "ci/gate/judge.h"
#include "ci/settings/context.h"
#include "tests/helpers/test.h"

#include <string.h>

// 432 pairs in four processes, of which the first may have 400; 16 more are thought to be missing.
TEST(a_budget_that_is_advised_is_a_quarter_larger_at_least)
{
    static const struct {
        uint32_t more, own; // max-pairs of the kernel's section, 0: none
        const char *says;
    } cases[] = {
        {16, 0,
         "about 16 more pairs would decide it: set gate.max-pairs = 504 (now 400 for the first "
         "process)"},
        {432, 0, "set gate.max-pairs = 800 (now 400"},
        {432, 200, "set kernel.loud*.max-pairs = 400 (now 200"},
    };
    const struct policy policy = {.gate = {.max_pairs = 400, .processes = 4, .seconds = 60}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct result result = {.head.state = MEASURED_OK,
                                .verdict = {.kind = VERDICT_UNDECIDED,
                                            .limit = LIMIT_PAIRS,
                                            .pairs = 432,
                                            .processes = 4,
                                            .more_pairs = cases[i].more,
                                            .sentence = "k undecided"}};
        struct run run = {.results = &result, .count = 1};
        const struct policy_kernel rule = {.pattern = "loud*", .max_pairs = cases[i].own};
        const struct context_device device = {0};
        struct task task = {.result = &result, .run = &run, .rule = &rule, .device = &device};
        const struct task_list tasks = {.items = &task, .count = 1};
        say_next_steps(&run, &tasks, &policy);
        if (!strstr(result.verdict.sentence, cases[i].says))
            fail_msg("%s", result.verdict.sentence);
        arena_free(&run.arena);
    }
}
