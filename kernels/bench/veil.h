// SPDX-License-Identifier: Apache-2.0
//
// Which builds the process of a host library does not see: all that are compared but its own. A
// library that found the base's could load it and let it do the work.
#ifndef PLUMB_VEIL_H
#define PLUMB_VEIL_H

#include <stdbool.h>
#include <stddef.h>

// The folders of all builds, one a line, as bench's parent says in its environment.
#define VEIL_BUILDS "PLUMB_BUILDS"

struct veil {
    char *text;          // owns the strings below
    char *own;           // the library's folder
    const char **hidden; // folders of builds that it does not lie in
    size_t count;
};

void veil_make(struct veil *out, const char *library);
void veil_free(struct veil *veil);
// In a process that has a mount namespace of its own: in place of each hidden folder lies the
// library's. Nothing but system calls. False where one could not be hidden.
bool veil_draw(const struct veil *veil);

#endif
