// SPDX-License-Identifier: Apache-2.0
//
// The links of a store as one stream of tests, in the order of measuring. The same two codes
// measured again are a test again, with the evidence of both: the product of their e-values.
#include "ci/history/link_tests.h"

#include "model/gate/gate.h"
#include "model/history/discovery.h"

#include <stdlib.h>
#include <string.h>

static int compare_keys(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_order(const void *left, const void *right)
{
    const struct link_test *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_codes(const void *left, const void *right)
{
    const struct link_test *a = left, *b = right;
    const int series = compare_keys(a->link.series, b->link.series);
    const int base = compare_keys(a->link.base_code, b->link.base_code);
    const int head = compare_keys(a->link.head_code, b->link.head_code);
    return series ? series : base ? base : head ? head : by_order(left, right);
}

static int by_run(const void *left, const void *right)
{
    const struct link_test *a = left, *b = right;
    const int series = compare_keys(a->link.series, b->link.series);
    return series ? series : strcmp(a->link.uid, b->link.uid);
}

static bool same_codes(const struct link_evidence *a, const struct link_evidence *b)
{
    return a->series == b->series && a->base_code == b->base_code && a->head_code == b->head_code;
}

static void multiply(struct link_test *tests, size_t count)
{
    qsort(tests, count, sizeof(*tests), by_codes);
    for (size_t i = 1; i < count; i++) {
        if (same_codes(&tests[i].link, &tests[i - 1].link))
            tests[i].log_evidence += tests[i - 1].log_evidence;
    }
}

int link_tests_read(struct link_tests *out, struct store *store, struct arena *arena,
                    struct error *err)
{
    struct discoveries discoveries = {.q = gate_defaults.q};
    struct link_evidence *links;
    size_t count;
    if (store_link_evidence(&links, &count, store, arena, err))
        return -1;
    struct link_test *tests = arena_alloc(arena, (count + 1) * sizeof(*tests));
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct link_test){links[i], i, links[i].log_evidence, false};
    if (count) {
        multiply(tests, count);
        qsort(tests, count, sizeof(*tests), by_order);
        for (size_t i = 0; i < count; i++)
            tests[i].discovered = discovery_test(&discoveries, tests[i].log_evidence);
        qsort(tests, count, sizeof(*tests), by_run);
    }
    *out = (struct link_tests){tests, count, discoveries.found};
    return 0;
}

const struct link_test *link_tests_find(const struct link_tests *tests, int64_t series,
                                        const char *run)
{
    struct link_test key = {.link.series = series};
    text_copy(key.link.uid, sizeof(key.link.uid), run);
    return tests->count ? bsearch(&key, tests->items, tests->count, sizeof(key), by_run) : NULL;
}
