// SPDX-License-Identifier: Apache-2.0
//
// Files of other tools (tests/data/import) become series by the rule of baselines/README.md, and
// leave the store for Bencher and Prometheus.
#include "baselines/exchange/foreign.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILES TEST_DATA "/import/"

static int find_commit(struct commit *out, const char *named, void *context, struct error *err)
{
    *out = (struct commit){.id = "0123456789abcdef", .summary = "", .author = ""};
    out->time_s = 1700000000;
    if (context)
        text_copy(context, OBJECT_ID_TEXT, named ? named : "");
    return 0;
}

// What a series of the only run must be.
struct expected {
    const char *kernel, *problem;
    enum measurement_state state;
    size_t samples;
    double time_ns; // of the first sample
};

static void expect_run(struct open_store *f, const struct expected *expected, size_t count)
{
    struct run run;
    struct error err = {0};
    int64_t id;
    assert_ok(store_last_run(&id, f->store, STORE_ALL_RUNS, &err), &err);
    assert_ok(store_load_run(&run, f->store, id, &err), &err);
    assert_int_equal(run.count, count);
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &run.results[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &r->problem);
        assert_string_equal(r->kernel, expected[i].kernel);
        assert_string_equal(problem, expected[i].problem);
        assert_int_equal(r->head.state, expected[i].state);
        assert_int_equal(r->head.count, expected[i].samples);
        if (r->head.count && !(fabs(r->head.samples[0].time_ns / expected[i].time_ns - 1) < 1e-12))
            fail_msg("%s: %g ns is not %g", r->kernel, r->head.samples[0].time_ns,
                     expected[i].time_ns);
    }
    run_free(&run);
}

static int import_file_from(struct open_store *f, const char *path, struct import_source *source,
                            struct store_counts *added, struct error *err)
{
    size_t size;
    char *text = helper_read(path, &size);
    assert_non_null(text);
    source->find_commit = find_commit;
    source->name = "file";
    int status = import_from(f->store, text, size, source, added, err);
    free(text);
    return status;
}

// Twice: the second time adds nothing.
static void import_whole(struct open_store *f, const char *path, struct import_source source,
                         size_t results)
{
    struct error err = {0};
    struct store_counts added = {0};
    assert_ok(import_file_from(f, path, &source, &added, &err), &err);
    assert_int_equal(added.measurements, results);
    assert_ok(import_file_from(f, path, &source, &added, &err), &err);
    assert_int_equal(added.measurements + added.runs, 0);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(google_benchmark_names_become_kernel_and_problem)
{
    struct open_store *f = *state;
    static const struct expected expected[] = {
        // A label; three repetitions are three samples, aggregates are none; ms.
        {"blocked.64", "24x24x24:bf16-bf16:tn", MEASURED_OK, 3, 5.9732004492402983e3},
        {"fails", "8x8x8:fp32-fp32:tn", MEASURED_CRASHED, 0, 0},
        {"gemm", "16x16x16:fp32-fp32:tn", MEASURED_OK, 1, 4.2407974941198627e3},
        {"gemm", "16x16x16:fp64-fp64:tn", MEASURED_OK, 1, 4.8366535664832337e3}, // us
        {"gemm", "32x32x64:fp32-fp32:tn", MEASURED_OK, 1, 8.1189372013072687e4},
    };
    import_whole(f, FILES "google.json", (struct import_source){0}, 5);
    expect_run(f, expected, ARRAY_COUNT(expected));
}

TEST(nvbench_as_it_writes_now_is_read)
{
    struct open_store *f = *state;
    struct error err = {0};
    static const struct expected expected[] = {
        {"gemm", "16x1x1:bf16-bf16:tn", MEASURED_UNSUPPORTED, 0, 0},
        {"gemm", "4096x4096x4096:bf16-bf16:tn", MEASURED_OK, 1, 182792.96875},
        {"host_gemm", "4096x4096x4096:bf16-bf16:tn", MEASURED_OK, 1, 3e6},
    };
    static const char later[] = "{\"meta\":{\"version\":{\"json\":{\"major\":2,\"string\":"
                                "\"2.0.0\"}}},\"devices\":[{\"id\":0,\"name\":\"G\"}],"
                                "\"benchmarks\":[]}";
    import_whole(f, FILES "nvbench.json", (struct import_source){0}, 3);
    expect_run(f, expected, ARRAY_COUNT(expected));
    assert_int_equal(import_text(f->store, later, strlen(later), "nvbench", NULL, &err), -1);
    assert_non_null(strstr(err.text, "version 2.0.0 is not known here"));
}

TEST(pytest_parameters_become_the_problem)
{
    struct open_store *f = *state;
    char named[OBJECT_ID_TEXT];
    static const struct expected expected[] = {
        {"test_named", "6x6x6:fp64-fp64:tn", MEASURED_OK, 5, 24887.001927709207},
        {"test_product.tile-2", "4x4x8:fp32-fp32:tn", MEASURED_OK, 5, 12328.000593697652},
        {"test_product.tile-2", "8x4x4:fp32-fp32:tn", MEASURED_OK, 5, 15333.996998379007},
    };
    import_whole(f, FILES "pytest.json", (struct import_source){.context = named}, 3);
    assert_string_equal(named, "a5f343fea789241aa9a7632cee532f74b7ac8e48"); // the file knows it
    expect_run(f, expected, ARRAY_COUNT(expected));
}

TEST(cutlass_rows_keep_layout_batch_and_state)
{
    struct open_store *f = *state;
    static const struct expected expected[] = {
        {"cublas.cublassgemm", "512x256x128:fp32-fp32:nt:b3", MEASURED_OK, 1, 8000},
        // Two long names stay apart.
        {"cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_b-0055b08b",
         "4096x2048x1024:bf16-bf16:tn", MEASURED_OK, 1, 25000},
        {"cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_b-b480ca61",
         "4096x2048x1024:bf16-bf16:tn", MEASURED_WRONG, 0, 0},
        {"cutlass_simt_sgemm_128x128_8x2_nt_align1.split-k-4", "512x256x128:fp32-fp32:nt:b3",
         MEASURED_OK, 1, 10000},
    };
    import_whole(f, FILES "cutlass.csv", (struct import_source){.device = "GPU-1"}, 4);
    expect_run(f, expected, ARRAY_COUNT(expected));
}

// As print_csv_header_() and print_result_csv_() write them with --tags and on two devices.
TEST(cutlass_rows_with_tags_are_of_kernels_of_their_own)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts added;
    static const char text[] =
        "CSV Results:\n\n"
        "build,Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,C,D,"
        "alpha,beta,split_k_slices,batch_count,Bytes,Flops,Flops/Byte,Runtime,Runtime_0,Runtime_1,"
        "GB/s,GFLOPs\n"
        "old,1,CUTLASS,gemm,op,passed,success,universal,512,256,128,f16:row,f16:column,f16:column,"
        "f16:column,1,0,1,1,1,1,1,0.01,0.011,0.009,1,1\n"
        "new,1,CUTLASS,gemm,op,passed,success,universal,512,256,128,f16:row,f16:column,f16:column,"
        "f16:column,1,0,1,1,1,1,1,0.02,0.021,0.019,1,1\n"
        "new,1,CUTLASS,gemm,op2,not_run,not_supported,universal,512,256,128,f16:row,f16:column,"
        "f16:column,f16:column,1,0,1,1,1,1,1,0,0,0,,\n";
    static const struct expected expected[] = {
        {"op.build-new", "512x256x128:fp16-fp16:tn", MEASURED_OK, 1, 20000},
        {"op.build-old", "512x256x128:fp16-fp16:tn", MEASURED_OK, 1, 10000},
        {"op2.build-new", "512x256x128:fp16-fp16:tn", MEASURED_UNSUPPORTED, 0, 0},
    };
    struct import_source source = {.device = "GPU-1", .find_commit = find_commit, .name = "file"};
    assert_ok(import_from(f->store, text, sizeof(text) - 1, &source, &added, &err), &err);
    expect_run(f, expected, ARRAY_COUNT(expected));
}

TEST(launches_of_ncu_are_samples_of_the_problem_that_is_told)
{
    struct open_store *f = *state;
    struct problem problem;
    struct error err = {0};
    static const struct expected details[] = {
        {"tiled.int.128", "4096x4096x4096:bf16-bf16:tn", MEASURED_OK, 2, 1250500}};
    static const struct expected raw[] = {
        {"tiled.int.128", "4096x4096x4096:bf16-bf16:tn", MEASURED_OK, 1, 1250500}};
    assert_ok(problem_parse(&problem, "4096x4096x4096:bf16", &err), &err);
    struct import_source source = {0};
    assert_int_equal(import_file_from(f, FILES "ncu.csv", &source, NULL, &err), -1);
    assert_non_null(strstr(err.text, "file:5: benchmark 'void tiled<"));
    assert_non_null(strstr(err.text, "names no problem"));
    assert_non_null(strstr(err.text, "--problem=MxNxK:TYPE"));
    source = (struct import_source){.problem = &problem, .kernel = "tiled*"};
    import_whole(f, FILES "ncu.csv", source, 1);
    expect_run(f, details, 1);
    import_whole(f, FILES "ncu-raw.csv", source, 1);
    expect_run(f, raw, 1);
    source.kernel = "nothing*";
    assert_int_equal(import_file_from(f, FILES "ncu.csv", &source, NULL, &err), -1);
    assert_non_null(strstr(err.text, "no benchmark's kernel matches --kernel"));
}

#define GOOGLE(members)                                                                            \
    "{\"context\":{\"host_name\":\"h\"},\"benchmarks\":[{\"name\":\"G/8/8/8\"," members "}]}"
#define PYTEST(members)                                                                            \
    "{\"machine_info\":{\"node\":\"h\"},\"benchmarks\":[{\"name\":\"t[8-8-8]\"," members "}]}"
#define CUTLASS(row)                                                                               \
    "Problem,Provider,Operation,Disposition,Status,m,n,k,A,B,C,Bytes,Runtime\n1,CUTLASS," row "\n"
#define NCU(row)                                                                                   \
    "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"0\",\"k/8\"," row  \
    "\n"

TEST(type_is_found_wherever_it_stands)
{
    struct open_store *f = *state;
    struct error err = {0};
#define ONE(name, params)                                                                          \
    "{\"name\":\"" name "\",\"params\":" params ",\"stats\":{\"median\":5e-6}}"
    static const char text[] =
        "{\"machine_info\":{},\"benchmarks\":[" ONE("a[8x16x32-bf16]", "null") "," ONE(
            "b[fp16-8x16x32]",
            "null") "," ONE("c[8-16-32-torch.float8_e5m2]",
                            "null") "," ONE("d", "{\"dtype\":\"torch.float16\",\"m\":8,\"n\":16,"
                                                 "\"k\":32}") "," ONE("e[8x16x32:fp8-bf16:nn:b2]",
                                                                      "null") "," ONE("f[8x16x32]",
                                                                                      "null") "]}";
    static const struct expected expected[] = {
        {"a", "8x16x32:bf16-bf16:tn", MEASURED_OK, 1, 5000},
        {"b", "8x16x32:fp16-fp16:tn", MEASURED_OK, 1, 5000},
        {"c", "8x16x32:e5m2-bf16:tn", MEASURED_OK, 1, 5000},
        {"d", "8x16x32:fp16-fp16:tn", MEASURED_OK, 1, 5000},
        {"e", "8x16x32:e4m3-bf16:nn:b2", MEASURED_OK, 1, 5000},
        {"f", "8x16x32:fp32-fp32:tn", MEASURED_OK, 1, 5000},
    };
    assert_ok(import_text(f->store, text, strlen(text), NULL, NULL, &err), &err);
    expect_run(f, expected, ARRAY_COUNT(expected));
}

TEST(hostile_files_are_refused_and_leave_nothing)
{
    struct open_store *f = *state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", "file: of no form that is read"},
        {"some words\n", "file: of no form that is read"},
        {"{\"a\":1,\"b\":2}", "file: JSON of no tool"},
        {"{\"context\":{},\"benchmarks\":7}", "file: not Google"},
        {"{\"context\":{},\"benchmarks\":[]}", "file: there is no benchmark"},
        {"{\"context\":{},\"benchmarks\":[7]}", "file: benchmark ''"},
        {"{\"devices\":[],\"benchmarks\":[]}", "file: not nvbench"},
        {"{\"machine_info\":7,\"benchmarks\":[7]}", "file: benchmark '': has no name"},
        {GOOGLE("\"real_time\":0"), "file: benchmark 'G/8/8/8': a time"},
        {GOOGLE("\"real_time\":-1"), "file: benchmark 'G/8/8/8': a time"},
        {GOOGLE("\"x\":1"), "file: benchmark 'G/8/8/8': a time"},
        {GOOGLE("\"real_time\":NaN"), "file: benchmark 'G/8/8/8': a time"},
        {GOOGLE("\"real_time\":1e300"), "file: benchmark 'G/8/8/8': a time"},
        {GOOGLE("\"real_time\":5,\"time_unit\":\"h\""), "file: benchmark 'G/8/8/8': time_unit"},
        {GOOGLE("\"real_time\":5,\"M\":1e30,\"N\":8,\"K\":8"),
         "file: benchmark 'G/8/8/8': M, N, K"},
        {GOOGLE("\"real_time\":5,\"run_name\":\"G/M:8\""), "file: benchmark 'G/M:8': has not all"},
        {GOOGLE("\"real_time\":5,\"run_name\":\"G\""), "file: benchmark 'G': names no problem"},
        {GOOGLE("\"real_time\":5,\"run_name\":\"G/8/8/0\""), "file: benchmark 'G/8/8/0': names"},
        {GOOGLE("\"real_time\":5,\"run_name\":\"/8/8/8\""),
         "file: benchmark '/8/8/8': has no name"},
        {GOOGLE("\"real_time\":5},{\"name\":\"g/8/8/8\",\"real_time\":6"),
         "file: 'G/8/8/8' and 'g/8/8/8' would be one series, g"},
        {PYTEST("\"stats\":{}"), "file: benchmark 't[8-8-8]': a time"},
        {PYTEST("\"stats\":{\"data\":[1,\"2\"]}"), "file: benchmark 't[8-8-8]': a time"},
        {PYTEST("\"stats\":{\"median\":1},\"params\":{\"m\":\"x\"}"),
         "file: benchmark 't[8-8-8]': m"},
        {CUTLASS("g,passed,success,0,8,8,f16:row,f16:row,f16:row,1,1"),
         "file:2: benchmark 'g': m: "},
        {CUTLASS("g,passed,success,8,8,8,cf32:row,f16:row,f16:row,1,1"),
         "file:2: benchmark 'g': A, B: "},
        {CUTLASS("g,passed,success,8,8,8,f16:nhwc,f16:row,f16:row,1,1"),
         "file:2: benchmark 'g': A, B: "},
        {CUTLASS("g,passed,success,8,8,8,f16:row,f16:row,f16:row,1,nan"),
         "file:2: benchmark 'g': Runtime: "},
        {CUTLASS("g,passed,success,8,8,8,f16:row,f16:row,f16:row,1,-1"),
         "file:2: benchmark 'g': Runtime: "},
        {CUTLASS("g,passed,success,8,8"), "file:2: "},
        {"Problem,Provider,x\n", "file: not a GEMM's CSV"},
        {NCU("\"Duration\",\"fortnight\",\"1\""),
         "file:2: benchmark 'k/8 on :': the time or clock has a unit"},
        {NCU("\"Duration\",\"us\",\"n/a\""),
         "file:2: benchmark 'k/8 on :': its Duration 'n/a' is no number"},
        {NCU("\"DRAM Frequency\",\"us\",\"5\""),
         "file:2: benchmark 'k/8 on :': this launch has no Duration"},
        {"\"ID\",\"x\"\n\"0\",\"1\"\n", "file: not ncu's CSV"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        if (import_text(f->store, cases[i].text, strlen(cases[i].text), NULL, NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(sound_counts(f->store).runs, 0);
    }
}

TEST(our_own_exports_are_recognised)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts added;
    static const char table[] = "# from elsewhere\ncommit,kernel,problem,time_ns\n"
                                "aaaaaaa,k,1x1x1,5\n";
    assert_ok(import_text(f->store, table, strlen(table), NULL, &added, &err), &err);
    assert_int_equal(added.measurements, 1);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_ok(store_export_json(f->store, &(struct export_filter){0}, file, &err), &err);
    fclose(file);
    assert_ok(import_text(f->store, text, size, NULL, &added, &err), &err);
    assert_int_equal(added.measurements, 0);
    free(text);
}

static char *exported(struct open_store *f, bool openmetrics, int64_t run_id)
{
    struct error err = {0};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    const struct export_filter filter = {.run_id = run_id};
    assert_ok(
        (openmetrics ? store_export_openmetrics : store_export_bmf)(f->store, &filter, file, &err),
        &err);
    fclose(file);
    return text;
}

TEST(newest_times_go_out_for_bencher_and_prometheus)
{
    struct open_store *f = *state;
    struct error err = {0};
    static const char table[] =
        "commit,kernel,problem,time_ns,commit_s,clock_hz,device,device_name\n"
        "aaaaaaa,k,1x1x1,5,100,,\"a\"\"\\b\",GPU\n"
        "bbbbbbb,k,1x1x1,7,200,1.5e9,\"a\"\"\\b\",GPU\n";
    char *empty = exported(f, false, 0), *nothing = exported(f, true, 0);
    assert_string_equal(empty, "{\n}\n");
    assert_non_null(strstr(nothing, "\n# EOF\n"));
    assert_ok(import_text(f->store, table, strlen(table), "csv", NULL, &err), &err);
    char *bmf = exported(f, false, 0), *metrics = exported(f, true, 0);
    char *first = exported(f, false, 1);
    assert_string_equal(bmf, "{\n\"k 1x1x1:fp32-fp32:tn a\\\"\\\\b\":{\"latency\":{\"value\":7},"
                             "\"clock\":{\"value\":1500000000}}\n}\n");
    assert_non_null(strstr(first, "\"latency\":{\"value\":5}"));
    assert_null(strstr(first, "clock"));
    assert_non_null(strstr(metrics, "# TYPE plumb_time_seconds gauge\n# UNIT plumb_time_seconds "
                                    "seconds\n# HELP plumb_time_seconds "));
    assert_non_null(strstr(metrics,
                           "\nplumb_time_seconds{kernel=\"k\",problem=\"1x1x1:fp32-fp32:tn\","
                           "device=\"a\\\"\\\\b\",device_name=\"GPU\"} 7e-09\n"));
    assert_non_null(strstr(metrics, ",commit=\"bbbbbbb\"} 1\n"));
    assert_null(strstr(metrics, "aaaaaaa"));
    // It ends with the mark, which is there once.
    char *mark = strstr(metrics, "# EOF\n");
    assert_non_null(mark);
    assert_string_equal(mark, "# EOF\n");
    char *all[] = {empty, nothing, bmf, metrics, first};
    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        free(all[i]);
}

// Each tool has its own spelling of a type, often behind the name of a library.
TEST(types_are_read_as_other_tools_spell_them)
{
    static const struct {
        const char *text;
        enum dtype type;
    } names[] = {{"torch.half_t", DTYPE_FP16},   {"F16", DTYPE_FP16},
                 {"torch.bfloat16", DTYPE_BF16}, {"cutlass::bfloat16_t", DTYPE_BF16},
                 {"__nv_fp8_e4m3", DTYPE_E4M3},  {"torch.float8_e5m2", DTYPE_E5M2},
                 {"float32", DTYPE_FP32},        {"tf32", DTYPE_TF32}};
    enum dtype type;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        assert_int_equal(foreign_type(&type, names[i].text), 0);
        assert_int_equal(type, names[i].type);
    }
    assert_int_equal(foreign_type(&type, "torch."), -1);
    assert_int_equal(foreign_type(&type, "threads"), -1);
}
