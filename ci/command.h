// SPDX-License-Identifier: Apache-2.0
//
// A command of the program. One file each, ci/cmd_<name>.c, which defines
// `const struct command command_<name>`; the file's name is its registration.
#ifndef PLUMB_COMMAND_H
#define PLUMB_COMMAND_H

struct command {
    const char *name;
    const char *summary; // one line for `plumb --help`
    // argv[0] is the command's name. Returns the exit code (enum conclusion).
    int (*run)(int argc, char **argv);
};

#endif
