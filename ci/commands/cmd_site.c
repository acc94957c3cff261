// SPDX-License-Identifier: Apache-2.0
//
// plumb site: the nightly site out of the store, a folder of static files.
#include "ci/command.h"
#include "ci/history/epochs_file.h"
#include "ci/settings/options.h"
#include "ci/settings/store_option.h"
#include "ci/site/site_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct arguments {
    struct options options;
    const char *out, *epochs, *commit_url, *site_url;
    uint32_t points; // 0: all
};

enum { OPT_EPOCHS = 2000, OPT_COMMIT_URL, OPT_SITE_URL, OPT_POINTS };

static const struct argp_option table[] = {
    {"out", 'o', "DIR", 0, "Folder of the site [site]", 1},
    {"epochs", OPT_EPOCHS, "FILE", 0, "Accepted changes [REPO/" EPOCHS_PATH "]", 1},
    {"commit-url", OPT_COMMIT_URL, "URL", 0,
     "Of a commit: %s is its id, else it is put behind [policy]", 1},
    {"site-url", OPT_SITE_URL, "URL", 0, "Where the site will be, for the feed's links [policy]",
     1},
    {"points", OPT_POINTS, "N", 0, "Only the newest N points of each series [all]", 1},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case 'o':
        a->out = arg;
        return 0;
    case OPT_EPOCHS:
        a->epochs = arg;
        return 0;
    case OPT_COMMIT_URL:
        a->commit_url = arg;
        return 0;
    case OPT_POINTS:
        a->points = option_count(arg, "points", 10, 10000000, state);
        return 0;
    case OPT_SITE_URL:
        a->site_url = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "takes no '%s'", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&store_option_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .options = table,
    .parser = parse,
    .doc = "Writes the static site: every series with its changes, devices, accuracy, runs, and a "
           "feed of alarms.\v"
           "It opens from the folder, without a server. Pages whose data did not change stay as "
           "they are. What is judged of a series is kept in the store, so that the next time only "
           "what is new is judged; a store that cannot be written, or --points, does without.",
    .children = children,
};

static bool has_policy(const struct context *context)
{
    if (!context->repository)
        return false;
    char *path = xprintf("%s/" POLICY_PATH, repository_directory(context->repository));
    bool there = access(path, R_OK) == 0;
    free(path);
    return there;
}

static int write_site(struct context *context, struct site_data *data, const struct arguments *a,
                      struct error *err)
{
    struct site_written written;
    const char *epochs = a->epochs, *out = a->out ? a->out : "site";
    bool keeps;
    struct error unread;
    if (store_option_open_kept(context, &a->options, a->points == 0, &keeps, err))
        return -1;
    if (!epochs && context->repository)
        epochs = arena_printf(&context->arena, "%s/" EPOCHS_PATH,
                              repository_directory(context->repository));
    if (has_policy(context) && context_policy(context, "", &unread))
        fprintf(stderr, "plumb: %s; its addresses are not used\n", unread.text);
    data->site.commit_url = a->commit_url ? a->commit_url : context->policy.commit_url;
    data->site.site_url = a->site_url ? a->site_url : context->policy.site_url;
    if (site_data_load(data, context->store, epochs, a->points, keeps, err) ||
        site_write(&data->site, out, &written, err))
        return -1;
    printf("%s/index.html: %zu series, %zu %s written, %zu unchanged\n", out,
           data->site.series_count, written.pages, plural(written.pages, "file", "files"),
           written.unchanged);
    return 0;
}

static int run_site(int argc, char **argv)
{
    struct arguments a = {0};
    struct context context = {0};
    struct site_data data = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = write_site(&context, &data, &a, &err) ? fail(&err) : CONCLUDE_OK;
    site_data_free(&data);
    context_close(&context);
    return code;
}

const struct command command_site = {
    .name = "site",
    .summary = "Write the nightly site out of the store",
    .run = run_site,
};
