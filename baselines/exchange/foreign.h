// SPDX-License-Identifier: Apache-2.0
//
// What the readers of other tools' files share, for the room's own use: how a benchmark's name
// becomes kernel and problem, and how its times become measurements. README.md states the rule.
//
//     foreign_begin()                      the run, its commit and devices
//     foreign_name(), foreign_argument()   one benchmark
//     foreign_add()                        its times; several of one benchmark are its samples
//     foreign_end()                        all of them into the store
#ifndef PLUMB_FOREIGN_H
#define PLUMB_FOREIGN_H

#include "baselines/exchange/import.h"
#include "model/csv.h"

// Longer names than this have always been cut, and a series' name never changes.
enum { FOREIGN_NAME_TEXT = 64 };

// A benchmark on its way to a series. Zeroed, but for what the file says of it.
struct foreign {
    const char *name; // what tells it from the file's other ones; shown in errors
    size_t device;    // index into the run's
    enum measurement_state state;
    const char *detail; // NULL: "imported"
    const char *regime;
    double clock_hz;        // 0: unknown
    struct problem problem; // m, n, k 0: not said (yet)
    bool typed;
    // The kernel's name so far, its length before it was cut, and a hash of all of it.
    char kernel[FOREIGN_NAME_TEXT];
    size_t length;
    uint64_t hash;
    char numbers[64]; // arguments that are bare whole numbers, as they go into the name
    int64_t number[3];
    size_t number_count;
    bool settled; // the name is whole
};

// `named`: the commit by the file's own word, NULL if it has none. `text` is the whole file. The
// run has no devices yet.
int foreign_begin(struct import *in, const char *tool, const char *named, const char *text,
                  size_t length, struct error *err);
// The device of that kind and identity, as an index into the run's; it is added when it is new.
size_t foreign_device(struct import *in, const char *kind, const char *uuid, const char *name);

// "Gemm<float, 128>": the kernel's name, with the element type among its template arguments.
void foreign_name(struct foreign *f, const char *text);
// Another part of the kernel's name: ".text", or ".name-text".
void foreign_part(struct foreign *f, const char *name, const char *text);
// An argument, by name (NULL or "": it has none). -1: a dimension or type that is none.
int foreign_argument(struct foreign *f, const char *name, const char *text);
// Whether the name is one that says the problem: m, n, k, t, type, dtype, problem; any case.
bool foreign_is_axis(const char *name);
int foreign_type(enum dtype *out, const char *text); // also f16, torch.half, __nv_bfloat16

// Whether --kernel wants it. Its name is whole then.
bool foreign_wanted(struct import *in, struct foreign *f);
// Times per launch, none when f->state is not ok. What --kernel does not want is left out.
int foreign_add(struct import *in, struct foreign *f, const double *times_ns, size_t count,
                struct error *err);
int foreign_end(struct import *in, struct error *err);

// Whether the line at `at` has `first` at its beginning or behind a comma: a user's own columns may
// stand before.
bool foreign_heads(const char *text, size_t length, size_t at, const char *first);
// A table that begins with such a line; what is printed before it is passed over.
int foreign_table(struct csv *out, const struct import *in, const char *first, const char *text,
                  size_t length, struct error *err);
const char *foreign_field(const struct csv *csv, size_t row, const char *column); // "" if missing
// What one unit of time (ns, us, ms, s, and ncu's nsecond ...) has in nanoseconds; 0: unknown.
double foreign_unit_ns(const char *unit);

#endif
