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
// Host part: all bytes the loader maps, and where; not the build id. The device code in it is
// mapped too, so it counts byte for byte, but for the contents of its debug information, and for
// nvcc's digits in names: a copy in which these are cleared is what is loaded. How long they are
// together does count, and where a linker puts the text behind the device code (mold does), its
// length moves the text: there a comment can give another id, where -lineinfo is compiled in. Where
// records are timed that costs a build and no measurement: they hold device code alone, and their
// ids are those of kernels. A cubin that is a file, and a kernel of one: the code, constants,
// initialised data and launch attributes, and the names of functions and variables.
//
// Files come from foreign builds: every offset and size is checked; a file that is no ELF library,
// or lies about itself, is hashed whole.
#ifndef PLUMB_CODE_ID_H
#define PLUMB_CODE_ID_H

#include "model/result.h"
#include "runner/child/sandbox.h"

// A build's statement of what a library was made from: after the library's name.
#define BUILD_STATEMENT ".inputs"

// The code id of a library. 0; -1: the file cannot be read; 1: the file can have no id, as it is
// larger than 1 GiB or no regular file, which is the fault of who made it.
int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err);

// The ids of one build's libraries, all in `folder`, an absolute path without links. A library can
// load what lies beside it. So its id covers besides itself each file of the folder that is no
// library of these: what it links by $ORIGIN, cubins, tables. Of the other libraries it covers
// those that it names (to link or to open them), and that those name, and where they lie. Where
// nothing else counts, the id is code_id()'s. 0, -1 or 1 as above.
//
// `kept` (NULL: nowhere): a folder where each library gets one of its own, named by its content,
// with the files that its id covers and no others; what it is called itself is no part of an id, so
// all have one name there. A library that is loaded from there finds nothing else of its build, by
// no name, and its path tells nothing but what it holds. `paths` then says where they are; they
// live in `arena`.
struct code_kept {
    const char *folder; // which is made
    const char **paths;
    struct arena *arena;
};
int code_ids(char (*out)[OBJECT_ID_TEXT], const char *const *libraries, size_t count,
             const char *folder, const struct code_kept *kept, struct error *err);

// Copies a build's output into the folder `to`, which is there and empty, so that all that a
// library can read there is in its id: the parts of libraries that the loader maps, names and
// contents of files, links. Statements of files directly in it go to the folder `statements`, which
// is there too. The same output gives the same bytes, and a copy of a copy is the copy. 0; -1: the
// copy cannot be written; 1: the output is larger than anyone may leave, or cannot be read.
struct code_limits {
    uint64_t bytes; // of all its files, with their holes; 0: none
};
int code_settle(const char *from, const char *to, const char *statements,
                const struct code_limits *limits, struct error *err);

// The resources that one device function needs, read from the cubin, for the static gate.
struct code_function {
    const char *name;        // mangled, as in the cubin
    char architecture[16];   // "sm_90"
    int32_t registers;       // per thread
    int32_t stack_bytes;     // per thread: local memory, spills included
    int32_t shared_bytes;    // static, per block; with what sm_90 and later reserve
    int32_t constant_bytes;  // bank 0: parameters included
    int32_t parameter_bytes; // of the launch
    int32_t max_threads;     // from __launch_bounds__, 0 = not given
    uint64_t code_bytes;     // of machine code
    // Width of all instructions that load or store local memory, spills among them, as ptxas -v
    // counts spills; 0: none.
    uint32_t local_load_bytes, local_store_bytes;
};
struct code_function_list {
    struct code_function *items; // sorted by architecture, then name
    size_t count;
    bool complete; // false: some embedded code was compressed or PTX and could not be read
};
// Lists device functions. A host-only library gives an empty, complete list; a plan
// (runner/code/plan_file.h) gives the functions of its cubins.
int code_resources(struct code_function_list *out, const char *library, struct arena *arena,
                   struct error *err);

// ---- how often a library's device code uses each operation, as the disassembler names them

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

// Counts the instruction on one line of `cuobjdump -sass`; lines without one are passed over.
// `list` has room for OPERATIONS_MOST; more are not counted.
void operation_take(struct operation_list *list, const char *line);

// Runs `cuobjdump -sass` of PATH on the library, in the sandbox, for at most a minute. The library
// and what is printed are hostile: bad lines are passed over, a flood ends it. Begun and ended
// apart, because a disassembler takes about a second a library and several can work side by side.
// *out is NULL where there is none; -1 only when the program is there and could not be started.
struct disassembly;
int disassembly_begin(struct disassembly **out, const char *library, const struct sandbox *sandbox,
                      struct error *err);
// Waits for a disassembler and frees it. NULL, or one that failed, gives a list that is not known.
void disassembly_end(struct operation_list *out, struct disassembly *disassembly,
                     struct arena *arena);

#endif
