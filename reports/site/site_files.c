// SPDX-License-Identifier: Apache-2.0
//
// Writing the site's files, each whole and only when it differs from what is there; and doing the
// jobs that make them, each by whichever thread is free.
#include "reports/site/site_files.h"

#include "model/buffer.h"
#include "reports/report.h"
#include "reports/site/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Calls `one` for each of so many jobs, on as many threads as the site has contexts; each has its
// own `target` and `context`. -1: one failed, and those that were not begun were left.
typedef int site_job(struct site_target *target, void *context, size_t job, void *all,
                     struct error *err);

// At most `most` bytes of the file; false when there is none.
static bool read_start(struct buffer *out, const char *path, size_t most)
{
    char bytes[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    ssize_t length;
    while (out->length < most &&
           (length =
                read(file, bytes,
                     most - out->length < sizeof(bytes) ? most - out->length : sizeof(bytes))) > 0)
        buffer_add(out, bytes, (size_t)length);
    close(file);
    return true;
}

static bool is_unchanged(const char *path, const struct buffer *made)
{
    struct stat st;
    struct buffer there = {0};
    if (stat(path, &st) != 0 || (size_t)st.st_size != made->length)
        return false;
    bool same = read_start(&there, path, made->length) && there.length == made->length &&
                (made->length == 0 || memcmp(there.bytes, made->bytes, made->length) == 0);
    buffer_free(&there);
    return same;
}

int site_put(struct site_target *target, const char *folder, const char *name, const char *ending,
             struct buffer *made, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    if (is_unchanged(path, made)) {
        target->written.unchanged++;
    } else {
        status = report_put_file(path, made->bytes ? made->bytes : "", made->length, err);
        target->written.pages += status == 0;
    }
    free(path);
    buffer_free(made);
    return status;
}

int site_put_both(struct site_target *target, const char *folder, const char *name,
                  const char *ending, struct buffer *html, struct buffer *json, struct error *err)
{
    int status = site_put(target, folder, name, ending, html, err);
    if (status == 0)
        status = site_put(target, folder, name, ".json", json, err);
    buffer_free(html);
    buffer_free(json);
    return status;
}

int site_make_folder(const char *directory, const char *name, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s%s", directory, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        status = error_set(err, "%s: cannot be created: %s; its parent folder must exist", path,
                           strerror(errno));
    free(path);
    return status;
}

void site_read(struct buffer *out, const struct site_target *target, const char *folder,
               const char *name, const char *ending)
{
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    read_start(out, path, SIZE_MAX);
    free(path);
}

// The stamp stands in a page's JSON, which is written after the page: killed between the two, the
// page is made again.
bool site_has_stamp(const struct site_target *target, const char *folder, const char *name,
                    const char *ending, uint64_t stamp)
{
    char wanted[64];
    struct buffer json = {0};
    struct stat st;
    char *path = xprintf("%s/%s%s.json", target->directory, folder, name);
    char *page = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    snprintf(wanted, sizeof(wanted), "\"stamp\":\"%016llx\"", (unsigned long long)stamp);
    bool found = stat(page, &st) == 0 && st.st_size > 0 && read_start(&json, path, 4096) &&
                 json.bytes && strstr(json.bytes, wanted);
    buffer_free(&json);
    free(path);
    free(page);
    return found;
}

// ---- jobs ---------------------------------------------------------------------------------------

struct jobs {
    site_job *one;
    void *all;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
};

struct page_worker {
    struct jobs *jobs;
    void *context;
    struct site_target target;
    int status;
    struct error err;
};

static void work(void *context)
{
    struct page_worker *w = context;
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
    struct page_worker *workers = xcalloc(threads, sizeof(*workers));
    void **contexts = xcalloc(threads, sizeof(*contexts));
    int status = 0;
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct page_worker){.jobs = &jobs,
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
