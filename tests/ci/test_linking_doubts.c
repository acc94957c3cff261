// SPDX-License-Identifier: Apache-2.0
//
// Which links with marks are measured once more: those that say what the others do not. Most span a
// change that a link with the code before has found, and are as these foretell.
#include "baselines/store.h"
#include "ci/gate/pipeline.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <string.h>

enum { CODES = 20, STEP = 6, BACK = 8 };

static struct problem problem;
static char uuid[128];

static void name(char out[OBJECT_ID_TEXT], char kind, unsigned number)
{
    snprintf(out, OBJECT_ID_TEXT, "%c%039x", kind, number);
}

static enum verdict_kind kind_of(double log_ratio)
{
    return log_ratio > 0.003 ? VERDICT_SLOWER : log_ratio < -0.003 ? VERDICT_FASTER : VERDICT_SAME;
}

static void add(struct open_store *f, unsigned head, uint32_t back, double log_ratio)
{
    static unsigned number;
    struct error err;
    struct link l = {.tool_version = "0.1",
                     .made_s = 1700000000 + head,
                     .back = back,
                     .kind = kind_of(log_ratio),
                     .log_ratio = log_ratio,
                     .error = 0.0004,
                     .log_evidence = 30,
                     .pairs = 64,
                     .processes = 1};
    snprintf(l.uid, sizeof(l.uid), "%032x", ++number);
    name(l.base_code, 'c', head - back);
    name(l.head_code, 'c', head);
    l.base = (struct commit){.summary = "", .author = "", .time_s = 1600000000 + head - back};
    l.head = (struct commit){.summary = "", .author = "", .time_s = 1600000000 + head};
    name(l.base.id, 'e', head - back);
    name(l.head.id, 'e', head);
    const struct series series = {"k", &problem, uuid};
    assert_ok(store_save_link(f->store, &series, &l, &err), &err);
}

static void begin(struct open_store *f)
{
    struct run run;
    struct error err;
    make_run(&run, RUN_MEASURE, 1, 0, 5);
    assert_ok(store_begin_run(f->store, &run, &err), &err);
    assert_ok(store_finish_run(f->store, &run, &err), &err);
    text_copy(uuid, sizeof(uuid), run.devices[0].uuid);
    run_free(&run);
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
}

// Codes of one time but for a step of 5 %, some noise that does not add up, and links that close
// but for what `off` says of the mark's link of each code.
static void fill(struct open_store *f, const double off[CODES], double creep)
{
    begin(f);
    for (unsigned i = 1; i < CODES; i++) {
        add(f, i, 1, creep + (i == STEP ? 0.05 : i % 2 ? 0.0003 : -0.0003));
        if (i >= BACK)
            add(f, i, BACK, BACK * creep + (i >= STEP && i - BACK < STEP ? 0.05 : 0) + off[i]);
    }
}

// The heads whose link with the mark is to be measured again.
static size_t doubts(unsigned heads[CODES], struct open_store *f)
{
    static struct built builds[CODES];
    struct context context = {.store = f->store};
    struct context_device device = {.unit = {.kind = "cuda", .uuid = uuid}};
    struct commit_comparison what[2 * CODES], *again;
    struct compared_series series[2 * CODES];
    struct error err;
    size_t asked = 0, count;
    for (unsigned i = 0; i < CODES; i++)
        name(builds[i].commit.id, 'e', i);
    for (unsigned i = 1; i < CODES; i++) {
        series[asked] = (struct compared_series){&device, "k", &problem, 1, GATE_FOR_CHANGE};
        what[asked] = (struct commit_comparison){&builds[i - 1], &builds[i], &series[asked], 1};
        asked++;
        if (i < BACK)
            continue;
        series[asked] = (struct compared_series){&device, "k", &problem, BACK, GATE_FOR_LEVEL};
        what[asked] = (struct commit_comparison){&builds[i - BACK], &builds[i], &series[asked], 1};
        asked++;
    }
    assert_ok(linking_doubts(&again, &count, what, asked, &context, &f->arena, &err), &err);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(again[i].count, 1);
        assert_int_equal(again[i].series[0].back, BACK);
        heads[i] = (unsigned)(again[i].head - builds);
    }
    return count;
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(a_mark_across_a_change_that_is_known_is_no_news)
{
    const double none[CODES] = {0};
    unsigned heads[CODES];
    fill(*state, none, 0);
    assert_int_equal(doubts(heads, *state), 0);
}

TEST(a_link_that_the_others_contradict_is_asked_again_once)
{
    const double off[CODES] = {[12] = 0.01};
    unsigned heads[CODES];
    fill(*state, off, 0);
    assert_int_equal(doubts(heads, *state), 1);
    assert_int_equal(heads[0], 12);
    add(*state, 12, BACK, 0.05);
    assert_int_equal(doubts(heads, *state), 0);
}

// Each step is too small to be one, eight of them are not: nobody's change, and it closes.
TEST(creep_is_asked_again)
{
    const double none[CODES] = {0};
    unsigned heads[CODES];
    fill(*state, none, 0.001);
    // Marks before the step are covered by it.
    assert_int_equal(doubts(heads, *state), CODES - STEP - BACK);
    for (unsigned i = 0; i < CODES - STEP - BACK; i++)
        assert_int_equal(heads[i], STEP + BACK + i);
}
