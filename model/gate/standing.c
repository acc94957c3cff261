// SPDX-License-Identifier: Apache-2.0
//
// The table of verdicts that two states alone decide, first row first.
#include "model/gate/standing.h"

#include <string.h>

#define AT(state) (1u << MEASURED_##state)
#define BAD       (AT(WRONG) | AT(CRASHED) | AT(TIMEOUT))
#define ANY       (~0u)

enum { SAME_CODE = 1, AWAY = 2 };

// The first row that fits counts. A change is blamed only for what worked on the base, or for what
// nobody can know of the base.
static const struct {
    unsigned base, head; // states
    unsigned needs;      // of SAME_CODE and AWAY
    struct standing standing;
} table[] = {
    {AT(UNBUILDABLE),
     AT(UNBUILDABLE),
     0,
     {VERDICT_BROKEN, CAUSE_BASE, "does not build, nor does it on the base"}},
    {ANY, AT(UNBUILDABLE), 0, {VERDICT_BROKEN, CAUSE_KERNEL, "does not build"}},
    {ANY,
     AT(MISSING),
     0,
     {VERDICT_BROKEN, CAUSE_KERNEL,
      "is gone from this commit: `plumb accept` accepts that, gate.removed = allow always does"}},
    {ANY,
     BAD,
     SAME_CODE,
     {VERDICT_BROKEN, CAUSE_BASE, "{head}, on the base too: it is the same machine code"}},
    {ANY, AT(UNSUPPORTED), SAME_CODE, {VERDICT_NOT_MEASURED, CAUSE_NONE, "{head}"}},
    {ANY,
     ANY,
     SAME_CODE,
     {VERDICT_SAME, CAUSE_NONE, "runs the machine code of the base: the same by identity"}},
    {AT(OK), AT(UNSUPPORTED), 0, {VERDICT_BROKEN, CAUSE_KERNEL, "{head}, which the base does"}},
    {ANY, AT(UNSUPPORTED), 0, {VERDICT_NOT_MEASURED, CAUSE_NONE, "{head}"}},
    {BAD, BAD, 0, {VERDICT_BROKEN, CAUSE_BASE, "{head}; on the base it {base}"}},
    {ANY, BAD, 0, {VERDICT_BROKEN, CAUSE_KERNEL, "{head}"}},
    {ANY,
     AT(NOT_TAKEN),
     AWAY,
     {VERDICT_NOT_MEASURED, CAUSE_NONE, "was not measured: device {device} is not here"}},
    {ANY,
     AT(NOT_TAKEN),
     0,
     {VERDICT_UNDECIDED, CAUSE_NONE,
      "was not measured: the time of the gate (gate.seconds) was spent before"}},
    {AT(NOT_TAKEN),
     AT(OK),
     0,
     {VERDICT_UNDECIDED, CAUSE_NONE,
      "has no time of the base: that of the gate (gate.seconds) was spent before"}},
    {AT(MISSING), AT(OK), 0, {VERDICT_NEW, CAUSE_NONE, "is new (the base has no such kernel)"}},
    {AT(UNSUPPORTED),
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "is new (the base does not do this problem)"}},
    {AT(UNBUILDABLE),
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "is new (the base does not build, so it has no time)"}},
    {BAD,
     AT(OK),
     0,
     {VERDICT_NEW, CAUSE_NONE, "works, and is new: on the base, also when run alone, it {base}"}},
};

const struct standing *standing_of(const struct standing_input *input)
{
    const unsigned have = (input->same_code ? SAME_CODE : 0) | (input->away ? AWAY : 0);
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].base & 1u << input->base && table[i].head & 1u << input->head &&
            (table[i].needs & have) == table[i].needs)
            return &table[i].standing;
    }
    return NULL;
}

const char *standing_text(enum measurement_state state)
{
    static const char *const texts[MEASUREMENT_STATES] = {
        [MEASURED_NOT_TAKEN] = "was not measured",
        [MEASURED_OK] = "works",
        [MEASURED_WRONG] = "gives wrong results",
        [MEASURED_CRASHED] = "crashes",
        [MEASURED_TIMEOUT] = "does not finish in time",
        [MEASURED_UNBUILDABLE] = "does not build",
        [MEASURED_UNSUPPORTED] = "does not do this problem",
        [MEASURED_MISSING] = "is gone",
    };
    return texts[state];
}

const char *standing_words(const struct standing *standing, const struct standing_input *input,
                           const char *device, struct arena *arena)
{
    const struct {
        const char *place, *text;
    } places[] = {{"{head}", standing_text(input->head)},
                  {"{base}", standing_text(input->base)},
                  {"{device}", device}};
    const char *words = standing->words;
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        const char *at = strstr(words, places[i].place);
        if (at)
            words = arena_printf(arena, "%.*s%s%s", (int)(at - words), words, places[i].text,
                                 at + strlen(places[i].place));
    }
    return words;
}
