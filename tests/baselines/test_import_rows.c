// SPDX-License-Identifier: Apache-2.0
//
// Importers lose nothing: of every form, rows read = samples + failures + unwanted + left out, and
// what is left out is told with where it stands and why. Rows of each sort that cannot be read are
// put into good files, drawn at random; and files that once were read wrongly are read rightly.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int find_commit(struct commit *out, const char *named, void *context, struct error *err)
{
    if (named && context) // a repository that has no such commit
        return error_set(err, "no commit %s", named);
    *out = (struct commit){.id = "0123456789abcdef", .summary = "", .author = ""};
    return 0;
}

// A form: its good row has a number of its own (first) and a time (second).
struct form {
    const char *name, *head, *good, *between, *tail;
    const char *bad[10]; // each gets the number
};
#define NV_AXIS(name, value) "{\"name\":\"" name "\",\"value\":\"" value "\"}"
#define NV_TIME(value)                                                                             \
    "\"summaries\":[{\"tag\":\"nv/cold/time/gpu/mean\",\"data\":[{\"name\":\"value\",\"value\":"   \
    "\"" value "\"}]}]"
#define NV_STATE(axes, more)   "{\"name\":\"s%zu\",\"device\":0,\"axis_values\":[" axes "]," more "}"
#define NV_GOOD                NV_AXIS("M", "8") "," NV_AXIS("N", "8") "," NV_AXIS("K", "8") ","
#define GOOGLE_ROW(name, rest) "{\"name\":\"" name "\",\"run_type\":\"iteration\"," rest "}"
#define PYTEST_ROW(name, rest) "{\"name\":\"" name "\"," rest "}"

static const struct form forms[] = {
    {"google",
     "{\"context\":{\"host_name\":\"h\"},\"benchmarks\":[",
     GOOGLE_ROW("g%zu/8/8/8", "\"real_time\":%.17g,\"time_unit\":\"ns\""),
     ",",
     "]}",
     {GOOGLE_ROW("x%zu/8/8/8", "\"real_time\":0"), GOOGLE_ROW("x%zu/8/8/8", "\"real_time\":NaN"),
      GOOGLE_ROW("x%zu/8/8/8", "\"real_time\":1e300"),
      GOOGLE_ROW("x%zu/8/8/8", "\"time_unit\":\"ns\""),
      GOOGLE_ROW("x%zu/8/8/8", "\"real_time\":5,\"time_unit\":\"h\""),
      GOOGLE_ROW("x%zu/8/8/0", "\"real_time\":5"), GOOGLE_ROW("x%zu/M:y", "\"real_time\":5"),
      GOOGLE_ROW("x%zu/M:8", "\"real_time\":5"), "{\"name\":\"/%zu/8/8/8\",\"real_time\":5}"}},
    {"pytest",
     "{\"machine_info\":{\"node\":\"h\"},\"benchmarks\":[",
     PYTEST_ROW("t%zu[8-8-8]", "\"stats\":{\"data\":[%.17ge-9]}"),
     ",",
     "]}",
     {PYTEST_ROW("x%zu[8-8-8]", "\"stats\":{}"), PYTEST_ROW("x%zu", "\"stats\":{\"median\":1}"),
      PYTEST_ROW("x%zu[8-8-8]", "\"stats\":{\"data\":[null]}"),
      PYTEST_ROW("x%zu[8-8-8]", "\"stats\":{\"data\":[-1]}"),
      PYTEST_ROW("x%zu", "\"params\":{\"m\":\"y\"},\"stats\":{\"median\":1}")}},
    {"nvbench",
     "{\"devices\":[{\"id\":0,\"name\":\"G\"}],\"benchmarks\":[{\"name\":\"g\",\"states\":[",
     "{\"name\":\"s\",\"device\":0,\"axis_values\":[" NV_GOOD NV_AXIS("tile", "%zu") "]," NV_TIME(
         "%.17ge-9") "}",
     ",",
     "]}]}",
     {NV_STATE(NV_GOOD NV_AXIS("x", "%zu"), "\"summaries\":[]"),
      NV_STATE(NV_AXIS("M", "y%zu"), NV_TIME("1")), NV_STATE(NV_AXIS("M", "8%zu"), NV_TIME("1")),
      NV_STATE(NV_GOOD NV_AXIS("T", "U8"), NV_TIME("1%zu")),
      NV_STATE(NV_GOOD NV_AXIS("x", "%zu"), NV_TIME("nan"))}},
    {"cutlass",
     "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,A,B,C,alpha,Bytes,"
     "Runtime\n",
     "1,CUTLASS,gemm,g%zu,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,%.17ge-6",
     "\n",
     "\n",
     {"1,CUTLASS,spgemm,x%zu,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,1",
      "1,CUTLASS,gemm,x%zu,passed,success,0,8,8,f16:row,f16:column,f16:row,1,1,1",
      "1,CUTLASS,gemm,x%zu,passed,success,8,8,8,cf32:row,f16:column,f16:row,1,1,1",
      "1,CUTLASS,gemm,x%zu,passed,success,8,8,8,f16:row,bf16:column,f16:row,1,1,1",
      "1,CUTLASS,gemm,x%zu,passed,success,8,8,8,f16:row,f16:column,f16:row,0,1,1",
      "1,CUTLASS,gemm,x%zu,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,nan",
      "1,CUTLASS,gemm,x%zu,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,0,5",
      "1,CUTLASS,gemm,x%zu,passed,suc\"cess,8,8,8,f16:row,f16:column,f16:row,1,1,0",
      "1,CUTLASS,gemm,x%zu,passed"}},
    {"ncu", // a metric's row ends before the columns of rules
     "\"ID\",\"Host Name\",\"Kernel Name\",\"Device\",\"Metric Name\",\"Metric Unit\",\"Metric "
     "Value\",\"Rule Name\",\"Rule Type\"\n",
     "\"%1$zu\",\"h\",\"k%1$zu\",\"0\",\"Duration\",\"nsecond\",\"%2$.1f\",",
     "\n",
     "\n",
     {"\"%1$zu\",\"h\",\"x%1$zu\",\"0\",\"Duration\",\"fortnight\",\"5.5\"",
      "\"%1$zu\",\"h\",\"x%1$zu\",\"0\",\"Duration\",\"us\",\"n/a\"",
      "\"%1$zu\",\"h\",\"x%1$zu\",\"0\",\"DRAM Frequency\",\"us\",\"5.5\"",
      "\"%1$zu\",\"h\",\"()%1$zu\",\"0\",\"Duration\"", "\"%1$zu\",\"h\",\"(%1$zu\",\"0"}},
    {"csv",
     "commit,kernel,problem,time_ns,state,started_s\n",
     "aaaaaaa,k%zu,8x8x8,%.17g,ok,",
     "\n",
     "\n",
     {"zz,k%zu,8x8x8,5,ok,", "aaaaaaa,k%zu,8x8,5,ok,", "aaaaaaa,k%zu,8x8x8,-5,ok,",
      "aaaaaaa,k%zu,8x8x8,1,5,ok,", "aaaaaaa,k%zu,8x8x8,5,fine,", "aaaaaaa,\x01k%zu,8x8x8,5,ok,",
      "aaaaaaa,k%zu,8x8x8", "aaaaaaa,k%zu,8x8x8,5,ok,soon", "aaaaaaa,k%zu,8x8x8,5,ok,\"5",
      "aaaaaaa,k%zu,8x8x8,1e300,ok,"}},
    {"links",
     "run,kernel,problem,device,base_code,head_code,base,head,made_s,back,verdict,log_ratio,error,"
     "log_evidence,pairs,processes\n",
     "0123456789abcdef0123456789abcdef,k%zu,8x8x8,d,c1,c2,aaaaaaa,bbbbbbb,9,1,same,%.17ge-6,0.1,0,"
     "5,1",
     "\n",
     "\n",
     {"0123,k%zu,8x8x8,d,c1,c2,aaaaaaa,bbbbbbb,9,1,same,0,0.1,0,5,1",
      "0123456789abcdef0123456789abcdef,k%zu,8x8x8,d,c1,c1,aaaaaaa,bbbbbbb,9,1,same,0,0.1,0,5,1",
      "0123456789abcdef0123456789abcdef,k%zu,8x8x8,d,c1,c2,aaaaaaa,bbbbbbb,9,1,same,nan,0.1,0,5,1",
      "0123456789abcdef0123456789abcdef,k%zu,8x8x8,d,c1,c2,aaaaaaa,bbbbbbb,9,1,same,0,0,0,5,1",
      "0123456789abcdef0123456789abcdef,k%zu,8x8x8,d,c1,c2,aaaaaaa,bbbbbbb,9,1,same,0"}},
    {"hyperfine",
     "{\"results\":[",
     "{\"command\":\"g%zu\",\"times\":[%.17ge-9],\"exit_codes\":[0],\"parameters\":{\"m\":\"8\","
     "\"n\":\"8\",\"k\":\"8\"}}",
     ",",
     "]}",
     {"{\"command\":\"x%zu\",\"times\":[1]}",
      "{\"command\":\"x%zu\",\"times\":[1],\"exit_codes\":[1],\"parameters\":{\"problem\":"
      "\"8x8x8\"}"
      "}",
      "{\"command\":\"x%zu\",\"parameters\":{\"problem\":\"8x8x8\"}}",
      "{\"command\":\"x%zu\",\"times\":[1],\"parameters\":{\"m\":\"y\"}}",
      "{\"command\":\" \",\"times\":[1%zu],\"parameters\":{\"problem\":\"8x8x8\"}}"}},
    {"bmf",
     "{",
     "\"g%zu 8x8x8:bf16\":{\"latency\":{\"value\":%.17g}}",
     ",",
     "}",
     {"\"x%zu 8x8x8\":{\"throughput\":{\"value\":5}}", "\"x%zu\":{\"latency\":{\"value\":5}}",
      "\"x%zu 8x8x8\":{\"latency\":{\"value\":0}}", "\"x%zu 8x8x8\":7", "\"x%zu 8x8x8\":{}",
      "\"x%zu 8x8x8\":{\"latency\":{}}"}},
    {"ghbench",
     "window.BENCHMARK_DATA = "
     "{\"lastUpdate\":1,\"entries\":{\"s\":[{\"commit\":{\"id\":\"aaaaaaa\","
     "\"timestamp\":\"2024-05-06T07:08:09Z\"},\"benches\":[",
     "{\"name\":\"g%zu/8/8/8\",\"value\":%.17g,\"unit\":\"ns/iter\"}",
     ",",
     "]}]}}",
     {"{\"name\":\"x%zu/8/8/8\",\"value\":5,\"unit\":\"MB\"}",
      "{\"name\":\"x%zu/8/8/8\",\"value\":0,\"unit\":\"ns\"}",
      "{\"name\":\"x%zu/8/8/8\",\"unit\":\"ns\"}",
      "{\"name\":\"x%zu\",\"value\":5,\"unit\":\"ns\"}",
      "{\"name\":\"/%zu/8/8/8\",\"value\":5,\"unit\":\"ns\"}"}},
    {"asv",
     "{\"version\":2,\"commit_hash\":\"aaaaaaa\",\"date\":1700000000000,\"params\":{\"machine\":"
     "\"m\"},\"result_columns\":[\"result\",\"params\"],\"results\":{",
     "\"time_g%zu\":[[%.17ge-9],[[\"8\"],[\"8\"],[\"8\"]]]",
     ",",
     "}}",
     {"\"mem_x%zu\":[[5],[[\"8x8x8\"]]]", "\"time_x%zu\":[[5],[]]", "\"time_x%zu\":5",
      "\"time_x%zu\":[[0],[[\"'8x8x8'\"]]]", "\"time_x%zu\":[[true],[[\"8x8x8\"]]]"}},
    {"kineto",
     "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"dur\":7},",
     "{\"cat\":\"kernel\",\"name\":\"void g%zu<float>(int)\",\"dur\":%.17ge-3}",
     ",",
     "]}",
     {"{\"cat\":\"kernel\",\"name\":\"x%zu\"}", "{\"cat\":\"kernel\",\"name\":\"x%zu\",\"dur\":0}",
      "{\"cat\":\"kernel\",\"name\":\"x%zu\",\"dur\":-3}",
      "{\"cat\":\"Kernel\",\"name\":\"x%zu\",\"dur\":\"5\"}",
      "{\"cat\":\"kernel\",\"name\":\"<%zu\",\"dur\":NaN}",
      "{\"cat\":\"kernel\",\"dur\":5,\"args\":{\"device\":%zu}}"}},
    {"nsys",
     "Processing [r.sqlite] with [cuda_api_sum.py]...\nTime (%),Total Time (ns),Num Calls,Med "
     "(ns),Name\n9,9,9,9,cudaMalloc\n\nProcessing [r.sqlite] with [cuda_gpu_kern_sum.py]...\nTime "
     "(%),Total Time (ns),Instances,Avg (ns),Med (ns),Name\n",
     "5,9,1,7.5,%2$.17g,\"void g%1$zu<float>(int, int)\"",
     "\n",
     "\n\nTime (%),Total Time (ns),Count,Avg (ns),Med (ns),Operation\n5,9,1,7.5,9,[CUDA memset]\n",
     {"5,9,1,7.5,0,x%zu", "5,9,1,7.5,,x%zu", "5,9,1,7.5,nan,x%zu", "5,9,1,7.5,x%zu",
      "5,9,1,7.5,5,9,x%zu", "5,9,1,7.5,-5,x%zu", "5,9,1,7.5,1%zu,()"}},
    {"triton",
     "provider,M,N,K,Triton (us)\n",
     "p%zu,8.0,8.0,8.0,%.17ge-3",
     "\n",
     "\n",
     {"x%zu,8,8,y,5", "x%zu,8,8,8,0", "x%zu,8,8,8,nan", "x%zu,8,8,8", "x%zu,8,8,8,5,5"}},
};

struct drawn {
    struct buffer text;
    size_t good, bad;
};

static size_t bad_sorts(const struct form *form)
{
    size_t count = 0;
    while (count < ARRAY_COUNT(form->bad) && form->bad[count])
        count++;
    return count;
}

// Rows' forms are ours, and not known when this is compiled.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_good(struct buffer *out, const char *form, size_t number, double time_ns)
{
    buffer_printf(out, form, number, time_ns);
}
static void put_bad(struct buffer *out, const char *form, size_t number)
{
    buffer_printf(out, form, number);
}
#pragma GCC diagnostic pop

static struct drawn draw_file(const struct form *form, uint64_t *state)
{
    struct drawn d = {.good = 1 + draw_bits(state) % 4};
    const size_t sorts = bad_sorts(form), bad = draw_bits(state) % 3;
    size_t good = d.good;
    buffer_puts(&d.text, form->head);
    for (size_t i = 0; good || d.bad < bad; i++) {
        if (i)
            buffer_puts(&d.text, form->between);
        const bool is_bad = d.bad < bad && (!good || draw_unit(state) < 0.4);
        const char *sort = form->bad[draw_bits(state) % sorts];
        if (is_bad) {
            put_bad(&d.text, sort, i);
            d.bad++;
        } else {
            put_good(&d.text, form->good, i, 1000.5 + (double)(draw_bits(state) % 100000));
            good--;
        }
    }
    buffer_puts(&d.text, form->tail);
    return d;
}

// What knows no problem.
static bool is_profiler(const char *form)
{
    return strcmp(form, "ncu") == 0 || strcmp(form, "nsys") == 0 || strcmp(form, "kineto") == 0;
}

static void check_drawn(struct store *store, const struct form *form, const struct drawn *d,
                        bool strict)
{
    static const struct problem problem = {.m = 8, .n = 8, .k = 8, .batch = 1};
    const struct import_source source = {.name = "file",
                                         .find_commit = find_commit,
                                         .problem = is_profiler(form->name) ? &problem : NULL,
                                         .strict = strict};
    struct error err = {0};
    struct import_report r = {0};
    FILE *file = fmemopen(d->text.bytes, d->text.length, "r");
    const int status = store_import(store, file, &source, NULL, &r, &err);
    fclose(file);
    if (strict && d->bad) {
        if (status == 0)
            fail_msg("%s: taken, with a row that cannot be read: %s", form->name, d->text.bytes);
    } else if (status) {
        fail_msg("%s: %s\n%s", form->name, err.text, d->text.bytes);
    } else {
        if (r.rows != r.samples + r.failures + r.unwanted + r.left || r.samples != d->good ||
            r.left != d->bad)
            fail_msg(
                "%s: %zu good and %zu bad: %zu rows, %zu samples, %zu failed, %zu left out\n%s",
                form->name, d->good, d->bad, r.rows, r.samples, r.failures, r.left, d->text.bytes);
        size_t lines = 0;
        for (const char *c = r.said.bytes; c && *c; c++)
            lines += *c == '\n';
        assert_int_equal(lines, d->bad);
        assert_true(d->bad == 0 || strncmp(r.said.bytes, "file:", 5) == 0);
    }
    import_report_free(&r);
}

enum { DRAWS = 10000, DRAWS_SANITIZED = 1000 };

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(rows_are_samples_or_are_named)
{
    struct open_store *f = *state;
    uint64_t seed = 37;
#ifdef __SANITIZE_ADDRESS__
    const size_t draws = DRAWS_SANITIZED;
#else
    const size_t draws = DRAWS;
#endif
    for (size_t i = 0; i < draws; i++) {
        const struct form *form = &forms[draw_bits(&seed) % ARRAY_COUNT(forms)];
        struct drawn d = draw_file(form, &seed);
        check_drawn(f->store, form, &d, i % 10 == 0);
        buffer_free(&d.text);
    }
}

// What a store holds after a file, a line for each result: "kernel problem device time xSAMPLES".
static char *contents(struct store *store)
{
    struct buffer out = {0};
    struct arena arena = {0};
    struct run_entry *entries;
    struct error err;
    size_t count;
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, &err), &err);
    buffer_puts(&out, "");
    for (size_t i = count; i > 0; i--) {
        struct run run;
        assert_ok(store_load_run(&run, store, entries[i - 1].id, &err), &err);
        for (size_t k = 0; k < run.count; k++) {
            const struct result *r = &run.results[k];
            char problem[PROBLEM_TEXT];
            problem_format(problem, &r->problem);
            buffer_printf(&out, "%s %s %s %.10g x%zu\n", r->kernel, problem,
                          run.devices[r->device].uuid,
                          r->head.count ? r->head.samples[0].time_ns : 0.0, r->head.count);
        }
        run_free(&run);
    }
    arena_free(&arena);
    return out.bytes;
}

#define NCU_HEAD                                                                                   \
    "\"ID\",\"Host Name\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"Metric "       \
    "Name\",\"Metric Unit\",\"Metric Value\"\n"
#define NCU_ROW(id, grid, metric, unit, value)                                                     \
    "\"" id "\",\"h\",\"sgemm_a\",\"(256, 1, 1)\",\"" grid "\",\"0\",\"" metric "\",\"" unit       \
    "\",\"" value "\"\n"

static const struct {
    const char *text, *problem, *kernel, *exclude;
    const char *expected; // what is stored; or how the error begins
} files[] = {
    // A decimal comma is one in the whole file; where nothing says which, the file is refused.
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "dram__bytes.sum", "byte", "27.595.520")
         NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "117.344"),
     "8x8x8:fp16", NULL, NULL, "sgemm_a 8x8x8:fp16-fp16:tn ncu:h:0 117344 x1\n"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "1.117,5"), "8x8x8:fp16",
     NULL, NULL, "sgemm_a 8x8x8:fp16-fp16:tn ncu:h:0 1117.5 x1\n"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "117.344"), "8x8x8:fp16",
     NULL, NULL, "file: nothing in it says whether 1.234 is 1234"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "1,117.5")
         NCU_ROW("1", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "1.117,5"),
     "8x8x8:fp16", NULL, NULL, "file:3: numbers with a decimal point and with a decimal comma"},
    // One kernel on two grids is two.
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "1,117.5")
         NCU_ROW("1", "(32, 64, 1)", "gpu__time_duration.sum", "ns", "557.5"),
     "8x8x8:fp16", NULL, NULL,
     "sgemm_a.grid-32-64-1 8x8x8:fp16-fp16:tn ncu:h:0 557.5 x1\n"
     "sgemm_a.grid-64-64-1 8x8x8:fp16-fp16:tn ncu:h:0 1117.5 x1\n"},
    // Thousands apart by blanks and apostrophes, and what is no number at all.
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns",
                      "1\xe2\x80\xaf"
                      "117,5"),
     "8x8x8:fp16", NULL, NULL, "sgemm_a 8x8x8:fp16-fp16:tn ncu:h:0 1117.5 x1\n"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns",
                      "1\xe2\x80\x99"
                      "117\xe2\x80\x99"
                      "000.5"),
     "8x8x8:fp16", NULL, NULL, "sgemm_a 8x8x8:fp16-fp16:tn ncu:h:0 1117000.5 x1\n"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "ns", "0x75"), "8x8x8:fp16",
     NULL, NULL, "file:2: benchmark 'sgemm_a on h:0': its Duration '0x75' is no number"},
    {NCU_HEAD NCU_ROW("0", "(64, 64, 1)", "gpu__time_duration.sum", "\xc2\xb5s", "117.5"),
     "8x8x8:fp16", NULL, NULL, "sgemm_a 8x8x8:fp16-fp16:tn ncu:h:0 117500 x1\n"},
    // Grids that read alike are one series, and nothing goes round in circles.
    {NCU_HEAD NCU_ROW("0", "(64)", "gpu__time_duration.sum", "ns", "7.5")
         NCU_ROW("1", "[64]", "gpu__time_duration.sum", "ns", "8.5"),
     "8x8x8:fp16", NULL, NULL, "sgemm_a.grid-64 8x8x8:fp16-fp16:tn ncu:h:0 7.5 x2\n"},
    // Rows of metrics are shorter than those of rules (microsoft/superbenchmark's
    // cublaslt_ncu.log).
    {"==PROF== Connected to process 371693\n2208    2048    5608    0       358.154755\n"
     "\"ID\",\"Process ID\",\"Host Name\",\"Kernel Name\",\"Device\",\"Metric Name\",\"Metric "
     "Unit\",\"Metric "
     "Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup\"\n"
     "\"0\",\"371693\",\"127.0.0.1\",\"g\",\"0\",\"SM Frequency\",\"hz\",\"1239496049.13\",\n"
     "\"0\",\"371693\",\"127.0.0.1\",\"g\",\"0\",\"Duration\",\"ns\",\"406240\",\n"
     "\"0\",\"371693\",\"127.0.0.1\",\"g\",\"0\",\"\",\"\",\"\",\"Bound\",\"OPT\",\"One, or "
     "more\",\"5.9\"\n",
     "8x8x8:e4m3", NULL, NULL, "g 8x8x8:e4m3-bf16:tn ncu:127.0.0.1:0 406240 x1\n"},
    // Aggregates count where the repetitions of their own benchmark are not there.
    {"{\"context\":{\"host_name\":\"ci\",\"num_cpus\":4},\"benchmarks\":["
     "{\"name\":\"s/8/8/8\",\"run_type\":\"iteration\",\"real_time\":410},"
     "{\"name\":\"t/8/8/8_median\",\"run_name\":\"t/8/8/8\",\"run_type\":\"aggregate\","
     "\"aggregate_name\":\"median\",\"real_time\":731}]}",
     NULL, NULL, NULL,
     "s 8x8x8:fp32-fp32:tn google-benchmark:4-cpus 410 x1\n"
     "t 8x8x8:fp32-fp32:tn google-benchmark:4-cpus 731 x1\n"},
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"g/8/8/8\",\"real_time\":410},"
     "{\"name\":\"g/8/8/8\",\"real_time\":430},{\"name\":\"g/8/8/8_mean\",\"real_time\":420},"
     "{\"name\":\"g/8/8/8_stddev\",\"real_time\":10}]}",
     NULL, NULL, NULL, "g 8x8x8:fp32-fp32:tn google-benchmark 410 x2\n"},
    // A name that ends as an aggregate's, alone, is a benchmark's own.
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"layer_mean\",\"real_time\":420}]}", "8x8x8:fp32",
     NULL, NULL, "layer_mean 8x8x8:fp32-fp32:tn google-benchmark 420 x1\n"},
    // A mean where there is no median; of what is neither, one row is left out.
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"g/8/8/8_mean\",\"run_name\":\"g/8/8/8\","
     "\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\",\"real_time\":42},"
     "{\"name\":\"g/8/8/8_cv\",\"run_name\":\"g/8/8/8\",\"run_type\":\"aggregate\","
     "\"aggregate_name\":\"cv\",\"real_time\":0.1}]}",
     NULL, NULL, NULL, "g 8x8x8:fp32-fp32:tn google-benchmark 42 x1\n"},
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"g/8/8/8_cv\",\"run_name\":\"g/8/8/8\","
     "\"run_type\":\"aggregate\",\"aggregate_name\":\"cv\",\"real_time\":0.1}]}",
     NULL, NULL, NULL, "file: benchmark 'g/8/8/8': has aggregates alone"},
    // How a family scales is nobody's time; three counters, or a label, are a problem.
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"g_BigO\",\"run_name\":\"g\","
     "\"run_type\":\"aggregate\",\"aggregate_name\":\"BigO\",\"real_time\":1},"
     "{\"name\":\"g_RMS\",\"run_name\":\"g\",\"run_type\":\"aggregate\","
     "\"aggregate_name\":\"RMS\",\"real_time\":1}]}",
     NULL, NULL, NULL, "file: there is no benchmark"},
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"a\",\"real_time\":410,\"M\":8,\"n\":16,\"K\":32},"
     "{\"name\":\"b\",\"real_time\":5,\"label\":\"8x8x8:bf16\"}]}",
     NULL, NULL, NULL,
     "a 8x16x32:fp32-fp32:tn google-benchmark 410 x1\n"
     "b 8x8x8:bf16-bf16:tn google-benchmark 5 x1\n"},
    // A counter is a user's own figure; a problem may be named integers.
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"g/8/8/8\",\"real_time\":410,\"T\":0.41}]}", NULL,
     NULL, NULL, "g 8x8x8:fp32-fp32:tn google-benchmark 410 x1\n"},
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"softmax\",\"real_time\":41}]}",
     "S=4096,H=128:bf16-fp32", NULL, NULL,
     "softmax H=128,S=4096:bf16-fp32 google-benchmark 41 x1\n"},
    // A file that is cut off is blamed where it ends.
    {"{\"context\":{},\n\"benchmarks\":[\n{\"name\":\"g", NULL, NULL, NULL, "file:3: not JSON"},
    // Sparse is not dense; alpha and beta are the problem's; a sweep is told apart.
    {"Problem,Provider,OperationKind,Operation,Disposition,Status,gemm_kind,m,n,k,A,B,C,alpha,beta,"
     "raster_order,Bytes,Flops,Runtime\n"
     "1,CUTLASS,spgemm,s,passed,success,spgemm,8,8,8,f16:column,f16:row,f32:row,1,0,n,1,1,0.29\n"
     "2,CUTLASS,gemm,g,passed,success,universal,8,8,8,f16:row,f16:column,f32:row,1,0,n,1,1,0.21\n"
     "3,CUTLASS,gemm,g,passed,success,universal,8,8,8,f16:row,f16:column,f32:row,1,0,m,1,1,0.2\n"
     "4,CUTLASS,gemm,h,passed,success,universal,8,8,8,f16:row,f16:column,f32:row,2,1,m,1,1,0.2\n",
     NULL, NULL, NULL,
     "g.raster_order-m 8x8x8:fp16-fp32:tn cutlass_profiler 200000 x1\n"
     "g.raster_order-n 8x8x8:fp16-fp32:tn cutlass_profiler 210000 x1\n"
     "h 8x8x8:fp16-fp32:tn:alpha=2:beta=1 cutlass_profiler 200000 x1\n"},
    // An axis says how it is used; a type that no problem has costs its own row; --exclude.
    {"{\"devices\":[{\"id\":0,\"name\":\"G\"}],\"benchmarks\":[{\"name\":\"copy\",\"states\":[{"
     "\"name\":\"b\",\"device\":0,\"axis_values\":[" NV_AXIS("T", "U8") "]," NV_TIME(
         "3e-5") "}]},{\"name\":\"gemm\",\"states\":[{\"name\":\"c\",\"device\":0,\"axis_values\":"
                 "[" NV_AXIS("T{ct}", "F16") "," NV_AXIS("M{io}", "8") "," NV_AXIS(
                     "N", "8") "," NV_AXIS("K", "8") "]," NV_TIME("5e-5") "}]}]}",
     NULL, NULL, NULL, "gemm 8x8x8:fp16-fp16:tn nvbench:G:0 50000 x1\n"},
    // Types of a kernel whose problem is told apart its series (NVIDIA/nvbench's test_cmp.json).
    {"{\"devices\":[{\"id\":0,\"name\":\"Quadro "
     "GV100\"}],\"benchmarks\":[{\"name\":\"copy_type_sweep\","
     "\"states\":[{\"name\":\"Device=0 T=F32\",\"device\":0,\"axis_values\":[" NV_AXIS(
         "T",
         "F32") "]," NV_TIME("0.0010672343821918702") "},{\"name\":\"Device=0 T=F64\",\"device\":0,"
                                                      "\"axis_values\":[" NV_AXIS(
                                                          "T", "F64") "]," NV_TIME("0."
                                                                                   "000933937587282"
                                                                                   "237") "}]}]}",
     "N=67108864:fp32", NULL, NULL,
     "copy_type_sweep.t-fp32 N=67108864:fp32-fp32 nvbench:Quadro GV100:0 1067234.382 x1\n"
     "copy_type_sweep.t-fp64 N=67108864:fp32-fp32 nvbench:Quadro GV100:0 933937.5873 x1\n"},
    // A name in a message is a name for --exclude; the first line of several is one.
    {"{\"a 8x8x8\":{\"latency\":{\"value\":5}},\"b[1] 8x8x8\":{\"latency\":{\"value\":6}}}", NULL,
     NULL, "b* 8x8x8", "a 8x8x8:fp32-fp32:tn bencher 5 x1\n"},
    {"{\"context\":{},\"benchmarks\":[{\"name\":\"x\",\"real_time\":5}\n]}\n", NULL, NULL, NULL,
     "file:1: benchmark 'x': names no problem"},
    {"{\"a 8x8x8\":{\"latency\":{\"value\":5}},\"b 8x8x8\":{\"latency\":{\"value\":6}}}", NULL,
     NULL, "a*", "b 8x8x8:fp32-fp32:tn bencher 6 x1\n"},
    // A history: each commit is a run, and a rate is a time.
    {"window.BENCHMARK_DATA = "
     "{\"lastUpdate\":1,\"entries\":{\"s\":[{\"commit\":{\"id\":\"aaaaaaa\","
     "\"timestamp\":\"2024-05-06T07:08:09+02:00\"},\"benches\":[{\"name\":\"f/8/8/8\",\"value\":"
     "250,\"unit\":\"us/iter\"}]},{\"commit\":{\"id\":\"bbbbbbb\"},\"date\":1715000000000,"
     "\"benches\":[{\"name\":\"f/8/8/8\",\"value\":5000,\"unit\":\"iter/sec\"}]}]}};\n",
     NULL, NULL, NULL,
     "f 8x8x8:fp32-fp32:tn github-action-benchmark 250000 x1\n"
     "f 8x8x8:fp32-fp32:tn github-action-benchmark 200000 x1\n"},
    {"{\"version\":2,\"commit_hash\":\"aaaaaaa\",\"date\":1700000000000,\"params\":{\"machine\":"
     "\"m\"},"
     "\"result_columns\":[\"result\",\"params\"],\"results\":{\"b.time_g\":[[1e-3,null,3e-3,4e-3],["
     "[\"'8x8x8:bf16'\",\"'16x8x8:bf16'\"],[\"'x'\",\"'y'\"]]],\"b.track_g\":[[1],[]]}}",
     NULL, NULL, NULL,
     "b.time_g.x 16x8x8:bf16-bf16:tn asv:m 3000000 x1\n"
     "b.time_g.x 8x8x8:bf16-bf16:tn asv:m 1000000 x1\n"
     "b.time_g.y 16x8x8:bf16-bf16:tn asv:m 4000000 x1\n"
     "b.time_g.y 8x8x8:bf16-bf16:tn asv:m 0 x0\n"},
    // The first version names the parts of a benchmark.
    {"{\"version\":1,\"commit_hash\":\"aaaaaaa\",\"date\":1700000000000,\"params\":{\"machine\":"
     "\"m\"},\"results\":{"
     "\"b.time_g\":{\"params\":[[\"'8x8x8:bf16'\",\"'16x8x8:bf16'\"]],\"result\":[1e-3,2e-3]}}}",
     NULL, NULL, NULL,
     "b.time_g 16x8x8:bf16-bf16:tn asv:m 2000000 x1\n"
     "b.time_g 8x8x8:bf16-bf16:tn asv:m 1000000 x1\n"},
    // Launches of one kernel on two grids are two; types tell apart what nothing else does. The
    // values are of public traces: tests/data/import/README.md.
    {"{\"deviceProperties\":[{\"id\":3,\"name\":\"NVIDIA A100-PG509-200\"}],\"traceEvents\":["
     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void cutlass::Kernel<g>(g::Params)\",\"ts\":1,"
     "\"dur\":7,\"args\":{\"device\":3,\"grid\":[64,1,1],\"block\":[128,1,1]}},"
     "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"ts\":1,\"dur\":9},"
     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void cutlass::Kernel<g>(g::Params)\",\"ts\":2,"
     "\"dur\":8.5,\"args\":{\"device\":3,\"grid\":[64,1,1],\"block\":[128,1,1]}},"
     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void e<double>(int)\",\"ts\":3,\"dur\":1.76,"
     "\"args\":{\"device\":3,\"grid\":[1,1,1]}},"
     "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void e<float>(int)\",\"ts\":4,\"dur\":1.5,"
     "\"args\":{\"device\":3,\"grid\":[1,1,1]}}]}",
     "8x8x8:bf16", NULL, NULL,
     "cutlass-kernel.g 8x8x8:bf16-bf16:tn kineto:NVIDIA A100-PG509-200:3 7000 x2\n"
     "e.t-fp32 8x8x8:bf16-bf16:tn kineto:NVIDIA A100-PG509-200:3 1500 x1\n"
     "e.t-fp64 8x8x8:bf16-bf16:tn kineto:NVIDIA A100-PG509-200:3 1760 x1\n"},
    // The median of a summary, or each launch of a trace without its copies; --timeunit; thousands.
    {"Processing [p.sqlite] with [cuda_gpu_kern_sum.py]...\nTime (%),Total Time (ns),Instances,Avg "
     "(ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
     "100.0,179106560,61,2936173.1,2889824.0,2864096,3829824,169012.8,"
     "\"vernier::bench::demo::<unnamed>::saxpyKernel(float, const float *, float *, unsigned "
     "long)\"\n",
     "8x8x8", NULL, NULL,
     "vernier-bench-demo.unnamed.saxpykernel 8x8x8:fp32-fp32:tn nsys 2889824 x1\n"},
    {"\"Time (%)\",\"Total Time (us)\",\"Instances\",\"Average\",\"Minimum\",\"Maximum\",\"Name\"\n"
     "\"58.5\",\"5,850,000\",\"50\",\"117,000.5\",\"1\",\"2\",\"k\"\n",
     "8x8x8", NULL, NULL, "k 8x8x8:fp32-fp32:tn nsys 117000500 x1\n"},
    {"Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Name\n"
     "1,22560,5,4,1,1,256,1,1,GPU,\"vecadd(int)\"\n2,900,5,,,,,,,GPU,[CUDA memcpy HtoD]\n"
     "3,29055,6,4,1,1,256,1,1,GPU,\"vecadd(int)\"\n",
     "8x8x8", NULL, NULL, "vecadd 8x8x8:fp32-fp32:tn nsys 22560 x2\n"},
    // What a file says of a problem that is told otherwise is in the name.
    {"M,Triton (ms)\n256.0,5\n512.0,6\n", "8x8x8", NULL, NULL,
     "triton.m-256 8x8x8:fp32-fp32:tn triton 5000000 x1\n"
     "triton.m-512 8x8x8:fp32-fp32:tn triton 6000000 x1\n"},
    {"M,N,K,cuBLAS (TFLOPS),Triton (ms)\n1024.0,1024.0,1024.0,2.147483648,0.5\n", NULL, NULL, NULL,
     "cublas 1024x1024x1024:fp32-fp32:tn triton 1000000 x1\n"
     "triton 1024x1024x1024:fp32-fp32:tn triton 500000 x1\n"},
    // Sizes that the file says, and a type that it does not (jaygala223/tryton's matmul).
    {"M,N,K,PyTorch (TFLOPS),Triton Grouped (TFLOPS)\n"
     "256.000000,256.000000,256.000000,1.913045,0.933205\n",
     "1x1x1:fp16:nn", NULL, NULL,
     "pytorch 256x256x256:fp16-fp16:nn triton 17539.80278 x1\n"
     "triton-grouped 256x256x256:fp16-fp16:nn triton 35956.12111 x1\n"},
    {"M,N,K,PyTorch (TFLOPS)\n256.0,256.0,256.0,1.913045\n", "S=4096:bf16", NULL, NULL,
     "pytorch 256x256x256:bf16-bf16:tn triton 17539.80278 x1\n"},
    // An axis with words about its unit, and a difference that is no line.
    {"N,Triton (Time (ms)),Torch (Time (ms)),Diff\n8.0,5,6,1\n", "8x8x8", NULL, NULL,
     "torch.n-8 8x8x8:fp32-fp32:tn triton 6000000 x1\n"
     "triton.n-8 8x8x8:fp32-fp32:tn triton 5000000 x1\n"},
    // Arguments that come again are another time of the same.
    {"M,N,K,Triton (us)\n8,8,8,5\n8,8,8,5.5\n", NULL, NULL, NULL,
     "triton 8x8x8:fp32-fp32:tn triton 5000 x2\n"},
    // Tables of no tool, one of which has a unit somewhere.
    {"Test,Hits (all accesses),Kernel execution time (ns),Requests\na,50.0,24256.0,9\n", "8x8x8",
     NULL, NULL, "file: a table of no tool that is known by its columns"},
    {"N,Liger,Hugging Face\n1024.000000,0.008672,0.056832\n", "8x8x8", NULL, NULL,
     "file: a table of no tool that is known by its columns; one of triton.testing"},
    {"{\"results\":[{\"command\":\"./gemm --fast\",\"times\":[0.5,0.25,9],\"exit_codes\":[0,0,1],"
     "\"parameters\":{\"problem\":\"8x8x8:bf16\"}}]}",
     NULL, NULL, NULL, "gemm-fast 8x8x8:bf16-bf16:tn hyperfine 500000000 x2\n"},
};

// One text in each way that a machine may have written it, read as the same; or, where it is no
// text any more, the one line that says what makes one of it.
static const char written_once[] =
    "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,A,B,C,alpha,Bytes,Runtime\n"
    "1,CUTLASS,gemm,g\xc3\xa4,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,1201.5\n"
    "2,CUTLASS,gemm,h,passed,success,8,8,8,f16:row,f16:column,f16:row,1,1,0.75\n";

static char *transcribed(size_t *length, char separator, char mark, const char *line_end)
{
    struct buffer out = {0};
    for (const char *c = written_once; *c; c++) {
        if (*c == '\n')
            buffer_puts(&out, line_end);
        else
            buffer_printf(&out, "%c", *c == ',' ? separator : *c == '.' ? mark : *c);
    }
    *length = out.length;
    return out.bytes;
}

static void put_unit(struct buffer *out, uint32_t unit, bool big)
{
    const char high = (char)(unit >> 8), low = (char)(unit & 255);
    const char bytes[] = {big ? high : low, big ? low : high};
    buffer_add(out, bytes, sizeof(bytes));
}

// Of ASCII and what is below U+0800.
static char *in_utf16(size_t *length, const char *text, bool big, bool marked)
{
    struct buffer out = {0};
    if (marked)
        put_unit(&out, 0xfeff, big);
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x80) {
            put_unit(&out, (uint32_t)*c, big);
            continue;
        }
        put_unit(&out, (uint32_t)(c[0] & 0x1f) << 6 | (uint32_t)(c[1] & 0x3f), big);
        c++;
    }
    *length = out.length;
    return out.bytes;
}

static void expect_written_once(struct open_store *f, const char *what, const char *text,
                                size_t length)
{
    static size_t number;
    struct error err = {0};
    char *name = xprintf("once-%zu.db", number++);
    struct store *store = scratch_store(scratch_path(&f->arena, f->folder, name), STORE_WRITE);
    const struct import_source source = {.name = "file", .find_commit = find_commit};
    if (import_from(store, text, length, &source, NULL, &err))
        fail_msg("%s: %s", what, err.text);
    char *found = contents(store);
    if (strcmp(found, "g 8x8x8:fp16-fp16:tn cutlass_profiler 1201500000 x1\n"
                      "h 8x8x8:fp16-fp16:tn cutlass_profiler 750000 x1\n") != 0)
        fail_msg("%s: %s", what, found);
    free(found);
    store_close(store);
    free(name);
}

TEST(a_table_is_the_same_however_it_was_saved)
{
    struct open_store *f = *state;
    static const struct {
        char separator, mark;
        const char *line_end;
    } ways[] = {{',', '.', "\n"}, {',', '.', "\r\n"}, {';', ',', "\r\n"},
                {';', '.', "\n"}, {'\t', ',', "\n"},  {'\t', '.', "\r\n"}};
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        size_t length, wide;
        char *text = transcribed(&length, ways[i].separator, ways[i].mark, ways[i].line_end);
        char *marked = xprintf("\xef\xbb\xbf%s", text);
        expect_written_once(f, "plain", text, length);
        expect_written_once(f, "with a mark", marked, length + 3);
        for (int big = 0; big <= 1; big++) {
            for (int mark = 0; mark <= 1; mark++) {
                char *other = in_utf16(&wide, text, big, mark);
                expect_written_once(f, "UTF-16", other, wide);
                free(other);
            }
        }
        free(marked);
        free(text);
    }
}

static int find_none(struct commit *out, const char *named, void *context, struct error *err)
{
    (*(size_t *)context)++;
    return error_set(err, "the repository is away");
}

// Where the commit of a file is not found, the import ends with that reason and nothing is stored.
TEST(an_import_ends_where_its_commit_is_not_found)
{
    static const struct problem problem = {.m = 8, .n = 8, .k = 8, .batch = 1};
    struct open_store *f = *state;
    size_t ended = 0;
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        const int64_t before = sound_counts(f->store).runs;
        size_t asked = 0;
        struct error err = {0};
        const struct import_source source = {.name = "file",
                                             .find_commit = find_none,
                                             .context = &asked,
                                             .strict = true,
                                             .problem =
                                                 is_profiler(forms[i].name) ? &problem : NULL};
        struct buffer text = {0};
        buffer_puts(&text, forms[i].head);
        put_good(&text, forms[i].good, 1, 5.5);
        buffer_puts(&text, forms[i].tail);
        const int status = import_from(f->store, text.bytes, text.length, &source, NULL, &err);
        if (status &&
            (!strstr(err.text, "the repository is away") || sound_counts(f->store).runs != before))
            fail_msg("%s: %s", forms[i].name, err.text);
        ended += status != 0;
        buffer_free(&text);
    }
    // The others' rows name commits of their own, and are left out one by one.
    assert_int_equal(ended, 10);
}

TEST(what_is_no_text_is_told_how_to_become_one)
{
    static const struct {
        const char *begin, *says;
    } cases[] = {{"\x1f\x8b\x08", "file: it is compressed by gzip: zcat FILE"},
                 {"\x28\xb5\x2f\xfd....", "file: it is compressed by zstd"},
                 {"\xfd"
                  "7zXZ",
                  "file: it is compressed by xz"},
                 {"BZh91AY", "file: it is compressed by bzip2"},
                 {"PK\x03\x04....", "file: it is a zip archive or a workbook"},
                 {"NVIDIA Tegra Profiler Report", "file: it is a report of nsys: nsys export"},
                 {"NVR", "file: it is a report of ncu: ncu --import"}};
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        const struct import_source source = {.name = "file", .find_commit = find_commit};
        // Of ncu's the NUL behind it counts.
        const size_t length = strlen(cases[i].begin) + (cases[i].begin[0] == 'N');
        if (import_from(f->store, cases[i].begin, length, &source, NULL, &err) == 0 ||
            strncmp(err.text, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("case %zu: %s", i, err.text);
    }
}

// What is wrong with one value costs that value's row, whose line is named.
TEST(one_bad_value_costs_its_row_and_not_the_file)
{
    static const char *const values[] = {
        "\"real_time\":1e400",     "\"real_time\":5,\"real_time\":6",
        "\"real_time\":\"5\"",     "\"real_time\":99999999999999999999999",
        "\"real_time\":-Infinity", "\"real_time\":5,\"time_unit\":\"fortnight\""};
    static const char *const harmless[] = {
        "\"real_time\":5,\"iterations\":99999999999999999999", "\"real_time\":5,\"x\":\"\\ud800\"",
        "\"real_time\":5,\"x\":\"\xff\x01\\u0000\"", "\"real_time\":5,\"x\":1,\"x\":2"};
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(values) + ARRAY_COUNT(harmless); i++) {
        const bool bad = i < ARRAY_COUNT(values);
        struct error err = {0};
        struct import_report r = {0};
        char *text = xprintf("{\"context\":{},\n\"benchmarks\":[\n"
                             "{\"name\":\"g%zu/8/8/8\",\"real_time\":7},\n"
                             "{\"name\":\"x%zu/8/8/8\",%s}]}",
                             i, i, bad ? values[i] : harmless[i - ARRAY_COUNT(values)]);
        const struct import_source source = {.name = "file", .find_commit = find_commit};
        FILE *file = fmemopen(text, strlen(text), "r");
        if (store_import(f->store, file, &source, NULL, &r, &err))
            fail_msg("%s: %s", text, err.text);
        fclose(file);
        if (r.rows != 2 || r.left != bad ||
            (bad && strncmp(r.said.bytes, "file:4: benchmark 'x", 20) != 0))
            fail_msg("%s: %zu left out of %zu: %s", text, r.left, r.rows, r.said.bytes);
        import_report_free(&r);
        free(text);
    }
}

TEST(files_of_the_field_are_read_as_they_are_meant)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        struct error err = {0};
        struct problem problem;
        char *name = xprintf("%zu.db", i);
        struct store *store = scratch_store(scratch_path(&f->arena, f->folder, name), STORE_WRITE);
        if (files[i].problem)
            assert_ok(problem_parse(&problem, files[i].problem, &err), &err);
        const struct import_source source = {.name = "file",
                                             .find_commit = find_commit,
                                             .context = f,
                                             .problem = files[i].problem ? &problem : NULL,
                                             .kernel = files[i].kernel,
                                             .exclude = files[i].exclude};
        int status = 0;
        // The second time adds nothing.
        for (int times = 0; times < 2 && status == 0; times++)
            status = import_from(store, files[i].text, strlen(files[i].text), &source, NULL, &err);
        char *found = status ? xstrdup(err.text) : contents(store);
        const size_t length = status ? strlen(files[i].expected) : strlen(found) + 1;
        if (strncmp(found, files[i].expected, length) != 0)
            fail_msg("file %zu: \"%s\" is not \"%s\"", i, found, files[i].expected);
        store_close(store);
        free(found);
        free(name);
    }
}

// Figures of a public report (tests/data/import/README.md), in the tables that nsys exports.
TEST(a_database_of_nsys_is_read_as_its_tables_are)
{
    struct open_store *f = *state;
    struct problem problem;
    struct error err;
    char *path = xprintf("%s/report.sqlite", f->folder);
    run_sql(path,
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, cuDevice INTEGER);"
            "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,"
            "gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ "
            "INTEGER, demangledName INTEGER);"
            "INSERT INTO StringIds VALUES (1, 'vecAdd(float *, float *, float *, int)');"
            "INSERT INTO TARGET_INFO_GPU VALUES (1, 'built in', "
            "'00000000-0000-0000-0000-000000000000', 0), (0, 'GPU', "
            "'d8ee7d6a-55aa-f67e-e078-03083ce324a8', 0);"
            "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 77);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 5384, 0, 4, 1, 1, 256, 1, 1, 1), "
            "(9000, 13127, 0, 4, 1, 1, 256, 1, 1, 1), (9000, 9000, 0, 4, 1, 1, 256, 1, 1, 1), "
            "(9000, 9300, 0, 4, 1, 1, 256, 1, 1, 2)");
    assert_ok(problem_parse(&problem, "8x8x8", &err), &err);
    const struct import_source source = {
        .name = "file", .find_commit = find_commit, .problem = &problem};
    struct import_report r = {0};
    FILE *file = fopen(path, "r");
    assert_ok(store_import(f->store, file, &source, NULL, &r, &err), &err);
    fclose(file);
    assert_int_equal(r.rows, 4);
    assert_int_equal(r.samples, 2);
    assert_int_equal(r.left, 2); // no time, and no name
    char *found = contents(f->store);
    assert_string_equal(
        found, "vecadd 8x8x8:fp32-fp32:tn GPU-d8ee7d6a-55aa-f67e-e078-03083ce324a8 4384 x2\n");
    free(found);
    import_report_free(&r);
    // A view that has its table's name is no table.
    run_sql(path, "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO k; CREATE VIEW "
                  "CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL "
                  "SELECT start + 1 FROM n) SELECT * FROM n");
    file = fopen(path, "r");
    assert_int_equal(store_import(f->store, file, &source, NULL, NULL, &err), -1);
    fclose(file);
    assert_non_null(strstr(err.text, "no kernels in it"));
    free(path);
}

// Figures of ionelmc/pytest-benchmark's tests/test_storage.
TEST(what_a_changed_tree_measured_is_no_commits)
{
    static char text[] =
        "{\"machine_info\":{\"node\":\"h\"},\"commit_info\":{\"dirty\":true,\"id\":"
        "\"5b78858eb718649a31fb93d8dc96ca2cee41a4cd\"},\"benchmarks\":["
        "{\"name\":\"test_single[8-8-8]\",\"stats\":{\"median\":2.2016643907464864e-07}}]}";
    struct open_store *f = *state;
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        struct import_report r = {0};
        const struct import_source source = {
            .name = "file", .find_commit = find_commit, .strict = i & 1, .commit_told = i & 2};
        FILE *file = fmemopen(text, sizeof(text) - 1, "r");
        const int status = store_import(f->store, file, &source, NULL, &r, &err);
        fclose(file);
        if (i == 1)
            assert_string_equal(err.text, "file: it measured 5b78858eb718 with changes that are in "
                                          "no commit; say --commit=REV");
        else
            assert_non_null(strstr(r.where.bytes, "commit 0123456789ab, device pytest-benchmark:"
                                                  "unknown; 5b78858eb718 with changes that are in "
                                                  "no commit was measured"));
        assert_int_equal(status, i == 1 ? -1 : 0);
        import_report_free(&r);
    }
}

static void put_samples(const char *path, const float *seconds, size_t count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(seconds, sizeof(*seconds), count, file), count);
    fclose(file);
}

// The samples lie where nvbench put them, seen from the JSON: nothing else is opened, and a file of
// another length is not taken for them.
TEST(samples_of_nvbench_are_read_beside_it)
{
    struct open_store *f = *state;
    static const float seconds[] = {5e-5f, 6e-5f, 7e-5f};
    static const struct {
        const char *named;
        bool there;
    } cases[] = {{"r.json-bin/0.bin", true},     {"/elsewhere/r.json-bin/0.bin", true},
                 {"r.json-bin/1.bin", false},    {"0.bin", false},
                 {"r.json-bin/../0.bin", false}, {"r.json-bin/..", false},
                 {"r.json-bin/link.bin", false}, {"r.json-bin/", false}};
    char *folder = xprintf("%s/r.json-bin", f->folder), *path = xprintf("%s/0.bin", folder);
    char *link = xprintf("%s/link.bin", folder), *outer = xprintf("%s/0.bin", f->folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    put_samples(path, seconds, 3);
    put_samples(outer, seconds, 3);
    assert_int_equal(symlink(path, link), 0);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err;
        struct import_report r = {0};
        char *text = xprintf(
            "{\"devices\":[{\"id\":0,\"name\":\"G\"}],\"benchmarks\":[{\"name\":\"g%zu\","
            "\"states\":["
            "{\"name\":\"s\",\"device\":0,\"axis_values\":[" NV_GOOD NV_AXIS(
                "x", "1") "],\"summaries\":[{\"tag\":\"nv/cold/time/gpu/mean\",\"data\":[{\"name\":"
                          "\"value\",\"value\":\"5e-5\"}]},{\"tag\":\"nv/json/bin:nv/cold/"
                          "sample_times\",\"data\":[{\"name\":\"filename\",\"value\":\"%s\"},{"
                          "\"name\":\"size\",\"value\":\"3\"}]}]}]}]}",
            i, cases[i].named);
        const struct import_source source = {
            .name = "file", .find_commit = find_commit, .beside = f->folder};
        FILE *file = fmemopen(text, strlen(text), "r");
        assert_ok(store_import(f->store, file, &source, NULL, &r, &err), &err);
        fclose(file);
        if (r.samples != (cases[i].there ? 3 : 1) || r.means != !cases[i].there)
            fail_msg("%s: %zu samples, %zu means", cases[i].named, r.samples, r.means);
        import_report_free(&r);
        free(text);
    }
    free(outer);
    free(link);
    free(path);
    free(folder);
}

// As dense as a format allows, and refused before much is made of it.
TEST(what_holds_too_much_is_refused)
{
    static const struct {
        const char *head, *row, *tail, *format, *said;
        size_t count;
    } cases[] = {
        {"{\"context\":{},\"benchmarks\":[0", ",0", "]}", "google", "too many values", 2000000},
        {"commit,kernel,problem,time_ns\n", ",,,\n", "", "csv", "more than 3000000 cells", 800000},
        {"{\"results\":[{\"command\":\"x\",\"parameters\":{\"problem\":\"8x8x8\"},\"times\":[1",
         ",1", "]}]}", "hyperfine", "more than 500000 times", 600000},
        {"{\"benchmarks\":[],\"devices\":[{}", ",{}", "]}", "nvbench", "more than 256 devices",
         256}};
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct import_source source = {
            .name = "file", .find_commit = find_commit, .format = cases[i].format};
        struct buffer text = {0};
        struct error err = {0};
        buffer_puts(&text, cases[i].head);
        for (size_t k = 0; k < cases[i].count; k++)
            buffer_puts(&text, cases[i].row);
        buffer_puts(&text, cases[i].tail);
        if (import_from(f->store, text.bytes, text.length, &source, NULL, &err) == 0 ||
            !strstr(err.text, cases[i].said))
            fail_msg("%s: %s", cases[i].format, err.text);
        buffer_free(&text);
    }
}
