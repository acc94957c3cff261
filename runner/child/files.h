// SPDX-License-Identifier: Apache-2.0
//
// Directories that hold foreign files: made, and removed without following what is in them.
#ifndef PLUMB_FILES_H
#define PLUMB_FILES_H

#include "model/base.h"

// Makes a directory and its missing parents. There already is fine.
int files_make_directory(const char *path, struct error *err);
// A new one of ours alone, in TMPDIR or /tmp. -1: `out` is "".
int files_temporary(char *out, size_t size, struct error *err);
// Removes a file or a whole directory; symbolic links are removed, not followed, and directories
// without permissions are opened first. Not there is fine.
int files_remove(const char *path, struct error *err);
// Bytes of all files below a directory; what cannot be read counts as nothing. Folders that are
// more than 128 deep are not looked into, and count as more than any disk has. An empty file counts
// too, for a disk holds only so many.
#define FILES_TOO_DEEP ((uint64_t)1 << 50)
#define FILES_LEAST    ((uint64_t)4096)
uint64_t files_size(const char *path);

// A text of at most `most` bytes; NULL when it is not there, no regular file (links are not
// followed), larger or no text. Caller frees.
char *files_read(const char *path, size_t most);
// Bytes and the right to execute them, into a new file. -1: no regular file, or no room.
int files_copy(const char *from, const char *to, struct error *err);

// Where a part of this very program is, in a buffer of PATH_MAX: below its prefix when it is
// installed, else beside it (in a folder such as /usr/bin another program may be called so). False:
// it is not there, and `out` says where it was looked for last.
bool files_own(char *out, const char *name);

#endif
