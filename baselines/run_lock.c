// SPDX-License-Identifier: Apache-2.0
//
// Locks on the unfinished runs of a store. They say whose a run is; they do not guard the database,
// which SQLite does itself.
#include "baselines/run_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

bool run_lock_claim(struct store *store, int64_t run_id)
{
    // Of the open file, not of the process: closing another handle of this store keeps it.
    struct flock byte = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = run_id, .l_len = 1};
    if (!store->runs_open) {
        char *path = xprintf("%s-runs", store->path);
        store->runs = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        store->runs_open = store->runs >= 0;
        free(path);
    }
    return !store->runs_open || fcntl(store->runs, F_OFD_SETLK, &byte) == 0 ||
           (errno != EAGAIN && errno != EACCES);
}

void run_lock_close(struct store *store)
{
    if (store->runs_open)
        close(store->runs);
    store->runs_open = false;
}
