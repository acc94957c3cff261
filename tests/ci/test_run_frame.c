// SPDX-License-Identifier: Apache-2.0
//
// A run of many series waits for the disk a few times at its end, and not once for each of them.
#include "baselines/statement.h"
#include "ci/gate/conclude.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

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
