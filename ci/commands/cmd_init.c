// SPDX-License-Identifier: Apache-2.0
//
// plumb init: a commented policy and the ABI header for a repository that has neither.
#include "ci/command.h"
#include "reports/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const unsigned char asset_policy[], asset_shim[], asset_kernel_header[];
extern const size_t asset_policy_size, asset_shim_size, asset_kernel_header_size;

struct arguments {
    struct options options;
    bool print, force;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("repo", 'C', "DIR", "Repository [the current directory]", options.repository),
    OPTION_FLAG("print", 0, "Only print the policy, with every key", print),
    OPTION_FLAG("force", 0, "Replace files that are there", force),
    {0},
};

static int write_file(const char *root, const char *name, const unsigned char *bytes, size_t size,
                      bool force, struct error *err)
{
    char *path = xprintf("%s/%s", root, name);
    int status = 0;
    if (!force && access(path, F_OK) == 0)
        status = error_set(err, "%s is there already; --force replaces it", path);
    else if (report_replace_file(path, (const char *)bytes, size, err))
        status = -1;
    else
        printf("wrote %s\n", path);
    free(path);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    (void)context;
    struct repository *repository = NULL;
    const char *where = a->options.repository ? a->options.repository : ".";
    if (a->print) {
        fwrite(asset_policy, 1, asset_policy_size, stdout);
        return 0;
    }
    if (repository_open(&repository, where, err))
        return -1;
    const char *root = repository_directory(repository);
    char *directory = xprintf("%s/ci", root);
    int status = 0;
    if (mkdir(directory, 0777) && errno != EEXIST)
        status = error_set(err, "%s: %s", directory, strerror(errno));
    if (!status)
        status = write_file(root, POLICY_PATH, asset_policy, asset_policy_size, a->force, err);
    if (!status)
        status = write_file(root, "ci/plumb_kernel.h", asset_kernel_header,
                            asset_kernel_header_size, a->force, err);
    if (!status)
        printf("\n%s", (const char *)asset_shim);
    free(directory);
    repository_close(repository);
    return status;
}

const struct command command_init = {
    .name = "init",
    .summary = "Write a commented policy and the kernel header into a repository",
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes " POLICY_PATH " and ci/plumb_kernel.h, and explains the shim.",
};
