// SPDX-License-Identifier: Apache-2.0
//
// What a commit is held against follows first parents and codes: on random histories of forks,
// merges, squashes, rebases and reverts a run says of each commit what its first parents say, held
// against a search of them all; whatever was measured before, in whichever order, with links, with
// alarms confirmed by pairs, and by times alone. Builds, store and program are real; the times are
// told (tests/helpers/told_time.h).
#include "baselines/store.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CODES = 4, ALL_CODES = 26, MOST = 64, STEPS = 14 };
// Those that histories draw, ten that are as fast as the first, as many as the second, and two that
// are slower than the first by less.
static const char *const takes[ALL_CODES] = {
    "1",     "2",     "4",     "0.5",   "1.001", "1.002", "1.003", "1.004", "1.005",
    "1.006", "1.007", "1.008", "1.009", "1.010", "2.001", "2.002", "2.003", "2.004",
    "2.005", "2.006", "2.007", "2.008", "2.009", "2.010", "1.1",   "1.03"};
static const char *const policies[] = {"silent", "on", "off"};
static char *directory, *bench;
static struct plumb_outcome outcome;

struct made {
    char id[OBJECT_ID_TEXT];
    int parent, code; // parent: the first; -1: none
    bool ran;
    int times; // so often it was measured
};

struct world {
    struct made commits[MOST];
    int count;
    int main, topic; // their tips; topic -1: there is none
    bool measured[ALL_CODES];
    bool compared[ALL_CODES][ALL_CODES]; // side by side, as base and head
    struct random random;
    const char *policy;
};

static void write_policy(const char *name, const char *devices, const char *end)
{
    char *path = xprintf("%s/%s.cfg", directory, name);
    char *text =
        xprintf("[build]\n\tsandbox = off\n\tinput = kernels\n"
                "\tcommand = \"cc -shared -fPIC -o \\\"$PLUMB_OUT/simple.so\\\" "
                "\\\"$PLUMB_SOURCE\\\"/kernels/simple.c\"\n"
                "%s[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                "[kernel \"*\"]\n\tproblems = p\n\tmargin = 4%%\n[gate]\n\tprocesses = 2\n%s",
                devices, end);
    helper_write_text(path, text);
    free(text);
    free(path);
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    const char *host = "[device \"host\"]\n\tkind = host\n";
    write_policy("silent", host, "");
    write_policy("on", host, "[history]\n\tlink = on\n");
    write_policy("off", host, "[history]\n\tlink = off\n");
    write_policy("two",
                 "[device \"a\"]\n\tkind = host\n[device \"b\"]\n\tkind = host\n\tindex = 1\n",
                 "[history]\n\tlink = on\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

// `second`: another parent, or -1. Commits of one tree differ by their time.
static int commit(struct world *w, const char *branch, int parent, int second, int code)
{
    char *text = xprintf("const char takes[] = \"fake-time=%s\";\n", takes[code]);
    const struct helper_file file = {"kernels/simple.c", text, 0};
    const char *parents[] = {parent < 0 ? NULL : w->commits[parent].id,
                             second < 0 ? NULL : w->commits[second].id};
    struct made *made = &w->commits[w->count];
    *made = (struct made){.parent = parent, .code = code};
    assert_true(w->count < MOST);
    helper_repo_commit(made->id, directory, branch, parents, (size_t)(parent >= 0) + (second >= 0),
                       w->count, "step\n", &file, 1);
    free(text);
    return w->count++;
}

static int draw(struct world *w, int count)
{
    return (int)(random_uniform(&w->random) * count) % count;
}

// ---- one step of a history ----

static int rebased(struct world *w, int tip, int root, int onto)
{
    if (tip == root)
        return onto;
    const int parent = rebased(w, w->commits[tip].parent, root, onto);
    return commit(w, "topic", parent, -1, w->commits[tip].code);
}

static int root_of(const struct world *w)
{
    for (int at = w->topic; at >= 0; at = w->commits[at].parent) {
        for (int on = w->main; on >= 0; on = w->commits[on].parent) {
            if (at == on)
                return at;
        }
    }
    return -1;
}

// Returns the commit that is new.
static int step(struct world *w)
{
    const int kind = draw(w, 7);
    if (w->topic < 0 || kind == 0)
        return w->topic = commit(w, "topic", w->main, -1, draw(w, CODES));
    switch (kind) {
    case 1: // on main
        return w->main = commit(w, "main", w->main, -1, draw(w, CODES));
    case 2: // on the branch
        return w->topic = commit(w, "topic", w->topic, -1, draw(w, CODES));
    case 3: // merge
        w->main = commit(w, "main", w->main, w->topic, w->commits[w->topic].code);
        break;
    case 4: // squash
        w->main = commit(w, "main", w->main, -1, w->commits[w->topic].code);
        break;
    case 5: // an amended message, or a rebase
        return w->topic = rebased(w, w->topic, root_of(w), draw(w, 2) ? root_of(w) : w->main);
    default: { // main goes back to what it had before
        const int before = w->commits[w->main].parent;
        return w->main = commit(w, "main", w->main, -1, w->commits[before < 0 ? 0 : before].code);
    }
    }
    w->topic = -1;
    return w->main;
}

// ---- what a run says ----

static void plumb(const struct world *w, const char *what, const char *id, const char *more)
{
    char *policy = xprintf("%s.cfg", w->policy), *store = xprintf("%s.db", w->policy);
    const char *argv[] = {what,  id,        "--policy", policy, "--bench",
                          bench, "--store", store,      more,   NULL};
    plumb_run(&outcome, directory, argv, 0);
    free(policy);
    free(store);
}

static size_t links_of(const struct world *w)
{
    struct store *store;
    struct error err;
    struct arena arena = {0};
    struct series_entry *series;
    struct link *links;
    size_t count, found = 0;
    char *path = xprintf("%s/%s.db", directory, w->policy);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    assert_int_equal(store_list_series(&series, &count, store, &arena, &err), 0);
    const struct series one = {series->kernel, &series->problem, series->device_uuid};
    assert_int_equal(store_links(&links, &found, store, &one, &arena, &err), 0);
    store_close(store);
    arena_free(&arena);
    free(path);
    return found;
}

static int before(const struct world *w, int commit)
{
    int at = w->commits[commit].parent;
    while (at >= 0 && !w->measured[w->commits[at].code])
        at = w->commits[at].parent;
    return at;
}

static void show(const struct world *w)
{
    for (int i = 0; i < w->count; i++)
        print_message("%d: %.10s, behind %d, takes %s%s\n", i, w->commits[i].id,
                      w->commits[i].parent, takes[w->commits[i].code],
                      w->commits[i].ran ? ", was run" : "");
}

// Rows of a table of the store.
static long rows_of(const struct world *w, const char *table)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    char *path = xprintf("%s/%s.db", directory, w->policy);
    char *sql = xprintf("SELECT count(*) FROM %s", table);
    long rows = 0;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW)
        rows = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    free(sql);
    free(path);
    return rows;
}

// `run -n` has said what of that a run would do; the builds are those of a code that is known.
static void does_what_it_said(const struct world *w, long measured, long paired, const char *plan)
{
    char *would = xprintf("dry run: %ld of 1 series would be measured%s\n", measured,
                          !measured && paired ? ", and 1 compared with earlier codes" : "");
    if (!strstr(plan, would)) {
        show(w);
        fail_msg("%s: the run did '%s' and -n had said:\n%s", w->policy, would, plan);
    }
    free(would);
}

static void measure(struct world *w, int at)
{
    const int base = before(w, at);
    const int code = w->commits[at].code;
    const double now = atof(takes[code]);
    const double then = base < 0 ? now : atof(takes[w->commits[base].code]);
    bool planned = w->measured[code];
    char *plan = NULL;
    if (planned) {
        plumb(w, "run", w->commits[at].id, "-n");
        plan = xstrdup(outcome.output);
        planned = !strstr(plan, "nothing to do");
    }
    const long plain = rows_of(w, "measurements WHERE plain = 1"), links = rows_of(w, "links");
    plumb(w, "run", w->commits[at].id, NULL);
    const long fresh = rows_of(w, "measurements WHERE plain = 1") - plain;
    w->commits[at].times += (int)fresh;
    if (planned)
        does_what_it_said(w, fresh, rows_of(w, "links") > links, plan);
    free(plan);
    w->commits[at].ran = w->measured[code] = true;
    if (now != then)
        w->compared[w->commits[base].code][code] = true;
    const char *says = now > then ? "SLOWER: 1 slower" : now < then ? "OK: 1 faster" : "OK: ";
    if (outcome.code == (now > then) && strstr(outcome.output, says))
        return;
    show(w);
    fail_msg("%s: commit %d, held against %d: expected '%s', exit %d:\n%s", w->policy, at, base,
             says, outcome.code, outcome.output);
}

// ---- what the history says ----

static void git(const char *words)
{
    char *command = xprintf("cd '%s' && git %s", directory, words);
    assert_int_equal(system(command), 0);
    free(command);
}

// Codes that were compared, where main has one after the other: each such commit once, in CSV, and
// nothing else of main. What is open on the branch stands beside it.
static void history_tells_the_line(struct world *w)
{
    char *store = xprintf("%s.db", w->policy);
    const char *argv[] = {"history", "--repo", ".", "--store", store, "--format", "csv", NULL};
    int last = -1;
    git("symbolic-ref HEAD refs/heads/main");
    plumb_run(&outcome, directory, argv, 0);
    for (int at = w->main, next; at >= 0; at = next) {
        next = before(w, at);
        char *row = xprintf(",linked,%s,", w->commits[at].id);
        const char *found = strstr(outcome.output, row);
        const bool told = found && !(found = strstr(found + 1, row)), twice = found != NULL;
        const bool changed = next >= 0 && w->measured[w->commits[at].code] &&
                             w->compared[w->commits[next].code][w->commits[at].code];
        if (twice || told != changed) {
            show(w);
            fail_msg("%s: commit %d is told %s, main is at %d\n%s", w->policy, at,
                     twice  ? "twice"
                     : told ? "and did not change"
                            : "not at all",
                     w->main, outcome.output);
        }
        free(row);
        last = at;
    }
    assert_true(last >= 0);
    free(store);
}

// Times count that were measured on main, or of a code that main has.
static void times_are_of_the_line(const struct world *w)
{
    char *store = xprintf("%s.db", w->policy);
    const char *argv[] = {"history", "--repo", ".", "--store", store, NULL};
    bool has[ALL_CODES] = {0}, on[MOST] = {0};
    int points = 0;
    for (int at = w->main; at >= 0; at = w->commits[at].parent)
        on[at] = has[w->commits[at].code] = true;
    for (int i = 0; i < w->count; i++)
        points += on[i] || has[w->commits[i].code] ? w->commits[i].times : 0;
    char *said = xprintf(": %d %s", points, points == 1 ? "point, time" : "points, noise");
    plumb_run(&outcome, directory, argv, 0);
    if (!strstr(outcome.output, said)) {
        show(w);
        fail_msg("%s: main is at %d; expected '%s':\n%s", w->policy, w->main, said, outcome.output);
    }
    free(said);
    free(store);
}

// Which slowdowns of main are open, once no branch is: those that its newest code has whole are,
// and those that it has nothing left of are not. The newest code is that of main's newest commit
// whose code is known, or of the newest that was run: where they differ, both have to say so.
static void check_tells_what_is_open(struct world *w)
{
    char *store = xprintf("%s.db", w->policy);
    const char *argv[] = {"events", "--check", "--repo", ".", "--store", store, NULL};
    bool open = false, partly = false;
    int now = w->main, ran = w->main;
    while (!w->measured[w->commits[now].code])
        now = w->commits[now].parent;
    while (!w->commits[ran].ran)
        ran = w->commits[ran].parent;
    for (int at = now, next; (next = before(w, at)) >= 0; at = next) {
        const int code = w->commits[at].code, base = w->commits[next].code;
        const double size = log(atof(takes[code]) / atof(takes[base]));
        const double left = log(atof(takes[w->commits[now].code]) / atof(takes[base]));
        const double left_run = log(atof(takes[w->commits[ran].code]) / atof(takes[base]));
        if (size <= 0 || !w->compared[base][code])
            continue;
        open |= fmin(left, left_run) >= size;
        partly |= fmax(left, left_run) > 0;
    }
    git("branch -q -D topic 2>/dev/null || true");
    plumb_run(&outcome, directory, argv, 0);
    if (outcome.code > 1 || outcome.code < open || outcome.code > (open || partly)) {
        show(w);
        fail_msg("%s: main is at %d, and a slowdown is %s; exit %d:\n%s", w->policy, w->main,
                 open ? "open" : "not open", outcome.code, outcome.output);
    }
    free(store);
}

TEST(a_run_holds_each_commit_against_its_first_parent)
{
    for (uint64_t seed = 1; seed <= draws(ARRAY_COUNT(policies)); seed++) {
        struct world w = {.topic = -1, .random = {seed}, .policy = policies[seed % 3]};
        char *clean = xprintf("cd '%s' && rm -rf *.db *.db-*", directory);
        assert_int_equal(system(clean), 0);
        free(clean);
        w.main = commit(&w, "main", -1, -1, 0);
        measure(&w, w.main);
        for (int i = 0; i < STEPS; i++) {
            const int at = step(&w);
            if (draw(&w, 3))
                measure(&w, at);
            if (strcmp(w.policy, "off") != 0)
                history_tells_the_line(&w);
            if (w.topic < 0)
                check_tells_what_is_open(&w);
            git("symbolic-ref HEAD refs/heads/main");
            times_are_of_the_line(&w);
        }
    }
}

// ---- the ways of a branch to main ----

static void begin(struct world *w, const char *policy, int at)
{
    *w = (struct world){.topic = -1, .policy = policy};
    char *clean = xprintf("cd '%s' && rm -rf *.db *.db-*", directory);
    assert_int_equal(system(clean), 0);
    free(clean);
    w->main = commit(w, "main", -1, -1, 0);
    measure(w, w->main);
    w->topic = commit(w, "topic", w->main, -1, at);
    measure(w, w->topic);
    assert_int_equal(outcome.code, 1);
}

TEST(a_slower_branch_is_told_when_it_reaches_main_and_costs_nothing)
{
    for (size_t p = 0; p < draws(ARRAY_COUNT(policies)); p++) {
        for (int merge = 0; merge < 2; merge++) {
            struct world w;
            begin(&w, policies[p], 1);
            const size_t links = links_of(&w);
            w.main = commit(&w, "main", w.main, merge ? w.topic : -1, 1);
            plumb(&w, "run", w.commits[w.main].id, "-n");
            plumb_said(&outcome, 0, "0 of 1 series");
            measure(&w, w.main);
            assert_int_equal(outcome.code, 1);
            assert_int_equal(links_of(&w), links);
            const int next = commit(&w, "main", w.main, -1, 1);
            measure(&w, next); // it did nothing
        }
    }
}

// ---- what is told of it ----

static void tells(const struct world *w, const char *what, const char *more, int code,
                  const char *part)
{
    char *store = xprintf("%s.db", w->policy);
    const char *argv[] = {what, "--repo", ".", "--store", store, more, NULL};
    plumb_run(&outcome, directory, argv, 0);
    plumb_said(&outcome, code, part);
    free(store);
}

static void tells_one_change_at(const struct world *w, int at)
{
    char *line = xprintf("  %.10s  ", w->commits[at].id);
    tells(w, "history", NULL, 0, ": 1 change\n");
    plumb_said(&outcome, 0, line);
    tells(w, "events", "--check", 1, "1 event: 1 confirmed");
    free(line);
}

static const char *const pairing[] = {"on", "silent"}; // those by which codes are compared

TEST(a_change_is_told_once_and_where_the_line_has_it)
{
    for (size_t p = 0; p < draws(ARRAY_COUNT(pairing)); p++) {
        struct world w;
        begin(&w, pairing[p], 1);
        git("symbolic-ref HEAD refs/heads/main");
        tells_one_change_at(&w, w.topic); // its branch is open
        const int squashed = w.main = commit(&w, "main", w.main, -1, 1);
        measure(&w, w.main);
        tells_one_change_at(&w, squashed);
        git("branch -q -D topic");
        const size_t links = links_of(&w);
        const int amended = commit(&w, "main", w.commits[squashed].parent, -1, 1);
        measure(&w, amended);
        assert_int_equal(links_of(&w), links);
        tells_one_change_at(&w, amended);
        w.main = commit(&w, "main", amended, -1, 0); // undone, and done again
        measure(&w, w.main);
        w.main = commit(&w, "main", w.main, -1, 1);
        measure(&w, w.main);
        tells(&w, "history", NULL, 0, ": 3 changes\n");
        tells(&w, "events", "--check", 1, "3 events: 1 confirmed, 2 fixed");
    }
}

// So is a change of which there are times alone, as long as too few of them are there for a change
// point; more times of its code may take it back.
TEST(what_a_run_told_of_times_alone_is_open)
{
    struct world w;
    begin(&w, "off", 1);
    git("symbolic-ref HEAD refs/heads/main");
    tells(&w, "events", "--check", 1, "SLOWER: 1 slowdown is open"); // its branch is open
    const int squashed = w.main = commit(&w, "main", w.main, -1, 1);
    git("branch -q -D topic");
    tells(&w, "events", "--check", 1, "1 event: 1 new"); // before any run of it
    measure(&w, w.main);
    char *id = xprintf("%.10s", w.commits[squashed].id);
    tells(&w, "events", "--check", 1, "1 event: 1 new");
    plumb_said(&outcome, 1, id);
    const char *report[] = {"report", "--events", "--store", "off.db", "--format", "junit", NULL};
    plumb_run(&outcome, directory, report, 0);
    plumb_said(&outcome, 0, "<failure type=\"new\""); // reports call it what the check does
    w.main = commit(&w, "main", w.main, -1, 0);       // undone, and done again
    measure(&w, w.main);
    tells(&w, "events", "--check", 0, " fixed");
    w.main = commit(&w, "main", w.main, -1, 1);
    measure(&w, w.main);
    tells(&w, "events", "--check", 1, "3 events: 1 new, 2 fixed");
    git("checkout -q -B topic main && git branch -q -D main"); // HEAD's line is what counts
    tells(&w, "events", "--check", 1, "3 events: 1 new, 2 fixed");
    free(id);
}

// One time stood out, and those since are as before: it stays fixed when the newest is a bit
// slower.
TEST(a_time_that_stood_alone_is_fixed_and_stays_so)
{
    static const int codes[] = {4, 5, 6, 25};
    struct world w = {.topic = -1, .policy = "off"};
    git("symbolic-ref HEAD refs/heads/main");
    git("--version >/dev/null && rm -rf *.db *.db-*");
    w.main = commit(&w, "main", -1, -1, 0);
    for (int i = 0; i < 6; i++) // so it is known to scatter little
        plumb(&w, "run", w.commits[w.main].id, "--again");
    w.main = commit(&w, "main", w.main, -1, 24);
    plumb(&w, "run", w.commits[w.main].id, NULL);
    tells(&w, "events", "--check", 1, "1 event: 1 new");
    for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
        w.main = commit(&w, "main", w.main, -1, codes[i]);
        plumb(&w, "run", w.commits[w.main].id, NULL);
        tells(&w, "events", "--check", 0, "1 event: 1 fixed");
    }
}

// A branch's times lie between those of main by their dates, and are no noise of it.
TEST(a_branch_counts_from_the_commit_that_brings_it)
{
    struct world w = {.topic = -1, .policy = "off"};
    int branched = 0;
    git("symbolic-ref HEAD refs/heads/main");
    git("--version >/dev/null && rm -rf *.db *.db-*");
    w.main = -1;
    for (int i = 0; i < 10; i++) { // by turns from the fifth on
        w.main = commit(&w, "main", w.main, -1, 4 + i);
        plumb(&w, "run", w.commits[w.main].id, NULL);
        if (i < 4)
            continue;
        branched = w.topic = commit(&w, "topic", i == 4 ? w.main : branched, -1, 10 + i);
        plumb(&w, "run", w.commits[w.topic].id, NULL);
    }
    tells(&w, "history", NULL, 0, ": 10 points, noise 0.");
    plumb_said(&outcome, 0, ": 0 changes");
    const int squashed = w.main = commit(&w, "main", w.main, -1, 19);
    plumb(&w, "run", w.commits[w.main].id, NULL);
    plumb_said(&outcome, 1, "SLOWER: 1 slower");
    tells(&w, "history", NULL, 0, ": 11 points");
    for (int i = 0; i < 4; i++) {
        w.main = commit(&w, "main", w.main, -1, 20 + i);
        plumb(&w, "run", w.commits[w.main].id, NULL);
    }
    git("branch -q -D topic"); // another code of it was slower there, too
    tells_one_change_at(&w, squashed);
}

// What one of two devices has measured of a branch is not known of the other where main has it; and
// the commits since the newest run are those of main, whatever a branch measured of their trees.
TEST(each_device_is_told)
{
    struct world w = {.topic = -1, .policy = "two"};
    char *units = xprintf("%s.units", bench);
    helper_write_text(units, "2\n");
    git("symbolic-ref HEAD refs/heads/main");
    w.main = commit(&w, "main", -1, -1, 0);
    plumb(&w, "run", w.commits[w.main].id, "--device=a");
    plumb_said(&outcome, 0, "OK: 1 new");
    plumb(&w, "run", w.commits[w.main].id, NULL);
    plumb_said(&outcome, 0, "OK: 1 new, 1 same");
    w.topic = commit(&w, "topic", w.main, -1, 1);
    plumb(&w, "run", w.commits[w.topic].id, "--device=a");
    plumb_said(&outcome, 1, "SLOWER: 1 slower");
    const int squashed = w.main = commit(&w, "main", w.main, -1, 1);
    tells(&w, "events", "--check", 1, "1 event: 1 confirmed"); // before any run of it
    w.main = commit(&w, "main", w.main, -1, 1);
    plumb(&w, "run", "NEW", "--all");
    plumb_said(&outcome, 1, "2 slower"); // on each
    char *line = xprintf("  %.10s  ", w.commits[squashed].id);
    tells(&w, "history", NULL, 0, "2 series, 0 of them without a change");
    const char *first = strstr(outcome.output, line);
    assert_true(first && strstr(first + 1, line));
    tells(&w, "events", "--check", 1, "1 event: 1 confirmed");
    plumb_said(&outcome, 1, "and 1 more");
    unlink(units);
    free(line);
    free(units);
}

// What a pull request's gate found is told where a plain run meets it, and the branch's is not.
TEST(what_a_gate_found_is_told_where_main_has_it)
{
    struct world w = {.topic = -1, .policy = "silent"};
    git("symbolic-ref HEAD refs/heads/main");
    git("--version >/dev/null && rm -rf *.db *.db-*");
    w.main = commit(&w, "main", -1, -1, 0);
    measure(&w, w.main);
    w.topic = commit(&w, "topic", w.main, -1, 1);
    char *head = xprintf("--head=%s", w.commits[w.topic].id);
    plumb(&w, "gate", head, NULL);
    free(head);
    plumb_said(&outcome, 1, "SLOWER: 1 slower");
    tells(&w, "events", "--check", 0, "0 events");
    w.main = commit(&w, "main", w.main, -1, 1);
    tells(&w, "events", "--check", 0, "0 events");
    w.compared[0][1] = true;
    measure(&w, w.main);
    assert_int_equal(links_of(&w), 1);
    tells_one_change_at(&w, w.main);
}

// A branch that made it slower and took it back is no slowdown of main, which goes on beside it;
// what main undoes in the meantime is nothing to the branch.
TEST(what_its_own_branch_took_back_is_fixed)
{
    for (size_t p = 0; p < draws(ARRAY_COUNT(pairing)); p++) {
        struct world w;
        begin(&w, pairing[p], 1);
        git("symbolic-ref HEAD refs/heads/main");
        w.main = commit(&w, "main", w.main, -1, 5);
        plumb(&w, "run", w.commits[w.main].id, NULL);
        tells(&w, "events", "--check", 1, " 1 confirmed");
        w.topic = commit(&w, "topic", w.topic, -1, 4);
        plumb(&w, "run", w.commits[w.topic].id, NULL);
        tells(&w, "events", "--check", 0, " 1 fixed");
    }
}

TEST(what_no_branch_has_is_withdrawn_and_not_fixed)
{
    for (size_t p = 0; p < draws(ARRAY_COUNT(pairing)); p++) {
        struct world w;
        begin(&w, pairing[p], 1);
        git("symbolic-ref HEAD refs/heads/main");
        tells_one_change_at(&w, w.topic);
        git("branch -q -D topic");
        tells(&w, "events", "--check", 0, "1 event: 1 withdrawn");
        tells(&w, "history", NULL, 0, ": 0 changes\n");
        git("reflog expire --expire=now --all"); // and its commit is gone
        git("-c gc.auto=0 prune --expire=now");
        tells(&w, "events", "--check", 0, "1 event: 1 withdrawn");
        tells(&w, "history", NULL, 0, ": 0 changes\n");
    }
}

// An accepted level is of the commits before it, and of no other branch's.
TEST(nothing_is_accepted_that_nobody_accepted)
{
    struct world w;
    char *epoch, *path = xprintf("%s/baselines/epochs.txt", directory);
    begin(&w, "on", 1);
    git("symbolic-ref HEAD refs/heads/main");
    tells_one_change_at(&w, w.topic);
    w.main = commit(&w, "main", w.main, -1, 2); // later, on main, and accepted there
    measure(&w, w.main);
    epoch = xprintf("series = simple * *\ncommit = %s\nlevel = 1.4\nreason = exact\nwho = A\n"
                    "when = 2026-11-21\n",
                    w.commits[w.main].id);
    git("--version >/dev/null && mkdir -p baselines");
    helper_write_text(path, epoch);
    tells(&w, "events", "--check", 1, "2 events: 1 confirmed, 1 accepted");
    git("--version >/dev/null && rm -r baselines");
    free(epoch);
    free(path);
}
