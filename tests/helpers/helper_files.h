// SPDX-License-Identifier: Apache-2.0
//
// Scratch folders and the files in them. Each of these ends the test program on failure.
#ifndef PLUMB_HELPER_FILES_H
#define PLUMB_HELPER_FILES_H

#include <stdbool.h>
#include <stddef.h>

// A fresh directory in the program's own scratch folder, which goes with it, and an early end.
// Caller frees the name.
char *helper_directory(void);
void helper_discard(const char *directory);
// A fresh file there that says `text`. Its name stays until the program ends.
char *helper_file(const char *text);

// The whole file, followed by a NUL that `size` (NULL: not wanted) does not count. Caller frees.
char *helper_read(const char *path, size_t *size);
// Makes the file, or replaces what is in it.
void helper_write(const char *path, const void *bytes, size_t size);
void helper_write_text(const char *path, const char *text);
// The same for a path in the folder, whose own folders are made.
void helper_put(const char *folder, const char *path, const char *text);
// Something is there: a file, a folder, or a link that leads nowhere.
bool helper_exists(const char *directory, const char *name);
// The file contains this text; if not, stderr hears which.
bool helper_says(const char *path, const char *text);
// How often `wanted` stands in the text.
size_t helper_occurrences(const char *text, const char *wanted);

#endif
