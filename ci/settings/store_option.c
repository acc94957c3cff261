// SPDX-License-Identifier: Apache-2.0
//
// Opens the store for commands that need no more than it, and the file or stdout that they write
// to.
#include "ci/settings/store_option.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct argp_option table[] = {
    {"repo", 'C', "DIR", 0, "Repository [the current directory]", 0},
    {"store", 's', "FILE", 0, "Store [REPO/.plumb/store.db]", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    if (key == 'C')
        options->repository = arg;
    else if (key == 's')
        options->store = arg;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

const struct argp store_option_argp = {.options = table, .parser = parse};

int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err)
{
    if ((!options->store || options->repository) && context_open(context, options, err))
        return -1;
    context->options = options;
    return context_store(context, mode, err);
}

int store_option_open_kept(struct context *context, const struct options *options, bool wanted,
                           bool *keeps, struct error *err)
{
    struct store *store;
    struct error refused;
    *keeps = false;
    if (store_option_open(context, options, STORE_READ, err))
        return -1;
    if (!wanted || access(store_path(context->store), W_OK))
        return 0;
    if (store_open(&store, store_path(context->store), STORE_WRITE, &refused)) {
        fprintf(stderr, "plumb: %s; what is concluded is not kept\n", refused.text);
        return 0;
    }
    *keeps = true;
    store_close(context->store);
    context->store = store;
    return 0;
}

int output_file_open(struct output_file *out, const char *path, struct error *err)
{
    *out = (struct output_file){.file = stdout};
    if (!path || strcmp(path, "-") == 0)
        return 0;
    // A pipe or a device is written to and not replaced, nor is the link that leads to a file.
    struct stat there;
    char *real = realpath(path, NULL), *temporary = NULL;
    bool plain = stat(path, &there) || S_ISREG(there.st_mode) || S_ISDIR(there.st_mode);
    if (plain)
        temporary = xprintf("%s.XXXXXX", real ? real : path);
    int fd = plain ? mkstemp(temporary) : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || (plain && fchmod(fd, 0644))) {
        error_set(err, "%s: cannot be written: %s", path, strerror(errno));
        free(temporary);
        free(real);
        return -1;
    }
    *out = (struct output_file){fdopen(fd, "w"), real ? real : xstrdup(path), temporary};
    return 0;
}

int output_file_close(struct output_file *out, int status, struct error *err)
{
    bool failed = fflush(out->file) || ferror(out->file);
    if (!out->path)
        return status == 0 && failed ? error_set(err, "standard output: %s", strerror(errno))
                                     : status;
    failed = (out->temporary && fsync(fileno(out->file))) || failed;
    failed = fclose(out->file) || failed;
    if (status == 0 && (failed || (out->temporary && rename(out->temporary, out->path))))
        status = error_set(err, "%s: cannot be written: %s", out->path, strerror(errno));
    if (status && out->temporary)
        unlink(out->temporary);
    free(out->path);
    free(out->temporary);
    return status;
}
