// SPDX-License-Identifier: Apache-2.0
//
// The line protocol between `plumb` and its child `bench`, version 1. Both sides use this file, so
// they cannot disagree. A line is a record name and key=value fields separated by TAB; values are
// percent-encoded where they hold control bytes, DEL or '%'. What comes from a child that runs
// foreign code is hostile: every number is range-checked where it is read.
//
// bench -> plumb at start
//     hello   wire=1 version=0.1.0
//     device  kind= uuid= name= driver= runtime= [bus=] [GPU_FIGURES keys, e.g. sm_count=132]
// plumb -> bench, and what it answers; every answer ends with `done` or `fail`
//     list    library=PATH
//             kernel name= summary= device= in= out= acc= [TRAITS keys]   (one per kernel)
//     supports library=PATH kernel=NAME problem=TEXT
//             supported yes=0|1
//             These two are all that a bench of kind "none" does: it has no device.
//     open    id=N kernel=NAME problem=TEXT head=PATH [base=PATH] seed=N [pin=TEXT] [base_pin=TEXT]
//             [order=0|1] [regime=WORD] [launches=N] [apart=0|1] [processors=7,23|none]
//             opened id=N state=STATE role=base|head error=X tolerance=X launches=N note=TEXT
//                    [base_note=TEXT] regime=WORD
//             Loads (order=1: head first), fills inputs, prepares, checks base and head against the
//             reference, warms up. Any state but ok: `role` says whose, `note` says why. Several
//             series may be open; one that has no room beside the others is answered by `fail`.
//             pin, base_pin: notes of an earlier opened, for prepare() to reproduce.
//             regime: a word of enum regime, which comes back with each sample; absent, on either
//             side: cold. One that the device or the kernel has no meaning for is `unsupported`.
//             launches: timed together per sample, as an earlier process chose; absent: a choice.
//             processors: that are this bench's alone from now on; absent: by hand, none is known.
//             apart=1: base on device memory of its own. What that is worth is in
//             baselines/recorded/h200; plumb never asks for it.
//     pairs   id=N count=N block=N        base and head side by side, order drawn per pair
//             sample id=N role= pair= block= order= launches= time_ns= clock_hz= throttle=
//                    temperature_c= power_mw= regime=WORD
//     solo    id=N count=N block=N        head alone: sample lines with role=head
//     close   id=N                        checks the output once more after the timed launches
//             closed id=N state= role= error= tolerance= note= regime=
//     record  kernel=NAME problem=TEXT head=PATH seed=0 [pin=TEXT]
//             record ..., then the lines of model/record/record.c up to `end`, without images
//             Asks the kernel's launch() for what it queues; nothing runs, and no buffer is mapped.
//     calibrate [only=KEY]
//             figure key= value= cv= repeats= stable=0|1 note=
//     quit
// fail    text=TEXT      the command could not be done; bench goes on
// note    text=TEXT      progress, may come at any time
#ifndef PLUMB_WIRE_H
#define PLUMB_WIRE_H

#include "model/result.h"

enum { WIRE_VERSION = 1, WIRE_LINE = 16384, WIRE_FIELDS = 64 };

// A line that is being written. wire_begin() starts it. A line that is too long is cut between
// fields, and marked as cut.
struct wire_line {
    char text[WIRE_LINE]; // with '\n' after wire_end()
    size_t used;
    bool overflow;
};
void wire_begin(struct wire_line *line, const char *name);
void wire_add_text(struct wire_line *line, const char *key, const char *value);
void wire_add_int(struct wire_line *line, const char *key, int64_t value);
// The text reads back as the same double.
void wire_add_double(struct wire_line *line, const char *key, double value);
void wire_add_traits(struct wire_line *line, const struct traits *traits);
void wire_add_sample(struct wire_line *line, const struct sample *sample);
const char *wire_end(struct wire_line *line); // returns the whole line, for fputs() or write()

// A parsed line; keys and values point into the line, which is decoded in place.
struct wire_record {
    const char *name;
    struct {
        const char *key, *value;
    } fields[WIRE_FIELDS];
    size_t count;
};
int wire_parse(struct wire_record *out, char *line, struct error *err);
// Returns the value of a key; NULL when it is absent.
const char *wire_text(const struct wire_record *record, const char *key);
// Reads a number that must be there and in [min, max]; otherwise -1 and a text naming record and
// key.
int wire_int(int64_t *out, const struct wire_record *record, const char *key, int64_t min,
             int64_t max, struct error *err);
int wire_double(double *out, const struct wire_record *record, const char *key, double min,
                double max, struct error *err);
int wire_traits(struct traits *out, const struct wire_record *record, struct error *err);
// Reads a sample and checks ranges: time above 0 and under a day, clock 0..20 GHz, role and order 0
// or 1.
int wire_sample(struct sample *out, const struct wire_record *record, struct error *err);

#endif
