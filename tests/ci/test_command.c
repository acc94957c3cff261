// SPDX-License-Identifier: Apache-2.0
//
// The frame around every command: its options reach their members, what is wrong ends with 4 before
// anything is done, and the tables of all commands are sound.
#include "ci/command.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define X(name) extern const struct command command_##name;
#include "ci/commands.inc"
#undef X

struct arguments {
    struct options options;
    bool flag;
    const char *text;
    uint32_t count;
    int64_t run_id;
    int taken;
};

static int take_twice(void *arguments, const char *text)
{
    struct arguments *a = arguments;
    a->taken += 2 * (int)strlen(text);
    return strcmp(text, "no") == 0 ? -1 : 0;
}

static const struct command_option own_options[] = {
    OPTION_FLAG("flag", 'f', "", flag),
    OPTION_TEXT("text", 't', "TEXT", "", text),
    OPTION_COUNT("count", "N", "", count, 3, 7),
    OPTION_RUN("run", "", run_id),
    OPTION_OWN("own", 0, "TEXT", "", take_twice, "anything but no"),
    {0},
};
static const struct arguments usual = {.text = "usual", .count = 5};

static int check(void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->flag && a->taken ? error_set(err, "--flag and --own do not go together") : 0;
}

static struct arguments seen;
static char word[16];

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    assert_ptr_equal(context->options, &a->options);
    seen = *a;
    text_copy(word, sizeof(word), a->options.words.count ? a->options.words.items[0] : "");
    *out = CONCLUDE_UNDECIDED;
    return strcmp(word, "fail") == 0 ? error_set(err, "it failed") : 0;
}

static bool is_flagged(const void *arguments)
{
    return ((const struct arguments *)arguments)->flag;
}

static const struct option_use uses[] = {{"count run", is_flagged, "--flag"}, {0}};

static const struct command tried = {.name = "tried",
                                     .summary = "",
                                     .words_most = 1,
                                     .shared = SHARED_STORE,
                                     .options = own_options,
                                     .size = sizeof(struct arguments),
                                     .defaults = &usual,
                                     .check = check,
                                     .uses = uses,
                                     .run = run};

// At most 8 words behind the command's name; ends with NULL.
static int call(const struct command *command, const char *const *words)
{
    char *argv[10] = {(char[]){"tried"}}, *owned[10] = {0};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = owned[argc] = xstrdup(words[argc - 1]);
    const int code = command_call(command, argc, argv);
    for (int i = 1; i < argc; i++)
        free(owned[i]);
    free(argv[0]);
    return code;
}

// The same in a process of its own, for what ends the program; nothing is shown.
static int call_apart(const struct command *command, const char *const *words)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        _exit(call(command, words));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(options_and_words_reach_their_members)
{
    const char *const none[] = {NULL};
    assert_int_equal(call(&tried, none), CONCLUDE_UNDECIDED);
    assert_string_equal(seen.text, "usual");
    assert_int_equal(seen.count, 5);
    assert_false(seen.flag);
    const char *const all[] = {"--count=7", "word", "-f", "--run=12", "-s", "db", NULL};
    assert_int_equal(call(&tried, all), CONCLUDE_UNDECIDED);
    assert_true(seen.flag);
    assert_int_equal(seen.count, 7);
    assert_int_equal(seen.run_id, 12);
    assert_string_equal(word, "word");
    const char *const own[] = {"--own=ab", "--own=c", NULL};
    assert_int_equal(call(&tried, own), CONCLUDE_UNDECIDED);
    assert_int_equal(seen.taken, 6);
}

TEST(what_is_wrong_ends_with_4)
{
    static const char *const wrong[][4] = {
        {"--count=2"}, {"--count=8"},       {"--count=x"}, {"--run=0"},    {"--own=no"},
        {"a", "b"},    {"-f", "--own=yes"}, {"--none"},    {"--policy=x"}, // shared by others
        {"fail"}};
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        if (call_apart(&tried, wrong[i]) != CONCLUDE_FAILED)
            fail_msg("%s %s", wrong[i][0], wrong[i][1] ? wrong[i][1] : "");
    }
}

// One that does nothing would be taken for one that does.
TEST(an_option_that_a_use_does_not_take_is_refused)
{
    static const char *const idle[][4] = {{"--run=3"}, {"word", "--count=7"}, {"--count", "7"}};
    static const char *const used[][4] = {
        {"--run=3", "-f"}, {"--flag", "word", "--count=7"}, {"--text=run"}};
    for (size_t i = 0; i < ARRAY_COUNT(idle); i++) {
        assert_int_equal(call_apart(&tried, idle[i]), CONCLUDE_FAILED);
        assert_int_equal(call_apart(&tried, used[i]), CONCLUDE_UNDECIDED);
    }
}

// The names of options that only some uses take are names of options.
static void assert_uses(const struct command *command)
{
    for (const struct option_use *use = command->uses; use && use->options; use++) {
        char *names = xstrdup(use->options), *rest = names, *name;
        while ((name = strsep(&rest, " "))) {
            const struct command_option *o;
            size_t k = 0;
            while ((o = command_option(command, k)) && strcmp(o->name, name) != 0)
                k++;
            if (!o)
                fail_msg("plumb %s has no --%s that a use could take", command->name, name);
        }
        free(names);
    }
}

TEST(every_commands_table_is_sound)
{
    const char *const help[] = {"--help", NULL};
#define X(name) &command_##name,
    static const struct command *const commands[] = {
#include "ci/commands.inc"
    };
#undef X
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        assert_true(commands[i]->size >= sizeof(struct options));
        assert_true(commands[i]->run && commands[i]->summary && commands[i]->doc);
        assert_uses(commands[i]);
        if (call_apart(commands[i], help) != 0)
            fail_msg("plumb %s --help: two options of one name or letter?", commands[i]->name);
    }
    // A letter means one thing in all of plumb. ("out" is a folder, "output" a file.)
    const char *means[128] = {['o'] = "out"};
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        const struct command_option *o;
        for (size_t k = 0; (o = command_option(commands[i], k)); k++) {
            const char **name = &means[(unsigned char)o->letter % ARRAY_COUNT(means)];
            if (o->letter && *name && strncmp(*name, o->name, strlen(*name)) != 0)
                fail_msg("-%c is --%s and, of plumb %s, --%s", o->letter, *name, commands[i]->name,
                         o->name);
            *name = *name ? *name : o->name;
        }
    }
}
