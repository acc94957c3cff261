// SPDX-License-Identifier: Apache-2.0
//
// Code id: a hash of what a library executes, not of its source. Two libraries with one code id run
// the same machine code on the same constants, called through the same imports. Comments, names,
// debug information, build ids and compile paths do not change it. It may differ where nothing that
// matters changed; it is never the same where something did.
//
// The id is that of the whole module, for two reasons: functions of one linked library call each
// other without a trace in the file, and unused code beside a kernel moves its time by up to 0.4 %.
// Hence the rule of one kernel per module.
//
// Host part: all bytes that the loader maps, and where; not the build id. The device code in it is
// mapped, too, so it counts byte for byte, except for the contents of its debug information and for
// nvcc's digits in names; the library is loaded from a copy in which these are cleared. Their total
// length counts, and where a linker puts the text behind the device code (mold does), it moves the
// text. So with mold and -lineinfo a comment can change the id. Where records are timed, that costs
// a build and no measurement: records hold device code only, and their ids are those of kernels.
// For a cubin that is a file, and for a kernel in one, these count: the code, constants,
// initialised data and launch attributes, and the names of functions and variables.
//
// Files come from untrusted builds, so every offset and size is checked. A file that is no ELF
// library, or is malformed, is hashed whole.
#ifndef PLUMB_CODE_ID_H
#define PLUMB_CODE_ID_H

#include "model/result.h"
#include "runner/child/sandbox.h"

// The ending of a build's statement about what a library was made from; it follows the library's
// name.
#define BUILD_STATEMENT ".inputs"

// Computes the code id of a library. 0: done; -1: the file cannot be read; 1: the file can have no
// id because it is larger than 1 GiB or no regular file, for which the build is to blame.
int code_id(char out[OBJECT_ID_TEXT], const char *library, struct error *err);

// Computes the ids of one build's libraries, all in `folder`, an absolute path without links. A
// library can load files that lie beside it, so its id covers more than itself. It covers each file
// of the folder that is none of these libraries: what it links by $ORIGIN, cubins, tables. Of the
// other libraries it covers those that it names (to link or to open them), those that these name in
// turn, and where they lie. If nothing else counts, the id is that of code_id(). Returns 0, -1 or 1
// as code_id() does.
//
// `kept` (NULL: none) is a folder where each library gets a folder of its own, which is named by
// its content and has only the files that the id covers. A library's own name is no part of its id,
// so all have the same name there. A library that is loaded from there finds nothing else of its
// build, under any name, and its path reveals only its content. `paths` then says where the
// libraries are; they live in `arena`.
struct code_kept {
    const char *folder; // the folder, which is made
    const char **paths;
    struct arena *arena;
};
int code_ids(char (*out)[OBJECT_ID_TEXT], const char *const *libraries, size_t count,
             const char *folder, const struct code_kept *kept, struct error *err);

// Copies a build's output into `to`, an existing empty folder, so that everything that a library
// can read there is covered by its id: the parts of libraries that the loader maps, names and
// contents of files, links. Statements that lie directly in the output go to the existing folder
// `statements`. The same output gives the same bytes, and a copy of a copy equals the copy. 0:
// done; -1: the copy cannot be written; 1: the output is larger than allowed, or cannot be read.
struct code_limits {
    uint64_t bytes; // of all its files, holes included; 0: no limit
};
int code_settle(const char *from, const char *to, const char *statements,
                const struct code_limits *limits, struct error *err);

// The resources that one device function needs, read from its cubin, for the gate without a device.
struct code_function {
    const char *name;        // mangled, as in the cubin
    char architecture[16];   // "sm_90"
    int32_t registers;       // per thread
    int32_t stack_bytes;     // per thread: local memory, including spills
    int32_t shared_bytes;    // static, per block; includes what sm_90 and later reserve
    int32_t constant_bytes;  // bank 0, including parameters
    int32_t parameter_bytes; // parameters of the launch
    int32_t max_threads;     // from __launch_bounds__, 0 = not given
    uint64_t code_bytes;     // of machine code
    // The total width of the instructions that load or store local memory, which include spills,
    // counted as ptxas -v does; 0: none.
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

// ---- how often a library's device code uses each operation, by the disassembler's names

enum { OPERATION_TEXT = 16, OPERATIONS_MOST = 256 };

struct operation {
    char name[OPERATION_TEXT]; // "FFMA": the name up to its first dot
    uint64_t count;            // number of instructions in the code, not of executions
};
struct operation_list {
    struct operation *items; // sorted by name
    size_t count;
    bool known; // false: there is no disassembler, or it did not understand the library
};

// Counts the instruction on one line of `cuobjdump -sass`; a line without one is ignored. `list`
// has room for OPERATIONS_MOST; further ones are not counted.
void operation_take(struct operation_list *list, const char *line);

// Starts `cuobjdump -sass` (found in PATH) on the library, in the sandbox, for at most a minute.
// The library and the output are hostile: bad lines are ignored, and too much output ends it.
// Starting and waiting are separate, because a disassembler takes about a second for a library and
// several can work at the same time. *out is NULL if there is no such program; -1 only when it
// exists and could not be started.
struct disassembly;
int disassembly_begin(struct disassembly **out, const char *library, const struct sandbox *sandbox,
                      struct error *err);
// Waits for a disassembler and frees it. If it is NULL or failed, the list is marked as not known.
void disassembly_end(struct operation_list *out, struct disassembly *disassembly,
                     struct arena *arena);

#endif
