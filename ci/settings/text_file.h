// SPDX-License-Identifier: Apache-2.0
//
// Files that a person names on the command line, read and written whole; "-" is standard input or
// output.
#ifndef PLUMB_TEXT_FILE_H
#define PLUMB_TEXT_FILE_H

#include "model/buffer.h"

#include <stdio.h>

// Reads any bytes, at most 1 GiB. A NUL follows them; the caller frees *text.
int text_file_read(char **text, size_t *length, const char *path, struct error *err);
int text_file_write(const char *path, const struct buffer *text, struct error *err);

// Makes git ignore a folder that plumb made, without touching any file of the user's.
int text_file_ignore(const char *directory, struct error *err);

// Whether printed text was lost although somebody waits for it. False if the reader went away
// (`| head`), because then nobody misses the rest.
bool output_failed(void);

// A file to write that appears complete or not at all. With path NULL or "-" it is standard output.
struct output_file {
    FILE *file;
    char *path, *temporary; // NULL for standard output
};
int output_file_open(struct output_file *out, const char *path, struct error *err);
// Closes the file. With status 0 it is put in its place (and is on disk when this returns);
// otherwise it is removed. Returns the final status.
int output_file_close(struct output_file *out, int status, struct error *err);

#endif
