// SPDX-License-Identifier: Apache-2.0
//
// A command of the program: a table of options and a function. Each command is one file,
// ci/commands/cmd_<name>.c, that defines `const struct command command_<name>`; the file's name
// registers it. ci/command.c parses the options, opens and closes the context, and reports what
// failed.

#ifndef PLUMB_COMMAND_H
#define PLUMB_COMMAND_H

#include "ci/settings/context.h"
#include "model/result.h"

#include <stddef.h>

// An option, and the member of `struct arguments` that receives its value. The macros below fill it
// in.
struct command_option {
    const char *name;  // --NAME; NULL ends a table
    int letter;        // the letter of -L, 0: it has none
    const char *value; // what `--help` calls its value; NULL: it takes none
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
    int64_t least, most;                         // the range of a count
    int (*take)(void *member, const char *text); // reads a value of the option's own kind; -1:
                                                 // refused
    const char *must;                            // the message after a refusal: "--NAME=TEXT: MUST"
};

#define OPTION_MEMBER(of) offsetof(struct arguments, of)

// The member is a bool, true when the option is given.
#define OPTION_FLAG(long_name, short_name, text, of)                                               \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .help = (text), .kind = OPTION_IS_FLAG,       \
        .member = OPTION_MEMBER(of)                                                                \
    }

// The member is a const char *.
#define OPTION_TEXT(long_name, short_name, shown, text, of)                                        \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (shown), .help = (text),             \
        .kind = OPTION_IS_TEXT, .member = OPTION_MEMBER(of)                                        \
    }

// The member is a uint32_t, from `low` to `high`.
#define OPTION_COUNT(long_name, shown, text, of, low, high)                                        \
    {                                                                                              \
        .name = (long_name), .value = (shown), .help = (text), .kind = OPTION_IS_COUNT,            \
        .member = OPTION_MEMBER(of), .least = (low), .most = (high)                                \
    }

// The member is an int64_t, the number of a stored run.
#define OPTION_RUN(long_name, text, of)                                                            \
    {                                                                                              \
        .name = (long_name), .value = "ID", .help = (text), .kind = OPTION_IS_RUN,                 \
        .member = OPTION_MEMBER(of)                                                                \
    }

// The member is a bool, true for JSON. The option is --format with table or json, for a command
// that prints a table (ci/commands/output.h).
#define OPTION_FORMAT(of)                                                                          \
    {                                                                                              \
        .name = "format", .value = "NAME", .help = "table or json [table]",                        \
        .kind = OPTION_IS_FORMAT, .member = OPTION_MEMBER(of)                                      \
    }

// An option of any other kind. `taker` reads the value, and `needs` says what the value must be.
// The taker gets the arguments; with OPTION_PART it gets their member `of`.
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

// Options that only some uses of a command accept. In another use such an option is refused:
// "--NAME is for USE".
struct option_use {
    const char *options; // names separated by blanks; NULL ends a table
    bool (*acts)(const void *arguments);
    const char *use;
};

struct command {
    const char *name;
    const char *summary;        // one line for `plumb --help`
    const char *words;          // the words that may stand beside the options, as `--help` shows
                                // them, or NULL
    size_t words_least;         // with fewer words the usage is printed
    size_t words_most;          // more words are refused
    const char *doc;            // the text of `plumb NAME --help`; "\v" separates its two parts
    const char *json;           // the members of --format json, for `--help`; NULL: there is no
                                // such format
    enum shared_options shared; // the shared options (struct options) that it takes
    const struct command_option *options; // the command's own options, NULL: none
    // The size of the command's `struct arguments`, which begins with `struct options options`.
    // `defaults` is one such struct, or NULL for zeros.
    size_t size;
    const void *defaults;
    // Checks that the arguments go together, and derives others from them; NULL: they always go
    // together.
    int (*check)(void *arguments, struct error *err);
    const struct option_use *uses; // tested after check(); NULL: every use takes all options
    // Does the work. The context has its options and is otherwise empty; whatever the work opens in
    // it is closed afterwards. *out, CONCLUDE_OK at first, becomes the exit code.
    int (*run)(enum conclusion *out, struct context *context, void *arguments, struct error *err);
};

// Returns an option that the command takes, by its index; the shared ones come first, and NULL
// follows the last.
const struct command_option *command_option(const struct command *command, size_t index);

// Returns the command's doc followed by the members of its JSON. The caller frees.
char *command_doc(const struct command *command);

// Runs the command with the command line `argv`, whose first element is the command's name. Returns
// the exit code.
int command_call(const struct command *command, int argc, char **argv);

// Finds the name that was probably meant by a misspelt one. spelling_try() is called for each
// candidate, and the struct keeps the best one.
struct spelling {
    const char *name;    // the name as it was typed
    const char *closest; // the closest candidate so far; NULL: none is close
    size_t off;          // how many letters `closest` differs by
};

// Tries a candidate. It is close if at most two letters differ, and fewer than half of the name's
// letters.
void spelling_try(struct spelling *spelling, const char *candidate);

// The toolchains that a command line names, in its order.
enum { TOOLCHAIN_NAMES = 16 };
struct toolchain_names {
    const char *names[TOOLCHAIN_NAMES]; // borrowed from the command line
    size_t count;
};
// The rule for these names, as the error message states it.
#define TOOLCHAIN_NAMES_MUST "at most 16 names, each once, of letters, digits and ._+-"
// Adds a name. -1: it cannot be a toolchain's name, is named twice, or there are too many names.
int toolchain_names_add(struct toolchain_names *names, const char *name);

#endif
