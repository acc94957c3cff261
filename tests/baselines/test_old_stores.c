// SPDX-License-Identifier: Apache-2.0
//
// Stores and exports that older versions made open here and say what they said. The seeds are what
// `plumb` of a commit stored and exported while it followed the tutorial on the host device: the
// store as SQL text, with its version, and the export as it was written.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct seed {
    const char *commit;
    size_t runs, links; // d4c778d: one of the runs was interrupted, and is not exported
} seeds[] = {{"d4c778d", 3, 0}, {"fe33bcb", 4, 2}};

static char *seed_text(const struct seed *seed, const char *ending)
{
    char *path = xprintf("%s/stores/%s.%s", TEST_DATA, seed->commit, ending);
    char *text = helper_read(path, NULL);
    assert_non_null(text);
    free(path);
    return text;
}

static struct store *store_of(struct open_store *f, const struct seed *seed)
{
    char *sql = seed_text(seed, "sql"), *name = xprintf("%s.db", seed->commit);
    const char *path = scratch_path(&f->arena, f->folder, name);
    run_sql(path, sql);
    free(sql);
    free(name);
    return scratch_store(path, STORE_WRITE);
}

// The finished runs.
static size_t load_all(struct run **out, struct store *store, struct arena *arena)
{
    struct error err;
    struct run_entry *entries;
    size_t count, finished = 0;
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, arena, &err), &err);
    *out = arena_alloc(arena, count * sizeof(**out));
    for (size_t i = 0; i < count; i++) {
        if (entries[i].finished_s)
            assert_ok(store_load_run(&(*out)[finished++], store, entries[i].id, &err), &err);
    }
    return finished;
}

// JSON has no infinity: an end of an interval that is infinite is not known there.
static void forget_infinite_ends(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct interval *ratio = &run->results[i].verdict.log_ratio;
        ratio->low = isfinite(ratio->low) ? ratio->low : NAN;
        ratio->high = isfinite(ratio->high) ? ratio->high : NAN;
    }
}

static void an_older_store_opens_and_its_export_says_the_same(void **state)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        struct error err;
        struct store_counts added;
        struct run *stored, *imported;
        struct store *store = store_of(f, &seeds[i]);
        assert_ok(load_everything(store, &err), &err);
        assert_int_equal(sound_counts(store).runs, seeds[i].runs);

        char *name = xprintf("%s-export.db", seeds[i].commit);
        struct store *other = scratch_store(scratch_path(&f->arena, f->folder, name), STORE_WRITE);
        char *text = seed_text(&seeds[i], "jsonl");
        assert_ok(import_text(other, text, strlen(text), "json", &added, &err), &err);
        assert_int_equal(added.links, seeds[i].links);
        const size_t count = load_all(&stored, store, &f->arena);
        assert_true(count >= 2);
        assert_int_equal(load_all(&imported, other, &f->arena), count);
        for (size_t k = 0; k < count; k++) {
            forget_infinite_ends(&stored[k]);
            if (!same_run(&stored[k], &imported[k]))
                fail_msg("%s: run %zu is not what its export says", seeds[i].commit, k);
            run_free(&stored[k]);
            run_free(&imported[k]);
        }
        store_close(store);
        store_close(other);
        free(name);
        free(text);
    }
}

// A machine that was not brought up to date sends what it measured to one that was.
static void an_older_store_is_merged_once_it_was_opened(void **state)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        struct error err;
        struct store *store = store_of(f, &seeds[i]);
        char *path = xstrdup(store_path(store));
        store_close(store);
        assert_ok(store_merge(f->store, path, NULL, &err), &err);
        free(path);
    }
    assert_int_equal(sound_counts(f->store).runs, seeds[0].runs + seeds[1].runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_older_store_opens_and_its_export_says_the_same,
                                        open_store_set_up, open_store_tear_down),
        cmocka_unit_test_setup_teardown(an_older_store_is_merged_once_it_was_opened,
                                        open_store_set_up, open_store_tear_down),
    };
    return cmocka_run_group_tests_name("old_stores", tests, NULL, NULL);
}
