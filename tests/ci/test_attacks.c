// SPDX-License-Identifier: Apache-2.0
//
// Pull requests that are slower, or would be, by what a code id leaves out, by a policy of an
// earlier day, by a library that nobody opens by a name that stands anywhere, or by leaving out
// what is slower: none is "same" and slower. What has one code id is one file (one folder in
// .plumb/cache/kept), so it cannot behave in two ways; what differs is seen. So "same" is right
// where a kernel looks for what the copy leaves out (its build's id, a time, debug information):
// both sides find nothing there, in each gate. What a kernel would do with another file than the
// one that is measured is beyond what is measured, as is what it does outside of the sandbox.
// Label: measured
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char *folder;

// What a shell script ends with, in the folder; what it said is in said there.
static int shell(const char *script)
{
    char *command = xprintf("cd '%s' && { %s\n} >said 2>&1", folder, script);
    const int status = system(command);
    free(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static char *said(void)
{
    char *path = xprintf("%s/said", folder), *text = helper_read(path, NULL);
    free(path);
    return text;
}

static void must(const char *script)
{
    if (shell(script) != 0)
        fail_msg("%s: %s", script, said());
}

// ---- a repository whose builds are shell scripts

#define COMPILE                                                                                    \
    "cc -std=c17 -D_GNU_SOURCE -O2 -fPIC -shared -Wl,--build-id=none -Ikernels "                   \
    "-DCHEAT_NAME='\"victim\"' "
#define READER " kernels/tests/cheats/reads/reads.c -ldl"
#define VICTIM " -o $PLUMB_OUT/victim.so " READER

static void begin(const char *device)
{
    char *script = xprintf(
        "rm -rf repo && git init -q -b main repo && cd repo && git config user.name n && "
        "git config user.email e@example.org && mkdir -p ci kernels/kernels kernels/tests/cheats "
        "&& cp '" TEST_SOURCE "/kernels/kernel.h' kernels/kernels && cp -r '" TEST_SOURCE
        "/tests/cheats/reads' '" TEST_SOURCE
        "/tests/cheats/host' kernels/tests/cheats && printf '%%s\\n' '[build]' "
        "'\tinput = kernels' '\tcommand = \"sh kernels/build.sh\"' '\toutput = *.so */*.so' "
        "'\tsandbox = %s' '[device \"host\"]' '\tkind = host' '[problems \"p\"]' "
        "'\tproblem = 96x96x192:fp32' '[kernel \"*\"]' '\tproblems = p' '[gate]' "
        "'\tseconds = 60' '\tself-test = 2' >ci/plumb.cfg",
        device);
    must(script);
    free(script);
}

static void commit(const char *build)
{
    char *path = xprintf("%s/repo/kernels/build.sh", folder);
    helper_write_text(path, build);
    must("cd repo && git add -A && git commit -q --allow-empty -m x");
    free(path);
}

// Its exit code; how many libraries were kept, which are those that differ, is in *kept.
static int gate(int *kept)
{
    const int code = shell("cd repo && '" TEST_BIN "/plumb' gate --quiet --out ../report");
    *kept = shell("exit $(ls repo/.plumb/cache/kept | wc -l)");
    shell("cat report/summary.md");
    return code;
}

// ---- what a code id might leave out

// The byte behind the first segment, which no header counts.
#define FILL                                                                                       \
    "end=$(readelf -lW $PLUMB_OUT/victim.so | awk '$1 == \"LOAD\" { print $5; exit }'); "          \
    "printf '\\1' | dd of=$PLUMB_OUT/victim.so bs=1 seek=$((end)) conv=notrunc"
#define OTHER                                                                                      \
    "mkdir $PLUMB_OUT/fast $PLUMB_OUT/slow; " COMPILE "-UCHEAT_NAME -DCHEAT_NAME='\"impl\"' "      \
    "-DREADS=value" READER " -o $PLUMB_OUT/"

struct attack {
    const char *name, *flags; // of the compiler, in both
    const char *fast, *slow;  // shell text that follows in the base, and in the head
    bool seen;                // the two have two ids; else one file
};

static const struct attack attacks[] = {
    {"a constant", "-DREADS=value", "", "", true},
    {"a section of its own", "-DREADS=own_section",
     "printf '\\0' >x; objcopy --add-section .slow=x $PLUMB_OUT/victim.so",
     "printf '\\1' >x; objcopy --add-section .slow=x $PLUMB_OUT/victim.so", true},
    {"a section that device code could be in", "-DREADS=device_section", "",
     "objcopy --rename-section .constant=.nv_fatbin $PLUMB_OUT/victim.so", true},
    {"where a link leads", "-DREADS=target", "ln -s fast $PLUMB_OUT/which",
     "ln -s slow $PLUMB_OUT/which", true},
    {"debug information", "-DREADS=debug_section",
     "printf '\\0' >x; objcopy --add-section .debug_slow=x $PLUMB_OUT/victim.so",
     "printf '\\1' >x; objcopy --add-section .debug_slow=x $PLUMB_OUT/victim.so", false},
    {"the build's id", "-DREADS=build_id",
     COMPILE "-DREADS=build_id -Wl,--build-id=0x00000000" VICTIM,
     COMPILE "-DREADS=build_id -Wl,--build-id=0x01010101" VICTIM, false},
    {"how many sections there are", "-DREADS=header", "", COMPILE "-g3 -DREADS=header" VICTIM,
     false},
    {"a statement", "-DREADS=statement", "echo kernels/build.sh >$PLUMB_OUT/victim.so.inputs",
     "echo kernels/build.sh >$PLUMB_OUT/victim.so.inputs; echo 'kernels/slow*' "
     ">>$PLUMB_OUT/victim.so.inputs",
     false},
    {"an empty folder", "-DREADS=entry", "", "mkdir $PLUMB_OUT/slow", false},
    {"a pipe", "-DREADS=entry", "", "mkfifo $PLUMB_OUT/slow", false},
    {"a time", "-DREADS=entry_time", "echo >$PLUMB_OUT/table; touch -d @1 $PLUMB_OUT/table",
     "echo >$PLUMB_OUT/table; touch -d @2 $PLUMB_OUT/table", false},
    {"a right", "-DREADS=right", "echo >$PLUMB_OUT/table",
     "echo >$PLUMB_OUT/table; chmod +x "
     "$PLUMB_OUT/table",
     false},
    {"holes", "-DREADS=holes", "truncate -s 1M $PLUMB_OUT/table",
     "dd if=/dev/zero of=$PLUMB_OUT/table bs=1M count=1", false},
    {"names of one file", "-DREADS=names", "echo >$PLUMB_OUT/table; echo >$PLUMB_OUT/other",
     "echo >$PLUMB_OUT/table; ln $PLUMB_OUT/table $PLUMB_OUT/other", false},
    {"its name", "-DREADS=called", "mv $PLUMB_OUT/victim.so $PLUMB_OUT/fast.so",
     "mv $PLUMB_OUT/victim.so $PLUMB_OUT/slow.so", false},
    {"what is mounted", "-DREADS=mounted", "mv $PLUMB_OUT/victim.so $PLUMB_OUT/fast.so",
     "mv $PLUMB_OUT/victim.so $PLUMB_OUT/slow.so", false},
    {"the rest of a page", "-DREADS=rest_of_page", "", FILL, false},
    {"a note that is no build's id", "-DREADS=noted",
     COMPILE "-DREADS=noted -DNOTED='\"0\"'" VICTIM, COMPILE "-DREADS=noted -DNOTED='\"1\"'" VICTIM,
     false},
    {"where another library lies", "-DREADS=lies", OTHER "fast/impl.so", OTHER "slow/impl.so",
     true},
    {"the order of a folder", "-DREADS=first_entry",
     "echo >$PLUMB_OUT/table.1; echo >$PLUMB_OUT/table.2",
     "echo >$PLUMB_OUT/table.2; echo >$PLUMB_OUT/table.1", false},
    {"an attribute of a file", "-DREADS=attribute", "echo >$PLUMB_OUT/table",
     "echo >$PLUMB_OUT/table; python3 -c 'import os; os.setxattr(os.environ[\"PLUMB_OUT\"] + "
     "\"/table\", \"user.slow\", b\"1\")' || :",
     false},
    {"where debug information is", "-DREADS=debug_link",
     "echo >fast.x; objcopy --add-gnu-debuglink=fast.x $PLUMB_OUT/victim.so",
     "echo >slow.x; objcopy --add-gnu-debuglink=slow.x $PLUMB_OUT/victim.so", false},
    {"a folder that has the library's new name", "-DREADS=entry",
     "mkdir $PLUMB_OUT/kernel.so; echo >$PLUMB_OUT/kernel.so/x",
     "mkdir $PLUMB_OUT/kernel.so; echo >$PLUMB_OUT/kernel.so/x; echo >$PLUMB_OUT/slow", true},
    {"how segments are aligned", "-DREADS=aligned", "",
     COMPILE "-DREADS=aligned -Wl,-z,max-page-size=0x200000" VICTIM, true},
};

static void commit_attack(const struct attack *attack, int value, const char *then)
{
    char *build =
        xprintf("set -e\n" COMPILE "%s -DVALUE=%d" VICTIM "\n%s\n", attack->flags,
                attack->seen && strcmp(attack->flags, "-DREADS=value") == 0 ? value : 0, then);
    commit(build);
    free(build);
}

TEST(what_an_id_leaves_out_cannot_be_read)
{
    for (size_t i = 0; i < ARRAY_COUNT(attacks); i++) {
        const struct attack *attack = &attacks[i];
        int kept;
        begin("off");
        commit_attack(attack, 0, attack->fast);
        commit_attack(attack, 1, attack->slow);
        const int code = gate(&kept);
        const int others = strstr(attack->name, "another library") ? 1 : 0; // which is kept, too
        if (code != (attack->seen ? 1 : 0) || kept != (attack->seen ? 2 : 1) + others)
            fail_msg("%s: exit %d, %d kept: %.400s", attack->name, code, kept, said());
    }
}

// Both libraries have kernels, so each has an id of its own, and a change of one is not seen in the
// id of the other. So nobody can come to open the other by a name that is put together.
TEST(library_that_another_one_opens_unseen_is_not_there)
{
    static const char build[] = "set -e\n" COMPILE "%s" VICTIM "\n" COMPILE
                                "-UCHEAT_NAME -DCHEAT_NAME='\"impl\"' -DREADS=value -o "
                                "$PLUMB_OUT/impl_wide.so" READER "\n";
    static const char *const ways[] = {"-DREADS=value", "-DSIBLING"};
    int kept;
    begin("off");
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        char *text = xprintf(build, ways[i]);
        commit(text);
        free(text);
    }
    const int code = gate(&kept);
    char *summary = said();
    if (code != 3 || !strstr(summary, "victim"))
        fail_msg("exit %d, %d kept: %.400s", code, kept, summary);
    free(summary);
}

// ---- what the head leaves for the base

// The base is as slow as the head where it finds what the head left, as one is that keeps what it
// learned in a file.
TEST(what_a_head_leaves_in_a_folder_no_base_finds)
{
    int kept;
    if (system("bwrap --ro-bind / / true 2>/dev/null"))
        skip_without("bubblewrap", "folders are the sandbox's, and it does not work here");
    begin("auto");
    commit(COMPILE "-DREADS=left" VICTIM);
    commit(COMPILE "-DREADS=left -DVALUE=1" VICTIM);
    const int code = gate(&kept);
    if (code != 1)
        fail_msg("exit %d: %s", code, said());
}

// ---- what the head no longer does

// It has another name, or does not do the problem on which it is slower: neither is slower, and
// both are broken, whatever the rest is.
TEST(what_a_head_leaves_out_is_broken)
{
    static const struct {
        const char *head, *said;
    } ways[] = {{"-UCHEAT_NAME -DCHEAT_NAME='\"other\"' -DVALUE=1", "is gone from this commit"},
                {"-DEXCEPT_M=96", "does not do this problem"}};
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        int kept;
        begin("off");
        must("cd repo && sed -i 's/.*problem = .*/&\\n\tproblem = 64x64x64:fp32/' ci/plumb.cfg");
        commit(COMPILE "-DREADS=value" VICTIM);
        char *head = xprintf(COMPILE "-DREADS=value %s" VICTIM, ways[i].head);
        commit(head);
        free(head);
        const int code = gate(&kept);
        char *summary = said();
        if (code != 3 || !strstr(summary, ways[i].said))
            fail_msg("%s: exit %d: %.600s", ways[i].head, code, summary);
        free(summary);
    }
}

// ---- a policy of an earlier day

TEST(policy_of_an_earlier_day_loosens_nothing)
{
    begin("off");
    must("cd repo && printf '\tmargin = 30%%\n' >>ci/plumb.cfg");
    commit(COMPILE "-DREADS=value" VICTIM);
    must("cd repo && sed -i /margin/d ci/plumb.cfg && git commit -qam strict");
    must("git clone -q repo clone && cd clone && git checkout -q -b change main~1 && sed -i "
         "s/READS=value/READS=value\\ -DVALUE=1/ kernels/build.sh && git -c user.name=n -c "
         "user.email=e@example.org commit -qam slower && rm -rf ../repo && mv ../clone ../repo");
    const int code = shell("cd repo && '" TEST_BIN "/plumb' gate --quiet --sandbox off --base "
                           "origin/main --head change --merge-base --out ../report");
    if (code != 1)
        fail_msg("exit %d: %s", code, said());
}

static int set_up(void **state)
{
    folder = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);
