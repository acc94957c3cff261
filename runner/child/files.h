// SPDX-License-Identifier: Apache-2.0
//
// Makes directories that hold foreign files, and removes them without following links in them.
#ifndef PLUMB_FILES_H
#define PLUMB_FILES_H

#include "model/base.h"

// Makes a directory and its missing parents. It may exist already.
int files_make_directory(const char *path, struct error *err);
// Makes a directory that only this user can access, in TMPDIR or /tmp. -1: `out` is "".
int files_temporary(char *out, size_t size, struct error *err);
// Removes a file or a whole directory. Symbolic links are removed and not followed; a directory
// without permissions gets them first. The path may be missing.
int files_remove(const char *path, struct error *err);
uint64_t files_size(const char *path);

// Reads a text file of at most `most` bytes. NULL: it is missing, is no regular file (links are not
// followed), is larger, or is no text. The caller frees.
char *files_read(const char *path, size_t most);
// Copies a file, with its execute permission, to a new one. -1: it is no regular file, or there is
// no room.
int files_copy(const char *from, const char *to, struct error *err);

// Finds a file that belongs to this program, and writes its path to `out`, a buffer of PATH_MAX. An
// installed program has it below its prefix, another one beside itself (in a folder such as
// /usr/bin, a file of that name could belong to another program). False: it was not found; `out`
// has the last place where it was looked for.
bool files_own(char *out, const char *name);

// ==== a log of bounded size ====
//
// A log file of bounded size. The beginning goes to the file as it comes; the end is kept in memory
// and written at close; the lines between are dropped and counted. The important lines stand at
// both ends: compilers report errors first, build tools last.

struct log {
    int fd;           // -1: everything is dropped
    size_t head_room; // bytes that still go directly to the file
    char *tail;       // ring buffer of tail_size bytes
    size_t tail_size;
    uint64_t tail_bytes; // number of bytes that came after the head was full
};

// Opens a log. path NULL: everything is dropped. bytes 0: 1 MiB. The file is created anew; links
// are not followed.
int log_open(struct log *out, const char *path, size_t bytes, struct error *err);
// Does the same with a file that is open already; from then on the log owns it.
void log_attach(struct log *out, int fd, size_t bytes);
void log_write(struct log *log, const char *bytes, size_t size);
void log_close(struct log *log);

// Returns the last `most` bytes of a log file, in whole lines where possible; "" when it cannot be
// read. The caller frees.
char *log_tail(const char *path, size_t most);
char *log_tail_of(int fd, size_t most); // of an open file; fd -1: ""

#endif
