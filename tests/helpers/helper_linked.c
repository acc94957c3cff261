// SPDX-License-Identifier: Apache-2.0
//
// Links of one series, and what they say.
#include "tests/helpers/helper_linked.h"

#include "baselines/link.h"
#include "ci/history/links_pack.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct problem problem;
static unsigned made; // links, in all

void linked_scene_begin(struct linked_scene *s, struct open_store *f, uint64_t seed)
{
    struct error err;
    *s = (struct linked_scene){.f = f, .random = {seed}};
    make_run(&s->run, RUN_MEASURE, 1, 0, 5);
    assert_ok(store_begin_run(f->store, &s->run, &err), &err);
    assert_ok(store_finish_run(f->store, &s->run, &err), &err);
    assert_int_equal(problem_parse(&problem, "64x64x128:fp32", &err), 0);
    s->series = (struct series){"alpha", &problem, s->run.devices[0].uuid};
    assert_ok(store_begin_batch(f->store, &err), &err);
}

void linked_scene_end(struct linked_scene *s)
{
    struct error err;
    assert_ok(store_commit_batch(s->f->store, &err), &err);
    run_free(&s->run);
    arena_free(&s->arena);
}

struct commit linked_commit(unsigned number)
{
    struct commit c = {.summary = "", .author = "", .time_s = 1000 + 10 * (int64_t)number};
    snprintf(c.id, sizeof(c.id), "%08x%032x", number, 7);
    return c;
}

static double level_of(unsigned code)
{
    return 0.01 * (double)(code / 50 % 7);
}

void linked_add_between(struct linked_scene *s, unsigned base, unsigned head, unsigned base_commit,
                        unsigned head_commit, unsigned back)
{
    struct error err;
    const double truth = level_of(head) - level_of(base);
    const bool misfit = random_uniform(&s->random) < 0.002;
    struct link l = {.base = linked_commit(base_commit),
                     .head = linked_commit(head_commit),
                     .tool_version = "0.1",
                     .made_s = 1700000000 + made,
                     .back = back,
                     .kind = back != 1        ? VERDICT_SAME
                             : truth > 0.005  ? VERDICT_SLOWER
                             : truth < -0.005 ? VERDICT_FASTER
                                              : VERDICT_SAME,
                     .log_ratio =
                         truth + 0.001 * random_normal(&s->random) + s->off + (misfit ? 0.02 : 0),
                     .error = 0.0003 + 0.0004 * random_uniform(&s->random),
                     .log_evidence = 12.5,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", ++made);
    snprintf(l.base_code, sizeof(l.base_code), "%040x", 100 + base);
    snprintf(l.head_code, sizeof(l.head_code), "%040x", 100 + head);
    assert_ok(store_save_link(s->f->store, &s->series, &l, &err), &err);
}

void linked_add(struct linked_scene *s, unsigned base, unsigned head, unsigned back)
{
    linked_add_between(s, base, head, base, head, back);
}

// Codes up to `end`, each linked with those 1, 8 and 64 before it.
void linked_add_codes(struct linked_scene *s, unsigned end)
{
    static const unsigned backs[] = {1, 8, 64};
    for (; s->codes < end; s->codes++) {
        for (size_t b = 0; b < ARRAY_COUNT(backs) && backs[b] <= s->codes; b++)
            linked_add(s, s->codes - backs[b], s->codes, backs[b]);
    }
}

// ---- what is said ----

static void pack(struct buffer *out, const struct linked_history *linked,
                 const struct linked_levels *levels)
{
    size_t *numbers = xcalloc(levels->level_count + 1, sizeof(*numbers));
    for (size_t i = 0; i < levels->level_count; i++)
        numbers[i] = i;
    linked_pack(out, linked);
    linked_part_pack(out, &(struct linked_part){numbers, levels->levels, levels->level_count,
                                                levels->steps, levels->step_count});
    free(numbers);
}

// Gone on with, and kept: the caller frees.
struct buffer linked_said_now(struct linked_scene *s, struct kept_links *fresh)
{
    struct linked_history linked;
    struct linked_levels levels;
    struct commit_places places = {0};
    struct buffer out = {0};
    struct error err;
    struct open_store *f = s->f;
    assert_ok(store_commit_places(&places, f->store, &s->arena, &err), &err);
    assert_ok(history_links_kept(&linked, fresh, f->store, &places, &s->series, s->accepted,
                                 &s->arena, &s->arena, &err),
              &err);
    if (fresh->size)
        assert_ok(store_save_kept_links(f->store, &s->series, fresh, &err), &err);
    assert_ok(history_linked_levels(&levels, &linked, f->store, &places, &s->series, s->accepted,
                                    &s->arena, &err),
              &err);
    pack(&out, &linked, &levels);
    return out;
}

struct buffer linked_said_anew(struct linked_scene *s, struct linked_history *linked)
{
    struct linked_levels levels;
    struct commit_places places = {0};
    struct buffer out = {0};
    struct error err;
    struct open_store *f = s->f;
    assert_ok(store_commit_places(&places, f->store, &s->arena, &err), &err);
    assert_ok(history_links(linked, &levels, f->store, &places, &s->series, s->accepted, &s->arena,
                            &s->arena, &err),
              &err);
    pack(&out, linked, &levels);
    return out;
}

// The same either way; how many stretches are settled.
size_t linked_check_same(struct linked_scene *s)
{
    struct kept_links fresh;
    struct linked_history linked;
    struct reader r;
    struct buffer now = linked_said_now(s, &fresh), anew = linked_said_anew(s, &linked);
    assert_int_equal(now.length, anew.length);
    assert_memory_equal(now.bytes, anew.bytes, now.length);
    assert_null(linked.trouble);
    buffer_free(&now);
    buffer_free(&anew);
    if (!fresh.size)
        return 0;
    r = (struct reader){fresh.levels, (const unsigned char *)fresh.levels + fresh.levels_size,
                        &s->arena, false};
    const size_t settled = (size_t)get(&r);
    arena_free(&s->arena);
    return settled;
}
