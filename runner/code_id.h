// SPDX-License-Identifier: Apache-2.0
//
// Code id: a hash of what a library executes, not of what it was written as. Two libraries with one
// code id run the same machine code on the same constants, called through the same imports; a
// change of comments, names, debug information, build id or compile path leaves it alone. It may
// say "different" where nothing that matters changed, never "same" where something did.
//
// The id is that of the whole module: functions of one linked library call each other without a
// trace in the file, and unused code beside a kernel moves its time by up to 0.4 %. Hence the rule
// of one kernel per module.
//
// Host part: every loaded section but symbol and string tables, notes and unwind tables; the places
// of sections relative to each other; relocations with the *names* of what they import.
// CUDA part: for each embedded cubin the code, constants, initialised data and launch attributes of
// every kernel; whatever is not a readable cubin (compressed, PTX) is hashed byte for byte.
//
// Files come from foreign builds: every offset and size is checked; a broken file is an error.
#ifndef PLUMB_CODE_ID_H
#define PLUMB_CODE_ID_H

#include "model/result.h"

int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err);

// What one device function needs, read from the cubin: the static gate's facts.
struct code_function {
    const char *name;        // mangled, as in the cubin
    char architecture[16];   // "sm_90"
    int32_t registers;       // per thread
    int32_t stack_bytes;     // per thread: local memory, spills included
    int32_t shared_bytes;    // static, per block
    int32_t constant_bytes;  // bank 0: parameters included
    int32_t parameter_bytes; // of the launch
    int32_t max_threads;     // from __launch_bounds__, 0 = not given
    uint64_t code_bytes;     // of machine code
    uint32_t local_accesses; // instructions that load or store local memory; 0 = no spills
};
struct code_function_list {
    struct code_function *items; // sorted by architecture, then name
    size_t count;
    bool complete; // false: some embedded code was compressed or PTX and could not be read
};
// A host-only library gives an empty, complete list.
int code_resources(struct code_function_list *out, const char *library, struct arena *arena,
                   struct error *err);

#endif
