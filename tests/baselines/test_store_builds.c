// SPDX-License-Identifier: Apache-2.0
//
// What is known of builds, and which commits have nothing left to measure.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <string.h>

static void make_build(struct build_record *out, struct build_kernel kernels[2],
                       const struct run *run)
{
    *out = (struct build_record){"tree-key recipe-key", "cuda", MEASURED_OK, "", kernels, 2};
    for (size_t i = 0; i < 2; i++) {
        const struct result *r = &run->results[4 * i];
        memset(&kernels[i], 0, sizeof(kernels[i]));
        strcpy(kernels[i].name, r->kernel);
        strcpy(kernels[i].code, r->head_code);
        kernels[i].traits = r->traits;
    }
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(build_is_found_by_content_commit_and_tree)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    struct build_kernel kernels[2];
    struct build_record build, loaded;
    bool found;
    make_run(&run, RUN_MEASURE, 3, 8, 5);
    make_build(&build, kernels, &run);
    assert_ok(
        store_find_commit_build(&loaded, &found, f->store, &run.head, "cuda", &f->arena, &err),
        &err);
    assert_false(found);
    assert_ok(store_record_build(f->store, &run.head, &build, &err), &err);
    assert_ok(store_record_build(f->store, &run.head, &build, &err), &err);
    struct commit rebased = run.head;
    memset(rebased.id, 'e', 40);
    const struct commit *commits[] = {&run.head, &rebased};
    for (size_t i = 0; i < 2; i++) {
        assert_ok(
            store_find_commit_build(&loaded, &found, f->store, commits[i], "cuda", &f->arena, &err),
            &err);
        assert_true(found);
        assert_int_equal(loaded.count, 2);
        assert_string_equal(loaded.kernels[1].name, kernels[1].name);
        assert_string_equal(loaded.kernels[1].code, kernels[1].code);
        assert_memory_equal(&loaded.kernels[1].traits, &kernels[1].traits, sizeof(struct traits));
    }
    assert_ok(
        store_find_commit_build(&loaded, &found, f->store, &run.head, "host", &f->arena, &err),
        &err);
    assert_false(found);
    run_free(&run);
}

TEST(series_was_right_only_where_a_run_saw_it_so)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    bool right = true;
    make_run(&run, RUN_GATE, 3, 8, 5);
    struct result *wrong = &run.results[1];
    wrong->base = wrong->head = (struct measurement){.state = MEASURED_WRONG, .detail = "off"};
    const struct series series[] = {
        {run.results[0].kernel, &run.results[0].problem, run.devices[0].uuid},
        {wrong->kernel, &wrong->problem, run.devices[0].uuid}};
    assert_ok(store_ever_right(&right, f->store, &series[0], &err), &err);
    assert_false(right);
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(store_save_result(f->store, &run, &run.results[i], &err), &err);
        assert_ok(store_ever_right(&right, f->store, &series[i], &err), &err);
        assert_int_equal(right, i == 0);
    }
    run_free(&run);
}

TEST(unknown_traits_are_filled_in_and_known_ones_stay)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    struct build_record loaded;
    bool found;
    make_run(&run, RUN_GATE, 3, 1, 5); // the base's traits are not in a gate's result
    save_whole_run(f->store, &run);
    struct build_kernel kernel = {.traits = {.tile_m = 64}};
    strcpy(kernel.name, run.results[0].kernel);
    strcpy(kernel.code, run.results[0].base_code);
    for (int i = 0; i < 2; i++) {
        const char *content = i ? "second" : "first";
        const struct build_record build = {content, "cuda", MEASURED_OK, "", &kernel, 1};
        assert_ok(store_record_build(f->store, &run.base, &build, &err), &err);
        assert_ok(
            store_find_commit_build(&loaded, &found, f->store, &run.base, "cuda", &f->arena, &err),
            &err);
        assert_string_equal(loaded.content, content);
        assert_int_equal(loaded.kernels[0].traits.tile_m, 64);
        kernel.traits.tile_m = 32; // the same machine code cannot have other traits
    }
    run_free(&run);
}

static bool is_measured(struct open_store *f, const struct commit *commit,
                        const struct demand *demand)
{
    struct error err = {0};
    bool measured;
    assert_ok(store_commit_measured(&measured, f->store, commit, demand, &err), &err);
    return measured;
}

TEST(commit_is_measured_when_all_its_series_are)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    struct build_kernel kernels[2];
    struct build_record build;
    struct problem problems[4];
    make_run(&run, RUN_MEASURE, 3, 8, 5);
    make_build(&build, kernels, &run);
    for (size_t i = 0; i < 4; i++)
        problems[i] = run.results[i].problem;
    const struct demand all = {.recipe = "cuda",
                               .device_uuid = run.devices[0].uuid,
                               .problems = problems,
                               .problem_count = 4};
    assert_false(is_measured(f, &run.head, &all));
    assert_ok(store_record_build(f->store, &run.head, &build, &err), &err);
    assert_false(is_measured(f, &run.head, &all));
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    for (size_t i = 0; i < run.count; i++) {
        assert_false(is_measured(f, &run.head, &all));
        assert_ok(store_save_result(f->store, &run, &run.results[i], &err), &err);
    }
    assert_false(is_measured(f, &run.head, &all)); // not finished yet
    assert_ok(store_finish_run(f->store, &run, &err), &err);
    assert_true(is_measured(f, &run.head, &all));
    struct commit rebased = run.head;
    memset(rebased.id, 'e', 40);
    assert_true(is_measured(f, &rebased, &all));
    struct demand more = all;
    more.device_uuid = "GPU-another";
    assert_false(is_measured(f, &run.head, &more));
    more = all;
    more.driver = run.devices[0].driver;
    assert_true(is_measured(f, &run.head, &more));
    more.driver = "another driver";
    assert_false(is_measured(f, &run.head, &more));
    struct problem bigger[5];
    memcpy(bigger, problems, sizeof(problems));
    bigger[4] = problems[0];
    bigger[4].k = 99;
    more = all;
    more.problems = bigger;
    more.problem_count = 5;
    assert_false(is_measured(f, &run.head, &more));
    run_free(&run);
}

TEST(unbuildable_commit_leaves_nothing_to_do)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    make_run(&run, RUN_MEASURE, 3, 1, 5);
    const struct build_record build = {"c",  "cuda", MEASURED_UNBUILDABLE, "error: expected ';'",
                                       NULL, 0};
    const struct demand all = {.recipe = "cuda",
                               .device_uuid = run.devices[0].uuid,
                               .problems = &run.results[0].problem,
                               .problem_count = 1};
    assert_ok(store_record_build(f->store, &run.head, &build, &err), &err);
    assert_true(is_measured(f, &run.head, &all));
    run_free(&run);
}
