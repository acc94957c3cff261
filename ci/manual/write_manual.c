// SPDX-License-Identifier: Apache-2.0
//
// manual DIR: a program of the build that writes man pages and completions below DIR, in the places
// where /usr/share has them.
#include "ci/manual/manual.h"
#include "reports/report.h"
#include "runner/child/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) extern const struct command command_##name;
#include "ci/commands.inc"
#undef X

#define X(name) &command_##name,
static const struct command *const commands[] = {
#include "ci/commands.inc"
};
#undef X

// Frees the text.
static int put(const char *share, const char *folder, const char *name, struct buffer *text,
               struct error *err)
{
    char *directory = xprintf("%s/%s", share, folder), *path = xprintf("%s/%s", directory, name);
    int status = files_make_directory(directory, err);
    if (status == 0)
        status = report_replace_file(path, text->bytes, text->length, err);
    free(path);
    free(directory);
    buffer_free(text);
    return status;
}

static int put_man_pages(const char *share, const struct command_list *list, struct error *err)
{
    struct buffer text = {0};
    man_program(&text, list);
    int status = put(share, "man/man1", "plumb.1", &text, err);
    for (size_t i = 0; status == 0 && i < list->count; i++) {
        char *name = xprintf("plumb-%s.1", list->items[i]->name);
        man_command(&text, list->items[i]);
        status = put(share, "man/man1", name, &text, err);
        free(name);
    }
    return status;
}

static int put_completions(const char *share, const struct command_list *list, struct error *err)
{
    static const struct {
        void (*write)(struct buffer *, const struct command_list *);
        const char *folder, *name;
    } shells[] = {{complete_bash, "bash-completion/completions", "plumb"},
                  {complete_zsh, "zsh/vendor-completions", "_plumb"},
                  {complete_fish, "fish/vendor_completions.d", "plumb.fish"}};
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(shells); i++) {
        struct buffer text = {0};
        shells[i].write(&text, list);
        status = put(share, shells[i].folder, shells[i].name, &text, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    const struct command_list list = {commands, ARRAY_COUNT(commands)};
    struct error err;
    if (argc != 2) {
        fputs("usage: manual DIR\n", stderr);
        return CONCLUDE_FAILED;
    }
    if (put_man_pages(argv[1], &list, &err) || put_completions(argv[1], &list, &err)) {
        fprintf(stderr, "manual: %s\n", err.text);
        return CONCLUDE_FAILED;
    }
    return CONCLUDE_OK;
}
