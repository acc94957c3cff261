// SPDX-License-Identifier: Apache-2.0
//
// Which policy is in force: whose it is, what of it counts, and what was asked for beside it.
#include "ci/settings/context.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool context_is_bare(const struct context *context)
{
    return repository_is_bare(context->repository);
}

bool context_selects(const struct context *context, const char *kernel,
                     const struct problem *problem)
{
    const struct options *o = context->options;
    char text[PROBLEM_TEXT];
    if (o->kernel && kernel && fnmatch(o->kernel, kernel, 0) != 0)
        return false;
    if (!o->problem || !problem)
        return true;
    problem_format(text, problem);
    return fnmatch(o->problem, text, 0) == 0;
}

const char *context_selection(const struct context *context, struct arena *arena)
{
    const struct options *o = context->options;
    if (!o->kernel && !o->problem)
        return "";
    return arena_printf(arena, " (only%s%s%s%s%s%s%s)", o->kernel ? " kernels '" : "",
                        o->kernel ? o->kernel : "", o->kernel ? "'" : "",
                        o->kernel && o->problem ? "," : "", o->problem ? " problems '" : "",
                        o->problem ? o->problem : "", o->problem ? "'" : "");
}

static int read_policy(struct context *context, const char *commit, struct error *err)
{
    const struct options *options = context->options;
    if (options->policy)
        return policy_load(&context->policy, options->policy, err);
    if (!*commit && !context_is_bare(context)) {
        char *path = xprintf("%s/" POLICY_PATH, repository_directory(context->repository));
        int status = policy_load(&context->policy, path, err);
        free(path);
        return status;
    }
    struct commit head;
    if (!*commit && repository_commit(&head, context->repository, "HEAD", &context->arena, err))
        return -1;
    char *text = NULL, label[POLICY_PATH_TEXT], file[OBJECT_ID_TEXT];
    size_t size;
    const char *id = *commit ? commit : head.id;
    snprintf(label, sizeof(label), POLICY_PATH " at %.10s", id);
    if (repository_path_id(file, context->repository, id, POLICY_PATH, err))
        return -1;
    if (!file[0])
        return error_set(err,
                         "%s: not there; commit one (`plumb init` writes it, `plumb gate --base "
                         "HEAD` is its first gate) or give --policy",
                         label);
    if (repository_read(&text, &size, context->repository, id, POLICY_PATH, err))
        return -1;
    int status = policy_parse(&context->policy, text, size, label, err);
    free(text);
    return status;
}

// What the policy of a checkout or of a commit may decide, where that may be a stranger's.
static void confine(struct context *context, const char *commit)
{
    struct repository_trust trust;
    struct policy trusted;
    struct error ignored; // without a trusted policy nothing is trusted
    char *text = NULL;
    size_t size = 0;
    repository_trusted(&trust, context->repository);
    if (trust.own || (*commit && repository_accepts(context->repository, &trust, commit)))
        return;
    if (*commit && trust.branch)
        progress_note(&context->progress,
                      "the base %.10s is not of %s, so its policy and its kernels may be those of "
                      "the change itself; --base=%s --merge-base compares with what is accepted",
                      commit, trust.branch, trust.branch);
    bool known = trust.branch &&
                 repository_read(&text, &size, context->repository, trust.commit, POLICY_PATH,
                                 &ignored) == 0 &&
                 policy_parse(&trusted, text, size, trust.branch, &ignored) == 0;
    if (policy_confine(&context->policy, known ? &trusted : NULL))
        progress_note(&context->progress,
                      "%s is not that of %s: its sandbox, pass and trust count only where they are "
                      "stricter (`git config plumb.trustCheckout true` if this repository's "
                      "commits are yours)",
                      context->policy.label, known ? trust.branch : "a trusted branch");
    if (known)
        policy_free(&trusted);
    free(text);
}

void context_judge(struct context *context, const struct commit *head)
{
    struct repository_trust trust;
    repository_trusted(&trust, context->repository);
    context->stranger = !trust.own && !repository_accepts(context->repository, &trust, head->id);
}

int context_policy(struct context *context, const char *commit, struct error *err)
{
    struct policy *policy = &context->policy;
    if (read_policy(context, commit, err))
        return -1;
    if (!context->options->policy)
        confine(context, commit);
    const char *only = context_selection(context, &policy->arena);
    if (*only)
        policy->text =
            arena_printf(&policy->arena, "%s\n" RUN_REQUEST_NOTE "%s\n", policy->text, only);
    if (context->options->seconds)
        policy->gate.seconds = context->options->seconds;
    return 0;
}
