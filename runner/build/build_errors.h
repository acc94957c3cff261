// SPDX-License-Identifier: Apache-2.0
//
// What a build's log says is wrong: the first errors of gcc, clang, nvcc with ptxas and nvlink, ld
// and lld, cmake, ninja, make and sh, each on one line, with file and line where the tool named
// them. A log is hostile text: whatever it holds, the result is bounded and has no control bytes.
#ifndef PLUMB_BUILD_ERRORS_H
#define PLUMB_BUILD_ERRORS_H

#include "model/result.h"

enum { BUILD_ERRORS = 5 };

// The first errors of `log`, in its order, each once; returns how many. What compilers and linkers
// say comes before what only reports that they failed ("ninja: build stopped"); a log without any
// of it gives its last lines. Files below the exported source are named as the commit names them.
// Strings live in the arena.
size_t build_errors_find(struct build_error out[BUILD_ERRORS], const char *log,
                         struct arena *arena);

#endif
