// SPDX-License-Identifier: Apache-2.0
#include "ci/measuring.h"
#include "tests/helper_files.h"
#include "tests/helper_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static const char policy_text[] = "[build]\n\tcommand = make\n[device \"host\"]\n\tkind = host\n"
                                  "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                                  "[kernel \"*\"]\n\tproblems = p\n\tmargin = 5%\n";

// A run has stored its pairs when it judges them: its scale must be the one it measured with.
static void scale_comes_from_other_runs_only(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct context context = {0};
    struct run run;
    struct gate_policy own, later;
    struct error err;
    char *folder = helper_directory();
    context.store = scratch_store(scratch_path(&arena, folder, "s.db"), STORE_WRITE);
    assert_int_equal(policy_parse(&context.policy, policy_text, strlen(policy_text), "p", &err), 0);
    make_run(&run, RUN_GATE, 1, 1, 7);
    save_whole_run(context.store, &run);
    struct result *r = &run.results[0];
    const struct station station = {.policy = &context.policy.devices[0],
                                    .device = run.devices[r->device]};
    const struct task task = {.result = r, .rule = &context.policy.kernels[0], .station = &station};
    assert_int_equal(measuring_policy(&own, &context, run.id, &task, r->base.samples, r->base.count,
                                      &arena, &err),
                     0);
    assert_int_equal(measuring_policy(&later, &context, run.id + 1, &task, r->base.samples,
                                      r->base.count, &arena, &err),
                     0);
    const struct gate_policy plain = gate_policy_default("host", 1e6);
    assert_true(own.scale == plain.scale && own.scale_pairs == 0);
    assert_true(later.scale != plain.scale && later.scale_pairs > 0);
    assert_true(own.margin == 0.05 && later.margin == 0.05);
    run_free(&run);
    policy_free(&context.policy);
    store_close(context.store);
    helper_discard(folder);
    free(folder);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_comes_from_other_runs_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
