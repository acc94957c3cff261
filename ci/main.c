// SPDX-License-Identifier: Apache-2.0
//
// The main program: finds the command and runs it. To understand plumb, read pipeline.c first.
#include "baselines/store.h"
#include "ci/command.h"
#include "ci/settings/text_file.h"
#include "model/base.h"
#include "model/result.h"
#include "runner/child/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
          "Commands (plumb help COMMAND says more):\n",
          out);
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\nExit: 0 no regression, 1 regression, 2 undecided or void, 3 a kernel is broken,\n"
          "4 the tool could not do its work.\n",
          out);
}

static void print_version(void)
{
    static const char commit[] =
#include "ci/commit.inc"
        ;
    printf("plumb %s\ncommit  %s\nCUDA    %s\nlibgit2 %s\nSQLite  %s\n", PLUMB_VERSION, commit,
           PLUMB_CUDA_VERSION, repository_library(), store_library());
}

// Handles a signal that ends the program. The children get none: their keepers end them when this
// process is gone (runner/child/process.h).
static void stopped(int number)
{
    static const char text[] = "plumb: stopped by a signal; what is stored stays, and the same "
                               "command goes on from there\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)written; // there may be nobody to read it
    signal(number, SIG_DFL);
    raise(number); // takes effect when this handler returns; the sender expects the program to die
                   // of this signal
}

static void out_of_time(int number)
{
    static const char text[] = "plumb: the processor time that `ulimit -t` allows is used up; what "
                               "is stored stays, and the same command goes on from there\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)number, (void)written;
    _exit(CONCLUDE_FAILED);
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    // A child that dies while it is written to is a result, and must not end this program.
    signal(SIGPIPE, SIG_IGN);
    // A full disk (or a limit on file size) is an error with a text, too.
    signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        if (signal(ends[i], stopped) == SIG_IGN)
            signal(ends[i], SIG_IGN); // ignored already: by nohup, or in a shell's background
    }
}

// Whether the program can use the folder in which it was started. Somebody may have deleted it, as
// a job does that cleans up its own folder, or this user may not enter it. Then every command would
// fail with another message.
static bool stands_somewhere(void)
{
    char path[PATH_MAX];
    if (getcwd(path, sizeof(path)) || errno == ERANGE || errno == ENAMETOOLONG)
        return true;
    fprintf(stderr,
            errno == ENOENT
                ? "plumb: the folder that this was started in is deleted; change into one that is "
                  "there\n"
                : "plumb: the folder that this was started in: %s; change into another one\n",
            strerror(errno));
    return false;
}

static int run_command(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    char help[] = "--help", *asked[] = {argv[0], argc > 2 ? argv[2] : help, help, NULL};
    if (strcmp(name, "help") == 0 && argc == 3 && asked[1][0] != '-')
        return run_command(3, asked); // "plumb help gate" means "plumb gate --help"
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(stdout);
        return argc > 1 ? CONCLUDE_OK : CONCLUDE_FAILED;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        print_version();
        return CONCLUDE_OK;
    }
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return stands_somewhere() ? command_call(commands[i], argc - 1, argv + 1)
                                      : CONCLUDE_FAILED;
    }
    struct spelling meant = {.name = name};
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++)
        spelling_try(&meant, commands[i]->name);
    if (meant.closest)
        fprintf(stderr, "plumb: '%.40s' is not a command; did you mean '%s'?\n", name,
                meant.closest);
    else
        fprintf(stderr, "plumb: '%.40s' is not a command; `plumb --help` lists them\n", name);
    return CONCLUDE_FAILED;
}

static bool has_failed; // an error was printed

// Ends with an error if output was lost, also where a command's help ends the program.
static void end_with_output(void)
{
    if (has_failed || !output_failed())
        return;
    fprintf(
        stderr,
        "plumb: standard output: cannot be written; is the disk full, or `ulimit -f` too low?\n");
    _Exit(CONCLUDE_FAILED);
}

int main(int argc, char **argv)
{
    if (!process_limits_suffice(out_of_time))
        return CONCLUDE_FAILED;
    memory_stays();
    watch_signals();
    if (atexit(end_with_output))
        return CONCLUDE_FAILED;
    const int code = run_command(argc, argv);
    has_failed = code == CONCLUDE_FAILED;
    return code;
}
