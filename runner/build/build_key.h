// SPDX-License-Identifier: Apache-2.0
//
// What names a build; internal to runner/build/build.c.
#ifndef PLUMB_BUILD_KEY_H
#define PLUMB_BUILD_KEY_H

#include "runner/build/build.h"

#include <stdio.h>

// Fields carry their length, so that no two lists of fields read the same.
void build_key_field(FILE *to, const char *name, const char *value);
// All of a key but the inputs: format, toolchain, command, output pattern, overlay,
// environment.
void build_key_recipe(FILE *to, const struct builder *builder, const struct recipe *recipe);
// What .gitmodules says: a submodule that it does not name is an empty folder. Nothing is added of
// a commit without one.
int build_key_submodules(FILE *to, const struct repository *repository, const char *commit,
                         struct error *err);
// The key of a commit becomes that of the same content built as an untrusted head.
void build_key_of_head(char key[OBJECT_ID_TEXT]);

#endif
