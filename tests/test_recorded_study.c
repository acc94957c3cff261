// SPDX-License-Identifier: Apache-2.0
//
// The recorded study of the H200 says what the README says of it: no false alarm, every target
// found, and its tables agree with what its store has.
#include "baselines/store.h"
#include "helper_duets.h"
#include "model/study.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define STUDY TEST_SOURCE "/baselines/recorded/h200/study/"

static char path[] = "/tmp/plumb-study-XXXXXX";
static struct store *store;

static int read_store(void **state)
{
    (void)state;
    struct error err;
    FILE *file = fopen(STUDY "study.jsonl", "r");
    const struct import_source from = {.name = "study.jsonl", .format = IMPORT_JSON};
    int descriptor = mkstemp(path);
    if (!file || descriptor < 0)
        return -1;
    close(descriptor);
    unlink(path);
    int status =
        store_open(&store, path, STORE_WRITE, &err) || store_import(store, file, &from, NULL, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    fclose(file);
    return status;
}

static int close_store(void **state)
{
    (void)state;
    store_close(store);
    unlink(path);
    return 0;
}

// Rows of A/A gates in the tables of whole gates, and how many are alarms.
static void count_rows(uint64_t *gates, uint64_t *alarms, const char *part)
{
    char line[1024], *name = xprintf(STUDY "study-%s.csv", part);
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        const bool own = strncmp(line, "aa,", 3) == 0;
        *gates += own;
        *alarms += own && (strstr(line, ",slower,") || strstr(line, ",faster,"));
    }
    fclose(file);
    free(name);
}

static void no_false_alarm_and_enough_gates_to_say_so(void **state)
{
    (void)state;
    static const char *const parts[] = {"near", "sure", "varies", "aa", "step", "neighbour"};
    uint64_t gates = 0, alarms = 0;
    struct alarm_count studies, self_tests;
    struct run run;
    struct error err;
    int64_t id;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
        count_rows(&gates, &alarms, parts[i]);
    assert_int_equal(store_last_run(&id, store, RUN_STUDY, &err), 0);
    assert_int_equal(store_load_run(&run, store, id, &err), 0);
    assert_int_equal(store_false_alarms(&studies, &self_tests, store, run.devices[0].uuid, &err),
                     0);
    assert_int_equal(studies.gates, gates);
    assert_int_equal(studies.alarms, 0);
    assert_int_equal(alarms, 0);
    assert_true(study_rate_upper(0, gates, 0.95) < 0.0011);
    run_free(&run);
}

static bool is_target(const struct study_result *s)
{
    return strcmp(s->kernel, "compute_0050") == 0 || strcmp(s->kernel, "memory_0050") == 0 ||
           strcmp(s->kernel, "latency_0100") == 0;
}

static void every_target_is_found_in_the_right_direction(void **state)
{
    (void)state;
    struct run_entry *entries;
    struct arena arena = {0};
    struct error err;
    size_t count, targets = 0;
    assert_int_equal(store_list_runs(&entries, &count, store, RUN_STUDY, 0, &arena, &err), 0);
    for (size_t i = 0; i < count; i++) {
        struct run run;
        assert_int_equal(store_load_run(&run, store, entries[i].id, &err), 0);
        for (size_t k = 0; k < run.study_count; k++) {
            const struct study_result *s = &run.studies[k];
            if (s->kind == STUDY_AA || !is_target(s))
                continue;
            assert_int_equal(s->kind == STUDY_SLOWER ? s->slower : s->faster, s->gates);
            targets += s->gates;
        }
        run_free(&run);
    }
    assert_true(targets >= 100);
    arena_free(&arena);
}

// The times that other tools' rules are tried on are those that the gates would have seen.
static void recorded_times_show_the_effects_that_were_put_in(void **state)
{
    (void)state;
    struct duets *data = xcalloc(1, sizeof(*data));
    struct error err;
    if (duets_read(data, STUDY "samples-pairs.csv", &err))
        fail_msg("%s", err.text);
    size_t seen = 0;
    for (size_t i = 0; i < data->count; i++) {
        const struct duet_series *s = &data->series[i];
        double sum = 0, y[256];
        for (size_t p = 0; p < s->count; p++) {
            assert_int_equal(s->processes[p].count, 64);
            for (size_t k = 0; k < 64; k++)
                y[k] = log(s->processes[p].us_b[k] / s->processes[p].us_a[k]);
            sum += robust_mean(y, 64).mean / (double)s->count;
        }
        if (strcmp(s->variant, "same") == 0)
            assert_true(fabs(sum) < 3e-4);
        else if (strncmp(s->shape, "compute", 7) == 0 && strcmp(s->variant, "slower 0050") == 0)
            assert_true(fabs(sum - 0.0048) < 5e-4);
        seen++;
    }
    assert_int_equal(seen, 5 + 15);
    duets_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_false_alarm_and_enough_gates_to_say_so),
        cmocka_unit_test(every_target_is_found_in_the_right_direction),
        cmocka_unit_test(recorded_times_show_the_effects_that_were_put_in),
    };
    return cmocka_run_group_tests(tests, read_store, close_store);
}
