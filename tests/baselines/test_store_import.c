// SPDX-License-Identifier: Apache-2.0
//
// What comes from outside is imported as it says, or refused with its line.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(smallest_table_imports_as_a_history)
{
    struct open_store *f = *state;
    struct error err = {0};
    // A gap, a commit twice, a clock going backwards: all are data.
    static const char text[] = "kernel,problem,commit,commit_s,time_ns,note\n"
                               "gemm,64x64x64,aaaaaaa,100,1000.5,x\n"
                               "gemm,64x64x64,bbbbbbb,300,1010,\"a, b\"\n"
                               "gemm,64x64x64,ccccccc,200,1020,\n"
                               "gemm,64x64x64,aaaaaaa,100,9999,again\n"
                               "other,8x8x8,ccccccc,200,5,\n";
    struct problem problem;
    struct stored_points stored;
    const struct history_query query = {0};
    assert_ok(import_text(f->store, text, strlen(text), "csv", NULL, &err), &err);
    assert_ok(problem_parse(&problem, "64x64x64", &err), &err);
    const struct series series = {"gemm", &problem, "imported"};
    assert_ok(store_points(&stored, f->store, &series, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 3);
    const double times[] = {1000.5, 1020, 1010};
    for (size_t i = 0; i < 3; i++)
        assert_true(stored.points[i].time_ns == times[i]);
}

TEST(bad_tables_are_refused_with_their_line)
{
    struct open_store *f = *state;
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
        {"commit,kernel,problem,time_ns\naaaaaaa,,1x1x1,5\n", "file:2: kernel: 1 to 200"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,5\nbbbbbbb,k,1x1x1,x\n",
         "file:3: time_ns: nano"},
        {"commit,kernel,problem,time_ns,commit_s\naaaaaaa,k,1x1x1,5,-1\n", "file:2: commit_s"},
        {"commit,kernel,problem,time_ns,state\naaaaaaa,k,1x1x1,5,good\n", "file:2: state"},
        {"commit,kernel,problem,time_ns,role\naaaaaaa,k,1x1x1,5,tail\n", "file:2: role"},
        {"commit,kernel,problem,time_ns,clock_hz\naaaaaaa,k,1x1x1,5,fast\n", "file:2: clock_hz"},
        {"commit,kernel,problem,time_ns,code\naaaaaaa,k,1x1x1,5,c 1\n", "file:2: code: one word"},
        {"commit,kernel,problem,time_ns,clock_hz\naaaaaaa,k,1x1x1,5,1e13\n", "file:2: clock_hz"},
        {"commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,1e300\n", "file:2: time_ns"},
        {"commit,kernel,problem,time_ns,run\naaaaaaa,k,1x1x1,5,r\nbbbbbbb,k,1x1x1,5,r\n",
         "file:3: commit: another commit"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        if (import_text(f->store, cases[i].text, strlen(cases[i].text), "csv", NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_int_equal(sound_counts(f->store).measurements, 0);
        assert_int_equal(sound_counts(f->store).runs, 0);
    }
}

// A good line before the bad one: all or nothing.
TEST(times_that_cannot_be_are_refused_with_their_line)
{
    struct open_store *f = *state;
    static const char *const times[] = {"-5", "nan", "inf", "0", "1e999", "five"};
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        struct error err = {0};
        char text[400];
        snprintf(text, sizeof(text),
                 "kernel,problem,device,commit,commit_s,time_ns\n"
                 "k,64x64x64:fp32-fp32:tn,GPU-1,aaaaaaa,1700000000,5\n"
                 "k,64x64x64:fp32-fp32:tn,GPU-1,bbbbbbb,1700000001,%s\n",
                 times[i]);
        if (import_text(f->store, text, strlen(text), "csv", NULL, &err) == 0 ||
            strncmp(err.text, "file:3:", 7) != 0)
            fail_msg("\"%s\" of a time of %s", err.text, times[i]);
    }
    assert_int_equal(sound_counts(f->store).measurements, 0);
}

TEST(bad_json_is_refused_with_its_line)
{
    struct open_store *f = *state;
#define RUN RUN_ON("0", "u")
#define RUN_ON(digit, device)                                                                      \
    "{\"run\":{\"uid\":\"" digit                                                                   \
    "123456789abcdef0123456789abcdef\",\"kind\":\"measure\",\"started_s\":5,"                      \
    "\"finished_s\":6,\"conclusion\":0,\"head\":{\"id\":\"aaaaaaa\",\"time_s\":1},"                \
    "\"devices\":[{\"uuid\":\"" device "\",\"kind\":\"host\",\"name\":\"n\"}]}}\n"
#define SAMPLES(time)                                                                              \
    "\"samples\":{\"count\":1,\"time_ns\":" time ",\"clock_hz\":0,\"launches\":1,\"pair\":0,"      \
    "\"block\":0,\"process\":0,\"role\":1,\"order\":0,\"throttle\":0,\"excluded\":0,"              \
    "\"temperature_c\":0,\"power_mw\":-1}"
#define HEAD "\"head\":{\"state\":\"ok\"," SAMPLES("5") "}"
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
        // Another run of a stored one's uid: half of each would be in the store.
        {RUN_ON("1", "v") RUN RESULT(HEAD) RUN_ON("0", "v") RESULT(HEAD), "file:5: a result that"},
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
        {RUN
         "{\"profile\":{\"uuid\":\"u\",\"measured_s\":9,\"figures\":[[\"sms\",\"many\",\"x\"]]}}",
         "file:2: a profile's figure is"},
        {RUN "{\"result\":{\"kernel\":\"k\",\"problem\":\"1x1x1\",\"device\":0,\"reused\":1}}\n",
         "file:2: a result's `control` and"},
        {RUN "{\"epoch\":{\"series\":\"*\"}}", "file:2: an epoch has"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        if (import_text(f->store, cases[i].text, strlen(cases[i].text), "json", NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        if (strncmp(err.text, cases[i].expected, strlen(cases[i].expected)) != 0)
            fail_msg("case %zu: \"%s\" is not \"%s...\"", i, err.text, cases[i].expected);
        assert_int_equal(sound_counts(f->store).runs, 0);
    }
    struct error err = {0};
    static const char good[] = RUN RESULT("\"head\":{\"state\":\"ok\"," SAMPLES("5.5") "}");
    assert_ok(import_text(f->store, good, strlen(good), "json", NULL, &err), &err);
    assert_int_equal(sound_counts(f->store).measurements, 1);
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

// What a file from elsewhere says of a run that is here and finished.
TEST(known_run_is_not_added_to)
{
    struct open_store *f = *state;
    struct error err = {0};
    static const char first[] = RUN RESULT(HEAD);
    static const char second[] =
        RUN "{\"result\":{\"kernel\":\"added\",\"problem\":\"1x1x1\",\"device\":0," HEAD "}}\n";
    assert_ok(import_text(f->store, first, strlen(first), "json", NULL, &err), &err);
    assert_ok(import_text(f->store, first, strlen(first), "json", NULL, &err), &err);
    const struct store_counts before = sound_counts(f->store);
    assert_int_equal(import_text(f->store, second, strlen(second), "json", NULL, &err), -1);
    assert_non_null(strstr(err.text, "file:2: a result that the finished run of this uid"));
    const struct store_counts after = sound_counts(f->store);
    assert_memory_equal(&before, &after, sizeof(before));
}

TEST(names_and_times_out_of_range_are_refused)
{
    struct open_store *f = *state;
#define LETTERS_64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    static const struct {
        const char *text, *column;
    } tables[] = {
        {"commit,kernel,problem,time_ns\naaaaaaa,a\tb,1x1x1,5\n", "kernel"},
        {"commit,kernel,problem,time_ns\naaaaaaa,\x1b[2J,1x1x1,5\n", "kernel"},
        {"commit,kernel,problem,time_ns\naaaaaaa,\xff,1x1x1,5\n", ""}, // no text at all
        {"commit,kernel,problem,time_ns\naaaaaaa,\xc2\x85,1x1x1,5\n", "kernel"},
        {"commit,kernel,problem,time_ns,device\naaaaaaa,k,1x1x1,5,\x07\n", "device: a name"},
        {"commit,kernel,problem,time_ns,device\naaaaaaa,k,1x1x1,5," LETTERS_64 LETTERS_64 LETTERS_64
             LETTERS_64 "\n",
         "device: a name of at most 255 bytes"},
        {"commit,kernel,problem,time_ns,commit_s\naaaaaaa,k,1x1x1,5,253402300800\n", "commit_s"},
        {"commit,kernel,problem,time_ns,started_s\naaaaaaa,k,1x1x1,5,9223372036854775807\n",
         "started_s"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
        struct error err = {0};
        if (import_text(f->store, tables[i].text, strlen(tables[i].text), "csv", NULL, &err) == 0)
            fail_msg("table %zu was accepted", i);
        if (strncmp(err.text, "file:2: ", 8) != 0 || !strstr(err.text, tables[i].column))
            fail_msg("table %zu: \"%s\" of %s", i, err.text, tables[i].column);
        assert_int_equal(sound_counts(f->store).runs, 0);
    }
}

TEST(nvbench_file_imports_as_series)
{
    struct open_store *f = *state;
    struct error err = {0};
    static const char text[] = NVBENCH(STATE("512", "0.00025") "," STATE("1024", "5e-4"));
    for (int i = 0; i < 2; i++)
        assert_ok(import_text(f->store, text, strlen(text), "nvbench", NULL, &err), &err);
    struct series_entry *series;
    size_t count;
    assert_ok(store_list_series(&series, &count, f->store, &f->arena, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(series[0].kernel, "my-gemm.tile-size-64");
    assert_int_equal(series[0].problem.in, DTYPE_BF16);
    assert_string_equal(series[0].device_name, "NVIDIA H200");
    const struct series one = {series[1].kernel, &series[1].problem, series[1].device_uuid};
    const struct history_query query = {0};
    struct stored_points stored;
    assert_ok(store_points(&stored, f->store, &one, &query, &f->arena, &err), &err);
    assert_int_equal(stored.count, 1);
    assert_int_equal(series[1].problem.m, 512); // in order of text: 1024, 512
    assert_true(fabs(stored.points[0].time_ns - 250000) < 1e-6);
    assert_true(stored.points[0].clock_hz == 1.7e9);
}

TEST(bad_nvbench_files_are_refused)
{
    struct open_store *f = *state;
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
        if (import_text(f->store, texts[i], strlen(texts[i]), "nvbench", NULL, &err) == 0)
            fail_msg("case %zu was accepted", i);
        assert_int_equal(sound_counts(f->store).runs, 0);
    }
}
