// SPDX-License-Identifier: Apache-2.0
//
// A kernel that cannot be recorded, where the policy trusts device code alone, is no kernel that
// does not do its problem: its row stays, and a change of it does not pass unseen.
#include "ci/gate/conclude.h"
#include "ci/gate/measuring.h"
#include "tests/helpers/helper_fake_gate.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct result result_of(const char *kernel, enum measurement_state state, const char *regime,
                               enum verdict_kind kind, const char *base, const char *head)
{
    struct result r = {.head = {.state = state, .regime = regime, .detail = ""},
                       .verdict = {.kind = kind, .sentence = kernel}};
    text_copy(r.kernel, sizeof(r.kernel), kernel);
    text_copy(r.base_code, sizeof(r.base_code), base);
    text_copy(r.head_code, sizeof(r.head_code), head);
    r.problem =
        (struct problem){.m = 4, .n = 4, .k = 4, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    return r;
}

static enum conclusion concluded(struct run *run, struct result *results, size_t count)
{
    const struct policy_gate gate = {0};
    *run = (struct run){.results = results, .count = count};
    drop_unsupported(run);
    conclude_run(run, &gate, "");
    return run->conclusion;
}

TEST(changed_kernel_that_cannot_be_recorded_does_not_pass)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("refused", MEASURED_UNSUPPORTED, "not recorded", VERDICT_NOT_MEASURED, "c", "d")};
    assert_true(recording_refused(&results[1].head));
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_UNDECIDED);
    assert_int_equal(run.count, 2);
    assert_non_null(strstr(run.headline, "refused"));
    arena_free(&run.arena);
}

TEST(unchanged_one_does)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("refused", MEASURED_UNSUPPORTED, "not recorded", VERDICT_NOT_MEASURED, "c", "c")};
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_OK);
    assert_int_equal(run.count, 2);
    arena_free(&run.arena);
}

// As before: where another kernel does the problem, one that does not says nothing.
TEST(kernel_that_does_not_do_its_problem_has_no_row)
{
    struct run run;
    struct result results[] = {
        result_of("works", MEASURED_OK, "", VERDICT_FASTER, "a", "b"),
        result_of("cannot", MEASURED_UNSUPPORTED, "cold", VERDICT_NOT_MEASURED, "c", "d")};
    assert_int_equal(concluded(&run, results, 2), CONCLUDE_OK);
    assert_int_equal(run.count, 1);
    arena_free(&run.arena);
}

// The recorder of neither kernel makes a record; of one, supports() says why.
TEST(one_that_supports_nothing_is_not_told_as_one_that_cannot_be_recorded)
{
    static const char *const names[] = {"cuda-elsewhere", "cuda-copies", NULL};
    static struct fake_gate gate;
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    fake_gate_make(&gate);
    char *cuda = xprintf("%s.cuda", gate.bench.program);
    helper_write_text(cuda, "");
    fake_gate_policy(&gate, "[device \"gpu\"]\n\tkind = cuda\n", "\ttrust = device-code\n");
    fake_gate_commit(base, &gate, "main", NULL, names, "cuda", 1);
    fake_gate_commit(head, &gate, "main", base, names, "cuda", 2);
    fake_gate_run(&gate, base, head, 0);
    plumb_said(&gate.outcome, CONCLUDE_UNDECIDED,
               "cuda-copies 4x4x4:fp32-fp32:tn in a stream cannot be recorded");
    plumb_said(&gate.outcome, CONCLUDE_UNDECIDED, "1 not measured");
    assert_null(strstr(gate.outcome.output, "cuda-elsewhere"));
    free(cuda);
    fake_gate_remove(&gate);
}
