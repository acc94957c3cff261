// SPDX-License-Identifier: Apache-2.0
//
// The links of a store as one stream of tests, in the order of measuring. The same two codes
// measured again are a test again, with the evidence of both: the product of their e-values.
#include "ci/history/link_tests.h"

#include "model/gate/gate.h"
#include "model/history/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Raised when the same links would give other tests.
enum { LINK_TESTS_VERSION = 1 };

// A link in the stream, and the evidence of those of the same two codes before it.
struct test {
    const struct link_evidence *link;
    size_t order;
    double log_evidence;
};

static int compare_keys(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_codes(const void *left, const void *right)
{
    const struct test *a = left, *b = right;
    const int series = compare_keys(a->link->series, b->link->series);
    const int base = compare_keys(a->link->base_code, b->link->base_code);
    const int head = compare_keys(a->link->head_code, b->link->head_code);
    return series ? series
           : base ? base
           : head ? head
                  : (a->order > b->order) - (a->order < b->order);
}

static int by_order(const void *left, const void *right)
{
    const struct test *a = left, *b = right;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_link(const void *left, const void *right)
{
    const struct kept_test *a = left, *b = right;
    return compare_keys(a->link, b->link);
}

static bool same_codes(const struct link_evidence *a, const struct link_evidence *b)
{
    return a->series == b->series && a->base_code == b->base_code && a->head_code == b->head_code;
}

// Evidence of links that were gone through before counts too; only codes that were there then can
// have one.
static int multiply(struct test *tests, size_t count, const struct kept_tests *kept,
                    struct store *store, struct error *err)
{
    qsort(tests, count, sizeof(*tests), by_codes);
    for (size_t i = 0; i < count; i++) {
        const struct link_evidence *l = tests[i].link;
        double before = 0;
        if (i && same_codes(l, tests[i - 1].link))
            before = tests[i - 1].log_evidence;
        else if (l->base_code <= kept->newest_code && l->head_code <= kept->newest_code &&
                 store_earlier_evidence(&before, store, l, kept->newest_link, err))
            return -1;
        tests[i].log_evidence = l->log_evidence + before;
    }
    qsort(tests, count, sizeof(*tests), by_order);
    return 0;
}

static void go_through(struct kept_tests *kept, const struct test *tests, size_t count,
                       struct arena *arena)
{
    struct discoveries d = {.q = gate_defaults.q, .tests = kept->tests, .found = kept->found};
    struct kept_test *items = arena_alloc(arena, (kept->count + count + 1) * sizeof(*items));
    if (kept->count)
        memcpy(items, kept->items, kept->count * sizeof(*items));
    kept->items = items;
    for (size_t i = 0; i < count; i++) {
        const struct link_evidence *l = tests[i].link;
        struct kept_test t = {.link = l->key};
        t.log_evidence = tests[i].log_evidence;
        t.discovered = discovery_test(&d, tests[i].log_evidence);
        if (t.discovered || t.log_evidence > l->log_evidence || t.log_evidence < l->log_evidence)
            items[kept->count++] = t;
        kept->made_s = l->made_s;
        kept->series = l->series;
        memcpy(kept->uid, l->uid, sizeof(kept->uid));
    }
    kept->tests = d.tests;
    kept->found = d.found;
}

// The link belongs before what was gone through.
static bool comes_late(const struct link_evidence *l, const struct kept_tests *kept)
{
    const int when = compare_keys(l->made_s, kept->made_s), run = strcmp(l->uid, kept->uid);
    return kept->tests && (when ? when : run ? run : compare_keys(l->series, kept->series)) < 0;
}

// Brings `kept` up to the newest link; *first: of its items, the first that is new.
static int catch_up(struct kept_tests *kept, size_t *first, struct store *store, int64_t newest,
                    struct arena *arena, struct error *err)
{
    struct arena scratch = {0};
    struct link_evidence *links;
    size_t count;
    int status =
        store_link_evidence(&links, &count, store, kept->newest_link, newest, &scratch, err);
    if (status == 0 && count && comes_late(links, kept)) {
        *kept = (struct kept_tests){0};
        status = store_link_evidence(&links, &count, store, 0, newest, &scratch, err);
    }
    *first = kept->count;
    if (status == 0 && count) {
        struct test *tests = arena_alloc(&scratch, count * sizeof(*tests));
        for (size_t i = 0; i < count; i++)
            tests[i] = (struct test){&links[i], i, 0};
        status = multiply(tests, count, kept, store, err);
        if (status == 0)
            go_through(kept, tests, count, arena);
    }
    arena_free(&scratch);
    return status;
}

int link_tests_read(struct link_tests *out, struct store *store, bool keeps, struct arena *arena,
                    struct error *err)
{
    struct kept_tests kept;
    struct error refused;
    char maker[KEPT_TESTS_MAKER];
    int64_t newest_link, newest_code;
    size_t first = 0;
    snprintf(maker, sizeof(maker), "%d/%g", LINK_TESTS_VERSION, gate_defaults.q);
    if (store_newest_of_links(&newest_link, &newest_code, store, err) ||
        store_load_kept_tests(&kept, store, arena, err))
        return -1;
    if (strcmp(kept.maker, maker) != 0)
        kept = (struct kept_tests){0};
    if (kept.newest_link != newest_link) {
        if (catch_up(&kept, &first, store, newest_link, arena, err))
            return -1;
        memcpy(kept.maker, maker, sizeof(maker));
        kept.newest_link = newest_link;
        kept.newest_code = newest_code;
        if (keeps && store_save_kept_tests(store, &kept, first, &refused))
            fprintf(stderr, "plumb: %s; what links say together is not kept\n", refused.text);
    }
    if (kept.count)
        qsort(kept.items, kept.count, sizeof(*kept.items), by_link);
    *out = (struct link_tests){kept.items, kept.count, kept.tests, kept.found};
    return 0;
}

const struct kept_test *link_tests_find(const struct link_tests *tests, int64_t link)
{
    const struct kept_test key = {.link = link};
    return tests->count ? bsearch(&key, tests->items, tests->count, sizeof(key), by_link) : NULL;
}
