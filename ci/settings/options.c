// SPDX-License-Identifier: Apache-2.0
//
// The options shared by measuring commands, and how a failing command ends.
#include "ci/settings/options.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPT_CACHE = 1000, OPT_BENCH, OPT_SANDBOX, OPT_OVERLAY };

static const struct argp_option table[] = {
    {"repo", 'C', "DIR", 0, "Repository [the current directory]", 0},
    {"policy", 'p', "FILE", 0, "Policy file [" POLICY_PATH " of the commit or checkout]", 0},
    {"overlay", OPT_OVERLAY, "DIR", 0,
     "Folder that builds see beside the commit, as $PLUMB_OVERLAY; its content counts", 0},
    {"store", 's', "FILE", 0, "Store [REPO/.plumb/store.db]", 0},
    {"device", 'd', "NAME", 0, "Only this device of the policy", 0},
    {"out", 'o', "DIR", 0, "Write reports there", 0},
    {"sandbox", OPT_SANDBOX, "MODE", 0, "auto, require or off, instead of the policy's", 0},
    {"cache", OPT_CACHE, "DIR", 0, "Build cache [REPO/.plumb/cache]", 0},
    {"bench", OPT_BENCH, "PROGRAM", 0, "The child that times kernels [beside plumb]", 0},
    {"dry-run", 'n', NULL, 0, "Say what would be done", 0},
    {"quiet", 'q', NULL, 0, "No progress", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'C':
        options->repository = arg;
        return 0;
    case 'p':
        options->policy = arg;
        return 0;
    case 's':
        options->store = arg;
        return 0;
    case 'd':
        options->device = arg;
        return 0;
    case 'o':
        options->out = arg;
        return 0;
    case OPT_SANDBOX:
        options->sandbox = arg;
        return 0;
    case OPT_OVERLAY:
        options->overlay = arg;
        return 0;
    case OPT_CACHE:
        options->cache = arg;
        return 0;
    case OPT_BENCH:
        options->bench = arg;
        return 0;
    case 'n':
        options->dry_run = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp options_argp = {.options = table, .parser = parse};

int options_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    argp_err_exit_status = CONCLUDE_FAILED;
    char *name = xprintf("plumb %s", argv[0]);
    argv[0] = name; // argp shows it in usage texts and keeps the pointer: not freed
    return argp_parse(argp, argc, argv, 0, NULL, input) ? CONCLUDE_FAILED + 1 : 0;
}

bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return ferror(stdout) && poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

int fail(const struct error *err)
{
    if (reader_left())
        return CONCLUDE_FAILED;
    fprintf(stderr, "plumb: %s\n", err->text);
    return CONCLUDE_FAILED;
}

uint32_t option_count(const char *text, const char *name, int64_t min, int64_t max,
                      struct argp_state *state)
{
    int64_t value;
    if (parse_int64(&value, text) || value < min || value > max) {
        argp_error(state, "--%s=%s: needs a whole number from %lld to %lld", name, text,
                   (long long)min, (long long)max);
        exit(CONCLUDE_FAILED);
    }
    return (uint32_t)value;
}
