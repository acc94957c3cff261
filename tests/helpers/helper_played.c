// SPDX-License-Identifier: Apache-2.0
//
// Plays a gate's duets against the fake bench, and reads its journal.
#include "tests/helpers/helper_played.h"

#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct played *p = context;
    struct bench_plan plan = p->fake.plan;
    plan.index = (int32_t)unit;
    return bench_start(out, &plan, err);
}

static int policy(struct gate_policy *out, void *context, const struct duet *duet,
                  struct error *err)
{
    struct played *p = context;
    (void)err;
    assert_true(duet->base_samples.count > 0);
    *out = gate_policy_default("host", 1e3);
    out->tail_pairs = 0; // the played are as they are
    if (p->stop_after_first_block)
        p->duets.deadline_s = 1e-9;
    return 0;
}

static int over(void *context, struct duet *duet, struct error *err)
{
    struct played *p = context;
    (void)err;
    assert_int_equal(duet->place, DUET_OVER);
    p->over_in[p->over_count] = p->duets.processes;
    p->over[p->over_count++] = (size_t)(duet - p->items);
    return 0;
}

int played_set_up(void **state)
{
    struct played *p = xcalloc(1, sizeof(*p));
    fake_bench_make(&p->fake);
    fake_bench_write(&p->fake, "journal", "");
    p->duets = (struct duets){.items = p->items,
                              .arena = &p->fake.arena,
                              .context = p,
                              .start = start,
                              .policy = policy,
                              .over = over};
    *state = p;
    return 0;
}

int played_tear_down(void **state)
{
    struct played *p = *state;
    for (size_t i = 0; i < p->duets.count; i++) {
        sample_list_free(&p->items[i].base_samples);
        sample_list_free(&p->items[i].head_samples);
    }
    fake_bench_remove(&p->fake);
    free(p);
    return 0;
}

int played_try(struct played *p, const char *const *kernels, struct error *err)
{
    for (; kernels[p->duets.count]; p->duets.count++)
        p->items[p->duets.count] = (struct duet){.kernel = kernels[p->duets.count],
                                                 .problem = &fake_problem,
                                                 .base = "/x/base.so",
                                                 .head = "/x/head.so",
                                                 .seed = 1,
                                                 .least_ns = p->least_ns};
    int status = duets_play(&p->duets, err);
    char *path = xprintf("%s.journal", p->fake.program);
    char *journal = helper_read(path, NULL);
    text_copy(p->journal, sizeof(p->journal), journal);
    free(journal);
    free(path);
    for (char *c = p->journal; *c; c++)
        *c = *c == '\n' ? ';' : *c;
    return status;
}

void played_all(struct played *p, const char *const *kernels)
{
    struct error err;
    if (played_try(p, kernels, &err))
        fail_msg("%s", err.text);
    assert_int_equal(p->over_count, p->duets.count);
}

size_t played_times(const struct played *p, const char *what)
{
    size_t count = 0;
    for (const char *at = p->journal; (at = strstr(at, what)); at++)
        count++;
    return count;
}

void played_whole(const struct duet *d, enum verdict_kind kind)
{
    assert_int_equal(d->outcome.state, MEASURED_OK);
    assert_true(d->judged);
    assert_int_equal(d->decision.kind, kind);
    assert_int_equal(d->base_samples.count, d->head_samples.count);
    assert_int_equal(d->base_samples.count, d->decision.pairs);
}
