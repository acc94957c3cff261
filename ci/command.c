// SPDX-License-Identifier: Apache-2.0
//
// Runs a command: parses its options with argp, calls its function, and closes everything. What a
// command does is in ci/commands/.
#include "ci/command.h"

#include "ci/settings/context.h"
#include "ci/settings/progress.h"
#include "model/result.h"

#include <argp.h>
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- misspelt names ----

// The number of letters that must be inserted, deleted, replaced or swapped with a neighbour.
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t rows[3][MOST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    const size_t n = strlen(b);
    if (n > MOST || strlen(a) > MOST)
        return MOST;
    for (size_t j = 0; j <= n; j++)
        last[j] = before[j] = j;
    for (size_t i = 0; a[i]; i++) {
        now[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = last[j] + (a[i] != b[j]);
            best = best < last[j + 1] + 1 ? best : last[j + 1] + 1;
            best = best < now[j] + 1 ? best : now[j] + 1;
            if (i && j && a[i] == b[j - 1] && a[i - 1] == b[j] && before[j - 1] + 1 < best)
                best = before[j - 1] + 1;
            now[j + 1] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[n];
}

void spelling_try(struct spelling *spelling, const char *candidate)
{
    const size_t off = distance(spelling->name, candidate);
    if (off <= 2 && 2 * off < strlen(candidate) && (!spelling->closest || off < spelling->off)) {
        spelling->off = off;
        spelling->closest = candidate;
    }
}

#define SHARED(member) offsetof(struct options, member)

#define SHARED_TEXT(long_name, short_name, shown, text, of)                                        \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .value = (shown), .help = (text),             \
        .kind = OPTION_IS_TEXT, .member = SHARED(of)                                               \
    }

#define SHARED_FLAG(long_name, short_name, text, of)                                               \
    {                                                                                              \
        .name = (long_name), .letter = (short_name), .help = (text), .kind = OPTION_IS_FLAG,       \
        .member = SHARED(of)                                                                       \
    }

static const struct command_option shared[] = {
    SHARED_TEXT("repo", 'C', "DIR", "Repository [the current directory]", repository),
    SHARED_TEXT("store", 's', "FILE", "Store [REPO/.plumb/store.db]", store),
    SHARED_TEXT("policy", 'p', "FILE", "Policy file [" POLICY_PATH " of the commit or checkout]",
                policy),
    SHARED_TEXT("device", 'd', "NAME", "Only this device of the policy", device),
    SHARED_TEXT("out", 'o', "DIR", "Write reports there", out),
    SHARED_TEXT("sandbox", 0, "MODE", "auto, require or off, instead of the policy's", sandbox),
    SHARED_TEXT("cache", 0, "DIR", "Build cache [REPO/.plumb/cache]", cache),
    SHARED_TEXT("overlay", 0, "DIR",
                "Folder that builds see beside the commit, as $PLUMB_OVERLAY; its content counts",
                overlay),
    SHARED_TEXT("bench", 0, "PROGRAM", "The child that times kernels [beside plumb]", bench),
    SHARED_FLAG("dry-run", 'n', "Say what would be done", dry_run),
    SHARED_FLAG("quiet", 'q', "No progress", quiet),
    SHARED_TEXT("kernel", 'k', "GLOB", "Only these kernels", kernel),
    SHARED_TEXT("problem", 0, "GLOB", "Only these problems, e.g. '4096x*:bf16*'", problem),
};

// The group of each shared option above, in the same order.
static const enum shared_options shared_by[ARRAY_COUNT(shared)] = {
    SHARED_STORE,  SHARED_STORE, SHARED_POLICY, SHARED_DEVICE, SHARED_OUT,
    SHARED_DEVICE, SHARED_BUILD, SHARED_BUILD,  SHARED_DEVICE, SHARED_DRY,
    SHARED_QUIET,  SHARED_WHICH, SHARED_WHICH};

static bool is_shared(const struct command_option *option)
{
    return option >= shared && option < shared + ARRAY_COUNT(shared);
}

const struct command_option *command_option(const struct command *command, size_t index)
{
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++) {
        if ((command->shared & shared_by[i]) && index-- == 0)
            return &shared[i];
    }
    for (const struct command_option *o = command->options; o && o->name; o++) {
        if (index-- == 0)
            return o;
    }
    return NULL;
}

enum { OPTIONS_MOST = 40, FIRST_KEY = 1000 };

// A command line that is being turned into the command's arguments.
struct invocation {
    const struct command *command;
    const struct command_option *options[OPTIONS_MOST]; // all options that the command takes
    struct argp_option table[OPTIONS_MOST + 1];         // the same options for argp; ends with
                                                        // zeros
    bool given[OPTIONS_MOST];
    size_t count;
    void *arguments;
};

static void add_option(struct invocation *call, const struct command_option *o, int group)
{
    assert(call->count < OPTIONS_MOST);
    for (size_t i = 0; i < call->count; i++) { // of two such options argp would silently take the
                                               // first
        assert(strcmp(call->options[i]->name, o->name) != 0);
        assert(!o->letter || call->options[i]->letter != o->letter);
    }
    call->table[call->count] = (struct argp_option){
        .name = o->name,
        .key = o->letter ? o->letter : FIRST_KEY + (int)call->count,
        .arg = o->value,
        .doc = o->help,
        .group = group,
    };
    call->options[call->count++] = o;
}

// Prints one line and ends the program.
static _Noreturn void refuse(const struct argp_state *state, const char *format, ...)
    PRINTF_LIKE(2, 3);

static _Noreturn void refuse(const struct argp_state *state, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", state->name);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(CONCLUDE_FAILED);
}

static void take_count(uint32_t *out, const struct command_option *o, const char *text,
                       struct argp_state *state)
{
    int64_t value = 0;
    if (parse_int64(&value, text) || value < o->least || value > o->most)
        refuse(state, "--%s=%s: needs a whole number from %lld to %lld", o->name, text,
               (long long)o->least, (long long)o->most);
    *out = (uint32_t)value;
}

static void take(void *arguments, const struct command_option *o, const char *text,
                 struct argp_state *state)
{
    void *member = (char *)arguments + o->member;
    switch (o->kind) {
    case OPTION_IS_FLAG:
        *(bool *)member = true;
        break;
    case OPTION_IS_TEXT:
        *(const char **)member = text;
        break;
    case OPTION_IS_COUNT:
        take_count(member, o, text, state);
        break;
    case OPTION_IS_RUN:
        if (parse_int64(member, text) || *(int64_t *)member < 1)
            refuse(state, "--%s=%s: needs the number that `plumb report --list` shows", o->name,
                   text);
        break;
    case OPTION_IS_FORMAT:
        *(bool *)member = strcmp(text, "json") == 0;
        if (!*(bool *)member && strcmp(text, "table") != 0)
            refuse(state, "--%s=%s: is table or json", o->name, text);
        break;
    case OPTION_IS_OWN:
        if (o->take(member, text))
            refuse(state, "--%s=%s: %s", o->name, text, o->must);
        break;
    }
}

static error_t add_word(struct invocation *call, char *word, struct argp_state *state)
{
    struct words *words = &((struct options *)call->arguments)->words;
    if (words->count >= call->command->words_most)
        refuse(state, "%s '%s'; `%s --help` shows what it takes",
               words->count ? "too many words:" : "takes no", word, state->name);
    if (!words->items)
        words->items = xcalloc((size_t)state->argc, sizeof(*words->items));
    words->items[words->count++] = word;
    return 0;
}

static bool is_among(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at += length) {
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

// Refuses an option that this use of the command ignores, because the user would think that it has
// an effect.
static void refuse_unused(const struct invocation *call, struct argp_state *state)
{
    for (const struct option_use *use = call->command->uses; use && use->options; use++) {
        for (size_t i = 0; i < call->count && !use->acts(call->arguments); i++) {
            if (call->given[i] && is_among(use->options, call->options[i]->name))
                refuse(state, "--%s is for %s", call->options[i]->name, use->use);
        }
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct invocation *call = state->input;
    const struct command *command = call->command;
    struct error err;
    if (key == ARGP_KEY_ARG)
        return add_word(call, text, state);
    if (key == ARGP_KEY_END) {
        if (((struct options *)call->arguments)->words.count < command->words_least)
            refuse(state, "needs more words; see `%s --help`", state->name);
        if (command->check && command->check(call->arguments, &err))
            refuse(state, "%s", err.text);
        refuse_unused(call, state);
        return 0;
    }
    for (size_t i = 0; i < call->count; i++) {
        if (call->table[i].key == key) {
            call->given[i] = true;
            take(call->arguments, call->options[i], text, state);
            return 0;
        }
    }
    return ARGP_ERR_UNKNOWN;
}

char *command_doc(const struct command *command)
{
    const char *doc = command->doc ? command->doc : command->summary;
    if (!command->json)
        return xstrdup(doc);
    return xprintf("%s%s--format json: %s", doc, strchr(doc, '\v') ? "\n\n" : "\v", command->json);
}

// ---- unknown options: getopt would use two lines, and not suggest what was meant

// Finds the option with this name, or the one that begins like this; `several`: more than one does.
static const struct command_option *option_of(bool *several, const struct invocation *call,
                                              const char *name, size_t length)
{
    const struct command_option *found = NULL;
    *several = false;
    for (size_t i = 0; i < call->count; i++) {
        const struct command_option *o = call->options[i];
        if (strncmp(o->name, name, length) != 0)
            continue;
        if (!o->name[length]) {
            *several = false;
            return o;
        }
        *several |= found != NULL;
        found = o;
    }
    return found;
}

static bool is_help(const char *name, size_t length)
{
    return strncmp(name, "help", length) == 0 || strncmp(name, "usage", length) == 0;
}

// Checks a long option and returns how many words of the command line it takes.
static int check_long(const struct invocation *call, const struct argp_state *state,
                      char *const *rest)
{
    const char *name = rest[0] + 2;
    const size_t length = strcspn(name, "=");
    bool several;
    const struct command_option *o = option_of(&several, call, name, length);
    if (is_help(name, length))
        return 1;
    if (!o) {
        char *typed = xprintf("%.*s", (int)length, name);
        struct spelling meant = {.name = typed};
        for (size_t i = 0; i < call->count; i++)
            spelling_try(&meant, call->options[i]->name);
        if (meant.closest)
            refuse(state, "--%.40s is no option; did you mean --%s?", typed, meant.closest);
        refuse(state, "--%.40s is no option; `%s --help` lists them", typed, state->name);
    }
    if (several)
        refuse(state, "--%.*s is the beginning of several options; write it out", (int)length,
               name);
    if (!o->value && name[length])
        refuse(state, "--%s takes no value", o->name);
    if (o->value && !name[length] && !rest[1])
        refuse(state, "--%s needs its %s", o->name, o->value);
    return o->value && !name[length] ? 2 : 1;
}

static int check_letters(const struct invocation *call, const struct argp_state *state,
                         char *const *rest)
{
    for (const char *c = rest[0] + 1; *c; c++) {
        const struct command_option *o = NULL;
        for (size_t i = 0; i < call->count; i++)
            o = call->options[i]->letter == *c ? call->options[i] : o;
        if (!o && *c != '?')
            refuse(state, "-%c is no option; `%s --help` lists them", *c, state->name);
        if (o && o->value && !c[1] && !rest[1])
            refuse(state, "-%c needs its %s", *c, o->value);
        if (o && o->value)
            return c[1] ? 1 : 2;
    }
    return 1;
}

static void check_options(const struct invocation *call, int argc, char *const *argv)
{
    const struct argp_state state = {.name = argv[0]};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0;) {
        if (strncmp(argv[i], "--", 2) == 0)
            i += check_long(call, &state, argv + i);
        else
            i += argv[i][0] == '-' && argv[i][1] ? check_letters(call, &state, argv + i) : 1;
    }
}

// Parses the arguments. Ends the program for --help and for wrong usage.
static void parse_arguments(struct invocation *call, int argc, char **argv)
{
    const struct command *command = call->command;
    const struct command_option *o;
    for (size_t i = 0; (o = command_option(command, i)); i++)
        add_option(call, o, !is_shared(o) && i > 0);
    char *doc = command_doc(command);
    // glibc's --help leaks memory for an empty table, but not if there is none.
    const struct argp argp = {.options = call->count ? call->table : NULL,
                              .parser = parse,
                              .args_doc = command->words,
                              .doc = doc};
    argp_err_exit_status = CONCLUDE_FAILED;
    argv[0] = xprintf("plumb %s", argv[0]); // argp keeps the pointer, so it is not freed
    check_options(call, argc, argv);
    if (argp_parse(&argp, argc, argv, 0, NULL, call))
        exit(CONCLUDE_FAILED);
    free(doc);
}

int command_call(const struct command *command, int argc, char **argv)
{
    struct invocation call = {.command = command, .arguments = xcalloc(1, command->size)};
    struct options *options = call.arguments;
    struct context context = {.options = options};
    enum conclusion conclusion = CONCLUDE_OK;
    struct error err;
    if (command->defaults)
        memcpy(call.arguments, command->defaults, command->size);
    parse_arguments(&call, argc, argv);
    if (command->run(&conclusion, &context, call.arguments, &err)) {
        char *line = plain_line(err.text);
        fflush(stdout); // so that the failure is the last thing said; a full disk is found later
        fprintf(stderr, "plumb: %s\n", line);
        free(line);
        conclusion = CONCLUDE_FAILED;
    }
    context_close(&context);
    free(options->words.items);
    free(call.arguments);
    return (int)conclusion;
}

int toolchain_names_add(struct toolchain_names *names, const char *name)
{
    if (!toolchain_name_sound(name) || names->count == TOOLCHAIN_NAMES)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0)
            return -1;
    }
    names->names[names->count++] = name;
    return 0;
}
