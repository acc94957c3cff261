// SPDX-License-Identifier: Apache-2.0
//
// A scratch store for each test, and what several tests ask of one. Uses cmocka: what must work and
// does not fails the test.
#ifndef PLUMB_HELPER_OPEN_STORE_H
#define PLUMB_HELPER_OPEN_STORE_H

#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_store.h"

struct open_store {
    char *folder;
    const char *path, *other_path; // of the stores, in that folder or one below
    struct store *store, *other;   // open for writing; NULL: no file there yet
    struct arena arena;
};

// cmocka's set-up and tear-down: *state is a struct open_store, with one empty store, two,
// or none.
int open_store_set_up(void **state);
int open_store_set_up_two(void **state);
int open_store_set_up_none(void **state);
int open_store_tear_down(void **state);

// While this is true nobody waits in earnest: each pause is over at once, so what has waited for a
// lock for ten seconds by its own count gives up at once, too.
extern bool pauses_are_over;

// Fails the test with the error's text unless status is 0.
void assert_ok(int status, const struct error *err);

// Adds runs 0 to runs - 1, a gate every other one, to the store of this path.
void save_runs_at(const char *path, unsigned runs);
// Every run and every history; gives up at the first error.
int load_everything(struct store *store, struct error *err);
// What is in a store that store_check() finds nothing wrong with.
struct store_counts sound_counts(struct store *store);
// Behind the store's back.
void run_sql(const char *path, const char *sql);
// Imports the text as the file "file" of that format (NULL: by the content), strictly; `added` may
// be NULL.
int import_text(struct store *store, const char *text, size_t size, const char *format,
                struct store_counts *added, struct error *err);
// The same of another source than a plain one.
int import_from(struct store *store, const char *text, size_t size,
                const struct import_source *source, struct store_counts *added, struct error *err);

#endif
