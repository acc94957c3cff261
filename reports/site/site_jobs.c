// SPDX-License-Identifier: Apache-2.0
//
// The site's jobs, each done by whichever thread is free.
#include "reports/site/site_files.h"

#include <stdatomic.h>
#include <stdlib.h>

struct jobs {
    site_job *one;
    void *all;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
};

struct worker {
    struct jobs *jobs;
    void *context;
    struct site_target target;
    int status;
    struct error err;
};

static void work(void *context)
{
    struct worker *w = context;
    struct jobs *jobs = w->jobs;
    while (w->status == 0 && !atomic_load(&jobs->failed)) {
        const size_t job = atomic_fetch_add(&jobs->next, 1);
        if (job >= jobs->count)
            return;
        w->status = jobs->one(&w->target, w->context, job, jobs->all, &w->err);
    }
    atomic_store(&jobs->failed, true);
}

static void add(struct site_written *to, const struct site_written *from)
{
    to->pages += from->pages;
    to->unchanged += from->unchanged;
    to->loaded += from->loaded;
    to->loaded_runs += from->loaded_runs;
    to->loaded_points += from->loaded_points;
}

int site_jobs(struct site_target *target, const struct site *site, size_t count, site_job *one,
              void *all, struct error *err)
{
    const size_t threads = site->together && count > 1 ? site->context_count : 1;
    struct jobs jobs = {.one = one, .all = all, .count = count};
    struct worker *workers = xcalloc(threads, sizeof(*workers));
    void **contexts = xcalloc(threads, sizeof(*contexts));
    int status = 0;
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct worker){.jobs = &jobs,
                                     .context = i ? site->contexts[i] : site->context,
                                     .target = {.directory = target->directory}};
        contexts[i] = &workers[i];
    }
    if (threads > 1)
        site->together(work, contexts, threads);
    else
        work(contexts[0]);
    for (size_t i = 0; i < threads; i++) {
        add(&target->written, &workers[i].target.written);
        if (workers[i].status && status == 0)
            *err = workers[i].err;
        status = workers[i].status ? -1 : status;
    }
    free(workers);
    free(contexts);
    return status;
}
