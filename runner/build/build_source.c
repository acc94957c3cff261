// SPDX-License-Identifier: Apache-2.0
//
// Exports a commit for its build, and says what of the export may surprise.
#include "runner/build/build_source.h"

#include "runner/build/spare_memory.h"

int build_source(struct build *build, struct exported *out, const struct build_place *place,
                 const char *directory, struct arena *arena, struct error *err)
{
    const struct recipe *recipe = place->recipe;
    struct error refused;
    const struct export_terms terms = {recipe->memory_bytes, spare_memory_bytes(""),
                                       recipe->without, recipe->without_count};
    const int code = repository_export(out, place->repository, place->commit, recipe->inputs,
                                       recipe->input_count, &terms, directory, &refused);
    if (code < 0)
        return error_set(err, "%s", refused.text);
    if (code == 0)
        return 0;
    build->state = code == EXPORT_LACKS ? BUILD_LACKING : BUILD_FAILED;
    build->reason = arena_strdup(arena, refused.text);
    build->log = "";
    return 1;
}

void build_source_seen(struct build *build, const struct exported *exported, struct arena *arena)
{
    const struct {
        const struct export_seen *seen;
        const char *what;
    } kinds[] = {{&exported->pointers, "a pointer of Git LFS: its file is not in the commit"},
                 {&exported->nameless, "a submodule without a line in .gitmodules: it is empty"}};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const struct export_seen *seen = kinds[i].seen;
        if (seen->count == 1)
            build->reason =
                arena_printf(arena, "%s; '%s' is %s", build->reason, seen->first, kinds[i].what);
        else if (seen->count)
            build->reason = arena_printf(arena, "%s; '%s' is, with %zu more, %s", build->reason,
                                         seen->first, seen->count - 1, kinds[i].what);
    }
}
