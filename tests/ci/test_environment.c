// SPDX-License-Identifier: Apache-2.0
//
// Label: unsanitized
//
// What the machine lacks is no kernel's fault, and spoils no store: whole gates with few
// descriptors, on file systems that are noexec, full or read-only, from folders that are gone and
// with stores that hold nothing yet. Each says in its last line what it met, and ends with 4; or it
// does its work.
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct {
    struct fake_gate gate;
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    char *kept; // a store with one gate
    char *said; // by the last command
} at;

static int set_up(void **state)
{
    static const char *const names[] = {"good-1", "slower-1", NULL};
    fake_gate_make(&at.gate);
    fake_gate_policy(&at.gate, "", "[gate]\n\tprocesses = 2\n\tself-test = 1\n");
    fake_gate_commit(at.base, &at.gate, "main", NULL, names, "slower", 1);
    fake_gate_commit(at.head, &at.gate, "main", at.base, names, "slower", 2);
    fake_gate_run(&at.gate, at.base, at.head, 0);
    at.kept = xprintf("%s.kept", at.gate.store);
    char *copy = xprintf("cp '%s' '%s'", at.gate.store, at.kept);
    const int failed = system(copy);
    free(copy);
    return failed || at.gate.outcome.code != 1 ? -1 : 0; // slower
}

static int tear_down(void **state)
{
    fake_gate_remove(&at.gate);
    free(at.kept);
    free(at.said);
    return 0;
}

AROUND_ALL(set_up, tear_down);

// The exit code of a shell command in the repository, after `before`, with the store as it was. In
// it stand $PLUMB, $STORE, $GATE (a gate's words) and $HERE.
static int ends(const char *before, const char *command)
{
    const char *here = at.gate.bench.directory;
    char *words =
        xprintf("cd '%s' && rm -rf '%s'-* cache out && cp '%s' '%s' || exit 97\n"
                "export HERE='%s' BENCH='%s' PLUMB='" TEST_BIN "/plumb' STORE='%s'\n"
                "GATE=\"gate --quiet --base %s --head %s --policy $HERE/policy.cfg "
                "--bench $BENCH --sandbox off "
                "--cache $HERE/cache --out $HERE/out\"\nunset GITHUB_ACTIONS\nHEAD=%s\n%s\n%s",
                here, at.gate.store, at.kept, at.gate.store, here, at.gate.bench.program,
                at.gate.store, at.base, at.head, at.head, before, command);
    char *script = xprintf("%s/script", here), *log = xprintf("%s/said", here);
    helper_write_text(script, words);
    char *run = xprintf("sh '%s' >'%s' 2>&1", script, log);
    const int status = system(run);
    free(at.said);
    at.said = helper_read(log, NULL);
    free(run);
    free(log);
    free(script);
    free(words);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The last line said begins so.
static void assert_last(const char *beginning, const char *of)
{
    char *end = at.said + strlen(at.said);
    while (end > at.said && end[-1] == '\n')
        *--end = '\0';
    const char *line = strrchr(at.said, '\n');
    line = line ? line + 1 : at.said;
    if (strncmp(line, beginning, strlen(beginning)) != 0)
        fail_msg("%s: the last line is not \"%s...\":\n%s", of, beginning, at.said);
}

static void assert_store_is_whole(const char *of)
{
    char *check =
        xprintf("'" TEST_BIN "/plumb' store check --store '%s' >/dev/null && "
                "'" TEST_BIN "/plumb' export --store '%s' --format csv | grep -q slower-1",
                at.gate.store, at.gate.store);
    if (system(check))
        fail_msg("%s: the store is not what it was", of);
    free(check);
}

// Seventeen to twenty-one were those that overwrote a store's first page.
TEST(few_descriptors_end_a_command_or_do_not_and_spoil_no_store)
{
    static const char *const commands[] = {
        "exec $PLUMB $GATE --store $STORE",
        ("exec $PLUMB run --quiet --policy $HERE/policy.cfg --bench $BENCH --sandbox off --cache "
         "$HERE/cache --store $STORE $HEAD~1..$HEAD"),
        "exec $PLUMB store merge --store $STORE $STORE.kept",
    };
    for (size_t c = 0; c < ARRAY_COUNT(commands); c++) {
        const int usual = ends("", commands[c]);
        if (usual < 0 || usual > 1)
            fail_msg("%s ends with %d without limits:\n%s", commands[c], usual, at.said);
        // Below five the loader does not find the libraries.
        for (int most = 5; most <= 46; most += most > 25 ? 7 : c ? 5 : 1) {
            char *limit = xprintf("ulimit -n %d", most);
            const int code = ends(limit, commands[c]);
            if (code != 4 && code != usual)
                fail_msg("%s: %s ends with %d:\n%s", limit, commands[c], code, at.said);
            if (code == 4)
                assert_last("plumb: ", limit);
            if (code == 4 && !strcasestr(at.said, "too many open files"))
                fail_msg("%s does not say what %s met:\n%s", limit, commands[c], at.said);
            if (most > 38)
                assert_int_equal(code, usual);
            assert_store_is_whole(limit);
            free(limit);
        }
    }
}

// The limits that a shell sets for what it starts, each with what is said of it. A builder's own
// compiler meets them too.
TEST(limit_of_a_shell_is_said_and_ends_a_command_with_4)
{
    static const struct {
        const char *limit, *command, *said;
    } words[] = {
        {"ulimit -s 20", "exec $PLUMB $GATE --store $STORE", "`ulimit -s 1024` or more"},
        {"ulimit -s 200", "exec $PLUMB $GATE --store $STORE", "`ulimit -s 1024` or more"},
        {"ulimit -d 4000", "exec $PLUMB $GATE --store $STORE", "out of memory"},
        {"ulimit -f 8", "exec 2>&1 | cat; exec $PLUMB $GATE --store new.db", "new.db"},
        // What the shell used is the command's, too: it is told just before the kernel kills it.
        {"ulimit -t 1; while times >spent; read -r user rest <spent; do i=0; "
         "case $user in 0m0.8* | 0m0.9*) break ;; esac; "
         "while [ $i -lt 3000 ]; do i=$((i + 1)); done; done",
         "exec $PLUMB $GATE --store $STORE", "`ulimit -t`"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const int code = ends(words[i].limit, words[i].command);
        if (code != 4 || !strstr(at.said, words[i].said))
            fail_msg("%s: %s ends with %d:\n%s", words[i].limit, words[i].command, code, at.said);
        assert_last("plumb: ", words[i].limit);
        assert_store_is_whole(words[i].limit);
    }
}

// Root is not held to a number of processes, so here it is nobody, whose the folder is meanwhile.
// Whoever runs the tests has one process at least, so another is refused at each of these limits.
TEST(limit_of_processes_is_said_and_ends_a_command_with_4)
{
    static const char *const commands[] = {
        "$PLUMB $GATE --store $STORE",
        ("$PLUMB run --quiet --policy $HERE/policy.cfg --bench $BENCH --sandbox off --cache "
         "$HERE/cache --store $STORE $HEAD~1..$HEAD"),
        "$PLUMB store merge --store $STORE $STORE.kept",
    };
    const char *before =
        "if [ $(id -u) = 0 ]; then who='setpriv --reuid 65534 --regid 65534 --clear-groups'; "
        "chown -R 65534 .; fi\n$who sh -c \"cd '$HERE' && test -x $PLUMB && test -x $BENCH\" || "
        "{ chown -R $(id -u) .; exit 77; }";
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        char *command = xprintf("$who prlimit --nproc=1 %s; code=$?\n"
                                "chown -R $(id -u) .; exit $code",
                                commands[i]);
        const int code = ends(before, command);
        if (code == 77)
            skip_without("user", "another user cannot run what was built here");
        const bool alone = i == 2; // it starts nothing
        if (code != (alone ? 0 : 4) ||
            (!alone && !strstr(at.said, "Resource temporarily unavailable")))
            fail_msg("%s ends with %d:\n%s", command, code, at.said);
        if (!alone)
            assert_last("plumb: ", command);
        assert_store_is_whole(command);
        free(command);
    }
}

// Runs in a mount namespace; skips where there is none.
static int ends_mounted(const char *mounts, const char *command)
{
    char *before =
        xprintf("[ \"$1\" = in ] || exec unshare --mount $([ $(id -u) = 0 ] || echo --user "
                "--map-root-user) sh \"$0\" in\nmkdir -p disk && %s || exit 77",
                mounts);
    const int code = ends(before, command);
    free(before);
    if (code == 77 || strstr(at.said, "unshare"))
        skip_without("mounts", "no file system can be mounted here");
    return code;
}

TEST(file_system_without_programs_is_the_environments_fault)
{
    const int code = ends_mounted("mount -t tmpfs -o noexec,size=64m tmpfs disk",
                                  "exec $PLUMB $GATE --cache disk/cache --store $STORE");
    assert_int_equal(code, 4);
    assert_last("plumb: ", "noexec");
    assert_non_null(strstr(at.said, "noexec"));
    assert_store_is_whole("noexec");
}

// The verdict is there and stored; but a job that reads the reports must not think so.
TEST(full_disk_at_the_reports_is_the_last_thing_said)
{
    const int code = ends_mounted("mount -t tmpfs -o size=8k tmpfs disk",
                                  "exec $PLUMB $GATE --out disk/reports --store $STORE");
    assert_int_equal(code, 4);
    assert_last("plumb: ", "full disk");
    assert_non_null(strstr(at.said, "FAILED: "));
    assert_non_null(strstr(at.said, "No space left on device"));
    assert_store_is_whole("full disk");
}

// What was said before comes before it, also in a log, where nothing is written at once.
TEST(full_disk_at_what_init_writes_is_the_last_thing_said)
{
    const int code = ends_mounted("mount -t tmpfs -o size=4k tmpfs disk",
                                  "cat /dev/zero >disk/full; exec $PLUMB init --outside disk");
    if (code != 4)
        fail_msg("init ends with %d:\n%s", code, at.said);
    assert_last("plumb: ", "init");
    assert_non_null(strstr(at.said, "No space left on device"));
}

// The help of a command ends the program by another way than the command.
TEST(answer_that_does_not_arrive_is_none)
{
    static const char *const commands[] = {"history --store $STORE", "help gate", "gate --help",
                                           "store prune --help", "run --usage"};
    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        char *command = xprintf("exec $PLUMB %s 2>&1 >/dev/full", commands[i]);
        if (ends("", command) != 4)
            fail_msg("%s: %s", command, at.said);
        assert_last("plumb: ", command);
        free(command);
    }
}

TEST(full_disk_at_a_build_or_a_store_is_no_kernels_fault)
{
    static const char *const words[][3] = {
        {"size=16k", "exec $PLUMB $GATE --cache disk/cache --store $STORE",
         "out of memory or disk"},
        {"size=$(($(stat -c %s $STORE) / 1024 + 40))k",
         "cp $STORE disk/store.db; exec $PLUMB $GATE --store disk/store.db", "disk/store.db"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        char *mounts = xprintf("mount -t tmpfs -o %s tmpfs disk", words[i][0]);
        const int code = ends_mounted(mounts, words[i][1]);
        if (code != 4 || !strstr(at.said, words[i][2]))
            fail_msg("%s ends with %d:\n%s", words[i][1], code, at.said);
        assert_last("plumb: ", words[i][1]);
        assert_store_is_whole(words[i][1]);
        free(mounts);
    }
}

TEST(store_that_cannot_be_written_is_said_to_be_so)
{
    int code = ends_mounted("cp $STORE disk/ && mount --bind disk disk && mount -o "
                            "remount,bind,ro disk",
                            "exec $PLUMB $GATE --store disk/store.db");
    assert_int_equal(code, 4);
    assert_last("plumb: ", "read-only");
    assert_non_null(strstr(at.said, "disk/store.db"));
    assert_non_null(strstr(at.said, "written"));
}

TEST(store_of_version_0_is_made_or_said_to_be_none)
{
    // A file that is empty becomes a store; a database of somebody else's does not, and stays.
    assert_int_equal(ends("", ": >new.db; exec $PLUMB $GATE --store new.db"), 1);
    const int code =
        ends("", "head -c 18 $STORE >other.db; printf '\\1\\1\\0\\100\\040\\040' >>other.db; "
                 "head -c 8168 /dev/zero >>other.db; cp other.db before.db; "
                 "$PLUMB $GATE --store other.db; code=$?; cmp other.db before.db && "
                 "exit $code");
    assert_int_equal(code, 4);
    assert_last("plumb: store other.db", "version 0");
}

TEST(folder_that_is_gone_is_said)
{
    static const char *const words[][2] = {
        {"mkdir gone && cd gone && rmdir ../gone && exec $PLUMB $GATE --store $STORE", "plumb: "},
        {": >file; exec $PLUMB $GATE --cache file/cache --store $STORE", "file/cache"},
        {": >file; exec $PLUMB $GATE --store file/store.db", "file/store.db"},
        {": >file; exec $PLUMB $GATE --out file/out --store $STORE", "file/out"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        const int code = ends("", words[i][0]);
        if (code != 4 || !strstr(at.said, words[i][1]))
            fail_msg("%s ends with %d:\n%s", words[i][0], code, at.said);
        assert_last("plumb: ", words[i][0]);
        assert_store_is_whole(words[i][0]);
    }
}
