// SPDX-License-Identifier: Apache-2.0
//
// Reports tell the events of the store when they are asked: JUnit, the job's summary and the page,
// each event that is open, as the failure of a test where a kernel got slower, and that there is
// none where there is none. Other reports are silent about them.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static char *folder;
static struct arena arena;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    folder = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);

static void report(const char *store, bool events)
{
    const char *path = scratch_path(&arena, folder, store);
    const char *argv[] = {"report", "--store", path, "--out", "out", events ? "--events" : NULL,
                          NULL};
    plumb_run(&outcome, folder, argv, 0);
    assert_int_equal(outcome.code, 0);
}

static void scene(const char *name, const struct scene *scene)
{
    struct store *store = scratch_store(scratch_path(&arena, folder, name), STORE_WRITE);
    scene_save(store, scene, 0, COMMITS, 7);
    store_close(store);
    report(name, true);
}

static void expect(const char *file, const char *part)
{
    char *path = xprintf("%s/out/%s", folder, file), *text = helper_read(path, NULL);
    if (!strstr(text, part))
        fail_msg("%s has no '%s':\n%.3000s", file, part, text);
    free(text);
    free(path);
}

TEST(a_kernel_that_got_slower_is_a_failed_test)
{
    scene("step.db", &(struct scene){.step = 0.03, .parents = true});
    expect("junit.xml", "<testsuite name=\"events\" tests=\"1\" failures=\"1\"");
    expect("junit.xml", "classname=\"plumb.events\" name=\"aaaa000000\"");
    expect("junit.xml", "<failure type=\"confirmed\" message=\"confirmed: +");
    expect("summary.md", "### 1 event is open, 1 of them slower by a kernel's change\n");
    expect("summary.md", "| 🔺 confirmed | ");
    expect("index.html", "1 event is open, 1 of them slower by a kernel's change</h2>");
}

TEST(a_machines_shift_is_no_failure)
{
    scene("shift.db", &(struct scene){.common = 0.02, .keep_code = true});
    expect("junit.xml", "<testsuite name=\"events\" tests=\"1\" failures=\"0\"");
    expect("junit.xml", "<skipped type=\"confirmed\"");
    expect("summary.md", "### 1 event is open\n");
    expect("summary.md", " | environment | ");
}

TEST(a_store_without_events_says_so)
{
    scene("quiet.db", &(struct scene){.keep_code = true});
    expect("junit.xml", "<testsuite name=\"events\" tests=\"1\" failures=\"0\"");
    expect("summary.md", "### No event is open\n");
    expect("index.html", "No event is open</h2>");
}

TEST(other_reports_are_silent_about_events)
{
    report("step.db", false);
    char *path = xprintf("%s/out/junit.xml", folder), *text = helper_read(path, NULL);
    assert_null(strstr(text, "\"events\""));
    free(text);
    free(path);
}

// Whoever takes a slowdown is named wherever it is told; it stays open, and still fails the night.
TEST(who_takes_a_slowdown_is_named_and_it_stays_open)
{
    static const char line[] = "SLOWER: 1 slowdown is open: aaaa000000 (A <a@b> is on it); fix it";
    const char *path = scratch_path(&arena, folder, "step.db");
    const char *take[] = {"events", "take",     "aaaa",       "--store", path,      "-C",
                          "here",   "--reason", "reverts it", "--who",   "A <a@b>", NULL};
    const char *check[] = {"events", "--check", "--store", path, "-C", "here", NULL};
    const char *show[] = {"events", "show", "aaaa", "--store", path, "-C", "here", NULL};
    const char *site[] = {"site", "--store", path, "-C", "here", "--out", "out/site", NULL};
    const char *csv[] = {"events", "--format", "csv", "--store", path, "-C", "here", NULL};
    const char *told[] = {"report", "--events", "--store", path, "-C",
                          "here",   "--out",    "out",     NULL};
    char *here = xprintf("git init -q '%s/here'", folder);
    assert_int_equal(system(here), 0);
    free(here);
    plumb_run(&outcome, folder, check, 0);
    plumb_said(&outcome, 1, "SLOWER: 1 slowdown is open: aaaa000000; fix it");
    plumb_run(&outcome, folder, take, 0);
    plumb_said(&outcome, 0, "state  = taken");
    plumb_run(&outcome, folder, check, 0);
    plumb_said(&outcome, 1, "; A <a@b> is on it since 20");
    plumb_said(&outcome, 1, "1 event: 1 confirmed");
    plumb_said(&outcome, 1, line);
    plumb_run(&outcome, folder, show, 0);
    plumb_said(&outcome, 0, "  taken      A <a@b>: reverts it");
    plumb_run(&outcome, folder, site, 0);
    assert_int_equal(outcome.code, 0);
    expect("site/index.html", "<strong>A</strong> is on it since 20");
    expect("site/events.html", "<strong>A</strong> is on it since 20");
    expect("site/feed.xml", "; A &lt;a@b&gt; is on it since 20");
    plumb_run(&outcome, folder, csv, 0);
    plumb_said(&outcome, 0, "confirmed,taken_by,taken_s,taken_why\n");
    plumb_said(&outcome, 0, ",0,1,A <a@b>,");
    plumb_said(&outcome, 0, ",reverts it\n");
    plumb_run(&outcome, folder, told, 0);
    assert_int_equal(outcome.code, 0);
    expect("junit.xml", "cause kernel; A &lt;a@b&gt; is on it since 20");
    expect("summary.md", " is on it since 20");
    expect("index.html", "kernel; A &lt;a@b&gt; is on it since 20");
}
