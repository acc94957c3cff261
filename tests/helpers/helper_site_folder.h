// SPDX-License-Identifier: Apache-2.0
//
// A scratch folder that sites are written to. Uses cmocka: what must work and does not fails the
// test.
#ifndef PLUMB_TESTS_HELPER_SITE_FOLDER_H
#define PLUMB_TESTS_HELPER_SITE_FOLDER_H

#include "tests/helpers/helper_site.h"

// cmocka's set-up and tear-down: *state is the folder's name, a char *.
int site_folder_set_up(void **state);
int site_folder_tear_down(void **state);

struct site_written site_folder_write(struct helper_site *h, const char *folder);
// A file of it, whole; the caller frees.
char *site_folder_read(const char *folder, const char *name);
bool site_folder_has(const char *folder, const char *name, const char *text); // in that file
// Whether a shell command that is run there succeeds.
bool site_folder_shell(const char *command, const char *folder);

#endif
