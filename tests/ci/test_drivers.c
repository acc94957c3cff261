// SPDX-License-Identifier: Apache-2.0
//
// Drivers that followed each other on a device, in made stores: how much each moved the same code,
// or codes that links hold together, and what `plumb bisect --drivers` says of it.
#include "baselines/store.h"
#include "ci/history/load.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = STEP - 6, LAST = STEP + 4 };

static struct plumb_outcome outcome;
static const struct scene slower = {.common = 0.02, .keep_code = true, .driver = true};

static struct driver_step only(struct open_store *f, const char *kernel)
{
    const struct history_wanted wanted = {.kernel = kernel};
    struct driver_steps steps;
    struct error err;
    assert_ok(drivers_find(&steps, f->store, &wanted, false, &f->arena, &err), &err);
    assert_int_equal(steps.count, 1);
    assert_string_equal(steps.items[0].from, "570.1");
    assert_string_equal(steps.items[0].to, "580.2");
    return steps.items[0];
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(the_same_code_under_a_new_driver_has_a_shift_and_an_interval)
{
    struct open_store *f = *state;
    scene_save(f->store, &slower, FIRST, LAST, 1);
    const struct driver_step step = only(f, NULL);
    assert_false(step.levelled);
    assert_int_equal(step.shift.series, KERNELS);
    assert_int_equal(step.shift.before, STEP - FIRST);
    assert_int_equal(step.shift.after, LAST - STEP);
    assert_true(step.shift.size.low < 0.02 && 0.02 < step.shift.size.high);
    assert_true(step.shift.size.high - step.shift.size.low < 0.01);
}

TEST(a_store_of_one_driver_has_no_steps)
{
    struct open_store *f = *state;
    const struct scene scene = {.keep_code = true};
    const struct history_wanted wanted = {0};
    struct driver_steps steps;
    struct error err;
    scene_save(f->store, &scene, 0, 10, 1);
    assert_ok(drivers_find(&steps, f->store, &wanted, false, &f->arena, &err), &err);
    assert_int_equal(steps.count, 0);
}

// The kernel's code changed with the driver, by 5 %; side by side one driver says so.
TEST(codes_that_differ_are_held_together_by_their_link)
{
    struct open_store *f = *state;
    const struct scene scene = {.common = 0.02, .step = 0.05, .driver = true};
    struct problem problem;
    struct error err;
    struct link link = {.uid = "0123456789abcdef0123456789abcdef",
                        .tool_version = "1",
                        .made_s = 1700000000,
                        .back = 1,
                        .kind = VERDICT_SLOWER,
                        .log_ratio = 0.05,
                        .error = 0.0004,
                        .log_evidence = 20,
                        .pairs = 64,
                        .processes = 4};
    scene_save(f->store, &scene, FIRST, LAST, 1);
    assert_int_equal(only(f, "kernel").shift.series, 0); // nothing holds them yet
    snprintf(link.base_code, sizeof(link.base_code), "%040d", 0);
    snprintf(link.head_code, sizeof(link.head_code), "%040d", 1);
    link.base = link.head = (struct commit){.summary = "", .author = ""};
    snprintf(link.base.id, sizeof(link.base.id), "aaaa%036d", STEP - 1);
    snprintf(link.head.id, sizeof(link.head.id), "aaaa%036d", STEP);
    link.base.time_s = 1, link.head.time_s = 2;
    assert_ok(problem_parse(&problem, "64x64x64:fp32", &err), &err);
    const struct series series = {"kernel", &problem, "GPU-1"};
    assert_ok(store_save_link(f->store, &series, &link, &err), &err);
    const struct driver_step step = only(f, "kernel");
    assert_true(step.levelled);
    assert_int_equal(step.shift.series, 1);
    assert_int_equal(step.shift.before, STEP - FIRST);
    assert_int_equal(step.shift.after, LAST - STEP);
    assert_true(fabs(step.shift.size.value - 0.02) < 0.003);
}

static void say(struct open_store *f, struct helper_repo *repo, const char *const *more, int code,
                const char *part)
{
    const char *argv[16] = {"bisect", "--drivers", "--store", f->path};
    for (size_t i = 0; more[i]; i++)
        argv[4 + i] = more[i];
    plumb_run(&outcome, repo->directory, argv, 0);
    plumb_said(&outcome, code, part);
}

static void close_store(struct open_store *f)
{
    store_close(f->store);
    f->store = NULL;
}

TEST(bisect_says_which_driver_it_was)
{
    struct open_store *f = *state;
    struct helper_repo repo;
    const char *plain[] = {NULL}, *json[] = {"--format", "json", NULL};
    const char *good[] = {"--good", "HEAD", NULL};
    helper_repo_create(&repo);
    scene_save(f->store, &slower, FIRST, LAST, 1);
    close_store(f);
    say(f, &repo, plain, 0, "FOUND: driver 580.2 made H ");
    plumb_said(&outcome, 0, "  driver 570.1 -> 580.2: +");
    plumb_said(&outcome, 0, "6 codes, 6 and 4 runs  <- changed");
    say(f, &repo, json, 0, "\"runs_before\":6");
    say(f, &repo, good, 4, "--drivers reads the store");
    helper_repo_remove(&repo);
}

TEST(one_run_under_each_is_undecided)
{
    struct open_store *f = *state;
    struct helper_repo repo;
    const char *plain[] = {NULL};
    helper_repo_create(&repo);
    scene_save(f->store, &slower, STEP - 1, STEP + 1, 1);
    close_store(f);
    say(f, &repo, plain, 2, "UNDECIDED: one run under a driver tells nothing of the day");
    plumb_said(&outcome, 2, "and nothing tells it from the day: 6 codes, 1 and 1 runs");
    helper_repo_remove(&repo);
}

TEST(a_driver_that_changes_nothing_is_not_blamed)
{
    struct open_store *f = *state;
    struct helper_repo repo;
    const struct scene scene = {.keep_code = true, .driver = true};
    const char *plain[] = {NULL};
    helper_repo_create(&repo);
    scene_save(f->store, &scene, FIRST, LAST, 1);
    close_store(f);
    say(f, &repo, plain, 2, "NONE: no driver changed what the same code takes");
    helper_repo_remove(&repo);
}
