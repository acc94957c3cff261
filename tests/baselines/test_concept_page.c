// SPDX-License-Identifier: Apache-2.0
//
// The worked example of ci/gate/README.md is the recorded gate that it names, in its numbers.
#include "baselines/store.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE   TEST_SOURCE "/ci/gate/README.md"
#define RECORD TEST_SOURCE "/baselines/recorded/h200/fp32-run-3.jsonl"

static __attribute__((format(printf, 1, 2))) void the_page_says(const char *format, ...)
{
    va_list list;
    char text[256];
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (!helper_says(PAGE, text))
        fail_msg("ci/gate/README.md does not say: %s", text);
}

static const struct result *the_series(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (strcmp(r->kernel, "tiled_fp32") == 0 && r->problem.m == 1024 && r->problem.n == 768)
            return r;
    }
    fail_msg("the recorded run has no such series");
    return NULL;
}

// What the pairs say: the first eight, the mean of each process, and how one pair scatters.
static void the_pairs(const struct result *r)
{
    double sum[4] = {0}, squares = 0, all = 0;
    unsigned count[4] = {0};
    assert_int_equal(r->base.count, r->head.count);
    for (size_t i = 0; i < r->base.count; i++) {
        const struct sample *base = &r->base.samples[i], *head = &r->head.samples[i];
        const double log_ratio = log(head->time_ns / base->time_ns);
        if (i == 0)
            the_page_says("%.2f us and %.2f us", base->time_ns / 1e3, head->time_ns / 1e3);
        if (i < 8)
            the_page_says("%.3f", 100 * log_ratio);
        assert_true(base->process < 4);
        sum[base->process] += log_ratio;
        count[base->process]++;
        all += log_ratio;
        squares += log_ratio * log_ratio;
    }
    const double n = (double)r->base.count, mean = all / n;
    the_page_says("One pair scatters by %.2f %%", 100 * sqrt(squares / n - mean * mean));
    the_page_says("%u pairs were enough for a first alarm", count[0]);
    the_page_says("%+.2f, %+.2f, %+.2f and %+.2f %%", 100 * sum[0] / count[0],
                  100 * sum[1] / count[1], 100 * sum[2] / count[2], 100 * sum[3] / count[3]);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(the_worked_example_is_the_recorded_gate)
{
    struct open_store *open = *state;
    struct error err = {{0}};
    struct run run = {0};
    int64_t id = 0;
    char *text = helper_read(RECORD, NULL);
    import_text(open->store, text, strlen(text), "json", NULL, &err);
    assert_ok(store_last_run(&id, open->store, STORE_ALL_RUNS, &err), &err);
    assert_ok(store_load_run(&run, open->store, id, &err), &err);
    const struct result *r = the_series(&run);
    const struct verdict *v = &r->verdict;
    the_page_says("`%.8s...` and `%.8s...`", r->base_code, r->head_code);
    the_pairs(r);
    assert_true(fabs(v->margin - 0.003) < 1e-9);
    the_page_says("%s", "Here it grew to 6e15");
    assert_true(v->log_evidence > log(6e15) && v->log_evidence < log(7e15));
    // The run is of a tool that had no words for its regime; the page has today's.
    const char *size = strstr(v->sentence, "slower: ");
    assert_non_null(size);
    the_page_says("slower with cold caches: %s", size + strlen("slower: "));
    the_page_says("expects %.1f us", r->prediction.time_ns / 1e3);
    the_page_says("%.1f us in the main loop", r->prediction.parts[1].time_ns / 1e3);
    the_page_says("%.2f times that", measurement_time_ns(&r->head) / r->prediction.time_ns);
    the_page_says("ran for %.3f s in all", v->gpu_s);
    run_free(&run);
    free(text);
}
