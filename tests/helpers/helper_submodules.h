// SPDX-License-Identifier: Apache-2.0
//
// Repositories with submodules, made by the git program itself. Uses cmocka: what cannot be made
// fails the test.
//
//   deep    deep.h
//   lib     include/twice.h (1 in its first commit, 2 in its second), vendor/deep -> deep
//   top     one host kernel that includes both, third_party/lib -> lib; two commits, which pin the
//           first and the second of lib. The policy of helper_submodules_policy() builds it.
//   other   private.h: nobody's submodule
#ifndef PLUMB_HELPER_SUBMODULES_H
#define PLUMB_HELPER_SUBMODULES_H

#include "model/base.h"

// A fresh folder with them. Caller frees the name, and discards it (helper_files.h).
char *helper_submodules(void);
// Runs the words of a shell in a folder below `directory`, where git may clone from local paths and
// knows who commits. The test fails when they do.
void helper_shell(const char *directory, const char *folder, const char *words);
// What they print, without the last newline. Caller frees.
char *helper_shell_says(const char *directory, const char *folder, const char *words);
// Writes the policy that builds `top`; `rest` follows in its section [build].
void helper_submodules_policy(const char *path, const char *rest);

#endif
