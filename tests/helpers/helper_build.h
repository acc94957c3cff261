// SPDX-License-Identifier: Apache-2.0
//
// Builds of the scratch repository's commits, in a cache of their own. Uses cmocka: what cannot be
// set up fails the test.
#ifndef PLUMB_HELPER_BUILD_H
#define PLUMB_HELPER_BUILD_H

#include "runner/build/build.h"
#include "tests/helpers/helper_repo.h"

struct helper_builds {
    struct helper_repo repo;
    struct repository *open;
    struct sandbox sandbox; // active where one works
    struct toolchain toolchain;
    struct builder builder;
    struct recipe recipe; // of the repository's own kernels
    struct arena arena;
    char *directory; // scratch; the cache is somewhere below
};

// cmocka's set-up and tear-down: *state is a struct helper_builds.
int helper_builds_set_up(void **state);
int helper_builds_tear_down(void **state);

// A build that must at least come to an end; what it holds lives in the arena.
struct build helper_build(struct helper_builds *f, enum helper_commit commit,
                          const struct recipe *recipe);
// One by its id that must succeed; base as build_commit()'s.
struct build helper_build_ok(struct helper_builds *f, const char *commit, const char *base);
// The first commit by another command; timeout_s 0: the usual one.
struct build helper_build_with(struct helper_builds *f, const char *command, double timeout_s);
// How many folders builders made in the cache and did not take away.
size_t helper_build_leftovers(const struct helper_builds *f);

#endif
