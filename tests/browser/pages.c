// SPDX-License-Identifier: Apache-2.0
//
// Writes the pages the browser test opens: pages FOLDER makes FOLDER/{run,hostile,large,empty}.
#include "tests/helper_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int main(int argc, char **argv)
{
    if (argc != 2 || (mkdir(argv[1], 0755) != 0 && errno != EEXIST))
        return 2;
    return write_run(argv[1], "run", helper_run()) ||
           write_run(argv[1], "hostile", helper_run_hostile()) ||
           write_run(argv[1], "large", helper_run_large(500)) ||
           write_run(argv[1], "empty", helper_run_empty());
}
