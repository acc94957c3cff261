// SPDX-License-Identifier: Apache-2.0
//
// plumb asked: prints what a comment on a pull request asks for, as options of plumb gate.
#include "ci/command.h"
#include "ci/gate/asking.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
};

enum { COMMENT_MOST = 1 << 20 }; // a forge accepts 65,536 characters

static int read_comment(char *out, size_t *length, const char *path, struct error *err)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (!file)
        return error_set(err, "%s: %s", path, strerror(errno));
    *length = fread(out, 1, COMMENT_MOST, file);
    const bool bad = ferror(file) != 0;
    if (file != stdin)
        fclose(file);
    return bad ? error_set(err, "%s: cannot be read", path) : 0;
}

static void print_option(const char *name, const char *value)
{
    if (value[0])
        printf("--%s=%s\n", name, value);
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    static char text[COMMENT_MOST];
    const struct arguments *a = arguments;
    struct asking asked;
    size_t length = 0;
    (void)out;
    (void)context;
    if (read_comment(text, &length, a->options.words.items[0], err) ||
        asking_parse(&asked, text, length, err))
        return -1;
    print_option("kernel", asked.kernel);
    print_option("problem", asked.problem);
    print_option("base", asked.base);
    print_option("head", asked.head);
    return 0;
}

const struct command command_asked = {
    .name = "asked",
    .summary = "Turn a comment (/plumb gate ...) into options of gate",
    .words = "FILE",
    .words_least = 1,
    .words_most = 1,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Reads a comment on a pull request, from a file or - for standard input, whose first line "
        "is\n\n"
        "    /plumb gate kernel=GLOB problem=GLOB base=REV head=ID\n\n"
        "and prints one option of `plumb gate` a line; each of the four may be missing. Whatever "
        "the comment holds, what is printed is of plain characters, begins with --kernel=, "
        "--problem=, --base= or --head=, and is safe in a shell's quotes. Who may ask is the "
        "caller's to decide: .github/workflows/asked.yml does.\vExit: 0 it asks for a gate, 4 it "
        "asks for nothing that there is.",
};
