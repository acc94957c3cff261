// SPDX-License-Identifier: Apache-2.0
//
// A gate that was measured in parts says, when they are joined, what it would have said as a whole:
// on the samples of gates that were recorded on an H200, and with drawn evidence, so that alarms
// stand that only the others keep up, and fall that only the others take back.
#include "ci/gate/conclude.h"
#include "ci/gate/judge.h"
#include "ci/gate/part.h"
#include "model/gate/gate.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/gates/gates.jsonl"
enum { PARTS = 5, STAMP = 77 };

// For all tests: the recorded gates, and the file of an empty store, which is copied where a fresh
// one is wanted.
static struct {
    char *folder, *path, *empty;
    size_t empty_size;
} recorded;

static int set_up(void **state)
{
    struct error err = {""};
    struct store_counts added;
    recorded.folder = helper_directory();
    recorded.path = xprintf("%s/recorded.db", recorded.folder);
    store_close(scratch_store(recorded.path, STORE_WRITE));
    recorded.empty = helper_read(recorded.path, &recorded.empty_size);
    struct store *store = scratch_store(recorded.path, STORE_WRITE);
    char *text = helper_read(RECORDED, NULL);
    assert_ok(import_text(store, text, strlen(text), "json", &added, &err), &err);
    store_close(store);
    free(text);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void load_recorded(struct run *out, int64_t id)
{
    struct error err = {""};
    struct store *store = scratch_store(recorded.path, STORE_READ);
    assert_ok(store_load_run(out, store, id, &err), &err);
    store_close(store);
}

static struct store *fresh_store(const char *path)
{
    helper_write(path, recorded.empty, recorded.empty_size);
    return scratch_store(path, STORE_WRITE);
}

// Each series by itself, from its samples: what a part stores.
static void judge_alone(struct run *run)
{
    const struct gpu *gpu = gpu_find("h200-sxm");
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        if (!r->base.count || !r->head.count)
            continue;
        struct gate_policy policy = gate_policy_default(
            "cuda", gate_size_ns(r->base.samples, r->base.count, &r->problem, gpu));
        policy.processes = 3; // as their policy had it
        policy.max_pairs = 128;
        gate_replay(&r->verdict, &r->base, &r->head, &policy, &run->arena);
        r->verdict.sentence = arena_printf(&run->arena, "%s %zu", r->kernel, i);
    }
}

// Evidence near what e-BH wants, without samples, which would only take time.
static void draw_alarms(struct run *run, uint64_t *state)
{
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        struct verdict *v = &r->verdict;
        const bool alarm = draw_unit(state) < 0.2;
        r->base = r->head = (struct measurement){.regime = "", .detail = ""};
        r->reused = false;
        *v = (struct verdict){.kind = alarm ? VERDICT_SLOWER : VERDICT_SAME,
                              .cause = alarm ? CAUSE_KERNEL : CAUSE_NONE,
                              .log_ratio = {0.01 * draw_unit(state), -0.01, 0.02},
                              .log_evidence = alarm ? 4 + 10 * draw_unit(state) : -2,
                              .margin = 0.003,
                              .pairs = 64,
                              .processes = 3,
                              .sentence = arena_printf(&run->arena, "%s %zu", r->kernel, i),
                              .model = "gate",
                              .version = "1"};
    }
}

// The results that are dealt to `number`, as a run of its own in a store of its own.
static void save_part(const char *path, const struct run *whole, const uint32_t *dealt,
                      uint32_t number)
{
    struct error err = {""};
    struct store *store = fresh_store(path);
    const struct part_note note = {{number, PARTS}, STAMP};
    struct run part = *whole;
    part.arena = (struct arena){0};
    part.id = 0;
    part.count = 0;
    part.started_s += number;
    part.self_test = (struct self_test){.series = 1, .worst_log_evidence = 0.25 * number};
    part.results = arena_alloc(&part.arena, whole->count * sizeof(*part.results));
    for (size_t i = 0; i < whole->count; i++) {
        if (dealt[i] == number)
            part.results[part.count++] = whole->results[i];
    }
    part_note_write(&part, &note);
    assert_ok(store_begin_batch(store, &err), &err);
    assert_ok(store_begin_run(store, &part, &err), &err);
    for (size_t i = 0; i < part.count; i++)
        assert_ok(store_save_result(store, &part, &part.results[i], &err), &err);
    assert_ok(store_finish_run(store, &part, &err), &err);
    assert_ok(store_commit_batch(store, &err), &err);
    store_close(store);
    arena_free(&part.arena);
}

// Deals the results to parts, and merges the parts in `order` into a fresh store; 0 leaves one out.
static void save_parts(const char *merged, const char *folder, const struct run *whole,
                       const uint32_t order[PARTS], uint64_t *state)
{
    struct error err = {""};
    uint32_t *dealt = xcalloc(whole->count, sizeof(*dealt));
    for (size_t i = 0; i < whole->count; i++)
        dealt[i] = 1 + (uint32_t)(PARTS * draw_unit(state));
    struct store *store = fresh_store(merged);
    for (int i = 0; i < PARTS; i++) {
        char *path = xprintf("%s/part.db", folder);
        if (order[i]) {
            save_part(path, whole, dealt, order[i]);
            assert_ok(store_merge(store, path, NULL, &err), &err);
        }
        free(path);
    }
    store_close(store);
    free(dealt);
}

static const struct result *same_series(const struct run *run, const struct result *like)
{
    for (size_t i = 0; i < run->count; i++) {
        if (strcmp(run->results[i].kernel, like->kernel) == 0 &&
            problem_equal(&run->results[i].problem, &like->problem))
            return &run->results[i];
    }
    fail_msg("%s is lost", like->kernel);
    return NULL;
}

static size_t assert_alike(const struct run *whole, const struct run *joined)
{
    size_t taken_back = 0;
    assert_int_equal(whole->count, joined->count);
    for (size_t i = 0; i < whole->count; i++) {
        const struct verdict *a = &whole->results[i].verdict;
        const struct verdict *b = &same_series(joined, &whole->results[i])->verdict;
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->cause, b->cause);
        assert_true(a->log_evidence == b->log_evidence);
        assert_string_equal(a->sentence, b->sentence);
        taken_back += strstr(a->sentence, "not enough evidence") != NULL;
    }
    assert_int_equal(whole->conclusion, joined->conclusion);
    assert_string_equal(whole->headline, joined->headline);
    return taken_back;
}

struct joining_test {
    struct open_store *open;
    struct store *store; // what the whole would be saved in
    struct context context;
};

// A recorded run with drawn evidence, its parts merged, and what they are joined to.
struct parted {
    struct joining_test t;
    struct run run, joined_run;
    struct joined joined;
    char *merged; // path
    uint64_t seed;
};

static void begin(struct joining_test *t, void **state)
{
    static struct policy_device device = {.name = "cuda", .kind = "cuda"};
    *t = (struct joining_test){.open = *state};
    t->store = fresh_store(t->open->path);
    t->context = (struct context){.store = t->store};
    t->context.policy = (struct policy){
        .label = "policy", .devices = &device, .device_count = 1, .gate = {.alpha = 0.001}};
}

static void end(struct joining_test *t)
{
    store_close(t->store);
    arena_free(&t->context.arena);
}

static int join(struct run *out, struct joined *joined, struct joining_test *t,
                const struct run *whole, const char *merged, struct error *err)
{
    *out = (struct run){.kind = RUN_GATE,
                        .base = whole->base,
                        .head = whole->head,
                        .started_s = INT64_MAX,
                        .policy = ""};
    t->context.device_count = 0;
    return joining_read(joined, out, &t->context, merged, err);
}

// *run is judged as a whole and in parts; how many alarms were taken back.
static size_t whole_and_parts_agree(struct joining_test *t, struct run *run, uint64_t *state)
{
    static const uint32_t order[PARTS] = {3, 1, 5, 2, 4};
    struct error err = {""};
    struct run whole;
    struct joined joined;
    char *merged = xprintf("%s/merged.db", t->open->folder);
    save_parts(merged, t->open->folder, run, order, state);
    assert_ok(join(&whole, &joined, t, run, merged, &err), &err);
    assert_string_equal(joined.missing, "");
    assert_int_equal(joined.parts, PARTS);
    assert_int_equal(whole.self_test.series, PARTS);
    assert_true(whole.self_test.worst_log_evidence == 0.25 * PARTS);
    assert_int_equal(whole.started_s, run->started_s + 1);
    release_alarms(run);
    release_alarms(&whole);
    run->self_test = whole.self_test;
    conclude_run(run, &t->context.policy.gate, "");
    conclude_run(&whole, &t->context.policy.gate, "");
    const size_t taken_back = assert_alike(run, &whole);
    run_free(&whole);
    free(merged);
    return taken_back;
}

static void begin_parted(struct parted *p, void **state, uint64_t seed, const uint32_t order[PARTS])
{
    *p = (struct parted){.seed = seed};
    begin(&p->t, state);
    load_recorded(&p->run, 1);
    draw_alarms(&p->run, &p->seed);
    p->merged = xprintf("%s/merged.db", p->t.open->folder);
    save_parts(p->merged, p->t.open->folder, &p->run, order, &p->seed);
}

static int join_parted(struct parted *p, struct error *err)
{
    run_free(&p->joined_run);
    return join(&p->joined_run, &p->joined, &p->t, &p->run, p->merged, err);
}

static void end_parted(struct parted *p)
{
    run_free(&p->joined_run);
    run_free(&p->run);
    free(p->merged);
    end(&p->t);
}

AROUND_EACH(open_store_set_up_none, open_store_tear_down);

TEST(recorded_gates_in_parts_say_what_they_say_as_a_whole)
{
    struct joining_test t;
    uint64_t seed = 11;
    begin(&t, state);
    // A kernel that is slower on all of its problems, and a comment.
    for (int64_t id = 2; id <= 3; id++) {
        struct run run;
        load_recorded(&run, id);
        size_t slower = 0;
        judge_alone(&run);
        whole_and_parts_agree(&t, &run, &seed);
        for (size_t i = 0; i < run.count; i++)
            slower += run.results[i].verdict.kind == VERDICT_SLOWER;
        assert_int_equal(slower, id == 3 ? 3 : 0);
        run_free(&run);
    }
    end(&t);
}

TEST(alarms_stand_and_fall_by_all_parts_together)
{
    struct joining_test t;
    size_t taken_back = 0, alarms = 0;
    begin(&t, state);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct run run;
        uint64_t draws = seed;
        load_recorded(&run, 1);
        draw_alarms(&run, &draws);
        taken_back += whole_and_parts_agree(&t, &run, &draws);
        for (size_t i = 0; i < run.count; i++)
            alarms += run.results[i].verdict.kind == VERDICT_SLOWER;
        run_free(&run);
    }
    if (!taken_back || !alarms)
        fail_msg("%zu alarms were taken back, %zu stand: the test shows nothing", taken_back,
                 alarms);
    end(&t);
}

TEST(a_missing_part_leaves_a_gate_undecided)
{
    static const uint32_t order[PARTS] = {1, 0, 3, 0, 5};
    struct parted p;
    struct error err = {""};
    begin_parted(&p, state, 3, order);
    assert_ok(join_parted(&p, &err), &err);
    assert_string_equal(p.joined.missing, "2, 4");
    conclude_run(&p.joined_run, &p.t.context.policy.gate, "");
    conclude_incomplete(&p.joined_run, p.joined.missing, p.joined.parts);
    assert_int_equal(p.joined_run.conclusion, CONCLUDE_UNDECIDED);
    assert_non_null(strstr(p.joined_run.headline, "of 5 parts these are missing: 2, 4"));
    end_parted(&p);
}

// A task that ran twice, under two names: the samples of the one that began first count.
TEST(a_part_that_is_there_twice_counts_once)
{
    static const uint32_t order[PARTS] = {1, 2, 3, 4, 5};
    struct parted p;
    struct error err = {""};
    begin_parted(&p, state, 5, order);
    char *late = xprintf("%s/late.db", p.t.open->folder);
    uint32_t *dealt = xcalloc(p.run.count, sizeof(*dealt));
    for (size_t i = 0; i < p.run.count; i++)
        dealt[i] = 2;
    p.run.started_s += 100;
    save_part(late, &p.run, dealt, 2);
    struct store *store = scratch_store(p.merged, STORE_WRITE);
    assert_ok(store_merge(store, late, NULL, &err), &err);
    assert_ok(store_merge(store, late, NULL, &err), &err);
    store_close(store);
    assert_ok(join_parted(&p, &err), &err);
    assert_int_equal(p.joined_run.count, p.run.count);
    free(dealt);
    free(late);
    end_parted(&p);
}

TEST(parts_of_two_plans_are_refused)
{
    static const uint32_t order[PARTS] = {1, 2, 3, 4, 5};
    struct parted p;
    struct error err = {""};
    begin_parted(&p, state, 7, order);
    run_sql(p.merged, "UPDATE texts SET text = replace(text, 'plan 000000000000004d', "
                      "'plan 000000000000004e') WHERE text LIKE '%# part 4 of 5%'");
    assert_int_equal(join_parted(&p, &err), -1);
    assert_non_null(strstr(err.text, "other machine code"));
    text_copy(p.run.head.id, sizeof(p.run.head.id), "0123456789");
    assert_int_equal(join_parted(&p, &err), -1);
    assert_non_null(strstr(err.text, "has no part of this gate"));
    end_parted(&p);
}

// Parts are joined again after a kill, and by whoever asks: the whole is saved once.
TEST(a_whole_is_known_again_by_the_parts_that_it_was_made_of)
{
    static const uint32_t order[PARTS] = {4, 0, 2, 5, 1};
    const struct pieces_wanted wanted = {.kind = RUN_GATE}, studies = {.kind = RUN_STUDY};
    struct parted p;
    struct part_runs pieces;
    struct error err = {""};
    int64_t known;
    begin_parted(&p, state, 9, order);
    assert_ok(pieces_read(&pieces, p.merged, &wanted, &p.run.arena, &err), &err);
    assert_int_equal(pieces.count, PARTS);
    assert_string_equal(pieces.missing, "3");
    assert_string_equal(pieces.items[2].uid, "");
    p.run.policy = pieces.policy;
    pieces_free(&pieces);
    assert_null(pieces.items);
    assert_ok(pieces_stored(&known, p.t.store, &p.run, &err), &err);
    assert_int_equal(known, 0);
    p.run.id = 0;
    save_whole_run(p.t.store, &p.run);
    assert_ok(pieces_stored(&known, p.t.store, &p.run, &err), &err);
    assert_int_equal(known, p.run.id);
    p.run.policy = "the same parts, and one more";
    assert_ok(pieces_stored(&known, p.t.store, &p.run, &err), &err);
    assert_int_equal(known, 0);
    assert_int_equal(pieces_read(&pieces, p.merged, &studies, &p.run.arena, &err), -1);
    assert_non_null(strstr(err.text, "has no part of this study"));
    pieces_free(&pieces);
    end_parted(&p);
}
