// SPDX-License-Identifier: Apache-2.0
//
// How often a library's device code uses each operation, as the toolkit's disassembler names them.
#ifndef PLUMB_DISASSEMBLY_H
#define PLUMB_DISASSEMBLY_H

#include "runner/child/sandbox.h"

enum { OPERATION_TEXT = 16, OPERATIONS_MOST = 256 };

struct operation {
    char name[OPERATION_TEXT]; // "FFMA": without what stands behind its first dot
    uint64_t count;            // instructions in the code, not executions
};
struct operation_list {
    struct operation *items; // sorted by name
    size_t count;
    bool known; // false: there is no disassembler, or it did not understand the library
};

// Takes one line of `cuobjdump -sass`; what is no instruction is passed over. `list` has room for
// OPERATIONS_MOST; more are not counted.
void operation_take(struct operation_list *list, const char *line);

// Runs `cuobjdump -sass` of PATH on the library, in the sandbox, for at most a minute. The library
// and what is printed are hostile: bad lines are passed over, a flood ends it. Begun and ended
// apart, because a disassembler takes about a second a library and several can work side by side.
// *out is NULL where there is none; -1 only when the program is there and could not be started.
struct disassembly;
int disassembly_begin(struct disassembly **out, const char *library, const struct sandbox *sandbox,
                      struct error *err);
// Waits for it and frees it. NULL, or one that failed, gives a list that is not known.
void disassembly_end(struct operation_list *out, struct disassembly *disassembly,
                     struct arena *arena);

#endif
