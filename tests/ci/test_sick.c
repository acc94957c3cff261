// SPDX-License-Identifier: Apache-2.0
//
// GPUs that are sick by their controls: found in made stores, taken out, named and brought back.
#include "baselines/store.h"
#include "ci/history/load.h"
#include "ci/site/site_data.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plumb_outcome outcome;

static struct sick_finding judged(struct open_store *f)
{
    struct sick_finding *found;
    struct error err;
    size_t count;
    assert_ok(sick_find(&found, &count, f->store, 0.05, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(found->uuid, "GPU-1");
    return *found;
}

// The site says the same.
static void site_says_sick(struct open_store *f, const char *why)
{
    struct site_data data = {0};
    struct error err;
    assert_ok(site_data_load(&data, f->store, NULL, NULL, NULL, 0, true, &err), &err);
    assert_int_equal(data.site.device_count, 1);
    assert_int_equal(data.site.health[0].is, SITE_SICK);
    assert_string_equal(data.site.health[0].why, why);
    site_data_free(&data);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(two_slow_runs_of_the_controls_are_a_sick_gpu)
{
    struct open_store *f = *state;
    const struct scene scene = {.common = 0.1, .keep_code = true};
    scene_save(f->store, &scene, 0, STEP + 1, 1);
    struct sick_finding found = judged(f);
    assert_true(found.known && !found.sick);
    scene_save(f->store, &scene, STEP + 1, STEP + 2, 2);
    found = judged(f);
    assert_true(found.sick);
    assert_non_null(strstr(found.why, "its 5 controls are +10."));
    assert_non_null(strstr(found.why, "slower in the last two runs"));
    site_says_sick(f, found.why);
}

// It is an event, which names the driver.
TEST(slower_under_a_new_driver_is_no_sickness)
{
    struct open_store *f = *state;
    const struct scene scene = {.common = 0.1, .keep_code = true, .driver = true};
    scene_save(f->store, &scene, 0, STEP + 4, 1);
    const struct sick_finding found = judged(f);
    assert_false(found.known);
    assert_false(found.sick);
    assert_non_null(strstr(found.why, "under its driver"));
}

TEST(kernels_that_became_slower_are_no_sickness)
{
    struct open_store *f = *state;
    const struct scene scene = {.step = 0.5};
    scene_save(f->store, &scene, 0, STEP + 4, 1);
    const struct sick_finding found = judged(f);
    assert_true(found.known && !found.sick);
}

TEST(controls_that_compute_wrong_results_are_a_sick_gpu_at_once)
{
    struct open_store *f = *state;
    const struct scene scene = {.wrong = true, .keep_code = true};
    scene_save(f->store, &scene, 0, STEP, 1);
    assert_false(judged(f).sick);
    scene_save(f->store, &scene, STEP, STEP + 1, 2);
    const struct sick_finding found = judged(f);
    assert_true(found.sick);
    assert_non_null(
        strstr(found.why, "5 of its 5 controls compute wrong results, control-1 64x64x64"));
}

TEST_WITH(what_was_taken_out_is_merged, open_store_set_up_two, open_store_tear_down)
{
    struct open_store *f = *state;
    const struct scene scene = {.keep_code = true};
    const struct device_entry_state out = {true, 1700000000, "plumb", "why"};
    struct device_entry_state read;
    struct error err;
    bool found;
    scene_save(f->other, &scene, 0, 2, 1);
    assert_ok(store_set_device_state(f->other, "GPU-1", &out, &err), &err);
    assert_int_equal(store_set_device_state(f->other, "GPU-2", &out, &err), -1);
    store_close(f->other);
    f->other = NULL;
    for (int i = 0; i < 2; i++)
        assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    assert_ok(store_device_state(&read, &found, f->store, "GPU-1", &f->arena, &err), &err);
    assert_true(found && read.out);
    assert_string_equal(read.why, "why");
    const struct device_entry_state in = {false, 1700000001, "a person", "a new fan"};
    assert_ok(store_set_device_state(f->store, "GPU-1", &in, &err), &err);
    assert_ok(store_device_state(&read, &found, f->store, "GPU-1", &f->arena, &err), &err);
    assert_true(found && !read.out);
}

static void doctor(struct helper_repo *repo, const char *store, const char *const *more, int code,
                   const char *part)
{
    const char *argv[16] = {"doctor", "--store", store};
    for (size_t i = 0; more[i]; i++)
        argv[3 + i] = more[i];
    plumb_run(&outcome, repo->directory, argv, 0);
    plumb_said(&outcome, code, part);
}

TEST(the_way_out_and_the_way_back)
{
    struct open_store *f = *state;
    struct helper_repo repo;
    const struct scene scene = {.common = 0.1, .keep_code = true};
    char policy[320];
    helper_repo_create(&repo);
    snprintf(policy, sizeof(policy), "%s/p.cfg", repo.directory);
    helper_repo_policy(policy, "\tproblem = 32x32x32:fp32\n", "");
    scene_save(f->store, &scene, 0, STEP + 2, 1);
    store_close(f->store);
    f->store = NULL;
    const char *judge[] = {"--controls", "--policy", policy, NULL}, *look[] = {NULL};
    doctor(&repo, f->path, judge, 2, "SICK     H GPU-1: its 5 controls are +10.");
    plumb_said(&outcome, 2, "SICK: 1 of 1 GPU is taken out");
    doctor(&repo, f->path, judge, 2, "OUT      H GPU-1: its 5 controls are +10.");
    doctor(&repo, f->path, look, 2, "DISTURBS  taken out    GPU-1: its 5 controls are");
    const char *hasty[] = {"--clear", "GPU-1", NULL};
    doctor(&repo, f->path, hasty, 4, "--clear needs --reason");
    const char *other[] = {"--clear", "GPU-9", "-m", "x", NULL};
    doctor(&repo, f->path, other, 4, "GPU-9 is not taken out");
    const char *clear[] = {"--clear", "GPU-1", "-m", "a new fan", "--who", "A. Person", NULL};
    doctor(&repo, f->path, clear, 0, "OK: GPU-1 is measured again");
    doctor(&repo, f->path, judge, 0, "it was brought back and is judged after two more runs");
    helper_repo_remove(&repo);
}

// On the host device, which is here: a store that says so of its CPU.
TEST(nothing_is_measured_on_what_was_taken_out)
{
    struct open_store *f = *state;
    struct helper_repo repo;
    struct device_entry *devices;
    struct error err;
    size_t count;
    char policy[320];
    helper_repo_create(&repo);
    snprintf(policy, sizeof(policy), "%s/p.cfg", repo.directory);
    helper_repo_policy(policy, "\tproblem = 32x32x32:fp32\n", "[measure]\n\tsamples = 3\n");
    const char *argv[] = {"run", repo.ids[REPO_MERGE], "--store", f->path, "--policy", policy,
                          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "OK: ");
    assert_ok(store_list_devices(&devices, &count, f->store, &f->arena, &err), &err);
    assert_int_equal(count, 1);
    const struct device_entry_state out = {true, 1700000000, "plumb", "its controls crash"};
    assert_ok(store_set_device_state(f->store, devices[0].uuid, &out, &err), &err);
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, "was taken out: its controls crash; `plumb doctor --clear ");
    helper_repo_policy(policy, "\tproblem = 32x32x32:fp32\n",
                       "[device \"host\"]\n\trequired = false\n[measure]\n\tsamples = 3\n");
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, "was taken out: its controls crash; `plumb doctor --clear ");
    plumb_said(&outcome, 4, "none of the policy's devices is on this machine");
    helper_repo_remove(&repo);
}
