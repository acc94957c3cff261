// SPDX-License-Identifier: Apache-2.0
//
// Functions that the readers and writers of files share within this room, and the interface of a
// reader. All readers run inside one batch.
#ifndef PLUMB_IMPORT_H
#define PLUMB_IMPORT_H

#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "baselines/store.h"
#include "model/buffer.h"
#include "model/csv.h"

struct import_file;

// The state of reading one file, and the file's name for messages. Strings of the current run live
// in run.arena.
struct import {
    struct store *store;
    const char *name;
    const struct import_source *source;
    size_t line;                    // the line that is being read, 1-based
    const struct import_file *file; // for JSON: the file into which `offset` points
    size_t offset;                  // 0: not known
    struct run run;
    bool open;  // a run has begun
    bool known; // the store had this run already, and complete: nothing is added to it
    struct store_counts added;
    struct import_report report;
    // For a file of another tool (foreign.h): the tool's name, a hash of the text that identifies
    // the run, and the times.
    const char *tool;
    uint64_t hash;
    struct foreign_times *times;
    size_t times_count, times_room;
    size_t handled;     // runs and results read from this file
    size_t sampled;     // times read from this file
    size_t named;       // bytes of benchmarks' names read from this file
    bool crowded;       // the run has as many devices as a run may have
    bool whole;         // the file is our own JSON export, to which IMPORT_RESULTS does not apply
    const char *dirty;  // the commit, if the measured tree had changes beside it; NULL: the tree
                        // was the commit's
    const char *enough; // the column after which a row may end; NULL: rows must be complete
    bool spoken;        // the tool writes numbers in the machine's language, so 1.234 may mean 1234
};

// Limits of one file. With them a hostile file of 64 MiB takes at most 256 MiB of memory and 5 s.
// Our own JSON exports are read line by line and need no such limit.
enum {
    IMPORT_RESULTS = 100000, // runs and results together
    IMPORT_TIMES = 500000,
    IMPORT_NAMES = 16 << 20, // bytes of benchmarks' names
    IMPORT_CELLS = 3000000,  // cells of a table
    IMPORT_DEVICES = 256,    // devices of a run
    IMPORT_TOLD = 20         // lines about rows that are left out; further rows are only counted
};
// Checks a count against a limit. -1, with a message: there are more of `what` than `most`.
int import_limit(const struct import *in, size_t count, size_t most, const char *what,
                 struct error *err);

// A file that was read completely.
struct import_file {
    const char *text;
    size_t length;
    const struct node *json; // the file as one JSON value; NULL when it is none
};
// A reader of one file format. A file import_NAME.c defines importer_NAME, and by that registers
// it.
struct importer {
    const char *name; // the name that --format takes
    bool (*is)(const struct import_file *file);
    int (*read)(struct import *in, const struct import_file *file, struct error *err);
    const struct node_sieve *sieve; // which elements of a long list are needed; NULL: all
};

enum { IMPORT_WHERE = 256 }; // bytes of a file's name in messages
// Puts "name:line: " before an error that a called function wrote.
int import_blame(const struct import *in, struct error *err);
// Writes the error "name:line: what" and returns -1.
int import_refuse(const struct import *in, const char *what, struct error *err);

// Leaves out `rows` rows that cannot be read for the reason in `err`, and reports them in one line.
// Where the caller asked for strict reading, returns -1 instead.
int import_leave(struct import *in, size_t rows, const struct error *err);

// Ends the current run (if any) and begins the run that in->run describes. If the store has a run
// of that uid, reading goes on with it; if not, a new run is saved.
int import_begin(struct import *in, const char *uid, struct error *err);
int import_result(struct import *in, const struct result *result, struct error *err);
int import_end(struct import *in, struct error *err);

// Makes a uid of texts; equal texts give equal uids. It is 128 bits of FNV-1a: enough to recognise
// a run, no protection against forgery.
void import_uid(char uid[STORE_UID_TEXT], const char *const *texts, size_t count);

// Makes a sample of which only the time is known, and perhaps the clock (0: unknown).
struct sample import_sample(double time_ns, double clock_hz, uint32_t pair);

bool import_is_object_id(const char *text); // 7 to 64 lower-case hexadecimal digits
bool import_is_code(const char *text);      // one word of at most 64 bytes; an empty text is valid,
                                            // too

// Adds a link, unless the store has it already. Saves the series' device with its names, too.
int import_put_link(struct import *in, const struct series *series, const struct device *device,
                    const struct link *link, struct error *err);

// Finds the line that names a table's columns: the first line that is neither empty nor a comment,
// and has a comma. NULL: there is none.
const char *import_header(size_t *length, const struct import_file *file);
// Parses a table. A line with more or fewer fields than the header is left out and reported. Where
// semicolons or tabs separate the fields, import_numbers() normalises the numbers.
int import_table(struct csv *out, struct import *in, const char *text, size_t length,
                 struct error *err);
// Rewrites a table's numbers with a decimal point, whatever the language of the machine that wrote
// them. -1: nothing in the table says whether the comma or the point is the decimal mark.
int import_numbers(const struct import *in, struct csv *csv, struct error *err);
// Returns a field of one of our own tables without the apostrophe that guards it against
// spreadsheets; "" when `column` is -1.
const char *import_cell(const struct csv *csv, size_t row, int column);

// The readers of our own formats.
extern const struct importer importer_json, importer_csv, importer_links;

// ==== writing ====

// The fields of a sample, as exported files name them, with the range that a reader accepts.
#define SAMPLE_COLUMNS(X)                                                                          \
    X(time_ns, 0, SAMPLE_TIME_NS)                                                                  \
    X(clock_hz, 0, SAMPLE_CLOCK_HZ)                                                                \
    SAMPLE_INTEGERS(X)

// Calls `put` for each run that the filter selects, oldest first.
typedef void export_run(FILE *file, const struct export_filter *filter, const struct run *run,
                        const char *uid);
int export_runs(struct store *store, const struct export_filter *filter, FILE *file,
                export_run *put, struct error *err);
struct link_owner { // the series that a link belongs to
    const char *kernel, *problem;
    struct device device;
};
// Calls `put` for each link that the filter selects, series by series.
typedef void export_link(FILE *file, const struct link_owner *owner, const struct link *link);
int export_each_link(struct store *store, const struct export_filter *filter, FILE *file,
                     export_link *put, struct error *err);

#endif
