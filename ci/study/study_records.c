// SPDX-License-Identifier: Apache-2.0
//
// Puts records in the place of the libraries that a study compares.
#include "ci/study/study_sources.h"
#include "model/text.h"
#include "runner/bench/record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct recorder {
    struct studied *studied;
    const char *folder;
    struct bench *bench; // runs the libraries' host code; NULL: none at work
};

// One library has one record for each of its kernels and problems.
static const char *file_of(const struct recorder *r, const char *library,
                           const struct study_series *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->sum.problem);
    const uint64_t hash =
        hash_text(hash_text(hash_text(HASH_START, library), s->sum.kernel), problem);
    return arena_printf(&r->studied->run.arena, "%s/%s-%016llx.record", r->folder, s->sum.kernel,
                        (unsigned long long)hash);
}

static int record_one(struct recorder *r, const char **path, struct study_series *s,
                      struct error *err)
{
    struct bench_outcome outcome;
    const struct bench_series series = {
        .kernel = s->sum.kernel, .problem = &s->sum.problem, .head = *path};
    const char *file = file_of(r, *path, s);
    if (s->unsupported)
        return 0;
    if (access(file, R_OK) == 0) {
        *path = file;
        return 0;
    }
    if (!r->bench && bench_start(&r->bench, &r->studied->plan, err))
        return -1;
    if (record_write(&outcome, file, r->bench, &series, err))
        return -1;
    if (outcome.state != MEASURED_OK) { // it may leave a stream or a context that others cannot use
        bench_stop(r->bench);
        r->bench = NULL;
    }
    s->unsupported = outcome.state != MEASURED_OK;
    if (s->unsupported)
        printf("%s cannot be recorded: %s\n", s->sum.kernel, outcome.detail);
    else
        *path = file;
    return 0;
}

int study_record(struct studied *studied, const char *folder, struct error *err)
{
    struct recorder r = {.studied = studied, .folder = folder};
    struct study *study = &studied->studies[0];
    int status = 0;
    study->records = true;
    for (size_t i = 0; i < study->count && status == 0; i++) {
        struct study_series *s = &study->series[i];
        status = record_one(&r, &s->base, s, err) || record_one(&r, &s->head, s, err) ? -1 : 0;
    }
    bench_stop(r.bench);
    return status;
}
