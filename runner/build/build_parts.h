// SPDX-License-Identifier: Apache-2.0
//
// Libraries of one build that the next need not make; internal to runner/build/build.c. A build may
// state what a library was made from, in a file beside it (build.h has its form). A trusted build
// is kept with a file `parts`, a line per such library:
//   PART NAME
// PART is the content id of the recipe, the toolchain, the library's name, and each stated path and
// name with what the commit has there. Equal parts mean an equal library, as far as the statement
// is true: only builds of a trusted commit have parts, so only trusted statements are believed.
#ifndef PLUMB_BUILD_PARTS_H
#define PLUMB_BUILD_PARTS_H

#include "runner/build/build.h"

// Where a statement is looked at: the same paths hold other things in another commit.
struct build_place {
    const struct repository *repository;
    const char *commit;
    const struct recipe *recipe;
};

// Writes DIRECTORY/parts for a finished build. A library has none that states nothing, or states a
// path that the commit does not have; a commit whose inputs hold symbolic links has none at all,
// since a path does not tell then what was read.
int build_parts_write(const char *directory, const struct build *build,
                      const struct builder *builder, const struct build_place *place,
                      struct error *err);
// Copies into `have` each library of the kept build `directory`, with its statement, whose part is
// the same at `place`. What cannot be read or copied is not offered. Returns how many were.
size_t build_parts_offer(const char *have, const char *directory, const struct builder *builder,
                         const struct build_place *place);

#endif
