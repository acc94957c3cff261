// SPDX-License-Identifier: Apache-2.0
//
// A command, run again and again, in which another step fails each time.
#include "tests/helpers/helper_steps.h"

#include "model/base.h"
#include "model/result.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// plumb with one command, loaded and waiting, and how it last ended.
struct waiting {
    pid_t pid;
    int ask, ended;
    char *said; // the file of its standard output and error
    int code;   // -1: killed
    char *text; // what it said
};

static void become(const struct steps_place *place, const char *const *words, int ask, int ended,
                   const char *said)
{
    enum { ARGUMENTS = 32 };
    const char *full[ARGUMENTS] = {TEST_BIN "/plumb"};
    char number[2][16];
    for (size_t i = 0; words[i] && i + 2 < ARGUMENTS; i++)
        full[i + 1] = words[i];
    snprintf(number[0], sizeof(number[0]), "%d", ask);
    snprintf(number[1], sizeof(number[1]), "%d", ended);
    setenv("STEPS_ASKED", number[0], 1);
    setenv("STEPS_ENDED", number[1], 1);
    setenv("STEPS_FOLDER", place->folder, 1);
    setenv("LD_PRELOAD", TEST_BIN "/steps_fail.so", 1);
    unsetenv("GITHUB_ACTIONS");
    const int fd = open(said, O_WRONLY | O_CREAT, 0600);
    if (dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
        _exit(99);
    execv(full[0], (char *const *)(uintptr_t)full);
    _exit(99);
}

static void waiting_begin(struct waiting *out, const struct steps_place *place,
                          const char *const *words)
{
    int ask[2], ended[2];
    *out = (struct waiting){.said = helper_file("")};
    assert_int_equal(pipe2(ask, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ended, O_CLOEXEC), 0);
    out->pid = fork();
    assert_true(out->pid >= 0);
    if (out->pid == 0)
        become(place, words, dup(ask[0]), dup(ended[1]), out->said);
    close(ask[0]);
    close(ended[1]);
    out->ask = ask[1];
    out->ended = ended[0];
}

static void waiting_end(struct waiting *w)
{
    close(w->ask);
    close(w->ended);
    waitpid(w->pid, NULL, 0);
    free(w->text);
    unlink(w->said);
}

static void run(struct waiting *w, const char *what, const char *with)
{
    int status = -1;
    dprintf(w->ask, "%s %s\n", what, with);
    assert_int_equal(read(w->ended, &status, sizeof(status)), sizeof(status));
    w->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    free(w->text);
    w->text = helper_read(w->said, NULL);
}

// Two files that are the same one, as far as the system says.
static bool untouched(const struct stat *a, const struct stat *b)
{
    return a->st_mode == b->st_mode && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void copy_file(const char *from, const char *to, const struct stat *of)
{
    char link[4096] = "";
    size_t size;
    unlink(to);
    if (S_ISLNK(of->st_mode)) {
        assert_true(readlink(from, link, sizeof(link) - 1) > 0);
        assert_int_equal(symlink(link, to), 0);
        return;
    }
    char *bytes = helper_read(from, &size);
    helper_write(to, bytes, size);
    free(bytes);
    assert_int_equal(chmod(to, of->st_mode & 07777), 0);
    utimensat(AT_FDCWD, to, (struct timespec[]){of->st_atim, of->st_mtim}, 0);
}

// For each name in a folder, with the paths that it has in both.
static void each_name(const char *folder, const char *other,
                      void (*see)(const char *path, const char *beside, void *context),
                      void *context)
{
    DIR *names = opendir(folder);
    assert_non_null(names);
    for (const struct dirent *entry; (entry = readdir(names));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *path = xprintf("%s/%s", folder, entry->d_name);
        char *beside = xprintf("%s/%s", other, entry->d_name);
        see(path, beside, context);
        free(path);
        free(beside);
    }
    closedir(names);
}

static void remove_more(const char *path, const char *beside, void *unused)
{
    struct stat is, was;
    if (lstat(path, &is))
        return;
    if (lstat(beside, &was) || S_ISDIR(is.st_mode) != S_ISDIR(was.st_mode))
        helper_discard(path);
    else if (S_ISDIR(is.st_mode))
        each_name(path, beside, remove_more, unused);
}

static void copy_other(const char *path, const char *beside, void *unused)
{
    struct stat is, to;
    assert_int_equal(lstat(path, &is), 0);
    const bool there = lstat(beside, &to) == 0;
    if (S_ISDIR(is.st_mode)) {
        if (!there)
            assert_int_equal(mkdir(beside, is.st_mode & 07777), 0);
        each_name(path, beside, copy_other, unused);
    } else if (!there || !untouched(&is, &to)) {
        copy_file(path, beside, &is);
    }
}

static void make_same(const char *to, const char *from)
{
    mkdir(to, 0777);
    each_name(to, from, remove_more, NULL);
    each_name(from, to, copy_other, NULL);
}

void steps_place_begin(struct steps_place *place, const char *folder, const char *store)
{
    char *beside = helper_directory();
    *place = (struct steps_place){.folder = xstrdup(folder), .store = store};
    place->before = xprintf("%s/before", beside);
    place->after = xprintf("%s/after", beside);
    free(beside);
    make_same(place->before, folder);
}

void steps_place_end(struct steps_place *place)
{
    helper_discard(place->before);
    helper_discard(place->after);
    free(place->folder);
    free(place->before);
    free(place->after);
}

// Where numbers differ from run to run, each is a 0.
static char *without_numbers(char *text, bool measures)
{
    char *to = text;
    for (const char *c = text; *c; c++) {
        const bool digit = measures && *c >= '0' && *c <= '9';
        if (!digit || to == text || to[-1] != '0')
            *to++ = (char)(digit ? '0' : *c);
    }
    *to = '\0';
    return text;
}

// The lines of a text that plumb says beside its answer, to stderr, or the others. Caller frees.
static char *lines(const char *text, bool beside, bool measures)
{
    char *out = xstrdup(text), *to = out;
    for (const char *end; *text; text = end) {
        end = strchrnul(text, '\n');
        end += *end == '\n';
        if ((strncmp(text, "plumb: ", strlen("plumb: ")) == 0) == beside)
            to = mempcpy(to, text, (size_t)(end - text));
    }
    *to = '\0';
    return without_numbers(out, measures);
}

// The last line of an answer, which says the verdict.
static const char *verdict(const char *answer)
{
    const char *out = answer;
    for (const char *c = answer; *c; c++) {
        if (c[0] == '\n' && c[1])
            out = c + 1;
    }
    return out;
}

// It ended as it would have, and said whatever it did not do. Where times are taken, lines may say
// what was not measured, but the verdict is the same.
static bool answered(const struct waiting *w, int code, const char *text, bool measures)
{
    char *answers[] = {lines(w->text, false, measures), lines(text, false, measures)};
    char *said[] = {lines(w->text, true, measures), lines(text, true, measures)};
    const bool same =
        w->code == code && (measures ? strcmp(verdict(answers[0]), verdict(answers[1])) == 0
                                     : strcmp(answers[0], answers[1]) == 0);
    const bool more =
        measures || strcmp(said[0], said[1]) == 0 || strlen(said[0]) > strlen(said[1]);
    for (size_t i = 0; i < 2; i++) {
        free(answers[i]);
        free(said[i]);
    }
    return same && more;
}

// Whether it ends as a whole one does. Annotations have a line for each finding, so other findings
// end otherwise.
static bool same_end(const char *a, const char *b)
{
    struct stat status;
    bool same = false;
    if (stat(a, &status) || stat(b, &status))
        return false;
    if (strcmp(strrchr(a, '/'), "/annotations.txt") == 0) {
        size_t size;
        char *text = helper_read(a, &size);
        same = size == 0 || text[size - 1] == '\n';
        free(text);
        return same;
    }
    char *texts[] = {helper_read(a, NULL), helper_read(b, NULL)}, *ends[2];
    for (size_t i = 0; i < 2; i++) {
        char *text = without_numbers(texts[i], true);
        const size_t length = strlen(text), kept = length < 2 ? length : 2;
        ends[i] = text + length - kept;
    }
    same = strcmp(ends[0], ends[1]) == 0;
    free(texts[0]);
    free(texts[1]);
    return same;
}

static bool same_text(const char *a, const char *b, bool measures)
{
    struct stat status;
    size_t sizes[2];
    if (stat(a, &status) || stat(b, &status))
        return false;
    char *texts[] = {helper_read(a, &sizes[0]), helper_read(b, &sizes[1])};
    bool same = sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0;
    if (!same)
        same =
            strcmp(without_numbers(texts[0], measures), without_numbers(texts[1], measures)) == 0;
    free(texts[0]);
    free(texts[1]);
    return same;
}

// A file that is neither as it was nor as it should be.
struct half {
    const struct steps_place *place;
    bool found;
    char path[512];
};

static void see_half(const char *path, const char *beside, void *context)
{
    struct half *half = context;
    struct stat is, was;
    const char *inside = path + strlen(half->place->folder) + 1;
    const size_t store = strlen(half->place->store);
    // The store is looked at by itself; .plumb and .git are places of work.
    if (half->found || strncmp(inside, half->place->store, store) == 0 || *inside == '.' ||
        lstat(path, &is) || (lstat(beside, &was) == 0 && untouched(&is, &was)))
        return;
    if (S_ISDIR(is.st_mode)) {
        each_name(path, beside, see_half, half);
        return;
    }
    char *should = xprintf("%s/%s", half->place->after, inside);
    // What was not measured stands in a report, so where times are taken only its end is known.
    half->found = half->place->measures
                      ? !same_end(path, should)
                      : !same_text(path, beside, false) && !same_text(path, should, false);
    if (half->found)
        snprintf(half->path, sizeof(half->path), "%s", path);
    free(should);
}

// plumb speaks in its own name, beside its answer or behind a part of it, and hands on the reason
// that the failing step gave. A writer of XML gives none, nor does a store that was never opened;
// what stdout could not write may have failed long before.
static bool gives_reason(const char *text, const char *step, bool measures)
{
    static const char *const silent[] = {"xml", "sqlite3_open", "fflush "};
    static const char *const libraries[] = {"sqlite3_", "git_"};
    const char *why = strerror(EIO), *own = strstr(text, "plumb: ");
    for (size_t i = 0; i < ARRAY_COUNT(libraries); i++)
        why = strncmp(step, libraries[i], strlen(libraries[i])) == 0 ? "a step failed" : why;
    for (size_t i = 0; i < ARRAY_COUNT(silent); i++)
        why = strncmp(step, silent[i], strlen(silent[i])) == 0 ? "" : why;
    return own && own[strlen("plumb: ")] > ' ' && (measures || strstr(own, why));
}

// What the command says and leaves where nothing fails, and both commands that are asked.
struct asked {
    struct waiting command, check;
    int code;
    char *text;
};

// What is wrong with how the command ended; NULL: nothing.
static const char *wrong(const struct steps_place *place, struct asked *a, const char *step)
{
    struct waiting *w = &a->command;
    struct half half = {.place = place};
    char *store[] = {xprintf("%s/%s", place->folder, place->store),
                     xprintf("%s/%s", place->before, place->store)};
    const bool same = same_text(store[0], store[1], false);
    free(store[0]);
    free(store[1]);
    each_name(place->folder, place->before, see_half, &half);
    if (half.found) {
        print_error("%s\n", half.path);
        return "it left a file that is neither the old nor the whole one";
    }
    if (!answered(w, a->code, a->text, place->measures) && w->code != CONCLUDE_FAILED &&
        !(place->measures && w->code >= CONCLUDE_UNDECIDED))
        return "it ended as if nothing had failed, with another answer";
    if (w->code == CONCLUDE_FAILED && !gives_reason(w->text, step, place->measures))
        return "it does not say what it could not do, and why";
    if (same)
        return NULL;
    run(&a->check, "fail", "0");
    if (a->check.code)
        return "the store is not whole";
    if (place->measures) // going on after a failure is what kill_nine is for
        return NULL;
    run(w, "fail", "0");
    return w->code == a->code ? NULL : "asked again it answers otherwise";
}

// A step of the command: its key, what steps_fail.c says of it, and the places in plumb that it
// comes back to, from the innermost on.
struct step {
    char *key, *text;
    uintptr_t *places;
    size_t count;
    bool chosen;
};

struct steps {
    struct step *at;
    size_t count;
};

static void steps_read(struct steps *out, const char *log)
{
    char line[1024], *name;
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    *out = (struct steps){0};
    while (fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        char *text = strchr(line, ' ');
        *text++ = '\0';
        struct step step = {.key = xstrdup(line), .text = xstrdup(text)};
        for (char *place = strtok_r(text, " ", &name); (place = strtok_r(NULL, " ", &name));) {
            step.places = xrealloc(step.places, step.count + 1, sizeof(*step.places));
            step.places[step.count++] = (uintptr_t)strtoull(place, NULL, 16);
        }
        out->at = xrealloc(out->at, out->count + 1, sizeof(*out->at));
        out->at[out->count++] = step;
    }
    fclose(file);
}

static void steps_free(struct steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        free(steps->at[i].key);
        free(steps->at[i].text);
        free(steps->at[i].places);
    }
    free(steps->at);
}

// The places that have seen a failure in this program, in a table by the address's lowest bits.
enum { PLACES = 1 << 16 };
static uintptr_t seen[PLACES];

static uintptr_t *seen_at(uintptr_t place)
{
    size_t at = place % PLACES;
    while (seen[at] && seen[at] != place)
        at = (at + 1) % PLACES;
    return &seen[at];
}

static size_t unseen(const struct step *step)
{
    size_t out = 0;
    for (size_t i = 0; i < step->count; i++)
        out += !*seen_at(step->places[i]);
    return out;
}

// Always the one that comes back to most places that have seen nothing yet.
static size_t choose(struct steps *steps, bool all)
{
    size_t chosen = 0;
    for (;;) {
        size_t best = steps->count, most = 0;
        for (size_t i = 0; i < steps->count; i++) {
            const size_t new = steps->at[i].chosen ? 0 : all ? 1 : unseen(&steps->at[i]);
            best = new > most ? i : best;
            most = new > most ? new : most;
        }
        if (best == steps->count)
            return chosen;
        steps->at[best].chosen = true;
        chosen++;
        for (size_t i = 0; i < steps->at[best].count; i++)
            *seen_at(steps->at[best].places[i]) = steps->at[best].places[i];
    }
}

// Whether the call may be done in part; each of these calls is looked at once in a program.
static bool partial(const struct step *step)
{
    static uintptr_t looked[256];
    static size_t count;
    const char *const names[] = {"read ", "pread ", "write "};
    bool out = false;
    for (size_t n = 0; n < ARRAY_COUNT(names); n++)
        out |= strncmp(step->text, names[n], strlen(names[n])) == 0;
    for (size_t i = 0; out && i < count; i++)
        out = looked[i] != step->places[0];
    if (out && count < ARRAY_COUNT(looked))
        looked[count++] = step->places[0];
    return out;
}

static size_t say_wrong(const struct step *step, const struct waiting *w, const char *why)
{
    const size_t length = strlen(w->text);
    if (why)
        print_error("%s: %s; exit %d, %s\n", step->text, why, w->code,
                    w->text + length - (length > 300 ? 300 : length));
    return why != NULL;
}

static size_t fail_one(const struct steps_place *place, struct asked *a, const struct step *step,
                       size_t *kept)
{
    struct waiting first = {0};
    make_same(place->folder, place->before);
    run(&a->command, "fail", step->key);
    *kept += a->command.code == a->code;
    first.code = a->command.code;
    first.text = xstrdup(a->command.text);
    const size_t bad = say_wrong(step, &first, wrong(place, a, step->text));
    free(first.text);
    return bad;
}

static size_t do_in_part(const struct steps_place *place, struct asked *a, const struct step *step)
{
    make_same(place->folder, place->before);
    run(&a->command, "part", step->key);
    const bool same = answered(&a->command, a->code, a->text, place->measures);
    return say_wrong(step, &a->command, same ? NULL : "done in part, it changes the answer");
}

static void learn_steps(struct steps_place *place, struct asked *a, struct steps *steps,
                        const char *const *words)
{
    char *log = helper_file("");
    const char *check[] = {"store", "check", "--store", place->store, NULL};
    make_same(place->folder, place->before);
    waiting_begin(&a->command, place, words);
    waiting_begin(&a->check, place, check);
    run(&a->command, "list", log);
    make_same(place->after, place->folder);
    a->code = a->command.code;
    a->text = xstrdup(a->command.text);
    if (a->code > CONCLUDE_REGRESSION)
        fail_msg("%s", a->text);
    steps_read(steps, log);
    unlink(log);
}

void steps_fail(struct steps_place *place, const char *const *words)
{
    const char *said = getenv("PLUMB_TEST_STEPS");
    const bool all = said && strcmp(said, "all") == 0;
    const size_t every = all || !place->every ? 1 : place->every;
    const size_t first = (said ? (size_t)strtoul(said, NULL, 10) : (size_t)getpid()) % every;
    struct asked a = {0};
    struct steps steps;
    size_t nth = 0, tried = 0, parts = 0, bad = 0, kept = 0;
    learn_steps(place, &a, &steps, words);
    const size_t chosen = choose(&steps, all);
    for (size_t i = 0; i < steps.count; i++) {
        if (steps.at[i].chosen && nth++ % every == first) {
            bad += fail_one(place, &a, &steps.at[i], &kept);
            tried++;
        }
        if (partial(&steps.at[i])) {
            bad += do_in_part(place, &a, &steps.at[i]);
            parts++;
        }
    }
    print_message("%s: %zu of %zu chosen of %zu steps fail (PLUMB_TEST_STEPS=%s%zu), and %zu of "
                  "these change nothing; %zu are done in part\n",
                  words[0], tried, chosen, steps.count, all ? "all, not " : "", first, kept, parts);
    assert_int_equal(bad, 0);
    assert_true(steps.count > 10);
    steps_free(&steps);
    waiting_end(&a.command);
    waiting_end(&a.check);
    free(a.text);
}
