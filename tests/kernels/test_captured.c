// SPDX-License-Identifier: Apache-2.0
//
// Captured series on a stand-in for the driver: what launches change is restored, the head is held
// to the base, and what does not fit together is refused by name. Host memory stands in for the
// device's, and a launch does what its function's name says.
#include "kernels/bench/series_parts.h"
#include "kernels/device/record.h"
#include "model/record/record.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4096 }; // of floats in each of the two buffers

static struct device_ops ops;
static enum regime regime = REGIME_COLD;
static bool singly; // of the last series
static char *folder;
static struct series_state state_found;
static uint64_t bytes_read; // from the device, while pairs are taken
static int looks;           // comparisons there
static int launched;        // of records, since a test has set it to 0

// ---- the driver's stand-in ----

struct replay {
    const struct record *record;
    struct record_places *places;
};

static int stand_in_open(struct replay **out, struct device_base *base, const struct record *record,
                         const struct record_places *places, uint32_t sets, struct error *err)
{
    *out = xcalloc(1, sizeof(**out));
    (*out)->record = record;
    (*out)->places = xcalloc(sets, sizeof(*places));
    memcpy((*out)->places, places, sets * sizeof(*places));
    return 0;
}

// What a launch does to the tensors that it is given; the last is its output.
static void compute(const char *function, float *const *given, uint32_t count)
{
    float *in = given[0], *out = given[count - 1];
    const bool sums = strcmp(function, "sum") == 0 || strcmp(function, "wants") == 0,
               half = strcmp(function, "half") == 0;
    const bool none = strcmp(function, "nothing") == 0, copies = strcmp(function, "copy") == 0;
    for (int i = 0; i < COUNT && (sums || half || copies); i++)
        out[i] = sums ? in[i] + given[1][i] : half ? in[i] / 2 : in[i];
    for (int i = 0; i < COUNT && !sums && !half && !copies && !none; i++)
        out[i] = 2 * in[i] + (strcmp(function, "adds") == 0 ? out[i] : 0);
    for (int i = 0; i < 3 && strcmp(function, "off") == 0; i++)
        out[100 * i] += 0.5f;
    if (strcmp(function, "outside") == 0)
        in[7] = 1;
    if (strcmp(function, "shakes") == 0) {
        static int times;
        out[5] += 0.01f * (float)(++times % 2);
    }
    if (strcmp(function, "wanders") == 0) {
        static float more;
        out[5] += more += 1;
    }
}

static int stand_in_launch_one(struct replay *replay, uint32_t set, size_t which)
{
    const struct record_launch *launch = &replay->record->launches[which];
    float *given[3];
    for (uint32_t i = 0; i < launch->address_count; i++)
        given[i] = (float *)(uintptr_t)(replay->places[set].address[launch->addresses[i].buffer] +
                                        launch->addresses[i].offset);
    // It faults on what is neither its second input nor zeros.
    if (strcmp(launch->function, "wants") == 0 && given[1][0] != -2 && given[1][0] != 0)
        return 700;
    compute(launch->function, given, launch->address_count);
    return 0;
}

static int stand_in_launch(struct replay *replay, uint32_t set)
{
    int code = 0;
    launched++;
    for (size_t i = 0; i < replay->record->launch_count && code == 0; i++)
        code = stand_in_launch_one(replay, set, i);
    return code;
}

static void stand_in_free(struct replay *replay)
{
    if (replay)
        free(replay->places);
    free(replay);
}

static int counted_read(struct device_base *base, void *to, const void *from, size_t bytes,
                        struct error *err)
{
    bytes_read += bytes;
    memcpy(to, from, bytes);
    return 0;
}

static int counted_same(bool *out, struct device_base *base, const void *a, const void *b,
                        size_t bytes, struct error *err)
{
    looks++;
    return host->same(out, base, a, b, bytes, err);
}

static int counted_differ(struct differences *out, struct device_base *base, int type,
                          size_t element_bytes, const void *a, const void *b, uint64_t count,
                          struct error *err)
{
    looks++;
    return host->differ(out, base, type, element_bytes, a, b, count, err);
}

// ---- records ----

static float in_value(int i)
{
    return (float)(i % 50) + 1;
}

static void write_floats(const char *name, float (*value)(int))
{
    float values[COUNT];
    char *path = xprintf("%s/%s", folder, name);
    for (int i = 0; i < COUNT; i++)
        values[i] = value(i);
    helper_write(path, values, sizeof(values));
    free(path);
}

static float zero(int i)
{
    return 0;
}
static float twice(int i)
{
    return 2 * in_value(i);
}

// A launch of a range: tensors of a pool by their number. 0 and 1 are inputs.
struct step {
    const char *function;
    int given[3]; // the last one is its output
};
enum { TENSORS = 8, TENSOR_BYTES = COUNT * sizeof(float) };

struct wish {
    const struct step *steps; // NULL: one launch
    size_t step_count;
    bool own;                     // each tensor is an allocation of its own
    int pool;                     // tensors that the pool has room for; 0: TENSORS
    bool stale;                   // an earlier run of the range has left what this one leaves
    const char *function, *after; // of the second buffer; NULL: what twice() leaves
    uint64_t bytes;               // of the second buffer; 0: as it is
    double tolerance;
    bool again; // an earlier launch has left in the second buffer what this one writes
    bool other; // the program had other numbers in the first buffer
    bool table; // it holds addresses
};

static const char *problem_text = "count=4096:fp32";

static char *save_record(const char *name, struct record *record)
{
    struct error err;
    struct buffer text = {0};
    assert_int_equal(problem_parse(&record->problem, problem_text, &err), 0);
    record->kernel[0] = 'x';
    record_print(&text, record);
    char *path = xprintf("%s/%s.record", folder, name);
    helper_write(path, text.bytes, text.length);
    buffer_free(&text);
    return path;
}

// The memory of a range, of which an earlier one has left something or nothing, and what it leaves.
static void run_steps(float *tensors, const struct wish *wish)
{
    for (size_t s = 0; s < wish->step_count; s++) {
        float *given[3];
        for (int i = 0; i < 3; i++)
            given[i] = tensors + (size_t)wish->steps[s].given[i] * COUNT;
        compute(wish->steps[s].function, given, 3);
    }
}

static void fill_range(float *before, float *after, const struct wish *wish)
{
    memset(before, 0, TENSORS * TENSOR_BYTES);
    for (int i = 0; i < 2 * COUNT; i++)
        before[i] = i < COUNT ? in_value(i) + (float)wish->other : (float)(i % 7) - 3;
    if (wish->stale)
        run_steps(before, wish);
    memcpy(after, before, TENSORS * TENSOR_BYTES);
    run_steps(after, wish);
}

static char *write_range(const char *name, const struct wish *wish)
{
    static float before[TENSORS * COUNT], after[TENSORS * COUNT];
    static char names[TENSORS][2][32];
    struct record_content contents[TENSORS];
    struct record_launch launches[TENSORS];
    struct record_parameter parameters[] = {{0, 8}, {8, 8}, {16, 8}};
    struct record_address addresses[TENSORS][3];
    unsigned char bytes[24] = {0};
    struct record record = {.launches = launches,
                            .launch_count = wish->step_count,
                            .contents = contents,
                            .tolerance = wish->tolerance};
    int content_of[TENSORS];
    memset(content_of, -1, sizeof(content_of));
    fill_range(before, after, wish);
    for (size_t s = 0; s < wish->step_count; s++) {
        for (int i = 0; i < 3; i++) {
            const int tensor = wish->steps[s].given[i], first = wish->own ? tensor : 0;
            const uint64_t room = wish->own ? 1 : wish->pool ? wish->pool : TENSORS;
            if (content_of[first] < 0) {
                const int c = content_of[first] = (int)record.content_count++;
                const float *was = before + first * COUNT, *is = after + first * COUNT;
                const bool changed = memcmp(was, is, room * TENSOR_BYTES) != 0;
                for (int when = 0; when < 2; when++) {
                    snprintf(names[c][when], sizeof(names[c][when]), "%s.%d.%d", name, c, when);
                    char *path = xprintf("%s/%s", folder, names[c][when]);
                    helper_write(path, when ? is : was, room * TENSOR_BYTES);
                    free(path);
                }
                contents[c] = (struct record_content){room * TENSOR_BYTES, names[c][0],
                                                      changed ? names[c][1] : NULL};
            }
            addresses[s][i] = (struct record_address){
                (uint32_t)i * 8, (enum record_buffer)(RECORD_CAPTURED + content_of[first]),
                wish->own ? 0 : (uint64_t)tensor * TENSOR_BYTES};
        }
        launches[s] = (struct record_launch){.kind = RECORD_KERNEL,
                                             .function = wish->steps[s].function,
                                             .grid = {1, 1, 1},
                                             .block = {32, 1, 1},
                                             .cluster = {1, 1, 1},
                                             .carveout = -1,
                                             .parameters = parameters,
                                             .parameter_count = 3,
                                             .bytes = bytes,
                                             .size = 24,
                                             .addresses = addresses[s],
                                             .address_count = 3};
    }
    return save_record(name, &record);
}

static char *write_record(const char *name, const struct wish *wish)
{
    if (wish->steps)
        return write_range(name, wish);
    struct record_content contents[] = {{COUNT * sizeof(float), "1.0.before", NULL},
                                        {wish->bytes ? wish->bytes : COUNT * sizeof(float),
                                         "1.1.before", wish->after ? wish->after : "1.1.after"}};
    if (wish->other)
        contents[0].before = "1.1.before";
    if (wish->table)
        contents[0].before = "table.before";
    if (wish->again)
        contents[1] = (struct record_content){COUNT * sizeof(float), "1.1.after", NULL};
    unsigned char bytes[16] = {0};
    struct record_parameter parameters[] = {{0, 8}, {8, 8}};
    struct record_address addresses[] = {{0, RECORD_CAPTURED, 0},
                                         {8, (enum record_buffer)(RECORD_CAPTURED + 1), 0}};
    struct record_launch launch = {.kind = RECORD_KERNEL,
                                   .function = wish->function,
                                   .grid = {1, 1, 1},
                                   .block = {32, 1, 1},
                                   .cluster = {1, 1, 1},
                                   .carveout = -1,
                                   .parameters = parameters,
                                   .parameter_count = 2,
                                   .bytes = bytes,
                                   .size = 16,
                                   .addresses = addresses,
                                   .address_count = 2};
    struct record record = {.launches = &launch,
                            .launch_count = 1,
                            .contents = contents,
                            .content_count = 2,
                            .tolerance = wish->tolerance};
    return save_record(name, &record);
}

static int set_up(void **state)
{
    if (host_set_up(state))
        return -1;
    folder = helper_directory();
    ops = *host;
    ops.replay_open = stand_in_open;
    ops.replay_launch = stand_in_launch;
    ops.replay_launch_one = stand_in_launch_one;
    ops.replay_free = stand_in_free;
    ops.memory = NULL;
    ops.read = counted_read;
    ops.same = counted_same;
    ops.differ = counted_differ;
    write_floats("1.0.before", in_value);
    write_floats("1.1.before", zero);
    write_floats("1.1.after", twice);
    return 0;
}

static int tear_down(void **state)
{
    ops.close(device);
    free(folder);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static void count(void *context, const struct sample *sample)
{
    assert_true(sample->time_ns > 0);
    ++*(int *)context;
}

static int untold;      // samples of the block beside those that were told
static double opened_s; // that opening took
static int results = 1; // of what is measured

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Opens, measures where that can be done, and closes. state_found is what came of it.
static void measure(const struct wish *base, const struct wish *head)
{
    char *paths[] = {base ? write_record("base", base) : NULL, write_record("head", head)};
    struct series_spec spec = {
        .kernel = "x", .head = paths[1], .base = paths[0], .regime = regime, .seed = 5};
    struct timed_series *series = NULL;
    struct error err;
    int samples = 0;
    assert_int_equal(problem_parse(&spec.problem, problem_text, &err), 0);
    const double begun_s = now_s();
    if (series_open(&series, &state_found, &ops, device, &spec, &err))
        fail_msg("%s", err.text);
    opened_s = now_s() - begun_s;
    bytes_read = 0;
    looks = 0;
    if (series) {
        singly = series_is_singly(series);
        if (base ? series_pairs(series, 8, 0, count, &samples, &err)
                 : series_solo(series, 8, 0, count, &samples, &err))
            fail_msg("%s", err.text);
        assert_int_equal(samples, base ? 16 : 8);
        assert_int_equal(bytes_read, 0); // all that is looked at stays on the device,
        untold = looks - samples;        // by one comparison of each result
        if (ops.settle_ns == 0)
            assert_int_equal(untold, (results - 1) * samples);
        if (series_close(&state_found, series, &err))
            fail_msg("%s", err.text);
        series_free(series);
    }
    free(paths[0]);
    free(paths[1]);
}

static void found(enum measurement_state state, enum sample_role role, const char *note)
{
    if (state_found.state != state || state_found.role != role || !strstr(state_found.note, note))
        fail_msg("%d of %d: %s", state_found.state, state_found.role, state_found.note);
}

// ---- how many launches ----

static double takes_ns; // what a launch takes
static struct batch taken;

static int timed_sample(struct sample *out, struct findings *findings, struct device_base *base,
                        const struct batch *batch, int *code, struct error *err)
{
    for (uint32_t i = 0; i < batch->runup + batch->launches; i++)
        *code |= batch->launch(batch->self, i % batch->sets, NULL);
    out->time_ns = takes_ns;
    findings->waited_ns = 1234;
    taken = *batch;
    return 0;
}

static void takes(double launch_ns, enum regime where)
{
    const struct wish same = {.function = "twice"};
    takes_ns = launch_ns;
    regime = where;
    measure(&same, &same);
    regime = REGIME_COLD;
    assert_int_equal(state_found.state, MEASURED_OK);
}

// One launch differs from the next, so a stream of long ones has some of them in a sample, too. Its
// run-up heats: where that takes long enough, nothing else does.
TEST(a_stream_times_several_launches_and_heats_no_longer_than_it_must)
{
    const struct device_ops before = ops;
    ops.sample = timed_sample;
    ops.launches_max = 32;
    ops.stream_ns = 600e3;
    ops.stream_most_ns = 2.4e6;
    ops.stream_least = 6;
    ops.runup_least = 1;
    ops.heat_ns = 1e6;
    takes(5e6, REGIME_STREAM);
    assert_int_equal(taken.launches, 1);
    assert_int_equal(taken.runup, 1);
    assert_int_equal(taken.heat.count, 0);
    takes(1e6, REGIME_STREAM);
    assert_int_equal(taken.launches, 2);
    takes(400e3, REGIME_STREAM);
    assert_int_equal(taken.launches, 6);
    assert_in_range(taken.heat.count, 2, 4); // three of the run-up take 1.2 ms of 2
    takes(160e3, REGIME_STREAM);
    assert_int_equal(taken.launches, 6);
    assert_int_equal(taken.heat.sets, 3); // so that the number of rounds is not known
    assert_in_range(taken.heat.count, 6, 12);
    takes(20e3, REGIME_STREAM);
    assert_int_equal(taken.launches, 20);
    assert_int_equal(taken.heat.sets, 8); // no operand of a stream stays in a cache
    assert_in_range(taken.heat.count, 64, 96);
    takes(390e3, REGIME_DIRTY);
    assert_int_equal(taken.launches, 1);
    assert_int_equal(taken.heat.sets, 2);
    assert_in_range(taken.heat.count, 10, 16); // rounds of half a millisecond
    ops = before;
}

// What is timed launch by launch takes several together that are short, and no more than have
// events.
TEST(launches_that_are_timed_each_alone_share_a_sample_up_to_a_time)
{
    static const struct {
        double launch_ns;
        uint32_t launches;
    } cases[] = {{500e3, 1}, {400e3, 1},        {399e3, 2},
                 {150e3, 3}, {55e3, EACH_MOST}, {1e3, EACH_MOST}};
    static const enum regime each[] = {REGIME_WARM, REGIME_DIRTY, REGIME_ISOLATED};
    const struct device_ops before = ops;
    ops.sample = timed_sample;
    ops.launches_max = 32;
    ops.each_ns = 400e3;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(each); j++) {
            takes(cases[i].launch_ns, each[j]);
            assert_true(taken.each);
            assert_int_equal(taken.launches, cases[i].launches);
        }
    }
    takes(1e3, REGIME_COLD);
    assert_false(taken.each);
    ops = before;
}

// ---- what the device did before ----

// A clock that this machine's load has no say in: it moves by who sleeps, and a little by each
// look.
static bool own_clock;
static int64_t clock_ns;

int clock_gettime(clockid_t which, struct timespec *out)
{
    if (!own_clock)
        return (int)syscall(SYS_clock_gettime, which, out);
    clock_ns += 1000;
    *out = (struct timespec){clock_ns / 1000000000, clock_ns % 1000000000};
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (!own_clock)
        return (int)syscall(SYS_nanosleep, wanted, left);
    clock_ns += wanted->tv_sec * 1000000000 + wanted->tv_nsec;
    return 0;
}

static struct device_ops begin_clock(void)
{
    const struct device_ops before = ops;
    clock_ns = (int64_t)(1e9 * now_s());
    own_clock = true;
    ops.sample = timed_sample;
    return before;
}

static void end_clock(struct device_ops before)
{
    own_clock = false;
    ops = before;
}

// A device that was idle runs faster at first. Blocks that follow each other find it at work; what
// stands still between two samples leaves it idle, however long that takes.
TEST(a_stream_begins_on_a_device_that_has_been_at_work)
{
    const struct device_ops before = begin_clock();
    const int64_t idle_ns = 160000000;
    ops.settle_ns = 5e6;
    clock_ns += idle_ns;
    takes(400e3, REGIME_STREAM);
    assert_true(untold > 0);
    takes(400e3, REGIME_STREAM);
    assert_int_equal(untold, 0);
    clock_ns += idle_ns;
    takes(400e3, REGIME_DIRTY);
    assert_int_equal(untold, 0);
    takes(400e3, REGIME_ISOLATED);
    assert_int_equal(untold, 0);
    takes(400e3, REGIME_WARM);
    assert_true(untold > 0);
    end_clock(before);
}

static double drifts_ns; // for how long a launch gets slower, since the clock was begun
static int64_t drift_begun_ns;

static int drifting_sample(struct sample *out, struct findings *findings, struct device_base *base,
                           const struct batch *batch, int *code, struct error *err)
{
    const double part = (double)(clock_ns - drift_begun_ns) / drifts_ns;
    const int failed = timed_sample(out, findings, base, batch, code, err);
    out->time_ns *= 1 + 0.1 * fmin(part, 1);
    return failed;
}

// Under a power limit a kernel gets slower for longer than a device needs at least.
TEST(a_stream_settles_until_its_own_time_stands_still)
{
    static const struct {
        double drifts_ns;
        int least, most; // us of settling, and so turns
    } cases[] = {{1, 4900, 5300}, {9e6, 13000, 15000}, {1e9, 19000, 20100}};
    const struct device_ops before = begin_clock();
    ops.sample = drifting_sample;
    ops.settle_ns = 5e6;
    ops.settle_most_ns = 20e6;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        drifts_ns = cases[i].drifts_ns;
        clock_ns += 160000000;
        drift_begun_ns = clock_ns;
        takes(400e3, REGIME_STREAM);
        assert_in_range(untold / 2, cases[i].least, cases[i].most);
    }
    end_clock(before);
}

// So does what is timed alone: a run's times are of the same state as a gate's.
TEST(a_build_alone_is_timed_on_a_device_that_has_been_at_work)
{
    const struct device_ops before = begin_clock();
    const struct wish head = {.function = "twice"};
    ops.settle_ns = 5e6;
    clock_ns += 160000000;
    takes_ns = 400e3;
    regime = REGIME_STREAM;
    measure(NULL, &head);
    assert_true(untold > 0);
    measure(NULL, &head);
    assert_int_equal(untold, 0);
    regime = REGIME_COLD;
    end_clock(before);
}

// The clock is what another kernel, or another regime of this one, has left.
TEST(a_stream_begins_anew_behind_another_series)
{
    const struct device_ops before = begin_clock();
    ops.settle_ns = 5e6;
    takes(400e3, REGIME_STREAM);
    takes(400e3, REGIME_STREAM);
    assert_int_equal(untold, 0);
    assert_true(state_found.on_end);
    takes(400e3, REGIME_WARM);
    assert_true(untold > 0);
    takes(400e3, REGIME_STREAM);
    assert_true(untold > 0);
    takes(400e3, REGIME_ISOLATED);
    assert_int_equal(untold, 0);
    assert_true(state_found.on_end);
    takes(400e3, REGIME_STREAM);
    assert_true(untold > 0);
    takes(400e3, REGIME_COLD);
    assert_false(state_found.on_end);
    end_clock(before);
}

// What wants a device at rest waits for what is left of it, once.
TEST(a_launch_alone_waits_for_a_device_that_was_at_work)
{
    const struct device_ops before = begin_clock();
    ops.rest_ns = 500000000;
    takes(400e3, REGIME_STREAM);
    clock_ns += 200000000;
    takes(400e3, REGIME_ISOLATED);
    assert_true(opened_s > 0.28 && opened_s < 0.31);
    takes(400e3, REGIME_ISOLATED);
    assert_true(opened_s < 0.01);
    takes(400e3, REGIME_STREAM);
    assert_true(opened_s < 0.01);
    clock_ns += ops.rest_ns;
    takes(400e3, REGIME_ISOLATED);
    assert_true(opened_s < 0.01);
    end_clock(before);
}

// ---- what is right ----

TEST(what_computes_the_same_is_timed)
{
    const struct wish same = {.function = "twice"};
    measure(&same, &same);
    found(MEASURED_OK, ROLE_HEAD, "");
    measure(NULL, &same);
    found(MEASURED_OK, ROLE_HEAD, "");
}

// ---- a stream of launches that can be no graph ----

static struct {
    int asked, streams, graphs;
    bool last; // of the sides that are asked cannot be one
} queued;

static int asked_for_graphs(bool *out, struct device_base *base,
                            int (*launch)(void *self, uint32_t set, void *stream), void *self,
                            struct error *err)
{
    queued.asked++;
    *out = !(queued.last && queued.asked == 2);
    return 0;
}

static int (*host_sample)(struct sample *, struct findings *, struct device_base *,
                          const struct batch *, int *, struct error *);

static int counted_sample(struct sample *out, struct findings *findings, struct device_base *base,
                          const struct batch *batch, int *code, struct error *err)
{
    queued.streams += batch->stream && batch->runup;
    queued.graphs += batch->graphs;
    return host_sample(out, findings, base, batch, code, err);
}

// A side of graphs beside one without would differ by how they are queued.
TEST(both_sides_are_queued_alike)
{
    const struct wish same = {.function = "twice"};
    const struct device_ops usual = ops;
    host_sample = ops.sample;
    ops.sample = counted_sample;
    ops.graphs = asked_for_graphs;
    for (int last = 0; last < 2; last++) {
        memset(&queued, 0, sizeof(queued));
        queued.last = last;
        regime = REGIME_STREAM;
        measure(&same, &same);
        regime = REGIME_COLD;
        found(MEASURED_OK, ROLE_HEAD, "");
        assert_int_equal(queued.asked, 2);
        assert_true(queued.streams > 16);
        assert_int_equal(queued.graphs, last ? 0 : queued.streams);
        assert_int_equal(singly, last);
    }
    measure(&same, &same);
    assert_int_equal(queued.asked, 2); // nobody else is asked
    ops = usual;
}

TEST(a_difference_is_told_with_its_size)
{
    measure(&(struct wish){.function = "twice"}, &(struct wish){.function = "off"});
    found(MEASURED_WRONG, ROLE_HEAD,
          "results differ: 3 of 4,096 elements of fp32, at most 0.5 (buffer 1)");
}

// FP32 is what such results are read as, and no size of theirs is told.
TEST(of_results_whose_type_nobody_says_words_are_told)
{
    problem_text = "capture=1:fp32";
    measure(&(struct wish){.function = "twice"}, &(struct wish){.function = "off"});
    found(MEASURED_WRONG, ROLE_HEAD,
          "results differ: 3 of 4,096 words of 4 bytes (buffer 1); of what type they are, a "
          "`problem` would say");
    problem_text = "count=4096:fp32";
}

// The largest result is 100.
TEST(a_tolerance_is_of_the_largest_result)
{
    measure(&(struct wish){.function = "twice"},
            &(struct wish){.function = "off", .tolerance = 0.0051});
    found(MEASURED_OK, ROLE_HEAD, "");
    assert_true(state_found.error > 0.0049 && state_found.error < 0.0051);
    measure(&(struct wish){.function = "twice"},
            &(struct wish){.function = "off", .tolerance = 0.0049});
    found(MEASURED_WRONG, ROLE_HEAD, "results differ");
}

// Each launch finds zeros, or its sum would grow.
TEST(what_adds_to_its_output_finds_it_restored)
{
    const struct wish adds = {.function = "adds"};
    measure(&adds, &adds);
    found(MEASURED_OK, ROLE_HEAD, "");
}

TEST(writing_elsewhere_is_wrong)
{
    measure(&(struct wish){.function = "twice"}, &(struct wish){.function = "outside"});
    found(MEASURED_WRONG, ROLE_HEAD, "writes to buffer 0 outside of what the base writes");
}

// A program that runs twice on the same inputs has its results there already.
TEST(what_was_there_already_is_found_over_zeros)
{
    const struct wish again = {.function = "twice", .again = true};
    measure(&again, &again);
    found(MEASURED_OK, ROLE_HEAD, "");
    measure(&again, &(struct wish){.function = "off", .again = true});
    found(MEASURED_WRONG, ROLE_HEAD,
          "results differ: 3 of 4,096 elements of fp32, at most 0.5 (buffer 1)");
    measure(&again, &(struct wish){.function = "outside", .again = true});
    found(MEASURED_WRONG, ROLE_HEAD, "writes to buffer 0 outside of what the base writes");
}

TEST(the_bases_inputs_count_and_that_is_said)
{
    measure(&(struct wish){.function = "twice"},
            &(struct wish){.function = "twice", .other = true});
    found(MEASURED_OK, ROLE_HEAD, "its own program filled 1 of 2 buffers otherwise");
}

// ---- what is refused ----

TEST(launches_that_change_nothing_are_refused)
{
    const struct wish nothing = {.function = "nothing"};
    measure(&nothing, &nothing);
    found(MEASURED_UNSUPPORTED, ROLE_BASE, "change nothing of what they are given");
}

// Something that the launches read was not among their buffers.
TEST(a_replay_computes_what_the_program_did)
{
    const struct wish other = {.function = "twice", .after = "1.0.before"};
    measure(&other, &other);
    found(MEASURED_UNSUPPORTED, ROLE_BASE, "replayed, results differ");
}

// An array of operands' addresses: they are of the program's process, and of no buffer here.
TEST(contents_that_may_be_addresses_are_told)
{
    const struct wish table = {.function = "twice", .table = true},
                      nothing = {.function = "nothing", .table = true};
    uint64_t words[COUNT / 2] = {0x7f3c5a000000, 0x7f3c5a800000, 0x7f3c5a000008};
    char *path = xprintf("%s/table.before", folder);
    helper_write(path, words, sizeof(words));
    measure(&table, &table);
    found(MEASURED_UNSUPPORTED, ROLE_BASE, "buffer 0 holds 2 words that may be addresses");
    assert_non_null(strstr(state_found.note, "replayed, results differ"));
    measure(&nothing, &nothing);
    found(MEASURED_UNSUPPORTED, ROLE_BASE, "buffer 0 holds 2 words that may be addresses");
    free(path);
}

TEST(results_that_wander_need_a_tolerance)
{
    const struct wish wanders = {.function = "wanders", .tolerance = 1e-3};
    measure(&wanders, &wanders);
    found(MEASURED_UNSUPPORTED, ROLE_BASE, "results differ");
}

TEST(results_that_shake_within_a_tolerance_are_timed)
{
    const struct wish shakes = {.function = "shakes", .tolerance = 1e-3};
    const struct wish same = {.function = "twice", .tolerance = 1e-3};
    measure(&shakes, &shakes);
    found(MEASURED_OK, ROLE_HEAD, "");
    assert_true(state_found.error > 0.9e-4 && state_found.error < 1.1e-4);
    measure(&same, &shakes);
    found(MEASURED_OK, ROLE_HEAD, "");
    measure(&shakes, &(struct wish){.function = "off", .tolerance = 1e-3});
    found(MEASURED_WRONG, ROLE_HEAD, "results differ");
}

TEST(contents_that_are_not_there_are_said)
{
    const struct wish same = {.function = "twice", .after = "nowhere"};
    measure(&same, &same);
    found(MEASURED_UNBUILDABLE, ROLE_BASE, "nowhere: No such file");
}

// ---- a device that fails ----

static struct device_ops working;
static int asked, fails_at; // the call of the device that fails, from 1 on

static bool fails(struct error *err)
{
    if (++asked != fails_at)
        return false;
    error_set(err, "the device failed");
    return true;
}

#define FAILING(name, parameters, ...)                                                             \
    static int failing_##name parameters                                                           \
    {                                                                                              \
        return fails(err) ? -1 : working.name(__VA_ARGS__);                                        \
    }
FAILING(alloc, (void **out, struct device_base *base, size_t bytes, struct error *err), out, base,
        bytes, err)
FAILING(read,
        (struct device_base * base, void *to, const void *from, size_t bytes, struct error *err),
        base, to, from, bytes, err)
FAILING(write,
        (struct device_base * base, void *to, const void *from, size_t bytes, struct error *err),
        base, to, from, bytes, err)
FAILING(set, (struct device_base * base, void *to, int byte, size_t bytes, struct error *err), base,
        to, byte, bytes, err)
FAILING(copy,
        (struct device_base * base, void *to, const void *from, size_t bytes, struct error *err),
        base, to, from, bytes, err)
FAILING(same,
        (bool *out, struct device_base *base, const void *a, const void *b, size_t bytes,
         struct error *err),
        out, base, a, b, bytes, err)
FAILING(sync, (struct device_base * base, struct error *err), base, err)
FAILING(sample,
        (struct sample * out, struct findings *findings, struct device_base *base,
         const struct batch *batch, int *code, struct error *err),
        out, findings, base, batch, code, err)

// Opens, measures and closes; whether the failure came out, as an error or as a series that says
// it.
static bool failure_is_told(const struct series_spec *spec)
{
    struct timed_series *series = NULL;
    struct series_state state = {.state = MEASURED_OK};
    struct error err = {""};
    int samples = 0;
    int status = series_open(&series, &state, &ops, device, spec, &err);
    if (status == 0 && series)
        status = series_pairs(series, 2, 0, count, &samples, &err);
    if (status == 0 && series)
        status = series_close(&state, series, &err);
    series_free(series);
    return status ? strncmp(err.text, "the device failed", 17) == 0
                  : state.state != MEASURED_OK && strstr(state.note, "the device failed");
}

// Whichever call of the device it is: no series is timed, checked or closed on what never happened.
TEST(a_device_that_fails_is_told_wherever_it_fails)
{
    const struct wish wish = {.function = "twice"};
    char *paths[] = {write_record("base", &wish), write_record("head", &wish)};
    struct series_spec spec = {
        .kernel = "x", .head = paths[1], .base = paths[0], .regime = regime, .seed = 5};
    struct error err;
    assert_int_equal(problem_parse(&spec.problem, "count=4096:fp32", &err), 0);
    working = ops;
    ops.alloc = failing_alloc;
    ops.read = failing_read;
    ops.write = failing_write;
    ops.set = failing_set;
    ops.copy = failing_copy;
    ops.same = failing_same;
    ops.sync = failing_sync;
    ops.sample = failing_sample;
    for (fails_at = 1; asked >= fails_at - 1; fails_at++) {
        asked = 0;
        const bool told = failure_is_told(&spec);
        if (asked >= fails_at && !told)
            fail_msg("call %d of the device failed, and nobody said it", fails_at);
    }
    print_message("%d calls\n", fails_at - 2);
    assert_true(fails_at > 30);
    ops = working;
    free(paths[0]);
    free(paths[1]);
}

// ---- ranges ----

#define RANGE(...)                                                                                 \
    .steps = (const struct step[]){__VA_ARGS__},                                                   \
    .step_count = sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step)
#define WISH(...) (&(struct wish){__VA_ARGS__})
#define EACH(base, head, ...)                                                                      \
    measure(WISH(RANGE base), WISH(RANGE head));                                                   \
    found(__VA_ARGS__)
#define ONLY(...) __VA_ARGS__

static const char apart[] = "its buffers lie otherwise than the base's, so each ran on those of";

// Tensors 0 and 1 are inputs. The layer: y (3) = 2 * x + w, by a temporary (2).
#define LAYER                                                                                      \
    {"twice", {0, 0, 2}},                                                                          \
    {                                                                                              \
        "sum",                                                                                     \
        {                                                                                          \
            2, 1, 3                                                                                \
        }                                                                                          \
    }
#define ONE_MORE                                                                                   \
    {"twice", {0, 0, 2}}, {"copy", {2, 2, 3}},                                                     \
    {                                                                                              \
        "sum",                                                                                     \
        {                                                                                          \
            3, 1, 4                                                                                \
        }                                                                                          \
    }
#define TWO_RESULTS                                                                                \
    {"twice", {0, 0, 2}},                                                                          \
    {                                                                                              \
        "sum",                                                                                     \
        {                                                                                          \
            0, 1, 3                                                                                \
        }                                                                                          \
    }

TEST(a_range_is_what_its_last_writers_leave)
{
    EACH((LAYER), (LAYER), MEASURED_OK, ROLE_HEAD, "");
    assert_string_equal(state_found.note, "");
    EACH((LAYER), ({"twice", {0, 0, 2}}, {"off", {2, 1, 3}}), MEASURED_WRONG, ROLE_HEAD,
         "results differ");
}

// One more, one less, or elsewhere: results are found wherever they lie.
TEST(a_range_may_have_other_temporaries)
{
    EACH((LAYER), (ONE_MORE), MEASURED_OK, ROLE_HEAD, apart);
    assert_null(strstr(state_found.note, "otherwise;"));
    EACH((ONE_MORE), (LAYER), MEASURED_OK, ROLE_HEAD, apart);
    EACH((LAYER), ({"twice", {0, 0, 3}}, {"sum", {3, 1, 2}}), MEASURED_OK, ROLE_HEAD, "");
    EACH((LAYER), ({"twice", {0, 0, 2}}, {"half", {2, 2, 3}}, {"sum", {3, 1, 4}}), MEASURED_WRONG,
         ROLE_HEAD, apart);
    EACH(({"twice", {0, 0, 2}}, {"half", {2, 2, 3}}, {"sum", {3, 1, 4}}), ({"sum", {0, 1, 2}}),
         MEASURED_OK, ROLE_HEAD,
         "of 2 places that the base's launches leave for each other, 2 are otherwise");
}

// Two parts and their sum, then three.
TEST(a_range_may_split_its_sum_otherwise)
{
    EACH(({"half", {0, 0, 2}}, {"half", {0, 0, 3}}, {"sum", {2, 3, 4}}),
         ({"half", {0, 0, 2}}, {"half", {0, 0, 3}}, {"half", {3, 3, 5}}, {"sum", {5, 5, 6}},
          {"sum", {2, 6, 7}}),
         MEASURED_OK, ROLE_HEAD, apart);
}

TEST(what_launches_leave_for_each_other_may_differ_and_is_told)
{
    EACH((LAYER), ({"half", {0, 0, 2}}, {"sum", {0, 0, 3}}, {"sum", {3, 1, 3}}), MEASURED_OK,
         ROLE_HEAD, "of 1 place that the base's launches leave for each other, 1 is otherwise");
    assert_null(strstr(state_found.note, apart));
}

// In place, by the last launch and by one before.
TEST(what_a_range_changes_in_place_is_its_result)
{
    EACH(({"twice", {0, 0, 2}}, {"sum", {1, 2, 1}}), ({"twice", {0, 0, 3}}, {"sum", {1, 3, 1}}),
         MEASURED_OK, ROLE_HEAD, "");
    EACH(({"twice", {0, 0, 2}}, {"sum", {1, 2, 1}}), ({"twice", {0, 0, 2}}, {"off", {2, 2, 1}}),
         MEASURED_WRONG, ROLE_HEAD, "results differ");
    EACH(({"twice", {0, 0, 2}}, {"nothing", {2, 2, 2}}),
         ({"twice", {0, 0, 2}}, {"nothing", {2, 2, 2}}), MEASURED_OK, ROLE_HEAD, "");
    EACH(({"twice", {0, 0, 2}}, {"nothing", {2, 2, 2}}),
         ({"off", {0, 0, 2}}, {"nothing", {2, 2, 2}}), MEASURED_WRONG, ROLE_HEAD, "results differ");
}

// The first is written by a launch that is not the last; both are as large.
TEST(each_result_of_a_range_is_held_to_the_bases)
{
    EACH((TWO_RESULTS), ({"sum", {0, 1, 4}}, {"half", {4, 4, 5}}, {"twice", {0, 0, 6}}),
         MEASURED_WRONG, ROLE_HEAD, "");
    EACH((TWO_RESULTS), ({"off", {0, 0, 2}}, {"sum", {0, 1, 3}}), MEASURED_WRONG, ROLE_HEAD,
         "results differ");
    results = 2;
    EACH((TWO_RESULTS), (TWO_RESULTS), MEASURED_OK, ROLE_HEAD, "");
    EACH((TWO_RESULTS), ({"sum", {0, 1, 4}}, {"twice", {0, 0, 2}}), MEASURED_OK, ROLE_HEAD, apart);
    results = 1;
    EACH((TWO_RESULTS), ({"sum", {0, 1, 4}}, {"sum", {0, 1, 2}}), MEASURED_WRONG, ROLE_HEAD,
         "results differ");
    EACH((TWO_RESULTS), ({"sum", {0, 1, 4}}), MEASURED_WRONG, ROLE_HEAD,
         "is nowhere among what its launches write last");
    EACH(({"sum", {0, 1, 4}}), (TWO_RESULTS), MEASURED_OK, ROLE_HEAD,
         "it leaves 1 result more than the base");
}

// What is left of an earlier run is not taken for what the head leaves.
TEST(a_range_that_writes_nothing_is_wrong_where_results_are_there_already)
{
    for (int own = 0; own < 2; own++) {
        measure(
            WISH(RANGE(LAYER), .stale = true, .own = own),
            WISH(RANGE({"twice", {0, 0, 2}}, {"nothing", {2, 1, 3}}), .stale = true, .own = own));
        found(MEASURED_WRONG, ROLE_HEAD, "results differ");
        measure(WISH(RANGE(LAYER), .stale = true, .own = own),
                WISH(RANGE(LAYER), .stale = true, .own = own));
        found(MEASURED_OK, ROLE_HEAD, "");
    }
}

TEST(a_range_that_writes_its_inputs_is_wrong)
{
    static const char elsewhere[] = "outside of what the base writes there";
    EACH((LAYER), ({"twice", {0, 0, 2}}, {"sum", {2, 1, 3}}, {"half", {3, 3, 0}}), MEASURED_WRONG,
         ROLE_HEAD, elsewhere);
    EACH((LAYER),
         ({"twice", {0, 0, 2}}, {"twice", {0, 0, 4}}, {"sum", {4, 1, 3}}, {"half", {3, 3, 0}}),
         MEASURED_WRONG, ROLE_HEAD, "writes to an input that the base only reads (buffer 0)");
}

// Of others nobody knows whether its results would be right.
TEST(a_range_elsewhere_needs_the_same_inputs)
{
    measure(WISH(RANGE(LAYER)), WISH(RANGE(ONE_MORE), .other = true));
    found(MEASURED_UNSUPPORTED, ROLE_HEAD, "its program filled 1 of 2 inputs otherwise");
    measure(WISH(RANGE(LAYER)), WISH(RANGE(LAYER), .other = true));
    found(MEASURED_OK, ROLE_HEAD, "both run on the base's");
    // Given the same places in another order, and wrong at the base's.
    measure(WISH(RANGE(LAYER)),
            WISH(RANGE({"twice", {0, 0, 3}}, {"sum", {3, 1, 2}}), .other = true));
    found(MEASURED_UNSUPPORTED, ROLE_HEAD, "its program filled 1 of 2 inputs otherwise");
    measure(WISH(RANGE(LAYER)),
            WISH(RANGE({"twice", {0, 0, 2}}, {"off", {2, 1, 3}}), .other = true));
    found(MEASURED_WRONG, ROLE_HEAD, "results differ");
}

// All allocations are of one size: that the fourth fits the fourth says nothing.
TEST(a_range_with_an_allocation_more_has_its_inputs)
{
    measure(WISH(RANGE(LAYER), .own = true), WISH(RANGE(ONE_MORE), .own = true));
    found(MEASURED_OK, ROLE_HEAD, apart);
    measure(WISH(RANGE(ONE_MORE), .own = true), WISH(RANGE(LAYER), .own = true));
    found(MEASURED_OK, ROLE_HEAD, apart);
    // In another order, whose first allocation is not the base's first: it would fault there.
    measure(
        WISH(RANGE({"twice", {0, 0, 2}}, {"wants", {2, 1, 3}}), .own = true),
        WISH(RANGE({"copy", {1, 1, 4}}, {"twice", {0, 0, 2}}, {"wants", {2, 1, 3}}), .own = true));
    found(MEASURED_OK, ROLE_HEAD, "it leaves 1 result more than the base");
    measure(WISH(RANGE(LAYER), .pool = 4), WISH(RANGE(LAYER), .pool = 6));
    found(MEASURED_OK, ROLE_HEAD, apart);
}

// ---- the memory of a captured series by itself ----

static struct arm sides[2];
static char *side_paths[2];

static struct captured *opened(const struct wish *base, const struct wish *head)
{
    const struct wish *wishes[] = {[ROLE_BASE] = base, [ROLE_HEAD] = head};
    struct captured *captured;
    struct error err;
    state_found = (struct series_state){.state = MEASURED_OK};
    for (int role = 0; role < 2; role++) {
        char *path = write_record(role ? "own1" : "own0", wishes[role]);
        struct series_spec spec = {.kernel = "x", .head = path, .base = path};
        assert_int_equal(problem_parse(&spec.problem, problem_text, &err), 0);
        sides[role] = ARM_NONE;
        side_paths[role] = path;
        if (arm_load(&sides[role], (enum sample_role)role, false, &spec, &ops, device, &state_found,
                     &err))
            fail_msg("%s", state_found.note);
    }
    if (captured_open(&captured, sides, &state_found, &err))
        fail_msg("%s", state_found.note);
    return captured;
}

static void closed(struct captured *captured)
{
    captured_free(captured);
    for (int role = 0; role < 2; role++) {
        arm_release(&sides[role]);
        free(side_paths[role]);
    }
}

TEST(each_set_finds_again_what_launches_have_changed)
{
    const struct wish adds = {.function = "adds"};
    struct captured *c = opened(&adds, &adds);
    struct error err;
    int32_t beside = 0;
    assert_false(captured_repeats(c)); // a second launch adds to what the first one left
    assert_int_equal(captured_grow(c, 3, &err), 0);
    assert_int_equal(arm_grow(&sides[0], &err) | arm_grow(&sides[1], &err), 0);
    assert_true(captured_sets(c) >= 3);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(captured_restore(&beside, c, ROLE_HEAD, 3, &err), 0);
        for (uint32_t set = 0; set < 3; set++) {
            assert_int_equal(arm_launch(&sides[ROLE_HEAD], set, NULL), 0);
            assert_int_equal(captured_hold(c, ROLE_HEAD, set, "now ", &state_found, &err), 0);
        }
    }
    assert_int_equal(arm_launch(&sides[ROLE_HEAD], 1, NULL), 0);
    assert_int_equal(captured_hold(c, ROLE_HEAD, 2, "now ", &state_found, &err), 0);
    assert_int_equal(captured_hold(c, ROLE_HEAD, 1, "now ", &state_found, &err), 1);
    found(MEASURED_WRONG, ROLE_HEAD, "now ");
    assert_memory_equal(state_found.note, "now ", 4);
    state_found = (struct series_state){.state = MEASURED_OK};
    assert_int_equal(captured_check(c, &state_found, &err), 0);
    closed(c);
}

// Three results of at most 100 are off by a half.
TEST(the_largest_difference_is_told_beside_the_one_that_is_allowed)
{
    const struct wish twice_is = {.function = "twice", .tolerance = 0.1},
                      off = {.function = "off", .tolerance = 0.1};
    struct captured *c = opened(&twice_is, &off);
    double seen = -1, allowed = -1;
    struct error err;
    assert_true(captured_repeats(c));
    assert_int_equal(captured_check(c, &state_found, &err), 0);
    captured_errors(&seen, &allowed, c);
    assert_true(seen > 0.0049 && seen < 0.0051 && allowed == 0.1);
    closed(c);
}

// ---- between samples ----

TEST(a_series_that_waited_for_others_launches_once_on_each_side)
{
    const struct wish same = {.function = "twice"};
    char *base = write_record("base", &same), *head = write_record("head", &same);
    struct series_spec spec = {.kernel = "x", .head = head, .base = base, .seed = 5};
    const struct device_ops before = ops;
    struct timed_series *series;
    struct error err;
    int samples = 0;
    ops.sample = timed_sample;
    takes_ns = 1e6;
    assert_int_equal(problem_parse(&spec.problem, problem_text, &err), 0);
    assert_int_equal(series_open(&series, &state_found, &ops, device, &spec, &err), 0);
    launched = 0;
    assert_int_equal(series_settle(series, &err), 0);
    assert_int_equal(launched, 2);
    assert_int_equal(series_pairs(series, 1, 0, count, &samples, &err), 0);
    assert_true(series_waited_ns(series) == 1234); // as the device says of the last sample
    series_free(series);
    ops = before;
    free(base);
    free(head);
}
