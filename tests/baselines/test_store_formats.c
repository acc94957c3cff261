// SPDX-License-Identifier: Apache-2.0
//
// Export and import: what goes out comes back.
#include "baselines/store.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *exported(struct store *store, const char *format, int64_t run_id, size_t *size)
{
    const struct export_filter filter = {.run_id = run_id};
    char *text = NULL;
    struct error err = {0};
    FILE *file = open_memstream(&text, size);
    assert_non_null(file);
    assert_ok((strcmp(format, "csv") == 0 ? store_export_csv : store_export_json)(store, &filter,
                                                                                  file, &err),
              &err);
    fclose(file);
    return text;
}

// Runs of every sort: gates, wrong and unbuildable results, reuse, a build, a profile, an epoch.
static void fill(struct store *store)
{
    struct error err = {0};
    for (unsigned i = 0; i < 4; i++) {
        struct run run;
        make_run(&run, i == 2 ? RUN_GATE : RUN_MEASURE, i, 5, i);
        run.results[1].head.state = MEASURED_WRONG;
        run.results[2].head = (struct measurement){.state = MEASURED_UNBUILDABLE,
                                                   .detail = "error: \x1b[31m\xff \"x\"\n"};
        run.results[2].verdict.sentence = "tabs\tand \xe2\x82\xac";
        run.results[3].prediction.feasible = false;
        run.results[3].prediction.why = "too much shared memory";
        if (i == 3) {
            run.results[0].reused = true;
            strcpy(run.results[0].head_code, "c0de000000000000");
        }
        if (i == 0)
            strcpy(run.results[0].head_code, "c0de000000000000");
        if (i == 2)
            run.toolchain[ROLE_HEAD] = "cuda-13";
        save_whole_run(store, &run);
        struct build_kernel kernels[] = {
            {.name = "tile-00", .code = "c0de", .traits = {.in = DTYPE_BF16, .tile_m = 64}}};
        const struct build_record build = {
            arena_printf(&run.arena, "content %u", i), "cuda", MEASURED_OK, "", kernels, 1};
        assert_ok(store_record_build(store, &run.head, &build, &err), &err);
        run_free(&run);
    }
    const struct device device = {"host", "host-1", "CPU", "6.1", "glibc", "host"};
    struct gpu gpu = {.name = "host"};
    gpu.dram_bytes_s = (struct figure){21.5e9 / 3, ORIGIN_CALIBRATED, "measured"};
    assert_ok(store_save_profile(store, &device, &gpu, &err), &err);
    struct epoch epochs[] = {{"tile-* * *", "abcdef0", 0.03, false, "on purpose", "A. Author", 0},
                             {"old * *", "abcdef1", 0, true, "it goes", "B. Author", EPOCH_DAY_S}};
    assert_ok(store_save_epochs(store, &(struct epoch_list){.epochs = epochs, .count = 2}, &err),
              &err);
    struct stored_event_change change = {.series = 1, .log_ratio = 0.0123, .log_evidence = 7.5};
    struct stored_event event = {.name = "abcdef0",
                                 .cause = ATTRIBUTION_MEMORY,
                                 .what = "a word",
                                 .changes = &change,
                                 .change_count = 1};
    const struct event_entry entry = {EVENT_CONFIRMED, 1700000000, "plumb", "it stayed"};
    strcpy(event.culprit, "abcdef0");
    strcpy(change.first, "abcdef0");
    strcpy(change.last, "abcdef1");
    assert_ok(store_save_event(store, &event, &err), &err);
    assert_ok(store_add_event_entry(store, event.key, &entry, &err), &err);
}

static void expect_same_runs(struct open_store *f)
{
    struct run_entry *ours, *theirs;
    struct error err = {0};
    size_t count, other_count;
    assert_ok(store_list_runs(&ours, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_ok(store_list_runs(&theirs, &other_count, f->other, STORE_ALL_RUNS, 0, &f->arena, &err),
              &err);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        struct run a, b;
        assert_string_equal(ours[i].uid, theirs[i].uid);
        assert_ok(store_load_run(&a, f->store, ours[i].id, &err), &err);
        assert_ok(store_load_run(&b, f->other, theirs[i].id, &err), &err);
        for (size_t k = 0; k < a.count; k++) { // what is not UTF-8 goes out as U+FFFD
            if (strchr(a.results[k].head.detail, '\xff'))
                a.results[k].head.detail = b.results[k].head.detail;
        }
        assert_true(same_run(&a, &b));
        run_free(&a);
        run_free(&b);
    }
}

static void expect_everything(const char *text)
{
    static const char *const wanted[] = {
        "{\"profile\":", "{\"epoch\":", "\"removed\":true",
        "{\"build\":",   "{\"run\":",   "\"head_toolchain\":\"cuda-13\"",
        "{\"result\":",  "{\"event\":", "\"state\":\"confirmed\""};
    for (size_t i = 0; i < ARRAY_COUNT(wanted); i++) {
        if (!strstr(text, wanted[i]))
            fail_msg("the export lacks %s", wanted[i]);
    }
}

AROUND_EACH(open_store_set_up_two, open_store_tear_down);

TEST(json_comes_back_whole_and_once)
{
    struct open_store *f = *state;
    struct error err = {0};
    size_t size;
    fill(f->store);
    char *text = exported(f->store, "json", 0, &size);
    expect_everything(text);
    for (int i = 0; i < 2; i++)
        assert_ok(import_text(f->other, text, size, "json", NULL, &err), &err);
    expect_same_runs(f);
    struct store_counts a = sound_counts(f->store), b = sound_counts(f->other);
    a.samples_bytes = b.samples_bytes = 0;
    assert_memory_equal(&a, &b, sizeof(a));
    size_t again_size;
    char *again = exported(f->other, "json", 0, &again_size);
    assert_string_equal(text, again);
    free(again);

    const char *path = scratch_path(&f->arena, f->folder, "merged.db");
    struct store *merged = scratch_store(path, STORE_WRITE);
    for (int i = 0; i < 2; i++)
        assert_ok(store_merge(merged, f->path, NULL, &err), &err);
    again = exported(merged, "json", 0, &again_size);
    assert_string_equal(text, again);
    store_close(merged);
    free(text);
    free(again);
}

TEST(one_run_can_be_exported_alone)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts added;
    size_t size;
    int64_t gate;
    fill(f->store);
    assert_ok(store_last_run(&gate, f->store, RUN_GATE, &err), &err);
    char *text = exported(f->store, "json", gate, &size);
    assert_ok(import_text(f->other, text, size, "json", &added, &err), &err);
    assert_int_equal(added.runs, 1);
    assert_int_equal(sound_counts(f->other).runs, 1);
    assert_int_equal(sound_counts(f->other).builds, 2); // of base and head
    free(text);
    const struct export_filter none = {.run_id = 999};
    FILE *file = tmpfile();
    assert_int_equal(store_export_json(f->store, &none, file, &err), -1);
    assert_non_null(strstr(err.text, "has no run 999; `plumb report --list` shows"));
    fclose(file);
}

TEST(csv_comes_back_with_its_times)
{
    struct open_store *f = *state;
    struct error err = {0};
    size_t size;
    fill(f->store);
    char *text = exported(f->store, "csv", 0, &size);
    for (int i = 0; i < 2; i++)
        assert_ok(import_text(f->other, text, size, "csv", NULL, &err), &err);
    free(text);
    assert_int_equal(sound_counts(f->other).runs, sound_counts(f->store).runs);
    struct run_entry *ours, *theirs;
    size_t count, other_count;
    assert_ok(store_list_runs(&ours, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_ok(store_list_runs(&theirs, &other_count, f->other, STORE_ALL_RUNS, 0, &f->arena, &err),
              &err);
    for (size_t i = 0; i < count; i++) {
        struct run a, b;
        assert_ok(store_load_run(&a, f->store, ours[i].id, &err), &err);
        assert_ok(store_load_run(&b, f->other, theirs[i].id, &err), &err);
        assert_string_equal(ours[i].uid, theirs[i].uid);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.kind, b.kind);
        for (size_t k = 0; k < a.count; k++) {
            const struct result *r = &a.results[k], *s = &b.results[k];
            assert_string_equal(r->kernel, s->kernel);
            assert_string_equal(r->head_code, s->head_code);
            assert_int_equal(r->head.state, s->head.state);
            if (r->head.state == MEASURED_OK)
                assert_true(measurement_time_ns(&r->head) == measurement_time_ns(&s->head));
            if (r->base.count)
                assert_true(measurement_time_ns(&r->base) == measurement_time_ns(&s->base));
        }
        run_free(&a);
        run_free(&b);
    }
}

TEST(mutated_exports_never_crash_the_import)
{
    struct open_store *f = *state;
    uint64_t seed = 8;
    static const char *const formats[] = {"json", "csv"};
    fill(f->store);
    for (size_t k = 0; k < ARRAY_COUNT(formats); k++) {
        size_t size, accepted = 0;
        char *text = exported(f->store, formats[k], 0, &size);
        for (int round = 0; round < 300; round++) {
            struct error err = {0};
            char *bad = xcalloc(size, 1);
            memcpy(bad, text, size);
            for (uint64_t flips = draw_bits(&seed) % 4; flips > 0; flips--) {
                size_t at = draw_bits(&seed) % size, from = draw_bits(&seed) % size;
                size_t run = draw_bits(&seed) % 20;
                if (at + run < size && from + run < size)
                    memmove(bad + at, bad + from, run);
                else
                    bad[at] = (char)draw_bits(&seed);
            }
            int status = import_text(f->other, bad, size, formats[k], NULL, &err);
            accepted += status == 0;
            assert_true(status == 0 || strncmp(err.text, "file", 4) == 0);
            assert_null(strchr(err.text, '\n'));
            free(bad);
        }
        assert_true(accepted > 20);
        free(text);
    }
    sound_counts(f->other); // whatever was let in is sound
}
