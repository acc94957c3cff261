// SPDX-License-Identifier: Apache-2.0
//
// Writes the pages the browser tests open: pages FOLDER makes FOLDER/{run,hostile,large,empty} and
// FOLDER/site{,-hostile,-large,-huge,-runs,-long,-empty}.
#include "tests/helpers/helper_run.h"
#include "tests/helpers/helper_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A report's files are synced one by one, which took a minute of a disk here; nobody's power fails.
int fsync(int file)
{
    (void)file;
    return 0;
}

static int write_run(const char *folder, const char *name, struct run run)
{
    struct error err;
    char *path = xprintf("%s/%s", folder, name);
    struct report_context context = helper_context(&run);
    int status = report_write_all(path, &run, &context, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    run_free(&run);
    free(path);
    return status;
}

static int write_site(const char *folder, const char *name, size_t series, size_t commits,
                      size_t runs, bool hostile)
{
    struct error err;
    struct helper_site site;
    char *path = xprintf("%s/%s", folder, name);
    helper_site_of(&site, series, commits, runs, hostile);
    int status = site_write(&site.site, path, NULL, &err);
    if (status)
        fprintf(stderr, "%s\n", err.text);
    helper_site_free(&site);
    free(path);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2 || (mkdir(argv[1], 0755) != 0 && errno != EEXIST))
        return 2;
    return write_run(argv[1], "run", helper_run()) ||
           write_run(argv[1], "hostile", helper_run_hostile()) ||
           write_run(argv[1], "large", helper_run_large(500)) ||
           write_run(argv[1], "empty", helper_run_empty()) ||
           write_site(argv[1], "site", 40, 2000, 0, false) ||
           write_site(argv[1], "site-hostile", 40, 60, 0, true) ||
           write_site(argv[1], "site-large", 500, 300, 0, false) ||
           write_site(argv[1], "site-huge", 4000, 2, 0, false) ||
           write_site(argv[1], "site-runs", 40, 60, 500, false) ||
           write_site(argv[1], "site-long", 12, 2000, 2000, false) ||
           write_site(argv[1], "site-empty", 0, 0, 0, false);
}
