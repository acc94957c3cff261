// SPDX-License-Identifier: Apache-2.0
//
// One side of a series, asked directly: a record on a stand-in for the driver, a library in this
// process, and a library in a process of its own, which this program starts as `bench` would.
#include "kernels/bench/arm.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct device_ops ops;

// ---- the driver's stand-in ----

struct replay {
    const struct record *record;
    struct record_places *places;
    uint32_t sets;
};

static struct {
    uint32_t launches, last; // how many were queued, and the last one's number
    uint64_t of_a;           // the address of A that it was given
} queued;

static int stand_in_open(struct replay **out, struct device_base *base, const struct record *record,
                         const struct record_places *places, uint32_t sets, struct error *err)
{
    *out = xcalloc(1, sizeof(**out));
    **out = (struct replay){record, xcalloc(sets, sizeof(*places)), sets};
    memcpy((*out)->places, places, sets * sizeof(*places));
    return 0;
}

static int stand_in_launch_one(struct replay *replay, uint32_t set, size_t launch)
{
    assert_true(set < replay->sets);
    queued.launches++;
    queued.last = (uint32_t)launch;
    queued.of_a = replay->places[set].address[RECORD_A];
    return 0;
}

static int stand_in_launch(struct replay *replay, uint32_t set)
{
    for (size_t i = 0; i < replay->record->launch_count; i++)
        stand_in_launch_one(replay, set, i);
    return 0;
}

static void stand_in_free(struct replay *replay)
{
    free(replay->places);
    free(replay);
}

static int set_up(void **state)
{
    if (host_set_up(state))
        return -1;
    ops = *host;
    ops.replay_open = stand_in_open;
    ops.replay_launch = stand_in_launch;
    ops.replay_launch_one = stand_in_launch_one;
    ops.replay_free = stand_in_free;
    return 0;
}

AROUND_ALL(set_up, host_tear_down);

// ---- arms ----

static struct series_spec spec_of(const char *problem, const char *kernel, const char *head)
{
    struct series_spec spec = {.kernel = kernel, .head = head};
    struct error err;
    if (problem_parse(&spec.problem, problem, &err))
        fail_msg("%s", err.text);
    return spec;
}

static struct arm loaded(const struct series_spec *spec)
{
    struct arm arm = ARM_NONE;
    struct series_state said = {.state = MEASURED_OK};
    struct error err;
    if (arm_load(&arm, ROLE_HEAD, false, spec, &ops, device, &said, &err))
        fail_msg("%s", said.note);
    return arm;
}

static struct buffers prepared(struct arm *arm, const struct series_spec *spec)
{
    struct buffers b;
    struct parts parts;
    struct error err;
    if (!spec->problem.number_count)
        parts_of(&parts, &spec->problem);
    else if (parts_stated(&parts, &arm->stated, &err))
        fail_msg("%s", err.text);
    if (buffers_open(&b, &ops, device, &spec->problem, &parts, 1, 0, &err))
        fail_msg("%s", err.text);
    return b;
}

// A record of two launches, which are given A, B and C.
static char *record_file(const struct series_spec *spec)
{
    unsigned char bytes[24] = {0};
    struct record_parameter parameters[] = {{0, 8}, {8, 8}, {16, 8}};
    struct record_address addresses[] = {{0, RECORD_A, 0}, {8, RECORD_B, 0}, {16, RECORD_C, 0}};
    struct record_launch launches[2];
    for (int i = 0; i < 2; i++)
        launches[i] = (struct record_launch){.kind = RECORD_KERNEL,
                                             .function = i ? "second" : "first",
                                             .grid = {1, 1, 1},
                                             .block = {32, 1, 1},
                                             .cluster = {1, 1, 1},
                                             .carveout = -1,
                                             .parameters = parameters,
                                             .parameter_count = 3,
                                             .bytes = bytes,
                                             .size = sizeof(bytes),
                                             .addresses = addresses,
                                             .address_count = 3};
    struct record record = {
        .kernel = "x", .problem = spec->problem, .launches = launches, .launch_count = 2};
    struct buffer text = {0};
    char *folder = helper_directory(), *path = xprintf("%s/x.record", folder);
    record_print(&text, &record);
    helper_write(path, text.bytes, text.length);
    buffer_free(&text);
    free(folder);
    return path;
}

TEST(a_record_is_launched_whole_or_one_by_one_on_each_set)
{
    struct series_spec spec = spec_of("33x17x31:fp32", "x", NULL);
    struct series_state said = {.state = MEASURED_OK};
    struct error err;
    char *path = record_file(&spec);
    spec.head = path;
    struct arm arm = loaded(&spec);
    struct buffers b = prepared(&arm, &spec);
    assert_int_equal(arm_prepare(&arm, ROLE_HEAD, NULL, &b, &said, &err), 0);
    assert_string_equal(arm_record(&arm)->launches[1].function, "second");
    assert_int_equal(arm_kernels(&arm), 2);
    assert_int_equal(arm_instances(&arm)->count, 1);
    assert_int_equal(arm_launch(&arm, 0, NULL), 0);
    assert_int_equal(queued.launches, 2);
    assert_int_equal(arm_launch_one(&arm, 0, 1), 0);
    assert_true(queued.launches == 3 && queued.last == 1);
    assert_int_equal(buffers_grow(&b, 3, &err), 0);
    assert_int_equal(arm_grow(&arm, &err), 0);
    for (uint32_t set = 0; set < b.sets; set++) {
        assert_int_equal(arm_launch(&arm, set, NULL), 0);
        assert_int_equal(queued.of_a, (uintptr_t)b.inputs[0][set]);
    }
    assert_null(arm_run(&arm));
    assert_true(arm_baton_ns(&arm) == 0 && arm_rest(&arm).turns == 0);
    buffers_free(&b);
    arm_release(&arm);
    free(path);
}

static void assert_softmax(const double *found, const float *x, int rows, int each)
{
    for (int row = 0; row < rows; row++) {
        double sum = 0;
        for (int i = 0; i < each; i++)
            sum += exp((double)x[row * each + i]);
        for (int i = 0; i < each; i++)
            assert_true(fabs(found[row * each + i] - exp((double)x[row * each + i]) / sum) < 1e-9);
    }
}

// The numbers come at once, or from another process, of which the id is told.
TEST(a_library_says_what_its_output_should_be)
{
    struct series_spec spec =
        spec_of("S=5,H=7:fp32", "softmax", TEST_BIN "/../examples/libsoftmax.so");
    struct error err;
    double found[35] = {0};
    int status = -1;
    pid_t apart = -1;
    spec.inside = true;
    struct arm arm = loaded(&spec);
    struct buffers b = prepared(&arm, &spec);
    assert_int_equal(arm_reference(found, &arm, &b, 0, NULL, &err), 0);
    assert_softmax(found, b.inputs[0][0], 5, 7);
    const double before = found[3];
    found[3] = 0;
    assert_int_equal(arm_reference(found, &arm, &b, 0, &apart, &err), 0);
    if (apart == 0)
        _exit(found[3] == before ? 0 : 1);
    assert_true(apart > 0);
    assert_true(found[3] == 0);
    assert_int_equal(waitpid(apart, &status, 0), apart);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(arm_kernels(&arm), 1);
    assert_null(arm_instances(&arm));
    buffers_free(&b);
    arm_release(&arm);
}

TEST(a_library_in_a_process_of_its_own_runs_in_turns)
{
    const struct series_spec spec =
        spec_of("33x17x31:fp32", "naive", TEST_BIN "/../kernels/libnaive.so");
    const struct plumb_form form = {.problem = {.m = 33}};
    struct series_state said = {.state = MEASURED_OK};
    struct error err;
    double time_ns = 0, wanted = 0;
    struct arm arm = loaded(&spec);
    struct buffers b = prepared(&arm, &spec);
    assert_int_equal(buffers_grow(&b, 2, &err), 0);
    assert_int_equal(buffers_known(&b, 0, &err), 0);
    assert_int_equal(arm_prepare(&arm, ROLE_HEAD, NULL, &b, &said, &err), 0);
    assert_non_null(arm.process);
    assert_null(arm.module.handle);
    memset(b.outputs[1], 0, b.parts.output.bytes);
    assert_int_equal(arm_run(&arm)(&arm, 0, 2, 4, &time_ns), 0);
    assert_true(time_ns >= 4);
    const float *a = b.inputs[0][1], *of_b = b.inputs[1][1], *c = b.outputs[1];
    for (int l = 0; l < 31; l++)
        wanted += (double)a[l] * (double)of_b[l];
    assert_true(fabs((double)c[0] - wanted) < 1e-4);
    assert_true(arm_baton_ns(&arm) > 0);
    assert_true(arm_rest(&arm).turns > 0);
    assert_true(arm_memory_bytes(&arm, &form) > 4096); // its own, beside what it shares
    buffers_free(&b);
    arm_release(&arm);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "keep") == 0)
        return arm_worker_main(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    return test_main();
}
