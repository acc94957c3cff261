// SPDX-License-Identifier: Apache-2.0
//
// How a run ends: one of many series waits for the disk a few times, and not once for each of them,
// and a part of a gate has no verdict of its own.
#include "baselines/statement.h"
#include "ci/gate/conclude.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <string.h>

static int count_commit(void *commits)
{
    ++*(int *)commits;
    return 0;
}

// Transactions in which a run of so many results ends.
static int transactions_of(struct open_store *f, unsigned number, size_t results)
{
    const struct options options = {0};
    const struct built built = {.state = MEASURED_OK};
    struct context context = {.options = &options, .store = f->store};
    struct error err = {""};
    struct run run;
    int commits = 0;
    make_run(&run, RUN_MEASURE, number, results, number + 1);
    run.finished_s = 0;
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    sqlite3_commit_hook(f->store->db, count_commit, &commits);
    assert_ok(run_leave(&run, &context, &built, NULL, &err), &err);
    sqlite3_commit_hook(f->store->db, NULL, NULL);
    run_free(&run);
    return commits;
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(a_run_of_many_series_ends_in_few_transactions)
{
    struct open_store *f = *state;
    assert_int_equal(transactions_of(f, 0, 3), 2);
    assert_int_equal(transactions_of(f, 1, 500), 2);
    assert_int_equal(transactions_of(f, 2, 501), 3);
    struct store_counts counts = sound_counts(f->store);
    assert_int_equal(counts.runs, 3);
    assert_int_equal(counts.unfinished, 0);
    assert_int_equal(counts.verdicts, 1004);
}

// Its series have verdicts, but what they say of the gate is known when all parts are joined.
TEST(a_part_of_a_gate_ends_without_a_verdict_of_its_own)
{
    const struct work_part part = {2, 5};
    struct open_store *f = *state;
    struct context context = {.store = f->store};
    struct error err = {""};
    struct run run, stored;
    make_run(&run, RUN_GATE, 0, 4, 1);
    run.finished_s = 0;
    run.results[0].verdict.kind = VERDICT_BROKEN;
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    assert_ok(run_leave_part(&run, &context, &part, &err), &err);
    assert_ok(store_load_run(&stored, f->store, run.id, &err), &err);
    assert_int_equal(stored.conclusion, CONCLUDE_OK);
    assert_non_null(strstr(stored.headline, "PART 2 of 5, to be judged with the others: 1 broken"));
    assert_true(stored.finished_s > 0);
    assert_int_equal(stored.count, 4);
    run_free(&stored);
    run_free(&run);
}
