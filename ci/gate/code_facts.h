// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's library is made of, as the compiler left it, and what differs between two of
// them: the facts of explanations and of the static gate.
#ifndef PLUMB_CODE_FACTS_H
#define PLUMB_CODE_FACTS_H

#include "ci/gate/built.h"
#include "model/predict/parts/occupancy.h"
#include "runner/code/code_id.h"
#include "runner/code/disassembly.h"

// ptxas's notes that a kernel lost performance it was written for: C7508, C7510, C7511, C7515 (of
// wgmma.mma_async that is serialised, and setmaxnreg that is ignored).
enum { PTXAS_NOTES = 4 };
extern const char *const ptxas_notes[PTXAS_NOTES];

struct code_facts {
    struct code_function_list functions;
    struct operation_list operations;
    uint32_t notes[PTXAS_NOTES]; // how often each is in the build's log, about this library
};

// Notes of ptxas in a build's log (untrusted). A note that names a function counts only if `list`
// has it; one that names none counts.
void code_facts_notes(uint32_t notes[PTXAS_NOTES], const char *log,
                      const struct code_function_list *list);

// Lives in `arena`. A host library has no functions. -1: the library cannot be read.
int code_facts_read(struct code_facts *out, const struct built *built,
                    const struct built_kernel *kernel, const struct context *context,
                    struct arena *arena, struct error *err);

// The same begun and ended apart, so that several libraries can be disassembled side by side. What
// was begun must be ended.
struct code_reading {
    struct code_facts facts;
    struct disassembly *disassembly;
};
int code_facts_begin(struct code_reading *out, const struct built *built,
                     const struct built_kernel *kernel, const struct context *context,
                     struct arena *arena, struct error *err);
void code_facts_end(struct code_facts *out, struct code_reading *reading, struct arena *arena);

// One function on both sides, or on one (the other NULL).
struct function_pair {
    const struct code_function *base, *head;
};
// By architecture and name; what is left on both sides is paired in order, since names of functions
// with internal linkage carry a hash of the source. Room for all functions of both; returns how
// many.
size_t code_facts_pair(struct function_pair *out, const struct code_facts *base,
                       const struct code_facts *head);

// Local memory that is read or written by one pass through the code, bytes per thread.
int64_t function_spill(const struct code_function *function);
// Resident blocks by the compiler's registers, and by threads and shared memory of the traits or,
// where those say nothing, of the code.
struct occupancy function_occupancy(const struct code_function *function,
                                    const struct traits *traits, const struct gpu *gpu);

#endif
