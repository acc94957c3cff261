// SPDX-License-Identifier: Apache-2.0
//
// The program: finds the command and runs it. Start reading at pipeline.c.
#include "ci/command.h"
#include "model/base.h"
#include "model/result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define X(name) extern const struct command command_##name;
#include "ci/commands.inc"
#undef X

#define X(name) &command_##name,
static const struct command *const commands[] = {
#include "ci/commands.inc"
};
#undef X

static void print_help(FILE *out)
{
    fputs("Usage: plumb COMMAND [OPTION...]\n"
          "Holds each GPU kernel's measured time against the time a model says it should take,\n"
          "and says which kernel got slower, on which shape, since which commit, and why.\n\n"
          "Commands (plumb COMMAND --help says more):\n",
          out);
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nExit: 0 no regression, 1 regression, 2 undecided or void, 3 a kernel is broken,\n"
          "4 the tool could not do its work.\n",
          out);
}

int main(int argc, char **argv)
{
    // A child that dies while we write to it is data, not the end of us.
    signal(SIGPIPE, SIG_IGN);
    // A full disk (or file-size limit) is an error with a text, too.
    signal(SIGXFSZ, SIG_IGN);
    const char *name = argc > 1 ? argv[1] : "--help";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return argc > 1 ? CONCLUDE_OK : CONCLUDE_FAILED;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("plumb " PLUMB_VERSION);
        return CONCLUDE_OK;
    }
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    }
    fprintf(stderr, "plumb: '%.40s' is not a command; `plumb --help` lists them\n", name);
    return CONCLUDE_FAILED;
}
