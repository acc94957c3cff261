// SPDX-License-Identifier: Apache-2.0
//
// The frame around every command: its options reach their members, what is wrong ends with 4 before
// anything is done, and the tables of all commands are sound.
#include "ci/command.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

// What would end the program ends the call: a process for each of some thousand calls took forty
// seconds of a processor.
static jmp_buf ended;
static bool is_called;
static int ended_with;

void exit(int code)
{
    if (!is_called)
        _exit(code);
    ended_with = code;
    longjmp(ended, 1);
}

// Found under sanitizers: who is ended frees nothing.
__attribute__((weak)) void __lsan_disable(void);
__attribute__((weak)) void __lsan_enable(void);

static int call_until_it_ends(const struct command *command, const char *const *words)
{
    is_called = true;
    const int code = setjmp(ended) ? ended_with : call(command, words);
    is_called = false;
    return code;
}

// The same for what may end the program. `said` gets its standard error.
static int call_heard(char said[512], const struct command *command, const char *const *words)
{
    static int heard = -1, nothing, out, err;
    if (heard < 0) {
        heard = memfd_create("said", MFD_CLOEXEC);
        nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
        out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        assert_true(heard >= 0 && nothing >= 0 && out >= 0 && err >= 0);
    }
    fflush(stdout);
    assert_int_equal(ftruncate(heard, 0), 0);
    assert_int_equal(lseek(heard, 0, SEEK_SET), 0);
    dup2(nothing, STDOUT_FILENO);
    dup2(heard, STDERR_FILENO);
    if (__lsan_disable)
        __lsan_disable();
    const int code = call_until_it_ends(command, words);
    if (__lsan_enable)
        __lsan_enable();
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    const ssize_t got = pread(heard, said, 511, 0);
    assert_true(got >= 0);
    said[got] = '\0';
    return code;
}

static int call_apart(const struct command *command, const char *const *words)
{
    char said[512];
    return call_heard(said, command, words);
}

// In a process of its own, which libc ends by itself.
static int call_help(const struct command *command)
{
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        _exit(call(command, (const char *const[]){"--help", NULL}));
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

#define X(name) &command_##name,
static const struct command *const commands[] = {
#include "ci/commands.inc"
};
#undef X

TEST(every_commands_table_is_sound)
{
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        assert_true(commands[i]->size >= sizeof(struct options));
        assert_true(commands[i]->run && commands[i]->summary && commands[i]->doc);
        assert_uses(commands[i]);
        if (call_help(commands[i]) != 0)
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

// ---- every option in every use of every command ----

static int nothing(enum conclusion *out, struct context *context, void *arguments,
                   struct error *err)
{
    (void)out, (void)context, (void)arguments, (void)err;
    return 0;
}

// Calls the command with the words, of which a blank ends each, and one more; it does nothing when
// it is content with them.
static int call_use(char said[512], const struct command *command, const char *use,
                    const char *option)
{
    struct command idle = *command;
    const char *words[10] = {option};
    char *copy = xstrdup(use), *rest = copy, *next;
    size_t count = 1;
    idle.run = nothing;
    while ((next = strsep(&rest, " ")) && count < 8)
        if (*next)
            words[count++] = next;
    const int code = call_heard(said, &idle, words);
    free(copy);
    return code;
}

// A value that the option takes.
static char *option_word(const struct command_option *o)
{
    static const char *const values[][2] = {
        {"level", "+1%"},   {"confidence", "0.9"}, {"part", "1/2"},
        {"state", "new"},   {"regime", "cold"},    {"warm", "no"},
        {"launch", "no"},   {"clock", "1000"},     {"set", "sms=1"},
        {"goal", "wait"},   {"before", "90d"},     {"margin", "1"},
        {"toolchain", "c"}, {"model", "hopper"},   {"arch", "90a"},
        {"form", "host"},   {"csv", "x"},          {"tile", "64x64x32"},
        {"cluster", "1x1"}, {"split-k", "1"},      {"problem", "4x4x4:fp32"},
        {"dtype", "bf16"},  {"pipeline", "off"},   {"range", "1-2"}};
    if (!o->value)
        return xprintf("--%s", o->name);
    if (o->kind == OPTION_IS_COUNT)
        return xprintf("--%s=%lld", o->name, (long long)o->least);
    if (strcmp(o->name, "format") == 0)
        return xprintf("--%s=json", o->name);
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        if (strcmp(values[i][0], o->name) == 0)
            return xprintf("--%s=%s", o->name, values[i][1]);
    }
    return xprintf("--%s=1", o->name);
}

static const struct command *find_command(const char *name, size_t length)
{
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        if (strncmp(commands[i]->name, name, length) == 0 && !commands[i]->name[length])
            return commands[i];
    }
    return NULL;
}

static bool is_one_line(const char *said)
{
    const char *end = strchr(said, '\n');
    return end && !end[1];
}

static const struct {
    const char *use;  // the command and the words of one use
    const char *idle; // options that this use does not take; it takes all others
} modes[] = {
    {"accept --reason=x", "level"},
    {"accept series --reason=x --level=1%", "run store"},
    {"accuracy --csv=x", "run store"},
    {"accuracy --store=x", "csv"},
    {"asked file", ""},
    {"bisect --good=a --series=k/4x4x4:fp32", "toolchain drivers events kernel problem"},
    {"bisect --good=a --kernel=k --problem=4x4x4:fp32", "series toolchain drivers events"},
    {"bisect --toolchain=a --toolchain=b --series=k/4x4x4:fp32",
     "good drivers events kernel problem"},
    {"bisect --events", "good bad series toolchain format dry-run drivers"},
    {"bisect --drivers", "good bad events toolchain policy sandbox cache overlay bench dry-run "
                         "quiet confidence seconds"},
    {"calibrate", "kernels"},
    {"calibrate --study", ""},
    {"capture -- program", "show with launch limit output build"},
    {"capture --write -- program", "show with launch limit output"},
    {"capture --kernel=k -- program", "show with range build"},
    {"capture --show=x", "kernel range output write launch limit sandbox quiet build"},
    {"doctor", "reason who clear"},
    {"doctor --controls", "reason who clear format"},
    {"doctor --clear=u --reason=r", "controls format policy"},
    {"estimate 1:1 2:2", ""},
    {"events", "reason who file dry-run"},
    {"events show e", "reason who file dry-run state check"},
    {"events accept e --reason=r", "state check format"},
    {"export", ""},
    {"gate", "merge-base"},
    {"gate --base=a", ""},
    {"gate --static", "seconds join merge-base"},
    {"gate --join=x", "part static device bench sandbox cache overlay seconds merge-base"},
    {"history", "column where control"},
    {"history --toolchain=a", "column where control csv comparisons accuracy"},
    {"history --csv=x",
     "kernel problem device toolchain comparisons points epochs accuracy policy repo store"},
    {"import file", ""},
    {"import file --format=json", "commit problem kernel exclude device unit"},
    {"import file --format=google", "unit"},
    {"init", ""},
    {"init --print", "repo form arch force no-check outside"},
    {"list kernels", ""},
    {"list series", ""},
    {"list devices", "cache overlay"},
    {"list fleet", "bench cache device dry-run overlay quiet sandbox store"},
    {"list models", "bench cache device dry-run overlay policy quiet repo sandbox store"},
    {"optimise 64x64x64 --machine=m", "depth csv"},
    {"optimise 64x64x64 --machine=m --tile=32x32x32", "goal csv"},
    {"optimise --machine=m --csv=x", "goal depth"},
    {"plan check f 4x4x4", ""},
    {"predict 4x4x4", "csv dtype"},
    {"predict 4x4x4 --explain", "csv dtype parts format"},
    {"predict 4x4x4 --gpu=h200", "csv dtype repo store"},
    {"predict --csv=x", ""},
    {"record show f", "problem output sms kernel pin bench sandbox"},
    {"record make f --kernel=k --problem=4x4x4 --output=o", "sms"},
    {"record make f.plan --sms=1 --problem=4x4x4 --output=o", "kernel pin bench sandbox"},
    {"report", ""},
    {"report --list", "run events policy out dry-run"},
    {"report --format=junit", "out dry-run"},
    {"run", "steps first-parent all"},
    {"run A..B", ""},
    {"run NEW", "part"},
    {"select 4x4x4", "kernel bench sandbox device"},
    {"select 4x4x4 --gpu=h200", "trial kernel bench sandbox device repo store"},
    {"select 4x4x4 --trial=l",
     "model gpu set registers pipeline split-k top all warm launch clock repo store"},
    {"site", ""},
    {"status", ""},
    {"store info", "before runs dry-run"},
    {"store prune", ""},
    {"study --base=a", "join units records faster"},
    {"study --base=a --head=b", "join units records"},
    {"study --base=/", "join repo policy faster"},
    {"study --base=a --exact-pairs=1", "join units records faster max-pairs margin"},
    {"study --join=x",
     "base head kernel problem device units policy sandbox rounds gates seconds margin max-pairs "
     "exact-pairs records faster csv side-by-side samples bench part repo"},
};

static bool is_idle(const char *names, const char *name)
{
    char *padded = xprintf(" %s ", names), *wanted = xprintf(" %s ", name);
    const bool found = strstr(padded, wanted) != NULL;
    free(padded);
    free(wanted);
    return found;
}

// Of an option that does nothing a person would think that it did. A refusal is one line that names
// the option.
static void try_option(size_t mode, const struct command *command, const struct command_option *o)
{
    char said[512], *given = option_word(o), *name = xprintf("--%s", o->name);
    const bool idle = is_idle(modes[mode].idle, o->name);
    const int code = call_use(said, command, modes[mode].use + strlen(command->name), given);
    if (idle ? code != CONCLUDE_FAILED || !is_one_line(said) || !strstr(said, name) : code != 0)
        fail_msg("plumb %s %s: %s, but it ended with %d: %s", modes[mode].use, given,
                 idle ? "it does nothing there" : "it is used there", code, said);
    free(given);
    free(name);
}

static const char *meant(const char *typed, const char *const *names)
{
    struct spelling spelling = {.name = typed};
    for (; *names; names++)
        spelling_try(&spelling, *names);
    return spelling.closest;
}

TEST(a_misspelt_name_means_the_closest_one_that_is_close)
{
    static const char *const names[] = {"import", "export", "run", "report", NULL};
    assert_string_equal(meant("exprot", names), "export"); // two neighbours swapped
    assert_string_equal(meant("reprt", names), "report");
    assert_string_equal(meant("imports", names), "import");
    assert_string_equal(meant("rum", names), "run");
    assert_null(meant("gate", names));
    assert_null(meant("rim", names)); // of three letters two are no likeness
    assert_null(meant("", names));
}

TEST(help_ends_with_the_members_of_the_json)
{
    struct command command = {.summary = "Sums up", .json = "rows (a, b)."};
    char *doc = command_doc(&command);
    assert_string_equal(doc,
                        "Sums up\v--format json: rows (a, b)."); // \v: what follows the options
    free(doc);
    command.doc = "Says.\vMore.";
    doc = command_doc(&command);
    assert_string_equal(doc, "Says.\vMore.\n\n--format json: rows (a, b).");
    free(doc);
    command.json = NULL;
    doc = command_doc(&command);
    assert_string_equal(doc, command.doc);
    free(doc);
}

TEST(each_use_of_each_command_takes_the_options_that_it_uses_and_no_other)
{
    bool met[ARRAY_COUNT(commands)] = {false};
    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        const struct command *command = find_command(modes[i].use, strcspn(modes[i].use, " "));
        const struct command_option *o;
        assert_non_null(command);
        for (size_t k = 0; (o = command_option(command, k)); k++) {
            try_option(i, command, o);
        }
        for (size_t c = 0; c < ARRAY_COUNT(commands); c++)
            met[c] |= commands[c] == command;
    }
    for (size_t c = 0; c < ARRAY_COUNT(commands); c++) {
        if (!met[c])
            fail_msg("no use of plumb %s is tried", commands[c]->name);
    }
}

// A name may be cut where that is plain, so --out of one command is --output of another.
static bool takes(const struct command *command, const char *name)
{
    const struct command_option *o;
    for (size_t i = 0; (o = command_option(command, i)); i++) {
        if (strncmp(o->name, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

static void try_strange(const struct command *command, const struct command_option *o)
{
    char said[512], *given = option_word(o), *name = xprintf("--%s is no option", o->name);
    const int code = call_use(said, command, "", given);
    if (code != CONCLUDE_FAILED || !is_one_line(said) || !strstr(said, name))
        fail_msg("plumb %s %s ended with %d: %s", command->name, given, code, said);
    free(given);
    free(name);
}

TEST(an_option_of_another_command_is_no_option)
{
    size_t tried_count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        for (size_t k = 0; k < ARRAY_COUNT(commands); k++) {
            const struct command_option *o;
            for (size_t n = 0; (o = command_option(commands[k], n)); n++) {
                bool before = false; // another command had it
                for (size_t b = 0; b < k; b++)
                    before |= takes(commands[b], o->name);
                if (before || takes(commands[i], o->name))
                    continue;
                try_strange(commands[i], o);
                tried_count++;
            }
        }
    }
    assert_true(tried_count > 1000);
}
