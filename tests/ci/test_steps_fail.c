// SPDX-License-Identifier: Apache-2.0
//
// Commands in which each step that may fail fails once: every call of SQLite, libgit2, libxml2 or
// the system that plumb makes (helpers/steps_fail.c). Whatever fails, the answer is the same, or
// the command says that it could not do its work, and why; what is stored stays whole, and asked
// again without the failure the command answers as if nothing had been. A gate takes a second, so
// of its steps one in four fails; with PLUMB_TEST_STEPS=all each of them does.
// Label: unsanitized
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder, *before; // where commands run, and what it is made anew from
static struct plumb_outcome whole, outcome;

static void shell(char *words)
{
    assert_int_equal(system(words), 0);
    free(words);
}

static void anew(void)
{
    shell(xprintf("rm -rf '%s' && cp -a '%s' '%s'", folder, before, folder));
}

static void run(struct plumb_outcome *out, const char *const *words, const char *key)
{
    setenv("LD_PRELOAD", TEST_BIN "/steps_fail.so", 1);
    if (key)
        setenv("STEPS_FAIL", key, 1);
    plumb_run(out, folder, words, 0);
    unsetenv("STEPS_FAIL");
    unsetenv("LD_PRELOAD");
}

static const char *last_line(const char *text)
{
    const char *last = text;
    for (const char *c = text; c[0] && c[1]; c++)
        last = *c == '\n' ? c + 1 : last;
    return last;
}

static bool same_files(const char *name)
{
    size_t sizes[2];
    char *paths[] = {xprintf("%s/%s", folder, name), xprintf("%s/%s", before, name)};
    char *texts[] = {helper_read(paths[0], &sizes[0]), helper_read(paths[1], &sizes[1])};
    const bool same = sizes[0] == sizes[1] && memcmp(texts[0], texts[1], sizes[0]) == 0;
    for (size_t i = 0; i < 2; i++) {
        free(paths[i]);
        free(texts[i]);
    }
    return same;
}

static bool timed; // the command measures times: its numbers differ, and how far it says it is

// The lines of a text that plumb says beside its answer, to stderr, or the others; every digit of
// what measures is a 0. Caller frees.
static char *lines(const char *text, bool beside)
{
    char *out = xstrdup(text), *to = out;
    for (const char *end; *text; text = end) {
        end = strchrnul(text, '\n');
        end += *end == '\n';
        if ((strncmp(text, "plumb: ", strlen("plumb: ")) == 0) == beside)
            to = mempcpy(to, text, (size_t)(end - text));
    }
    *to = '\0';
    for (char *c = out; timed && *c; c++)
        *c = (char)(*c >= '0' && *c <= '9' ? '0' : *c);
    return out;
}

// It ended as it would have, and said whatever it did not do.
static bool answered(void)
{
    char *answers[] = {lines(outcome.output, false), lines(whole.output, false)};
    char *said[] = {lines(outcome.output, true), lines(whole.output, true)};
    const bool same = outcome.code == whole.code && strcmp(answers[0], answers[1]) == 0;
    const bool more = timed || strcmp(said[0], said[1]) == 0 || strlen(said[0]) > strlen(said[1]);
    for (size_t i = 0; i < 2; i++) {
        free(answers[i]);
        free(said[i]);
    }
    return same && more;
}

// What is wrong with how the command ended; NULL: nothing.
static const char *wrong(const char *const *words, const char *store)
{
    static struct plumb_outcome after;
    if (!answered() && (outcome.code < CONCLUDE_UNDECIDED || !*last_line(outcome.output)))
        return "it ended as if nothing had failed, with another answer";
    if (outcome.code == CONCLUDE_FAILED && !strstr(outcome.output, "plumb: "))
        return "it does not say what it could not do";
    if (same_files(store))
        return NULL;
    plumb_run(&after, folder, (const char *const[]){"store", "check", "--store", store, NULL}, 0);
    if (after.code)
        return "the store is not whole";
    if (timed) // going on after a failure is what kill_nine is for
        return NULL;
    run(&after, words, NULL);
    if (after.code != whole.code)
        return "asked again it answers otherwise";
    return NULL;
}

// The steps fail that are first of so many.
static void steps_fail(const char *store, const char *depth, size_t many, const char *const *words)
{
    char line[1024], *log = xprintf("%s.steps", before);
    size_t steps = 0, tried = 0, bad = 0, kept = 0;
    many = getenv("PLUMB_TEST_STEPS") ? 1 : many;
    unlink(log);
    anew();
    setenv("STEPS_DEPTH", depth, 1);
    setenv("STEPS_LOG", log, 1);
    run(&whole, words, NULL);
    unsetenv("STEPS_LOG");
    if (whole.code)
        fail_msg("%s", whole.output);
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof(line), file); steps++) {
        if (steps % many != 0)
            continue;
        char *step = strchr(line, ' ');
        tried++;
        *step++ = '\0';
        step[strcspn(step, "\n")] = '\0';
        anew();
        run(&outcome, words, line);
        kept += outcome.code == whole.code;
        const char *why = wrong(words, store);
        bad += why != NULL;
        if (why)
            print_error("%s: %s; exit %d, %s\n", step, why, outcome.code,
                        outcome.output + strlen(outcome.output) -
                            (strlen(outcome.output) > 300 ? 300 : strlen(outcome.output)));
    }
    fclose(file);
    free(log);
    print_message("%s: %zu of %zu steps fail, and %zu of these change nothing\n", words[0], tried,
                  steps, kept);
    assert_int_equal(bad, 0);
    assert_true(tried > 10);
}
#define STEPS_FAIL(store, depth, many, ...)                                                        \
    steps_fail(store, #depth, many, (const char *const[]){__VA_ARGS__, NULL})

static struct scene scene = {.step = 0.03, .parents = true};

static int set_up(void **state)
{
    char *away = helper_directory();
    folder = helper_directory();
    before = xprintf("%s/before", away);
    free(away);
    return scratch_set_up(state);
}
AROUND_ALL(set_up, scratch_tear_down);

static void keep_scene(void)
{
    unlink(scratch_in("s.db"));
    struct store *store = scratch_store(scratch_in("s.db"), STORE_WRITE);
    scene_save(store, &scene, STEP - 4, STEP + 4, 7);
    store_close(store);
    shell(xprintf("rm -rf '%s' && mkdir '%s' && cp '%s' '%s/s.db'", before, before,
                  scratch_in("s.db"), before));
}

TEST(an_export_whose_steps_fail_says_so)
{
    keep_scene();
    STEPS_FAIL("s.db", 3, 1, "export", "--store", "s.db");
}

TEST(a_pruning_whose_steps_fail_leaves_a_whole_store)
{
    keep_scene();
    STEPS_FAIL("s.db", 3, 1, "store", "prune", "--store", "s.db", "--runs", "--before", "1d");
}

TEST(a_merge_whose_steps_fail_leaves_a_whole_store)
{
    keep_scene();
    shell(xprintf("cp '%s/s.db' '%s/other.db'", before, before));
    unlink(scratch_in("s.db"));
    struct store *store = scratch_store(scratch_in("s.db"), STORE_WRITE);
    scene_save(store, &scene, STEP + 4, STEP + 6, 7);
    store_close(store);
    shell(xprintf("cp '%s' '%s/s.db'", scratch_in("s.db"), before));
    STEPS_FAIL("s.db", 3, 1, "store", "merge", "--store", "s.db", "other.db");
}

TEST(a_check_whose_steps_fail_says_so)
{
    keep_scene();
    STEPS_FAIL("s.db", 3, 1, "store", "check", "--store", "s.db");
}

TEST(a_history_whose_steps_fail_says_so)
{
    keep_scene();
    STEPS_FAIL("s.db", 3, 1, "history", "--store", "s.db");
}

// A gate by the fake bench, whose two kernels have other code in the head.
TEST(a_gate_whose_steps_fail_gives_no_other_verdict)
{
    static struct fake_gate fake;
    const char *const names[] = {"one-pairs", "two-pairs", NULL};
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT], *own = folder;
    fake_gate_make(&fake);
    fake_gate_policy(&fake, "", "[gate]\n\tself-test = 0\n");
    fake_gate_commit(base, &fake, "main", NULL, names, "", 1);
    fake_gate_commit(head, &fake, "head", base, names, "", 2);
    fake_gate_run(&fake, base, base, 0);
    folder = fake.bench.directory;
    timed = true;
    shell(xprintf("rm -rf '%s' && cp -a '%s' '%s'", before, folder, before));
    STEPS_FAIL(strrchr(fake.store, '/') + 1, 1, 4, "gate", "--base", base, "--head", head,
               "--policy", fake.policy, "--bench", fake.bench.program, "--store", fake.store,
               "--sandbox", "off");
    folder = own;
    timed = false;
    fake_gate_remove(&fake);
}
