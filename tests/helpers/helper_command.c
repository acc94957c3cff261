// SPDX-License-Identifier: Apache-2.0
//
// A command's standard output, by way of a file in place of it.
#include "tests/helpers/helper_command.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS_MOST = 64 };

// Puts `to` in place of `standard`; a copy of what was there.
static int replace(int standard, int to)
{
    const int kept = dup(standard);
    dup2(to, standard);
    close(to);
    return kept;
}

int helper_command(const struct command *command, const char *const *words, char **out)
{
    char *copies[WORDS_MOST] = {0}, *argv[WORDS_MOST] = {0};
    char *path = helper_file("");
    int count = 0;
    for (; words[count] && count < WORDS_MOST - 1; count++)
        argv[count] = copies[count] = xstrdup(words[count]);
    fflush(stdout);
    const int kept = replace(STDOUT_FILENO, open(path, O_WRONLY));
    const int kept_err = replace(STDERR_FILENO, open("/dev/null", O_WRONLY));
    const int code = command_call(command, count, argv);
    fflush(stdout);
    close(replace(STDOUT_FILENO, kept));
    close(replace(STDERR_FILENO, kept_err));
    size_t length;
    *out = file_read(path, &length);
    unlink(path);
    if (argv[0] != copies[0]) // the option parser's own text by now
        free(argv[0]);
    for (int i = 0; i < count; i++)
        free(copies[i]);
    return code;
}
