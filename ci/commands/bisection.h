// SPDX-License-Identifier: Apache-2.0
//
// One bisection as plumb bisect carries it out: what it searches and what came out so far.
#ifndef PLUMB_BISECTION_H
#define PLUMB_BISECTION_H

#include "ci/gate/built.h"
#include "ci/settings/context.h"
#include "model/gate/bisect.h"

// commits[0] is good, the last is bad: commits by first parents, or one commit by several
// toolchains.
struct search {
    struct context *context;
    const char *good, *bad; // revisions
    double confidence;
    bool json;
    double deadline_s; // of monotonic_s(): nothing is begun after it; 0: none
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    const struct context_device *device; // NULL: the first that the good commit has the kernel for
    struct commit *commits;              // of each step
    const struct toolchain **toolchains; // of each step; NULL: it is commits that are searched
    size_t count;
    struct built **built;     // of each commit, NULL: not yet
    struct run_entry *stored; // duets of earlier attempts, newest first
    size_t stored_count;
    bool *used;        // of stored
    const char **said; // what came out, of each commit, for the report
    struct bisect bisect;
};

// The steps: the commits from s->good to s->bad by first parents, or s->bad by each toolchain
// named, in their order (after context_builder()); what the first of them needs; the
// search. It ends with a state of BISECT_TEST when the deadline came first. Caller:
// bisect_free(&search->bisect).
int bisection_commits(struct search *search, struct error *err);
int bisection_toolchains(struct search *search, const char *const *names, size_t count,
                         struct error *err);
// What step i builds.
struct to_build bisection_step(const struct search *search, size_t i);
// What people call step i: the commit's short id, or the toolchain's name. In the context's arena.
const char *bisection_name(const struct search *search, size_t i);
int bisection_begin(struct search *search, struct error *err);
int bisection_search(struct bisect_step *out, struct search *search, struct error *err);

// Prints what a search may come to: it builds and measures what tells most, never all of it.
int bisection_plan(struct search *search, struct error *err);
// Prints the commits with what is known of each, the culprit, its changed files and the last line;
// `out` is the exit code.
int bisection_conclude(enum conclusion *out, const struct search *search,
                       const struct bisect_step *step, struct error *err);

#endif
