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

// Longer names than this have always been cut, and a series' name never changes.
enum { FOREIGN_NAME_TEXT = 64, FOREIGN_LABELS = 32 };

// A label that is the same in all rows of most files, and tells rows apart in some: a grid, a
// swizzle. A label that differs within a series becomes a part of the kernel's name.
struct foreign_label {
    const char *name, *value;
};

// A benchmark on its way to a series. Zeroed, but for members that the file gives.
struct foreign {
    const char *name; // tells the benchmark from the file's other ones; shown in errors
    size_t device;    // index into the run's
    enum measurement_state state;
    const char *detail; // NULL: "imported"
    const char *regime;
    double clock_hz;        // 0: unknown
    struct problem problem; // m, n, k 0: not said (yet)
    bool typed;
    const char *said_type; // what --problem takes the place of, "" of none; NULL: it does not
    // The kernel's name so far, its length before it was cut, and a hash of all of it.
    char kernel[FOREIGN_NAME_TEXT];
    size_t length;
    uint64_t hash;
    char numbers[64]; // arguments that are bare whole numbers, as they go into the name
    int64_t number[3];
    size_t number_count;
    bool settled;    // the name is whole
    const char *odd; // an axis that should be a type and is none; a part of the name of no GEMM
    struct foreign_label *label; // room for FOREIGN_LABELS; NULL: it has none
    size_t label_count;
};

// `named`: the commit that the file names, NULL if none; a commit with a time is taken as it stands
// in the file where the repository does not know it. `file` NULL: the run is known by its times and
// not by the file, which may have more of them another day. The run has no devices yet; a run that
// was begun before is ended.
int foreign_begin(struct import *in, const char *tool, const struct commit *named,
                  const struct import_file *file, struct error *err);
// A commit of which only the id is known.
struct commit foreign_commit(const char *id);
// The device of that kind and identity, as an index into the run's devices; added when it is new.
size_t foreign_device(struct import *in, const char *kind, const char *uuid, const char *name);

// "Gemm<float, 128>": the kernel's name, with the element type among its template arguments.
void foreign_name(struct foreign *f, const char *text);
// "void gemm<float, (int)128>(const float *)" is gemm<float, (int)128>.
const char *foreign_bare_name(struct arena *arena, const char *name);
// Appends another part to the kernel's name: ".text", or ".name-text".
void foreign_part(struct foreign *f, const char *name, const char *text);
// Takes an argument, by name (NULL or "": it has none). -1: a dimension or type is none.
int foreign_argument(struct foreign *f, const char *name, const char *text);
// "gemm 8x8x8:bf16" or "gemm/8/8/8": a part of the name, then arguments. -1: an argument is none.
int foreign_words(struct foreign *f, const char *name, struct arena *arena);
// Whether an argument of this name says the problem: m, n, k, t, type, dtype, problem; any case.
bool foreign_is_axis(const char *name);
int foreign_type(enum dtype *out, const char *text); // also f16, torch.half, __nv_bfloat16

// A column that is in the name only where it tells rows apart.
void foreign_label(struct foreign *f, const char *name, const char *value);

// A value of JSON is being read: messages about it name its line.
void foreign_at(struct import *in, const struct node *node);
// Adds times per launch, none when f->state is not ok. Rows that --kernel excludes are counted.
int foreign_add(struct import *in, struct foreign *f, const double *times_ns, size_t count,
                struct error *err);
// Leaves out so many rows of a benchmark, as they cannot be read: the message is where it stands,
// its name and `what`. A benchmark that --kernel excludes may be of any sort.
int foreign_leave(struct import *in, struct foreign *f, size_t rows, const char *what,
                  struct error *err);
int foreign_end(struct import *in, struct error *err);

// Whether a line has `first` at its beginning or behind a comma: a user's own columns may stand
// before.
bool foreign_has_heads(const struct import_file *file, const char *first);
// Reads a table that begins with such a line. Text before that line is passed over, and a row of
// another length is left out.
int foreign_table(struct csv *out, struct import *in, const char *first,
                  const struct import_file *file, struct error *err);
const char *foreign_field(const struct csv *csv, size_t row, const char *column); // "" if missing
// The nanoseconds of one unit of time (ns, us, ms, s, and ncu's nsecond ...); 0: the unit is not
// known.
double foreign_unit_ns(const char *unit);

#endif
