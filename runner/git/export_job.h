// SPDX-License-Identifier: Apache-2.0
//
// An export on its way; internal to runner/git/repository_export.c, which goes through the trees,
// and runner/git/export_file.c, which writes what is in them.
#ifndef PLUMB_EXPORT_JOB_H
#define PLUMB_EXPORT_JOB_H

#include "runner/git/submodule.h"

struct export_job {
    const char *commit;
    struct export_terms terms;
    struct exported told;
    const struct submodule_level *level; // that the tree belongs to which is written now
    bool look;                           // nothing is written, and the folders `at` are none
    size_t entries, submodules;
    uint64_t bytes;
    struct error *err;
};

// The commit's fault: EXPORT_REFUSED.
int export_refuse(struct export_job *job, const char *name, const char *why);
void export_see(struct export_seen *seen, const struct export_job *job, const char *folder,
                const char *name);
// A file or link into the open folder `at`, which is so deep below the export's root. folder: the
// same as the level's tree has it, with a final '/', or "".
int export_blob(struct export_job *job, int at, const git_tree_entry *entry, const char *folder,
                int depth);
// A new folder in `at`, open; -1, or -2 when it is the commit's fault.
int export_folder(struct export_job *job, int at, const char *name);
// Opens the folder that holds the path's last part, making what is missing on the way.
int export_parent(struct export_job *job, int root, const char *path, int *depth);

#endif
