// SPDX-License-Identifier: Apache-2.0
//
// ci/fleet with a stand-in for Slurm (tests/helpers/sbatch) and fake_bench, whose times have no
// noise: a gate in parts says what one machine says, whatever becomes of its tasks. Nothing is
// looked at in other regimes, for how many looks fit is a question of time. On a real Slurm
// tests/measure/fleet_slurm does the same and more.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char *folder, *said;

// In the repository, with the stand-ins in front of all programs; the exit code.
static int shell(const char *script)
{
    char *command =
        xprintf("cd '%s/repo' && exec 2>../said >&2 && export PATH='%s/bin':$PATH F='%s' "
                "TMPDIR='%s/local' O='--bench ../bin/bench --cache ../cache --sandbox off'; "
                "fleet() { sh '" TEST_SOURCE "/ci/fleet' --plumb ../bin/plumb --store ../main.db "
                "--folder ../fleet \"$@\"; }; again() { sh '" TEST_SOURCE "/ci/fleet' \"$@\"; }; "
                "rows() { plumb report --store \"$1\" --format csv | tail -n +2 | sort; }; %s",
                folder, folder, folder, folder, script);
    char *path = xprintf("%s/said", folder);
    const int status = system(command);
    free(said);
    said = helper_exists(folder, "said") ? helper_read(path, NULL) : xstrdup("");
    free(path);
    free(command);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect(int code, const char *script)
{
    const int found = shell(script);
    if (found != code)
        fail_msg("%s: exit %d instead of %d: %s", script, found, code, said);
}

static const char make_repository[] =
    "git init -q -b main . && git config user.name A && git config user.email a@example.org && "
    "mkdir kernels ci && printf '%s\\n' '[build]' 'input = kernels' "
    "'command = \"for f in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do cc -shared -fPIC -o "
    "\\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; done\"' "
    "'[device \"host\"]' 'kind = host' '[problems \"p\"]' 'problem = 4x4x4:fp32' "
    "'problem = 8x4x4:fp32' '[kernel \"*\"]' 'problems = p' '[gate]' 'processes = 2' "
    "'self-test = 1' 'beside = none' '[history]' 'link = off' '[fleet]' 'tasks = 4' 'gres = gpu:1' "
    "'partition = big' 'time = 30' 'account = us' >ci/plumb.cfg && "
    "for c in 1 2 3; do for k in good-1 good-2 slower-1; do echo \"int v = $c; const char name[] = "
    "\\\"fake library $k\\\";\" >kernels/$k.c; "
    "done; git add -A && GIT_COMMITTER_DATE=\"$((1700000000 + c * 3600)) +0000\" git commit -qm $c "
    "|| exit 1; done";

// A plumb that can die when it has ended, with the script that called it.
static const char make_programs[] =
    "mkdir -p ../bin ../local && cp '" TEST_BIN "/fake_bench' ../bin/bench && : >../bin/bench.calm "
    "&& cp '" TEST_SOURCE "/tests/helpers/sbatch' ../bin/sbatch && ln -s sbatch ../bin/squeue && "
    "printf '%s\\n' '#!/bin/sh' 'code=0' '\"" TEST_BIN "/plumb\" \"$@\" || code=$?' "
    "'[ -z \"${PLUMB_DIE:-}\" ] || kill -9 0' 'exit $code' >../bin/plumb && chmod +x ../bin/plumb";

static int set_up(void **state)
{
    folder = helper_directory();
    char *path = xprintf("mkdir '%s/repo'", folder);
    const int status = system(path);
    free(path);
    expect(0, make_repository);
    expect(0, make_programs);
    expect(1, "plumb gate --quiet $O --store ../whole.db --base HEAD~1 --out ../whole");
    return status;
}

AROUND_ALL(set_up, NULL);

static int fresh(void **state)
{
    expect(0, "rm -rf ../fleet ../main.db* ../bin/calls ../bin/disturb ../bin/jobs");
    return 0;
}

AROUND_EACH(fresh, NULL);

TEST(a_gate_in_parts_says_what_one_machine_says)
{
    expect(0, "printf '2 requeued\\n3 twice\\n' >../bin/disturb");
    expect(1, "fleet --wait gate --base HEAD~1 $O");
    assert_non_null(strstr(said, "SLOWER: 2 slower, 4 same"));
    expect(0, "rows ../whole.db >../a && rows ../main.db >../b && cmp ../a ../b && test -s ../a");
    expect(0, "test \"$(cat ../fleet/code)\" = 1 && test -s ../fleet/report/junit.xml");
    expect(0, "test \"$(ls ../fleet/shards)\" = \"$(for i in 1 2 3 4; do echo $i.code; echo $i.db; "
              "done)\"");
    // What the killed try left on its machine's disk is gone, too.
    expect(0, "! ls ../local/* ../fleet/shards/.[0-9]* 2>/dev/null");
    expect(0,
           "grep -q -- '--partition=big .*--time=30 .*--account=us .*--array=1-4 .*--gres=gpu:1' "
           "../bin/calls");
    expect(0, "! sed -n 2p ../bin/calls | grep -q gres");
    // Called again it says the same, and nothing is there twice.
    expect(0, "again task ../fleet 2 && grep -q 'there already' ../said");
    expect(1, "again finish ../fleet");
    expect(0, "test \"$(plumb report --list --store ../main.db | wc -l)\" = 1");
}

// What git itself would follow: parents that a clone gives a commit, tags before branches.
TEST(base_is_the_one_that_plumb_would_take)
{
    static const char *const lies[] = {
        "git replace -g HEAD HEAD~2",
        "echo $(git rev-parse HEAD HEAD~2) >.git/info/grafts",
    };
    for (size_t i = 0; i < ARRAY_COUNT(lies); i++) {
        expect(0, "git rev-parse HEAD~1 >../base");
        expect(0, lies[i]);
        expect(0, "test \"$(git rev-parse HEAD~1)\" != \"$(cat ../base)\"");
        expect(0, "fleet gate $O && rm -rf ../kept && mv ../fleet ../kept");
        expect(0, "git config --file ../kept/fleet.cfg --get-all fleet.argument | "
                  "grep -q \"$(cat ../base)\"");
        expect(0, "rm -f .git/info/grafts && git replace -d $(git rev-parse HEAD) || :");
    }
    expect(0, "git branch -f side HEAD~1 && git tag side HEAD");
    expect(4, "fleet gate --base side $O");
    assert_non_null(strstr(said, "type the whole name, for instance refs/heads/side"));
    expect(0, "git tag -d side && git tag refs/heads/gone HEAD~1");
    expect(4, "fleet gate --base refs/heads/gone $O");
    assert_non_null(strstr(said, "refs/heads/gone: there is no such commit"));
    expect(0, "git tag -d refs/heads/gone && git branch -D side");
}

TEST(who_calls_it_wrong_is_told_what_is_wrong)
{
    expect(0, "sh " TEST_SOURCE "/ci/fleet --help");
    assert_non_null(strstr(said, "ci/fleet again FOLDER"));
    expect(4, "sh " TEST_SOURCE "/ci/fleet");
    assert_non_null(strstr(said, "fleet: what shall it do?"));
    expect(4, "sh " TEST_SOURCE "/ci/fleet --wait gates --base HEAD~1");
    assert_non_null(strstr(said, "fleet: gates: neither gate, run, study"));
    expect(4, "sh " TEST_SOURCE "/ci/fleet --tasks");
    assert_non_null(strstr(said, "fleet: --tasks: needs a word"));
    expect(4, "sh " TEST_SOURCE "/ci/fleet again");
    assert_non_null(strstr(said, "fleet: again: of which folder?"));
    expect(0, "rm -rf ../empty && git init -q ../empty && mkdir ../slurmless && "
              "for p in sh dirname sed realpath; do ln -s \"$(command -v $p)\" ../slurmless; done");
    expect(4, "PATH=$PWD/../slurmless sh " TEST_SOURCE "/ci/fleet --plumb " TEST_BIN
              "/plumb --repo ../empty gate");
    assert_non_null(strstr(said, "fleet: no sbatch in PATH"));
    assert_non_null(strstr(said, "--part"));
    expect(0, "test ! -e ../empty/.plumb");
}

TEST(lost_tasks_leave_a_gate_incomplete_until_they_are_done_again)
{
    expect(0, "printf '1 killed\\n3 never\\n' >../bin/disturb");
    expect(2, "fleet --wait gate --base HEAD~1 $O");
    assert_non_null(strstr(said, "INCOMPLETE: of 4 parts these are missing: 1, 3"));
    expect(0, "test -z \"$(plumb report --list --store ../main.db | grep gate)\"");
    expect(1, "again again ../fleet --wait");
    expect(0, "grep -q -- '--array=1,3 ' ../bin/calls");
    expect(0, "rows ../whole.db >../a && rows ../main.db >../b && cmp ../a ../b");
}

TEST(what_cannot_be_written_is_missing_and_never_half)
{
    expect(0, "printf '%s\\n' '#!/bin/sh' 'case \"$2\" in */shards/.2.*) head -c 9 \"$1\" >\"$2\"; "
              "exit 1 ;; esac' 'exec /bin/cp \"$@\"' >../bin/cp && chmod +x ../bin/cp");
    expect(2, "fleet --wait gate --base HEAD~1 $O");
    assert_non_null(strstr(said, "these are missing: 2;"));
    expect(0, "grep -q 'is the disk full' ../fleet/logs/2.txt && rm ../bin/cp");
    expect(0, "! ls ../fleet/shards/.[0-9]* 2>/dev/null");
    expect(1, "again again ../fleet --wait");
}

TEST(a_range_is_measured_in_stretches_that_meet)
{
    expect(0, "printf '1 requeued\\n' >../bin/disturb");
    expect(2, "fleet --tasks 2 --wait run ALL $O");
    // Three commits; the second stretch begins with the last of the first.
    expect(0, "test \"$(plumb report --list --store ../main.db | grep -c measure)\" = 4");
    expect(0, "test -s ../fleet/report/site/index.html && test -e ../fleet/report/events.json");
    expect(0, "plumb store check --store ../main.db");
    // A damaged verdict is none; the shell would make 256 a 0.
    expect(0, "echo 256 >../fleet/shards/2.code");
    expect(4, "again finish ../fleet");
    assert_non_null(strstr(said, "2.code: is no verdict"));
}

TEST(a_study_in_parts_is_one_study)
{
    expect(0, "fleet --tasks 3 --wait study --base HEAD~1 --head=HEAD --rounds 2 "
              "--bench ../bin/bench --sandbox off");
    assert_non_null(strstr(said, "0 false alarms in 12 gates"));
    expect(0, "test \"$(plumb report --list --store ../main.db | wc -l)\" = 1");
}

TEST(what_is_wrong_is_said_before_anything_is_handed_over)
{
    static const struct {
        const char *script, *says;
    } cases[] = {
        {"fleet", "ci/fleet [--tasks N]"},
        {"fleet --nonsense 1 gate", "ci/fleet [--tasks N]"},
        {"fleet gate --base nowhere", "nowhere: there is no such commit"},
        {"fleet gate --store x", "--store: is the fleet's"},
        {"fleet run HEAD~9..HEAD", "HEAD~9: there is no such commit"},
        {"fleet run NEW", "give a range such as A..B"},
        {"fleet --tasks 0 gate", "no number of tasks"},
        {"again task ../nowhere 1", "there is no such folder"},
        {"again task . 1", "is no fleet's folder"},
        {"sed 's/gres = .*/gres = gpu!1/' ci/plumb.cfg >../bad.cfg; fleet gate --policy ../bad.cfg",
         "bad.cfg:19: fleet.gres = gpu!1: needs a word as sbatch takes it"},
        {"sed 's/^.gate.$/[gat]/' ci/plumb.cfg >../bad.cfg; fleet gate -p ../bad.cfg",
         "bad.cfg:11: unknown section [gat]"},
        {"sed -i 's/^tasks = .*/tasks = none/' ci/plumb.cfg; fleet run HEAD; c=$?; "
         "git checkout -q ci; exit $c",
         "ci/plumb.cfg:18: fleet.tasks = none: needs a whole number"},
        {"mkdir -p ../fleet; fleet gate", "a folder of its own"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const int code = shell(cases[i].script);
        if (code != 4 || !strstr(said, cases[i].says))
            fail_msg("%s: exit %d: %s", cases[i].script, code, said);
    }
    assert_false(helper_exists(folder, "bin/calls"));
}
