// SPDX-License-Identifier: Apache-2.0
//
// A command of the program: a table of options and a function. One file each,
// ci/commands/cmd_<name>.c, which defines `const struct command command_<name>`; the file's name is
// its registration. ci/command.c parses the options, opens and closes the context, and says what
// failed.

#ifndef PLUMB_COMMAND_H
#define PLUMB_COMMAND_H

#include "ci/settings/context.h"
#include "model/result.h"

#include <stddef.h>

// An option, and the member of `struct arguments` that its text goes to. The macros below fill it.
struct command_option {
    const char *name;  // --NAME; NULL ends a table
    int letter;        // -L, 0: none
    const char *value; // what `--help` calls its text; NULL: it takes none
    const char *help;
    enum {
        OPTION_IS_FLAG,
        OPTION_IS_TEXT,
        OPTION_IS_COUNT,
        OPTION_IS_RUN,
        OPTION_IS_FORMAT,
        OPTION_IS_OWN
    } kind;
    size_t member;
    int64_t least, most;                         // of a count
    int (*take)(void *member, const char *text); // of its own kind; -1: refused
    const char *must;                            // then said: "--NAME=TEXT: MUST"
};

#define OPTION_MEMBER(of) offsetof(struct arguments, of)

// bool, true when it is given
#define OPTION_FLAG(long_name, short_name, text, of)                                               \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .help = (text), .kind = OPTION_IS_FLAG,       \
        .member = OPTION_MEMBER(of)                                                                \
    }

// const char *
#define OPTION_TEXT(long_name, short_name, shown, text, of)                                        \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (shown), .help = (text),             \
        .kind = OPTION_IS_TEXT, .member = OPTION_MEMBER(of)                                        \
    }

// uint32_t, from `low` to `high`
#define OPTION_COUNT(long_name, shown, text, of, low, high)                                        \
    {                                                                                              \
        .name = (long_name), .value = (shown), .help = (text), .kind = OPTION_IS_COUNT,            \
        .member = OPTION_MEMBER(of), .least = (low), .most = (high)                                \
    }

// int64_t, the number of a stored run
#define OPTION_RUN(long_name, text, of)                                                            \
    {                                                                                              \
        .name = (long_name), .value = "ID", .help = (text), .kind = OPTION_IS_RUN,                 \
        .member = OPTION_MEMBER(of)                                                                \
    }

// bool, true for JSON: --format table or json, for a command that has a table
// (ci/commands/output.h)
#define OPTION_FORMAT(of)                                                                          \
    {                                                                                              \
        .name = "format", .value = "NAME", .help = "table or json [table]",                        \
        .kind = OPTION_IS_FORMAT, .member = OPTION_MEMBER(of)                                      \
    }

// An option of any other kind: `taker` reads the text, and `needs` says what the text must be. The
// taker gets the arguments, or with OPTION_PART their member `of`.
#define OPTION_OWN(long_name, short_name, shown, text, taker, needs)                               \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (shown), .help = (text),             \
        .kind = OPTION_IS_OWN, .take = (taker), .must = (needs)                                    \
    }
#define OPTION_PART(long_name, shown, text, of, taker, needs)                                      \
    {                                                                                              \
        .name = (long_name), .value = (shown), .help = (text), .kind = OPTION_IS_OWN,              \
        .member = OPTION_MEMBER(of), .take = (taker), .must = (needs)                              \
    }

enum { WORDS_ANY = 1 << 20 };

// Options that only some uses of a command take. Given in another use, an option is refused:
// "--NAME is for USE".
struct option_use {
    const char *options; // names with a blank between two; NULL ends a table
    bool (*acts)(const void *arguments);
    const char *use;
};

struct command {
    const char *name;
    const char *summary;        // one line for `plumb --help`
    const char *words;          // what may stand beside the options, as `--help` shows it, or NULL
    size_t words_least;         // fewer: the usage is printed
    size_t words_most;          // more is refused
    const char *doc;            // for `plumb NAME --help`; "\v" between first and last part
    const char *json;           // what --format json answers, for `--help`; NULL: there is none
    enum shared_options shared; // those of struct options that it takes
    const struct command_option *options; // its own, NULL: none
    // The command's `struct arguments`, which begins with `struct options options`; `defaults` is
    // one, or NULL for zeros.
    size_t size;
    const void *defaults;
    // Checks that the arguments go together, and derives others; NULL: they always go together.
    int (*check)(void *arguments, struct error *err);
    const struct option_use *uses; // asked after it; NULL: every use takes all options
    // The work. The context has its options and is otherwise empty: whatever the work opens in it
    // is closed afterwards. *out, CONCLUDE_OK at first, is the exit code.
    int (*run)(enum conclusion *out, struct context *context, void *arguments, struct error *err);
};

// The options that the command takes, shared ones first; NULL behind the last.
const struct command_option *command_option(const struct command *command, size_t index);

// The command's doc with the members of its JSON at the end. Caller frees.
char *command_doc(const struct command *command);

// argv[0] is the command's name. Returns the exit code.
int command_call(const struct command *command, int argc, char **argv);

// Finds the name that a mistyped one stands for. It holds the best name so far; spelling_try() is
// called with one candidate after the other.
struct spelling {
    const char *name;    // as it was typed
    const char *closest; // of those tried; NULL: none is near
    size_t off;          // letters
};

// Tries a candidate: it is near at most two letters off, fewer than half of the name's.
void spelling_try(struct spelling *spelling, const char *candidate);

// Toolchains named one by one on a command line, in their order.
enum { TOOLCHAIN_NAMES = 16 };
struct toolchain_names {
    const char *names[TOOLCHAIN_NAMES]; // of the command line
    size_t count;
};
// The rule for the names, as the error message says it.
#define TOOLCHAIN_NAMES_MUST "at most 16 names, each once, of letters, digits and ._+-"
// Adds a name. -1: it cannot be one, it is there already, or they are too many.
int toolchain_names_add(struct toolchain_names *names, const char *name);

#endif
