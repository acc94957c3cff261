// SPDX-License-Identifier: Apache-2.0
//
// Opens what a measuring command needs, in order, and closes it in reverse order.
#include "ci/settings/context.h"

#include "baselines/store.h"
#include "ci/settings/policy.h"
#include "ci/settings/progress.h"
#include "ci/settings/text_file.h"
#include "model/buffer.h"
#include "model/predict.h"
#include "runner/bench/measure.h"
#include "runner/build/build.h"
#include "runner/child/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLICY_PATH_TEXT = 512 };

// ---- whether a sandbox is needed ----

// Whether a build of the commit needs a sandbox; `commit` NULL: what the policy says for any
// commit.
static int needs_sandbox(const struct context *context, const char *commit, struct error *err)
{
    if (context->sandbox.active || context->asked != SANDBOX_UNSAID)
        return 0;
    return error_set(err,
                     "no sandbox, and %.*s%s may be a stranger's pull request: %s; " SANDBOX_WAY
                     ", or, where the code is your own, say so: --sandbox=auto, or sandbox = auto "
                     "in the trusted branch's policy, or "
                     "`git config plumb.trustCheckout true`",
                     commit ? 10 : 200, commit ? commit : context->policy.label,
                     commit ? "" : ", which says what is run,", context->sandbox.reason);
}

// ---- toolchains ----

enum { TOOLCHAINS_MOST = 32 };

static int check_prefix(const struct context *context, const struct policy_toolchain *t,
                        struct error *err)
{
    struct stat st;
    const char *label = context->policy.label;
    if (!t->prefix || t->container)
        return 0;
    // A committed policy may name a folder that every sandbox shows, and no other folder of this
    // machine.
    if (!context->options->policy && !sandbox_shows(t->prefix))
        return error_set(err,
                         "%s: [toolchain \"%s\"] prefix = %.80s: a committed policy may name "
                         "folders in /usr, /opt, /nix/store and /gnu/store; give the policy by "
                         "--policy",
                         label, t->name, t->prefix);
    if (stat(t->prefix, &st) || !S_ISDIR(st.st_mode))
        return error_set(err, "%s: [toolchain \"%s\"] prefix = %.80s: there is no such folder",
                         label, t->name, t->prefix);
    return 0;
}

static int open_container(struct toolchain *out, struct context *context,
                          const struct policy_toolchain *t, struct error *err)
{
    const char *label = context->policy.label;
    struct container container;
    struct error why;
    if (!t->container)
        return 0;
    if (t->foreign)
        return error_set(
            err,
            "%s: [toolchain \"%s\"] container = %.80s: the checkout may be a stranger's, and then "
            "its policy names no container; give a policy of your own by --policy",
            label, t->name, t->container);
    if (!context->sandbox.active)
        return error_set(err,
                         "%s: [toolchain \"%s\"] container = %.80s: needs the sandbox, which shows "
                         "its files: %s",
                         label, t->name, t->container, context->sandbox.reason);
    if (container_open(&container, t->container, context->builder.cache, &context->arena, &why))
        return error_set(err, "%s: [toolchain \"%s\"] %s", label, t->name, why.text);
    out->image = container.id;
    out->root = container.root;
    return 0;
}

static int unknown(const struct policy *policy, const char *name, struct error *err)
{
    char known[200] = TOOLCHAIN_DEFAULT;
    for (size_t i = 0; i < policy->toolchain_count; i++) {
        const size_t used = strlen(known);
        snprintf(known + used, sizeof(known) - used, ", %s", policy->toolchains[i].name);
    }
    return error_set(err, "%s: there is no [toolchain \"%.60s\"]; there are: %s", policy->label,
                     name, known);
}

int context_toolchain(const struct toolchain **out, struct context *context, const char *name,
                      struct error *err)
{
    const struct policy *policy = &context->policy;
    *out = &context->toolchain;
    if (!name || strcmp(name, TOOLCHAIN_DEFAULT) == 0)
        return 0;
    for (size_t i = 0; i < context->toolchain_count; i++) {
        *out = &context->toolchains[i];
        if (strcmp((*out)->name, name) == 0)
            return 0;
    }
    const struct policy_toolchain *wanted = policy_toolchain_find(policy, name);
    if (!wanted)
        return unknown(policy, name, err);
    if (context->toolchain_count == TOOLCHAINS_MOST)
        return error_set(err, "more than %d toolchains at once", TOOLCHAINS_MOST);
    if (!context->toolchains)
        context->toolchains =
            arena_alloc(&context->arena, TOOLCHAINS_MOST * sizeof(*context->toolchains));
    if (context->foreign && needs_sandbox(context, NULL, err))
        return -1;
    struct toolchain found = {.name = wanted->name,
                              .settings = wanted->settings,
                              .setting_count = wanted->setting_count,
                              .prefix = wanted->prefix};
    if (check_prefix(context, wanted, err) || open_container(&found, context, wanted, err) ||
        toolchain_detect(&found, &context->sandbox, err))
        return -1;
    context->toolchains[context->toolchain_count] = found;
    *out = &context->toolchains[context->toolchain_count++];
    return 0;
}

// ---- the policy in force: its origin, which of its keys count, and what the options add ----

const char *context_commit_url(const struct context *context, struct arena *arena)
{
    if (context->policy.commit_url || !context->repository)
        return context->policy.commit_url;
    return repository_commit_url(context->repository, arena);
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
    if (fnmatch(o->problem, text, 0) == 0)
        return true;
    // An option without a regime means any regime.
    const struct problem work = problem_in(problem, REGIME_COLD);
    problem_format(text, &work);
    return fnmatch(o->problem, text, 0) == 0 || problem_is_named(problem, o->problem);
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

// Whether a sparse checkout lacks the policy that HEAD has; it is then read from HEAD.
static bool is_left_out(const struct context *context)
{
    struct commit head;
    struct error ignored;
    struct arena arena = {0};
    char file[OBJECT_ID_TEXT] = "",
         *path = xprintf("%s/" POLICY_PATH, repository_directory(context->repository));
    const bool there = access(path, F_OK) == 0 || errno != ENOENT;
    free(path);
    if (!there && repository_commit(&head, context->repository, "HEAD", &arena, &ignored) == 0 &&
        repository_path_id(file, context->repository, head.id, POLICY_PATH, &ignored))
        file[0] = '\0';
    arena_free(&arena);
    return file[0] != '\0';
}

// A commit has no policy. The one before the commit that brings the first has none, either.
static int refuse_absent(const struct context *context, const char *label, struct error *err)
{
    struct commit head;
    struct error ignored;
    struct arena arena = {0};
    char file[OBJECT_ID_TEXT] = "";
    if (repository_commit(&head, context->repository, "HEAD", &arena, &ignored) == 0 &&
        repository_path_id(file, context->repository, head.id, POLICY_PATH, &ignored))
        file[0] = '\0';
    arena_free(&arena);
    return error_set(err,
                     file[0]
                         ? "%s: not there, but at HEAD: until the next commit its gate is "
                           "`plumb gate --base HEAD`; or give --policy"
                         : "%s: not there; commit one (`plumb capture --write -- PROGRAM` or "
                           "`plumb init` writes it, `plumb gate --base HEAD` is its first gate) "
                           "or give --policy",
                     label);
}

static int read_policy(struct context *context, const char *commit, struct error *err)
{
    const struct options *options = context->options;
    // Who names a file gives its word, but not to a file that a stranger's commit put there.
    if (options->policy)
        return repository_refuse_brought(options->policy, BROUGHT_ANYTHING, err)
                   ? -1
                   : policy_load(&context->policy, options->policy, err);
    if (!*commit && !repository_is_bare(context->repository) && !is_left_out(context)) {
        char *path = xprintf("%s/" POLICY_PATH, repository_directory(context->repository));
        int status = repository_refuse_brought(path, BROUGHT_LINKS, err)
                         ? -1
                         : policy_load(&context->policy, path, err);
        free(path);
        return status;
    }
    struct commit head;
    if (!*commit && !repository_is_bare(context->repository))
        progress_note(&context->progress, POLICY_PATH " is not checked out, so HEAD's is read");
    if (!*commit && repository_commit(&head, context->repository, "HEAD", &context->arena, err))
        return -1;
    char *text = NULL, label[POLICY_PATH_TEXT], file[OBJECT_ID_TEXT];
    size_t size;
    const char *id = *commit ? commit : head.id;
    snprintf(label, sizeof(label), POLICY_PATH " at %.10s", id);
    if (repository_path_id(file, context->repository, id, POLICY_PATH, err))
        return -1;
    if (!file[0])
        return refuse_absent(context, label, err);
    if (repository_read(&text, &size, context->repository, id, POLICY_PATH, err))
        return -1;
    int status = policy_parse(&context->policy, text, size, label, err);
    free(text);
    return status;
}

// Reads the policy at the tip of the trusted branch. *known: it has one; *same: it is this policy.
// If it cannot be read that is an error, because otherwise a change could choose among older ones.
static int read_trusted(struct policy *out, bool *known, bool *same, const struct context *context,
                        const char *commit, const struct repository_trust *trust, struct error *err)
{
    char ours[OBJECT_ID_TEXT] = "", theirs[OBJECT_ID_TEXT] = "", label[POLICY_PATH_TEXT];
    struct error why;
    char *text = NULL;
    size_t size = 0;
    *known = *same = false;
    if (!trust->branch)
        return 0;
    snprintf(label, sizeof(label), POLICY_PATH " at %.10s", trust->commit);
    if ((*commit && repository_path_id(ours, context->repository, commit, POLICY_PATH, &why)) ||
        repository_path_id(theirs, context->repository, trust->commit, POLICY_PATH, &why))
        goto unread;
    *known = theirs[0];
    if (!*known && *commit && repository_accepts(context->repository, trust, commit))
        return error_set(err,
                         "%s: %s, which had it, has no policy any more, and says what is trusted: "
                         "put one there, or give one by --policy",
                         context->policy.label, trust->branch);
    *same = *known && strcmp(ours, theirs) == 0;
    if (!*known || *same)
        return 0;
    if (repository_read(&text, &size, context->repository, trust->commit, POLICY_PATH, &why) ||
        policy_parse(out, text, size, label, &why))
        goto unread;
    free(text);
    *same = strcmp(out->text, context->policy.text) == 0;
    return 0;
unread:
    free(text);
    return error_set(err,
                     "%.400s; it is the policy of %s, which says what is trusted: mend it there, "
                     "or give one by --policy",
                     why.text, trust->branch);
}

static bool same_names(const char *const *a, size_t a_count, const char *const *b, size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = strcmp(a[i], b[i]) == 0;
    return same;
}

// Whether two policies build in the same way. A commit is built by its base's policy, because the
// trusted branch's newest one may name files that did not exist then. What only the newest one
// builds is not judged, and that must be said.
static bool builds_alike(const struct policy *ours, const struct policy *trusted)
{
    const struct recipe *a = &ours->recipe, *b = &trusted->recipe;
    for (size_t i = 0; i < trusted->capture_count; i++) {
        bool known = false;
        for (size_t j = 0; j < ours->capture_count; j++)
            known |= strcmp(ours->captures[j].name, trusted->captures[i].name) == 0;
        if (!known)
            return false;
    }
    return strcmp(a->command ? a->command : "", b->command ? b->command : "") == 0 &&
           strcmp(a->outputs, b->outputs) == 0 &&
           same_names(a->inputs, a->input_count, b->inputs, b->input_count) &&
           same_names(a->without, a->without_count, b->without, b->without_count);
}

// The newest command counts (policy_confine()), and older commits may not have what it runs.
static bool captures_alike(const struct policy *ours, const struct policy *trusted)
{
    for (size_t i = 0; i < ours->capture_count; i++) {
        for (size_t j = 0; j < trusted->capture_count; j++) {
            const struct policy_capture *a = &ours->captures[i], *b = &trusted->captures[j];
            if (strcmp(a->name, b->name) == 0 && strcmp(a->command, b->command) != 0)
                return false;
        }
    }
    return true;
}

// Reports which keys of the policy do not count, and notes it in the run, so that every report says
// whose policy judged. A first policy of which nothing is ignored is only named there.
static void tell_joined(struct context *context, const struct repository_trust *trust, bool known,
                        bool changed)
{
    struct policy *policy = &context->policy;
    const bool alike = !context->otherwise;
    const char *whose = arena_printf(
        &policy->arena, "%s alone, which is not that of a trusted branch", policy->label);
    if (known)
        whose = arena_printf(&policy->arena, "%s and that of %s at %.10s, whichever is stricter%s",
                             policy->label, trust->branch, trust->commit,
                             alike ? ""
                                   : "; built as the former says, so what only the latter "
                                     "builds or captures is not judged");
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_POLICY_NOTE "%s\n", policy->text, whose);
    if (known)
        progress_note(&context->progress,
                      "%s is not that of %s: what is judged goes by both, whichever is stricter "
                      "(`git config plumb.trustCheckout true` if this repository's commits are "
                      "yours)",
                      policy->label, trust->branch);
    if (!alike)
        progress_note(&context->progress,
                      "%s builds otherwise than %s does by now: a kernel that only the latter "
                      "builds or captures is not judged; merge that branch to have it judged",
                      policy->label, trust->branch);
    if (!known && changed)
        progress_note(&context->progress,
                      "%s is not that of a trusted branch: its sandbox, pass and trust count only "
                      "where they are stricter (`git config plumb.trustCheckout true` if this "
                      "repository's commits are yours)",
                      policy->label);
}

// Whether the policy belongs to a commit of the trusted branch: to `commit`, or to the checkout if
// it was not changed.
static bool is_accepted(const struct context *context, const char *commit,
                        const struct repository_trust *trust)
{
    struct arena arena = {0};
    struct commit head;
    struct error ignored;
    char *text = NULL;
    size_t size = 0;
    const char *id = commit;
    if (!*id && repository_commit(&head, context->repository, "HEAD", &arena, &ignored) == 0)
        id = head.id;
    bool accepted = *id && repository_accepts(context->repository, trust, id);
    if (accepted && !*commit)
        accepted =
            repository_read(&text, &size, context->repository, id, POLICY_PATH, &ignored) == 0 &&
            strcmp(text, context->policy.text) == 0;
    free(text);
    arena_free(&arena);
    return accepted;
}

// Refuses to go on if no main branch is known whose tip could say what is trusted. Otherwise a
// change's own policy could decide what is built and how it is judged.
static int say_nobodys(const struct context *context, struct error *err)
{
    struct repository_trust trust;
    repository_trusted(&trust, context->repository);
    return error_set(err,
                     "%s: the remote's main branch is not known here%s, so this policy may be a "
                     "stranger's own: %s, or, where the commits are your own, give the policy by "
                     "--policy or say `git config plumb.trustCheckout true`",
                     context->policy.label, trust.unclear ? " (it has a main and a master)" : "",
                     trust.unclear ? "say which one it is (`git remote set-head origin main`)"
                                   : "fetch that branch (`git fetch origin "
                                     "+refs/heads/main:refs/remotes/origin/main`; one of another "
                                     "NAME also needs `git remote set-head origin NAME`)");
}

// Confines a policy that a change may have chosen: a stranger may have written it, or picked it
// from all that the trusted branch ever had.
static int confine(struct context *context, const char *commit, struct error *err)
{
    struct repository_trust trust;
    bool same, known, changed = false;
    repository_trusted(&trust, context->repository);
    if (trust.own)
        return 0;
    context->nobodys = !trust.branch;
    if (context->nobodys && *commit)
        return say_nobodys(context, err);
    if (read_trusted(&context->trusted, &known, &same, context, commit, &trust, err))
        return -1;
    if (same)
        return 0;
    context->foreign = !is_accepted(context, commit, &trust);
    if (known && !captures_alike(&context->policy, &context->trusted))
        context->recaptured = trust.branch;
    if (policy_confine(&changed, &context->policy, known ? &context->trusted : NULL, err))
        return -1;
    context->first = !known && !changed;
    if (known && !builds_alike(&context->policy, &context->trusted))
        context->otherwise = trust.branch;
    if (changed || !known || context->otherwise)
        tell_joined(context, &trust, known, changed);
    return 0;
}

bool context_strangers(const struct context *context, const char *commit)
{
    struct repository_trust trust;
    repository_trusted(&trust, context->repository);
    return !trust.own && !repository_accepts(context->repository, &trust, commit);
}

int context_may_build(struct context *context, const struct commit *commit, struct error *err)
{
    const bool strangers = context_strangers(context, commit->id);
    if (!strangers && !context->foreign)
        return 0;
    context->sandbox.required |= context->asked == SANDBOX_UNSAID;
    return needs_sandbox(context, strangers ? commit->id : NULL, err);
}

int context_policy(struct context *context, const char *commit, struct error *err)
{
    struct policy *policy = &context->policy;
    if (read_policy(context, commit, err))
        return -1;
    if (!context->options->policy && confine(context, commit, err))
        return -1;
    const char *only = context_selection(context, &policy->arena);
    if (*only)
        policy->text =
            arena_printf(&policy->arena, "%s\n" RUN_REQUEST_NOTE "%s\n", policy->text, only);
    if (context->options->seconds)
        policy->gate.seconds = context->options->seconds;
    return 0;
}

static int make_directory(const char *path, struct error *err)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return error_set(err, "%s: %s; give --store and --cache elsewhere", path, strerror(errno));
    return 0;
}

int context_open(struct context *context, const struct options *options, struct error *err)
{
    memset(context, 0, sizeof(*context));
    context->options = options;
    progress_init(&context->progress, options->quiet);
    const char *where = options->repository ? options->repository : ".";
    if (repository_open(&context->repository, where, err))
        return -1;
    context->state =
        arena_printf(&context->arena, "%s/%s", repository_directory(context->repository),
                     repository_is_bare(context->repository) ? "plumb" : STATE);
    return 0;
}

// Opens the state directory. It must not come from a commit: such a cache could contain false
// builds of the base, such a store false measurements, and both could be links to another place.
static int open_state(struct context *context, struct error *err)
{
    struct repository_trust trust;
    bool tracked = false;
    if (!repository_is_bare(context->repository) &&
        repository_tracks(&tracked, context->repository, STATE, err))
        return -1;
    if (!tracked)
        return 0;
    repository_trusted(&trust, context->repository);
    return trust.own ? 0
                     : error_set(err,
                                 "%s: came with the commit that is checked out, which may be a "
                                 "stranger's, so no build and no result in it is believed; give "
                                 "--store and --cache elsewhere (or `git config "
                                 "plumb.trustCheckout true` if this checkout is yours)",
                                 context->state);
}

// Opens a store that an option names. If a folder must be made for it, a message says so, because
// the name may be misspelt.
static int open_named_store(struct context *context, const char *path, enum store_mode mode,
                            struct error *err)
{
    const char *slash = strrchr(path, '/');
    const char *folder = slash && slash > path
                             ? arena_printf(&context->arena, "%.*s", (int)(slash - path), path)
                             : NULL;
    const bool made = mode == STORE_WRITE && folder && access(folder, F_OK) && errno == ENOENT;
    if (repository_refuse_brought(path, BROUGHT_ANYTHING, err) ||
        store_open(&context->store, path, mode, err))
        return -1;
    if (made)
        progress_note(&context->progress, "made the folder %s for the store", folder);
    return 0;
}

int context_store(struct context *context, enum store_mode mode, struct error *err)
{
    const char *path = context->options->store;
    if (path)
        return open_named_store(context, path, mode, err);
    if (open_state(context, err) ||
        (mode == STORE_WRITE &&
         (make_directory(context->state, err) || text_file_ignore(context->state, err))))
        return -1;
    path = arena_printf(&context->arena, "%s/store.db", context->state);
    return store_open(&context->store, path, mode, err);
}

// Opens the overlay. A commit must not name a folder of this machine for its builds to read. Only
// the person who runs the tool may, by --overlay or in a policy given by --policy; a relative path
// begins at that policy's folder.
static int open_overlay(struct context *context, struct error *err)
{
    struct policy *policy = &context->policy;
    const struct options *options = context->options;
    const char *directory = options->overlay, *slash = NULL;
    if (!directory && !policy->overlay)
        return 0;
    if (!directory && !options->policy)
        return error_set(err,
                         "%s: build.overlay = %.80s: a committed policy cannot name a folder "
                         "outside of the commit; give --overlay, or the policy by --policy",
                         policy->label, policy->overlay);
    if (!directory && policy->overlay[0] != '/')
        slash = strrchr(options->policy, '/');
    if (!directory)
        directory = slash ? arena_printf(&context->arena, "%.*s/%s", (int)(slash - options->policy),
                                         options->policy, policy->overlay)
                          : policy->overlay;
    if (overlay_open(&context->overlay, directory, &context->arena, err))
        return -1;
    policy->recipe.overlay = &context->overlay;
    const char *name = strrchr(context->overlay.directory, '/') + 1;
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_OVERLAY_NOTE "%s, content %.12s\n",
                                policy->text, name, context->overlay.id);
    return 0;
}

// Reports that builds are not confined: as a message and in the run, so that every report says it.
static void tell_unconfined(struct context *context)
{
    struct policy *policy = &context->policy;
    progress_note(&context->progress, "builds and kernels run unconfined: %s",
                  context->sandbox.reason);
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_UNCONFINED_NOTE "%s\n", policy->text,
                                context->sandbox.reason);
}

static void tell_unlimited(struct context *context)
{
    struct policy *policy = &context->policy;
    progress_note(&context->progress,
                  "no control group holds builds and kernels, what they use is watched: %s",
                  context->sandbox.no_group);
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_UNLIMITED_NOTE "%s\n", policy->text,
                                context->sandbox.no_group);
}

int context_sandbox_probe(struct context *context, struct error *err)
{
    enum sandbox_mode mode = context->policy.sandbox;
    const char *asked = context->options->sandbox;
    if (asked && sandbox_mode_parse(&mode, asked))
        return error_set(err, "--sandbox=%.40s: is auto, require or off", asked);
    context->asked = mode;
    return sandbox_probe(&context->sandbox, mode, err);
}

// Makes a folder for references computed by libraries. Only problems that are no GEMM have these.
static int make_references(struct context *context, struct error *err)
{
    bool wanted = false;
    for (size_t i = 0; i < context->policy.set_count; i++) {
        const struct policy_set *set = &context->policy.sets[i];
        for (size_t k = 0; k < set->count; k++)
            wanted |= set->problems[k].number_count > 0;
    }
    if (!wanted || context->references[0])
        return 0;
    return files_temporary(context->references, sizeof(context->references), err);
}

void context_tell_edits(struct context *context, const char *commit)
{
    const struct recipe *recipe = &context->policy.recipe;
    struct arena arena = {0};
    struct path_list edited = {0};
    struct commit head;
    struct error ignored; // an index that cannot be read tells nothing about a commit
    if (!repository_is_bare(context->repository) &&
        repository_commit(&head, context->repository, "HEAD", &arena, &ignored) == 0 &&
        strcmp(head.id, commit) == 0 &&
        repository_edited(&edited, context->repository, commit, recipe->inputs, recipe->input_count,
                          &arena, &ignored) == 0 &&
        edited.count)
        progress_note(&context->progress,
                      "%.200s%s of the checkout %s edited and not committed: %.10s is measured "
                      "without that",
                      edited.items[0],
                      edited.count > 1 ? arena_printf(&arena, " and %zu other %s", edited.count - 1,
                                                      plural(edited.count - 1, "file", "files"))
                                       : "",
                      edited.count > 1 ? "are" : "is", commit);
    arena_free(&arena);
}

int context_builder(struct context *context, struct error *err)
{
    if (context->nobodys)
        return say_nobodys(context, err);
    if (open_overlay(context, err) || context_sandbox_probe(context, err) ||
        toolchain_detect(&context->toolchain, &context->sandbox, err))
        return -1;
    if (!context->sandbox.active)
        tell_unconfined(context);
    else if (!context->sandbox.scope && !context->sandbox.grouped)
        tell_unlimited(context);
    const char *cache = context->options->cache;
    if (!cache) {
        if (open_state(context, err) || make_directory(context->state, err) ||
            text_file_ignore(context->state, err))
            return -1;
        cache = arena_printf(&context->arena, "%s/cache", context->state);
    } else if (repository_refuse_brought(cache, BROUGHT_ANYTHING, err) ||
               make_directory(cache, err)) {
        return -1;
    }
    char *absolute = realpath(cache, NULL);
    if (!absolute && make_directory(cache, err))
        return -1;
    if (!absolute)
        absolute = realpath(cache, NULL);
    if (!absolute)
        return error_set(err, "%s: %s", cache, strerror(errno));
    cache = arena_strdup(&context->arena, absolute);
    free(absolute);
    context->bench_log = arena_printf(&context->arena, "%s/bench.log", cache);
    context->kept = arena_printf(&context->arena, "%s/" BUILD_KEPT, cache);
    if (!context->options->dry_run) {
        build_tidy(cache);
        if (make_directory(context->kept, err) || make_references(context, err))
            return -1;
    }
    context->builder = (struct builder){cache, &context->sandbox, &context->toolchain};
    return 0;
}

static void note_bench(void *data, const char *text)
{
    static atomic_uint_least64_t last; // each process of a gate may say the same
    struct context *context = data;
    const uint64_t now = hash_text(HASH_START, text);
    if (atomic_exchange(&last, now) != now)
        progress_note(&context->progress, "bench: %s", text);
}

static int ask_bench(struct bench **out, const struct bench_plan *plan, struct error *err)
{
    struct bench_plan asks = *plan;
    asks.ask = true;
    return bench_begin(out, &asks, err);
}

typedef int bench_starter(struct bench **out, const struct bench_plan *plan, struct error *err);

static int start_bench(struct bench **out, bench_starter *start, struct context *context,
                       const struct context_device *device, const char *const *directories,
                       size_t directory_count, struct error *err)
{
    // Each unit has a log of its own.
    const int unit = device->index - device->policy->index;
    char *log = unit ? xprintf("%s.%d", context->bench_log, unit) : xstrdup(context->bench_log);
    // A program that a toolchain built may load libraries of the toolchain's prefix.
    const char **shown = xcalloc(directory_count + context->toolchain_count + 1, sizeof(*shown));
    size_t shown_count = directory_count;
    if (directory_count)
        memcpy(shown, directories, directory_count * sizeof(*shown));
    for (size_t i = 0; i < context->toolchain_count; i++) {
        if (context->toolchains[i].prefix && !context->toolchains[i].root)
            shown[shown_count++] = context->toolchains[i].prefix;
    }
    const struct bench_plan plan = {
        .program = context->options->bench,
        .kind = device->policy->kind,
        .index = device->index,
        .sandbox = &context->sandbox,
        .read_only = shown,
        .read_only_count = shown_count,
        .build_count = directory_count,
        .kept = context->kept,
        .references = context->references[0] ? context->references : NULL,
        .log_path = log,
        .limits = {.open_s = context->policy.timeout_s, .measure_s = context->policy.timeout_s},
        .note = note_bench,
        .note_context = context,
    };
    const int status = start(out, &plan, err); // which copies the plan
    free(shown);
    free(log);
    return status;
}

int context_lister(struct bench **out, struct context *context, const char *const *directories,
                   size_t directory_count, struct error *err)
{
    static const struct policy_device none = {.name = "none", .kind = "none"};
    static const struct context_device device = {.policy = &none};
    return start_bench(out, bench_start, context, &device, directories, directory_count, err);
}

int context_bench(struct bench **out, struct context *context, const struct context_device *device,
                  const char *const *directories, size_t directory_count, struct error *err)
{
    return start_bench(out, bench_start, context, device, directories, directory_count, err);
}

static void tell(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "bench: %s\n", text);
}

int context_sandbox_of(struct sandbox *out, char **checkout, const char *path, const char *asked,
                       struct error *err)
{
    enum sandbox_mode mode = SANDBOX_UNSAID;
    *checkout = NULL;
    if (asked && sandbox_mode_parse(&mode, asked))
        return error_set(err, "--sandbox=%.40s: is auto, require or off", asked);
    if (repository_strangers(checkout, path, err) || sandbox_probe(out, mode, err))
        return -1;
    out->required |= mode == SANDBOX_UNSAID && *checkout;
    if (out->active || mode != SANDBOX_UNSAID || !*checkout)
        return 0;
    error_set(
        err,
        "no sandbox, and the checkout of %.300s may be a stranger's pull request: %s; " SANDBOX_WAY
        ", or, where the code is your own, say so: --sandbox=auto, or `git config "
        "plumb.trustCheckout true`",
        path, out->reason);
    free(*checkout);
    *checkout = NULL;
    return -1;
}

int library_bench_start(struct library_bench *out, const char *library,
                        const struct options *options, const char *kind, struct error *err)
{
    char *checkout;
    *out = (struct library_bench){.library = realpath(library, NULL)};
    if (!out->library)
        return error_set(err, "%s: %s", library, strerror(errno));
    if (context_sandbox_of(&out->sandbox, &checkout, out->library, options->sandbox, err))
        return -1;
    free(checkout);
    if (!out->sandbox.active)
        fprintf(stderr, "plumb: no sandbox: %s\n", out->sandbox.reason);
    out->directory = xstrdup(out->library);
    *strrchr(out->directory, '/') = '\0';
    const char *const directories[] = {out->directory};
    const struct bench_plan plan = {.program = options->bench,
                                    .kind = kind,
                                    .sandbox = &out->sandbox,
                                    .read_only = directories,
                                    .read_only_count = 1,
                                    .note = tell};
    return bench_start(&out->bench, &plan, err);
}

void library_bench_stop(struct library_bench *bench)
{
    bench_stop(bench->bench);
    free(bench->directory);
    free(bench->library);
}

int context_begin_bench(struct bench **out, struct context *context,
                        const struct context_device *device, const char *const *directories,
                        size_t directory_count, struct error *err)
{
    return start_bench(out, bench_begin, context, device, directories, directory_count, err);
}

// Starts a child that is only asked for the device's description.
static int context_ask(struct bench **out, struct context *context,
                       const struct context_device *device, struct error *err)
{
    return start_bench(out, ask_bench, context, device, NULL, 0, err);
}

void context_leave(struct context *context, struct bench *bench)
{
    if (!bench)
        return;
    if (context->leaving_count == UNITS_MOST)
        context_end_leaving(context);
    bench_leave(bench);
    context->leaving[context->leaving_count++] = bench;
}

void context_end_leaving(struct context *context)
{
    for (size_t i = 0; i < context->leaving_count; i++)
        bench_stop(context->leaving[i]);
    context->leaving_count = 0;
}

void context_close(struct context *context)
{
    struct error ignored;
    context_end_leaving(context);
    if (context->references[0])
        files_remove(context->references, &ignored);
    progress_end(&context->progress);
    toolchain_free(&context->toolchain);
    for (size_t i = 0; i < context->toolchain_count; i++)
        toolchain_free(&context->toolchains[i]);
    store_close(context->store);
    policy_free(&context->policy);
    policy_free(&context->trusted);
    repository_close(context->repository);
    arena_free(&context->arena);
    memset(context, 0, sizeof(*context));
}

// ---- the profile of a device ----

// Chooses the profile that models use for a device, from the driver's, shipped and calibrated
// figures. The shipped figures are in model/gpu/.

static void take(struct context_device *device, struct context *context,
                 const struct bench_figure *f)
{
    struct figure *target = gpu_figure(&device->gpu, f->key);
    if (!target || !f->stable)
        return;
    *target = (struct figure){f->value, ORIGIN_CALIBRATED,
                              arena_printf(&context->arena, "measured here, %u %s, cv %.2f %%",
                                           f->repeats, plural(f->repeats, "repeat", "repeats"),
                                           f->cv * 100)};
}

// Prints one line about readings that did not repeat, for commands without a table of readings.
static void tell_refused(struct context *context, const struct bench_figure_list *figures)
{
    struct buffer names = {0};
    for (size_t i = 0; i < figures->count; i++) {
        if (!figures->items[i].stable)
            buffer_printf(&names, "%s%s", names.length ? ", " : "", figures->items[i].key);
    }
    if (names.length)
        progress_note(&context->progress,
                      "profile: not steady here, so predictions go without: %s; `plumb calibrate` "
                      "measures again",
                      names.bytes);
    buffer_free(&names);
}

int profile_measure(struct bench_figure_list *readings, struct context_device *device,
                    struct context *context, struct bench *bench, const char *only,
                    struct error *err)
{
    struct bench_outcome outcome;
    struct bench_figure_list figures = {0};
    if (bench_calibrate(&outcome, &figures, bench, only, &context->arena, err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "device %s: %s", device->policy->name, outcome.detail);
    progress_end(&context->progress);
    for (size_t i = 0; i < figures.count; i++)
        take(device, context, &figures.items[i]);
    if (readings)
        *readings = figures;
    else
        tell_refused(context, &figures);
    return store_save_profile(context->store, &device->unit, &device->gpu, err);
}

void profile_shipped(struct gpu *out, const struct device *device, const struct gpu *drivers,
                     struct arena *arena)
{
    const struct gpu *shipped = gpu_for_device(device->name);
    gpu_overlay(out, drivers);
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        struct figure *figure = gpu_figure(out, gpu_figure_key(i));
        if (figure->origin == ORIGIN_DEVICE)
            figure->source = "the driver"; // the child's own text is gone when the child ends
    }
    out->name = shipped ? shipped->name : arena_strdup(arena, device->kind);
    if (shipped)
        gpu_overlay(out, shipped);
}

enum { GEMMS_LEAST = 5 };

// The mean error of `hopper` over a run's correct times on a device.
static double error_on(size_t *used, const struct gpu *gpu, const struct run *run, const char *uuid)
{
    double sum = 0;
    *used = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const double time_ns = measurement_time_ns(&r->head);
        if (r->head.state != MEASURED_OK || !(time_ns > 0) ||
            strcmp(run->devices[r->device].uuid, uuid) != 0)
            continue;
        const struct predict_input in = {.gpu = gpu, .traits = &r->traits, .problem = &r->problem};
        const struct prediction p = model_find("hopper")->predict(&in);
        if (p.feasible) {
            sum += fabs(p.time_ns / time_ns - 1);
            (*used)++;
        }
    }
    return *used ? sum / (double)*used : 0;
}

int profile_stays(char **why, const struct gpu *calibrated, const struct gpu *shipped,
                  struct store *store, const char *uuid, struct error *err)
{
    struct run run = {0};
    int64_t id = 0;
    size_t used;
    *why = NULL;
    if (store_last_run(&id, store, STORE_ALL_RUNS, err) ||
        (id && store_load_run(&run, store, id, err)))
        return -1;
    const double measured = error_on(&used, calibrated, &run, uuid);
    const double as_shipped = error_on(&used, shipped, &run, uuid);
    if (used >= GEMMS_LEAST && measured > as_shipped)
        *why =
            xprintf("profile %s as shipped: on %zu times of the newest run on that device what was "
                    "calibrated is off by %.1f %%, this by %.1f %%",
                    shipped->name, used, 100 * measured, 100 * as_shipped);
    if (used < GEMMS_LEAST && shipped->judged)
        *why =
            xprintf("profile %s as shipped, which was held to measured times: what was calibrated "
                    "waits for %d of that device in the newest run",
                    shipped->name, GEMMS_LEAST);
    run_free(&run);
    return 0;
}

// Fills in device->gpu; calibrates a host that has no profile yet.
static int profile_resolve(struct context_device *device, struct context *context,
                           struct bench *bench, struct error *err)
{
    struct arena *arena = &context->arena;
    struct gpu calibrated = {0};
    bool found = false;
    profile_shipped(&device->gpu, bench_device(bench), bench_gpu(bench), arena);
    device->unit.profile = device->gpu.name;
    if (store_load_profile(&calibrated, &found, context->store, device->unit.uuid, arena, err))
        return -1;
    const struct gpu as_shipped = device->gpu;
    char *stays = NULL;
    if (found)
        gpu_overlay(&device->gpu, &calibrated);
    if (found && gpu_find(as_shipped.name) &&
        profile_stays(&stays, &device->gpu, &as_shipped, context->store, device->unit.uuid, err))
        return -1;
    if (stays)
        device->gpu = as_shipped;
    if (found && strcmp(device->unit.kind, "host"))
        progress_note(&context->progress, stays ? "%s" : "profile: %s as measured on this device",
                      stays ? stays : device->gpu.name);
    free(stays);
    // A host has no shipped profile. If its peak was refused (at a busy moment), it is calibrated
    // again.
    const bool unknown = !(device->gpu.flops_clk_fp32.value > 0);
    if (strcmp(device->unit.kind, "host") == 0 && unknown && !context->options->dry_run) {
        progress_note(&context->progress, "measuring the profile of this machine");
        return profile_measure(NULL, device, context, bench, NULL, err);
    }
    return 0;
}

// ---- devices ----

// Finds which of the policy's devices are here, and how the others are treated. A bench is started
// on each once, only to identify it.

// Whether the toolchain has nvcc; its text says "nvcc: -" if not.
static bool has_nvcc(const struct context *context)
{
    const char *line = strstr(context->toolchain.text, "nvcc: ");
    return line && line[6] != '-' && line[6] != '\n';
}

static bool wants_static(const struct context *context, const struct policy_device *wanted)
{
    const enum static_use use = context->options->static_use;
    if (strcmp(wanted->kind, "cuda") != 0 || use == STATIC_NEVER)
        return false;
    if (use == STATIC_LIST)
        return wanted->required || context->options->device;
    return use == STATIC_ONLY ||
           (!wanted->required && !context->policy.gate.static_off && has_nvcc(context));
}

static int add_away_device(struct context *context, const struct policy_device *wanted,
                           bool is_static, struct error *err)
{
    const char *profile = wanted->profile ? wanted->profile : "h200-sxm";
    const struct gpu *gpu = gpu_find(profile);
    struct arena *arena = &context->arena;
    if (!gpu)
        return error_set(err,
                         "%s: [device \"%.60s\"] profile = %.60s: `plumb list gpus` names those "
                         "there are",
                         context->policy.label, wanted->name, profile);
    struct context_device *device = &context->devices[context->device_count++];
    *device = (struct context_device){
        .away = true, .is_static = is_static, .policy = wanted, .gpu = *gpu};
    device->unit = (struct device){
        .kind = wanted->kind,
        .uuid = is_static ? arena_printf(arena, DEVICE_STATIC "%s", gpu->name)
                          : arena_printf(arena, "away:%s", wanted->name),
        .name = is_static ? arena_printf(arena, "no device (static, %s)", gpu->name)
                          : arena_printf(arena, "no device (%s is not here)", wanted->name),
        .driver = "",
        .runtime = "",
        .profile = gpu->name,
    };
    if (is_static)
        progress_note(
            &context->progress,
            context->options->static_use == STATIC_LIST
                ? "device %s is not here; its kernels are listed all the same"
                : "device %s: kernels are judged by their code alone (static), nothing is "
                  "measured",
            wanted->name);
    return 0;
}

// ---- the units of one device

// A bench that is starting.
struct starting {
    struct context_device device; // only policy and index are known
    struct bench *bench;          // NULL: it did not start, for the reason in `why`
    struct error why;
};

// Starts the children of all units at the same time, because each start is slow.
static void start_all(struct starting *units, size_t count, struct context *context)
{
    for (size_t i = 0; i < count; i++) {
        if (context_ask(&units[i].bench, context, &units[i].device, &units[i].why))
            units[i].bench = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (units[i].bench && bench_ready(units[i].bench, &units[i].why)) {
            bench_stop(units[i].bench);
            units[i].bench = NULL;
        }
    }
}

static struct device copy_unit(const struct device *seen, struct arena *arena)
{
    return (struct device){
        .kind = arena_strdup(arena, seen->kind),
        .uuid = arena_strdup(arena, seen->uuid),
        .name = arena_strdup(arena, seen->name),
        .driver = arena_strdup(arena, seen->driver),
        .runtime = arena_strdup(arena, seen->runtime),
        .profile = "",
    };
}

// Why a further unit cannot be used beside the first; NULL: it can.
static const char *unlike(const struct context_device *first, const struct device *next,
                          struct arena *arena)
{
    if (first->units && strcmp(first->unit.name, next->name) != 0)
        return arena_printf(arena, "it is a %s", next->name);
    if (first->units && strcmp(first->unit.driver, next->driver) != 0)
        return arena_printf(arena, "its driver is %s", next->driver);
    for (size_t i = 0; i < first->units; i++) {
        if (strcmp(first[i].unit.uuid, next->uuid) == 0)
            return "it is there already";
    }
    return NULL;
}

// Whether a device was taken out of use. *text says so and what to do; NULL: it was not.
static int ask_out(const char **text, const char **why, struct context *context,
                   const struct policy_device *wanted, const char *uuid, struct error *err)
{
    struct device_entry_state state;
    bool found = false;
    *text = NULL;
    if (!context->store || context->options->static_use == STATIC_LIST)
        return 0;
    if (store_device_state(&state, &found, context->store, uuid, &context->arena, err))
        return -1;
    if (!found || !state.out)
        return 0;
    *why = state.why;
    *text =
        arena_printf(&context->arena, "device %s (%s) was taken out: %s; `plumb doctor --clear %s`",
                     wanted->name, uuid, state.why, uuid);
    return 0;
}

// Adds the units of one device of the policy, one after the other. A unit may have been taken out
// of use (`plumb doctor --clear` brings it back); out_text and out_why say which one, and why.
struct units {
    struct context_device *first;
    const char *out_text, *out_why;
};

static int add_unit(struct units *all, struct context *context, const struct starting *s,
                    struct error *err)
{
    struct context_device *device = &context->devices[context->device_count];
    const struct policy_device *wanted = s->device.policy;
    const struct device *seen = bench_device(s->bench);
    const char *text, *different = unlike(all->first, seen, &context->arena);
    if (different) {
        progress_note(&context->progress, "device %s: unit %d is left out: %s", wanted->name,
                      s->device.index, different);
        return 0;
    }
    if (ask_out(&text, &all->out_why, context, wanted, seen->uuid, err))
        return -1;
    if (text) {
        all->out_text = text;
        if (wanted->units > 1)
            progress_note(&context->progress, "%s brings it back", text);
        return 0;
    }
    const size_t units = all->first->units;
    *device = s->device;
    device->unit = copy_unit(seen, &context->arena);
    // A command that only lists needs no figures, and does not wait for them.
    if (context->options->static_use != STATIC_LIST &&
        profile_resolve(device, context, s->bench, err))
        return -1;
    all->first->units = units + 1;
    context->device_count++;
    return 0;
}

// ---- one device of the policy

// Refuses a device that was taken out; it counts as away.
static int refuse_out(const struct units *all, struct context *context,
                      const struct policy_device *wanted, struct error *err)
{
    if (wanted->required || context->options->device)
        return error_set(err, "%s", all->out_text);
    if (wanted->units <= 1)
        progress_note(&context->progress, "%s brings it back", all->out_text);
    if (context->options->static_use == STATIC_NEVER)
        return 0;
    if (add_away_device(context, wanted, false, err))
        return -1;
    struct context_device *device = &context->devices[context->device_count - 1];
    device->out = all->out_why;
    device->unit.name = arena_printf(&context->arena, "no device (%s is taken out)", wanted->name);
    return 0;
}

static int miss_device(struct context *context, const struct policy_device *wanted, const char *why,
                       struct error *err)
{
    static const char goes_on[] = "`required = false` in its section goes on without it";
    if (wants_static(context, wanted))
        return add_away_device(context, wanted, true, err);
    if (wanted->required || context->options->device)
        return error_set(err, "device %s: %.400s; %s%s", wanted->name, why, goes_on,
                         strcmp(wanted->kind, "cuda") != 0 ? ""
                         : policy_captures_alone(&context->policy)
                             ? "; captures are taken, and judged, where the GPU is"
                             : ", `plumb gate --static` compares machine code");
    progress_note(&context->progress, "device %s is not here, its kernels are not measured: %s",
                  wanted->name, why);
    return context->options->static_use == STATIC_NEVER
               ? 0
               : add_away_device(context, wanted, false, err);
}

// Treats a device that is here as absent, if the policy asks for a device of another profile.
static void refuse_other(struct starting *s)
{
    const struct policy_device *wanted = s->device.policy;
    if (!s->bench || !wanted->exact)
        return;
    const char *name = bench_device(s->bench)->name;
    const char *profile = wanted->profile ? wanted->profile : "h200-sxm";
    const struct gpu *gpu = gpu_for_device(name);
    if (gpu && strcmp(gpu->name, profile) == 0)
        return;
    error_set(&s->why, "this is %.100s, no %.60s", name, profile);
    bench_stop(s->bench);
    s->bench = NULL;
}

static int add_units(struct units *all, struct context *context, struct starting *units,
                     size_t count, struct error *err)
{
    size_t here = 0;
    int status = 0;
    start_all(units, count, context);
    for (size_t i = 0; i < count; i++) {
        refuse_other(&units[i]);
        here += units[i].bench != NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (units[i].bench && status == 0)
            status = add_unit(all, context, &units[i], err);
        else if (here && !units[i].bench)
            progress_note(&context->progress, "device %s: unit %d is not here: %s",
                          units[i].device.policy->name, units[i].device.index, units[i].why.text);
        context_leave(context, units[i].bench);
    }
    return status;
}

static size_t units_wanted(const struct context *context, const struct policy_device *wanted)
{
    return context->options->units && wanted->units ? wanted->units : 1;
}

static int add_device(struct context *context, const struct policy_device *wanted,
                      struct error *err)
{
    struct starting units[UNITS_MOST] = {0};
    struct units all = {.first = &context->devices[context->device_count]};
    const size_t count = units_wanted(context, wanted);
    if (context->options->static_use == STATIC_ONLY)
        return wants_static(context, wanted) ? add_away_device(context, wanted, true, err) : 0;
    for (size_t i = 0; i < count; i++)
        units[i].device =
            (struct context_device){.policy = wanted, .index = wanted->index + (int)i};
    if (add_units(&all, context, units, count, err))
        return -1;
    if (all.first->units)
        return 0;
    return all.out_text ? refuse_out(&all, context, wanted, err)
                        : miss_device(context, wanted, units[0].why.text, err);
}

int context_devices(struct context *context, struct error *err)
{
    const struct policy *policy = &context->policy;
    const char *only = context->options->device;
    bool known = !only;
    size_t most = 0;
    for (size_t i = 0; i < policy->device_count; i++)
        most += units_wanted(context, &policy->devices[i]);
    context->devices = arena_alloc(&context->arena, most * sizeof(*context->devices));
    for (size_t i = 0; i < policy->device_count; i++) {
        if (only && strcmp(only, policy->devices[i].name))
            continue;
        known = true;
        if (add_device(context, &policy->devices[i], err))
            return -1;
    }
    if (!known)
        return error_set(err, "%s: there is no [device \"%.60s\"]", policy->label, only);
    bool useful = false, cuda = false;
    for (size_t i = 0; i < context->device_count; i++)
        useful |= !context->devices[i].away || context->devices[i].is_static;
    for (size_t i = 0; i < policy->device_count; i++)
        cuda |= strcmp(policy->devices[i].kind, "cuda") == 0;
    if (!useful && !cuda && context->options->static_use == STATIC_ONLY)
        return error_set(err,
                         "%s: --static compares the machine code of CUDA kernels, and no [device] "
                         "is of kind cuda; without it the kernels are measured",
                         policy->label);
    if (!useful)
        return error_set(err, "%s: none of the policy's devices is on this machine%s",
                         policy->label,
                         context->options->static_use != STATIC_AUTO ? ""
                         : policy_captures_alone(policy)
                             ? ", and captures are taken, and judged, where the GPU is"
                             : "; with nvcc, `plumb gate --static` compares what it says");
    return 0;
}

const struct context_device *context_first_unit(const struct context *context,
                                                const struct context_device *device)
{
    while (device > context->devices && device->units == 0 && device[-1].policy == device->policy)
        device--;
    return device;
}

bool context_links(const struct context *context, const struct context_device *device)
{
    const char *link = context->policy.link;
    return link ? strcmp(link, "on") == 0 : strcmp(device->policy->kind, "cuda") == 0;
}

bool context_confirms(const struct context *context, const struct run *run, const struct result *r)
{
    const struct context_device *device = &context->devices[r->device];
    const bool silent = !context->policy.link && strcmp(device->policy->kind, "host") == 0;
    return silent && !device->away && !r->control && !run_names_toolchain(run);
}

// ---- commands that need only a store ----

// Opens the repository around a store that lies at plumb's usual place, because the repository says
// what was accepted.
static void open_around(struct context *context)
{
    struct error ignored; // then the store lies elsewhere
    char *path = realpath(store_path(context->store), NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = '\0';
    char *folder = slash ? strrchr(path, '/') : NULL;
    if (folder && strcmp(folder, "/" STATE) == 0)
        (void)repository_open(&context->repository, path, &ignored);
    free(path);
}

int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err)
{
    const bool opened = context->repository != NULL; // the command opened it, because it needs it
    if (!opened && (!options->store || options->repository) && context_open(context, options, err))
        return -1;
    context->options = options;
    if (context_store(context, mode, err))
        return -1;
    if (!context->repository)
        open_around(context);
    return 0;
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
