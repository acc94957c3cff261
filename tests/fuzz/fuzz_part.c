// SPDX-License-Identifier: Apache-2.0
//
// What a shard's run notes of itself behind its policy (which part of a whole it is, that there was
// no sandbox), as a task of ci/fleet or a stranger may have written it; and the word of --part.
#include "ci/gate/part.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static bool is_part(const struct work_part *part)
{
    return part->number >= 1 && part->number <= part->count && part->count <= 100000;
}

static void read_notes(const struct run *run)
{
    char text[16];
    run_overlay(text, sizeof(text), run);
    must(strlen(text) < sizeof(text), "an overlay that does not fit");
    run_lacks(text, sizeof(text), run, LACKS_SANDBOX);
    must(strlen(text) < sizeof(text), "a reason that does not fit");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct run run = {0};
    struct work_part part;
    struct part_note note, again;
    char *text = arena_strndup(&run.arena, (const char *)bytes, size);
    run.policy = text;
    if (part_parse(&part, text) == 0)
        must(is_part(&part), "a part that is none");
    read_notes(&run);
    if (!part_note_read(&note, &run))
        note = (struct part_note){{3, 8}, 0x1f0c62a9b3d4e5f6u};
    must(is_part(&note.part), "a note of no part");
    // Whatever stands there: a note behind it is read, and taken away again.
    part_note_write(&run, &note);
    must(part_note_read(&again, &run) && again.stamp == note.stamp &&
             again.part.number == note.part.number && again.part.count == note.part.count,
         "a note that is not read back");
    must(strcmp(part_policy(&run, &run.arena), text) == 0, "a policy that the note changed");
    arena_free(&run.arena);
}
