// SPDX-License-Identifier: Apache-2.0
//
// The words for a commit that does not build, the same in every report.
#include "reports/run/unbuilt.h"

#include <string.h>

void unbuilt_sentence(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    if (!f->reason)
        return;
    buffer_printf(out, "%s %.10s does not build: %s", role == ROLE_BASE ? "base" : "commit",
                  role == ROLE_BASE ? run->base.id : run->head.id, f->reason);
    if (role == ROLE_BASE)
        buffer_puts(out, "; there is nothing to compare with");
}

void unbuilt_error(struct buffer *out, const struct build_error *error)
{
    if (error->file[0] && error->line)
        buffer_printf(out, "%s:%u: ", error->file, error->line);
    buffer_puts(out, error->text);
}

void unbuilt_text(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    if (!f->reason)
        return;
    unbuilt_sentence(out, run, role);
    buffer_puts(out, "\n");
    for (size_t i = 0; i < f->count; i++) {
        unbuilt_error(out, &f->errors[i]);
        buffer_puts(out, "\n");
    }
    if (f->log[0])
        buffer_printf(out, "log: %s\n", f->log);
}

bool unbuilt_is_in_repository(const struct build_error *error)
{
    const char *at = error->file;
    if (!*at || *at == '/' || !error->line)
        return false;
    for (; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}
