// SPDX-License-Identifier: Apache-2.0
//
// Export and import: what goes out comes back, and what comes from outside is hostile.
#include "tests/helper_store.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    char *folder;
    struct arena arena;
    struct store *store, *other;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->folder = scratch_make();
    f->store = scratch_store(scratch_path(&f->arena, f->folder, "store.db"), STORE_WRITE);
    f->other = scratch_store(scratch_path(&f->arena, f->folder, "other.db"), STORE_WRITE);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_close(f->store);
    store_close(f->other);
    scratch_remove(f->folder);
    arena_free(&f->arena);
    free(f);
    return 0;
}

static void ok(int status, const struct error *err)
{
    if (status)
        fail_msg("%s", err->text);
}

static char *exported(struct store *store, enum import_format format, int64_t run_id, size_t *size)
{
    const struct export_filter filter = {.run_id = run_id};
    char *text = NULL;
    struct error err = {0};
    FILE *file = open_memstream(&text, size);
    assert_non_null(file);
    ok((format == IMPORT_CSV ? store_export_csv : store_export_json)(store, &filter, file, &err),
       &err);
    fclose(file);
    return text;
}

static int imported(struct store *store, const char *text, size_t size, enum import_format format,
                    struct store_counts *added, struct error *err)
{
    static const struct commit commit = {
        .id = "0123456789abcdef", .summary = "", .author = "", .time_s = 1700000000};
    const struct import_source source = {"file", format, &commit};
    char *copy = xcalloc(size ? size : 1, 1);
    memcpy(copy, text, size);
    FILE *file = fmemopen(copy, size ? size : 1, "r");
    assert_non_null(file);
    int status = store_import(store, file, &source, added, err);
    fclose(file);
    free(copy);
    return status;
}

static struct store_counts counts(struct store *store)
{
    struct store_report report;
    struct error err;
    ok(store_check(&report, store, &err), &err);
    if (report.problems)
        fail_msg("%s", report.first);
    return report.counts;
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
        save_whole_run(store, &run);
        struct build_kernel kernels[] = {
            {.name = "tile-00", .code = "c0de", .traits = {.in = DTYPE_BF16, .tile_m = 64}}};
        const struct build_record build = {
            arena_printf(&run.arena, "content %u", i), "cuda", MEASURED_OK, "", kernels, 1};
        ok(store_record_build(store, &run.head, &build, &err), &err);
        run_free(&run);
    }
    const struct device device = {"host", "host-1", "CPU", "6.1", "glibc", "host"};
    struct gpu gpu = {.name = "host"};
    gpu.dram_bytes_s = (struct figure){21.5e9 / 3, ORIGIN_CALIBRATED, "measured"};
    ok(store_save_profile(store, &device, &gpu, &err), &err);
    struct epoch epoch = {"tile-* * *", "abcdef0", 0.03, "on purpose", "A. Author", 0};
    ok(store_save_epochs(store, &(struct epoch_list){&epoch, 1}, &err), &err);
}

static void expect_same_runs(struct fixture *f)
{
    struct run_entry *ours, *theirs;
    struct error err = {0};
    size_t count, other_count;
    ok(store_list_runs(&ours, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    ok(store_list_runs(&theirs, &other_count, f->other, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        struct run a, b;
        assert_string_equal(ours[i].uid, theirs[i].uid);
        ok(store_load_run(&a, f->store, ours[i].id, &err), &err);
        ok(store_load_run(&b, f->other, theirs[i].id, &err), &err);
        for (size_t k = 0; k < a.count; k++) { // what is not UTF-8 goes out as U+FFFD
            if (strchr(a.results[k].head.detail, '\xff'))
                a.results[k].head.detail = b.results[k].head.detail;
        }
        assert_true(same_run(&a, &b));
        run_free(&a);
        run_free(&b);
    }
}

static void json_comes_back_whole_and_once(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    size_t size;
    fill(f->store);
    char *text = exported(f->store, IMPORT_JSON, 0, &size);
    for (int i = 0; i < 2; i++)
        ok(imported(f->other, text, size, IMPORT_JSON, NULL, &err), &err);
    expect_same_runs(f);
    struct store_counts a = counts(f->store), b = counts(f->other);
    a.samples_bytes = b.samples_bytes = 0;
    assert_memory_equal(&a, &b, sizeof(a));
    size_t again_size;
    char *again = exported(f->other, IMPORT_JSON, 0, &again_size);
    assert_string_equal(text, again);
    free(text);
    free(again);
}

static void one_run_can_be_exported_alone(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct store_counts added;
    size_t size;
    int64_t gate;
    fill(f->store);
    ok(store_last_run(&gate, f->store, RUN_GATE, &err), &err);
    char *text = exported(f->store, IMPORT_JSON, gate, &size);
    ok(imported(f->other, text, size, IMPORT_JSON, &added, &err), &err);
    assert_int_equal(added.runs, 1);
    assert_int_equal(counts(f->other).runs, 1);
    assert_int_equal(counts(f->other).builds, 2); // of base and head
    free(text);
    const struct export_filter none = {.run_id = 999};
    FILE *file = tmpfile();
    assert_int_equal(store_export_json(f->store, &none, file, &err), -1);
    assert_non_null(strstr(err.text, "has no run 999"));
    fclose(file);
}

static void csv_comes_back_with_its_times(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    size_t size;
    fill(f->store);
    char *text = exported(f->store, IMPORT_CSV, 0, &size);
    for (int i = 0; i < 2; i++)
        ok(imported(f->other, text, size, IMPORT_CSV, NULL, &err), &err);
    free(text);
    assert_int_equal(counts(f->other).runs, counts(f->store).runs);
    struct run_entry *ours, *theirs;
    size_t count, other_count;
    ok(store_list_runs(&ours, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    ok(store_list_runs(&theirs, &other_count, f->other, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    for (size_t i = 0; i < count; i++) {
        struct run a, b;
        ok(store_load_run(&a, f->store, ours[i].id, &err), &err);
        ok(store_load_run(&b, f->other, theirs[i].id, &err), &err);
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

static void smallest_table_imports_as_a_history(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    // A gap, a commit twice, a clock going backwards: all are data.
    static const char text[] = "kernel,problem,commit,commit_s,time_ns,note\n"
                               "gemm,64x64x64,aaaaaaa,100,1000.5,x\n"
                               "gemm,64x64x64,bbbbbbb,300,1010,\"a, b\"\n"
                               "gemm,64x64x64,ccccccc,200,1020,\n"
                               "gemm,64x64x64,aaaaaaa,100,9999,again\n"
                               "other,8x8x8,ccccccc,200,5,\n";
    struct problem problem;
    struct history history;
    const struct history_query query = {0};
    ok(imported(f->store, text, strlen(text), IMPORT_CSV, NULL, &err), &err);
    ok(problem_parse(&problem, "64x64x64", &err), &err);
    const struct series series = {"gemm", &problem, "imported"};
    ok(store_history(&history, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 3);
    const double times[] = {1000.5, 1020, 1010};
    for (size_t i = 0; i < 3; i++)
        assert_true(history.points[i].time_ns == times[i]);
}

static void bad_tables_are_refused_with_their_line(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "file"},
        {"kernel,problem,time_ns\n", "file: no column commit"},
        {"commit,kernel,problem,time_ns\nHEAD,k,1x1x1,5\n", "file:2: commit: a hexadecimal"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,nan\n", "file:2: time_ns: nano"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,inf\n", "file:2: time_ns: nano"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,-5\n", "file:2: time_ns: nano"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,0\n", "file:2: time_ns: nano"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,\n", "file:2: time_ns: nano"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1,5\n", "file:2: 1x1: a shape is"},
        {"commit,kernel,problem,time_ns\naaaaaaa,,1x1x1,5\n", "file:2: kernel: 1 to 63"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,5\nbbbbbbb,k,1x1x1,x\n",
         "file:3: time_ns: nano"},
        {"commit,kernel,problem,time_ns,commit_s\naaaaaaa,k,1x1x1,5,-1\n", "file:2: commit_s"},
        {"commit,kernel,problem,time_ns,state\naaaaaaa,k,1x1x1,5,good\n", "file:2: state"},
        {"commit,kernel,problem,time_ns,role\naaaaaaa,k,1x1x1,5,tail\n", "file:2: role"},
        {"commit,kernel,problem,time_ns,clock_hz\naaaaaaa,k,1x1x1,5,fast\n", "file:2: clock_hz"},
        {"commit,kernel,problem,time_ns,run\naaaaaaa,k,1x1x1,5,r\nbbbbbbb,k,1x1x1,5,r\n",
         "file:3: commit: another commit"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        if (imported(f->store, cases[i].text, strlen(cases[i].text), IMPORT_CSV, NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_int_equal(counts(f->store).measurements, 0);
        assert_int_equal(counts(f->store).runs, 0);
    }
}

static void bad_json_is_refused_with_its_line(void **state)
{
    struct fixture *f = *state;
#define RUN                                                                                        \
    "{\"run\":{\"uid\":\"0123456789abcdef0123456789abcdef\",\"kind\":\"measure\",\"started_s\":5," \
    "\"finished_s\":6,\"conclusion\":0,\"head\":{\"id\":\"aaaaaaa\",\"time_s\":1},"                \
    "\"devices\":[{\"uuid\":\"u\",\"kind\":\"host\",\"name\":\"n\"}]}}\n"
#define SAMPLES(time)                                                                              \
    "\"samples\":{\"count\":1,\"time_ns\":" time ",\"clock_hz\":0,\"launches\":1,\"pair\":0,"      \
    "\"block\":0,\"process\":0,\"role\":1,\"order\":0,\"throttle\":0,\"excluded\":0,"              \
    "\"temperature_c\":0,\"power_mw\":-1}"
#define RESULT(more)                                                                               \
    "{\"result\":{\"kernel\":\"k\",\"problem\":\"1x1x1\",\"device\":0,\"head_code\":\"c\"," more   \
    "}}\n"
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("-5") "}"), "file:2: a measurement"},
        {RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("null") "}"), "file:2: a measurement"},
        {RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("[1,2]") "}"), "file:2: a measurement"},
        {RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("0") "}"), "file:2: k: sample 0 has"},
        {RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("NaN") "}"), "file:2: not JSON"},
        {RUN RESULT("\"head\":{\"state\":\"odd\"}"), "file:2: a measurement"},
        {RUN RESULT("\"verdict\":{\"kind\":\"odd\"}"), "file:2: a prediction or verdict"},
        {RUN RESULT("\"prediction\":{\"model\":\"m\",\"bound\":\"odd\"}"), "file:2: a prediction"},
        {RUN "{\"result\":{\"kernel\":\"k\",\"problem\":\"1x1\",\"device\":0}}\n", "file:2: 1x1:"},
        {RUN "{\"result\":{\"kernel\":\"k\",\"problem\":\"1x1x1\",\"device\":1}}\n",
         "file:2: a result's device"},
        {RUN "{\"result\":{\"kernel\":\"\",\"problem\":\"1x1x1\",\"device\":0}}\n",
         "file:2: a result's kernel"},
        {RESULT("\"head\":null"), "file:1: a result before its run"},
        {"{\"run\":{\"uid\":\"x\"}}", "file:1: a run needs"},
        {"{\"odd\":{}}", "file:1: neither plumb"},
        {"{\"plumb\":{\"export\":2}}", "file:1: an export of another version"},
        {"[]", "file:1: a line is one object"},
        {"\n\n{", "file:3: not JSON at byte 1"},
        {RUN "{\"build\":{\"commit\":\"x\"}}", "file:2: a build has"},
        {RUN "{\"profile\":{}}", "file:2: a profile has"},
        {RUN "{\"epoch\":{\"series\":\"*\"}}", "file:2: an epoch has"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        if (imported(f->store, cases[i].text, strlen(cases[i].text), IMPORT_JSON, NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_int_equal(counts(f->store).runs, 0);
    }
    struct error err = {0};
    static const char good[] = RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("5.5") "}");
    ok(imported(f->store, good, strlen(good), IMPORT_JSON, NULL, &err), &err);
    assert_int_equal(counts(f->store).measurements, 1);
}

static void mutated_exports_never_crash_the_import(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 8;
    static const enum import_format formats[] = {IMPORT_JSON, IMPORT_CSV};
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
            int status = imported(f->other, bad, size, formats[k], NULL, &err);
            accepted += status == 0;
            assert_true(status == 0 || strncmp(err.text, "file", 4) == 0);
            assert_null(strchr(err.text, '\n'));
            free(bad);
        }
        assert_true(accepted > 20);
        free(text);
    }
    counts(f->other); // whatever was let in is sound
}

#define STATE(m, time)                                                                             \
    "{\"name\":\"Device=0 M=" m "\",\"device\":3,\"is_skipped\":false,\"axis_values\":["           \
    "{\"name\":\"M\",\"type\":\"int64\",\"value\":\"" m "\"},"                                     \
    "{\"name\":\"N\",\"type\":\"int64\",\"value\":\"256\"},"                                       \
    "{\"name\":\"K\",\"type\":\"int64\",\"value\":\"128\"},"                                       \
    "{\"name\":\"T\",\"type\":\"type\",\"value\":\"BF16\"},"                                       \
    "{\"name\":\"Tile Size\",\"type\":\"int64\",\"value\":\"64\"}],\"summaries\":["                \
    "{\"tag\":\"nv/cold/time/gpu/mean\",\"data\":[{\"name\":\"value\",\"type\":\"float64\","       \
    "\"value\":\"" time "\"}]},{\"tag\":\"nv/cold/sm_clock_rate/mean\",\"data\":[{\"name\":"       \
    "\"value\",\"type\":\"float64\",\"value\":\"1.7e9\"}]}]}"
#define NVBENCH(states)                                                                            \
    "{\"meta\":{},\"devices\":[{\"id\":3,\"name\":\"NVIDIA H200\"}],\"benchmarks\":["              \
    "{\"name\":\"My GEMM\",\"states\":[" states "]}]}"

static void nvbench_file_imports_as_series(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    static const char text[] = NVBENCH(STATE("512", "0.00025") "," STATE("1024", "5e-4"));
    for (int i = 0; i < 2; i++)
        ok(imported(f->store, text, strlen(text), IMPORT_NVBENCH, NULL, &err), &err);
    struct series_entry *series;
    size_t count;
    ok(store_list_series(&series, &count, f->store, &f->arena, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(series[0].kernel, "my-gemm.tile-size-64");
    assert_int_equal(series[0].problem.in, DTYPE_BF16);
    assert_string_equal(series[0].device_name, "NVIDIA H200");
    const struct series one = {series[1].kernel, &series[1].problem, series[1].device_uuid};
    const struct history_query query = {0};
    struct history history;
    ok(store_history(&history, f->store, &one, &query, &f->arena, &err), &err);
    assert_int_equal(history.count, 1);
    assert_int_equal(series[1].problem.m, 512); // in order of text: 1024, 512
    assert_true(fabs(history.points[0].time_ns - 250000) < 1e-6);
    assert_true(history.points[0].clock_hz == 1.7e9);
}

static void bad_nvbench_files_are_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "",
        "{}",
        NVBENCH(STATE("0", "1")),
        NVBENCH(STATE("64", "nan")),
        NVBENCH(STATE("64", "-1")),
        NVBENCH("{\"name\":\"x\",\"device\":3}"),
        NVBENCH("{\"device\":9,\"axis_values\":[{\"name\":\"m\",\"value\":1},"
                "{\"name\":\"n\",\"value\":1},{\"name\":\"k\",\"value\":1}]}"),
    };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        struct error err = {0};
        if (imported(f->store, texts[i], strlen(texts[i]), IMPORT_NVBENCH, NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        assert_int_equal(counts(f->store).runs, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json_comes_back_whole_and_once),         TEST(one_run_can_be_exported_alone),
        TEST(csv_comes_back_with_its_times),          TEST(smallest_table_imports_as_a_history),
        TEST(bad_tables_are_refused_with_their_line), TEST(bad_json_is_refused_with_its_line),
        TEST(mutated_exports_never_crash_the_import), TEST(nvbench_file_imports_as_series),
        TEST(bad_nvbench_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
