// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the readers of other tools' files, for this room alone: how a benchmark's name
// becomes kernel and problem, and how its times become measurements. README.md states the rule.
//
//     foreign_begin()                      the run, its commit and devices
//     foreign_name(), foreign_argument()   one benchmark
//     foreign_add(), foreign_leave()       its times; several of one benchmark are its samples
//     foreign_end()                        all of them into the store; a file may have more runs
#ifndef PLUMB_FOREIGN_H
#define PLUMB_FOREIGN_H

#include "baselines/exchange/import.h"
#include "model/csv.h"

// A kernel's name is cut at this length. The length must stay, because a series is found by its
// name.
enum { FOREIGN_NAME_TEXT = 64, FOREIGN_LABELS = 32 };

// A label: a column such as a grid or a swizzle. In most files all rows have the same label, in
// some files it tells rows apart. A label that differs within a series becomes a part of the
// kernel's name.
struct foreign_label {
    const char *name, *value;
};

// A benchmark that is being turned into a series. The caller zeroes it and fills in the members
// that the file gives.
struct foreign {
    const char *name; // the benchmark's name in the file; errors show it
    size_t device;    // index into the run's devices
    enum measurement_state state;
    const char *detail; // the measurement's detail; NULL: "imported"
    const char *regime;
    double clock_hz;        // 0: unknown
    struct problem problem; // m, n, k 0: the file has not said it (yet)
    bool typed;
    const char *said_type; // the type that the file says and --problem replaces, "" if it says
                           // none; NULL: nothing is replaced
    // The kernel's name so far, its length before it was cut, and a hash of all of it.
    char kernel[FOREIGN_NAME_TEXT];
    size_t length;
    uint64_t hash;
    char numbers[64]; // the arguments that are bare whole numbers, in the form that the name has
                      // them
    int64_t number[3];
    size_t number_count;
    bool settled;    // the name is complete
    const char *odd; // an axis that should be a type and is none; where the problem is no GEMM it
                     // is a part of the name
    struct foreign_label *label; // room for FOREIGN_LABELS labels; NULL: the benchmark has none
    size_t label_count;
};

// Begins a run. `named` is the commit that the file names, NULL if it names none. Where the
// repository does not know a named commit that has a time, the commit is stored as the file
// describes it. With `file` NULL the run's identity comes from its times and not from the file,
// because the file may hold more runs another day. The run has no devices yet. A run that was begun
// before is ended.
int foreign_begin(struct import *in, const char *tool, const struct commit *named,
                  const struct import_file *file, struct error *err);
// Makes a commit of which only the id is known.
struct commit foreign_commit(const char *id);
// Finds the device of that kind and UUID and returns its index among the run's devices. A new
// device is added.
size_t foreign_device(struct import *in, const char *kind, const char *uuid, const char *name);

// Begins the kernel's name with a text like "Gemm<float, 128>". An element type among the template
// arguments becomes the problem's type.
void foreign_name(struct foreign *f, const char *text);
// Takes the return type and the parameters off: "void gemm<float, (int)128>(const float *)" becomes
// "gemm<float, (int)128>".
const char *foreign_bare_name(struct arena *arena, const char *name);
// Appends ".text" or ".name-text" to the kernel's name.
void foreign_part(struct foreign *f, const char *name, const char *text);
// Takes one argument of the benchmark. A `name` of NULL or "" means an argument without a name. -1:
// the argument should be a dimension or a type, and is neither.
int foreign_argument(struct foreign *f, const char *name, const char *text);
// Takes a benchmark's full text, such as "gemm 8x8x8:bf16" or "gemm/8/8/8": its first word is a
// part of the kernel's name, the others are arguments. -1: an argument is malformed.
int foreign_words(struct foreign *f, const char *name, struct arena *arena);
// Whether an argument of this name describes the problem: m, n, k, t, type, dtype, problem; in
// upper or lower case.
bool foreign_is_axis(const char *name);
int foreign_type(enum dtype *out, const char *text); // also reads f16, torch.half, __nv_bfloat16

// Adds a column that becomes a part of the kernel's name only where it tells rows apart.
void foreign_label(struct foreign *f, const char *name, const char *value);

// Tells the import that this JSON value is being read, so that messages name the value's line.
void foreign_at(struct import *in, const struct node *node);
// Adds the benchmark's times per launch; where f->state is not ok, there are none. Rows whose
// kernel --kernel excludes are only counted.
int foreign_add(struct import *in, struct foreign *f, const double *times_ns, size_t count,
                struct error *err);
// Leaves out `rows` rows of a benchmark that cannot be read. The message says the place, the
// benchmark's name and `what`. A benchmark that --kernel excludes may contain anything.
int foreign_leave(struct import *in, struct foreign *f, size_t rows, const char *what,
                  struct error *err);
int foreign_end(struct import *in, struct error *err);

// Whether a line of the file has `first` at its beginning or behind a comma: users may put columns
// of their own before the tool's columns.
bool foreign_has_heads(const struct import_file *file, const char *first);
// Reads a table whose header has `first` as foreign_has_heads() says. Text before the header is
// skipped, and a row with more or fewer fields is left out.
int foreign_table(struct csv *out, struct import *in, const char *first,
                  const struct import_file *file, struct error *err);
const char *foreign_field(const struct csv *csv, size_t row, const char *column); // "" if missing
// The nanoseconds of one unit of time (ns, us, ms, s, and ncu's nsecond ...); 0: the unit is not
// known.
double foreign_unit_ns(const char *unit);

#endif
