// SPDX-License-Identifier: Apache-2.0
//
// The stream of all links is gone through once: what is kept and what came since give what all of
// them give at once, and a link that belongs earlier makes it begin anew.
#include "ci/history/events.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct problem problem;

static void begin(struct open_store *f, struct run *run)
{
    struct error err;
    make_run(run, RUN_MEASURE, 1, 0, 5);
    assert_ok(store_begin_run(f->store, run, &err), &err);
    assert_ok(store_finish_run(f->store, run, &err), &err);
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
}

static void add(struct open_store *f, const struct run *run, unsigned number, int64_t made_s,
                unsigned base, unsigned head, double log_evidence)
{
    struct error err;
    struct link l = {.tool_version = "0.1",
                     .made_s = made_s,
                     .back = 1,
                     .kind = VERDICT_SAME,
                     .log_ratio = 0.001,
                     .error = 0.0004,
                     .log_evidence = log_evidence,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", number);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 100 + base);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 100 + head);
    l.base = l.head = (struct commit){.summary = "", .author = "", .time_s = 1000};
    snprintf(l.base.id, sizeof(l.base.id), "%040x", 300 + base);
    snprintf(l.head.id, sizeof(l.head.id), "%040x", 300 + head);
    const struct series series = {number % 2 ? "alpha" : "beta", &problem, run->devices[0].uuid};
    assert_ok(store_save_link(f->store, &series, &l, &err), &err);
}

// Codes in turn, and every fifth time two codes that were compared before.
static void add_some(struct open_store *f, const struct run *run, unsigned from, unsigned end,
                     struct random *random)
{
    for (unsigned i = from; i < end; i++) {
        const unsigned head = i % 5 == 4 && i > 8 ? i - 8 : i;
        add(f, run, i, 1700000000 + i, head ? head - 1 : 999, head,
            14 * random_uniform(random) - 3);
    }
}

static struct link_tests read(struct open_store *f, bool keeps)
{
    struct link_tests tests;
    struct error err;
    assert_ok(link_tests_read(&tests, f->store, keeps, &f->arena, &err), &err);
    return tests;
}

static struct link_tests read_anew(struct open_store *f)
{
    run_sql(f->path, "DELETE FROM test_stream; DELETE FROM link_tests");
    return read(f, false);
}

static void assert_same(const struct link_tests *a, const struct link_tests *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->tests, b->tests);
    assert_int_equal(a->discovered, b->discovered);
    for (size_t i = 0; i < a->count; i++) {
        assert_int_equal(a->items[i].discovered, b->items[i].discovered);
        assert_int_equal(a->items[i].link, b->items[i].link);
        assert_true(fabs(a->items[i].log_evidence - b->items[i].log_evidence) < 1e-9);
    }
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(what_is_kept_and_what_came_since_are_all)
{
    struct open_store *f = *state;
    struct random random = {5};
    struct run run;
    struct link_tests tests = {0};
    begin(f, &run);
    for (unsigned from = 0; from < 60; from += 12) {
        add_some(f, &run, from, from + 12, &random);
        tests = read(f, true);
        assert_int_equal(tests.tests, from + 12);
    }
    assert_true(tests.discovered > 5 && tests.discovered < 50);
    assert_true(tests.count > tests.discovered); // of the same codes again, too
    const struct link_tests anew = read_anew(f);
    assert_same(&tests, &anew);
    run_free(&run);
}

TEST(what_was_gone_through_is_not_read_again)
{
    struct open_store *f = *state;
    struct random random = {6};
    struct run run;
    begin(f, &run);
    add_some(f, &run, 0, 30, &random);
    const struct link_tests first = read(f, true);
    run_sql(f->path, "UPDATE links SET log_evidence = 100"); // no look at them sees it
    const struct link_tests again = read(f, true);
    assert_same(&first, &again);
    assert_non_null(link_tests_find(&again, again.items[0].link));
    run_sql(f->path, "UPDATE test_stream SET maker = 'another'");
    assert_int_equal(read(f, true).discovered, 30);
    run_free(&run);
}

TEST(link_that_belongs_earlier_begins_it_anew)
{
    struct open_store *f = *state;
    struct random random = {7};
    struct run run;
    begin(f, &run);
    add_some(f, &run, 0, 30, &random);
    read(f, true);
    add(f, &run, 77, 1600000000, 500, 501, 5.5); // as a merge may bring it
    const struct link_tests merged = read(f, true), anew = read_anew(f);
    assert_int_equal(merged.tests, 31);
    assert_same(&merged, &anew);
    run_free(&run);
}
