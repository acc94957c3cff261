// SPDX-License-Identifier: Apache-2.0
//
// A log file of bounded size: the beginning goes to the file as it comes, the end is kept in memory
// and written at close, what lies between is dropped and counted. Compilers say what is wrong first
// and build tools last.
#ifndef PLUMB_LOG_H
#define PLUMB_LOG_H

#include "model/base.h"

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
