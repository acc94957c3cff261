// SPDX-License-Identifier: Apache-2.0
//
// Common parts of the readers and writers of files, for this room alone, and the form of a reader.
// All readers run inside one batch.
#ifndef PLUMB_IMPORT_H
#define PLUMB_IMPORT_H

#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "baselines/store.h"
#include "model/buffer.h"
#include "model/csv.h"

struct import_file;

// The state of reading one file, and who to blame. Strings of the current run live in run.arena.
struct import {
    struct store *store;
    const char *name;
    const struct import_source *source;
    size_t line;                    // being read, 1-based
    const struct import_file *file; // of JSON: where `offset` is of
    size_t offset;                  // 0: not known
    struct run run;
    bool open;  // run is begun
    bool known; // it was here before and finished: nothing is added to it
    struct store_counts added;
    struct import_report report;
    // For a file of another tool (foreign.h): which tool, a hash of the text that the run is known
    // by, and the times.
    const char *tool;
    uint64_t hash;
    struct foreign_times *times;
    size_t times_count, times_room;
    size_t handled;     // runs and results of this file
    size_t sampled;     // times of this file
    size_t named;       // bytes of names of this file
    bool crowded;       // the run would have too many devices
    bool whole;         // an export of ours as JSON: nothing is counted
    const char *dirty;  // the commit whose tree was not what was measured; NULL: it was
    const char *enough; // column behind which a row of its table may end; NULL: there is none
    bool spoken;        // its numbers are in the language of a machine, so 1.234 may be 1234
};

// Limits of one file, so that a stranger's of 64 MiB takes 256 MiB and 5 s at most. Our own exports
// as JSON are read line by line, and are not counted.
enum {
    IMPORT_RESULTS = 100000, // runs and results together
    IMPORT_TIMES = 500000,
    IMPORT_NAMES = 16 << 20, // bytes of benchmarks' names
    IMPORT_CELLS = 3000000,  // of a table
    IMPORT_DEVICES = 256,    // of a run
    IMPORT_TOLD = 20         // lines about what is left out; what is beyond is counted alone
};
// -1: there are more of `what` than `most`.
int import_limit(const struct import *in, size_t count, size_t most, const char *what,
                 struct error *err);

// A file, whole.
struct import_file {
    const char *text;
    size_t length;
    const struct node *json; // its value, NULL when it is not one value of JSON
};
// A reader of one form of files. A file import_NAME.c defines importer_NAME, which registers it.
struct importer {
    const char *name; // of --format
    bool (*is)(const struct import_file *file);
    int (*read)(struct import *in, const struct import_file *file, struct error *err);
    const struct node_sieve *sieve; // what of a long list is needed; NULL: all
};

enum { IMPORT_WHERE = 256 }; // bytes of a name
// Puts "name:line: " before an error that came from below.
int import_blame(const struct import *in, struct error *err);
// -1 with "name:line: what".
int import_refuse(const struct import *in, const char *what, struct error *err);

// So many rows cannot be read, for the reason in `err`: they are left out with a line that says so,
// or refused (-1), where that is asked for.
int import_leave(struct import *in, size_t rows, const struct error *err);

// Ends the current run (if any) and goes on with in->run as filled in: the stored run of that uid,
// or a new one.
int import_begin(struct import *in, const char *uid, struct error *err);
int import_result(struct import *in, const struct result *result, struct error *err);
int import_end(struct import *in, struct error *err);

// A uid that is the same for the same texts: 128 bits of FNV-1a, to recognise, not to protect.
void import_uid(char uid[STORE_UID_TEXT], const char *const *texts, size_t count);

// A sample of which only the time is known, and perhaps the clock (0: unknown).
struct sample import_sample(double time_ns, double clock_hz, uint32_t pair);

bool import_is_object_id(const char *text); // 7 to 64 lower-case hexadecimal digits
bool import_is_code(const char *text);      // one word of at most 64 bytes; none is fine

// Adds a link, unless it is here already; the series' device gets its names.
int import_put_link(struct import *in, const struct series *series, const struct device *device,
                    const struct link *link, struct error *err);

// The line that names a table's columns: the first that is neither empty nor a comment, and has a
// comma. NULL: there is none.
const char *import_header(size_t *length, const struct import_file *file);
// Parses a table. A line with more or fewer fields than the header is left out, and told. Where
// semicolons or tabs separate the fields, numbers are written anew by import_numbers().
int import_table(struct csv *out, struct import *in, const char *text, size_t length,
                 struct error *err);
// Writes a table's numbers plainly, whatever the language of the machine that wrote them; -1:
// nothing says which mark is the decimal one.
int import_numbers(const struct import *in, struct csv *csv, struct error *err);
// A field of one of our tables without the apostrophe of a guard; "" when `column` is -1.
const char *import_cell(const struct csv *csv, size_t row, int column);

// Our own forms.
extern const struct importer importer_json, importer_csv, importer_links;

// ==== writing ====

// The fields of a sample as they stand in exported files, with the range a reader may accept.
#define SAMPLE_COLUMNS(X)                                                                          \
    X(time_ns, 0, SAMPLE_TIME_NS)                                                                  \
    X(clock_hz, 0, SAMPLE_CLOCK_HZ)                                                                \
    SAMPLE_INTEGERS(X)

// Calls `put` for each run the filter wants, oldest first.
typedef void export_run(FILE *file, const struct export_filter *filter, const struct run *run,
                        const char *uid);
int export_runs(struct store *store, const struct export_filter *filter, FILE *file,
                export_run *put, struct error *err);
struct link_owner { // whose link it is
    const char *kernel, *problem;
    struct device device;
};
// Calls `put` for each link the filter wants, series by series.
typedef void export_link(FILE *file, const struct link_owner *owner, const struct link *link);
int export_each_link(struct store *store, const struct export_filter *filter, FILE *file,
                     export_link *put, struct error *err);

#endif
