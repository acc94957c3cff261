// SPDX-License-Identifier: Apache-2.0
//
// Files that a person names on the command line, read and written whole; "-" is standard input or
// output.
#ifndef PLUMB_TEXT_FILE_H
#define PLUMB_TEXT_FILE_H

#include "model/buffer.h"

#include <stdio.h>

// Any bytes, at most 1 GiB. NUL-terminated; the caller frees *text.
int text_file_read(char **text, size_t *length, const char *path, struct error *err);
int text_file_write(const char *path, const struct buffer *text, struct error *err);

// Whether printed text did not arrive although somebody waits for it. False when the reader of the
// text is gone (`| head`): nobody misses the rest.
bool output_failed(void);

// A file to write that appears whole or not at all. path NULL or "-": standard output.
struct output_file {
    FILE *file;
    char *path, *temporary; // NULL for standard output
};
int output_file_open(struct output_file *out, const char *path, struct error *err);
// status 0: the file is put in place (on disk when this returns); else it is removed. Returns the
// final status.
int output_file_close(struct output_file *out, int status, struct error *err);

#endif
