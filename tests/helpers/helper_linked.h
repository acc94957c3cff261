// SPDX-License-Identifier: Apache-2.0
//
// A long history of one series by links, for tests of what is settled of it. Uses cmocka: what must
// work and does not fails the test.
#ifndef PLUMB_HELPER_LINKED_H
#define PLUMB_HELPER_LINKED_H

#include "ci/history/history_links.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_random.h"

struct linked_scene {
    struct open_store *f;
    struct series series;
    struct run run;
    struct random random;
    unsigned codes;
    const char *accepted;
    double off;         // what links miss by, beside their noise
    struct arena arena; // what one look needs
};

// A batch of the store is open from the beginning to the end.
void linked_scene_begin(struct linked_scene *scene, struct open_store *store, uint64_t seed);
void linked_scene_end(struct linked_scene *scene);

// The commit of a number.
struct commit linked_commit(unsigned number);
// A link of two codes; every 50th code is slower or faster than the one before, and one link in 500
// does not fit.
void linked_add_between(struct linked_scene *scene, unsigned base, unsigned head,
                        unsigned base_commit, unsigned head_commit, unsigned back);
void linked_add(struct linked_scene *scene, unsigned base, unsigned head, unsigned back);
// Codes up to `end`, each linked with those 1, 8 and 64 before it.
void linked_add_codes(struct linked_scene *scene, unsigned end);

// What a look says that goes on from the last one, and is kept; and one at all links. Packed, for
// comparing; the caller frees.
struct buffer linked_said_now(struct linked_scene *scene, struct kept_links *fresh);
struct buffer linked_said_anew(struct linked_scene *scene, struct linked_history *linked);
// Both say the same, and there is no trouble; how many stretches are settled (0, too, where nothing
// is new).
size_t linked_check_same(struct linked_scene *scene);

#endif
