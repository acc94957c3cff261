// SPDX-License-Identifier: Apache-2.0
//
// The folder that a site is written to.
#ifndef PLUMB_REPORTS_SITE_FILES_H
#define PLUMB_REPORTS_SITE_FILES_H

#include "model/buffer.h"
#include "reports/site/site.h"

struct site_target {
    const char *directory;
    struct site_written written;
};

// "/kernel" in the directory; there already is fine.
int site_make_folder(const char *directory, const char *name, struct error *err);
// Writes `made` as the file FOLDER NAME ENDING, unless that has the same bytes, and empties `made`.
// `folder` is "" or ends with a slash.
int site_put(struct site_target *target, const char *folder, const char *name, const char *ending,
             struct buffer *made, struct error *err);
// The page, then the same figures as JSON, which has the stamp.
int site_put_both(struct site_target *target, const char *folder, const char *name,
                  const char *ending, struct buffer *html, struct buffer *json, struct error *err);
// Reads the file; nothing when there is none.
void site_read(struct buffer *out, const struct site_target *target, const char *folder,
               const char *name, const char *ending);
// Are both there, made of what the stamp says?
bool site_has_stamp(const struct site_target *target, const char *folder, const char *name,
                    const char *ending, uint64_t stamp);

// Calls `one` for each of so many jobs, on as many threads as the site has contexts; each has its
// own `target` and `context`. -1: one failed, and those that were not begun were left.
typedef int site_job(struct site_target *target, void *context, size_t job, void *all,
                     struct error *err);
int site_jobs(struct site_target *target, const struct site *site, size_t count, site_job *one,
              void *all, struct error *err);

#endif
