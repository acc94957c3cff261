// SPDX-License-Identifier: Apache-2.0
//
// The misdeeds of fake_bench, each by its name.
#include "tests/helpers/misbehave.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void put(struct wire_line *line)
{
    fputs(wire_end(line), stdout);
    fflush(stdout);
}

void put_text(const char *name, const char *text)
{
    struct wire_line line;
    wire_begin(&line, name);
    if (text)
        wire_add_text(&line, "text", text);
    put(&line);
}

const char *beside(char path[PATH_MAX], const char *ending)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 16);
    if (length < 0)
        abort();
    strcpy(path + length, ending);
    return path;
}

const char *marker(char path[PATH_MAX])
{
    return beside(path, ".gone");
}

_Noreturn void crash(void)
{
    signal(SIGSEGV, SIG_DFL); // a sanitizer would make an exit status of it
    raise(SIGSEGV);
    abort();
}

static void lose_device(bool really)
{
    char path[PATH_MAX];
    put_text("note", "device lost: it fell off the bus");
    FILE *file = really ? fopen(marker(path), "w") : NULL;
    if (file)
        fclose(file);
    _exit(STATUS_LOST);
}

// A file beside the program remembers it.
static bool is_first(void)
{
    char path[PATH_MAX];
    FILE *file = fopen(beside(path, ".once"), "wx");
    if (file)
        fclose(file);
    return file;
}

// As bench ends when a kernel, its own or a neighbour's, has poisoned the device.
_Noreturn static void fault(void)
{
    put_text("note", "cuda: sync: unspecified launch failure (719)");
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void lack(const char *what, const char *text)
{
    struct wire_line line;
    wire_begin(&line, "fail");
    wire_add_text(&line, "text", text);
    wire_add_int(&line, what, 1);
    put(&line);
}

static void put_raw(const char *bytes, size_t size)
{
    fwrite(bytes, 1, size, stdout);
    fflush(stdout);
}

static void put_huge(void)
{
    char *bytes = xcalloc(1 << 20, 1);
    memset(bytes, 'x', (1 << 20) - 1);
    bytes[(1 << 20) - 1] = '\n';
    put_raw(bytes, 1 << 20);
    free(bytes);
}

void misbehave(const char *name, const char *at)
{
    char what[KERNEL_NAME_TEXT], path[PATH_MAX];
    if (access(beside(path, ".calm"), F_OK) == 0)
        return;
    text_copy(what, sizeof(what), name);
    char *dash = strchr(what, '-');
    if (strcmp(dash ? dash + 1 : "open", at) != 0)
        return;
    if (dash)
        *dash = '\0';
    if (strcmp(what, "crash") == 0)
        crash();
    else if (strcmp(what, "killed") == 0)
        raise(SIGKILL);
    else if (strcmp(what, "once") == 0 && is_first())
        raise(SIGKILL);
    else if (strcmp(what, "faults") == 0 || (strcmp(what, "faulted") == 0 && is_first()))
        fault();
    else if (strcmp(what, "lacks") == 0)
        lack("lacks", "cuda: memory for 90000 MiB: out of memory (2)");
    else if (strcmp(what, "unable") == 0)
        lack("unable", "host: no process for a library");
    else if (strcmp(what, "hang") == 0)
        for (;;)
            pause();
    else if (strcmp(what, "garbage") == 0)
        put_raw("?? what\n", 8);
    else if (strcmp(what, "huge") == 0)
        put_huge();
    else if (strcmp(what, "binary") == 0)
        put_raw("no\0te\ttext=x\n", 13);
    else if (strcmp(what, "exit") == 0)
        exit(0);
    else if (strcmp(what, "lost") == 0 || strcmp(what, "claims") == 0)
        lose_device(*what == 'l');
    else if (strcmp(what, "noisy") == 0)
        for (int i = 0; i < 100; i++)
            put_text("note", "working");
}

void tell_record(void)
{
    char path[PATH_MAX], text[4096];
    FILE *file = fopen(beside(path, ".record"), "r");
    if (!file) {
        put_text("fail", "launch() queues a copy: that cannot be recorded");
        return;
    }
    while (fgets(text, sizeof(text), file))
        fputs(text, stdout);
    fclose(file);
    put_text("done", NULL);
}
