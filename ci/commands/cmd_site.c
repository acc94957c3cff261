// SPDX-License-Identifier: Apache-2.0
//
// plumb site: writes the nightly site, a folder of static files, from the store.
#include "ci/command.h"
#include "ci/settings/context.h"
#include "ci/settings/epochs.h"
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

static const struct command_option own_options[] = {
    OPTION_TEXT("out", 'o', "DIR", "Folder of the site [site]", out),
    OPTION_TEXT("epochs", 0, "FILE", "Accepted changes [REPO/" EPOCHS_PATH "]", epochs),
    OPTION_TEXT("commit-url", 0, "URL", "Of a commit: %s is its id, else it is put behind [policy]",
                commit_url),
    OPTION_TEXT("site-url", 0, "URL", "Where the site will be, for the feed's links [policy]",
                site_url),
    OPTION_COUNT("points", "N", "Only the newest N points of each series [all]", points, 10,
                 10000000),
    {0},
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
    if (!epochs)
        fprintf(stderr,
                "plumb: of which repository this store is is not known, so nothing counts as "
                "accepted; give -C DIR, or --epochs FILE\n");
    const struct policy *policy = has_policy(context) ? &context->policy : NULL;
    if (policy && context_policy(context, "", &unread)) {
        fprintf(stderr, "plumb: %s; its addresses and owners are not used\n", unread.text);
        policy = NULL;
    }
    data->site.commit_url =
        a->commit_url ? a->commit_url : context_commit_url(context, &context->arena);
    data->site.site_url = a->site_url ? a->site_url : context->policy.site_url;
    if (repository_refuse_brought(out, BROUGHT_ANYTHING, err) ||
        site_data_load(data, context->store, epochs, context->repository, policy, a->points, keeps,
                       err) ||
        site_write(&data->site, out, &written, err))
        return -1;
    printf("%s/index.html: %zu series, %zu %s written, %zu unchanged\n", out,
           data->site.series_count, written.pages, plural(written.pages, "file", "files"),
           written.unchanged);
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    struct site_data data = {0};
    (void)out;
    int status = write_site(context, &data, arguments, err);
    site_data_free(&data);
    return status;
}

const struct command command_site = {
    .name = "site",
    .summary = "Write the nightly site out of the store",
    .shared = SHARED_STORE,
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Writes the static site: every series with its changes, devices, accuracy, runs, "
           "and a feed of alarms.\v"
           "The site opens from the folder, without a server. Pages whose data did not change "
           "stay as they are. plumb keeps in the store what it judged of a series, so that the "
           "next time it judges only what is new. If the store cannot be written, or with "
           "--points, it judges everything anew.",
};
