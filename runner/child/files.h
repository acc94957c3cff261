// SPDX-License-Identifier: Apache-2.0
//
// Makes directories that hold foreign files, and removes them without following links in them.
#ifndef PLUMB_FILES_H
#define PLUMB_FILES_H

#include "model/base.h"

// Makes a directory and its missing parents. A directory that exists is fine.
int files_make_directory(const char *path, struct error *err);
// Makes a directory that is ours alone, in TMPDIR or /tmp. -1: `out` is "".
int files_temporary(char *out, size_t size, struct error *err);
// Removes a file or a whole directory; symbolic links are removed, not followed, and directories
// without permissions are opened first. A missing path is fine.
int files_remove(const char *path, struct error *err);
uint64_t files_size(const char *path);

// Reads a text file of at most `most` bytes. NULL: it is not there, no regular file (links are not
// followed), larger or no text. Caller frees.
char *files_read(const char *path, size_t most);
// Copies a file and the right to execute it to a new one. -1: no regular file, or no room.
int files_copy(const char *from, const char *to, struct error *err);

// Where a part of this very program is, in a buffer of PATH_MAX: below its prefix when it is
// installed, else beside it (in a folder such as /usr/bin another program may be called so). False:
// it is not there, and `out` says where it was looked for last.
bool files_own(char *out, const char *name);

// ==== a log of bounded size ====
//
// A log file of bounded size: the beginning goes to the file as it comes, the end is kept in memory
// and written at close, what lies between is dropped and counted. Compilers say what is wrong first
// and build tools last.

struct log {
    int fd;           // -1: everything is dropped
    size_t head_room; // bytes the file still takes directly
    char *tail;       // ring of tail_size bytes
    size_t tail_size;
    uint64_t tail_bytes; // that came after the head was full
};

// path NULL: everything is dropped. bytes 0: 1 MiB. The file is created anew, links not followed.
int log_open(struct log *out, const char *path, size_t bytes, struct error *err);
// As log_open(), into a file that is open already and belongs to the log from then on.
void log_attach(struct log *out, int fd, size_t bytes);
void log_write(struct log *log, const char *bytes, size_t size);
void log_close(struct log *log);

// The last `most` bytes of a log file, whole lines where possible. Caller frees; "" when
// unreadable.
char *log_tail(const char *path, size_t most);
char *log_tail_of(int fd, size_t most); // of an open file, -1: ""

#endif
